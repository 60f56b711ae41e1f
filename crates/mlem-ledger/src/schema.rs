//! The tables, and how an older file is brought up to date.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use crate::error::LedgerError;

/// The schema this version writes (`PRAGMA user_version`).
pub const SCHEMA: i64 = MIGRATIONS.len() as i64;

/// Marks the file as ours for `file(1)` and for [`prepare`]: "mlem" in ASCII
/// (<https://www.sqlite.org/pragma.html#pragma_application_id>).
const APPLICATION_ID: i64 = 0x6d6c_656d;

/// Step n brings a file from schema n to n + 1. Released steps are never edited.
const MIGRATIONS: &[&str] = &[include_str!("../schema/1.sql")];

/// Sets the connection up and runs the migrations that are missing.
pub(crate) fn prepare(
    connection: &Connection,
    file: &Path,
    busy_timeout: Duration,
) -> Result<(), LedgerError> {
    let sql = |e| LedgerError::from_sqlite(file, e);
    connection.busy_timeout(busy_timeout).map_err(sql)?;
    // Reading comes first: a file that is not ours must not be changed, not even to WAL mode.
    let found = known_schema(connection, file)?;
    let mode = into_wal_mode(connection, busy_timeout).map_err(sql)?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(LedgerError::NoWal { path: file.to_path_buf(), mode });
    }
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;").map_err(sql)?;
    if found < SCHEMA {
        migrate(connection, file)?;
    }
    Ok(())
}

/// Switches to WAL and gives the mode the file is in then. SQLite does not wait for other
/// processes here as it does for transactions (two that open a new file at once), so this does.
fn into_wal_mode(connection: &Connection, patience: Duration) -> rusqlite::Result<String> {
    let begun = Instant::now();
    loop {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        match mode {
            Err(e)
                if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && begun.elapsed() < patience =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// The file's schema; an error if the file belongs to another program or a later version.
fn known_schema(connection: &Connection, file: &Path) -> Result<i64, LedgerError> {
    let sql = |e| LedgerError::from_sqlite(file, e);
    // One statement, so that another process cannot create the tables between the answers.
    let (found, application, tables) = connection
        .query_row(
            "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
             FROM pragma_user_version, pragma_application_id",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)),
        )
        .map_err(sql)?;
    if tables > 0 && application != APPLICATION_ID {
        return Err(LedgerError::NotALedger { path: file.to_path_buf() });
    }
    if found > SCHEMA {
        return Err(LedgerError::NewerSchema { path: file.to_path_buf(), found, known: SCHEMA });
    }
    Ok(found)
}

/// All missing steps in one transaction, so a killed migration leaves the old schema.
fn migrate(connection: &Connection, file: &Path) -> Result<(), LedgerError> {
    let sql = |e| LedgerError::from_sqlite(file, e);
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(sql)?;
    // Another process may have migrated while this one waited for the lock.
    let found = known_schema(&transaction, file)?;
    for (step, text) in MIGRATIONS.iter().enumerate() {
        let version = step as i64 + 1;
        if version <= found {
            continue;
        }
        transaction.execute_batch(text).map_err(sql)?;
        transaction
            .execute(
                "INSERT INTO migrations (version, applied_ms) VALUES (?1, CAST(unixepoch('subsec') * 1000 AS INTEGER))",
                [version],
            )
            .map_err(sql)?;
    }
    transaction.pragma_update(None, "user_version", SCHEMA).map_err(sql)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
    transaction.commit().map_err(sql)
}
