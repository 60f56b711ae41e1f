//! Reading back.

use std::path::PathBuf;
use std::str::FromStr;

use mlem_notebook::CellIndex;
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use crate::Ledger;
use crate::blob::BlobHash;
use crate::error::LedgerError;
use crate::process::{Liveness, Owner};
use crate::record::{
    Attempt, AttemptId, CellRun, CellRunId, Edit, EditId, Environment, ErrorSignature, Outcome, Place,
    ResumeKey, Run, RunId, RunState, RunStatus,
};

const RUN: &str = "SELECT r.id, r.kind, n.path, n.sha256, e.lock_hash, e.python, e.packages,
        r.options, r.options_hash, r.started_ms, r.finished_ms, r.host, r.pid, r.process_start,
        r.state, r.verdict, r.report, r.log
    FROM runs r JOIN notebooks n ON n.id = r.notebook
    LEFT JOIN environments e ON e.id = r.environment";

impl Ledger {
    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<Run>, LedgerError> {
        let connection = self.lock();
        self.collect(&connection, &format!("{RUN} ORDER BY r.id"), [], |row| self.run_row(row))
    }

    /// A run with everything recorded under it, or `None` if there is no such run.
    pub fn run(&self, id: &RunId) -> Result<Option<RunState>, LedgerError> {
        let connection = self.lock();
        // One read transaction, so that a writer in between cannot mix two states.
        let snapshot = self.sql(connection.unchecked_transaction())?;
        self.state(&snapshot, id)
    }

    /// The run to go on with: the newest run of the same notebook, options and environment, if
    /// its process is gone or it was marked as interrupted. `None` if the newest one is done,
    /// still alive, or ran where its process cannot be seen.
    ///
    /// Its edits are those that are part of the notebook: active, and not of an attempt that was
    /// still being tried. Call [`Ledger::take_over`] before recording under it.
    pub fn find_resumable(&self, key: &ResumeKey<'_>) -> Result<Option<RunState>, LedgerError> {
        let connection = self.lock();
        let snapshot = self.sql(connection.unchecked_transaction())?;
        let newest = self.sql(
            snapshot
                .query_row(
                    "SELECT r.id FROM runs r JOIN notebooks n ON n.id = r.notebook
                     LEFT JOIN environments e ON e.id = r.environment
                     WHERE n.path = ?1 AND n.sha256 = ?2 AND r.options_hash = ?3 AND e.lock_hash IS ?4
                     ORDER BY r.started_ms DESC, r.id DESC LIMIT 1",
                    params![
                        key.notebook.to_string_lossy(),
                        key.notebook_sha256,
                        key.options_hash,
                        key.environment_hash,
                    ],
                    |row| row.get(0).map(RunId),
                )
                .optional(),
        )?;
        let Some(id) = newest else { return Ok(None) };
        let Some(mut state) = self.state(&snapshot, &id)? else {
            return Ok(None);
        };
        let resumable = match state.run.status {
            RunStatus::Interrupted => true,
            RunStatus::Running => state.run.liveness == Liveness::Dead,
            RunStatus::Done => false,
        };
        if !resumable {
            return Ok(None);
        }
        let open: Vec<AttemptId> = state
            .attempts
            .iter()
            .filter(|attempt| attempt.outcome == Outcome::Open)
            .map(|attempt| attempt.id)
            .collect();
        state.edits.retain(|edit| edit.active && !edit.attempt.is_some_and(|id| open.contains(&id)));
        Ok(Some(state))
    }

    fn state(&self, c: &Connection, id: &RunId) -> Result<Option<RunState>, LedgerError> {
        let mut runs =
            self.collect(c, &format!("{RUN} WHERE r.id = ?1"), [id.as_str()], |row| self.run_row(row))?;
        let Some(run) = runs.pop() else {
            return Ok(None);
        };
        let attempts = self.collect(
            c,
            "SELECT id, parent, number, failing_cell, ename, message, proposal, outcome, seconds
             FROM attempts WHERE run = ?1 ORDER BY number",
            [id.as_str()],
            |row| self.attempt_row(row),
        )?;
        let edits = self.collect(
            c,
            "SELECT id, attempt, cell, path, source, rule, before, after, evidence, safety, first_line, last_line, active
             FROM edits WHERE run = ?1 ORDER BY id",
            [id.as_str()],
            |row| self.edit_row(row),
        )?;
        let cells = self.collect(
            c,
            "SELECT id, phase, cell, started_ms, finished_ms, seconds, status, outputs, execution_count
             FROM cells WHERE run = ?1 ORDER BY id",
            [id.as_str()],
            |row| self.cell_row(row),
        )?;
        Ok(Some(RunState { run, attempts, edits, cells }))
    }

