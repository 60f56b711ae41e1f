//! Writes a job's result into a folder of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mlem_notebook::write_atomic;

use crate::job::Modernized;
use crate::report::Report;
use crate::run::Ran;
use crate::scratch::Scratch;
use crate::tables::Table;
use crate::verify::Verified;

/// A file or folder that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write {path}: {error}")]
pub struct WriteError {
    /// Which.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub error: io::Error,
}

pub(crate) fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, WriteError> {
    result.map_err(|error| WriteError { path: path.to_owned(), error })
}

/// Makes sure that `folder` can be written to, before work begins that would be lost.
///
/// # Errors
/// When it cannot be made, or no file can be put there.
pub fn prepare(folder: &Path) -> Result<(), WriteError> {
    at(folder, fs::create_dir_all(folder))?;
    at(folder, tempfile::Builder::new().prefix(".mlem-").tempfile_in(folder).map(drop))
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    if let Some(folder) = path.parent() {
        at(folder, fs::create_dir_all(folder))?;
    }
    at(path, write_atomic(path, bytes))
}

fn json<T: serde::Serialize>(report: &T) -> Vec<u8> {
    // Reports are structs of strings, numbers and lists, which always serialise.
    let mut text = serde_json::to_vec_pretty(report).unwrap_or_default();
    text.push(b'\n');
    text
}

/// Copies the tables that a run wrote, but for huge ones, from its scratch copy to `folder/files/`.
fn tables(scratch: Option<&Scratch>, tables: &[Table], folder: &Path) -> Result<(), WriteError> {
    let Some(scratch) = scratch else { return Ok(()) };
    for table in tables.iter().filter(|table| table.is_copied()) {
        let target = folder.join("files").join(&table.path);
        if let Some(parent) = target.parent() {
            at(parent, fs::create_dir_all(parent))?;
        }
        at(&target, fs::copy(scratch.folder().join(&table.path), &target))?;
    }
    Ok(())
}

/// Writes `NAME.ipynb`, `report.json`, `report.md`, `changes.diff`, changed modules, tables and the kernel's log
/// into `folder`; the report last, so that its presence says that the rest is complete.
///
/// # Errors
/// When a file cannot be written.
pub fn write_modernized(result: &Modernized, name: &str, folder: &Path) -> Result<(), WriteError> {
    write(&folder.join(name), result.notebook.to_text().as_bytes())?;
    for (path, text) in &result.modules {
        write(&folder.join("modules").join(path), text.as_bytes())?;
    }
    tables(result.scratch.as_ref(), &result.report.tables, folder)?;
    write(&folder.join("kernel.log"), &result.log)?;
    write(&folder.join("changes.diff"), result.diff.as_bytes())?;
    write_report(&result.report, folder)
}

/// Writes `report.md` and `report.json` of a modernized notebook, the latter last.
///
/// # Errors
/// When a file cannot be written.
pub fn write_report(report: &Report, folder: &Path) -> Result<(), WriteError> {
    write(&folder.join("report.md"), report.to_markdown().as_bytes())?;
    write(&folder.join("report.json"), &json(report))
}

/// Whether writing `name` into `folder` would overwrite the input itself.
pub fn is_own_folder(input: &Path, folder: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    let own = input.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    real(own).is_some() && real(own) == real(folder)
}

/// Writes a run's notebook, report, tables and log into `folder`.
///
/// # Errors
/// When a file cannot be written.
pub fn write_run(result: &Ran, name: &str, folder: &Path) -> Result<(), WriteError> {
    if let Some(notebook) = &result.notebook {
        write(&folder.join(name), notebook.to_text().as_bytes())?;
    }
    tables(Some(&result.scratch), &result.report.tables, folder)?;
    write(&folder.join("kernel.log"), &result.log)?;
    write(&folder.join("report.json"), &json(&result.report))
}

/// Writes `verify.json` into `folder`, beside the results of the notebook it is about.
///
/// # Errors
/// When it cannot be written.
pub fn write_verified(verified: &Verified, folder: &Path) -> Result<(), WriteError> {
    write(&folder.join("verify.json"), &json(&verified.report))
}

/// Writes `summary.json` of several notebooks.
///
/// # Errors
/// When it cannot be written.
pub fn write_summary(folder: &Path, summary: &serde_json::Value) -> Result<(), WriteError> {
    write(&folder.join("summary.json"), &json(summary))
}
