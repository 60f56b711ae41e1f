//! One attempt: edit, run again what the edit can have changed, keep it or roll it back.

use std::collections::{BTreeSet, HashSet};
use std::time::Instant;

use mlem_environment::Probe;
use mlem_python::ast::Stmt;
use mlem_python::{Program, Ranged, TextSize, Unit};

use crate::dead_ends::missing_name;
use crate::live::{Event, Phase, Repair, Strategy};
use crate::propose::Proposal;
use crate::report::{AttemptRecord, EditRecord};
use crate::session::{Cause, Failure, Session, SessionError};
use crate::sources::{LineChange, Place, Sources};
use crate::statics::record_place;

/// How an attempt ended.
pub(crate) enum Trial {
    Repaired,
    MovedOn(Failure),
    RolledBack,
}

/// What an attempt was for.
pub(crate) struct About {
    /// Position of the cell.
    pub(crate) cell: usize,
    /// The error, or what else was wrong.
    pub(crate) error: String,
}

impl From<&Failure> for About {
    fn from(failure: &Failure) -> About {
        About { cell: failure.cell, error: failure.signature() }
    }
}

impl Repair<'_> {
    /// Tries one proposal.
    pub(crate) async fn attempt(
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
                    self.conclude(proposal, &failure.into(), &[], &format!("refused: {error}"), &[], started);
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
                    self.conclude(proposal, &failure.into(), &[], &format!("refused: {error}"), &[], started);
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
            // An import that was moved below its first use helps nobody.
            Some(new) if proposal.aside.iter().any(|aside| lacks(new, &aside.names)) => false,
            Some(new) => progressed(failure, new, shift, seen),
        };
        if kept {
            if let Some(aside) = &proposal.aside {
                self.aside.push((failure.clone(), aside.statement.clone()));
            }
            self.conclude(proposal, &failure.into(), &changes, "kept", &ran, started);
            return Ok(outcome.map_or(Trial::Repaired, Trial::MovedOn));
        }
        self.sources = before;
        self.stale.extend(edited.iter().copied().filter(|piece| *piece < failure.cell));
        if edited.iter().any(|piece| *piece >= cells) {
            // The copy holds the rolled-back module; the next attempt starts from the files as they are.
            self.rerun(session, &(0..failure.cell).collect::<Vec<_>>(), true, &mut ran).await?;
        }
        self.conclude(proposal, &failure.into(), &[], "rolled-back", &ran, started);
        Ok(Trial::RolledBack)
    }

    /// The cells to run again, in order: edited ones before the failing cell, what depends on them, itself.
    /// `before` holds the text that failed.
    pub(crate) fn affected(&mut self, edited: &[usize], failure: &Failure, before: &Sources) -> Vec<usize> {
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

    pub(crate) async fn rerun(
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
            if self.dead_ends.waiting().contains_key(cell) {
                continue;
            }
            ran.push(*cell);
            let run = self.run_cell(session, *cell, Phase::Live).await?;
            match self.counts(run.failure) {
                Some(failure) if self.dead_ends.is_known(&failure) => {}
                Some(failure) => return Ok(Some(failure)),
                // What nothing helped before runs now, after an edit or an installation for another cell.
                None => self.revived |= self.dead_ends.has(*cell),
            }
        }
        Ok(None)
    }

    /// Notes how an attempt ended, and the edits that it leaves.
    pub(crate) fn conclude(
        &mut self,
        proposal: &Proposal,
        about: &About,
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
            cell: cell_of(about.cell),
            error: about.error.clone(),
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

/// Whether a failure is the lack of one of these names.
fn lacks(failure: &Failure, names: &[String]) -> bool {
    missing_name(failure).is_some_and(|missing| names.iter().any(|name| name == missing))
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
