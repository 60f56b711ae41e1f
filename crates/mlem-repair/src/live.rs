//! The repair loop: run, and at a failing cell try proposals in the live kernel, re-running only what an
//! edit can have changed; then prove the result with clean runs.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{Duration, Instant};

use mlem_environment::{Environment, Probe};
use mlem_kernel::Execution;
use mlem_python::ast::Stmt;
use mlem_python::{Program, Ranged, TextSize, Unit};
use mlem_rules::{Catalogue, Pins};

use crate::paths::FileIndex;
use crate::propose::{Knowledge, Proposal, proposals};
use crate::record::Recorder;
use crate::report::{AttemptRecord, EditRecord};
use crate::session::{Cause, CellRun, Failure, Session, SessionError, SessionOptions};
use crate::sources::{LineChange, Place, Sources};
use crate::statics::record_place;

/// How a fix is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// In the live kernel: the edited cells, what depends on them, and the failing cell.
    Live,
    /// The whole notebook again from a fresh kernel for each fix.
    Rerun,
}

/// What happens, as it happens.
#[derive(Debug, Clone)]
pub enum Event {
    /// A cell begins: which (position among the code cells), of how many, and in which phase.
    Cell { phase: Phase, cell: usize, of: usize },
    /// An attempt ended.
    Attempt { cell: usize, proposal: String, kept: bool },
    /// Something a person wants to know.
    Note(String),
}

/// The part of the job that runs a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Repair.
    Live,
    /// The clean run at the end.
    Proof,
}

/// Most attempts for one cell, and for one notebook; beyond them the loop is guessing.
const ATTEMPTS_PER_CELL: usize = 24;
const ATTEMPTS: usize = 200;
/// A proof that fails sends the loop back to the live repair, at most this often.
const PROOFS: usize = 3;

/// The repair of one notebook, under way.
pub(crate) struct Repair<'a> {
    pub(crate) environment: Environment,
    /// Where environments are built.
    pub(crate) cache: &'a Path,
    pub(crate) catalogue: &'static Catalogue,
    pub(crate) pins: Pins,
    pub(crate) probe: Option<Probe>,
    pub(crate) files: FileIndex,
    pub(crate) path: &'a Path,
    /// The tree that is copied for a run.
    pub(crate) root: &'a Path,
    pub(crate) name: &'a str,
    pub(crate) options: &'a SessionOptions,
    pub(crate) notebook_timeout: Option<Duration>,
    pub(crate) strategy: Strategy,
    pub(crate) sources: Sources,
    pub(crate) edits: Vec<EditRecord>,
    pub(crate) attempts: Vec<AttemptRecord>,
    pub(crate) recorder: Recorder<'a>,
    pub(crate) progress: &'a mut dyn FnMut(Event),
    pub(crate) live_cells: usize,
    pub(crate) proof_cells: usize,
    pub(crate) live_time: Duration,
    pub(crate) proof_time: Duration,
    pub(crate) first_error: Option<Failure>,
    pub(crate) tried: HashSet<u64>,
    /// Cells whose effects in the kernel come from an edit that was rolled back.
    pub(crate) stale: BTreeSet<usize>,
    pub(crate) phase_started: Instant,
}

/// How the loop ended.
pub(crate) enum Ending {
    /// The proof ran; what each code cell sent.
    Proven(Box<Proven>),
    /// A cell that nothing helps.
    Stuck(Failure),
}

/// A clean run to the end.
pub(crate) struct Proven {
    pub(crate) executions: Vec<Execution>,
    pub(crate) session: Session,
    pub(crate) before: crate::tables::Snapshot,
}

enum Trial {
    Repaired,
    MovedOn(Failure),
    RolledBack,
}

