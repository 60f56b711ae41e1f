//! What the ledger holds, as types.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use mlem_notebook::CellIndex;
use serde::Serialize;
use serde_json::Value;

use crate::blob::BlobHash;
use crate::process::Liveness;

/// Stored as text: the kebab-case names are part of the schema.
macro_rules! text_enum {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $text)] $variant,)* }

        impl $name {
            /// The stable name used in the database, in reports and on the screen.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(text: &str) -> Result<$name, ()> {
                match text { $($text => Ok($name::$variant),)* _ => Err(()) }
            }
        }
    };
}

text_enum! {
    /// Which command made the run.
    RunKind {
        /// Executed as it is.
        Run = "run",
        /// Repaired and proved.
        Modernize = "modernize",
    }
}

text_enum! {
    /// Where a run is.
    RunStatus {
        /// Begun and not finished; whether its process still lives is [`Run::liveness`].
        Running = "running",
        /// Finished with a verdict.
        Done = "done",
        /// Stopped before its end by the user or by a caller that noticed the death.
        Interrupted = "interrupted",
    }
}

text_enum! {
    /// What became of a repair attempt.
    Outcome {
        /// Being tried; if the process dies now, the attempt did not happen.
        Open = "open",
        /// The failure moved on; its edits stay.
        Kept = "kept",
        /// It did not help; its edits were taken back.
        RolledBack = "rolled-back",
        /// The edits could not be applied (overlap, broken syntax); nothing was run.
        Refused = "refused",
        /// The process died while it was being tried.
        Interrupted = "interrupted",
    }
}

text_enum! {
    /// Where an edit came from.
    EditSource {
        /// A rule of the catalogue.
        Rule = "rule",
        /// The index of names that the installed distributions offer today.
        WhereNow = "where-now",
        /// The resolver of data paths.
        Path = "path",
        /// A change of the environment (a distribution installed).
        Environment = "environment",
        /// A language model.
        Model = "model",
    }
}

text_enum! {
    /// Which execution a cell's record belongs to.
    Phase {
        /// In the kernel of the repair loop.
        Live = "live",
        /// In the fresh kernel of the proof run (and the only execution of a plain run).
        Proof = "proof",
    }
}

text_enum! {
    /// How a cell's execution ended.
    CellStatus {
        /// Without an error.
        Ok = "ok",
        /// With an exception.
        Error = "error",
        /// Over its time limit.
        Timeout = "timeout",
        /// The kernel died.
        Died = "died",
        /// Interrupted by the user.
        Interrupted = "interrupted",
        /// Not executed, because an earlier cell failed or it is not Python.
        Skipped = "skipped",
    }
}

/// A run's id: the UTC time of its start to the millisecond and random digits, so that ids sort
/// by time, for instance `20261201-095009-123-5f0c9a2b`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct RunId(pub(crate) String);

impl RunId {
    /// An id that a person typed; whether such a run exists is the ledger's to say.
    pub fn new(text: impl Into<String>) -> RunId {
        RunId(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Row number of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct AttemptId(pub(crate) i64);

/// Row number of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct EditId(pub(crate) i64);

/// Row number of one execution of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct CellRunId(pub(crate) i64);

impl AttemptId {
    /// The row number, as exports show it.
    pub fn number(self) -> i64 {
        self.0
    }
}

impl EditId {
    /// The row number, as exports show it.
    pub fn number(self) -> i64 {
        self.0
    }
}

impl CellRunId {
    /// The row number, as exports show it.
    pub fn number(self) -> i64 {
        self.0
    }
}

/// A locked environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Environment {
    /// Hash of the lock: the same hash, the same packages.
    pub lock_hash: String,
    /// Version of the interpreter, such as `3.11.7`.
    pub python: String,
    /// Normalised distribution name to version.
    pub packages: BTreeMap<String, String>,
}

/// What [`crate::Ledger::begin_run`] records.
#[derive(Debug, Clone)]
pub struct NewRun<'a> {
    /// Which command.
    pub kind: RunKind,
    /// The notebook, as the caller names it (the same way each time, or nothing is resumed).
    pub notebook: &'a Path,
    /// SHA-256 of the notebook's bytes, hexadecimal ([`BlobHash::of`]).
    pub notebook_sha256: &'a str,
    /// The environment, if it is built already ([`crate::Ledger::set_environment`] otherwise).
    pub environment: Option<&'a Environment>,
    /// All options that change what the run does.
    pub options: &'a Value,
}

/// What makes two runs the same work.
#[derive(Debug, Clone)]
pub struct ResumeKey<'a> {
    /// The notebook's path, as it was given to `begin_run`. Copies of one notebook in two folders
    /// have other data and helper modules around them, so the hash alone is not enough.
    pub notebook: &'a Path,
    /// SHA-256 of its bytes.
    pub notebook_sha256: &'a str,
    /// [`options_hash`] of kind and options.
    pub options_hash: &'a str,
    /// Hash of the environment's lock; `None` finds runs that died before they had one.
    pub environment_hash: Option<&'a str>,
}

