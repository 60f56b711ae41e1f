//! Many submissions at once: which files they are, of which competition, and their reports.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use serde::Deserialize;

use crate::chosen::{Sample, choose};
use crate::competition::{Competition, Direction, Mode};
use crate::grader::{Grader, Outcome, ReasonKind};
use crate::leaderboard::{LeaderboardError, Thresholds};
use crate::report::{Report, Subject};
use crate::table::Table;

/// One submission of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name: the path below the batch's folder, without `.csv`; for a list, the path as it stands there.
    pub name: String,
    /// A file, or a folder in which the submission is to be found; nothing where a list says `null`.
    pub path: Option<PathBuf>,
    /// Its competition, where the place or the list tells.
    pub competition: Option<String>,
}

/// Why there is no batch.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// A folder or list that cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// The folder or list.
        path: PathBuf,
        /// The system's reason.
        error: std::io::Error,
    },
    /// A line of a list that is no submission.
    #[error("{} line {line}: {error}; a line is {{\"competition_id\": …, \"submission_path\": …}}", path.display())]
    Line {
        /// The list.
        path: PathBuf,
        /// Line from 1.
        line: usize,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// A folder without submissions.
    #[error("{}: the folder holds no .csv file", .0.display())]
    Empty(PathBuf),
}

/// The submissions of a folder: each `.csv` file in it, and each sub-folder that holds some (what one notebook
/// wrote). A sub-folder called like a competition holds submissions of that competition.
pub fn entries_of_folder(folder: &Path) -> Result<Vec<Entry>, BatchError> {
    let mut entries = Vec::new();
    collect(folder, folder, None, &mut entries)?;
    if entries.is_empty() {
        return Err(BatchError::Empty(folder.to_owned()));
    }
    Ok(entries)
}

fn collect(
    root: &Path,
    folder: &Path,
    competition: Option<&str>,
    entries: &mut Vec<Entry>,
) -> Result<(), BatchError> {
    let read = |error| BatchError::Read { path: folder.to_owned(), error };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(read)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, _>>()
        .map_err(read)?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let below = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        if path.is_dir() {
            if competition.is_none() && Competition::find(&name).is_some() {
                collect(root, &path, Some(&name), entries)?;
            } else if !name.starts_with('.') && holds_csv(&path) {
                entries.push(Entry {
                    name: below,
                    path: Some(path),
                    competition: competition.map(str::to_owned),
                });
            }
        } else if is_csv(&path) {
            let name = below[..below.len() - ".csv".len()].to_owned();
            entries.push(Entry { name, path: Some(path), competition: competition.map(str::to_owned) });
        }
    }
    Ok(())
}

fn is_csv(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}

fn holds_csv(folder: &Path) -> bool {
    walkdir::WalkDir::new(folder).into_iter().filter_map(Result::ok).any(|entry| is_csv(entry.path()))
}

#[derive(Deserialize)]
struct Line {
    competition_id: String,
    submission_path: Option<PathBuf>,
}

/// The submissions of a list in MLE-bench's format: JSON Lines with `competition_id` and `submission_path` (or
/// `null`); blank lines and those that begin with `#` or `//` are passed over.
pub fn entries_of_list(list: &Path) -> Result<Vec<Entry>, BatchError> {
    let text =
        std::fs::read_to_string(list).map_err(|error| BatchError::Read { path: list.to_owned(), error })?;
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("//") {
            continue;
        }
        let line: Line = serde_json::from_str(line).map_err(|error| BatchError::Line {
            path: list.to_owned(),
            line: index + 1,
            error,
        })?;
        let name = line.submission_path.as_ref().map_or("null".to_owned(), |path| path.display().to_string());
        entries.push(Entry { name, path: line.submission_path, competition: Some(line.competition_id) });
    }
    Ok(entries)
}

/// A competition's answers, read by whoever comes first while the others wait.
type Opened = Arc<OnceLock<Result<Arc<Judge>, Outcome>>>;

/// The answers and samples of prepared competitions: `<folder>/<id>/prepared/{public,private}`.
#[derive(Debug)]
pub struct Prepared {
    folder: PathBuf,
    leaderboards: Leaderboards,
    mode: Mode,
    max_bytes: u64,
    judges: Mutex<HashMap<String, Opened>>,
}

