//! A real process that records is killed with SIGKILL at random points; whatever it acknowledged
//! must be there, and the run must be found again.

// Clippy's exception for tests does not reach the functions they share.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mlem_ledger::{
    BlobHash, CellStatus, EditSource, Environment, ErrorSignature, Ledger, LedgerError, NewAttempt,
    NewCellRun, NewEdit, NewRun, Outcome, Phase, Place, ResumeKey, RunId, RunKind, RunState, RunStatus,
    options_hash,
};
use mlem_notebook::CellIndex;
use serde_json::{Value, json};

const FOLDER: &str = "MLEM_LEDGER_TEST_FOLDER";
const NAME: &str = "MLEM_LEDGER_TEST_NAME";
const ROUNDS: &str = "MLEM_LEDGER_TEST_ROUNDS";
const KILLS: usize = 50;

fn options() -> Value {
    json!({"timeout": 60})
}

fn environment() -> Environment {
    Environment {
        lock_hash: "lock-1".to_owned(),
        python: "3.11.7".to_owned(),
        packages: [("numpy".to_owned(), "2.0.0".to_owned())].into(),
    }
}

fn key<'a>(notebook: &'a str, options: &'a str) -> ResumeKey<'a> {
    ResumeKey {
        notebook: Path::new(notebook),
        notebook_sha256: "a0b1",
        options_hash: options,
        environment_hash: Some("lock-1"),
    }
}

/// Outputs of a cell; every third is so large that it goes to a file.
fn outputs(round: usize) -> Vec<u8> {
    let length = if round.is_multiple_of(3) { 40_000 } else { 100 };
    format!("{round} ").repeat(length / 3).into_bytes()
}

/// Not a test of its own: the process that the tests below start and kill. Writes one line for
/// each call that returned.
#[test]
#[ignore = "started by the other tests"]
fn recorder() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let name = std::env::var(NAME).unwrap();
    let rounds: usize = std::env::var(ROUNDS).unwrap().parse().unwrap();
    let ledger = Ledger::open(Path::new(&folder)).unwrap();
    let environment = environment();
    let run = ledger
        .begin_run(&NewRun {
            kind: RunKind::Modernize,
            notebook: Path::new(&name),
            notebook_sha256: "a0b1",
            environment: Some(&environment),
            options: &options(),
        })
        .unwrap();
    let acknowledge = |what: &str, number: i64, detail: &str| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nACK {what} {number} {detail}").unwrap();
        out.flush().unwrap();
    };
    acknowledge("run", 0, run.as_str());
    let mut parent = None;
    for round in 0..rounds {
        let cell = CellIndex(round % 7);
        let signature = ErrorSignature::new("AttributeError", &format!("no attribute {round}"));
        let attempt = ledger
            .record_attempt(
                &run,
                &NewAttempt {
                    parent,
                    failing_cell: Some(cell),
                    signature: &signature,
                    proposal: "PD004",
                    outcome: Outcome::Open,
                    seconds: 0.0,
                },
            )
            .unwrap();
        acknowledge("attempt", attempt.number(), &signature.message);
        let after = format!("after {round}");
        let edit = ledger
            .record_edit(
                &run,
                &NewEdit {
                    attempt: Some(attempt),
                    place: Place::Cell(cell),
                    source: EditSource::Rule,
                    rule: Some("PD004"),
                    before: "before",
                    after: &after,
                    evidence: Some("AttributeError"),
                    safety: Some("safe"),
                    lines: Some((1, 2)),
                    active: true,
                },
            )
            .unwrap();
        acknowledge("edit", edit.number(), &after);
        let bytes = outputs(round);
        let executed = ledger
            .record_cell(
                &run,
                &NewCellRun {
                    phase: Phase::Live,
                    cell,
                    started_ms: 1_000,
                    finished_ms: 1_500,
                    seconds: 0.5,
                    status: CellStatus::Ok,
                    outputs: Some(&bytes),
                    execution_count: Some(round as u64),
                },
            )
            .unwrap();
        acknowledge("cell", executed.number(), BlobHash::of(&bytes).as_str());
        let outcome = if round % 2 == 0 { Outcome::Kept } else { Outcome::RolledBack };
        ledger.finish_attempt(attempt, outcome, 0.25).unwrap();
        acknowledge("outcome", attempt.number(), outcome.as_str());
        parent = Some(attempt);
    }
    ledger.finish_run(&run, "runs", &json!({"schema": 1})).unwrap();
    acknowledge("done", 0, run.as_str());
}