/// Hash of what was asked for; the order of keys does not matter.
pub fn options_hash(kind: RunKind, options: &Value) -> String {
    let mut text = format!("{kind}\n");
    write_sorted(options, &mut text);
    BlobHash::of(text.as_bytes()).0
}

/// JSON with the keys of objects sorted, so that equal values give equal text.
fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<_, _> = map.iter().collect();
            out.push('{');
            for (key, value) in sorted {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_sorted(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_sorted(item, out);
                out.push(',');
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// What failed, in a form that is equal when the same thing fails again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct ErrorSignature {
    /// Name of the exception.
    pub ename: String,
    /// First line of the message, without addresses, colour codes, line numbers and repeated
    /// white space, at most 300 characters.
    pub message: String,
}

impl ErrorSignature {
    /// Normalises an error as a kernel reports it.
    pub fn new(ename: &str, evalue: &str) -> ErrorSignature {
        let plain = without_escapes(evalue);
        let line = plain.trim().lines().next().unwrap_or_default();
        let words: Vec<String> = line.split_whitespace().map(without_address).collect();
        let mut message: Vec<&str> = Vec::with_capacity(words.len());
        let mut after_line = false;
        for word in &words {
            // "(<string>, line 12)": an edit above moves it, the error stays the same.
            let digits = word.trim_end_matches([')', ',', ':', '.']);
            if after_line && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
                message.push("N)");
            } else {
                message.push(word);
            }
            after_line = word.ends_with("line");
        }
        ErrorSignature { ename: ename.to_owned(), message: message.join(" ").chars().take(300).collect() }
    }
}

/// `<Model object at 0x7f3a2c>` is the same error at every address.
fn without_address(word: &str) -> String {
    let Some(at) = word.find("0x") else {
        return word.to_owned();
    };
    let (before, rest) = word.split_at(at + 2);
    let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
    format!("{before}{}", &rest[digits..])
}

/// Without ANSI control sequences (ECMA-48 CSI: ESC `[` parameters, final byte `@` to `~`).
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' && chars.peek() == Some(&'[') {
            chars.next();
            for c in chars.by_ref() {
                if ('@'..='~').contains(&c) {
                    break;
                }
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// What [`crate::Ledger::record_attempt`] records.
#[derive(Debug, Clone)]
pub struct NewAttempt<'a> {
    /// The attempt whose result this one builds on.
    pub parent: Option<AttemptId>,
    /// The cell that failed before the attempt; `None` if it was not a cell.
    pub failing_cell: Option<CellIndex>,
    /// The error it is meant to remove.
    pub signature: &'a ErrorSignature,
    /// What is tried, in words or as JSON.
    pub proposal: &'a str,
    /// [`Outcome::Open`] before it is tried, or the outcome when it is recorded afterwards.
    pub outcome: Outcome,
    /// Seconds spent so far.
    pub seconds: f64,
}

/// A recorded repair attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    /// Its row.
    pub id: AttemptId,
    /// The attempt it built on.
    pub parent: Option<AttemptId>,
    /// From 1 within the run.
    pub number: u32,
    /// The cell that failed before it.
    pub failing_cell: Option<CellIndex>,
    /// The error it was meant to remove.
    pub signature: ErrorSignature,
    /// What was tried.
    pub proposal: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Seconds it took.
    pub seconds: f64,
}

/// What an edit changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A cell of the notebook.
    Cell(CellIndex),
    /// A helper module or script, as the caller names it.
    File(PathBuf),
    /// The environment.
    Environment,
}

/// What [`crate::Ledger::record_edit`] records.
#[derive(Debug, Clone)]
pub struct NewEdit<'a> {
    /// The attempt it belongs to; `None` for a static fix.
    pub attempt: Option<AttemptId>,
    /// What it changed.
    pub place: Place,
    /// Where it came from.
    pub source: EditSource,
    /// Id of the rule.
    pub rule: Option<&'a str>,
    /// The text that was replaced.
    pub before: &'a str,
    /// The text that replaced it.
    pub after: &'a str,
    /// What confirmed it: the live error, the proven type.
    pub evidence: Option<&'a str>,
    /// `safe`, `safe-with-evidence` or `unsafe`.
    pub safety: Option<&'a str>,
    /// First and last line from 1, in the text before the edit.
    pub lines: Option<(u32, u32)>,
    /// Whether it is part of the notebook now.
    pub active: bool,
}

