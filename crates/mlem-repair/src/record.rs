//! Writes what the repair does into the ledger, as it happens; without a ledger, into nothing.

use std::path::PathBuf;
use std::time::SystemTime;

use mlem_kernel::{Execution, ExecutionStatus};
use mlem_ledger::{
    AttemptId, CellStatus, ErrorSignature, Ledger, LedgerError, NewAttempt, NewCellRun, NewEdit, Outcome,
    RunId,
};
use mlem_notebook::{CellIndex, Output};

use crate::live::Phase;
use crate::report::{AttemptRecord, EditRecord, EditSource};

/// Records one run.
pub(crate) struct Recorder<'a> {
    run: Option<(&'a Ledger, RunId)>,
    parent: Option<AttemptId>,
    /// The first refusal of the ledger (disk full, taken over by another process).
    refused: Option<LedgerError>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(run: Option<(&'a Ledger, RunId)>) -> Recorder<'a> {
        Recorder { run, parent: None, refused: None }
    }

    pub(crate) fn run_id(&self) -> Option<&RunId> {
        self.run.as_ref().map(|(_, run)| run)
    }

    fn with<T>(&mut self, write: impl FnOnce(&Ledger, &RunId) -> Result<T, LedgerError>) -> Option<T> {
        let (ledger, run) = self.run.as_ref()?;
        if self.refused.is_some() {
            return None;
        }
        match write(ledger, run) {
            Ok(value) => Some(value),
            Err(error) => {
                self.refused = Some(error);
                None
            }
        }
    }

    /// The error to end the job with, if the ledger refused a record.
    pub(crate) fn refused(&mut self) -> Option<LedgerError> {
        self.refused.take()
    }

    pub(crate) fn edits(&mut self, attempt: Option<AttemptId>, edits: &[EditRecord]) {
        let new: Vec<NewEdit<'_>> = edits
            .iter()
            .map(|edit| NewEdit {
                attempt,
                place: match edit.cell {
                    Some(cell) => mlem_ledger::Place::Cell(CellIndex(cell)),
                    None => mlem_ledger::Place::File(PathBuf::from(&edit.path)),
                },
                source: match edit.source {
                    EditSource::Rule => mlem_ledger::EditSource::Rule,
                    EditSource::WhereNow => mlem_ledger::EditSource::WhereNow,
                    EditSource::Path => mlem_ledger::EditSource::Path,
                    EditSource::Environment => mlem_ledger::EditSource::Environment,
                    EditSource::Model => mlem_ledger::EditSource::Model,
                },
                rule: edit.rule.as_deref(),
                before: &edit.before,
                after: &edit.after,
                evidence: Some(&edit.evidence),
                safety: Some(&edit.safety),
                // Line numbers of a source file fit into 32 bits: files are refused beyond 1 GiB.
                lines: Some((edit.lines.0 as u32, edit.lines.1 as u32)),
                active: true,
            })
            .collect();
        if !new.is_empty() {
            self.with(|ledger, run| ledger.record_edits(run, &new));
        }
    }

    pub(crate) fn attempt(&mut self, attempt: &AttemptRecord, edits: &[EditRecord]) {
        let (ename, evalue) = attempt.error.split_once(": ").unwrap_or((&attempt.error, ""));
        let signature = ErrorSignature::new(ename, evalue);
        let outcome = match attempt.outcome.as_str() {
            "kept" => Outcome::Kept,
            "rolled-back" => Outcome::RolledBack,
            _ => Outcome::Refused,
        };
        let parent = self.parent;
        let id = self.with(|ledger, run| {
            ledger.record_attempt(
                run,
                &NewAttempt {
                    parent,
                    failing_cell: Some(CellIndex(attempt.cell)),
                    signature: &signature,
                    proposal: &attempt.proposal,
                    outcome,
                    seconds: attempt.seconds,
                },
            )
        });
        if outcome == Outcome::Kept {
            self.parent = id;
        }
        self.edits(id, edits);
    }

    pub(crate) fn cell(&mut self, phase: Phase, cell: CellIndex, execution: &Execution) {
        let outputs: Vec<serde_json::Value> = execution.outputs.iter().map(Output::to_value).collect();
        let outputs = serde_json::Value::Array(outputs).to_string();
        let new = NewCellRun {
            phase: match phase {
                Phase::Live => mlem_ledger::Phase::Live,
                Phase::Proof => mlem_ledger::Phase::Proof,
            },
            cell,
            started_ms: milliseconds(execution.started),
            finished_ms: milliseconds(execution.finished),
            seconds: execution.seconds,
            status: match execution.status {
                ExecutionStatus::Ok => CellStatus::Ok,
                ExecutionStatus::Error | ExecutionStatus::Aborted => CellStatus::Error,
                ExecutionStatus::TimedOut => CellStatus::Timeout,
                ExecutionStatus::KernelDied(_) => CellStatus::Died,
            },
            outputs: Some(outputs.as_bytes()),
            execution_count: execution.execution_count,
        };
        self.with(|ledger, run| ledger.record_cell(run, &new));
    }

    pub(crate) fn log(&mut self, log: &[u8]) {
        self.with(|ledger, run| ledger.set_log(run, log));
    }

    pub(crate) fn finish(&mut self, verdict: &str, report: &serde_json::Value) {
        self.with(|ledger, run| ledger.finish_run(run, verdict, report));
    }
}

fn milliseconds(time: SystemTime) -> i64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