impl Repair<'_> {
    /// Repairs, then proves.
    pub(crate) async fn run(&mut self) -> Result<Ending, SessionError> {
        let mut session = self.session().await?;
        if let Err(failure) = self.live(&mut session, 0).await? {
            self.live_time += self.phase_started.elapsed();
            return Ok(Ending::Stuck(failure));
        }
        self.live_time += self.phase_started.elapsed();
        let mut last_failure = None;
        for _ in 0..PROOFS {
            self.phase_started = Instant::now();
            session.start_again(&self.environment, (self.path, self.root), &self.sources).await?;
            let before = crate::tables::Snapshot::of(&session.scratch().folder());
            let (executions, failure) = self.prove(&mut session).await?;
            self.proof_time += self.phase_started.elapsed();
            let Some(failure) = failure else {
                return Ok(Ending::Proven(Box::new(Proven { executions, session, before })));
            };
            // The clean run saw what the live one hid, such as state that an earlier version of a cell left behind.
            self.phase_started = Instant::now();
            let cell = failure.cell;
            last_failure = Some(failure.clone());
            let repaired = match self.repair(&mut session, failure).await? {
                Ok(()) => self.live(&mut session, cell + 1).await?,
                Err(failure) => Err(failure),
            };
            self.live_time += self.phase_started.elapsed();
            if let Err(failure) = repaired {
                return Ok(Ending::Stuck(failure));
            }
        }
        // The loop above runs at least once and ends it by returning or by setting the failure.
        Ok(Ending::Stuck(
            last_failure
                .unwrap_or(Failure { cell: 0, cause: Cause::Timeout { limit: Duration::ZERO, whole: true } }),
        ))
    }

    async fn session(&self) -> Result<Session, SessionError> {
        Session::start(&self.environment, (self.path, self.root), &self.sources, self.options).await
    }

    fn left(&self) -> Option<Duration> {
        self.notebook_timeout.map(|limit| limit.saturating_sub(self.phase_started.elapsed()))
    }

    async fn run_cell(
        &mut self,
        session: &mut Session,
        cell: usize,
        phase: Phase,
    ) -> Result<CellRun, SessionError> {
        let of = self.sources.cells().len();
        (self.progress)(Event::Cell { phase, cell, of });
        let run = session.run(&self.sources, cell, self.left()).await?;
        match phase {
            Phase::Live => self.live_cells += 1,
            Phase::Proof => self.proof_cells += 1,
        }
        if let Place::Cell(index) = self.sources.cells()[cell].place {
            self.recorder.cell(phase, index, &run.execution);
        }
        Ok(run)
    }

    /// A failure that the notebook's author expected is none.
    fn counts(&self, failure: Option<Failure>) -> Option<Failure> {
        failure.filter(|failure| {
            !(self.sources.cells()[failure.cell].may_fail && matches!(failure.cause, Cause::Exception { .. }))
        })
    }

    /// Runs cells from `from` on, repairing where one fails.
    async fn live(
        &mut self,
        session: &mut Session,
        from: usize,
    ) -> Result<Result<(), Failure>, SessionError> {
        for cell in from..self.sources.cells().len() {
            let run = self.run_cell(session, cell, Phase::Live).await?;
            let Some(failure) = self.counts(run.failure) else { continue };
            self.first_error.get_or_insert_with(|| failure.clone());
            if let Err(failure) = self.repair(session, failure).await? {
                return Ok(Err(failure));
            }
        }
        Ok(Ok(()))
    }

    async fn prove(
        &mut self,
        session: &mut Session,
    ) -> Result<(Vec<Execution>, Option<Failure>), SessionError> {
        let mut executions = Vec::new();
        for cell in 0..self.sources.cells().len() {
            let run = self.run_cell(session, cell, Phase::Proof).await?;
            executions.push(run.execution);
            if let Some(failure) = self.counts(run.failure) {
                return Ok((executions, Some(failure)));
            }
        }
        Ok((executions, None))
    }

    /// Tries proposals for one failing cell until it passes.
    async fn repair(
        &mut self,
        session: &mut Session,
        failure: Failure,
    ) -> Result<Result<(), Failure>, SessionError> {
        let mut failure = failure;
        let mut seen: HashSet<String> = HashSet::new();
        let mut attempts = 0;
        'failure: loop {
            seen.insert(failure.signature());
            let mut knowledge = Knowledge {
                catalogue: self.catalogue,
                pins: &self.pins,
                environment: &self.environment,
                probe: self.probe.as_mut(),
                files: &self.files,
            };
            for proposal in proposals(&mut knowledge, &self.sources, session, &failure).await {
                if attempts >= ATTEMPTS_PER_CELL || self.attempts.len() >= ATTEMPTS {
                    return Ok(Err(failure));
                }
                if !self.tried.insert(self.fingerprint(&proposal)) {
                    continue;
                }
                attempts += 1;
                match self.attempt(session, &proposal, &failure, &seen).await? {
                    Trial::Repaired => return Ok(Ok(())),
                    Trial::MovedOn(next) => {
                        failure = next;
                        continue 'failure;
                    }
                    Trial::RolledBack => {}
                }
            }
            return Ok(Err(failure));
        }
    }

    /// The same edit of the same text is never tried twice.
    fn fingerprint(&self, proposal: &Proposal) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (piece, edits) in &proposal.edits {
            (piece, &self.sources.pieces()[*piece].current).hash(&mut hasher);
            for edit in edits {
                (edit.range.start().to_u32(), edit.range.end().to_u32(), &edit.text).hash(&mut hasher);
            }
        }
        for distribution in &proposal.install {
            distribution.as_str().hash(&mut hasher);
        }
        hasher.finish()
    }

    async fn attempt(
        &mut self,
        session: &mut Session,
        proposal: &Proposal,
        failure: &Failure,
        seen: &HashSet<String>,
    ) -> Result<Trial, SessionError> {
        let started = Instant::now();
        let before = self.sources.clone();
        let mut changes: Vec<(usize, LineChange)> = Vec::new();
        for (piece, edits) in &proposal.edits {
            match self.sources.apply(*piece, edits) {
                Ok(change) => changes.push((*piece, change)),
                Err(error) => {
                    // The re-parse gate refused it: nothing ran, nothing to undo but the other pieces.
                    self.sources = before;
                    self.conclude(proposal, failure, &[], &format!("refused: {error}"), &[], started);
                    return Ok(Trial::RolledBack);
                }
            }
        }
        let edited: Vec<usize> = changes.iter().map(|(piece, _)| *piece).collect();
        let cells = self.sources.cells().len();
        let mut fresh = self.strategy == Strategy::Rerun || edited.iter().any(|piece| *piece >= cells);
        if !proposal.install.is_empty() {
            match mlem_environment::install_missing(
                &self.environment,
                &proposal.install,
                self.cache,
                &mut |_| {},
            ) {
                Ok(environment) => {
                    self.environment = environment;
                    // The rules of what is installed now apply from here on.
                    self.pins = crate::job::pins(&self.environment);
                }
                Err(error) => {
                    self.conclude(proposal, failure, &[], &format!("refused: {error}"), &[], started);
                    return Ok(Trial::RolledBack);
                }
            }
            // Without a probe the loop still has its rules; with one it must see the new distributions.
            self.probe = Probe::start(&self.environment).ok().map(|probe| probe.with_cache(self.cache));
            fresh = true;
        }
        let mut again =
            if fresh { (0..=failure.cell).collect() } else { self.affected(&edited, failure, &before) };
        let mut ran = Vec::new();
        let mut outcome = self.rerun(session, &again, fresh, &mut ran).await?;
        let suspicious = |new: &Failure| new.cell < failure.cell || went_back(failure, new);
        if !fresh && outcome.as_ref().is_some_and(suspicious) {
            // A cell that changed its own inputs cannot simply run twice: judge the edit on a clean state.
            again = (0..=failure.cell).collect();
            outcome = self.rerun(session, &again, true, &mut ran).await?;
        }
        let shift =
            changes.iter().find(|(piece, _)| Some(*piece) == failure.culprit().map(|(piece, _)| piece));
        let shift = shift.map_or(0, |(_, change)| {
            change.after.lines().count().saturating_sub(change.before.lines().count())
        });
        let kept = match &outcome {
            None => true,
            Some(new) => progressed(failure, new, shift, seen),
        };
        if kept {
            self.conclude(proposal, failure, &changes, "kept", &ran, started);
            return Ok(outcome.map_or(Trial::Repaired, Trial::MovedOn));
        }
        self.sources = before;
        self.stale.extend(edited.iter().copied().filter(|piece| *piece < failure.cell));
        if edited.iter().any(|piece| *piece >= cells) {
            // The copy holds the rolled-back module; the next attempt starts from the files as they are.
            self.rerun(session, &(0..failure.cell).collect::<Vec<_>>(), true, &mut ran).await?;
        }
        self.conclude(proposal, failure, &[], "rolled-back", &ran, started);
        Ok(Trial::RolledBack)
    }

    /// The cells to run again, in order: edited ones before the failing cell, what depends on them, itself.
    /// `before` holds the text that failed.
    fn affected(&mut self, edited: &[usize], failure: &Failure, before: &Sources) -> Vec<usize> {
        let failing = failure.cell;
        let mut edited: Vec<usize> = edited.iter().copied().filter(|cell| *cell <= failing).collect();
        edited.extend(std::mem::take(&mut self.stale));
        edited.push(failing);
        edited.sort_unstable();
        edited.dedup();
        let program = self.sources.program();
        let units = match failed_statement(failure, before, &program) {
            Some(at) => program.dependents_of_failure(&edited, failing, at),
            None => program.dependents(&edited, failing),
        };
        let mut cells: BTreeSet<usize> = units.into_iter().filter(|cell| *cell < failing).collect();
        cells.insert(failing);
        cells.into_iter().collect()
    }

    async fn rerun(
        &mut self,
        session: &mut Session,
        cells: &[usize],
        fresh: bool,
        ran: &mut Vec<usize>,
    ) -> Result<Option<Failure>, SessionError> {
        if fresh {
            self.stale.clear();
            session.start_again(&self.environment, (self.path, self.root), &self.sources).await?;
        }
        for cell in cells {
            ran.push(*cell);
            let run = self.run_cell(session, *cell, Phase::Live).await?;
            if let Some(failure) = self.counts(run.failure) {
                return Ok(Some(failure));
            }
        }
        Ok(None)
    }

    /// Notes how an attempt ended, and the edits that it leaves.
    fn conclude(
        &mut self,
        proposal: &Proposal,
        failure: &Failure,
        changes: &[(usize, LineChange)],
        outcome: &str,
        ran: &[usize],
        started: Instant,
    ) {
        let kept = outcome == "kept";
        let cell_of = |position: usize| match self.sources.cells()[position].place {
            Place::Cell(index) => index.0,
            Place::Module(_) => position,
        };
        let attempt = AttemptRecord {
            number: self.attempts.len() + 1,
            cell: cell_of(failure.cell),
            error: failure.signature(),
            proposal: match &proposal.rule {
                Some(rule) => format!("{rule}: {}", proposal.reason),
                None => proposal.reason.clone(),
            },
            outcome: outcome.to_owned(),
            cells_run: ran.iter().map(|cell| cell_of(*cell)).collect(),
            seconds: started.elapsed().as_secs_f64(),
        };
        let edits: Vec<EditRecord> = changes
            .iter()
            .map(|(piece, change)| {
                let (path, cell) = record_place(&self.sources, *piece, self.name);
                EditRecord {
                    path,
                    cell,
                    lines: change.lines,
                    source: proposal.source,
                    rule: proposal.rule.clone(),
                    before: change.before.clone(),
                    after: change.after.clone(),
                    evidence: proposal.evidence.clone(),
                    safety: proposal.safety.to_owned(),
                    reason: proposal.reason.clone(),
                }
            })
            .collect();
        self.recorder.attempt(&attempt, &edits);
        (self.progress)(Event::Attempt { cell: attempt.cell, proposal: attempt.proposal.clone(), kept });
        self.attempts.push(attempt);
        self.edits.extend(edits);
    }
}

