//! One notebook from start to verdict.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mlem_configuration::Settings;
use mlem_environment::{Detector, Environment, Probe};
use mlem_kernel::Death;
use mlem_ledger::{Ledger, LedgerError, NewRun, ResumeKey, RunId, RunKind};
use mlem_notebook::{CellIndex, Notebook};
use mlem_python::Unit;
use mlem_rules::{Catalogue, Pins};
use mlem_verdict::{Class, OutputStatus, Tolerance, Verdict};
use pep440_rs::Version;
use sha2::{Digest, Sha256};

use crate::clues::{self, Stored};
use crate::dead_ends::Waiting;
use crate::defaults::{self, Dating, Defaults};
use crate::fidelity::{self, Fidelity};
use crate::live::{Ending, Event, Proven, Repair, Strategy};
use crate::modules;
use crate::paths::{self, FileIndex, Root};
use crate::record::Recorder;
use crate::report::{
    CellsExecuted, DeadEndRecord, EditRecord, ErrorRecord, NotRunRecord, OutputRecord, PreventedRecord,
    REPORT_SCHEMA, Report, Seconds,
};
use crate::scratch::{Scratch, tree_root};
use crate::session::{Cause, Failure, SessionError, SessionOptions};
use crate::sources::{LineChange, Place, Sources};
use crate::statics::{self, Permission, record_place};
use crate::wanted::Wanted;

/// How one notebook is modernized.
#[derive(Debug, Clone)]
pub struct Options {
    /// How its kernels are run.
    pub session: SessionOptions,
    /// Most time for the repair, and again for the proof.
    pub notebook_timeout: Option<Duration>,
    /// Where environments are built.
    pub cache: PathBuf,
    /// How a fix is tried.
    pub strategy: Strategy,
    /// Go on with an interrupted run of the same notebook, options and environment.
    pub resume: bool,
    /// What the user says about the notebook's time.
    pub dating: Dating,
}

/// What is modernized, with what.
pub struct Job<'a> {
    /// The notebook's path as the user named it.
    pub notebook: &'a Path,
    /// The environment to run in.
    pub environment: &'a Environment,
    /// Asks that environment's interpreter what it has.
    pub probe: Option<Probe>,
    /// Which rules are wanted in which files; what is judged against is the environment.
    pub settings: &'a Settings,
    /// Where the notebook's data is.
    pub data: Option<&'a Path>,
    /// How.
    pub options: &'a Options,
    /// Where to record it.
    pub ledger: Option<&'a Ledger>,
    /// Told what happens, as it happens.
    pub progress: &'a mut dyn FnMut(Event),
    /// What was noted before: about the environment, for the report.
    pub notes: Vec<String>,
    /// When the job began, so that the report's total counts the building of the environment.
    pub started: Instant,
}

/// A job's result; nothing of it is written yet.
#[derive(Debug)]
pub struct Modernized {
    /// The report.
    pub report: Report,
    /// The modernized notebook: with the outputs of the proof run, if it ran.
    pub notebook: Notebook,
    /// Changed helper modules: path relative to the tree's root, and text.
    pub modules: Vec<(PathBuf, String)>,
    /// Root of the original tree.
    pub root: PathBuf,
    /// Unified diff of every changed cell and module.
    pub diff: String,
    /// The kernel's log of the proof run.
    pub log: Vec<u8>,
    /// The scratch copy of the proof run, which holds the tables it wrote.
    pub scratch: Option<Scratch>,
    /// The run in the ledger.
    pub run: Option<RunId>,
}

/// Why a job could not be done at all; a notebook that does not run is no such error.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// Bad input.
    #[error(transparent)]
    Notebook(#[from] mlem_notebook::NotebookError),
    /// Not Python.
    #[error("{path}: the notebook's language is {language}; only Python notebooks can be run")]
    Language {
        /// The notebook.
        path: String,
        /// Its language.
        language: String,
    },
    /// A script where a notebook is wanted.
    #[error(
        "{path}: only notebooks (.ipynb) are modernized; `mlem fix` fixes .py files and `mlem run` runs them"
    )]
    Script {
        /// The file.
        path: String,
    },
    /// Nothing to run.
    #[error("{path}: the notebook has no code cells")]
    NoCode {
        /// The notebook.
        path: String,
    },
    /// The kernel or its folder.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The record.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The file system.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
}

