//! Runs a notebook or a script as it is: outputs, times, errors, tables, log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mlem_environment::Environment;
use mlem_kernel::{Launch, Network};
use mlem_ledger::{Ledger, NewRun, RunId, RunKind};
use mlem_notebook::Notebook;
use mlem_python::Unit;
use mlem_verdict::Verdict;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::job::{JobError, read_runnable};
use crate::live::{Event, Phase};
use crate::record::Recorder;
use crate::report::ErrorRecord;
use crate::scratch::{Scratch, tree_root};
use crate::session::{Cause, Session, SessionOptions};
use crate::sources::{Place, Sources};
use crate::tables::{Snapshot, Table};

/// Version of the shape of a run's `report.json`, documented in `docs/run.md`.
pub const RUN_SCHEMA: u32 = 1;

/// How a notebook is run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// How its kernel is run.
    pub session: SessionOptions,
    /// Most time for the whole notebook.
    pub notebook_timeout: Option<Duration>,
    /// Go on after a failing cell.
    pub allow_errors: bool,
    /// A folder that the notebook finds as `../input`.
    pub data: Option<PathBuf>,
}

/// One cell's execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellTime {
    /// Index among all cells from 0.
    pub cell: usize,
    /// `ok`, `error`, `timeout` or `died`.
    pub status: String,
    /// Wall time in seconds.
    pub seconds: f64,
}

/// What a run found.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// [`RUN_SCHEMA`].
    pub schema: u32,
    /// The notebook or script as it was named.
    pub notebook: String,
    /// `runs`, or why it did not.
    pub verdict: String,
    /// In a sentence.
    pub reason: String,
    /// Version of the interpreter.
    pub python: String,
    /// Installed distributions: normalised name to version.
    pub packages: BTreeMap<String, String>,
    /// Wall time in seconds, kernel start included.
    pub seconds: f64,
    /// Every executed cell in order.
    pub cells: Vec<CellTime>,
    /// Every error, in order; the first is the first true error.
    pub errors: Vec<ErrorRecord>,
    /// How the kernel or the script's process ended: `exit 0`, `signal 9`.
    pub exit: String,
    /// New or changed tables, the likely submission first.
    pub tables: Vec<Table>,
    /// What the confinement lacked.
    pub notes: Vec<String>,
}

/// A run's result; nothing of it is written yet.
#[derive(Debug)]
pub struct Ran {
    /// The report.
    pub report: RunReport,
    /// The notebook with its new outputs; `None` for a script.
    pub notebook: Option<Notebook>,
    /// The whole log of the kernel, or the script's stdout and stderr.
    pub log: Vec<u8>,
    /// The scratch copy, which holds the tables.
    pub scratch: Scratch,
    /// The run in the ledger.
    pub run: Option<RunId>,
}

impl Ran {
    /// Whether it ran to the end without an error.
    pub fn succeeded(&self) -> bool {
        self.report.verdict == Verdict::Runs.as_str()
    }
}

/// Most bytes of a script's output that are kept.
const SCRIPT_OUTPUT_LIMIT: usize = 64 << 20;

/// A notebook, the place it runs in, and the helper modules that stand in for those beside it.
#[derive(Debug, Clone)]
pub struct Subject {
    /// As the user named it.
    pub shown: String,
    /// Its cells.
    pub notebook: Notebook,
    /// The file in whose folder it runs, links resolved; a modernized notebook runs where the old one lies.
    pub place: PathBuf,
    /// Path relative to the tree's root, and text.
    pub modules: Vec<(PathBuf, String)>,
}

impl Subject {
    /// A notebook that runs where it lies, with the modules that lie there.
    ///
    /// # Errors
    /// [`JobError`] when it cannot be read or is not Python.
    pub fn read(path: &Path) -> Result<Self, JobError> {
        Ok(Subject {
            shown: path.display().to_string(),
            notebook: read_runnable(path)?,
            place: canonical(path)?,
            modules: Vec::new(),
        })
    }
}

/// Runs a notebook.
///
/// # Errors
/// [`JobError`] when it could not be run at all; a failing cell is a [`Ran`].
pub async fn run_notebook(
    path: &Path,
    environment: &Environment,
    options: &RunOptions,
    ledger: Option<&Ledger>,
    progress: &mut dyn FnMut(Event),
) -> Result<Ran, JobError> {
    run_subject(Subject::read(path)?, environment, options, ledger, progress).await
}

