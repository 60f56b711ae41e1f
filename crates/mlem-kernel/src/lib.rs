//! Starts one confined process and speaks Jupyter to it: cells in, events out.

mod accounting;
mod capture;
mod launch;
mod process;

pub use capture::Log;
pub use launch::{Confinement, Finished, Launch, LaunchError, Limits, Network, Sink};
pub use process::{Death, Exit, Process, ProcessHandle};
