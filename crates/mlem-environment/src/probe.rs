//! A long-lived process in the target interpreter that says what it has.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Distribution;
use crate::environment::Environment;
use crate::homes::{self, Home};
use crate::names::NameIndex;
use crate::process::{self, Sight};

/// Longest wait for one answer. The first import of a large library on a cold disk takes most of it.
const LIMIT: Duration = Duration::from_secs(90);
/// How often the process may die before it is given up.
const RESTARTS: usize = 10;

/// How a parameter takes its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParameterKind {
    /// By position only.
    PositionalOnly,
    /// By position or by name.
    PositionalOrKeyword,
    /// `*args`.
    VarPositional,
    /// By name only.
    KeywordOnly,
    /// `**kwargs`.
    VarKeyword,
}

/// One parameter of a callable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// How it takes its argument.
    pub kind: ParameterKind,
    /// `repr` of its default, cut after 300 characters; `None` when it has to be given.
    #[serde(default)]
    pub default: Option<String>,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A module or package.
    Module,
    /// A class.
    Class,
    /// A function or another callable of a module.
    Function,
    /// A function of a class.
    Method,
    /// A static method.
    StaticMethod,
    /// A class method.
    ClassMethod,
    /// A property.
    Property,
    /// Anything else.
    Data,
}

/// An exception, as it was raised in the target interpreter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// The class's name, e.g. `AttributeError`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its message, cut after 300 characters.
    pub message: String,
    /// The module that an ImportError names.
    #[serde(default)]
    pub module: Option<String>,
}

/// What the target interpreter says about a dotted name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether it is there; `None` when it could not be found out (an import hung or killed the process).
    pub exists: Option<bool>,
    /// What it stands for.
    pub kind: Option<Kind>,
    /// Its parameters, without `self` or `cls`; `None` when it is not callable or nothing tells.
    pub signature: Option<Vec<Parameter>>,
    /// The distribution it belongs to, by its normalised name.
    pub distribution: Option<String>,
    /// That distribution's version.
    pub version: Option<String>,
    /// What looking it up or importing its module raised.
    pub error: Option<Raised>,
    /// First line of its documentation.
    pub doc: Option<String>,
    /// Module and name where it is defined, e.g. `sklearn.model_selection._split.train_test_split`.
    pub defined: Option<String>,
    /// The deprecation warning that reaching it gave.
    pub deprecated: Option<String>,
    /// Of a name that is not there: its longest front part that is.
    pub nearest: Option<String>,
}

impl Answer {
    fn unknown(kind: &str, message: String) -> Self {
        let error = Raised { kind: kind.to_owned(), message, module: None };
        Self { error: Some(error), ..Self::default() }
    }

    /// The parameter of that name.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.signature.as_ref()?.iter().find(|parameter| parameter.name == name)
    }

    /// Whether a call may use this keyword: `None` when nothing tells.
    pub fn accepts_keyword(&self, name: &str) -> Option<bool> {
        let signature = self.signature.as_ref()?;
        let accepts = signature.iter().any(|parameter| match parameter.kind {
            ParameterKind::VarKeyword => true,
            ParameterKind::PositionalOrKeyword | ParameterKind::KeywordOnly => parameter.name == name,
            ParameterKind::PositionalOnly | ParameterKind::VarPositional => false,
        });
        Some(accepts)
    }
}

/// Why the interpreter cannot be asked.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// The process does not start.
    #[error("{}: cannot be asked: {reason}", .python.display())]
    Start {
        /// The interpreter.
        python: PathBuf,
        /// The operating system's reason.
        reason: String,
    },
}

/// A conversation with a target interpreter. Answers are remembered. An import that hangs or kills the process costs one
/// restart, and the answer is that it is unknown.
pub struct Probe {
    environment: Environment,
    cache: Option<PathBuf>,
    process: Option<Process>,
    restarts: usize,
    answers: HashMap<String, Answer>,
    index: Option<NameIndex>,
    limit: Duration,
    next: u64,
}

struct Process {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    /// The working folder: what is imported may write there.
    _folder: tempfile::TempDir,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[derive(Serialize)]
struct Question<'a> {
    id: u64,
    op: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<&'a str>,
}

#[derive(Deserialize)]
struct Names {
    names: Option<Vec<(String, Kind)>>,
}

impl Probe {
    /// Starts the process. The environment is never changed by it, not even by bytecode files.
    pub fn start(environment: &Environment) -> Result<Self, ProbeError> {
        let process = Process::start(environment)?;
        Ok(Self {
            environment: environment.clone(),
            cache: None,
            process: Some(process),
            restarts: 0,
            answers: HashMap::new(),
            index: None,
            limit: LIMIT,
            next: 0,
        })
    }

    /// Keeps the index of public names in a folder, keyed by the environment.
    #[must_use]
    pub fn with_cache(mut self, cache: &Path) -> Self {
        self.cache = Some(cache.to_owned());
        self
    }