/// Reads a notebook that can be run: Python, with code.
///
/// # Errors
/// [`JobError::Notebook`], [`JobError::Language`] or [`JobError::NoCode`].
pub fn read_runnable(path: &Path) -> Result<Notebook, JobError> {
    if path.extension().is_some_and(|extension| extension == "py") {
        return Err(JobError::Script { path: path.display().to_string() });
    }
    let notebook = Notebook::read(path)?;
    let shown = path.display().to_string();
    if let mlem_notebook::Language::Other(language) = notebook.language() {
        return Err(JobError::Language { path: shown, language });
    }
    let has_code = notebook
        .cells()
        .iter()
        .any(|cell| cell.kind == mlem_notebook::CellKind::Code && !cell.source.trim().is_empty());
    if !has_code {
        return Err(JobError::NoCode { path: shown });
    }
    Ok(notebook)
}

/// The versions of an environment in the form that rules are judged against.
pub fn pins(environment: &Environment) -> Pins {
    Pins {
        python: environment.interpreter.minor(),
        packages: environment
            .packages
            .iter()
            // A version that is not PEP 440 (a local build of long ago) cannot be compared, so its rules stay silent.
            .filter_map(|(name, version)| Some((name.clone(), version.parse::<Version>().ok()?)))
            .collect(),
    }
}

/// Modernizes one notebook.
///
/// # Errors
/// [`JobError`] when the job could not be done at all. A notebook that still does not run is a [`Modernized`]
/// whose report says why.
pub async fn modernize(job: Job<'_>) -> Result<Modernized, JobError> {
    let mut notebook = read_runnable(job.notebook)?;
    let io = |error| JobError::Io { path: job.notebook.display().to_string(), error };
    let path = std::fs::canonicalize(job.notebook).map_err(io)?;
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    notebook.upgrade();
    let mut sources = Sources::new(&notebook);
    let program = sources.program();
    let root = tree_root(&path, paths::literals(program.units()).iter().map(String::as_str));
    let shown = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
    let mut helpers = modules::find(&program, &folder, &root);
    helpers.retain(|(module, _)| !job.settings.excludes(&root.join(module)));
    sources.add_modules(helpers);
    let pins = pins(job.environment);
    let wanted = Wanted::new(job.settings, &path, &root, &sources);
    let Dating { as_of, no_pins } = job.options.dating;
    let cells = sources.cell_indices();
    let detector = &Detector::new(pins.python);
    let stored = Stored { notebook: &notebook, program: &program, cells: &cells, folder: &folder, detector };
    let clues = (!no_pins).then(|| clues::of_notebook(stored, as_of));

    let Begun { run, resumed } = begin(&job, &path, &notebook, &wanted)?;
    let mut recorder = Recorder::new(run);
    let static_fixes = statics::fix(&mut sources, &shown, &wanted, &pins, Permission::Safe);
    let mut installs = statics::guard_installs(&mut sources, &shown);
    let data = match job.data {
        Some(data) => Some(
            std::fs::canonicalize(data)
                .map_err(|error| JobError::Io { path: data.display().to_string(), error })?,
        ),
        None => None,
    };
    let written = data.as_ref().map(|data| paths::written(&folder, data, &root));
    if job.environment.version_of("google-colab").is_none() {
        installs.extend(statics::leave_colab(&mut sources, &shown, written.as_deref()));
    }
    // The static stage gives the same again, so an interrupted run has recorded it already.
    let mut replayed = Vec::new();
    match &resumed {
        Some(recorded) => {
            replayed = replay(recorded, &mut sources, &shown, wanted.catalogue());
            let count = replayed.len();
            (job.progress)(Event::Note(format!(
                "going on with an interrupted run, {count} live {} kept",
                if count == 1 { "change" } else { "changes" }
            )));
        }
        None => {
            recorder.edits(None, &static_fixes.edits);
            recorder.edits(None, &installs);
        }
    }
    for note in job.notes.iter().chain(&static_fixes.left_alone) {
        (job.progress)(Event::Note(note.clone()));
    }
    let prevented_errors = static_fixes.prevented;
    let mut edits = static_fixes.edits;
    edits.extend(installs);
    edits.append(&mut replayed);

    let mut roots = Vec::new();
    if let (Some(folder), Some(written)) = (data, written) {
        roots.push(Root { folder, written });
    }
    roots.push(Root { written: paths::written(&folder, &root, &root), folder: root.clone() });
    let mut repair = Repair {
        environment: job.environment.clone(),
        cache: &job.options.cache,
        wanted,
        pins,
        probe: job.probe,
        files: FileIndex::of(&roots),
        path: &path,
        root: &root,
        name: &shown,
        options: &job.options.session,
        notebook_timeout: job.options.notebook_timeout,
        strategy: job.options.strategy,
        sources,
        edits,
        attempts: Vec::new(),
        recorder,
        progress: job.progress,
        live_cells: 0,
        proof_cells: 0,
        live_time: Duration::ZERO,
        proof_time: Duration::ZERO,
        first_error: None,
        tried: HashSet::new(),
        stale: BTreeSet::new(),
        dead_ends: crate::dead_ends::DeadEnds::default(),
        aside: Vec::new(),
        revived: false,
        last_proof: None,
        defaults: Defaults { clues, ..Defaults::default() },
        phase_started: Instant::now(),
    };
    let ending = repair.run().await?;
    if let Some(error) = repair.recorder.refused() {
        return Err(error.into());
    }
    let context =
        Context { name: &job.notebook.display().to_string(), shown: &shown, prevented: prevented_errors };
    let reference = Notebook::read(job.notebook)?;
    let mut finished =
        conclude(repair, ending, notebook, reference, context, static_fixes.left_alone, job.notes).await;
    finished.root = root;
    finished.report.seconds.total = job.started.elapsed().as_secs_f64();
    Ok(finished)
}

