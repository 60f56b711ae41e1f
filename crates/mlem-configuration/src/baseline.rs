//! Findings that a project has accepted, so that only new ones count.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::settings::{Settings, whole};

/// The format of the file.
const SCHEMA: u32 = 1;

/// What makes a finding the same after lines and cells have moved: the file, the rule and the text of the line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Path relative to the folder of the baseline, with `/`.
    pub path: String,
    /// The rule's id.
    pub rule: String,
    /// The line where the finding begins, each stretch of white space as one space.
    pub code: String,
}

/// Accepted findings, counted.
#[derive(Debug)]
pub struct Baseline {
    folder: PathBuf,
    counts: BTreeMap<Fingerprint, usize>,
}

/// Why a baseline could not be read.
#[derive(Debug, Error)]
#[error("{file}: {reason}; `mlem check --write-baseline {file} PATH…` makes a new one")]
pub struct BaselineError {
    file: String,
    reason: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: u32,
    findings: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    fingerprint: Fingerprint,
    count: usize,
}

impl Baseline {
    /// An empty baseline that is to be written to `file`.
    pub fn new(file: &Path) -> Baseline {
        let folder = whole(file).parent().unwrap_or(Path::new("/")).to_owned();
        Baseline { folder, counts: BTreeMap::new() }
    }

    /// Reads a baseline.
    ///
    /// # Errors
    /// [`BaselineError`] when the file is not there or is no baseline.
    pub fn read(file: &Path) -> Result<Baseline, BaselineError> {
        let error = |reason: String| BaselineError { file: file.display().to_string(), reason };
        let text = std::fs::read_to_string(file).map_err(|reason| match reason.kind() {
            std::io::ErrorKind::NotFound => error("no such file".to_owned()),
            _ => error(reason.to_string()),
        })?;
        let read: File =
            serde_json::from_str(&text).map_err(|reason| error(format!("is no baseline: {reason}")))?;
        if read.schema != SCHEMA {
            return Err(error(format!("has schema {}; {SCHEMA} is known", read.schema)));
        }
        let mut baseline = Baseline::new(file);
        for entry in read.findings {
            *baseline.counts.entry(entry.fingerprint).or_default() += entry.count;
        }
        Ok(baseline)
    }

    /// The fingerprint of a finding in `path` that begins on a line with the text `code`.
    pub fn fingerprint(&self, path: &Path, rule: &str, code: &str) -> Fingerprint {
        Fingerprint {
            path: self.relative(path),
            rule: rule.to_owned(),
            code: code.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }

    fn relative(&self, path: &Path) -> String {
        let whole = whole(path);
        // A file elsewhere than below the baseline is named in full.
        whole.strip_prefix(&self.folder).unwrap_or(&whole).to_string_lossy().replace('\\', "/")
    }

    /// Accepts one more finding.
    pub fn add(&mut self, fingerprint: Fingerprint) {
        *self.counts.entry(fingerprint).or_default() += 1;
    }

    /// Whether a finding is accepted; each entry accepts as many as it counts.
    pub fn accepts(&mut self, fingerprint: &Fingerprint) -> bool {
        match self.counts.get_mut(fingerprint) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }

    /// What is accepted and was not found in the files that were checked for it, nor can be in files that are gone.
    pub fn stale(&self, checked: &[(&Path, &Settings)]) -> Vec<(&Fingerprint, usize)> {
        let checked: BTreeMap<String, (&Path, &Settings)> =
            checked.iter().map(|(path, settings)| (self.relative(path), (*path, *settings))).collect();
        let is_stale = |fingerprint: &Fingerprint| match checked.get(&fingerprint.path) {
            Some((path, settings)) => settings.selection(path).wants(&fingerprint.rule),
            None => !self.folder.join(&fingerprint.path).exists(),
        };
        let left = self.counts.iter().filter(|(fingerprint, count)| **count > 0 && is_stale(fingerprint));
        left.map(|(fingerprint, count)| (fingerprint, *count)).collect()
    }

    /// The text of the file.
    pub fn to_text(&self) -> String {
        let entries = self
            .counts
            .iter()
            .map(|(fingerprint, count)| Entry { fingerprint: fingerprint.clone(), count: *count });
        let file = File { schema: SCHEMA, findings: entries.collect() };
        // Texts and numbers always serialise.
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use mlem_rules::Pins;

    use super::*;

    fn settings() -> Settings {
        Settings::of_target(Pins { python: (3, 13), packages: BTreeMap::new() })
    }

    #[test]
    fn findings_are_known_again_as_often_as_they_were_accepted() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("accepted.json");
        let notebook = place.path().join("a.ipynb");
        std::fs::write(&notebook, "").unwrap();
        let mut written = Baseline::new(&file);
        for _ in 0..2 {
            written.add(written.fingerprint(&notebook, "PD001", "  df =  df.append(x)"));
        }
        std::fs::write(&file, written.to_text()).unwrap();
        let mut read = Baseline::read(&file).unwrap();
        let known = read.fingerprint(&notebook, "PD001", "df = df.append(x)\r");
        assert_eq!(known.path, "a.ipynb");
        assert!(!read.accepts(&read.fingerprint(&notebook, "PD002", "df = df.append(x)")));
        assert!(read.accepts(&known));
        assert_eq!(
            read.stale(&[(&notebook, &settings())]).iter().map(|(_, count)| *count).collect::<Vec<_>>(),
            [1]
        );
        assert!(read.accepts(&known));
        assert!(!read.accepts(&known), "a third is new");
        assert!(read.stale(&[(&notebook, &settings())]).is_empty());
    }

    #[test]
    fn entries_of_files_that_were_not_checked_are_not_stale_unless_the_file_is_gone() {
        let place = tempfile::tempdir().unwrap();
        let mut baseline = Baseline::new(&place.path().join("accepted.json"));
        for name in ["there.ipynb", "gone.ipynb"] {
            baseline.add(baseline.fingerprint(&place.path().join(name), "PD001", "x"));
        }
        std::fs::write(place.path().join("there.ipynb"), "").unwrap();
        let stale: Vec<&str> = baseline.stale(&[]).iter().map(|(entry, _)| entry.path.as_str()).collect();
        assert_eq!(stale, ["gone.ipynb"]);
    }

    #[test]
    fn what_is_no_baseline_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let said = |text: &str| {
            let file = place.path().join("x.json");
            std::fs::write(&file, text).unwrap();
            Baseline::read(&file).expect_err("should be refused").to_string()
        };
        assert!(said("[]").contains("x.json: is no baseline: "));
        assert!(said("{\"schema\": 2, \"findings\": []}").contains("has schema 2; 1 is known"));
        let gone = Baseline::read(&place.path().join("y.json")).expect_err("not there").to_string();
        assert!(gone.contains("y.json: no such file; `mlem check --write-baseline"), "{gone}");
    }
}
