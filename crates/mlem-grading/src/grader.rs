//! One competition with its answers, ready to grade any number of submissions.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::competition::scoring::{self, Question};
use crate::competition::{Case, Check, Competition, Fault, Metric, Mode};
use crate::external::{External, ExternalError};
use crate::table::{Table, TableError};

/// Of what kind the reason is for a submission without a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonKind {
    /// The file, or what it is graded with, is not there.
    Missing,
    /// The file is no table.
    Unreadable,
    /// The table is no valid submission.
    Invalid,
    /// The answers or the grader failed, not the submission.
    Internal,
}

/// Why a submission has no score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Its kind.
    pub kind: ReasonKind,
    /// In a sentence.
    pub text: String,
}

/// What grading a submission came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The unrounded score; NaN and the infinities are scores.
    pub score: Result<f64, Reason>,
    /// Rows of the submission, where it could be read.
    pub rows: Option<usize>,
    /// Whether a file is there that could be a submission.
    pub exists: bool,
}

impl Outcome {
    /// No score, and why.
    pub fn without_score(kind: ReasonKind, text: impl Into<String>) -> Outcome {
        Outcome {
            score: Err(Reason { kind, text: text.into() }),
            rows: None,
            exists: kind != ReasonKind::Missing,
        }
    }
}

/// Why nothing can be graded.
#[derive(Debug, thiserror::Error)]
pub enum AnswersError {
    /// The answers are no table.
    #[error("{}: {error}", path.display())]
    Table {
        /// The answers.
        path: PathBuf,
        /// What is wrong.
        error: TableError,
    },
    /// The answers are no JSON Lines.
    #[error("{} line {line}: {error}", path.display())]
    Lines {
        /// The answers.
        path: PathBuf,
        /// Line from 1.
        line: usize,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// The grader of the user.
    #[error(transparent)]
    External(#[from] ExternalError),
}

#[derive(Debug)]
enum Answers {
    Table(Table),
    Questions(Vec<Question>),
}

#[derive(Debug)]
enum Way {
    Native(Box<Native>),
    External(External),
}

#[derive(Debug)]
struct Native {
    competition: Competition,
    answers: Answers,
    mode: Mode,
}

/// Grades submissions of one competition.
#[derive(Debug)]
pub struct Grader {
    way: Way,
    max_bytes: u64,
}

impl Grader {
    /// Reads the answers of a competition.
    pub fn new(
        competition: &Competition,
        answers: &Path,
        mode: Mode,
        max_bytes: u64,
    ) -> Result<Grader, AnswersError> {
        let read = if competition.metric == Metric::AnswerAccuracy {
            Answers::Questions(questions(answers, max_bytes)?)
        } else {
            let table = Table::read(answers, max_bytes);
            Answers::Table(table.map_err(|error| AnswersError::Table { path: answers.to_owned(), error })?)
        };
        let native = Native { competition: competition.clone(), answers: read, mode };
        Ok(Grader { way: Way::Native(Box::new(native)), max_bytes })
    }

    /// Grades with a `grade.py` of the user's own.
    pub fn external(external: External, max_bytes: u64) -> Grader {
        Grader { way: Way::External(external), max_bytes }
    }

    /// Rows beyond which a submission has no score, whatever they hold.
    fn most_rows(&self) -> usize {
        let Way::Native(native) = &self.way else { return usize::MAX };
        let checks = &native.competition.checks;
        match &native.answers {
            Answers::Table(answers) if checks.contains(&Check::Rows) => answers.rows(),
            Answers::Questions(questions) if checks.contains(&Check::RowsDoubled) => 2 * questions.len(),
            Answers::Table(_) | Answers::Questions(_) => usize::MAX,
        }
    }

    /// Grades one file.
    pub fn grade(&self, submission: &Path) -> Outcome {
        if !submission.is_file() {
            return Outcome::without_score(
                ReasonKind::Missing,
                format!("{}: no such file", submission.display()),
            );
        }
        let is_csv = submission.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        if !is_csv {
            return Outcome::without_score(
                ReasonKind::Missing,
                format!("{}: a submission must be called .csv", submission.display()),
            );
        }
        let table = match Table::read_rows(submission, self.max_bytes, self.most_rows()) {
            Ok(table) => table,
            Err(error @ TableError::Rows { .. }) => {
                return Outcome::without_score(
                    ReasonKind::Invalid,
                    format!("{error}, and the answers have no more"),
                );
            }
            Err(error) => return Outcome::without_score(ReasonKind::Unreadable, error.to_string()),
        };
        let score = match &self.way {
            Way::Native(native) => native.score(&table),
            Way::External(external) => external.grade(submission),
        };
        Outcome { score, rows: Some(table.rows()), exists: true }
    }
}

impl Native {
    fn score(&self, submission: &Table) -> Result<f64, Reason> {
        let score = match &self.answers {
            Answers::Questions(questions) => scoring::answer_accuracy(submission, questions),
            Answers::Table(answers) => Case::new(&self.competition, submission, answers, self.mode)
                .and_then(|case| scoring::score(&case)),
        };
        score.map_err(|fault| Reason {
            kind: match fault {
                Fault::Submission(_) => ReasonKind::Invalid,
                Fault::Answers(_) => ReasonKind::Internal,
            },
            text: fault.to_string(),
        })
    }
}

fn questions(path: &Path, max_bytes: u64) -> Result<Vec<Question>, AnswersError> {
    let table = |error: TableError| AnswersError::Table { path: path.to_owned(), error };
    let size = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => table(TableError::Absent),
        _ => table(error.into()),
    })?;
    if size.len() > max_bytes {
        return Err(table(TableError::TooLarge { bytes: size.len(), limit: max_bytes }));
    }
    let text = std::fs::read_to_string(path).map_err(|error| table(error.into()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| AnswersError::Lines {
                path: path.to_owned(),
                line: index + 1,
                error,
            })
        })
        .collect()
}