/// A run in the ledger, and what an interrupted one had recorded.
struct Begun<'l> {
    run: Option<(&'l Ledger, RunId)>,
    resumed: Option<Vec<mlem_ledger::Edit>>,
}

/// Begins a run in the ledger, or takes up an interrupted one.
fn begin<'l>(
    job: &Job<'l>,
    path: &Path,
    notebook: &Notebook,
    wanted: &Wanted,
) -> Result<Begun<'l>, JobError> {
    let Some(ledger) = job.ledger else { return Ok(Begun { run: None, resumed: None }) };
    let options = serde_json::json!({
        "cell_timeout": job.options.session.cell_timeout.map(|limit| limit.as_secs_f64()),
        "timeout": job.options.notebook_timeout.map(|limit| limit.as_secs_f64()),
        "network": job.options.session.network,
        "strategy": match job.options.strategy { Strategy::Live => "live", Strategy::Rerun => "rerun" },
        "data": job.data.map(|data| data.to_string_lossy()),
        "rules": wanted.key(),
        "as_of": job.options.dating.as_of,
        "default_pins": !job.options.dating.no_pins,
    });
    let sha256 = format!("{:x}", Sha256::digest(notebook.to_text().as_bytes()));
    let environment = mlem_ledger::Environment {
        lock_hash: job.environment.key(),
        python: version(job.environment),
        packages: job.environment.packages.clone(),
    };
    if job.options.resume {
        let key = ResumeKey {
            notebook: path,
            notebook_sha256: &sha256,
            options_hash: &mlem_ledger::options_hash(RunKind::Modernize, &options),
            environment_hash: Some(&environment.lock_hash),
        };
        if let Some(state) = ledger.find_resumable(&key)? {
            ledger.take_over(&state.run.id)?;
            return Ok(Begun { run: Some((ledger, state.run.id)), resumed: Some(state.edits) });
        }
    }
    let run = ledger.begin_run(&NewRun {
        kind: RunKind::Modernize,
        notebook: path,
        notebook_sha256: &sha256,
        environment: Some(&environment),
        options: &options,
    })?;
    Ok(Begun { run: Some((ledger, run)), resumed: None })
}

