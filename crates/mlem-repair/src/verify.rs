//! Runs a notebook again and again until it is decided whether it still gives what it gave.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mlem_environment::Environment;
use mlem_ledger::Ledger;
use mlem_notebook::{CellIndex, Notebook, Output};
use mlem_python::{Syntax, Unit};
use mlem_verdict::statistics::{Assessment, Decision, Margin, Plan, RunScore, assess, paper};
use mlem_verdict::{CellComparison, OutputStatus, Tolerance, Verdict, compare_notebooks};
use regex::Regex;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::job::{JobError, read_runnable};
use crate::live::Event;
use crate::report::ErrorRecord;
use crate::run::{Ran, RunOptions, Subject, canonical, run_subject};
use crate::sources::Sources;
use crate::tables::Table;

/// Version of the shape of a verification's report, documented in `docs/verify.md`.
pub const VERIFY_SCHEMA: u32 = 1;

/// What a run is compared with.
#[derive(Debug, Clone, Default)]
pub struct Reference {
    /// A notebook whose outputs are the reference.
    pub outputs: Option<Notebook>,
    /// One score, or those of repeated runs.
    pub scores: Vec<f64>,
}

/// How a notebook is verified.
#[derive(Debug, Clone)]
pub struct VerifyOptions {
    /// How each run is made.
    pub run: RunOptions,
    /// How many runs there may be.
    pub plan: Plan,
    /// How far the score may move.
    pub margin: Option<Margin>,
    /// How far numbers in outputs may be apart.
    pub tolerance: Tolerance,
    /// Also say what the published study's rules would.
    pub as_paper: Option<paper::Band>,
}

/// What one run left, for whoever tells its score.
#[derive(Debug)]
pub struct Left<'a> {
    /// The executed notebook.
    pub notebook: &'a Notebook,
    /// Tables it wrote, the likely submission first.
    pub tables: &'a [Table],
    /// The folder their paths are relative to.
    pub folder: &'a Path,
}

/// Tells a run's score, or in words why it has none.
pub type Scorer<'a> = &'a dyn Fn(&Left<'_>) -> Result<f64, String>;

/// Finds a score in what a notebook prints: the last match of a pattern, its first group where it has one.
#[derive(Debug, Clone)]
pub struct PrintedScore(Regex);

impl PrintedScore {
    /// A pattern such as `RMSE: ([0-9.]+)`.
    ///
    /// # Errors
    /// What is wrong with the pattern.
    pub fn new(pattern: &str) -> Result<Self, regex::Error> {
        Regex::new(pattern).map(PrintedScore)
    }

    /// The score that a notebook's outputs show.
    ///
    /// # Errors
    /// In words, when nothing matches or the match is no number.
    pub fn of(&self, notebook: &Notebook) -> Result<f64, String> {
        let texts: Vec<String> =
            notebook.cells().iter().flat_map(|cell| cell.outputs()).filter_map(text).collect();
        let found = texts.iter().flat_map(|text| self.0.captures_iter(text)).last();
        let Some(found) = found else {
            return Err(format!("no output matches `{}`", self.0));
        };
        let number = found.get(1).or_else(|| found.get(0)).map_or("", |group| group.as_str());
        number.trim().parse().map_err(|_| format!("`{number}`, which `{}` matches, is no number", self.0))
    }
}

/// The Python a notebook was made with: what its metadata says, else 2.7 where its cells are Python 2.
pub fn past_python(notebook: &Notebook) -> Option<(u8, u8)> {
    let version = notebook.language_version().and_then(|version| {
        let mut numbers = version.split('.').map(|part| part.parse::<u8>().ok());
        Some((numbers.next()??, numbers.next()??))
    });
    version.or_else(|| {
        let sources = Sources::new(notebook);
        let is_python2 = |text: &str| matches!(Unit::cell(text).syntax(), Syntax::Python2 { .. });
        let python2 = sources.cells().iter().any(|piece| is_python2(&piece.current));
        python2.then_some((2, 7))
    })
}

/// What an output shows as text.
fn text(output: Output) -> Option<String> {
    match output {
        Output::Stream { text, .. } => Some(text),
        Output::ExecuteResult { data, .. } | Output::DisplayData { data, .. } => {
            data.get("text/plain")?.as_str().map(str::to_owned)
        }
        Output::Error { .. } => None,
    }
}

/// A run that was made and recorded before, by `mlem modernize` or `mlem run`.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The folder of its results.
    pub folder: PathBuf,
    /// The executed notebook.
    pub notebook: Notebook,
    /// The notebook that it was made from, as its report names it.
    pub original: Option<PathBuf>,
    /// Its verdict.
    pub verdict: String,
    /// Tables it wrote.
    pub tables: Vec<Table>,
    /// Version of the interpreter.
    pub python: String,
    /// Installed distributions.
    pub packages: BTreeMap<String, String>,
    /// Helper modules that were changed: path relative to the tree's root, and text.
    pub modules: Vec<(PathBuf, String)>,
}

