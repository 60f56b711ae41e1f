//! Starts one confined process and speaks Jupyter to it: cells in, events out.
//!
//! [`Launch`] is the one way in which a process of ours starts; [`Kernel`] builds on it and drives
//! ipykernel (4.10 on Python 2.7 up to 7 on Python 3.13) over the Jupyter wire.

mod accounting;
mod capture;
mod connection;
mod execution;
mod kernel;
mod launch;
mod message;
mod process;
mod zmtp;

pub use capture::Log;
pub use execution::{CellEvent, DisplayUpdate, EvaluationError, ExecuteOptions, Execution, ExecutionStatus};
pub use kernel::{ExitReport, Kernel, KernelError, KernelInfo, KernelSpec, Transport};
pub use launch::{Confinement, Finished, Launch, LaunchError, Limits, Network, Sink};
pub use process::{Death, Exit, Process, ProcessHandle};
