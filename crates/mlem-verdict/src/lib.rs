//! Is it still the same notebook with the same result: compares outputs; runs nothing.
//!
//! [`compare_notebooks`] compares what an executed notebook shows with what another one (usually
//! the outputs stored in the old notebook) showed, cell by cell; [`summarise`] turns that into a
//! [`Verdict`].

mod diff;
mod fidelity;
mod outputs;
pub mod statistics;
mod verdict;

pub use diff::{NotebookDiff, OutputDiff, diff_notebooks};
pub use fidelity::{Change, Changes, Class, Form, Location, Source, compare_code};
pub use outputs::{CellComparison, OutputStatus, Tolerance, compare_notebooks, compare_outputs, summarise};
pub use verdict::Verdict;