#[derive(serde::Deserialize)]
struct RecordedReport {
    notebook: String,
    verdict: String,
    python: String,
    #[serde(default)]
    packages: BTreeMap<String, String>,
    #[serde(default)]
    tables: Vec<Table>,
}

impl Recorded {
    /// The record beside `path`, where `path` is the notebook in a folder of results; `None` where it is any
    /// other notebook.
    ///
    /// # Errors
    /// [`JobError`] when the notebook cannot be read.
    pub fn beside(path: &Path) -> Result<Option<Self>, JobError> {
        let folder = canonical(path)?.parent().unwrap_or(Path::new("/")).to_owned();
        let Ok(text) = std::fs::read(folder.join("report.json")) else { return Ok(None) };
        // Any other program may write a file of that name.
        let Ok(report) = serde_json::from_slice::<RecordedReport>(&text) else { return Ok(None) };
        let name = path.file_name().unwrap_or_default();
        let named = Path::new(&report.notebook);
        if named.file_name() != Some(name) {
            return Ok(None);
        }
        let beside = folder.parent().map(|parent| parent.join(name));
        let original = [Some(named.to_owned()), beside]
            .into_iter()
            .flatten()
            .find(|candidate| candidate.is_file() && canonical(candidate).ok() != canonical(path).ok());
        Ok(Some(Recorded {
            notebook: read_runnable(path)?,
            original,
            verdict: report.verdict,
            tables: report.tables,
            python: report.python,
            packages: report.packages,
            modules: modules(&folder.join("modules")),
            folder,
        }))
    }

    /// Whether it ran to its end in this very environment, so that it can stand for a run of today.
    pub fn counts(&self, environment: &Environment) -> bool {
        let ran = self.verdict.parse::<Verdict>().is_ok_and(Verdict::ran);
        ran && self.python == crate::job::version(environment) && self.packages == environment.packages
    }

    /// The notebook as something to run again: where the original lies, with the changed modules.
    ///
    /// # Errors
    /// [`JobError`] when there is no original any more.
    pub fn subject(&self, shown: &Path) -> Result<Subject, JobError> {
        let place = self.original.as_deref().unwrap_or(shown);
        Ok(Subject {
            shown: shown.display().to_string(),
            notebook: self.notebook.clone(),
            place: canonical(place)?,
            modules: self.modules.clone(),
        })
    }
}

fn modules(folder: &Path) -> Vec<(PathBuf, String)> {
    walkdir::WalkDir::new(folder)
        .sort_by_file_name()
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .filter_map(|entry| {
            let relative = entry.path().strip_prefix(folder).ok()?.to_owned();
            Some((relative, std::fs::read_to_string(entry.path()).ok()?))
        })
        .collect()
}

