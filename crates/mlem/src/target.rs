//! Which versions notebooks are judged against, and which environment they run in.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mlem_environment::{
    Detector, Environment, EnvironmentSpec, Pins as VersionPins, PythonChoice, Step, Wanted, newest_releases,
};
use mlem_ledger::Ledger;
use mlem_notebook::{CellKind, Notebook};
use mlem_python::{Program, Unit};
use mlem_repair::SessionOptions;

use crate::arguments::Execution;
use crate::failure::Failure;
use crate::progress::Progress;

/// The folder of built environments: the platform's cache folder.
pub(crate) fn cache() -> Result<PathBuf, Failure> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("MLEM_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("mlem")))
        .or_else(|| {
            let home = variable("HOME")?;
            Some(if cfg!(target_os = "macos") {
                home.join("Library/Caches/mlem")
            } else {
                home.join(".cache/mlem")
            })
        })
        .ok_or_else(|| Failure::Usage("no cache folder: set HOME, XDG_CACHE_HOME or MLEM_CACHE".into()))
}

/// The environment that a notebook runs in: the named one, one built from a file, or one built for what it needs.
pub(crate) fn environment(
    execution: &Execution,
    needs: impl FnOnce() -> Vec<Wanted>,
    progress: &Progress,
) -> Result<(Environment, Vec<String>), Failure> {
    if let Some(python) = &execution.python {
        return Ok((mlem_environment::existing(python)?, Vec::new()));
    }
    let mut notes = Vec::new();
    let wanted = match &execution.requirements {
        Some(file) => {
            let read = mlem_environment::read_requirements(file)?;
            let skipped = read.skipped.iter();
            notes.extend(
                skipped.map(|(line, why)| format!("{}, line {line}: left out: {why}", file.display())),
            );
            read.requirements
                .into_iter()
                .map(|(_, requirement)| Wanted { requirement, required: true })
                .collect()
        }
        None => needs(),
    };
    let environment = build(&EnvironmentSpec { python: PythonChoice::Newest, wanted }, progress)?;
    notes.extend(
        environment
            .dropped
            .iter()
            .map(|each| format!("not installed: {}: {}", each.requirement, each.reason)),
    );
    notes.extend(
        environment.passed_over.iter().map(|each| format!("passed over {}: {}", each.python, each.reason)),
    );
    notes.extend(environment.suspects.iter().map(|each| {
        format!(
            "{} {} looks too old to be meant (the newest is {})",
            each.distribution, each.version, each.newest
        )
    }));
    Ok((environment, notes))
}

/// The folder of `--data`, links resolved.
pub(crate) fn data(folder: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    let Some(folder) = folder else { return Ok(None) };
    match std::fs::canonicalize(folder) {
        Ok(real) if real.is_dir() => Ok(Some(real)),
        _ => Err(Failure::path(folder, "--data wants a folder that exists")),
    }
}

/// Builds an environment, telling its steps.
pub(crate) fn build(spec: &EnvironmentSpec, progress: &Progress) -> Result<Environment, Failure> {
    Ok(mlem_environment::build(spec, &cache()?, &mut |step| match step {
        Step::Resolving(python) => progress.say(&format!("choosing versions for {python}")),
        Step::PassedOver(passed) => {
            progress.say(&format!("passed over {}: {}", passed.python, passed.reason))
        }
        Step::Waiting => progress.say("another process builds the same environment; waiting"),
        Step::Installing(count) => progress.say(&format!("installing {count} distributions")),
    })?)
}

/// How kernels are run.
pub(crate) fn session(execution: &Execution) -> SessionOptions {
    SessionOptions {
        cell_timeout: execution.cell_timeout.map(Duration::from_secs_f64),
        network: execution.network,
        memory_bytes: execution.memory.map(|mib| mib << 20),
    }
}

/// Opens the ledger of the workspace.
pub(crate) fn ledger(execution: &Execution) -> Result<Ledger, Failure> {
    let folder = match &execution.workspace {
        Some(folder) => folder.clone(),
        None => {
            let here = std::env::current_dir()?;
            here.ancestors()
                .map(|folder| folder.join(".mlem"))
                .find(|folder| folder.is_dir())
                .unwrap_or_else(|| here.join(".mlem"))
        }
    };
    Ok(Ledger::open(&folder)?)
}

/// Where an input's results go: `--out` (a sub-folder for each of several), else `NAME.mlem/` beside it.
pub(crate) fn results(out: Option<&Path>, input: &Path, several: bool) -> PathBuf {
    let stem = input.file_stem().unwrap_or_default();
    match out {
        Some(out) if several => {
            let relative: PathBuf =
                input.components().filter(|part| matches!(part, std::path::Component::Normal(_))).collect();
            out.join(relative.with_extension(""))
        }
        Some(out) => out.to_owned(),
        None => {
            let mut name = stem.to_owned();
            name.push(".mlem");
            input.with_file_name(name)
        }
    }
}

/// What an environment for a notebook should hold, today's versions: what its cells and its helper modules need.
pub(crate) fn needs(notebook: &Notebook, path: &Path) -> Vec<Wanted> {
    let mut units: Vec<Unit> = notebook
        .cells()
        .iter()
        .filter(|cell| cell.kind == CellKind::Code)
        .map(|cell| Unit::cell(&cell.source))
        .collect();
    if let Ok(real) = std::fs::canonicalize(path) {
        let folder = real.parent().unwrap_or(Path::new("/"));
        let root = mlem_repair::scratch::repository_root(&real);
        let modules = mlem_repair::modules::find(&Program::new(units.clone()), folder, root);
        units.extend(modules.iter().map(|(_, text)| Unit::module(text)));
    }
    wanted(&units, path)
}

/// What an environment for a script should hold.
pub(crate) fn script_needs(path: &Path) -> Vec<Wanted> {
    // A script that cannot be read is refused when it is run.
    let text = std::fs::read_to_string(path).unwrap_or_default();
    wanted(&[Unit::module(&text)], path)
}

fn wanted(units: &[Unit], path: &Path) -> Vec<Wanted> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Detector::new(newest_releases().python()).detect(units, folder).wanted(VersionPins::Ignore)
}

/// `3.13.0`.
pub(crate) fn version(environment: &Environment) -> String {
    let (major, minor, micro) = environment.version;
    format!("{major}.{minor}.{micro}")
}
