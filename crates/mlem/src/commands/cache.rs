//! `mlem cache`.

use std::process::ExitCode;
use std::time::Duration;

use mlem_environment::Unused;
use serde_json::json;

use crate::arguments::{Cache, CacheCommand, Format, Prune};
use crate::console;
use crate::failure::Failure;
use crate::target;

pub(crate) fn run(cache: &Cache) -> Result<ExitCode, Failure> {
    match &cache.command {
        CacheCommand::Dir => console::line(&target::cache()?.display().to_string()),
        CacheCommand::Prune(prune) => self::prune(prune)?,
    }
    Ok(ExitCode::SUCCESS)
}

const DAY: u64 = 24 * 60 * 60;

fn prune(arguments: &Prune) -> Result<(), Failure> {
    let older_than = Duration::from_secs(u64::from(arguments.older_than) * DAY);
    let pruned = mlem_environment::prune(&target::cache()?, older_than, arguments.dry_run)?;
    let bytes: u64 = pruned.removed.iter().map(|each| each.bytes).sum();
    if arguments.format == Format::Json {
        let removed: Vec<_> = pruned
            .removed
            .iter()
            .map(|each| {
                let (python, distributions) = each.holds.clone().unzip();
                json!({
                    "folder": each.folder,
                    "python": python,
                    "distributions": distributions,
                    "bytes": each.bytes,
                    "days_idle": each.idle.as_secs() / DAY,
                })
            })
            .collect();
        console::json(&json!({
            "schema": 1,
            "dry_run": arguments.dry_run,
            "removed": removed,
            "bytes": bytes,
            "in_use": pruned.in_use,
            "recent": pruned.recent,
        }));
        return Ok(());
    }
    for each in &pruned.removed {
        console::line(&describe(each));
    }
    let verb = if arguments.dry_run { "would be removed" } else { "removed" };
    console::line(&format!(
        "{} {verb} ({}), {} in use, {} used too recently",
        console::counted(pruned.removed.len(), "environment"),
        mebibytes(bytes),
        pruned.in_use.len(),
        pruned.recent
    ));
    Ok(())
}

fn describe(each: &Unused) -> String {
    let holds = match &each.holds {
        Some((python, distributions)) => format!("{python}, {distributions} distributions"),
        None => "a build that was not finished".to_owned(),
    };
    let days = each.idle.as_secs() / DAY;
    format!("{}: {holds}, {}, unused for {days} days", each.folder.display(), mebibytes(each.bytes))
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
