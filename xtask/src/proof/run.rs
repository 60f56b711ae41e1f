//! Runs snippets in an environment: one process for all of them, one child of it for each.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use thiserror::Error;

use super::environments::{Environment, short_digest};
use super::value::Value;

/// Longest time of one snippet.
const SECONDS: u32 = 60;
/// Most address space of one snippet. TensorFlow and PyTorch reserve far more than they use, and get no limit.
const MEGABYTES: u32 = 8192;

static PLACES: LazyLock<Regex> = LazyLock::new(|| {
    #[allow(clippy::unwrap_used, reason = "a constant expression that the tests compile")]
    Regex::new(r" ?\((?:unknown location|/[^)]*)\)|\[\d\d:\d\d:\d\d\] ").unwrap()
});

/// The driver and the describer are one program.
const PROGRAM: &str = concat!(include_str!("describe.py"), "\n\n", include_str!("runner.py"));

/// A built environment.
#[derive(Debug, Clone)]
pub(crate) struct Built {
    pub(crate) python: PathBuf,
    /// Where its packages are, when they are not the interpreter's own.
    pub(crate) path: Option<PathBuf>,
}

/// What to run: `setup`, then the snippet.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) cells: [String; 2],
}

/// What a snippet came to.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Run {
    /// It ended, well or by an exception.
    Ended(Box<Ended>),
    /// It was killed, or its values could not be told.
    Trouble { trouble: String },
    /// Its environment could not be built.
    #[serde(skip)]
    NotBuilt,
}

/// A snippet that ended.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Ended {
    pub(crate) error: Option<Raised>,
    pub(crate) printed: String,
    pub(crate) warnings: Vec<String>,
    /// What all names are bound to in the end.
    pub(crate) values: BTreeMap<String, Value>,
    /// Names that the snippet bound, or whose values it changed.
    pub(crate) changed: BTreeSet<String>,
    /// The value of the last expression, when the snippet ends in one.
    pub(crate) last: Option<Value>,
    /// The figures that are open in the end.
    pub(crate) figures: Vec<Value>,
}

/// An exception.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Raised {
    pub(crate) name: String,
    pub(crate) message: String,
    pub(crate) in_setup: bool,
}

impl Raised {
    /// On one line, for a note.
    pub(crate) fn brief(&self) -> String {
        let line = self.message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        // Where things lie on this machine, and when they happened, is nobody's matter.
        let line = PLACES.replace_all(line, "");
        let cut: String = line.trim().chars().take(110).collect();
        let place = if self.in_setup { "in setup: " } else { "" };
        format!("{place}{}: {cut}", self.name)
    }
}

/// Why an environment's snippets could not be run.
#[derive(Debug, Error)]
pub(crate) enum RunError {
    /// A file of the run cannot be written or read.
    #[error("{path}: {1}", path = .0.display())]
    File(PathBuf, std::io::Error),
    /// The interpreter cannot be started.
    #[error("{path}: cannot be started: {1}", path = .0.display())]
    Start(PathBuf, std::io::Error),
    /// The driver ended before it answered for every snippet.
    #[error("the driver ended early ({0}); see {log}", log = .1.display())]
    Ended(String, PathBuf),
}

/// The files of an environment's runs, under one folder.
///
/// Answers are kept there, so that only what has changed (snippet, pins or driver) runs again.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    environment: &'a Environment,
    folder: &'a Path,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(environment: &'a Environment, folder: &'a Path) -> Bench<'a> {
        Bench { environment, folder }
    }

    fn at(&self, what: &str) -> PathBuf {
        self.folder.join(format!("{}.{what}", self.environment.name))
    }

    fn key(&self, job: &Job) -> String {
        short_digest(&[PROGRAM, &self.environment.digest(), &job.cells[0], &job.cells[1]])
    }

    /// What is known of jobs from earlier runs, in their order.
    pub(crate) fn known(&self, jobs: &[Job]) -> Result<Vec<Option<Run>>, RunError> {
        let runs = read(&self.at("answers"))?;
        Ok(jobs.iter().map(|job| runs.get(&self.key(job)).cloned()).collect())
    }

    /// Runs jobs in the built environment. What came of them is then known.
    pub(crate) fn run(&self, built: &Built, jobs: &[&Job]) -> Result<(), RunError> {
        let file = |path: &Path, error| RunError::File(path.to_path_buf(), error);
        let home = self.folder.join("home");
        fs::create_dir_all(&home).map_err(|error| file(&home, error))?;
        let (program, list, answers) = (self.at("py"), self.at("jobs"), self.at("answers"));
        fs::write(&program, PROGRAM).map_err(|error| file(&program, error))?;
        let mut writer = File::create(&list).map_err(|error| file(&list, error))?;
        for job in jobs {
            let line = serde_json::json!({ "id": self.key(job), "cells": job.cells });
            writeln!(writer, "{line}").map_err(|error| file(&list, error))?;
        }
        let log = self.at("log");
        let errors = File::create(&log).map_err(|error| file(&log, error))?;
        let mut command = self.command(built);
        command.arg(&program).args([&list, &answers]);
        command.args([SECONDS.to_string(), if self.environment.large { 0 } else { MEGABYTES }.to_string()]);
        command.env("HOME", &home).stderr(errors);
        let status = command.status().map_err(|error| RunError::Start(built.python.clone(), error))?;
        if status.success() { Ok(()) } else { Err(RunError::Ended(status.to_string(), log)) }
    }

    fn command(&self, built: &Built) -> Command {
        let mut command = Command::new(&built.python);
        command
            .env_clear()
            .envs([
                ("PATH", "/usr/bin:/bin"),
                ("LANG", "C.UTF-8"),
                ("MPLBACKEND", "Agg"),
                ("PYTHONHASHSEED", "0"),
                ("TF_CPP_MIN_LOG_LEVEL", "3"),
                ("CUDA_VISIBLE_DEVICES", ""),
                // A forked child must not find a pool of threads that its parent started.
                ("OMP_NUM_THREADS", "1"),
                ("OPENBLAS_NUM_THREADS", "1"),
                ("MKL_NUM_THREADS", "1"),
                // No snippet may depend on the network: a refused connection instead of a slow one.
                ("http_proxy", "http://127.0.0.1:9"),
                ("https_proxy", "http://127.0.0.1:9"),
            ])
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        if let Some(path) = &built.path {
            command.env("PYTHONPATH", path);
        }
        command
    }
}

/// The answers in a file, the last one of each key. A line that was cut off by the end of an earlier run is no answer.
fn read(answers: &Path) -> Result<HashMap<String, Run>, RunError> {
    let file = |error| RunError::File(answers.to_path_buf(), error);
    let opened = match File::open(answers) {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(file(error)),
    };
    let mut runs = HashMap::new();
    for line in BufReader::new(opened).lines() {
        if let Ok(answer) = serde_json::from_str::<Answer>(&line.map_err(file)?) {
            runs.insert(answer.id, answer.run);
        }
    }
    Ok(runs)
}

#[derive(Deserialize)]
struct Answer {
    id: String,
    #[serde(flatten)]
    run: Run,
}
