//! Replacing a notebook and its modules with the modernized ones, and taking that back.
//!
//! Each replacement has a backup folder of its own: the old files, and a list of what replaced them, written before
//! anything is replaced. Undoing is refused when a file is not what was put there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mlem_notebook::write_atomic;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::job::Modernized;
use crate::paths::written;
use crate::results::{WriteError, at, write};

/// The list in a backup folder.
const LIST: &str = "replaced.json";

/// What one replacement did.
#[derive(Debug, Serialize, Deserialize)]
struct Replaced {
    schema: u32,
    files: Vec<ReplacedFile>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ReplacedFile {
    /// Relative to the notebook's folder, so that the tree may be moved.
    path: PathBuf,
    /// Relative to the backup folder.
    backup: PathBuf,
    /// SHA-256 of the file that was replaced.
    before: String,
    /// SHA-256 of what replaced it.
    after: String,
}

/// Why a replacement is not taken back.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// There is nothing to take back.
    #[error(
        "{}: nothing to undo: {} holds no backup of an in-place run (name its results' folder with --out)",
        .notebook.display(), .folder.display()
    )]
    NoBackup {
        /// The notebook.
        notebook: PathBuf,
        /// Where a backup was looked for.
        folder: PathBuf,
    },
    /// The file is not what was put there.
    #[error(
        "{}: edited since it was replaced, and undoing would lose that; nothing was changed, the old file is {}",
        .path.display(), .backup.display()
    )]
    Edited {
        /// The file.
        path: PathBuf,
        /// Its old text.
        backup: PathBuf,
    },
    /// The backup is not what was saved.
    #[error("{}: the backup is damaged ({reason}); nothing was changed", .path.display())]
    Damaged {
        /// The file in the backup, or its list.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

fn backup(folder: &Path, number: usize) -> PathBuf {
    if number == 1 { folder.join("backup") } else { folder.join(format!("backup-{number}")) }
}

/// A notebook's folder, as paths in a list are relative to it.
fn home(notebook: &Path) -> io::Result<PathBuf> {
    let real = fs::canonicalize(notebook)?;
    Ok(real.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Replaces the notebook and its changed modules, after copying the old ones to `folder/backup/` (or `backup-2/` …:
/// an earlier backup is never overwritten).
///
/// # Errors
/// When a file cannot be written; the originals are in the backup by then.
pub fn replace(result: &Modernized, notebook: &Path, folder: &Path) -> Result<(), WriteError> {
    let mut targets: Vec<(PathBuf, PathBuf, Vec<u8>)> = result
        .modules
        .iter()
        .map(|(path, text)| (result.root.join(path), path.clone(), text.clone().into_bytes()))
        .collect();
    let name = PathBuf::from(notebook.file_name().unwrap_or_default());
    targets.push((notebook.to_owned(), name, result.notebook.to_text().into_bytes()));
    targets.retain(|(target, _, bytes)| fs::read(target).ok().as_ref() != Some(bytes));
    if targets.is_empty() {
        return Ok(());
    }
    let home = at(notebook, home(notebook))?;
    // Numbers without a gap end at the first folder that is not there; there are never infinitely many.
    let number = (1..).find(|number| !backup(folder, *number).exists()).unwrap_or(1);
    let backup = backup(folder, number);
    let mut files = Vec::new();
    for (target, name, bytes) in &targets {
        let original = at(target, fs::read(target))?;
        write(&backup.join(name), &original)?;
        let real = at(target, fs::canonicalize(target))?;
        files.push(ReplacedFile {
            path: written(&home, &real, &result.root).into(),
            backup: name.clone(),
            before: digest(&original),
            after: digest(bytes),
        });
    }
    // Strings and a number always serialise.
    let list = serde_json::to_vec_pretty(&Replaced { schema: 1, files }).unwrap_or_default();
    write(&backup.join(LIST), &list)?;
    for (target, _, bytes) in &targets {
        at(target, write_atomic(target, bytes))?;
    }
    Ok(())
}

/// Puts back what the last replacement recorded in `folder` replaced, and removes its backup, so that undoing again
/// takes back the one before. All files are put back or none. Returns their paths.
///
/// # Errors
/// [`UndoError`]; no file is changed then.
pub fn undo(notebook: &Path, folder: &Path) -> Result<Vec<PathBuf>, UndoError> {
    let no_backup = || UndoError::NoBackup { notebook: notebook.to_owned(), folder: folder.to_owned() };
    let last = (1..).take_while(|number| backup(folder, *number).is_dir()).last().ok_or_else(no_backup)?;
    let backup = backup(folder, last);
    let list = backup.join(LIST);
    let damaged = |path: &Path, reason: String| UndoError::Damaged { path: path.to_owned(), reason };
    let text = fs::read_to_string(&list).map_err(|error| damaged(&list, error.to_string()))?;
    let replaced: Replaced =
        serde_json::from_str(&text).map_err(|error| damaged(&list, error.to_string()))?;
    let home = at(notebook, home(notebook))?;
    let mut files: Vec<(PathBuf, Vec<u8>, Vec<u8>)> = Vec::new();
    for file in &replaced.files {
        let saved = backup.join(&file.backup);
        let old = fs::read(&saved).map_err(|error| damaged(&saved, error.to_string()))?;
        if digest(&old) != file.before {
            return Err(damaged(&saved, "it is not the file that was saved".into()));
        }
        let target = home.join(&file.path);
        let current = at(&target, fs::read(&target))?;
        let found = digest(&current);
        if found != file.after && found != file.before {
            return Err(UndoError::Edited { path: target, backup: saved });
        }
        files.push((target, current, old));
    }
    for (done, (target, _, old)) in files.iter().enumerate() {
        if let Err(error) = write_atomic(target, old) {
            for (target, current, _) in &files[..done] {
                at(target, write_atomic(target, current))?;
            }
            return Err(WriteError { path: target.clone(), error }.into());
        }
    }
    at(&backup, fs::remove_dir_all(&backup))?;
    Ok(files.into_iter().map(|(target, _, _)| target).collect())
}
