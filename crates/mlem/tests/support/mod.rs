//! What the end-to-end tests share: the built binary, a scratch folder, notebooks from cells.
#![allow(dead_code, clippy::unwrap_used, reason = "test code, of which each binary uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// An interpreter with ipykernel; the tests fail without one, since what they test is real kernels.
pub(crate) fn python() -> PathBuf {
    let path = std::env::var_os("MLEM_TEST_PYTHON")
        .expect("MLEM_TEST_PYTHON must name a Python with ipykernel; ./test.sh makes one and sets it");
    PathBuf::from(path)
}

/// A folder of its own for one test, with its own cache and workspace.
pub(crate) struct Place {
    folder: TempDir,
}

/// What a command printed and how it ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// A notebook of nbformat 4.5 with these code cells and no outputs.
    pub(crate) fn notebook(&self, name: &str, cells: &[&str]) -> PathBuf {
        let cells: Vec<(&str, Value)> = cells.iter().map(|source| (*source, json!([]))).collect();
        self.notebook_with_outputs(name, &cells)
    }

    /// A notebook of code cells with stored outputs.
    pub(crate) fn notebook_with_outputs(&self, name: &str, cells: &[(&str, Value)]) -> PathBuf {
        let cells: Vec<Value> = cells
            .iter()
            .enumerate()
            .map(|(index, (source, outputs))| {
                json!({"cell_type": "code", "execution_count": index + 1, "id": format!("cell-{index}"),
                       "metadata": {}, "outputs": outputs, "source": source})
            })
            .collect();
        let notebook = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
        self.write(name, serde_json::to_string_pretty(&notebook).unwrap() + "\n")
    }

    /// The command, to be started in this place.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mlem"));
        command.args(arguments).current_dir(self.folder.path()).env("MLEM_CACHE", self.path("cache"));
        command
    }

    pub(crate) fn mlem(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments).output().unwrap())
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        read_json(&self.path(name))
    }
}

pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub(crate) fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// A stored stdout output.
pub(crate) fn printed(text: &str) -> Value {
    json!([{"output_type": "stream", "name": "stdout", "text": text}])
}
