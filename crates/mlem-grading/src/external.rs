//! A `grade.py` of the user's own, run confined: `grade(submission, answers) -> number`, as in MLE-bench.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mlem_kernel::{Launch, LaunchError, Limits};
use serde::Deserialize;

use crate::grader::{Reason, ReasonKind};

const RUNNER: &str = include_str!("external.py");

/// Output of a grader that is kept, in bytes of each stream.
const KEPT_OUTPUT: usize = 1 << 20;

/// Why a grader cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// A file that is not there.
    #[error("{}: no such file", .0.display())]
    Absent(PathBuf),
    /// A path that cannot be made absolute.
    #[error("{}: {}", .0.display(), .1)]
    Path(PathBuf, std::io::Error),
}

/// A user's grader with its answers.
#[derive(Debug)]
pub struct External {
    grader: PathBuf,
    answers: PathBuf,
    python: PathBuf,
    timeout: Duration,
    memory_bytes: Option<u64>,
}

/// What the runner prints.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Said {
    Score(String),
    Invalid(String),
    Failed(String),
}

impl External {
    /// A grader in `grader`, run by `python`, which must have pandas.
    pub fn new(
        grader: &Path,
        answers: &Path,
        python: &Path,
        timeout: Duration,
        memory_bytes: Option<u64>,
    ) -> Result<External, ExternalError> {
        let found = |path: &Path| {
            if !path.is_file() {
                return Err(ExternalError::Absent(path.to_owned()));
            }
            std::path::absolute(path).map_err(|error| ExternalError::Path(path.to_owned(), error))
        };
        let (grader, answers) = (found(grader)?, found(answers)?);
        Ok(External { grader, answers, python: python.to_owned(), timeout, memory_bytes })
    }

    /// Grades one file in a process of its own, without network, keys or home.
    pub fn grade(&self, submission: &Path) -> Result<f64, Reason> {
        let internal = |text: String| Reason { kind: ReasonKind::Internal, text };
        let submission = std::path::absolute(submission).map_err(|error| internal(error.to_string()))?;
        let scratch = tempfile::tempdir().map_err(|error| internal(format!("no scratch folder: {error}")))?;
        let limits = Limits::default();
        let launch = Launch::new(&self.python)
            .args(["-c", RUNNER])
            .args([&self.grader, &submission, &self.answers])
            .working_dir(scratch.path())
            .limits(Limits { memory_bytes: self.memory_bytes.or(limits.memory_bytes), ..limits });
        let finished = launch
            .run(Some(self.timeout), KEPT_OUTPUT)
            .map_err(|error: LaunchError| internal(error.to_string()))?;
        if finished.timed_out {
            return Err(internal(format!("the grader was stopped after {} s", self.timeout.as_secs_f64())));
        }
        let printed = String::from_utf8_lossy(&finished.stdout);
        match printed.lines().next_back().map(serde_json::from_str::<Said>) {
            Some(Ok(Said::Score(score))) => {
                score.parse().map_err(|_| internal(format!("the grader gave `{score}`, which is no number")))
            }
            Some(Ok(Said::Invalid(text))) => Err(Reason { kind: ReasonKind::Invalid, text }),
            Some(Ok(Said::Failed(text))) => Err(internal(format!("the grader failed: {text}"))),
            Some(Err(_)) | None => {
                let said = String::from_utf8_lossy(&finished.stderr);
                let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
                Err(internal(format!("the grader {} without a result: {last}", finished.exit.death)))
            }
        }
    }
}
