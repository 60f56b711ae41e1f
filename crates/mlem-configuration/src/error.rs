//! Why a configuration was refused.

use mlem_rules::{CatalogueError, Place};
use thiserror::Error;

/// Why a configuration was refused: the file or argument, the place, the reason and the way out.
#[derive(Debug, Clone, Error)]
pub enum ConfigurationError {
    /// A file or folder that cannot be read.
    #[error("{path}: {reason}")]
    Unreadable {
        /// The file or folder.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// A file that says what it cannot.
    #[error("{file}:{place}: {reason}")]
    Invalid {
        /// The configuration file.
        file: String,
        /// Where in it.
        place: Place,
        /// What is wrong and what is possible.
        reason: String,
    },
    /// An argument of the command line.
    #[error("{argument}: {reason}")]
    Argument {
        /// As it was typed.
        argument: String,
        /// What is wrong and what is possible.
        reason: String,
    },
    /// Rule files of the project's own.
    #[error("{}", lines(.0))]
    Rules(Vec<CatalogueError>),
}

fn lines(errors: &[CatalogueError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
