//! `mlem undo`: takes back what the last `modernize --in-place` replaced.

use std::process::ExitCode;

use mlem_repair::in_place;

use crate::arguments::Undo;
use crate::console;
use crate::failure::Failure;
use crate::inputs::collect;
use crate::target;

pub(crate) fn run(undo: &Undo) -> Result<ExitCode, Failure> {
    let inputs = collect(&undo.paths);
    let several = inputs.are_several();
    let mut broken = 0;
    for file in &inputs.files {
        let folder = target::results(undo.out.as_deref(), file, several);
        match in_place::undo(file, &folder) {
            Ok(restored) => {
                for path in restored {
                    console::line(&format!("restored {}", path.display()));
                }
            }
            Err(error) => {
                console::error(&error.to_string());
                broken += 1;
            }
        }
    }
    inputs.finish(broken, 0)
}