/// Applies the recorded edits of kept attempts in their order; stops at the first whose lines do not stand there any
/// more.
fn replay(
    recorded: &[mlem_ledger::Edit],
    sources: &mut Sources,
    shown: &str,
    catalogue: &Catalogue,
) -> Vec<EditRecord> {
    let mut edits = Vec::new();
    for edit in recorded.iter().filter(|edit| edit.active && edit.attempt.is_some()) {
        let place = match &edit.place {
            mlem_ledger::Place::Cell(cell) => Place::Cell(*cell),
            mlem_ledger::Place::File(path) => Place::Module(path.clone()),
            mlem_ledger::Place::Environment => continue,
        };
        let (Some(piece), Some((first, last))) = (sources.position(&place), edit.lines) else { break };
        let change = LineChange {
            lines: (first as usize, last as usize),
            before: edit.before.clone(),
            after: edit.after.clone(),
        };
        let Some(text) = change.apply(&sources.pieces()[piece].current) else { break };
        sources.set(piece, text);
        let (path, cell) = record_place(sources, piece, shown);
        edits.push(EditRecord {
            path,
            cell,
            lines: change.lines,
            source: match edit.source {
                mlem_ledger::EditSource::Rule => crate::report::EditSource::Rule,
                mlem_ledger::EditSource::WhereNow => crate::report::EditSource::WhereNow,
                mlem_ledger::EditSource::Path => crate::report::EditSource::Path,
                mlem_ledger::EditSource::Environment => crate::report::EditSource::Environment,
                mlem_ledger::EditSource::Model => crate::report::EditSource::Model,
            },
            rule: edit.rule.clone(),
            before: change.before,
            after: change.after,
            evidence: edit.evidence.clone().unwrap_or_default(),
            safety: edit.safety.clone().unwrap_or_default(),
            reason: match edit.rule.as_deref().and_then(|id| catalogue.rule(id)) {
                Some(rule) => rule.summary.clone(),
                None => "made before the run was interrupted".into(),
            },
        });
    }
    edits
}

struct Context<'a> {
    name: &'a str,
    shown: &'a str,
    prevented: Vec<PreventedRecord>,
}

