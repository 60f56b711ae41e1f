//! Distributions, locks, interpreters: what a notebook needs, and what an interpreter has.

mod distribution;
mod interpreter;
mod lock;
mod process;
mod releases;
mod requirement;
mod uv;

pub use distribution::Distribution;
pub use interpreter::{Interpreter, InterpreterError};
pub use lock::{Lock, Pin};
pub use releases::{Releases, newest_releases};
pub use requirement::{Requirement, RequirementError, RequirementsFile, RequirementsFileError, read_requirements};
pub use uv::{Uv, UvMissing};
