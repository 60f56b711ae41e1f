//! Recording, one transaction a call.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde_json::Value;

use crate::Ledger;
use crate::blob::BlobHash;
use crate::error::LedgerError;
use crate::process::{Liveness, Owner};
use crate::record::{
    AttemptId, CellRunId, EditId, Environment, NewAttempt, NewCellRun, NewEdit, NewRun, Outcome, Place,
    RunId, RunStatus, options_hash,
};

/// SQLite's clock, to the millisecond.
const NOW_MS: &str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

impl Ledger {
    /// Runs `body` in one transaction that holds the write lock from the start, so that it waits
    /// for other processes at its beginning and never fails half-way because of them.
    pub(crate) fn write<T>(
        &self,
        body: impl FnOnce(&Connection) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let connection = self.lock();
        self.write_on(&connection, body)
    }

    fn write_on<T>(
        &self,
        connection: &Connection,
        body: impl FnOnce(&Connection) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let transaction = self.sql(Transaction::new_unchecked(connection, TransactionBehavior::Immediate))?;
        let value = body(&transaction)?;
        self.sql(transaction.commit())?;
        Ok(value)
    }

    /// Begins a run of this process.
    pub fn begin_run(&self, new: &NewRun<'_>) -> Result<RunId, LedgerError> {
        let path = new.notebook.to_string_lossy();
        let hash = options_hash(new.kind, new.options);
        self.write(|c| {
            self.sql(c.execute(
                "INSERT INTO notebooks (path, sha256) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                params![path, new.notebook_sha256],
            ))?;
            let environment = match new.environment {
                Some(environment) => Some(self.put_environment(c, environment)?),
                None => None,
            };
            self.sql(c.query_row(
                &format!(
                    "INSERT INTO runs (id, kind, notebook, environment, options, options_hash,
                         started_ms, host, pid, process_start, state)
                     SELECT replace(strftime('%Y%m%d-%H%M%f', 'now'), '.', '-') || '-' || lower(hex(randomblob(4))),
                         ?1, id, ?4, ?5, ?6, {NOW_MS}, ?7, ?8, ?9, 'running'
                     FROM notebooks WHERE path = ?2 AND sha256 = ?3
                     RETURNING id"
                ),
                params![
                    new.kind.as_str(),
                    path,
                    new.notebook_sha256,
                    environment,
                    new.options.to_string(),
                    hash,
                    self.owner.host,
                    self.owner.pid,
                    self.owner.start,
                ],
                |row| row.get(0).map(RunId),
            ))
        })
    }

    /// Says which environment the run uses, when it was not known at its beginning.
    pub fn set_environment(&self, run: &RunId, environment: &Environment) -> Result<(), LedgerError> {
        self.write(|c| {
            self.require_ours(c, run)?;
            let row = self.put_environment(c, environment)?;
            self.sql(
                c.execute("UPDATE runs SET environment = ?2 WHERE id = ?1", params![run.as_str(), row]),
            )?;
            Ok(())
        })
    }

    /// Keeps the kernel's log of a run; a later one replaces it.
    pub fn set_log(&self, run: &RunId, log: &[u8]) -> Result<BlobHash, LedgerError> {
        self.write(|c| {
            self.require_ours(c, run)?;
            let hash = self.put_blob_in(c, log)?;
            self.sql(
                c.execute("UPDATE runs SET log = ?2 WHERE id = ?1", params![run.as_str(), hash.as_str()]),
            )?;
            Ok(hash)
        })
    }

    /// Records a repair attempt, before ([`Outcome::Open`]) or after it was tried.
    pub fn record_attempt(&self, run: &RunId, new: &NewAttempt<'_>) -> Result<AttemptId, LedgerError> {
        self.write(|c| {
            self.require_ours(c, run)?;
            self.sql(c.query_row(
                "INSERT INTO attempts (run, parent, number, failing_cell, ename, message, proposal, outcome, seconds)
                 SELECT ?1, ?2, 1 + coalesce(max(number), 0), ?3, ?4, ?5, ?6, ?7, ?8
                 FROM attempts WHERE run = ?1
                 RETURNING id",
                params![
                    run.as_str(),
                    new.parent.map(|id| id.0),
                    new.failing_cell.map(|cell| cell.0 as i64),
                    new.signature.ename,
                    new.signature.message,
                    new.proposal,
                    new.outcome.as_str(),
                    new.seconds,
                ],
                |row| row.get(0).map(AttemptId),
            ))
        })
    }

    /// Decides an open attempt. Any outcome but [`Outcome::Kept`] and [`Outcome::Open`] takes its
    /// edits back in the same transaction.
    pub fn finish_attempt(
        &self,
        attempt: AttemptId,
        outcome: Outcome,
        seconds: f64,
    ) -> Result<(), LedgerError> {
        self.write(|c| {
            let run = self.run_of(c, "attempt", "SELECT run FROM attempts WHERE id = ?1", attempt.0)?;
            self.require_ours(c, &run)?;
            self.sql(c.execute(
                "UPDATE attempts SET outcome = ?2, seconds = ?3 WHERE id = ?1",
                params![attempt.0, outcome.as_str(), seconds],
            ))?;
            if !matches!(outcome, Outcome::Kept | Outcome::Open) {
                self.sql(c.execute("UPDATE edits SET active = 0 WHERE attempt = ?1", [attempt.0]))?;
            }
            Ok(())
        })
    }

    /// Records one edit.
    pub fn record_edit(&self, run: &RunId, new: &NewEdit<'_>) -> Result<EditId, LedgerError> {
        let ids = self.record_edits(run, std::slice::from_ref(new))?;
        Ok(ids[0])
    }

    /// Records edits that only make sense together (an import and its use) in one transaction.
    pub fn record_edits(&self, run: &RunId, edits: &[NewEdit<'_>]) -> Result<Vec<EditId>, LedgerError> {
        self.write(|c| {
            self.require_ours(c, run)?;
            edits.iter().map(|new| self.insert_edit(c, run, new)).collect()
        })
    }

    fn insert_edit(&self, c: &Connection, run: &RunId, new: &NewEdit<'_>) -> Result<EditId, LedgerError> {
        let (cell, path) = match &new.place {
            Place::Cell(cell) => (Some(cell.0 as i64), None),
            Place::File(path) => (None, Some(path.to_string_lossy())),
            Place::Environment => (None, None),
        };
        self.sql(c.query_row(
            "INSERT INTO edits (run, attempt, cell, path, source, rule, before, after, evidence, safety, first_line, last_line, active)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) RETURNING id",
            params![
                run.as_str(),
                new.attempt.map(|id| id.0),
                cell,
                path,
                new.source.as_str(),
                new.rule,
                new.before,
                new.after,
                new.evidence,
                new.safety,
                new.lines.map(|(first, _)| first),
                new.lines.map(|(_, last)| last),
                new.active,
            ],
            |row| row.get(0).map(EditId),
        ))
    }

    /// Puts an edit into the notebook or takes it out.
    pub fn set_edit_active(&self, edit: EditId, active: bool) -> Result<(), LedgerError> {
        self.write(|c| {
            let run = self.run_of(c, "edit", "SELECT run FROM edits WHERE id = ?1", edit.0)?;
            self.require_ours(c, &run)?;
            self.sql(c.execute("UPDATE edits SET active = ?2 WHERE id = ?1", params![edit.0, active]))?;
            Ok(())
        })
    }

    /// Records one execution of one cell, with its outputs.
    pub fn record_cell(&self, run: &RunId, new: &NewCellRun<'_>) -> Result<CellRunId, LedgerError> {
        self.write(|c| {
            self.require_ours(c, run)?;
            let outputs = match new.outputs {
                Some(bytes) => Some(self.put_blob_in(c, bytes)?),
                None => None,
            };
            self.sql(c.query_row(
                "INSERT INTO cells (run, phase, cell, started_ms, finished_ms, seconds, status, outputs, execution_count)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING id",
                params![
                    run.as_str(),
                    new.phase.as_str(),
                    new.cell.0 as i64,
                    new.started_ms,
                    new.finished_ms,
                    new.seconds,
                    new.status.as_str(),
                    outputs.as_ref().map(BlobHash::as_str),
                    new.execution_count.map(|count| count as i64),
                ],
                |row| row.get(0).map(CellRunId),
            ))
        })
    }

    /// Ends a run with its verdict (stable name) and report; flushed to the disk.
    pub fn finish_run(&self, run: &RunId, verdict: &str, report: &Value) -> Result<(), LedgerError> {
        let connection = self.lock();
        self.sql(connection.execute_batch("PRAGMA synchronous = FULL"))?;
        let written = self.write_on(&connection, |c| {
            self.require_ours(c, run)?;
            self.sql(c.execute(
                &format!(
                    "UPDATE runs SET state = 'done', finished_ms = {NOW_MS}, verdict = ?2, report = ?3 WHERE id = ?1"
                ),
                params![run.as_str(), verdict, report.to_string()],
            ))?;
            Ok(())
        });
        self.sql(connection.execute_batch("PRAGMA synchronous = NORMAL"))?;
        written
    }

    /// Marks a run of this process, or of one that is not alive, as interrupted: it can be
    /// resumed.
    ///
    /// # Errors
    ///
    /// [`LedgerError::NotOurs`] if it is finished or its process is alive.
    pub fn mark_interrupted(&self, run: &RunId) -> Result<(), LedgerError> {
        self.write(|c| {
            let (status, owner) = self.owner_of(c, run)?;
            if status == RunStatus::Interrupted {
                return Ok(());
            }
            let refuse = |reason: String| Err(LedgerError::NotOurs { run: run.clone(), reason });
            if status == RunStatus::Done {
                return refuse("it is finished".to_owned());
            }
            if owner != self.owner && owner.liveness(&self.owner) == Liveness::Alive {
                return refuse(format!("process {} is running it", owner.pid));
            }
            self.sql(c.execute("UPDATE runs SET state = 'interrupted' WHERE id = ?1", [run.as_str()]))?;
            Ok(())
        })
    }

    /// Makes an interrupted or dead run this process's own, so that it can go on recording. Open
    /// attempts become [`Outcome::Interrupted`] and their edits inactive: what they were worth is
    /// not known.
    ///
    /// A run whose process cannot be seen (another host) is taken over only once it is marked as
    /// interrupted, which is a person's decision.
    ///
    /// # Errors
    ///
    /// [`LedgerError::NotResumable`] if the run is done or its process is not known to be dead;
    /// of two processes that try, one gets this error.
    pub fn take_over(&self, run: &RunId) -> Result<(), LedgerError> {
        self.write(|c| {
            let (status, owner) = self.owner_of(c, run)?;
            let refuse = |reason: String| Err(LedgerError::NotResumable { run: run.clone(), reason });
            match (status, owner.liveness(&self.owner)) {
                (RunStatus::Done, _) => return refuse("it is finished".to_owned()),
                (RunStatus::Running, Liveness::Alive) => {
                    return refuse(format!("process {} is running it", owner.pid));
                }
                (RunStatus::Running, Liveness::Unknown) => {
                    return refuse(format!(
                        "process {} on {} cannot be seen from here",
                        owner.pid, owner.host
                    ));
                }
                (RunStatus::Running, Liveness::Dead) | (RunStatus::Interrupted, _) => {}
            }
            self.sql(c.execute(
                "UPDATE runs SET state = 'running', host = ?2, pid = ?3, process_start = ?4 WHERE id = ?1",
                params![run.as_str(), self.owner.host, self.owner.pid, self.owner.start],
            ))?;
            self.sql(c.execute(
                "UPDATE edits SET active = 0 WHERE attempt IN
                     (SELECT id FROM attempts WHERE run = ?1 AND outcome = 'open')",
                [run.as_str()],
            ))?;
            self.sql(c.execute(
                "UPDATE attempts SET outcome = 'interrupted' WHERE run = ?1 AND outcome = 'open'",
                [run.as_str()],
            ))?;
            Ok(())
        })
    }

    fn put_environment(&self, c: &Connection, environment: &Environment) -> Result<i64, LedgerError> {
        let packages: Value = environment
            .packages
            .iter()
            .map(|(name, version)| (name.clone(), Value::from(version.as_str())))
            .collect::<serde_json::Map<_, _>>()
            .into();
        self.sql(c.execute(
            "INSERT INTO environments (lock_hash, python, packages) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            params![environment.lock_hash, environment.python, packages.to_string()],
        ))?;
        self.sql(c.query_row(
            "SELECT id FROM environments WHERE lock_hash = ?1",
            [&environment.lock_hash],
            |row| row.get(0),
        ))
    }

    fn run_of(
        &self,
        c: &Connection,
        what: &'static str,
        query: &str,
        number: i64,
    ) -> Result<RunId, LedgerError> {
        self.sql(c.query_row(query, [number], |row| row.get(0).map(RunId)).optional())?
            .ok_or(LedgerError::UnknownRow { what, number })
    }

    fn owner_of(&self, c: &Connection, run: &RunId) -> Result<(RunStatus, Owner), LedgerError> {
        let row = self.sql(
            c.query_row(
                "SELECT state, host, pid, process_start FROM runs WHERE id = ?1",
                [run.as_str()],
                |row| {
                    Ok((
                        row.get::<_, String>(0)?,
                        Owner { host: row.get(1)?, pid: row.get(2)?, start: row.get(3)? },
                    ))
                },
            )
            .optional(),
        )?;
        let (state, owner) = row.ok_or_else(|| LedgerError::UnknownRun(run.clone()))?;
        Ok((self.named(state, "runs.state")?, owner))
    }

    /// A process that was given up for dead (a suspended machine) must not write into a run that
    /// another one has taken over.
    fn require_ours(&self, c: &Connection, run: &RunId) -> Result<(), LedgerError> {
        let (status, owner) = self.owner_of(c, run)?;
        let reason = match status {
            RunStatus::Done => "it is finished".to_owned(),
            RunStatus::Interrupted => "it is marked as interrupted".to_owned(),
            RunStatus::Running if owner != self.owner => {
                format!("process {} has it", owner.pid)
            }
            RunStatus::Running => return Ok(()),
        };
        Err(LedgerError::NotOurs { run: run.clone(), reason })
    }
}
