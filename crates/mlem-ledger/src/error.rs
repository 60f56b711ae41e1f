//! Errors in words that say what to do.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::record::RunId;

/// Why the ledger could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The folder or the file does not allow writing.
    #[error("{}: cannot be written (read-only, or no permission); choose another folder with --workspace", path.display())]
    ReadOnly {
        /// The folder or file.
        path: PathBuf,
    },
    /// No space left on the device. What was acknowledged before is safe.
    #[error("{}: the disk is full; earlier results are safe, free some space and run again", path.display())]
    DiskFull {
        /// The database or blob being written.
        path: PathBuf,
    },
    /// The file is there but SQLite did not write it.
    #[error("{}: is not an SQLite database; move it away and run again", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is an SQLite database of another program.
    #[error("{}: is an SQLite database, but not a ledger of mlem; move it away and run again", path.display())]
    NotALedger {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a later version.
    #[error("{}: has schema {found}, this version of mlem knows up to {known}; use a newer mlem or another --workspace", path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Schema of the file.
        found: i64,
        /// Newest schema this version reads.
        known: i64,
    },
    /// Another process held the write lock longer than the busy timeout.
    #[error("{}: is locked by another process that does not let go; end it, or use another --workspace", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file system cannot share memory between processes, which WAL mode needs.
    #[error("{}: this file system does not support SQLite's WAL mode (journal mode stayed {mode}); put the workspace on a local disk", path.display())]
    NoWal {
        /// The file.
        path: PathBuf,
        /// The journal mode SQLite stayed in.
        mode: String,
    },
    /// The database is damaged.
    #[error("{}: the database is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        reason: String,
    },
    /// A blob's content does not have the hash that names it, or it is gone.
    #[error("{}: {reason}", path.display())]
    Blob {
        /// The blob's file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No run has this id.
    #[error("no run {0} in this ledger")]
    UnknownRun(RunId),
    /// No row has this number (attempt, edit or cell of a run).
    #[error("no {what} number {number} in this ledger")]
    UnknownRow {
        /// What was asked for.
        what: &'static str,
        /// Its row number.
        number: i64,
    },
    /// The run is finished, interrupted, or has been taken over by another process.
    #[error("run {run} does not belong to this process any more: {reason}")]
    NotOurs {
        /// The run.
        run: RunId,
        /// Why it may not be written.
        reason: String,
    },
    /// The run cannot be taken over: its process is alive or cannot be seen from here.
    #[error("run {run} cannot be resumed: {reason}")]
    NotResumable {
        /// The run.
        run: RunId,
        /// Why.
        reason: String,
    },
    /// A stored value that this version does not understand.
    #[error("{}: unexpected value in {column}: {value:?}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// Table and column.
        column: &'static str,
        /// The stored text.
        value: String,
    },
    /// Another input or output error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Writing an export failed.
    #[error("the export could not be written: {0}")]
    Export(#[source] io::Error),
    /// Any other error of SQLite.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
}

impl LedgerError {
    pub(crate) fn from_io(path: &Path, source: io::Error) -> LedgerError {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                LedgerError::ReadOnly { path }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => LedgerError::DiskFull { path },
            _ => LedgerError::Io { path, source },
        }
    }

    pub(crate) fn from_sqlite(file: &Path, source: rusqlite::Error) -> LedgerError {
        let path = file.to_path_buf();
        let Some(code) = source.sqlite_error_code() else {
            return LedgerError::Sqlite { path, source };
        };
        match code {
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied => LedgerError::ReadOnly { path },
            // SQLite does not say why it cannot open a file; a directory in its place, a missing
            // permission and a read-only disk all come out as this one code.
            ErrorCode::CannotOpen if path.is_dir() => LedgerError::NotADatabase { path },
            ErrorCode::CannotOpen => LedgerError::ReadOnly { path },
            ErrorCode::DiskFull => LedgerError::DiskFull { path },
            ErrorCode::NotADatabase => LedgerError::NotADatabase { path },
            ErrorCode::DatabaseCorrupt => LedgerError::Damaged { path, reason: source.to_string() },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => LedgerError::Locked { path },
            _ => LedgerError::Sqlite { path, source },
        }
    }
}
