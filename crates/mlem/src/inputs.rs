//! From the paths that were typed to the files that are worked on.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::console;
use crate::failure::Failure;

/// Files found for the typed paths, in order and each once: named files as they are, and every notebook under
/// named folders. Results of our own, checkpoints and hidden folders are passed over; links are not followed, so
/// that circular ones do no harm.
pub(crate) fn collect(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        let kind = std::fs::metadata(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::path(path, "no such file or folder"),
            _ => Failure::path(path, error.to_string()),
        })?;
        if !kind.is_dir() {
            files.push(path.clone());
            continue;
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
    }
    let mut seen = std::collections::HashSet::new();
    files.retain(|file| seen.insert(file.clone()));
    Ok(files)
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
