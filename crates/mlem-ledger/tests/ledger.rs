//! One process, the whole interface, and what is refused.

// Clippy's exception for tests does not reach the functions they share.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use mlem_ledger::{
    CellStatus, EditSource, Environment, ErrorSignature, FILE_NAME, Ledger, LedgerError, NewAttempt,
    NewCellRun, NewEdit, NewRun, Outcome, Phase, Place, ResumeKey, RunId, RunKind, RunStatus, SCHEMA,
    options_hash,
};
use mlem_notebook::CellIndex;
use rusqlite::Connection;
use serde_json::{Value, json};

fn begin(ledger: &Ledger, environment: Option<&Environment>) -> RunId {
    ledger
        .begin_run(&NewRun {
            kind: RunKind::Modernize,
            notebook: Path::new("a.ipynb"),
            notebook_sha256: "ff",
            environment,
            options: &json!({"data": "d"}),
        })
        .unwrap()
}

fn edit(attempt: Option<mlem_ledger::AttemptId>, place: Place, active: bool) -> NewEdit<'static> {
    NewEdit {
        attempt,
        place,
        source: EditSource::WhereNow,
        rule: None,
        before: "a",
        after: "b",
        evidence: None,
        safety: None,
        lines: Some((3, 4)),
        active,
    }
}

fn attempt(signature: &ErrorSignature, outcome: Outcome) -> NewAttempt<'_> {
    NewAttempt {
        parent: None,
        failing_cell: Some(CellIndex(2)),
        signature,
        proposal: "try it",
        outcome,
        seconds: 0.5,
    }
}

#[test]
fn a_run_is_read_back_as_it_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let run = begin(&ledger, None);
    let environment = Environment {
        lock_hash: "l".into(),
        python: "3.12.1".into(),
        packages: [("pandas".to_owned(), "3.0.1".to_owned())].into(),
    };
    ledger.set_environment(&run, &environment).unwrap();
    let signature = ErrorSignature::new("ImportError", "no module");
    let first = ledger.record_attempt(&run, &attempt(&signature, Outcome::Refused)).unwrap();
    let second = ledger
        .record_attempt(&run, &NewAttempt { parent: Some(first), ..attempt(&signature, Outcome::Open) })
        .unwrap();
    let edits = ledger
        .record_edits(
            &run,
            &[
                edit(None, Place::File("lib/tools.py".into()), true),
                edit(Some(second), Place::Cell(CellIndex(2)), true),
                edit(Some(second), Place::Environment, true),
            ],
        )
        .unwrap();
    ledger.finish_attempt(second, Outcome::RolledBack, 1.5).unwrap();
    ledger
        .record_cell(
            &run,
            &NewCellRun {
                phase: Phase::Proof,
                cell: CellIndex(0),
                started_ms: 5,
                finished_ms: 9,
                seconds: 0.004,
                status: CellStatus::Error,
                outputs: None,
                execution_count: None,
            },
        )
        .unwrap();
    let log = ledger.set_log(&run, &vec![b'x'; 100_000]).unwrap();
    ledger.finish_run(&run, "different", &json!({"schema": 1, "cells": [1]})).unwrap();

    let state = ledger.run(&run).unwrap().unwrap();
    assert_eq!(state.run.environment, Some(environment));
    assert_eq!(state.run.options, json!({"data": "d"}));
    assert_eq!(state.run.verdict.as_deref(), Some("different"));
    assert_eq!(state.run.report, Some(json!({"schema": 1, "cells": [1]})));
    assert!(state.run.finished_ms.unwrap() >= state.run.started_ms);
    assert_eq!(state.attempts[1].parent, Some(first));
    assert_eq!((state.attempts[0].number, state.attempts[1].number), (1, 2));
    assert_eq!(state.attempts[1].outcome, Outcome::RolledBack);
    assert_eq!(state.edits.iter().map(|e| e.id).collect::<Vec<_>>(), edits);
    assert_eq!(state.edits.iter().map(|e| e.active).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(state.edits[0].place, Place::File("lib/tools.py".into()));
    assert_eq!(state.edits[0].lines, Some((3, 4)));
    assert_eq!(state.edits[2].place, Place::Environment);
    assert_eq!(state.cells[0].status, CellStatus::Error);
    assert_eq!(state.run.log, Some(log.clone()));
    assert_eq!(ledger.blob(&log).unwrap().unwrap().len(), 100_000);
    assert_eq!(ledger.runs().unwrap(), [state.run]);
    assert!(ledger.run(&RunId::new("never")).unwrap().is_none());
}

