//! What can be wrong with a notebook file, said with file, place and reason.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A notebook that cannot be read or written.
#[derive(Debug, Error)]
pub enum NotebookError {
    /// The file system refused.
    #[error("failed to {action} `{}`: {source}", file.display())]
    Io {
        /// The notebook.
        file: PathBuf,
        /// `read` or `write`.
        action: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is larger than [`MAX_BYTES`](crate::MAX_BYTES); it was not read.
    #[error("`{}` is too large: {bytes} bytes, the limit is {limit}", file.display())]
    TooLarge {
        /// The notebook.
        file: PathBuf,
        /// Its size in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// Nothing but white space.
    #[error("`{}` is empty", file.display())]
    Empty {
        /// The notebook.
        file: PathBuf,
    },
    /// Not UTF-8 text.
    #[error("`{}` is not UTF-8 text: {reason}", file.display())]
    Encoding {
        /// The notebook.
        file: PathBuf,
        /// What it seems to be instead.
        reason: String,
    },
    /// Not JSON.
    #[error("`{}` is not JSON at line {line}, column {column}: {reason}", file.display())]
    Json {
        /// The notebook.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What the parser met.
        reason: String,
    },
    /// JSON, but no notebook.
    #[error("`{}` is JSON but not a notebook: {reason}", file.display())]
    NotANotebook {
        /// The file.
        file: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// A notebook of a format that is not supported.
    #[error("`{}` has nbformat {nbformat}; 3 and 4 are supported", file.display())]
    Version {
        /// The notebook.
        file: PathBuf,
        /// The major version found.
        nbformat: u64,
    },
    /// A part of the notebook has the wrong shape.
    #[error("`{}` is broken at `{pointer}`: {reason}", file.display())]
    Shape {
        /// The notebook.
        file: PathBuf,
        /// JSON pointer (RFC 6901) to the value, such as `/cells/3/source`.
        pointer: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl NotebookError {
    /// The file that is concerned.
    pub fn file(&self) -> &Path {
        match self {
            NotebookError::Io { file, .. }
            | NotebookError::TooLarge { file, .. }
            | NotebookError::Empty { file }
            | NotebookError::Encoding { file, .. }
            | NotebookError::Json { file, .. }
            | NotebookError::NotANotebook { file, .. }
            | NotebookError::Version { file, .. }
            | NotebookError::Shape { file, .. } => file,
        }
    }
}
