//! The project's own chores: what is generated or proven and then committed.
//!
//! `cargo run -p xtask -- prove-rules` runs the rules' examples on the libraries of their time and of today.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "its output is for the developer who runs it")]

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
    /// Run the rules' examples on the libraries of their time and of today, and compare.
    ProveRules(proof::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().chore {
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
