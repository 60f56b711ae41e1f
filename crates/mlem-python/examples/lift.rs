//! Lifts Python 2 files to Python 3 syntax and counts those that then parse:
//! `cargo run -p mlem-python --example lift -- FILE…`. With `--show`, prints the lifted text.

use std::process::ExitCode;

use mlem_python::{EditSet, Syntax, Unit, lift_python2};

#[expect(clippy::print_stdout, reason = "an example's output is its result")]
fn main() -> ExitCode {
    let mut show = false;
    let (mut files, mut clean, mut needed, mut lifted) = (0_usize, 0_usize, 0_usize, 0_usize);
    for path in std::env::args().skip(1) {
        if path == "--show" {
            show = true;
            continue;
        }
        let Ok(source) = std::fs::read_to_string(&path) else { continue };
        files += 1;
        let unit = Unit::module(&source);
        clean += usize::from(unit.error_count() == 0);
        needed += usize::from(*unit.syntax() != Syntax::Clean);
        match lift_python2(&unit) {
            Ok(edits) => {
                lifted += 1;
                let mut set = EditSet::new();
                if show && set.add_all(edits).is_ok() {
                    println!("{}", set.apply(&source).unwrap_or_default());
                }
            }
            Err(error) => println!("{path}: {error}"),
        }
    }
    println!("files {files}, parse unlifted {clean}, not clean {needed}, parse lifted {lifted}");
    ExitCode::SUCCESS
}