async fn conclude(
    mut repair: Repair<'_>,
    ending: Ending,
    mut notebook: Notebook,
    reference: Notebook,
    context: Context<'_>,
    left_alone: Vec<String>,
    mut notes: Vec<String>,
) -> Modernized {
    let sources = &repair.sources;
    sources.write_cells(&mut notebook);
    let mut outputs = Vec::new();
    let mut tables = Vec::new();
    let mut log = Vec::new();
    let mut kept_scratch = None;
    let mut dead_ends = Vec::new();
    let mut not_run = Vec::new();
    let (verdict, reason, remaining) = match ending {
        Ending::Proven(proven) => {
            let Proven { executions, session } = *proven;
            for (piece, execution) in sources.cells().iter().zip(&executions) {
                if let Place::Cell(cell) = piece.place {
                    notebook.set_outputs(cell, execution.execution_count, &execution.outputs);
                }
            }
            let info = session.kernel().info();
            notebook.set_kernel(kernelspec(), info.language_info.clone());
            notes.extend(session.kernel().confinement().missing.iter().cloned());
            notes.push(crate::scratch::UNCONFINED.to_owned());
            tables = session.tables(true, &repair.files.samples());
            notes.extend(crate::tables::notes(&tables));
            let log_path = session.log().to_owned();
            let (scratch, _) = session.finish().await;
            log = std::fs::read(log_path).unwrap_or_default();
            kept_scratch = Some(scratch);
            let comparisons = mlem_verdict::compare_notebooks(&reference, &notebook, &Tolerance::default());
            outputs = comparisons
                .iter()
                .filter(|comparison| comparison.status != OutputStatus::Empty)
                .map(output_record)
                .collect();
            let verdict = mlem_verdict::summarise(&comparisons);
            let reason = explain(&comparisons);
            (verdict, reason, None)
        }
        Ending::Stuck => {
            dead_ends = dead_end_records(&repair, context.shown);
            not_run = not_run_records(&repair);
            stopped(&repair, context.shown)
        }
    };
    let time = repair.defaults.time(&repair.edits, repair.wanted.catalogue(), sources);
    notes.extend(time.iter().flat_map(|time| time.0.conflicts().iter().cloned()));
    notes.append(&mut repair.defaults.notes);
    let fidelity = fidelity::judge(sources, &repair.edits, &repair.pins, context.shown);
    let (verdict, reason) = with_fidelity(verdict, reason, &fidelity);
    let report = Report {
        schema: REPORT_SCHEMA,
        notebook: context.name.to_owned(),
        verdict: verdict.as_str().to_owned(),
        reason,
        python: version(&repair.environment),
        packages: repair.environment.packages.clone(),
        edits: std::mem::take(&mut repair.edits),
        fidelity,
        attempts: std::mem::take(&mut repair.attempts),
        cells_total: notebook.cells().len(),
        cells_executed: CellsExecuted { live: repair.live_cells, proof: repair.proof_cells },
        seconds: Seconds {
            live: repair.live_time.as_secs_f64(),
            proof: repair.proof_time.as_secs_f64(),
            total: 0.0,
        },
        first_error_before: repair
            .first_error
            .as_ref()
            .map(|failure| error_record(failure, sources, context.shown)),
        remaining_error: remaining,
        prevented_errors: context.prevented,
        dead_ends,
        not_run,
        outputs,
        score: None,
        statistics: None,
        left_alone: {
            let mut left = left_alone;
            left.extend(statics::remaining(sources, context.shown, &repair.wanted, &repair.pins));
            if let Some(time) = &time {
                let (wanted, pins) = (&repair.wanted, &repair.pins);
                left.extend(defaults::not_pinned(sources, context.shown, wanted, pins, time));
            }
            left
        },
        past: time.as_ref().map_or(Vec::new(), |time| time.records(&repair.pins)),
        notes,
        tables,
    };
    let modules: Vec<(PathBuf, String)> = sources
        .modules()
        .iter()
        .filter(|piece| piece.current != piece.original)
        .filter_map(|piece| match &piece.place {
            Place::Module(path) => Some((path.clone(), piece.current.clone())),
            Place::Cell(_) => None,
        })
        .collect();
    let diff = sources.unified_diff(Path::new(context.shown));
    repair.recorder.log(&log);
    // A report of our own types is always JSON.
    repair.recorder.finish(&report.verdict, &serde_json::to_value(&report).unwrap_or_default());
    Modernized {
        run: repair.recorder.run_id().cloned(),
        report,
        notebook,
        modules,
        root: PathBuf::new(),
        diff,
        log,
        scratch: kept_scratch,
    }
}

/// A notebook that runs and whose logic changed has drifted, whatever it shows.
fn with_fidelity(verdict: Verdict, reason: String, fidelity: &Fidelity) -> (Verdict, String) {
    if !verdict.ran() {
        return (verdict, reason);
    }
    match fidelity.class {
        Class::Neutral => (verdict, reason),
        Class::Unclear => {
            let count = fidelity.of(Class::Unclear).count().max(1);
            let changes = if count == 1 { "1 change".to_owned() } else { format!("{count} changes") };
            (verdict, format!("{reason}; whether {changes} kept the logic cannot be told from the source"))
        }
        Class::Drift => {
            let first = fidelity.of(Class::Drift).next().map(|placed| placed.change.reason.as_str());
            let first = first.unwrap_or("an edit changed it");
            (verdict.combine(Verdict::Drifted), format!("the notebook's logic changed: {first}; {reason}"))
        }
    }
}

/// The verdict of a notebook with dead ends: the first one's, which says how many others there are.
fn stopped(repair: &Repair<'_>, shown: &str) -> (Verdict, String, Option<ErrorRecord>) {
    let Some(first) = repair.dead_ends.ends().first() else {
        return (Verdict::HarnessFailure, "the repair ended without a reason".into(), None);
    };
    let (verdict, mut reason) = reason_of(repair, first);
    let others = repair.dead_ends.ends().len() - 1;
    if others > 0 {
        reason.push_str(&format!("; {others} more dead end{}", if others == 1 { "" } else { "s" }));
    }
    let waiting = repair.dead_ends.waiting().len();
    if waiting > 0 {
        reason.push_str(&format!("; {waiting} cell{} not run", if waiting == 1 { "" } else { "s" }));
    }
    (verdict, reason, Some(error_record(first, &repair.sources, shown)))
}

