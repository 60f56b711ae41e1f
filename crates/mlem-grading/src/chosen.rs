//! Which of the files that a notebook wrote is its submission.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use walkdir::WalkDir;

use crate::table::{Key, KeyColumn, Table};

/// The chosen file and the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Chosen {
    /// Why this one.
    pub why: String,
    /// All files, the chosen one first, then by falling rank.
    pub candidates: Vec<Candidate>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// Relative to the folder.
    pub path: String,
    /// How well it agrees with the sample submission, in a few words.
    pub agreement: String,
}

/// What a sample submission looks like.
#[derive(Debug)]
pub struct Sample {
    table: Table,
}

impl Sample {
    /// From the sample's table.
    pub fn new(table: Table) -> Sample {
        Sample { table }
    }
}

/// How well a file agrees with the sample, the best last.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Agreement {
    is_readable: bool,
    columns: Columns,
    has_rows: bool,
    /// Ids in common, in parts of 1,000 of all.
    shared_ids: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Columns {
    Others,
    SameId,
    More,
    OtherOrder,
    Same,
}

/// Whether a name says that the file is a submission, the clearest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Named {
    Sample,
    No,
    Partly,
    Exactly,
}

impl Agreement {
    fn of(path: &Path, sample: Option<&Sample>, max_bytes: u64) -> Agreement {
        let nothing =
            Agreement { is_readable: false, columns: Columns::Others, has_rows: false, shared_ids: 0 };
        let Ok(table) = Table::read(path, max_bytes) else { return nothing };
        let Some(Sample { table: sample }) = sample else {
            return Agreement { is_readable: true, ..nothing };
        };
        let (names, wanted) = (table.names(), sample.names());
        let all = wanted.iter().all(|name| names.contains(name));
        let columns = match (names == wanted, all && names.len() == wanted.len(), all) {
            (true, ..) => Columns::Same,
            (_, true, _) => Columns::OtherOrder,
            (_, _, true) => Columns::More,
            _ if names.contains(&wanted[0]) => Columns::SameId,
            _ => Columns::Others,
        };
        let shared_ids = match (table.column(&wanted[0]), sample.column(&wanted[0])) {
            (Some(ours), Some(theirs)) => shared(&KeyColumn::new(ours), &KeyColumn::new(theirs)),
            _ => 0,
        };
        Agreement { is_readable: true, columns, has_rows: table.rows() == sample.rows(), shared_ids }
    }

    fn describe(&self, has_sample: bool) -> String {
        if !self.is_readable {
            return "no table".to_owned();
        }
        if !has_sample {
            return "a table; there is no sample to compare with".to_owned();
        }
        let columns = match self.columns {
            Columns::Same => "the sample's columns",
            Columns::OtherOrder => "the sample's columns in another order",
            Columns::More => "the sample's columns and more",
            Columns::SameId => "the sample's id column",
            Columns::Others => "other columns",
        };
        let rows = if self.has_rows { "as many rows" } else { "another number of rows" };
        let ids = match self.shared_ids {
            1000 => "the same ids".to_owned(),
            0 => "no id in common".to_owned(),
            parts => format!("{:.1} % of the ids in common", f64::from(parts) / 10.0),
        };
        format!("{columns}, {rows}, {ids}")
    }
}

fn shared(ours: &KeyColumn<'_>, theirs: &KeyColumn<'_>) -> u16 {
    let ours: HashSet<Key<'_>> = (0..ours.len()).filter_map(|row| ours.get(row)).collect();
    let theirs: HashSet<Key<'_>> = (0..theirs.len()).filter_map(|row| theirs.get(row)).collect();
    match ours.union(&theirs).count() {
        0 => 0,
        // At most 1,000.
        all => (1000 * ours.intersection(&theirs).count() / all) as u16,
    }
}

fn named(path: &Path) -> Named {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    if name.contains("sample") {
        Named::Sample
    } else if name == "submission.csv" {
        Named::Exactly
    } else if name.contains("submi") || name.starts_with("sub") {
        Named::Partly
    } else {
        Named::No
    }
}

