//! What a project wants of its notebooks, as files say it: which rules, which versions, which files.
//!
//! [`Configuration`] finds the `mlem.toml` or `pyproject.toml` nearest to a notebook and puts what the command line
//! says on top; the [`Settings`] it gives are read once for each file of configuration. [`Baseline`] is the list of
//! findings that a project has accepted.

mod baseline;
mod discover;
mod error;
mod file;
mod globs;
mod rule_files;
mod settings;
mod target;

pub use baseline::{Baseline, BaselineError, Fingerprint};
pub use discover::{Configuration, Origin, Overrides};
pub use error::ConfigurationError;
pub use settings::Settings;
pub use target::Versions;
