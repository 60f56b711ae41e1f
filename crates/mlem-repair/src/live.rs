//! The repair loop: run, and at a failing cell try proposals in the live kernel, re-running only what an
//! edit can have changed; then prove the result with clean runs.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{Duration, Instant};

use mlem_environment::{Environment, Probe};
use mlem_kernel::Execution;
use mlem_python::{Ranged, Unit};
use mlem_rules::Pins;

use crate::attempt::Trial;
use crate::dead_ends::DeadEnds;
use crate::defaults::{self, Defaults, Layer, PinKey};
use crate::paths::FileIndex;
use crate::propose::{Knowledge, Proposal, proposals};
use crate::record::Recorder;
use crate::report::{AttemptRecord, EditRecord};
use crate::session::{Cause, CellRun, Failure, Session, SessionError, SessionOptions};
use crate::sources::{Place, Sources};
use crate::wanted::Wanted;

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
    pub(crate) wanted: Wanted,
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
    /// What nothing helps, and which cells wait for it.
    pub(crate) dead_ends: DeadEnds,
    /// Imports that were moved below the rest of their cell: the failure of each, and the statement.
    pub(crate) aside: Vec<(Failure, String)>,
    /// A dead end ran after all when something was run again.
    pub(crate) revived: bool,
    /// The failure of the last clean run.
    pub(crate) last_proof: Option<Failure>,
    /// The old defaults that are written out before the proof.
    pub(crate) defaults: Defaults,
    pub(crate) phase_started: Instant,
}

/// How the loop ended.
pub(crate) enum Ending {
    /// The proof ran; what each code cell sent.
    Proven(Box<Proven>),
    /// Cells that nothing helps; the repair's dead ends say which.
    Stuck,
}

/// A clean run to the end.
pub(crate) struct Proven {
    pub(crate) executions: Vec<Execution>,
    pub(crate) session: Session,
}