/// One of the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifiedRun {
    /// `runs`, or why it did not.
    pub verdict: String,
    /// Made before, and not again.
    pub recorded: bool,
    /// Wall time in seconds; `None` for a recorded run.
    pub seconds: Option<f64>,
    /// Its score.
    pub score: Option<f64>,
    /// Why it has none, where one was asked for.
    pub score_problem: Option<String>,
    /// The first error.
    pub error: Option<ErrorRecord>,
}

/// How a cell's outputs compare with the reference over all runs.
#[derive(Debug, Clone, Serialize)]
pub struct VerifiedCell {
    /// The comparison of the first run.
    #[serde(flatten)]
    pub first: CellComparison,
    /// Whether the runs differ among themselves in this cell.
    pub varies: bool,
}

/// What was found about the outputs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct OutputSummary {
    /// Cells equal to the reference in every run.
    pub same: usize,
    /// Cells within the tolerance.
    pub close: usize,
    /// Cells that differ from the reference in every run, and not among the runs.
    pub different: usize,
    /// Cells that have nothing to show where the reference does.
    pub missing: usize,
    /// Cells that differ from run to run, so that a difference from the reference says nothing.
    pub varying: usize,
    /// Cells that cannot be compared.
    pub not_comparable: usize,
    /// Every cell of the reference that shows something.
    pub cells: Vec<VerifiedCell>,
}

/// A verification's report.
#[derive(Debug, Clone, Serialize)]
pub struct VerifyReport {
    /// [`VERIFY_SCHEMA`].
    pub schema: u32,
    /// The notebook as it was named.
    pub notebook: String,
    /// Over outputs and score together.
    pub verdict: String,
    /// In a sentence.
    pub reason: String,
    /// Version of the interpreter.
    pub python: String,
    /// Installed distributions.
    pub packages: BTreeMap<String, String>,
    /// Every run in order.
    pub runs: Vec<VerifiedRun>,
    /// Whether the first two runs were identical in everything they show and write.
    pub deterministic: bool,
    /// The outputs; `None` without a reference for them.
    pub outputs: Option<OutputSummary>,
    /// The score; `None` where none was asked for.
    pub score: Option<Assessment>,
    /// The published study's rules, where they were asked for; no verdict rests on them.
    pub as_paper: Option<PaperVerdict>,
    /// The runs of the old notebook in its own environment, where it is what was compared with.
    pub past: Option<Box<VerifyReport>>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// What the study (arXiv 2602.07195) would say.
#[derive(Debug, Clone, Serialize)]
pub struct PaperVerdict {
    /// The score it takes as the target.
    pub target: f64,
    /// The ten per cent rule on each run.
    pub band: Vec<paper::BandVerdict>,
    /// The rule of reruns and a t-test.
    pub reruns: paper::Reproducible,
}

/// A verification: its report, and the first run that came to its end.
#[derive(Debug)]
pub struct Verified {
    /// What was found.
    pub report: VerifyReport,
    /// The first executed notebook.
    pub executed: Option<Notebook>,
}

/// A run's outputs and the hashes of its tables.
struct Trace {
    notebook: Notebook,
    tables: BTreeMap<String, String>,
}

impl Trace {
    fn of(notebook: Notebook, tables: &[Table], folder: &Path) -> Trace {
        let hash = |table: &Table| {
            if let Some(known) = &table.sha256 {
                return known.clone();
            }
            let mut hasher = Sha256::new();
            let read = std::fs::File::open(folder.join(&table.path))
                .and_then(|mut file| std::io::copy(&mut file, &mut hasher));
            // A table that cannot be read equals no other.
            read.map_or_else(|error| error.to_string(), |_| format!("{:x}", hasher.finalize()))
        };
        let tables = tables.iter().map(|table| (table.path.clone(), hash(table))).collect();
        Trace { notebook, tables }
    }

