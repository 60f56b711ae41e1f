//! A project's own rules, in folders of TOML files.

use std::path::{Path, PathBuf};

use crate::error::ConfigurationError;

/// Reads the rule files (`*.toml`) of folders: paths and texts, by folder and then by name.
pub(crate) fn read(folders: &[PathBuf]) -> Result<Vec<(String, String)>, ConfigurationError> {
    let mut files = Vec::new();
    for folder in folders {
        let before = files.len();
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))? {
            let path = entry.map_err(|error| unreadable(folder, &error))?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                paths.push(path);
            }
        }
        paths.sort();
        for path in paths {
            let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
            files.push((path.display().to_string(), text));
        }
        if files.len() == before {
            let reason = "the folder holds no rule file (*.toml)".to_owned();
            return Err(ConfigurationError::Unreadable { path: folder.display().to_string(), reason });
        }
    }
    Ok(files)
}

fn unreadable(path: &Path, error: &std::io::Error) -> ConfigurationError {
    let reason = match error.kind() {
        std::io::ErrorKind::NotFound => "no such folder of rules".to_owned(),
        std::io::ErrorKind::NotADirectory => "is a file; the folder that holds it is wanted".to_owned(),
        _ => error.to_string(),
    };
    ConfigurationError::Unreadable { path: path.display().to_string(), reason }
}