impl Repair<'_> {
    /// Repairs, then proves.
    pub(crate) async fn run(&mut self) -> Result<Ending, SessionError> {
        let mut session = self.session().await?;
        self.live(&mut session, 0).await?;
        if self.revived {
            // What helped one cell helped another that was given up before: once more from the start.
            self.revived = false;
            self.dead_ends = DeadEnds::default();
            session.start_again(&self.environment, (self.path, self.root), &self.sources).await?;
            self.live(&mut session, 0).await?;
        }
        if self.dead_ends.is_empty() {
            self.name_submission(&mut session).await?;
        }
        self.live_time += self.phase_started.elapsed();
        let mut layer: Option<Layer> = None;
        let mut proofs = 0;
        while proofs < PROOFS {
            if !self.dead_ends.is_empty() {
                // What a pin may have broken is taken back before anything is given up.
                let Some(layer) = layer.take() else { return Ok(Ending::Stuck) };
                let all = layer.pinned.iter().map(|pinned| pinned.key.clone()).collect();
                self.unpin(layer, all, "a cell failed that nothing helped");
                self.dead_ends = DeadEnds::default();
            }
            if layer.is_none() {
                layer = self.pin();
            }
            self.phase_started = Instant::now();
            session.start_again(&self.environment, (self.path, self.root), &self.sources).await?;
            let (executions, failure) = self.prove(&mut session).await?;
            self.proof_time += self.phase_started.elapsed();
            let Some(failure) = failure else {
                let pinned = layer.iter().flat_map(|layer| &layer.pinned).map(|pinned| &pinned.record);
                self.recorder.edits(None, &pinned.cloned().collect::<Vec<_>>());
                return Ok(Ending::Proven(Box::new(Proven { executions, session })));
            };
            // The clean run saw what the live one hid, such as state that an earlier version of a cell left behind.
            self.phase_started = Instant::now();
            let cell = failure.cell;
            let blamed =
                layer.as_ref().map_or(Vec::new(), |layer| layer.blamed(&self.sources.program(), &failure));
            if !blamed.is_empty() {
                let signature = failure.signature();
                // A rule may know what else the old default needs today.
                let repaired = self.repair(&mut session, failure).await?.is_ok();
                if repaired {
                    self.live(&mut session, cell + 1).await?;
                } else if let Some(layer) = layer.take() {
                    self.unpin(layer, blamed, &signature);
                }
                // Repairs are bounded by the attempts, and each pin is taken back at most once.
                proofs += usize::from(repaired);
                self.live_time += self.phase_started.elapsed();
                continue;
            }
            proofs += 1;
            self.last_proof = Some(failure.clone());
            if self.settle(&mut session, failure).await? {
                self.live(&mut session, cell + 1).await?;
            }
            self.live_time += self.phase_started.elapsed();
        }
        if let Some(failure) = self.last_proof.take().filter(|_| self.dead_ends.is_empty()) {
            self.dead_ends.end_all(failure, self.sources.cells().len());
        }
        Ok(Ending::Stuck)
    }

    /// Writes out the old defaults that the notebook relied on; nothing when there is none.
    fn pin(&mut self) -> Option<Layer> {
        let time = self.defaults.time(&self.edits, self.wanted.catalogue(), &self.sources)?;
        let (unpinned, edits) = (self.sources.clone(), self.edits.len());
        let rejected = &self.defaults.rejected;
        let pinned = defaults::pin(&mut self.sources, self.name, &self.wanted, &self.pins, &time, rejected);
        self.edits.extend(pinned.iter().map(|pinned| pinned.record.clone()));
        (!pinned.is_empty()).then_some(Layer { unpinned, edits, pinned })
    }

    /// Goes back to the sources without pins, and leaves some out from now on.
    fn unpin(&mut self, layer: Layer, rejected: Vec<PinKey>, why: &str) {
        for pinned in layer.pinned.iter().filter(|pinned| rejected.contains(&pinned.key)) {
            let record = &pinned.record;
            let place = record.cell.map_or(record.path.clone(), |cell| format!("cell {cell}"));
            let why = why.lines().next().unwrap_or_default();
            let note = format!("{place}: not pinned, since then {why}: {}", record.reason);
            (self.progress)(Event::Note(note.clone()));
            self.defaults.notes.push(note);
        }
        self.sources = layer.unpinned;
        self.edits.truncate(layer.edits);
        self.defaults.rejected.extend(rejected);
    }

    async fn session(&self) -> Result<Session, SessionError> {
        Session::start(&self.environment, (self.path, self.root), &self.sources, self.options).await
    }

    fn left(&self) -> Option<Duration> {
        self.notebook_timeout.map(|limit| limit.saturating_sub(self.phase_started.elapsed()))
    }

    pub(crate) async fn run_cell(
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
    pub(crate) fn counts(&self, failure: Option<Failure>) -> Option<Failure> {
        failure.filter(|failure| {
            !(self.sources.cells()[failure.cell].may_fail && matches!(failure.cause, Cause::Exception { .. }))
        })
    }

    /// Runs cells from `from` on, repairing where one fails; past what nothing helps it goes on with the cells that
    /// do not depend on it.
    async fn live(&mut self, session: &mut Session, from: usize) -> Result<(), SessionError> {
        for cell in from..self.sources.cells().len() {
            if !self.dead_ends.is_empty() && self.dead_ends.waits(&self.sources.program(), cell) {
                continue;
            }
            let run = self.run_cell(session, cell, Phase::Live).await?;
            let Some(failure) = self.counts(run.failure) else {
                self.unswallow(session, cell).await?;
                self.passed(cell);
                continue;
            };
            self.first_error.get_or_insert_with(|| failure.clone());
            if !self.settle(session, failure).await? {
                break;
            }
        }
        Ok(())
    }

    /// Repairs a failing cell, or takes it down as a dead end. False when nothing can be run after it.
    async fn settle(&mut self, session: &mut Session, failure: Failure) -> Result<bool, SessionError> {
        let cell = failure.cell;
        let Err(failure) = self.repair(session, failure).await? else {
            self.unswallow(session, cell).await?;
            self.passed(cell);
            return Ok(true);
        };
        if !matches!(failure.cause, Cause::Exception { .. }) {
            // A kernel that died or is still busy has no state to go on with.
            self.dead_ends.end_all(failure, self.sources.cells().len());
            return Ok(false);
        }
        match self.dead_ends.consequence(&failure, &self.sources) {
            Some(lacking) => self.dead_ends.stopped(&failure, lacking, &self.sources),
            None => {
                let aside = self.set_aside(&failure);
                let all = std::iter::once(failure).chain(aside).collect();
                self.dead_ends.add(all, &self.sources);
            }
        }
        Ok(true)
    }

    fn passed(&mut self, cell: usize) {
        if !self.dead_ends.is_empty() {
            self.dead_ends.passed(self.sources.program().flow(cell));
        }
    }

    /// The failures of the imports that were moved below the rest of a cell which fails before it reaches them.
    fn set_aside(&self, failure: &Failure) -> Vec<Failure> {
        let unit = Unit::cell(&self.sources.cells()[failure.cell].current);
        let line_of = |wanted: &str| {
            let found = unit.body().iter().find(|each| &unit.source()[each.range()] == wanted)?;
            Some(unit.lines(found.range()).0)
        };
        let here = self.aside.iter().filter(|(earlier, _)| earlier.cell == failure.cell);
        here.filter_map(|(earlier, statement)| {
            let line = line_of(statement)?;
            let Cause::Exception { exception, .. } = &earlier.cause else { return None };
            let user_lines = vec![(failure.cell, line)];
            let cause = Cause::Exception { exception: exception.clone(), user_lines };
            (failure.culprit() != Some((failure.cell, line))).then_some(Failure { cell: failure.cell, cause })
        })
        .collect()
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
            if self.dead_ends.consequence(&failure, &self.sources).is_some() {
                return Ok(Err(failure));
            }
            let aside: Vec<&str> = self
                .aside
                .iter()
                .filter(|(earlier, _)| earlier.cell == failure.cell)
                .map(|(_, statement)| statement.as_str())
                .collect();
            let mut knowledge = Knowledge {
                wanted: &self.wanted,
                pins: &self.pins,
                environment: &self.environment,
                probe: self.probe.as_mut(),
                files: &self.files,
                aside: &aside,
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
}
