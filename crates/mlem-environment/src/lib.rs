//! Distributions, locks, interpreters: what a notebook needs, and what an interpreter has.

mod distribution;
mod releases;
mod requirement;

pub use distribution::Distribution;
pub use releases::{Releases, newest_releases};
pub use requirement::{Requirement, RequirementError, RequirementsFile, RequirementsFileError, read_requirements};
