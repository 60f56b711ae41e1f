//! `mlem cache`.

use std::process::ExitCode;

use crate::arguments::{Cache, CacheCommand};
use crate::console;
use crate::failure::Failure;
use crate::target;

pub(crate) fn run(cache: &Cache) -> Result<ExitCode, Failure> {
    match cache.command {
        CacheCommand::Dir => console::line(&target::cache()?.display().to_string()),
    }
    Ok(ExitCode::SUCCESS)
}
