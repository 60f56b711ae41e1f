//! The project's own chores: what is generated or proven and then committed.
//!
//! `cargo run -p xtask -- prove-rules` runs the rules' examples on the libraries of their time and of today;
//! `cargo run -p xtask -- defaults LIBRARY OLD NEW` says which default values changed between two releases.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "its output is for the developer who runs it")]

mod defaults;
mod proof;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own chores.
#[derive(Debug, Parser)]
#[command(name = "xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Say which default values changed between two releases of a library, as rows for review.
    Defaults(defaults::Arguments),
    /// Run the rules' examples on the libraries of their time and of today, and compare.
    ProveRules(proof::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().chore {
        Chore::Defaults(arguments) => defaults::run(&arguments).map_err(|error| error.to_string()),
        Chore::ProveRules(arguments) => proof::run(&arguments).map_err(|error| error.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