fn start(folder: &Path, name: &str, rounds: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "recorder", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(NAME, name)
        .env(ROUNDS, rounds.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// What the killed process said it had recorded.
#[derive(Default, Debug)]
struct Acknowledged {
    run: Option<String>,
    attempts: HashMap<i64, String>,
    edits: HashMap<i64, String>,
    cells: HashMap<i64, String>,
    outcomes: HashMap<i64, String>,
    done: bool,
    count: usize,
}

impl Acknowledged {
    fn take(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("ACK ") else {
            return;
        };
        let mut parts = rest.splitn(3, ' ');
        let what = parts.next().unwrap();
        let number: i64 = parts.next().unwrap().parse().unwrap();
        let detail = parts.next().unwrap().to_owned();
        self.count += 1;
        match what {
            "run" => self.run = Some(detail),
            "attempt" => drop(self.attempts.insert(number, detail)),
            "edit" => drop(self.edits.insert(number, detail)),
            "cell" => drop(self.cells.insert(number, detail)),
            "outcome" => drop(self.outcomes.insert(number, detail)),
            "done" => self.done = true,
            other => panic!("unknown acknowledgement {other}"),
        }
    }

    fn all_in(&self, ledger: &Ledger, state: &RunState) {
        for (number, message) in &self.attempts {
            let attempt = state.attempts.iter().find(|a| a.id.number() == *number);
            let attempt = attempt.expect("an acknowledged attempt");
            assert_eq!(attempt.signature.message, *message);
            if let Some(outcome) = self.outcomes.get(number) {
                assert_eq!(attempt.outcome.as_str(), outcome);
            }
        }
        for (number, after) in &self.edits {
            let edit = state.edits.iter().find(|e| e.id.number() == *number);
            assert_eq!(edit.expect("an acknowledged edit").after, *after);
        }
        for (number, hash) in &self.cells {
            let cell = state.cells.iter().find(|c| c.id.number() == *number);
            let stored = cell.expect("an acknowledged cell").outputs.clone().unwrap();
            assert_eq!(stored.as_str(), hash);
            let bytes = ledger.blob(&stored).unwrap().expect("its outputs");
            assert_eq!(BlobHash::of(&bytes), stored);
        }
    }
}

/// A fixed sequence, so that a failure can be repeated (Knuth's MMIX constants).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(20_261_201);
    let options = options_hash(RunKind::Modernize, &options());
    for point in 0..KILLS {
        let name = format!("point-{point}.ipynb");
        let mut child = start(folder.path(), &name, 10_000);
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut acknowledged = Acknowledged::default();
        let enough = 1 + random.below(60) as usize;
        while acknowledged.count < enough {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the recorder goes on");
            acknowledged.take(line.trim_end());
        }
        std::thread::sleep(Duration::from_micros(random.below(3_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        // What it still said before it died; a last line without its end does not count.
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        for line in rest.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            acknowledged.take(line.trim_end());
        }

        let ledger = Ledger::open(folder.path()).unwrap();
        assert_eq!(ledger.check().unwrap(), Vec::<String>::new());
        let id = RunId::new(acknowledged.run.clone().unwrap());
        let all = ledger.run(&id).unwrap().expect("the acknowledged run");
        assert_eq!(all.run.status, RunStatus::Running);
        acknowledged.all_in(&ledger, &all);

        let found =
            ledger.find_resumable(&key(&name, &options)).unwrap().expect("the killed run can be resumed");
        assert_eq!(found.run.id, id);
        assert_eq!(found.attempts, all.attempts);
        for edit in &found.edits {
            let attempt = found.attempts.iter().find(|a| Some(a.id) == edit.attempt);
            assert_eq!(attempt.unwrap().outcome, Outcome::Kept);
        }
        for (number, outcome) in &acknowledged.outcomes {
            let active = found.edits.iter().any(|e| e.attempt.unwrap().number() == *number);
            assert_eq!(active, outcome == "kept");
        }

        ledger.take_over(&id).unwrap();
        let resumed = ledger.run(&id).unwrap().unwrap();
        assert!(resumed.attempts.iter().all(|a| a.outcome != Outcome::Open));
        assert!(
            resumed.edits.iter().filter(|e| e.active).eq(found.edits.iter()),
            "what is active after taking over is what find_resumable promised"
        );
        ledger.finish_run(&id, "runs", &json!({})).unwrap();
        assert!(ledger.find_resumable(&key(&name, &options)).unwrap().is_none());
    }
    let ledger = Ledger::open(folder.path()).unwrap();
    assert_eq!(ledger.runs().unwrap().len(), KILLS);
}

#[test]
fn processes_write_different_runs_at_the_same_time() {
    const ROUNDS_EACH: usize = 40;
    let folder = tempfile::tempdir().unwrap();
    // Both also create the file at the same moment.
    let children: Vec<_> = ["one.ipynb", "two.ipynb", "three.ipynb"]
        .map(|name| (name, start(folder.path(), name, ROUNDS_EACH)))
        .into();
    for (name, mut child) in children {
        let mut acknowledged = Acknowledged::default();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            acknowledged.take(&line.unwrap());
        }
        assert!(child.wait().unwrap().success(), "{name}");
        assert!(acknowledged.done);
        let ledger = Ledger::open(folder.path()).unwrap();
        let id = RunId::new(acknowledged.run.clone().unwrap());
        let state = ledger.run(&id).unwrap().unwrap();
        assert_eq!(state.run.notebook, Path::new(name));
        assert_eq!(state.run.status, RunStatus::Done);
        assert_eq!(state.attempts.len(), ROUNDS_EACH);
        assert_eq!(
            state.attempts.iter().map(|a| a.number as usize).collect::<Vec<_>>(),
            (1..=ROUNDS_EACH).collect::<Vec<_>>()
        );
        acknowledged.all_in(&ledger, &state);
        assert_eq!(ledger.check().unwrap(), Vec::<String>::new());
    }
}

#[test]
fn a_run_of_a_living_process_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), "busy.ipynb", 1_000_000);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = Acknowledged::default();
    while acknowledged.count < 3 {
        acknowledged.take(&lines.next().unwrap().unwrap());
    }
    let ledger = Ledger::open(folder.path()).unwrap();
    let id = RunId::new(acknowledged.run.unwrap());
    let options = options_hash(RunKind::Modernize, &options());
    assert!(ledger.find_resumable(&key("busy.ipynb", &options)).unwrap().is_none());
    assert!(matches!(ledger.take_over(&id), Err(LedgerError::NotResumable { .. })));
    assert!(matches!(ledger.mark_interrupted(&id), Err(LedgerError::NotOurs { .. })));
    assert!(matches!(ledger.finish_run(&id, "runs", &json!({})), Err(LedgerError::NotOurs { .. })));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ledger.find_resumable(&key("busy.ipynb", &options)).unwrap().is_some());
}