    /// Cells that do not show the same; output that cannot repeat (timings, addresses) does not count.
    fn varying(&self, other: &Trace) -> BTreeSet<CellIndex> {
        let exact = Tolerance { relative: 0.0, absolute: 0.0 };
        compare_notebooks(&self.notebook, &other.notebook, &exact)
            .into_iter()
            .filter(|cell| {
                matches!(
                    cell.status,
                    OutputStatus::Different { .. } | OutputStatus::Close { .. } | OutputStatus::Missing
                )
            })
            .map(|cell| cell.cell)
            .collect()
    }
}

/// Everything known after some runs.
struct Evidence<'a> {
    reference: &'a Reference,
    options: &'a VerifyOptions,
    wants_score: bool,
    runs: Vec<VerifiedRun>,
    traces: Vec<Trace>,
    varying: BTreeSet<CellIndex>,
}

impl Evidence<'_> {
    fn add(&mut self, run: VerifiedRun, trace: Option<Trace>) {
        if let Some(trace) = trace {
            if let Some(first) = self.traces.first() {
                self.varying.extend(first.varying(&trace));
            }
            self.traces.push(trace);
        }
        self.runs.push(run);
    }

    fn failed(&self) -> usize {
        self.runs.len() - self.traces.len()
    }

    fn identical(&self) -> bool {
        match &self.traces[..] {
            [first, second, ..] if self.failed() == 0 => {
                self.varying.is_empty() && first.tables == second.tables
            }
            _ => false,
        }
    }

    fn score(&self) -> Option<Assessment> {
        let margin = self.options.margin?;
        if !self.wants_score || self.reference.scores.is_empty() {
            return None;
        }
        let scores: Vec<RunScore> = self.runs.iter().map(|run| RunScore::new(run.score)).collect();
        Some(assess(&self.reference.scores, &scores, self.identical(), margin, &self.options.plan))
    }

    fn outputs(&self) -> Option<OutputSummary> {
        let reference = self.reference.outputs.as_ref()?;
        let compared: Vec<Vec<CellComparison>> = self
            .traces
            .iter()
            .map(|trace| compare_notebooks(reference, &trace.notebook, &self.options.tolerance))
            .collect();
        let mut summary = OutputSummary::default();
        for (index, first) in compared.first()?.iter().enumerate() {
            if first.status == OutputStatus::Empty {
                continue;
            }
            let agrees = |cell: &CellComparison| {
                matches!(cell.status, OutputStatus::Same | OutputStatus::Close { .. })
            };
            let all_agree = compared.iter().all(|run| run.get(index).is_some_and(agrees));
            let varies = self.varying.contains(&first.cell);
            match &first.status {
                OutputStatus::Same if all_agree => summary.same += 1,
                OutputStatus::Close { .. } if all_agree => summary.close += 1,
                OutputStatus::NotComparable { .. } => summary.not_comparable += 1,
                _ if varies => summary.varying += 1,
                OutputStatus::Missing => summary.missing += 1,
                _ => summary.different += 1,
            }
            summary.cells.push(VerifiedCell { first: first.clone(), varies });
        }
        Some(summary)
    }

    /// The published study's verdicts. It normalises a score by its competition's other targets; here there are none, which
    /// changes nothing, since the t statistic is the same under every linear map.
    fn paper(&self, band: &paper::Band) -> Option<PaperVerdict> {
        let target = *self.reference.scores.first()?;
        let scores: Vec<Option<f64>> = self.runs.iter().map(|run| run.score).collect();
        let verdicts = self.runs.iter().map(|run| {
            band.verdict(run.score, target, Duration::from_secs_f64(run.seconds.unwrap_or_default()))
        });
        let reruns = paper::Reruns { target, scores: &scores };
        let normalisation = paper::Normalisation::of_targets(&[target], false);
        let stage = paper::Stage::Treated;
        Some(PaperVerdict {
            target,
            band: verdicts.collect(),
            reruns: paper::reproducible(&reruns, scores.len() > 1, stage, band, &normalisation),
        })
    }

    /// Whether another run can change what is known.
    fn undecided(&self) -> bool {
        let made = self.runs.len();
        if made >= self.options.plan.runs() {
            return false;
        }
        // The same failure twice is a failure.
        if made < Plan::FEWEST_RUNS {
            return true;
        }
        if self.traces.is_empty() {
            return false;
        }
        self.score().is_some_and(|score| score.decision == Decision::RunAgain)
    }

    fn verdict(&self, outputs: Option<&OutputSummary>, score: Option<&Assessment>) -> (Verdict, String) {
        if self.traces.is_empty() {
            let last = self.runs.last().map(|run| run.verdict.as_str()).unwrap_or_default();
            let verdict = last.parse().unwrap_or(Verdict::Error);
            return (verdict, format!("none of {} runs came to the end", self.runs.len()));
        }
        let mut verdicts = Vec::new();
        let mut reasons = Vec::new();
        if self.failed() > 0 {
            verdicts.push(Verdict::Inconclusive);
            reasons.push(format!("{} of {} runs failed", self.failed(), self.runs.len()));
        }
        if let Some(score) = score {
            verdicts.push(match score.decision {
                Decision::Equivalent => Verdict::Equivalent,
                Decision::Different => Verdict::Different,
                Decision::Inconclusive | Decision::RunAgain => Verdict::Inconclusive,
            });
            reasons.push(format!("score: {}", score.reason));
        }
        if let Some(outputs) = outputs {
            let shown = outputs.cells.len();
            if outputs.different + outputs.missing > 0 {
                verdicts.push(Verdict::Different);
                let count = outputs.different + outputs.missing;
                reasons.push(format!("{count} of {shown} stored outputs are not what they were"));
            } else if outputs.varying > 0 && score.is_none() {
                verdicts.push(Verdict::Inconclusive);
                reasons.push(format!("{} of {shown} stored outputs change from run to run", outputs.varying));
            } else if outputs.same + outputs.close > 0 {
                verdicts.push(Verdict::Equivalent);
                let count = outputs.same + outputs.close;
                reasons.push(format!("{count} of {shown} stored outputs are what they were"));
            }
        }
        match verdicts.into_iter().reduce(Verdict::combine) {
            Some(verdict) => (verdict, reasons.join("; ")),
            None => (Verdict::Runs, "it runs; there was nothing to compare with".to_owned()),
        }
    }
}