#[test]
fn ids_sort_by_time() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(begin(&ledger, None));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(ids.is_sorted(), "{ids:?}");
    assert_eq!(ledger.runs().unwrap().into_iter().map(|r| r.id).collect::<Vec<_>>(), ids);
}

#[test]
fn an_interrupted_run_is_resumed_with_the_edits_that_hold() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let options = options_hash(RunKind::Modernize, &json!({"data": "d"}));
    let key = ResumeKey {
        notebook: Path::new("a.ipynb"),
        notebook_sha256: "ff",
        options_hash: &options,
        environment_hash: None,
    };
    assert!(ledger.find_resumable(&key).unwrap().is_none());
    let run = begin(&ledger, None);
    let signature = ErrorSignature::new("E", "m");
    let open = ledger.record_attempt(&run, &attempt(&signature, Outcome::Open)).unwrap();
    let fixed = ledger.record_edit(&run, &edit(None, Place::Cell(CellIndex(0)), true)).unwrap();
    let dropped = ledger.record_edit(&run, &edit(None, Place::Cell(CellIndex(1)), true)).unwrap();
    ledger.record_edit(&run, &edit(Some(open), Place::Cell(CellIndex(2)), true)).unwrap();
    ledger.set_edit_active(dropped, false).unwrap();
    assert!(ledger.find_resumable(&key).unwrap().is_none(), "this process is alive");
    ledger.mark_interrupted(&run).unwrap();
    assert!(matches!(
        ledger.record_attempt(&run, &attempt(&signature, Outcome::Kept)),
        Err(LedgerError::NotOurs { .. })
    ));

    let state = ledger.find_resumable(&key).unwrap().unwrap();
    assert_eq!(state.run.status, RunStatus::Interrupted);
    assert_eq!(state.edits.iter().map(|e| e.id).collect::<Vec<_>>(), [fixed]);
    for other in [
        ResumeKey { notebook: Path::new("b/a.ipynb"), ..key.clone() },
        ResumeKey { notebook_sha256: "00", ..key.clone() },
        ResumeKey { options_hash: "00", ..key.clone() },
        ResumeKey { environment_hash: Some("l"), ..key.clone() },
    ] {
        assert!(ledger.find_resumable(&other).unwrap().is_none(), "{other:?}");
    }

    ledger.take_over(&run).unwrap();
    let state = ledger.run(&run).unwrap().unwrap();
    assert_eq!(state.run.status, RunStatus::Running);
    assert_eq!(state.attempts[0].outcome, Outcome::Interrupted);
    ledger.record_attempt(&run, &attempt(&signature, Outcome::Kept)).unwrap();
    assert!(matches!(ledger.take_over(&run), Err(LedgerError::NotResumable { .. })));

    // A newer run of the same work that is done makes the older one history.
    ledger.mark_interrupted(&run).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2));
    let newer = begin(&ledger, None);
    ledger.finish_run(&newer, "runs", &json!({})).unwrap();
    assert!(ledger.find_resumable(&key).unwrap().is_none());
}

#[test]
fn what_does_not_exist_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let nobody = RunId::new("20200101-000000-000-00000000");
    let error = ledger.finish_run(&nobody, "runs", &json!({})).unwrap_err();
    assert_eq!(error.to_string(), "no run 20200101-000000-000-00000000 in this ledger");
    // The connection goes on working, and a refused call leaves nothing behind.
    let run = begin(&ledger, None);
    let other = begin(&ledger, None);
    let wrong = edit(
        Some(ledger.record_attempt(&other, &attempt(&ErrorSignature::new("E", ""), Outcome::Kept)).unwrap()),
        Place::Environment,
        true,
    );
    ledger.record_edit(&other, &wrong).unwrap();
    ledger.finish_run(&run, "runs", &json!({})).unwrap();
    assert!(matches!(
        ledger.record_edit(&run, &edit(None, Place::Environment, true)),
        Err(LedgerError::NotOurs { .. })
    ));
    assert!(ledger.run(&run).unwrap().unwrap().edits.is_empty());
}