/// Chooses among the `.csv` files under a folder: by agreement with the sample, then by name, then the newest,
/// then by path. `None` if there are none.
pub fn choose(folder: &Path, sample: Option<&Sample>, max_bytes: u64) -> Option<(PathBuf, Chosen)> {
    let files = WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok).filter(|entry| {
        let is_csv = entry.path().extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        entry.file_type().is_file() && is_csv
    });
    let mut ranked: Vec<_> = files
        .map(|entry| {
            let time = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
            let time = time.unwrap_or(SystemTime::UNIX_EPOCH);
            let path = entry.into_path();
            let relative = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            (Agreement::of(&path, sample, max_bytes), named(&path), time, Reverse(relative), path)
        })
        .collect();
    ranked.sort_by(|left, right| right.cmp(left));
    let (first, rest) = ranked.split_first()?;
    let why = match rest.first() {
        None => "it is the only .csv file there".to_owned(),
        Some(second) if first.0 != second.0 => {
            format!("it agrees best with the sample submission: {}", first.0.describe(sample.is_some()))
        }
        Some(second) if first.1 != second.1 => "of those that agree best, its name says so".to_owned(),
        Some(second) if first.2 != second.2 => "of those that agree best, it is the newest".to_owned(),
        Some(_) => "of those that agree best, its path comes first".to_owned(),
    };
    let candidates = ranked.iter().map(|(agreement, _, _, Reverse(path), _)| Candidate {
        path: path.clone(),
        agreement: agreement.describe(sample.is_some()),
    });
    Some((first.4.clone(), Chosen { why, candidates: candidates.collect() }))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::Duration;

    use super::*;
    use crate::table::DEFAULT_MAX_BYTES;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        for (age, (name, text)) in files.iter().enumerate() {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            File::open(&path).unwrap().set_modified(now - Duration::from_secs(age as u64)).unwrap();
        }
        folder
    }

    fn sample() -> Sample {
        Sample::new(Table::parse(b"id,y\n1,0\n2,0\n".to_vec()).unwrap())
    }

    fn chosen(files: &[(&str, &str)], sample: Option<&Sample>) -> (String, String) {
        let folder = folder(files);
        let (_, chosen) = choose(folder.path(), sample, DEFAULT_MAX_BYTES).unwrap();
        (chosen.candidates[0].path.clone(), chosen.why)
    }

    #[test]
    fn agreement_comes_before_name_and_name_before_time() {
        let features = ("submission.csv", "id,x,z\n1,0,0\n2,0,0\n");
        let right = ("out/result.csv", "id,y\n2,0.5\n1,0.25\n");
        assert_eq!(chosen(&[features, right], Some(&sample())).0, "out/result.csv");
        let (path, why) = chosen(&[right, ("submission.csv", "id,y\n1,0\n2,1\n")], Some(&sample()));
        assert_eq!(
            (path.as_str(), why.as_str()),
            ("submission.csv", "of those that agree best, its name says so")
        );
        let (path, why) =
            chosen(&[("b.csv", "id,y\n1,0\n2,1\n"), ("a.csv", "id,y\n1,0\n2,0\n")], Some(&sample()));
        assert_eq!((path.as_str(), why.as_str()), ("b.csv", "of those that agree best, it is the newest"));
    }

    #[test]
    fn rows_and_ids_count() {
        let out_of_fold = ("oof.csv", "id,y\n7,0\n8,0\n");
        let partial = ("submission.csv", "id,y\n1,0\n");
        let right = ("preds.csv", "id,y\n1,0\n2,0\n");
        assert_eq!(chosen(&[out_of_fold, partial, right], Some(&sample())).0, "preds.csv");
    }

    #[test]
    fn without_a_sample_the_name_decides() {
        let files = [
            ("train_features.csv", "a\n1\n"),
            ("my_submission.csv", "a\n1\n"),
            ("sample_submission.csv", "a\n1\n"),
        ];
        assert_eq!(chosen(&files, None).0, "my_submission.csv");
    }

    #[test]
    fn the_same_choice_every_time() {
        let files =
            [("c.csv", "id,y\n1,0\n2,0\n"), ("a.csv", "id,y\n1,0\n2,0\n"), ("b/x.csv", "id,y\n1,1\n2,0\n")];
        let folder = folder(&files);
        let together = SystemTime::now();
        for (name, _) in files {
            File::open(folder.path().join(name)).unwrap().set_modified(together).unwrap();
        }
        let choices: HashSet<PathBuf> =
            (0..100).map(|_| choose(folder.path(), Some(&sample()), DEFAULT_MAX_BYTES).unwrap().0).collect();
        assert_eq!(choices, HashSet::from([folder.path().join("a.csv")]));
    }

    #[test]
    fn folders_without_tables() {
        let folder = folder(&[("readme.txt", "x")]);
        assert!(choose(folder.path(), None, DEFAULT_MAX_BYTES).is_none());
    }
}
