//! The repair loop: diagnose, propose, edit, re-run, keep or roll back, prove.
//!
//! [`modernize`] does the whole job for one notebook: [`statics`] before anything runs, the live repair, and the
//! clean proof run. [`run_notebook`] runs one as it is. Both work on a [`scratch`] copy and write nothing of the
//! user's; [`results`] writes what they found.

mod archives;
mod attempt;
pub mod clues;
mod colab;
mod comment;
mod dead_ends;
pub mod defaults;
pub mod diagnose;
pub mod fidelity;
mod imports;
pub mod in_place;
pub mod inspect;
mod job;
mod leftover;
mod listings;
mod live;
pub mod modules;
pub mod paths;
mod propose;
mod python2;
mod record;
pub mod relocate;
mod repeated;
pub mod report;
pub mod results;
mod run;
pub mod scratch;
mod session;
mod sizes;
pub mod sources;
mod stand_ins;
pub mod statics;
mod submission;
mod swallowed;
pub mod tables;
mod tpu;
pub mod vanished;
pub mod verify;
pub mod wanted;

pub use job::{Job, JobError, Modernized, Options, modernize, pins, read_runnable, requirements};
pub use live::{Event, Phase, Strategy};
pub use run::{RUN_SCHEMA, Ran, RunOptions, RunReport, Subject, run_notebook, run_script, run_subject};
pub use session::{SessionError, SessionOptions};