/// Runs a notebook at the place its [`Subject`] names.
///
/// # Errors
/// [`JobError`] when it could not be run at all; a failing cell is a [`Ran`].
pub async fn run_subject(
    subject: Subject,
    environment: &Environment,
    options: &RunOptions,
    ledger: Option<&Ledger>,
    progress: &mut dyn FnMut(Event),
) -> Result<Ran, JobError> {
    let started = Instant::now();
    let Subject { shown, mut notebook, place: real, modules } = subject;
    let mut recorder = begin(&real, notebook.to_text().as_bytes(), environment, options, ledger)?;
    let mut sources = Sources::new(&notebook);
    sources.replace_modules(modules);
    // Parsed, not analysed: the analysis' tables would be a tenth of this process's memory.
    let units: Vec<Unit> = sources.cells().iter().map(|piece| Unit::cell(&piece.current)).collect();
    let named = crate::paths::literals(&units);
    drop(units);
    let root = tree_root(&real, named.iter().map(String::as_str));
    let mut session = Session::start(environment, (&real, &root), &sources, &options.session).await?;
    if let Some(data) = &options.data {
        session.scratch().offer_input(data).map_err(crate::session::SessionError::Scratch)?;
    }
    let mut cells = Vec::new();
    let mut errors = Vec::new();
    let mut stop = None;
    for (position, piece) in sources.cells().iter().enumerate() {
        let Place::Cell(cell) = piece.place else { continue };
        // Jupyter's own runners pass over empty cells.
        if piece.current.trim().is_empty() {
            continue;
        }
        progress(Event::Cell { phase: Phase::Proof, cell: position, of: sources.cells().len() });
        let left = options.notebook_timeout.map(|limit| limit.saturating_sub(started.elapsed()));
        let run = session.run(&sources, position, left).await.map_err(crate::session::SessionError::from)?;
        notebook.set_outputs(cell, run.execution.execution_count, &run.execution.outputs);
        recorder.cell(Phase::Proof, cell, &run.execution);
        let status = match run.failure.as_ref().map(|failure| &failure.cause) {
            None => "ok",
            Some(Cause::Exception { .. }) => "error",
            Some(Cause::Timeout { .. }) => "timeout",
            Some(Cause::Death(_)) => "died",
        };
        cells.push(CellTime { cell: cell.0, status: status.into(), seconds: run.execution.seconds });
        let Some(failure) = run.failure else { continue };
        let expected = piece.may_fail && matches!(failure.cause, Cause::Exception { .. });
        if !expected {
            errors.push(crate::job::error_record(&failure, &sources, &shown));
        }
        let fatal = !matches!(failure.cause, Cause::Exception { .. });
        if fatal || !expected && !options.allow_errors {
            stop = Some(failure);
            break;
        }
    }
    let info = session.kernel().info();
    if notebook.kernel_name().is_none() {
        notebook.set_kernel(crate::job::kernelspec(), info.language_info.clone());
    }
    let (verdict, reason) = match (&stop, errors.len()) {
        (Some(failure), _) if matches!(failure.cause, Cause::Exception { .. }) => {
            let first = failure.signature().lines().next().unwrap_or_default().to_owned();
            (Verdict::Error, format!("stopped at `{first}`; `mlem modernize` tries to repair it"))
        }
        (Some(failure), _) => crate::job::stop_reason(failure, &sources, &crate::paths::FileIndex::of(&[])),
        (None, 0) => (Verdict::Runs, "every cell ran".to_owned()),
        (None, count) => (Verdict::Error, format!("{count} cells failed")),
    };
    let mut notes = session.kernel().confinement().missing.clone();
    notes.push(crate::scratch::UNCONFINED.to_owned());
    let tables = session.tables(stop.is_none() && errors.is_empty(), &[]);
    notes.extend(crate::tables::notes(&tables));
    let log_path = session.log().to_owned();
    let (scratch, exit) = session.finish().await;
    let log = std::fs::read(log_path).unwrap_or_default();
    let report = RunReport {
        schema: RUN_SCHEMA,
        notebook: shown,
        verdict: verdict.as_str().to_owned(),
        reason,
        python: crate::job::version(environment),
        packages: environment.packages.clone(),
        seconds: started.elapsed().as_secs_f64(),
        cells,
        errors,
        exit: exit.exit.death.to_string(),
        tables,
        notes,
    };
    finish(&mut recorder, &report, &log)?;
    Ok(Ran { run: recorder.run_id().cloned(), report, notebook: Some(notebook), log, scratch })
}