/// Repeats a notebook's run until its plan is used up or everything is decided.
///
/// A `recorded` run of the same environment counts as the first. A run that fails has no score and no outputs, and
/// never counts as success; where the first two both fail, there is no third.
///
/// # Errors
/// [`JobError`] when it could not be run at all.
pub async fn verify(
    subject: &Subject,
    environment: &Environment,
    (options, reference): (&VerifyOptions, &Reference),
    recorded: Option<&Recorded>,
    scorer: Option<Scorer<'_>>,
    ledger: Option<&Ledger>,
    progress: &mut dyn FnMut(Event),
) -> Result<Verified, JobError> {
    let mut evidence = Evidence {
        reference,
        options,
        wants_score: scorer.is_some(),
        runs: Vec::new(),
        traces: Vec::new(),
        varying: BTreeSet::new(),
    };
    let mut notes = Vec::new();
    if let Some(recorded) = recorded {
        if recorded.counts(environment) {
            let folder = recorded.folder.join("files");
            let left = Left { notebook: &recorded.notebook, tables: &recorded.tables, folder: &folder };
            let (score, score_problem) = told(scorer, &left);
            let run = VerifiedRun {
                verdict: Verdict::Runs.as_str().to_owned(),
                recorded: true,
                seconds: None,
                score,
                score_problem,
                error: None,
            };
            let trace = Trace::of(recorded.notebook.clone(), &recorded.tables, &folder);
            evidence.add(run, Some(trace));
        } else {
            notes.push("the recorded run is of another environment or failed, and does not count".to_owned());
        }
    }
    while evidence.undecided() {
        let ran = run_subject(subject.clone(), environment, &options.run, ledger, progress).await?;
        let (run, trace) = read(ran, scorer, &mut notes);
        evidence.add(run, trace);
    }
    let outputs = evidence.outputs();
    let score = evidence.score();
    let (verdict, reason) = evidence.verdict(outputs.as_ref(), score.as_ref());
    let as_paper = options.as_paper.and_then(|band| evidence.paper(&band));
    let report = VerifyReport {
        schema: VERIFY_SCHEMA,
        notebook: subject.shown.clone(),
        verdict: verdict.as_str().to_owned(),
        reason,
        python: crate::job::version(environment),
        packages: environment.packages.clone(),
        deterministic: evidence.identical(),
        runs: evidence.runs,
        outputs,
        score,
        as_paper,
        past: None,
        notes,
    };
    Ok(Verified { report, executed: evidence.traces.into_iter().next().map(|trace| trace.notebook) })
}

