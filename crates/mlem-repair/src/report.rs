//! What is said about one modernized notebook: `report.json`, and the same for people in Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use mlem_verdict::statistics::{Assessment, Decision};
use mlem_verdict::{Class, Verdict};
use serde::{Deserialize, Serialize};

use crate::fidelity::Fidelity;
use crate::verify::{VerifiedRun, VerifyReport};

/// Version of the shape of `report.json`, documented in `docs/report.md`.
pub const REPORT_SCHEMA: u32 = 1;

/// What proposed an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EditSource {
    /// A rule of the catalogue, or the Python 2 lift.
    Rule,
    /// The new home of a vanished name, found in the installed packages.
    WhereNow,
    /// The data-path resolver.
    Path,
    /// A change that the environment asks for: an import nobody uses, an install line.
    Environment,
    /// A language model.
    Model,
}

/// One change of the notebook or of a helper module beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditRecord {
    /// The notebook or the module, relative to the tree's root.
    pub path: String,
    /// Index among all cells from 0; `None` for a `.py` file.
    pub cell: Option<usize>,
    /// First and last changed line from 1, in the text that the edit was applied to.
    pub lines: (usize, usize),
    /// What proposed it.
    pub source: EditSource,
    /// The rule's id, for [`EditSource::Rule`].
    pub rule: Option<String>,
    /// The changed lines before.
    pub before: String,
    /// The changed lines after.
    pub after: String,
    /// Why: the live error, the proven types, or what was found.
    pub evidence: String,
    /// `safe`, `safe-with-evidence` or `unsafe`.
    pub safety: String,
    /// What the change is for, in one sentence.
    pub reason: String,
}

/// An error as reported: what, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRecord {
    /// Index among all cells from 0; `None` when no cell is to blame (the kernel did not start).
    pub cell: Option<usize>,
    /// The notebook or module whose line raised it, relative to the tree's root.
    pub path: Option<String>,
    /// Line from 1 in that source.
    pub line: Option<usize>,
    /// Class name of the exception, or the kind of death.
    pub ename: String,
    /// Its message.
    pub evalue: String,
}

/// An error that a static fix prevented: it was fixed before anything ran, so nobody saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreventedRecord {
    /// The notebook or module, relative to the tree's root.
    pub path: String,
    /// Index among all cells from 0; `None` for a `.py` file.
    pub cell: Option<usize>,
    /// Line from 1, in the text that the fix was applied to.
    pub line: usize,
    /// The rule's id.
    pub rule: String,
    /// A regular expression for the `ExceptionName: message` that the old form raises, where the rule has one.
    pub error: Option<String>,
    /// What eroded, in a sentence.
    pub summary: String,
}

/// A failure that nothing helps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadEndRecord {
    /// What failed, and where.
    pub error: ErrorRecord,
    /// The verdict that it would have alone.
    pub verdict: String,
    /// What a person can do about it.
    pub reason: String,
}

/// A cell that was not run, or not to its end, because of a dead end in another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRunRecord {
    /// Index among all cells from 0.
    pub cell: usize,
    /// The cell that fails.
    pub dead_end: usize,
    /// What it needs of that; empty when nothing could be run after the failure.
    pub names: Vec<String>,
}

/// What is known of the version of a library that the notebook was written with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionsRecord {
    /// The distribution.
    pub library: String,
    /// The lowest version it can have been.
    pub from: Option<String>,
    /// What says so.
    pub from_evidence: Option<String>,
    /// The version that it was below.
    pub to: Option<String>,
    /// It may have been just this version.
    pub to_inclusive: bool,
    /// What says so.
    pub to_evidence: Option<String>,
}

/// One attempt of the repair loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// From 1.
    pub number: usize,
    /// The failing cell that it was for.
    pub cell: usize,
    /// The error that it was for, `AttributeError: message`.
    pub error: String,
    /// What was tried.
    pub proposal: String,
    /// `kept` or `rolled-back`.
    pub outcome: String,
    /// Cells run to try it, in order.
    pub cells_run: Vec<usize>,
    /// Wall time in seconds.
    pub seconds: f64,
}

/// Numbers of the live repair and of the proof, apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CellsExecuted {
    /// During the repair.
    pub live: usize,
    /// During the proof run.
    pub proof: usize,
}

/// Wall times in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// The repair.
    pub live: f64,
    /// The proof run.
    pub proof: f64,
    /// Everything, the environment included.
    pub total: f64,
}

/// The score of the modernized notebook.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreRecord {
    /// That of the proof run.
    pub value: Option<f64>,
    /// Why there is none.
    pub problem: Option<String>,
    /// The score it is compared with: the mean, where there are several.
    pub reference: Option<f64>,
    /// Whether they are the same.
    pub decision: Option<Decision>,
}