    pub(crate) fn collect<T>(
        &self,
        c: &Connection,
        query: &str,
        arguments: impl rusqlite::Params,
        read: impl Fn(&Row<'_>) -> Result<T, LedgerError>,
    ) -> Result<Vec<T>, LedgerError> {
        let mut statement = self.sql(c.prepare(query))?;
        let mut rows = self.sql(statement.query(arguments))?;
        let mut all = Vec::new();
        while let Some(row) = self.sql(rows.next())? {
            all.push(read(row)?);
        }
        Ok(all)
    }

    fn get<T: FromSql>(&self, row: &Row<'_>, column: usize) -> Result<T, LedgerError> {
        self.sql(row.get(column))
    }

    /// A stored name as its type.
    pub(crate) fn named<T: FromStr>(&self, text: String, column: &'static str) -> Result<T, LedgerError> {
        text.parse().map_err(|_| LedgerError::Value { path: self.file(), column, value: text })
    }

    fn json(&self, text: String, column: &'static str) -> Result<Value, LedgerError> {
        serde_json::from_str(&text).map_err(|_| LedgerError::Value { path: self.file(), column, value: text })
    }

    fn run_row(&self, row: &Row<'_>) -> Result<Run, LedgerError> {
        let environment = match self.get::<Option<String>>(row, 4)? {
            None => None,
            Some(lock_hash) => {
                let packages: String = self.get(row, 6)?;
                Some(Environment {
                    lock_hash,
                    python: self.get(row, 5)?,
                    packages: serde_json::from_str(&packages).map_err(|_| LedgerError::Value {
                        path: self.file(),
                        column: "environments.packages",
                        value: packages,
                    })?,
                })
            }
        };
        let owner = Owner { host: self.get(row, 11)?, pid: self.get(row, 12)?, start: self.get(row, 13)? };
        Ok(Run {
            id: RunId(self.get(row, 0)?),
            kind: self.named(self.get(row, 1)?, "runs.kind")?,
            notebook: PathBuf::from(self.get::<String>(row, 2)?),
            notebook_sha256: self.get(row, 3)?,
            environment,
            options: self.json(self.get(row, 7)?, "runs.options")?,
            options_hash: self.get(row, 8)?,
            started_ms: self.get(row, 9)?,
            finished_ms: self.get(row, 10)?,
            pid: owner.pid,
            status: self.named(self.get(row, 14)?, "runs.state")?,
            liveness: owner.liveness(&self.owner),
            verdict: self.get(row, 15)?,
            report: match self.get(row, 16)? {
                Some(text) => Some(self.json(text, "runs.report")?),
                None => None,
            },
            log: self.get::<Option<String>>(row, 17)?.map(BlobHash),
        })
    }

    fn attempt_row(&self, row: &Row<'_>) -> Result<Attempt, LedgerError> {
        Ok(Attempt {
            id: AttemptId(self.get(row, 0)?),
            parent: self.get::<Option<i64>>(row, 1)?.map(AttemptId),
            number: self.get(row, 2)?,
            failing_cell: self.get::<Option<i64>>(row, 3)?.map(cell_index),
            signature: ErrorSignature { ename: self.get(row, 4)?, message: self.get(row, 5)? },
            proposal: self.get(row, 6)?,
            outcome: self.named(self.get(row, 7)?, "attempts.outcome")?,
            seconds: self.get(row, 8)?,
        })
    }

    fn edit_row(&self, row: &Row<'_>) -> Result<Edit, LedgerError> {
        let cell: Option<i64> = self.get(row, 2)?;
        let path: Option<String> = self.get(row, 3)?;
        let first: Option<u32> = self.get(row, 10)?;
        let last: Option<u32> = self.get(row, 11)?;
        Ok(Edit {
            id: EditId(self.get(row, 0)?),
            attempt: self.get::<Option<i64>>(row, 1)?.map(AttemptId),
            place: match (cell, path) {
                (Some(cell), _) => Place::Cell(cell_index(cell)),
                (None, Some(path)) => Place::File(PathBuf::from(path)),
                (None, None) => Place::Environment,
            },
            source: self.named(self.get(row, 4)?, "edits.source")?,
            rule: self.get(row, 5)?,
            before: self.get(row, 6)?,
            after: self.get(row, 7)?,
            evidence: self.get(row, 8)?,
            safety: self.get(row, 9)?,
            lines: first.zip(last),
            active: self.get(row, 12)?,
        })
    }

    fn cell_row(&self, row: &Row<'_>) -> Result<CellRun, LedgerError> {
        Ok(CellRun {
            id: CellRunId(self.get(row, 0)?),
            phase: self.named(self.get(row, 1)?, "cells.phase")?,
            cell: cell_index(self.get(row, 2)?),
            started_ms: self.get(row, 3)?,
            finished_ms: self.get(row, 4)?,
            seconds: self.get(row, 5)?,
            status: self.named(self.get(row, 6)?, "cells.status")?,
            outputs: self.get::<Option<String>>(row, 7)?.map(BlobHash),
            execution_count: self.get::<Option<i64>>(row, 8)?.map(|count| count.unsigned_abs()),
        })
    }
}

/// Only `CellIndex` values are stored, so the number is never negative.
fn cell_index(stored: i64) -> CellIndex {
    CellIndex(usize::try_from(stored).unwrap_or_default())
}
