//! What was done: notebooks, environments, runs, attempts, edits and cells, in SQLite.
//!
//! A workspace folder holds one `ledger.sqlite` and, beside it, `blobs/` with large contents
//! named by their SHA-256. Every recording call is one transaction that is committed before the
//! call returns, so a process that is killed loses at most the step in progress, and
//! [`Ledger::find_resumable`] gives the next process everything that was acknowledged.
//!
//! # Durability
//!
//! The database runs in WAL mode with `synchronous = NORMAL`: a commit survives the death of the
//! process (kill -9, out of memory) without an `fsync` for each cell, which on ordinary disks
//! would cost more than a short cell itself. A power cut can lose the last commits but never
//! corrupts the file (<https://www.sqlite.org/pragma.html#pragma_synchronous>).
//! [`Ledger::finish_run`] commits with `synchronous = FULL`, which flushes the whole log, so a
//! finished run survives a power cut too.

mod blob;
mod error;
mod export;
mod process;
mod read;
mod record;
mod schema;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

pub use blob::BlobHash;
pub use error::LedgerError;
pub use process::Liveness;
pub use record::{
    Attempt, AttemptId, CellRun, CellRunId, CellStatus, Edit, EditId, EditSource, Environment,
    ErrorSignature, NewAttempt, NewCellRun, NewEdit, NewRun, Outcome, Phase, Place, ResumeKey, Run, RunId,
    RunKind, RunState, RunStatus, options_hash,
};
pub use schema::SCHEMA;

/// Name of the database file in the workspace folder.
pub const FILE_NAME: &str = "ledger.sqlite";

/// How long a call waits for another process's transaction before [`LedgerError::Locked`].
/// Transactions here last milliseconds, so this much waiting means a stuck or stopped process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The record of one workspace. Shareable between threads; several processes may have the same
/// workspace open, each writing runs of its own.
pub struct Ledger {
    folder: PathBuf,
    connection: Mutex<Connection>,
    owner: process::Owner,
}

impl Ledger {
    /// Opens the ledger of a workspace folder; creates the folder and the file where they are
    /// missing and brings an older schema up to [`SCHEMA`].
    ///
    /// # Errors
    ///
    /// [`LedgerError::ReadOnly`], [`LedgerError::NotADatabase`], [`LedgerError::NotALedger`],
    /// [`LedgerError::NewerSchema`], [`LedgerError::Locked`], [`LedgerError::DiskFull`] or the
    /// underlying error.
    pub fn open(workspace: &Path) -> Result<Ledger, LedgerError> {
        Ledger::open_waiting(workspace, BUSY_TIMEOUT)
    }

    fn open_waiting(workspace: &Path, patience: Duration) -> Result<Ledger, LedgerError> {
        std::fs::create_dir_all(workspace).map_err(|e| LedgerError::from_io(workspace, e))?;
        let file = workspace.join(FILE_NAME);
        let connection = Connection::open_with_flags(
            &file,
            OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )
        .map_err(|e| LedgerError::from_sqlite(&file, e))?;
        schema::prepare(&connection, &file, patience)?;
        Ok(Ledger {
            folder: workspace.to_path_buf(),
            connection: Mutex::new(connection),
            owner: process::Owner::current(),
        })
    }

    /// The workspace folder this ledger lives in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// SQLite's own check of the file and of all foreign keys; empty when all is well.
    pub fn check(&self) -> Result<Vec<String>, LedgerError> {
        let connection = self.lock();
        let mut problems = Vec::new();
        let mut integrity = self.sql(connection.prepare("PRAGMA integrity_check"))?;
        let lines = self.sql(integrity.query_map([], |row| row.get::<_, String>(0)))?;
        for line in lines {
            let line = self.sql(line)?;
            if line != "ok" {
                problems.push(line);
            }
        }
        let mut keys = self.sql(connection.prepare("PRAGMA foreign_key_check"))?;
        let broken = self.sql(keys.query_map([], |row| {
            Ok(format!(
                "row {} of {} refers to nothing in {}",
                row.get::<_, Option<i64>>(1)?.unwrap_or_default(),
                row.get::<_, String>(0)?,
                row.get::<_, String>(2)?
            ))
        }))?;
        for line in broken {
            problems.push(self.sql(line)?);
        }
        Ok(problems)
    }

    fn file(&self) -> PathBuf {
        self.folder.join(FILE_NAME)
    }

    /// A panic while the lock was held left no half-done transaction: dropping one rolls it back.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names the file in an SQLite error and sorts it into the kinds a person can act on.
    fn sql<T>(&self, result: rusqlite::Result<T>) -> Result<T, LedgerError> {
        result.map_err(|e| LedgerError::from_sqlite(&self.file(), e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_not_released_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open_waiting(folder.path(), Duration::from_millis(50)).unwrap();
        let other = Connection::open(folder.path().join(FILE_NAME)).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = ledger.put_blob(b"x").unwrap_err();
        assert!(matches!(error, LedgerError::Locked { .. }), "{error}");
        other.execute_batch("ROLLBACK").unwrap();
        ledger.put_blob(b"x").unwrap();
    }

    #[test]
    fn a_full_disk_is_named_and_earlier_results_are_safe() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        let kept = ledger.put_blob(b"kept").unwrap();
        // SQLite gives SQLITE_FULL beyond this many pages, exactly as it does on a full disk.
        let pages: i64 = ledger.lock().query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        ledger.lock().pragma_update(None, "max_page_count", pages + 2).unwrap();
        let mut full = None;
        for n in 0..10u8 {
            if let Err(error) = ledger.put_blob(&[n; 20_000]) {
                full = Some(error);
                break;
            }
        }
        assert!(matches!(full, Some(LedgerError::DiskFull { .. })), "{full:?}");
        assert_eq!(ledger.blob(&kept).unwrap().unwrap(), b"kept");
        drop(ledger);
        let again = Ledger::open(folder.path()).unwrap();
        assert_eq!(again.check().unwrap(), Vec::<String>::new());
        assert_eq!(again.blob(&kept).unwrap().unwrap(), b"kept");
        again.put_blob(&[1; 20_000]).unwrap();
    }
}