    /// Longest wait for one answer (90 seconds by default).
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The environment that is asked.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// What a dotted name stands for, e.g. `pandas.DataFrame.append`. Imports what that takes.
    pub fn lookup(&mut self, qualified: &str) -> Answer {
        if let Some(known) = self.answers.get(qualified) {
            return known.clone();
        }
        let well_formed = !qualified.is_empty()
            && qualified
                .split('.')
                .all(|part| !part.is_empty() && !part.contains(|c: char| !c.is_alphanumeric() && c != '_'));
        let answer = if well_formed {
            match self.ask("lookup", Some(qualified), None) {
                Ok(line) => match serde_json::from_str::<Answer>(&line) {
                    Ok(mut answer) => {
                        answer.distribution =
                            answer.distribution.map(|name| Distribution::new(&name).as_str().to_owned());
                        answer
                    }
                    Err(error) => Answer::unknown("ProbeFailure", format!("unreadable answer: {error}")),
                },
                Err(unknown) => *unknown,
            }
        } else {
            Answer { exists: Some(false), ..Answer::default() }
        };
        self.answers.insert(qualified.to_owned(), answer.clone());
        answer
    }

    /// Where a public name lives now, the most sensible place first. `near` is the dotted module it was looked for in:
    /// places in the same library come first. Read from the source of the installed distributions, nothing is imported
    /// but compiled modules that a package re-exports whole.
    pub fn where_now(&mut self, name: &str, near: Option<&str>) -> Vec<Home> {
        if self.index.is_none() {
            let file = self
                .cache
                .as_ref()
                .map(|cache| cache.join("names").join(format!("{}.tsv", self.environment.key())));
            let index = match file.as_deref().and_then(NameIndex::read) {
                Some(index) => index,
                None => {
                    let (mut index, compiled) = NameIndex::build(&self.environment);
                    for module in compiled {
                        if let Some(names) = self.names(&module) {
                            index.add_compiled(&module, &names);
                        }
                    }
                    index.finish();
                    if let Some(file) = &file {
                        // Without the file the next process builds it again.
                        drop(index.write(file));
                    }
                    index
                }
            };
            self.index = Some(index);
        }
        match &self.index {
            Some(index) => homes::rank(index.find(name), near),
            None => Vec::new(),
        }
    }

    fn names(&mut self, module: &str) -> Option<Vec<(String, Kind)>> {
        let line = self.ask("names", None, Some(module)).ok()?;
        serde_json::from_str::<Names>(&line).ok()?.names
    }

    fn ask(&mut self, op: &str, name: Option<&str>, module: Option<&str>) -> Result<String, Box<Answer>> {
        let unknown = |kind: &str, message: &str| Box::new(Answer::unknown(kind, message.to_owned()));
        if self.process.is_none() {
            if self.restarts >= RESTARTS {
                return Err(unknown(
                    "ProbeFailure",
                    "the interpreter died too often and is not asked any more",
                ));
            }
            self.restarts += 1;
            match Process::start(&self.environment) {
                Ok(process) => self.process = Some(process),
                Err(error) => return Err(unknown("ProbeFailure", &error.to_string())),
            }
        }
        let Some(process) = &mut self.process else { return Err(unknown("ProbeFailure", "no process")) };
        self.next += 1;
        let question = Question { id: self.next, op, name, module };
        let sent = serde_json::to_string(&question)
            .map(|line| writeln!(process.stdin, "{line}").and_then(|()| process.stdin.flush()));
        // A process that is gone is noticed below, where its ending is read.
        drop(sent);
        match process.lines.recv_timeout(self.limit) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => {
                self.process = None;
                Err(unknown("TimeoutError", &format!("no answer within {} seconds", self.limit.as_secs())))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let ending = process.child.wait().map_or_else(|error| error.to_string(), process::ending);
                self.process = None;
                Err(unknown("ProbeFailure", &format!("the interpreter died: {ending}")))
            }
        }
    }
}

impl Process {
    fn start(environment: &Environment) -> Result<Self, ProbeError> {
        let failed = |reason: String| ProbeError::Start { python: environment.python.clone(), reason };
        let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
        let mut command = process::command(&environment.python, Sight::Bare);
        command
            .args(["-B", "-u", "-c", include_str!("probe.py")])
            .current_dir(folder.path())
            // Libraries must not look for a display or a graphics card, nor write their logs.
            .envs([
                ("MPLBACKEND", "Agg"),
                ("TF_CPP_MIN_LOG_LEVEL", "3"),
                ("CUDA_VISIBLE_DEVICES", "-1"),
                ("PYTHONIOENCODING", "utf-8"),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("no pipes".to_owned()));
        };
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, stdin, lines, _folder: folder })
    }
}