/// The strongest proof there is: the old notebook is run in its own environment of the past, and the modernized one
/// is verified against what that run shows and scores today.
///
/// # Errors
/// [`JobError`] when either could not be run at all.
#[expect(clippy::too_many_arguments, reason = "two notebooks, two environments, and what both runs share")]
pub async fn verify_against_past(
    (original, past): (&Subject, &Environment),
    (subject, environment): (&Subject, &Environment),
    options: &VerifyOptions,
    target_scores: &[f64],
    recorded: Option<&Recorded>,
    scorer: Option<Scorer<'_>>,
    ledger: Option<&Ledger>,
    progress: &mut dyn FnMut(Event),
) -> Result<Verified, JobError> {
    let nothing = Reference::default();
    let twice = VerifyOptions { plan: Plan::fewest(), as_paper: None, ..options.clone() };
    let then = verify(original, past, (&twice, &nothing), None, scorer, ledger, progress).await?;
    let Some(executed) = then.executed else {
        let reason = format!("the old notebook does not run in its own environment: {}", then.report.reason);
        return Ok(Verified {
            report: VerifyReport {
                verdict: Verdict::Inconclusive.as_str().to_owned(),
                reason,
                notebook: subject.shown.clone(),
                python: crate::job::version(environment),
                packages: environment.packages.clone(),
                runs: Vec::new(),
                past: Some(Box::new(then.report.clone())),
                ..then.report
            },
            executed: None,
        });
    };
    let scores: Vec<f64> = then.report.runs.iter().filter_map(|run| run.score).collect();
    let scores = if scores.is_empty() { target_scores.to_vec() } else { scores };
    let reference = Reference { outputs: Some(executed), scores };
    let mut now =
        verify(subject, environment, (options, &reference), recorded, scorer, ledger, progress).await?;
    now.report.past = Some(Box::new(then.report));
    Ok(now)
}

fn told(scorer: Option<Scorer<'_>>, left: &Left<'_>) -> (Option<f64>, Option<String>) {
    match scorer.map(|scorer| scorer(left)) {
        None => (None, None),
        Some(Ok(score)) if score.is_finite() => (Some(score), None),
        Some(Ok(score)) => (None, Some(format!("the score is {score}"))),
        Some(Err(problem)) => (None, Some(problem)),
    }
}

fn read(ran: Ran, scorer: Option<Scorer<'_>>, notes: &mut Vec<String>) -> (VerifiedRun, Option<Trace>) {
    for note in &ran.report.notes {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    let finished = ran.succeeded();
    let folder = ran.scratch.folder();
    let notebook = ran.notebook.filter(|_| finished);
    let (score, score_problem) = match &notebook {
        Some(notebook) => told(scorer, &Left { notebook, tables: &ran.report.tables, folder: &folder }),
        None => (None, scorer.map(|_| "the run did not come to its end".to_owned())),
    };
    let run = VerifiedRun {
        verdict: ran.report.verdict,
        recorded: false,
        seconds: Some(ran.report.seconds),
        score,
        score_problem,
        error: ran.report.errors.into_iter().next(),
    };
    (run, notebook.map(|notebook| Trace::of(notebook, &ran.report.tables, &folder)))
}