/// Repeated runs, and what they prove (`docs/statistics.md`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatisticsRecord {
    /// Every run, the proof run first.
    pub runs: Vec<VerifiedRun>,
    /// Whether the first two were identical in everything they show and write.
    pub deterministic: bool,
    /// Stored outputs that change from run to run, so that they prove nothing.
    pub varying_outputs: usize,
    /// The equivalence test of the score.
    pub score: Option<Assessment>,
}

/// How the outputs of one cell compare with the stored ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputRecord {
    /// Index among all cells from 0.
    pub cell: usize,
    /// `same`, `close`, `different`, `not-comparable` or `missing`.
    pub status: String,
    /// What differs, or why it cannot be compared.
    pub detail: Option<String>,
}

/// The report of one notebook.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// [`REPORT_SCHEMA`].
    pub schema: u32,
    /// The notebook as it was named.
    pub notebook: String,
    /// One of the verdicts of `docs/report.md`.
    pub verdict: String,
    /// Why this verdict, in a sentence; what to do where something is missing.
    pub reason: String,
    /// Version of the interpreter.
    pub python: String,
    /// Installed distributions and their versions.
    pub packages: BTreeMap<String, String>,
    /// Every change, in the order made.
    pub edits: Vec<EditRecord>,
    /// Whether it is still the same notebook.
    pub fidelity: Fidelity,
    /// Every attempt of the live repair.
    pub attempts: Vec<AttemptRecord>,
    /// Number of cells, Markdown included.
    pub cells_total: usize,
    /// Cell executions.
    pub cells_executed: CellsExecuted,
    /// Wall times.
    pub seconds: Seconds,
    /// The first error that the repair met live; see `prevented_errors` for those before it.
    pub first_error_before: Option<ErrorRecord>,
    /// Errors that static fixes prevented, cell by cell.
    pub prevented_errors: Vec<PreventedRecord>,
    /// The error that is left: that of the first dead end.
    pub remaining_error: Option<ErrorRecord>,
    /// Every failure that nothing helps, in the order of the cells.
    pub dead_ends: Vec<DeadEndRecord>,
    /// Cells that wait for a dead end.
    pub not_run: Vec<NotRunRecord>,
    /// Versions that the notebook was written with, as far as it tells; only where defaults may be pinned.
    pub past: Vec<VersionsRecord>,
    /// Outputs of the proof run against the stored ones, cell by cell.
    pub outputs: Vec<OutputRecord>,
    /// The score of the modernized notebook, where one was asked for.
    pub score: Option<ScoreRecord>,
    /// The repeated runs and what they prove, where they were asked for.
    pub statistics: Option<StatisticsRecord>,
    /// Findings that were left alone, in words.
    pub left_alone: Vec<String>,
    /// What the confinement of the kernel lacked, and other liberties taken.
    pub notes: Vec<String>,
    /// Tables that the proof run wrote.
    pub tables: Vec<crate::tables::Table>,
}

impl Report {
    /// Takes in what repeated runs said: the verdict becomes the one that both together allow.
    pub fn add_verification(&mut self, verified: &VerifyReport) {
        let first = verified.runs.first();
        let asked = verified.score.is_some() || first.is_some_and(|run| run.score_problem.is_some());
        self.score = asked.then(|| ScoreRecord {
            value: first.and_then(|run| run.score),
            problem: first.and_then(|run| run.score_problem.clone()),
            reference: verified.score.as_ref().map(|score| score.reference),
            decision: verified.score.as_ref().map(|score| score.decision),
        });
        self.statistics = Some(StatisticsRecord {
            runs: verified.runs.clone(),
            deterministic: verified.deterministic,
            varying_outputs: verified.outputs.as_ref().map_or(0, |outputs| outputs.varying),
            score: verified.score.clone(),
        });
        let verdicts = (self.verdict.parse::<Verdict>(), verified.verdict.parse::<Verdict>());
        if let (Ok(own), Ok(repeated)) = verdicts {
            // One run cannot tell a cell that changes each time from one that differs; repeated runs can.
            let own = match own {
                Verdict::Different if verified.outputs.is_some() => Verdict::Runs,
                other => other,
            };
            self.verdict = own.combine(repeated).as_str().to_owned();
            self.reason = format!("{}; {} runs: {}", self.reason, verified.runs.len(), verified.reason);
        }
    }

    /// The report for people: verdict, what changed and why, cell by cell.
    pub fn to_markdown(&self) -> String {
        let mut page = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_markdown(&mut page);
        page
    }

