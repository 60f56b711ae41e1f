//! One module for each command.

pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod env;
pub(crate) mod fix;
pub(crate) mod grade;
pub(crate) mod modernize;
pub(crate) mod rule;
pub(crate) mod run;
pub(crate) mod undo;
pub(crate) mod verify;