/// Runs a plain `.py` file as a script.
///
/// # Errors
/// [`JobError`] when it could not be started; a script that fails is a [`Ran`].
pub async fn run_script(
    path: &Path,
    environment: &Environment,
    options: &RunOptions,
    ledger: Option<&Ledger>,
) -> Result<Ran, JobError> {
    let started = Instant::now();
    let real = canonical(path)?;
    let io = |error| JobError::Io { path: path.display().to_string(), error };
    let text = std::fs::read(&real).map_err(io)?;
    let mut recorder = begin(&real, &text, environment, options, ledger)?;
    let named = crate::paths::literals(&[Unit::module(&String::from_utf8_lossy(&text))]);
    let root = tree_root(&real, named.iter().map(String::as_str));
    let scratch = Scratch::copy_of(&real, &root).map_err(crate::session::SessionError::Scratch)?;
    if let Some(data) = &options.data {
        scratch.offer_input(data).map_err(crate::session::SessionError::Scratch)?;
    }
    let before = Snapshot::of(&scratch.folder());
    let name = real.file_name().unwrap_or_default();
    let launch = Launch::new(&environment.python)
        .arg(name)
        .working_dir(scratch.folder())
        .network(if options.session.network { Network::Host } else { Network::None })
        .limits(options.session.limits());
    let deadline = options.notebook_timeout;
    let finished = tokio::task::spawn_blocking(move || launch.run(deadline, SCRIPT_OUTPUT_LIMIT))
        .await
        .map_err(|error| io(std::io::Error::other(error)))?
        .map_err(|error| io(std::io::Error::other(error)))?;
    let stderr = String::from_utf8_lossy(&finished.stderr).into_owned();
    let (verdict, reason) = if finished.timed_out {
        (Verdict::Timeout, "the script ran longer than `--timeout`".to_owned())
    } else if finished.exit.success() {
        (Verdict::Runs, "the script ran".to_owned())
    } else {
        (Verdict::Error, format!("the script {}", finished.exit.death))
    };
    let errors = match verdict {
        Verdict::Runs => Vec::new(),
        _ => vec![script_error(&stderr, &path.display().to_string(), &reason)],
    };
    let log = [finished.stdout, finished.stderr].concat();
    let tables = before.tables(&scratch.folder(), verdict == Verdict::Runs, &[]);
    let mut notes = finished.confinement.missing;
    notes.extend(crate::tables::notes(&tables));
    let report = RunReport {
        schema: RUN_SCHEMA,
        notebook: path.display().to_string(),
        verdict: verdict.as_str().to_owned(),
        reason,
        python: crate::job::version(environment),
        packages: environment.packages.clone(),
        seconds: started.elapsed().as_secs_f64(),
        cells: Vec::new(),
        errors,
        exit: finished.exit.death.to_string(),
        tables,
        notes,
    };
    finish(&mut recorder, &report, &log)?;
    Ok(Ran { run: recorder.run_id().cloned(), report, notebook: None, log, scratch })
}

/// The last line of a traceback is `Name: message`.
fn script_error(stderr: &str, path: &str, reason: &str) -> ErrorRecord {
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(reason);
    let (ename, evalue) = last.split_once(": ").unwrap_or((last, ""));
    let line = stderr
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("File \"")?.split_once("\", line "))
        .filter(|(file, _)| path.ends_with(file.rsplit('/').next().unwrap_or(file)))
        .filter_map(|(_, rest)| rest.split(',').next()?.trim().parse().ok())
        .next_back();
    ErrorRecord {
        cell: None,
        path: Some(path.to_owned()),
        line,
        ename: ename.to_owned(),
        evalue: evalue.to_owned(),
    }
}

pub(crate) fn canonical(path: &Path) -> Result<PathBuf, JobError> {
    std::fs::canonicalize(path).map_err(|error| JobError::Io { path: path.display().to_string(), error })
}

fn begin<'l>(
    path: &Path,
    bytes: &[u8],
    environment: &Environment,
    options: &RunOptions,
    ledger: Option<&'l Ledger>,
) -> Result<Recorder<'l>, JobError> {
    let Some(ledger) = ledger else { return Ok(Recorder::new(None)) };
    let environment = mlem_ledger::Environment {
        lock_hash: environment.key(),
        python: crate::job::version(environment),
        packages: environment.packages.clone(),
    };
    let options = serde_json::json!({
        "cell_timeout": options.session.cell_timeout.map(|limit| limit.as_secs_f64()),
        "timeout": options.notebook_timeout.map(|limit| limit.as_secs_f64()),
        "network": options.session.network,
        "allow_errors": options.allow_errors,
    });
    let run = ledger.begin_run(&NewRun {
        kind: RunKind::Run,
        notebook: path,
        notebook_sha256: &format!("{:x}", Sha256::digest(bytes)),
        environment: Some(&environment),
        options: &options,
    })?;
    Ok(Recorder::new(Some((ledger, run))))
}

fn finish(recorder: &mut Recorder<'_>, report: &RunReport, log: &[u8]) -> Result<(), JobError> {
    recorder.log(log);
    // A report of our own types is always JSON.
    recorder.finish(&report.verdict, &serde_json::to_value(report).unwrap_or_default());
    recorder.refused().map_or(Ok(()), |error| Err(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scripts_traceback_gives_the_error_and_its_line() {
        let stderr = "Traceback (most recent call last):\n  File \"/tmp/x/a.py\", line 7, in <module>\n    f()\n  File \"/tmp/x/a.py\", line 3, in f\n    1/0\nZeroDivisionError: division by zero\n";
        let error = script_error(stderr, "some/a.py", "r");
        assert_eq!(
            (error.ename.as_str(), error.evalue.as_str(), error.line),
            ("ZeroDivisionError", "division by zero", Some(3))
        );
    }
}