/// Where thresholds come from.
#[derive(Debug, Clone)]
pub enum Leaderboards {
    /// From nowhere: no medals.
    None,
    /// The same for all.
    Of(Thresholds),
    /// From `<folder>/<id>/leaderboard.csv`, as MLE-bench keeps them; a competition without one gives no medals.
    Folder(PathBuf),
}

impl Leaderboards {
    fn thresholds(&self, competition: &str, max_bytes: u64) -> Result<Option<Thresholds>, LeaderboardError> {
        match self {
            Leaderboards::None => Ok(None),
            Leaderboards::Of(thresholds) => Ok(Some(*thresholds)),
            Leaderboards::Folder(folder) => {
                let file = folder.join(competition).join("leaderboard.csv");
                if file.is_file() { Thresholds::read(&file, max_bytes).map(Some) } else { Ok(None) }
            }
        }
    }
}

/// What submissions of one competition are graded with.
#[derive(Debug)]
pub struct Judge {
    /// Its id; empty for a bare metric or a grader of the user's own.
    pub competition: String,
    /// The name of its metric.
    pub metric: String,
    /// Which scores are better without a leaderboard.
    pub direction: Direction,
    /// How strictly.
    pub mode: Mode,
    /// The answers, ready.
    pub grader: Grader,
    /// For choosing among files.
    pub sample: Option<Sample>,
    /// For medals.
    pub thresholds: Option<Thresholds>,
    /// Largest file that is read.
    pub max_bytes: u64,
}

impl Judge {
    /// Grades a file, or the submission found in a folder.
    pub fn grade(&self, submission: &Path) -> Report {
        let subject = Subject {
            competition: &self.competition,
            metric: &self.metric,
            direction: self.direction,
            mode: self.mode,
            thresholds: self.thresholds,
        };
        if !submission.is_dir() {
            return Report::new(subject, submission, self.grader.grade(submission), None);
        }
        match choose(submission, self.sample.as_ref(), self.max_bytes) {
            Some((path, chosen)) => Report::new(subject, &path, self.grader.grade(&path), Some(chosen)),
            None => {
                let text = format!("{}: the folder holds no .csv file", submission.display());
                Report::new(subject, submission, Outcome::without_score(ReasonKind::Missing, text), None)
            }
        }
    }
}

impl Prepared {
    /// Competitions prepared under a folder.
    pub fn new(folder: &Path, leaderboards: Leaderboards, mode: Mode, max_bytes: u64) -> Prepared {
        Prepared { folder: folder.to_owned(), leaderboards, mode, max_bytes, judges: Mutex::default() }
    }

    /// The answers of a competition, read once. What is missing is said as the outcome of its submissions.
    pub fn judge(&self, competition: &str) -> Result<Arc<Judge>, Outcome> {
        let cell = {
            // A poisoned lock only means that another thread panicked between two lines that cannot.
            let mut judges = self.judges.lock().unwrap_or_else(PoisonError::into_inner);
            judges.entry(competition.to_owned()).or_default().clone()
        };
        cell.get_or_init(|| self.open(competition).map(Arc::new)).clone()
    }

    fn open(&self, id: &str) -> Result<Judge, Outcome> {
        let Some(competition) = Competition::find(id) else {
            let text = format!("`{id}` is no competition that is known; `--grader grade.py` grades others");
            return Err(Outcome::without_score(ReasonKind::Missing, text));
        };
        let prepared = self.folder.join(id).join("prepared");
        let answers = prepared.join(&competition.answers);
        if !answers.is_file() {
            let text = format!(
                "{}: not prepared; `mlebench prepare -c {id} --data-dir {}` does it",
                answers.display(),
                self.folder.display()
            );
            return Err(Outcome::without_score(ReasonKind::Missing, text));
        }
        let grader = Grader::new(competition, &answers, self.mode, self.max_bytes)
            .map_err(|error| Outcome::without_score(ReasonKind::Internal, error.to_string()))?;
        let thresholds = self.leaderboards.thresholds(id, self.max_bytes).map_err(|error| {
            Outcome::without_score(ReasonKind::Internal, format!("the leaderboard: {error}"))
        })?;
        let sample = Table::read(&prepared.join(&competition.sample_submission), self.max_bytes).ok();
        Ok(Judge {
            competition: id.to_owned(),
            metric: competition.metric.name().to_owned(),
            direction: competition.direction,
            mode: self.mode,
            grader,
            sample: sample.map(Sample::new),
            thresholds,
            max_bytes: self.max_bytes,
        })
    }