/// A recorded edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// Its row.
    pub id: EditId,
    /// The attempt it belongs to.
    pub attempt: Option<AttemptId>,
    /// What it changed.
    pub place: Place,
    /// Where it came from.
    pub source: EditSource,
    /// Id of the rule.
    pub rule: Option<String>,
    /// The text that was replaced.
    pub before: String,
    /// The text that replaced it.
    pub after: String,
    /// What confirmed it.
    pub evidence: Option<String>,
    /// `safe`, `safe-with-evidence` or `unsafe`.
    pub safety: Option<String>,
    /// First and last line from 1, in the text before the edit.
    pub lines: Option<(u32, u32)>,
    /// Whether it is part of the notebook.
    pub active: bool,
}

/// What [`crate::Ledger::record_cell`] records.
#[derive(Debug, Clone)]
pub struct NewCellRun<'a> {
    /// Repair loop or proof.
    pub phase: Phase,
    /// Which cell.
    pub cell: CellIndex,
    /// Milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// Milliseconds since the Unix epoch.
    pub finished_ms: i64,
    /// Seconds by a monotonic clock.
    pub seconds: f64,
    /// How it ended.
    pub status: CellStatus,
    /// Its outputs as JSON text, if they are to be kept.
    pub outputs: Option<&'a [u8]>,
    /// The kernel's counter.
    pub execution_count: Option<u64>,
}

/// One recorded execution of one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellRun {
    /// Its row.
    pub id: CellRunId,
    /// Repair loop or proof.
    pub phase: Phase,
    /// Which cell.
    pub cell: CellIndex,
    /// Milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// Milliseconds since the Unix epoch.
    pub finished_ms: i64,
    /// Seconds by a monotonic clock.
    pub seconds: f64,
    /// How it ended.
    pub status: CellStatus,
    /// Where its outputs are ([`crate::Ledger::blob`]).
    pub outputs: Option<BlobHash>,
    /// The kernel's counter.
    pub execution_count: Option<u64>,
}

/// A recorded run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Which command.
    pub kind: RunKind,
    /// The notebook, as the caller named it.
    pub notebook: PathBuf,
    /// SHA-256 of the notebook's bytes.
    pub notebook_sha256: String,
    /// The environment, if it got one.
    pub environment: Option<Environment>,
    /// Options as they were given.
    pub options: Value,
    /// [`options_hash`] of kind and options.
    pub options_hash: String,
    /// Milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// Milliseconds since the Unix epoch.
    pub finished_ms: Option<i64>,
    /// Process number of the (last) process that wrote it.
    pub pid: u32,
    /// Where it is.
    pub status: RunStatus,
    /// Whether that process is still there; only of interest while `status` is `Running`.
    #[serde(skip)]
    pub liveness: Liveness,
    /// The verdict's stable name.
    pub verdict: Option<String>,
    /// The report.
    pub report: Option<Value>,
    /// The kernel's log ([`crate::Ledger::blob`]).
    pub log: Option<BlobHash>,
}

/// A run with everything recorded under it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunState {
    /// The run.
    pub run: Run,
    /// In the order of their numbers.
    pub attempts: Vec<Attempt>,
    /// In the order they were recorded. From `find_resumable` only the active ones whose attempt
    /// was decided; from `run` all.
    pub edits: Vec<Edit>,
    /// In the order they were recorded.
    pub cells: Vec<CellRun>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn options_hash_ignores_the_order_of_keys_and_knows_the_kind() {
        let one = json!({"timeout": 60, "data": {"a": 1, "b": [1, 2]}});
        let other = json!({"data": {"b": [1, 2], "a": 1}, "timeout": 60});
        assert_eq!(options_hash(RunKind::Run, &one), options_hash(RunKind::Run, &other));
        assert_ne!(options_hash(RunKind::Run, &one), options_hash(RunKind::Modernize, &one));
        assert_ne!(
            options_hash(RunKind::Run, &json!({"x": "1"})),
            options_hash(RunKind::Run, &json!({"x": 1}))
        );
    }

    #[test]
    fn signatures_forget_what_moves() {
        let same = |a: &str, b: &str| {
            assert_eq!(ErrorSignature::new("E", a), ErrorSignature::new("E", b));
        };
        same("<M object at 0x7f01> is bad", "<M object at 0x55ffab> is bad");
        same("invalid syntax (<string>, line 3)", "invalid syntax (<string>, line 41)");
        same("\u{1b}[31mno\u{1b}[0m  such\nmore", "no such");
        let differ = |a: &str, b: &str| {
            assert_ne!(ErrorSignature::new("E", a), ErrorSignature::new("E", b));
        };
        differ("'DataFrame' has no 'ix'", "'DataFrame' has no 'append'");
        differ("3", "4");
        assert_eq!(ErrorSignature::new("KeyError", "").message, "");
    }

    #[test]
    fn names_are_read_back() {
        for outcome in
            [Outcome::Open, Outcome::Kept, Outcome::RolledBack, Outcome::Refused, Outcome::Interrupted]
        {
            assert_eq!(outcome.as_str().parse(), Ok(outcome));
        }
        assert_eq!("rolled-forward".parse::<Outcome>(), Err(()));
    }
}
