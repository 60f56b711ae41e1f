//! The `mlem` binary: arguments in, pages and lines out.

mod arguments;
mod commands;
mod configuration;
mod console;
mod failure;
mod findings;
mod inputs;
mod progress;
mod scoring;
mod target;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Check(check) => commands::check::run(&check),
        Command::Fix(fix) => commands::fix::run(&fix),
        Command::Run(run) => commands::run::run(&run),
        Command::Modernize(modernize) => commands::modernize::run(&modernize),
        Command::Diff(diff) => commands::diff::run(&diff),
        Command::Rule(rule) => commands::rule::run(&rule),
        Command::Verify(verify) => commands::verify::run(&verify),
        Command::Undo(undo) => commands::undo::run(&undo),
        Command::Grade(grade) => commands::grade::run(&grade),
        Command::Env(env) => commands::env::run(&env),
        Command::Cache(cache) => commands::cache::run(&cache),
    };
    match result {
        Ok(code) => code,
        Err(Failure::Interrupted) => {
            console::note("interrupted");
            ExitCode::from(130)
        }
        Err(failure) => {
            console::error(&failure.to_string());
            ExitCode::from(2)
        }
    }
}
