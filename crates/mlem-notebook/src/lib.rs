//! The notebook file: read, write, convert, byte-faithful.
//!
//! A [`Notebook`] keeps the text it was read from and the byte spans of what can be edited.
//! Writing applies the edits as splices, so an untouched notebook comes back byte for byte and an
//! edited one differs only in the edited cells. nbformat 3 and 4.0 to 4.5 are read as they are.
//!
//! The crate knows nothing about Python beyond the spelling of IPython magics in exported scripts,
//! and nothing about kernels.

mod atomic;
mod cell;
mod error;
mod json;
mod notebook;
mod output;
mod reading;
mod script;
mod style;
mod upgrade;

pub use atomic::write_atomic;
pub use cell::{Cell, CellIndex, CellKind};
pub use error::NotebookError;
pub use notebook::{Language, MAX_BYTES, Notebook};
pub use output::{MimeBundle, Output};