#[test]
fn the_export_is_json_lines_of_every_table() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let environment = Environment {
        lock_hash: "l".into(),
        python: "3.12.1".into(),
        packages: [("pandas".to_owned(), "3.0.1".to_owned())].into(),
    };
    let run = begin(&ledger, Some(&environment));
    ledger.record_edit(&run, &edit(None, Place::Cell(CellIndex(1)), true)).unwrap();
    ledger.set_log(&run, b"log").unwrap();
    let mut out = Vec::new();
    ledger.export_jsonl(&mut out).unwrap();
    let lines: Vec<Value> =
        String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({"table": "schema", "version": SCHEMA}));
    let tables: Vec<&str> = lines.iter().map(|line| line["table"].as_str().unwrap()).collect();
    assert_eq!(tables, ["schema", "notebooks", "environments", "blobs", "runs", "edits"]);
    assert_eq!(lines[2]["packages"], json!({"pandas": "3.0.1"}));
    assert_eq!(lines[4]["id"], run.as_str());
    assert_eq!(lines[4]["options"], json!({"data": "d"}));
    assert_eq!(lines[5]["active"], json!(true));
}

#[test]
fn files_that_are_no_ledger_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE_NAME);

    std::fs::write(&file, "this is a text, and longer than a page header ".repeat(50)).unwrap();
    let before = std::fs::read(&file).unwrap();
    assert!(matches!(Ledger::open(folder.path()), Err(LedgerError::NotADatabase { .. })));
    assert_eq!(std::fs::read(&file).unwrap(), before);
    std::fs::remove_file(&file).unwrap();

    let other = Connection::open(&file).unwrap();
    other.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    drop(other);
    let before = std::fs::read(&file).unwrap();
    assert!(matches!(Ledger::open(folder.path()), Err(LedgerError::NotALedger { .. })));
    assert_eq!(std::fs::read(&file).unwrap(), before);
    std::fs::remove_file(&file).unwrap();

    std::fs::create_dir(&file).unwrap();
    assert!(matches!(Ledger::open(folder.path()), Err(LedgerError::NotADatabase { .. })));
}

#[test]
fn a_newer_schema_is_refused_with_both_numbers() {
    let folder = tempfile::tempdir().unwrap();
    drop(Ledger::open(folder.path()).unwrap());
    let raw = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    raw.pragma_update(None, "user_version", SCHEMA + 1).unwrap();
    drop(raw);
    let error = Ledger::open(folder.path()).err().unwrap();
    assert!(
        error
            .to_string()
            .contains(&format!("has schema {}, this version of mlem knows up to {SCHEMA}", SCHEMA + 1)),
        "{error}"
    );
}

#[test]
fn opening_again_migrates_once() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        drop(Ledger::open(folder.path()).unwrap());
    }
    let raw = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    let applied: i64 = raw.query_row("SELECT count(*) FROM migrations", [], |row| row.get(0)).unwrap();
    let mode: String = raw.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!((applied, mode.as_str()), (SCHEMA, "wal"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_cannot_be_written_is_named() {
    // Nobody, not even root, creates files in /proc.
    let error = Ledger::open(Path::new("/proc/self")).err().unwrap();
    assert!(matches!(error, LedgerError::ReadOnly { .. }), "{error}");
}

#[test]
fn a_changed_blob_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let small = ledger.put_blob(b"small").unwrap();
    assert_eq!(ledger.put_blob(b"small").unwrap(), small);
    assert_eq!(ledger.blob(&small).unwrap().unwrap(), b"small");
    assert!(!folder.path().join("blobs").exists(), "small contents stay in the database");
    let large = ledger.put_blob(&vec![7; 50_000]).unwrap();
    let (head, tail) = large.as_str().split_at(2);
    let file = folder.path().join("blobs").join(head).join(tail);
    std::fs::write(&file, "other").unwrap();
    assert!(matches!(ledger.blob(&large), Err(LedgerError::Blob { .. })));
    std::fs::remove_file(&file).unwrap();
    assert!(matches!(ledger.blob(&large), Err(LedgerError::Blob { .. })));
}