    /// Grades a submission of a competition; that it is not prepared is the result then.
    pub fn grade(&self, competition: &str, submission: Option<&Path>) -> Report {
        let known = Competition::find(competition);
        let subject = Subject {
            competition,
            metric: known.map_or("", |known| known.metric.name()),
            direction: known.map_or(Direction::Higher, |known| known.direction),
            mode: self.mode,
            thresholds: self.leaderboards.thresholds(competition, self.max_bytes).ok().flatten(),
        };
        let Some(path) = submission else {
            let outcome = Outcome::without_score(ReasonKind::Missing, "there is no submission");
            return Report::new(subject, Path::new(""), outcome, None);
        };
        match self.judge(competition) {
            Ok(judge) => judge.grade(path),
            Err(mut outcome) => {
                outcome.exists = path.is_file() && is_csv(path);
                Report::new(subject, path, outcome, None)
            }
        }
    }
}

/// Grades all entries on `jobs` threads; `None` uses all processors. The order is kept.
pub fn grade_all(
    entries: &[Entry],
    jobs: Option<usize>,
    grade: impl Fn(&Entry) -> Report + Sync,
) -> std::io::Result<Vec<Report>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0)).build();
    let pool = pool.map_err(std::io::Error::other)?;
    Ok(pool.install(|| entries.par_iter().map(&grade).collect()))
}

/// `csv_score.json` as MLEModernizer's `csv_grader.py` writes it: for each name the graded file and, as `score`,
/// MLE-bench's report or `{"error": …}`.
pub fn csv_score(entries: &[Entry], reports: &[Report]) -> serde_json::Value {
    let scores = entries.iter().zip(reports).map(|(entry, report)| {
        let score = match (&report.reason, report.submission_exists) {
            (Some(reason), false) => serde_json::json!({"error": reason}),
            _ => report.as_mlebench(),
        };
        (entry.name.clone(), serde_json::json!({"output": report.submission_path, "score": score}))
    });
    serde_json::Value::Object(scores.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_files_runs_and_competitions() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "a.csv",
            "b.CSV",
            "notes.txt",
            "run/out/x.csv",
            "empty/readme.md",
            ".hidden/x.csv",
            "AI4Code/c.csv",
            "AI4Code/run/d.csv",
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "id\n").unwrap();
        }
        let entries = entries_of_folder(folder.path()).unwrap();
        let told: Vec<(&str, Option<&str>)> =
            entries.iter().map(|entry| (entry.name.as_str(), entry.competition.as_deref())).collect();
        assert_eq!(
            told,
            [
                ("AI4Code/c", Some("AI4Code")),
                ("AI4Code/run", Some("AI4Code")),
                ("a", None),
                ("b", None),
                ("run", None)
            ]
        );
        assert!(matches!(entries_of_folder(&folder.path().join("empty")), Err(BatchError::Empty(_))));
    }

    #[test]
    fn lists_in_the_format_of_mlebench() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list.jsonl");
        std::fs::write(&list, "# comment\n\n{\"competition_id\": \"AI4Code\", \"submission_path\": \"x.csv\", \"more\": 1}\n// no\n{\"competition_id\": \"AI4Code\", \"submission_path\": null}\n").unwrap();
        let entries = entries_of_list(&list).unwrap();
        assert_eq!((entries.len(), entries[1].path.as_ref(), entries[0].name.as_str()), (2, None, "x.csv"));
        std::fs::write(&list, "{\"competition_id\": 3}\n").unwrap();
        assert!(entries_of_list(&list).unwrap_err().to_string().contains("line 1"));
    }

    #[test]
    fn what_is_not_prepared_is_named_with_its_command() {
        let folder = tempfile::tempdir().unwrap();
        let prepared = Prepared::new(folder.path(), Leaderboards::None, Mode::Mlebench, 1000);
        let report = prepared.grade("AI4Code", Some(Path::new("x.csv")));
        assert!(report.reason.unwrap().contains("mlebench prepare -c AI4Code"));
        assert_eq!((report.reason_kind, report.valid_submission), (Some(ReasonKind::Missing), false));
        let report = prepared.grade("titanic", Some(Path::new("x.csv")));
        assert!(report.reason.unwrap().contains("--grader"));
    }
}