fn reason_of(repair: &Repair<'_>, failure: &Failure) -> (Verdict, String) {
    match misfit(repair, failure) {
        Some(reason) => (Verdict::EnvironmentFailure, reason),
        None => stop_reason(failure, &repair.sources, &repair.files),
    }
}

/// Two libraries that do not fit together: one that is installed lacks a module which another, whose import the
/// notebook's line asks for, wants of it (imbalanced-learn beside a scikit-learn that is too old).
fn misfit(repair: &Repair<'_>, failure: &Failure) -> Option<String> {
    let Cause::Exception { exception, .. } = &failure.cause else { return None };
    let module = exception.evalue.strip_prefix("No module named ")?.trim_matches(['\'', '"']);
    let (library, _) = module.split_once('.')?;
    let (piece, line) = failure.culprit()?;
    let (program, unit) = repair.sources.program_of(piece);
    let asked = program.imports().iter().find(|import| {
        let (first, last) = program.units()[unit].lines(import.range);
        import.unit == unit && (first..=last).contains(&line)
    })?;
    let asking = asked.module.split('.').next()?;
    let named = |import: &str| {
        let distribution = mlem_environment::Knowledge::shipped().offer(import)?.distribution?;
        let version = repair.environment.version_of(distribution.as_str())?;
        Some((distribution.as_str().to_owned(), version.to_owned()))
    };
    let ((asking, its_version), (lacking, version)) = (named(asking)?, named(library)?);
    (asking != lacking).then(|| {
        format!(
            "{asking} {its_version} asks for `{module}`, which {lacking} {version} does not have: these two do not fit \
             together; install a matching pair, or let mlem build the environment"
        )
    })
}

fn dead_end_records(repair: &Repair<'_>, shown: &str) -> Vec<DeadEndRecord> {
    let record = |failure: &Failure| {
        let (verdict, reason) = reason_of(repair, failure);
        let error = error_record(failure, &repair.sources, shown);
        DeadEndRecord { error, verdict: verdict.as_str().to_owned(), reason }
    };
    repair.dead_ends.ends().iter().map(record).collect()
}

fn not_run_records(repair: &Repair<'_>) -> Vec<NotRunRecord> {
    let cell_of = |position: usize| match repair.sources.cells()[position].place {
        Place::Cell(index) => index.0,
        Place::Module(_) => position,
    };
    let record = |(cell, waiting): (&usize, &Waiting)| NotRunRecord {
        cell: cell_of(*cell),
        dead_end: cell_of(waiting.root),
        names: waiting.names.clone(),
    };
    repair.dead_ends.waiting().iter().map(record).collect()
}

/// Counts of compared cells, in a sentence.
fn explain(comparisons: &[mlem_verdict::CellComparison]) -> String {
    let count =
        |wanted: fn(&OutputStatus) -> bool| comparisons.iter().filter(|each| wanted(&each.status)).count();
    let same = count(|status| matches!(status, OutputStatus::Same | OutputStatus::Close { .. }));
    let different = count(|status| matches!(status, OutputStatus::Different { .. } | OutputStatus::Missing));
    let unknown = count(|status| matches!(status, OutputStatus::NotComparable { .. }));
    if same + different == 0 {
        return "every cell ran; no stored output can be compared".into();
    }
    let rest = if unknown > 0 { format!(", {unknown} cannot be compared") } else { String::new() };
    format!("every cell ran; of the stored outputs {same} came back the same, {different} differ{rest}")
}