/// Where the statement of the failing cell that failed begins in the edited program: what stands above it has run.
fn failed_statement(failure: &Failure, before: &Sources, program: &Program) -> Option<TextSize> {
    let Cause::Exception { user_lines, .. } = &failure.cause else { return None };
    let line = user_lines.iter().find(|(piece, _)| *piece == failure.cell).map(|(_, line)| *line)?;
    let old = Unit::cell(&before.cells()[failure.cell].current);
    let holds = |statement: &Stmt| {
        let (first, last) = old.lines(statement.range());
        (first..=last).contains(&line)
    };
    let index = old.body().iter().position(holds)?;
    // Edits of the failing cell change statements in place or put imports above them.
    let new = program.units()[failure.cell].body();
    let index = (index + new.len()).checked_sub(old.body().len())?;
    new.get(index).map(|statement| statement.start())
}

/// Whether the error lies on an earlier line of the same piece than before.
fn went_back(old: &Failure, new: &Failure) -> bool {
    match (old.culprit(), new.culprit()) {
        (Some((old_piece, old_line)), Some((new_piece, new_line))) => {
            old_piece == new_piece && new_line < old_line
        }
        _ => false,
    }
}

/// Whether the failure moved on: another error that was not seen before and does not lie further back, or the
/// same error on a later line. `shift` is the number of lines that the edit added to the raising piece.
fn progressed(old: &Failure, new: &Failure, shift: usize, seen: &HashSet<String>) -> bool {
    if new.cell < old.cell || went_back(old, new) {
        return false;
    }
    match (old.culprit(), new.culprit()) {
        (Some((old_piece, old_line)), Some((new_piece, new_line)))
            if old_piece == new_piece && old.signature() == new.signature() =>
        {
            new_line > old_line + shift
        }
        _ => !seen.contains(&new.signature()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Exception;

    fn failure(cell: usize, evalue: &str, line: usize) -> Failure {
        let exception = Exception { ename: "E".into(), evalue: evalue.into(), frames: Vec::new() };
        Failure { cell, cause: Cause::Exception { exception, user_lines: vec![(cell, line)] } }
    }

    #[test]
    fn progress_is_a_later_line_or_a_new_error() {
        let seen: HashSet<String> = [failure(3, "a", 2).signature()].into();
        let old = failure(3, "a", 2);
        assert!(progressed(&old, &failure(3, "a", 5), 0, &seen));
        assert!(!progressed(&old, &failure(3, "a", 3), 1, &seen), "an import was inserted above");
        assert!(progressed(&old, &failure(3, "b", 2), 0, &seen));
        assert!(!progressed(&old, &failure(3, "b", 1), 0, &seen));
        assert!(!progressed(&old, &failure(2, "b", 9), 0, &seen));
    }
}