    fn write_markdown(&self, page: &mut String) -> std::fmt::Result {
        writeln!(page, "# {}\n", self.notebook)?;
        writeln!(page, "**{}** — {}\n", self.verdict, self.reason)?;
        // What matters most comes first.
        for (class, title) in [
            (Class::Drift, "The notebook's logic changed"),
            (Class::Unclear, "Whether these changes keep the logic cannot be told from the source"),
        ] {
            if self.fidelity.of(class).next().is_some() {
                writeln!(page, "## {title}\n")?;
                for placed in self.fidelity.of(class) {
                    writeln!(page, "- {}: {}", placed.place(), placed.change.reason)?;
                }
                writeln!(page)?;
            }
        }
        writeln!(page, "| | |\n|---|---|")?;
        writeln!(page, "| Python | {} |", self.python)?;
        writeln!(page, "| changes | {} |", self.edits.len())?;
        writeln!(page, "| errors prevented before anything ran | {} |", self.prevented_errors.len())?;
        writeln!(page, "| attempts | {} |", self.attempts.len())?;
        writeln!(
            page,
            "| cells run | {} live, {} in the proof |",
            self.cells_executed.live, self.cells_executed.proof
        )?;
        writeln!(
            page,
            "| seconds | {:.1} live, {:.1} proof, {:.1} in all |\n",
            self.seconds.live, self.seconds.proof, self.seconds.total
        )?;
        for (title, error) in
            [("First error before", &self.first_error_before), ("Remaining error", &self.remaining_error)]
        {
            if let Some(error) = error {
                let cell = error.cell.map_or(String::new(), |cell| format!(" in cell {cell}"));
                writeln!(page, "{title}{cell}: `{}: {}`\n", error.ename, first_line(&error.evalue))?;
            }
        }
        if self.dead_ends.len() + self.not_run.len() > 1 {
            self.write_dead_ends(page)?;
        }
        if !self.edits.is_empty() {
            writeln!(page, "## Changes\n")?;
        }
        for (edit, class) in self.edits.iter().zip(&self.fidelity.edits) {
            let place = match edit.cell {
                Some(cell) => format!("cell {cell}"),
                None => format!("`{}`", edit.path),
            };
            let rule = edit.rule.as_ref().map_or(String::new(), |rule| format!(" ({rule})"));
            writeln!(page, "### {place}, line {}{rule}\n", edit.lines.0)?;
            writeln!(page, "{}\n", edit.reason)?;
            let fence = fence_for(&[&edit.before, &edit.after]);
            writeln!(page, "{fence}diff")?;
            for line in edit.before.lines() {
                writeln!(page, "-{line}")?;
            }
            for line in edit.after.lines() {
                writeln!(page, "+{line}")?;
            }
            writeln!(
                page,
                "{fence}\n\nEvidence: {}. Safety: {}. Logic: {class}.\n",
                edit.evidence.trim_end_matches('.'),
                edit.safety
            )?;
        }
        if !self.outputs.is_empty() {
            writeln!(page, "## Outputs against the stored ones\n\n| cell | outputs | |\n|---|---|---|")?;
            for output in &self.outputs {
                let detail = output.detail.as_deref().map(table_text).unwrap_or_default();
                writeln!(page, "| {} | {} | {detail} |", output.cell, output.status)?;
            }
            writeln!(page)?;
        }
        for (title, list) in [("Left alone", &self.left_alone), ("Notes", &self.notes)] {
            if !list.is_empty() {
                writeln!(page, "## {title}\n")?;
                for line in list {
                    writeln!(page, "- {line}")?;
                }
                writeln!(page)?;
            }
        }
        if !self.packages.is_empty() {
            writeln!(page, "## Packages\n")?;
            let list: Vec<String> =
                self.packages.iter().map(|(name, version)| format!("{name}=={version}")).collect();
            writeln!(page, "```\n{}\n```", list.join("\n"))?;
        }
        Ok(())
    }
}

impl Report {
    fn write_dead_ends(&self, page: &mut String) -> std::fmt::Result {
        writeln!(page, "## What nothing helps\n")?;
        for end in &self.dead_ends {
            let cell = end.error.cell.map_or(String::new(), |cell| format!("cell {cell}: "));
            writeln!(
                page,
                "- {cell}`{}: {}` — {}",
                end.error.ename,
                first_line(&end.error.evalue),
                end.reason
            )?;
        }
        for waiting in &self.not_run {
            let why = if waiting.names.is_empty() {
                "nothing could be run after it".to_owned()
            } else {
                format!("it needs `{}`", waiting.names.join("`, `"))
            };
            writeln!(
                page,
                "- cell {} was not run: cell {} fails, and {why}",
                waiting.cell, waiting.dead_end
            )?;
        }
        writeln!(page)
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn table_text(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// A fence longer than any run of backticks inside, so that a cell's own fences cannot end it.
fn fence_for(texts: &[&str]) -> String {
    let longest =
        texts.iter().flat_map(|text| text.split(|c| c != '`').map(str::len)).max().unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}
