//! From the paths that were typed to the files that are worked on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use walkdir::WalkDir;

use crate::console;
use crate::failure::Failure;

/// What the typed paths led to.
#[derive(Debug)]
pub(crate) struct Inputs {
    /// Files in order, each once.
    pub(crate) files: Vec<PathBuf>,
    /// Paths that led to nothing; each was reported.
    pub(crate) broken: usize,
}

impl Inputs {
    /// How a command ends when `broken` more of its inputs could not be used: `code` if none.
    pub(crate) fn finish(&self, broken: usize, code: u8) -> Result<ExitCode, Failure> {
        match broken + self.broken {
            0 => Ok(ExitCode::from(code)),
            // A single input has been reported by its own message already.
            1 if self.files.len() + self.broken == 1 => Ok(ExitCode::from(2)),
            count => Err(Failure::Inputs(count)),
        }
    }

    /// Whether results need a sub-folder for each input.
    pub(crate) fn are_several(&self) -> bool {
        self.files.len() > 1
    }
}

/// Files found for the typed paths: named files as they are, and every notebook under named folders. Results of our
/// own, checkpoints and hidden folders are passed over; links are not followed, so that circular ones do no harm.
pub(crate) fn collect(paths: &[PathBuf]) -> Inputs {
    let mut inputs = Inputs { files: Vec::new(), broken: 0 };
    for path in paths {
        if let Err(failure) = collect_one(path, &mut inputs.files) {
            console::error(&failure.to_string());
            inputs.broken += 1;
        }
    }
    let mut seen = std::collections::HashSet::new();
    inputs.files.retain(|file| seen.insert(file.clone()));
    inputs
}

fn collect_one(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let kind = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::path(path, "no such file or folder"),
        _ => Failure::path(path, error.to_string()),
    })?;
    if !kind.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let before = files.len();
    for entry in WalkDir::new(path).sort_by_file_name().into_iter().filter_entry(is_wanted) {
        match entry {
            Ok(entry) if entry.file_type().is_file() && extension(entry.path()) == "ipynb" => {
                files.push(entry.into_path());
            }
            Ok(_) => {}
            Err(error) => console::warning(&error.to_string()),
        }
    }
    if files.len() == before {
        return Err(Failure::path(path, "the folder holds no notebook (.ipynb)"));
    }
    Ok(())
}

/// Paths, relative to a folder, of the notebooks and `.py` files below it.
pub(crate) fn sources_below(folder: &Path) -> Result<BTreeSet<PathBuf>, Failure> {
    let mut found = BTreeSet::new();
    for entry in WalkDir::new(folder).into_iter().filter_entry(is_wanted) {
        match entry {
            Ok(entry) => {
                let is_source =
                    entry.file_type().is_file() && matches!(extension(entry.path()).as_str(), "ipynb" | "py");
                if let Some(path) = entry.path().strip_prefix(folder).ok().filter(|_| is_source) {
                    found.insert(path.to_owned());
                }
            }
            Err(error) => console::warning(&error.to_string()),
        }
    }
    if found.is_empty() {
        return Err(Failure::path(folder, "the folder holds no notebook (.ipynb) and no .py file"));
    }
    Ok(found)
}

fn is_wanted(entry: &walkdir::DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    entry.depth() == 0
        || !(entry.file_type().is_dir()
            && (name.starts_with('.')
                || name.ends_with(".mlem")
                || name == "node_modules"
                || name == "__pycache__"))
}

/// A file's extension in lower case.
pub(crate) fn extension(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}