fn output_record(comparison: &mlem_verdict::CellComparison) -> OutputRecord {
    let (status, detail) = match &comparison.status {
        OutputStatus::Same => ("same", None),
        OutputStatus::Close { largest_relative_difference } => {
            ("close", Some(format!("largest relative difference {largest_relative_difference:.1e}")))
        }
        OutputStatus::Different { expected, actual } => {
            ("different", Some(format!("expected `{expected}`, got `{actual}`")))
        }
        OutputStatus::NotComparable { reason } => ("not-comparable", Some(reason.clone())),
        OutputStatus::Missing => ("missing", Some("the stored output did not come back".into())),
        OutputStatus::Empty => ("empty", None),
    };
    OutputRecord { cell: comparison.cell.0, status: status.to_owned(), detail }
}

pub(crate) fn error_record(failure: &Failure, sources: &Sources, shown: &str) -> ErrorRecord {
    let cell = match sources.cells()[failure.cell].place {
        Place::Cell(CellIndex(index)) => Some(index),
        Place::Module(_) => None,
    };
    let signature = failure.signature();
    let (ename, evalue) = signature.split_once(": ").unwrap_or((&signature, ""));
    let (path, line) = match failure.culprit() {
        Some((piece, line)) => (Some(record_place(sources, piece, shown).0), Some(line)),
        None => (None, None),
    };
    ErrorRecord { cell, path, line, ename: ename.to_owned(), evalue: evalue.to_owned() }
}

/// The verdict for a failure that nothing helped, and what a person can do about it.
pub(crate) fn stop_reason(failure: &Failure, sources: &Sources, files: &FileIndex) -> (Verdict, String) {
    let exception = match &failure.cause {
        Cause::Timeout { limit, whole: false } => {
            let seconds = limit.as_secs_f64();
            return (
                Verdict::Timeout,
                format!("a cell ran longer than {seconds:.0} s; raise `--cell-timeout`"),
            );
        }
        Cause::Timeout { whole: true, .. } => {
            return (Verdict::Timeout, "the notebook's time was used up; raise `--timeout`".into());
        }
        Cause::Death(Death::OutOfMemory { .. }) => {
            return (
                Verdict::OutOfMemory,
                "the kernel ran out of memory; give it more with `--memory`".into(),
            );
        }
        Cause::Death(death) => return (Verdict::Error, format!("the kernel died: {death}")),
        Cause::Exception { exception, .. } => exception,
    };
    if let Some(missing) = paths::missing_path(&exception.ename, &exception.evalue) {
        let name = match paths::data_set(&missing) {
            Some(name) => format!("the data set `{name}` (for `{missing}`)"),
            None => format!("`{missing}`"),
        };
        let place = if files.is_empty() {
            "no data was given"
        } else {
            "it is not among the files beside the notebook or under `--data`"
        };
        let units: Vec<Unit> = sources.cells().iter().map(|piece| Unit::cell(&piece.current)).collect();
        let others: BTreeSet<String> = paths::named_data_sets(&units);
        let all = if others.len() > 1 {
            format!(
                "; the notebook names the data sets {}",
                others.into_iter().collect::<Vec<_>>().join(", ")
            )
        } else {
            String::new()
        };
        return (
            Verdict::MissingInput,
            format!("{name} is missing: {place}; give its folder with `--data DIR`{all}"),
        );
    }
    if exception.ename.ends_with("MemoryError") {
        return (Verdict::OutOfMemory, "the notebook ran out of memory; give it more with `--memory`".into());
    }
    if exception.ename == "ModuleNotFoundError" {
        return (
            Verdict::EnvironmentFailure,
            format!(
                "{}; install the distribution that provides it, or give `--requirements FILE`",
                exception.evalue
            ),
        );
    }
    (
        Verdict::Error,
        format!("no rule helps with `{}`", exception.signature().lines().next().unwrap_or_default()),
    )
}

/// The packages of a report, one a line, as a requirements file.
pub fn requirements(packages: &BTreeMap<String, String>) -> String {
    packages.iter().map(|(name, version)| format!("{name}=={version}\n")).collect()
}

/// `3.13.0`.
pub(crate) fn version(environment: &Environment) -> String {
    let (major, minor, micro) = environment.version;
    format!("{major}.{minor}.{micro}")
}

/// The kernel that Jupyter offers for the Python it is installed in.
pub(crate) fn kernelspec() -> serde_json::Value {
    serde_json::json!({"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"})
}
