//! The reviewed table of environments: which Python, which pins, and which of them shows a rule's old or new side.

use std::collections::BTreeMap;
use std::path::Path;

use mlem_rules::{Rule, Version};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Most environments that a rule's old form is tried in.
const MOST_OLD: usize = 20;

/// What is wrong with the table.
#[derive(Debug, Error)]
pub(crate) enum TableError {
    /// A file cannot be read.
    #[error("{0}: {1}")]
    Read(String, std::io::Error),
    /// The table is not TOML, or has other fields.
    #[error("{0}: {1}")]
    Syntax(String, toml::de::Error),
    /// A line of a lock is not `name==version`.
    #[error("{0}: line {1}: `{2}` is not `name==version`")]
    Pin(String, usize, String),
    /// `python` is not `major.minor`.
    #[error("environments.toml: {0}: python: `{1}` is not `major.minor`")]
    Python(String, String),
}

/// One environment as the table has it.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    /// Its name, which is also that of its lock file.
    pub(crate) name: String,
    /// Minor version of the interpreter.
    pub(crate) python: (u8, u8),
    /// The day its pins were last installed as a whole.
    pub(crate) checked: String,
    /// Whether it takes gigabytes.
    pub(crate) large: bool,
    /// The libraries whose rules are shown in it; nothing for all that it has.
    only: Option<Vec<String>>,
    /// Pins as written, one a line.
    pub(crate) pins: Vec<String>,
    /// Versions by normalised distribution name, `python` included.
    versions: BTreeMap<String, Version>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    environment: Vec<RawEnvironment>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEnvironment {
    name: String,
    python: String,
    checked: String,
    #[serde(default)]
    large: bool,
    only: Option<Vec<String>>,
}

impl Environment {
    /// The release of a library in it.
    pub(crate) fn version_of(&self, library: &str) -> Option<&Version> {
        self.versions.get(library)
    }

    /// Changes when the interpreter or a pin does.
    pub(crate) fn digest(&self) -> String {
        let (major, minor) = self.python;
        short_digest(&[&format!("{major}.{minor}"), &self.pins.join("\n")])
    }
}

/// The first half of a SHA-256 over texts, each ended by a zero byte.
pub(crate) fn short_digest(texts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update(text.as_bytes());
        hasher.update([0]);
    }
    let digest = hasher.finalize();
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Reads `environments.toml` and the locks beside it.
pub(crate) fn read(folder: &Path) -> Result<Vec<Environment>, TableError> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|error| TableError::Read(path.display().to_string(), error))
    };
    let path = folder.join("environments.toml");
    let table: RawTable = toml::from_str(&read(&path)?)
        .map_err(|error| TableError::Syntax(path.display().to_string(), error))?;
    let mut environments = Vec::new();
    for raw in table.environment {
        let file = folder.join("environments").join(format!("{}.txt", raw.name));
        environments.push(Environment::new(raw, &file.display().to_string(), &read(&file)?)?);
    }
    Ok(environments)
}

impl Environment {
    fn new(raw: RawEnvironment, file: &str, lock: &str) -> Result<Environment, TableError> {
        let python = raw
            .python
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
            .ok_or_else(|| TableError::Python(raw.name.clone(), raw.python.clone()))?;
        let mut versions = BTreeMap::new();
        let mut pins = Vec::new();
        for (at, line) in lock.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let pin = line.split_once("==").and_then(|(name, version)| {
                Some((name.trim().to_lowercase().replace(['_', '.'], "-"), version.trim().parse().ok()?))
            });
            let (name, version) =
                pin.ok_or_else(|| TableError::Pin(file.to_string(), at + 1, line.to_string()))?;
            // The CPU-only distribution is the same library.
            versions.insert(name.strip_suffix("-cpu").unwrap_or(&name).to_string(), version);
            pins.push(line.to_string());
        }
        versions.insert("python".to_string(), Version::new([u64::from(python.0), u64::from(python.1)]));
        Ok(Environment {
            name: raw.name,
            python,
            checked: raw.checked,
            large: raw.large,
            only: raw.only,
            pins,
            versions,
        })
    }
}

/// Where a rule is shown.
#[derive(Debug, Default)]
pub(crate) struct Stage<'a> {
    /// Environments with a release below `since`, newest release first.
    pub(crate) old: Vec<&'a Environment>,
    /// The environment with the newest release in the rule's window.
    pub(crate) new: Option<&'a Environment>,
}

/// The environments that show a rule. `environments` are in the order of the table.
pub(crate) fn stage<'a>(rule: &Rule, environments: &[&'a Environment]) -> Stage<'a> {
    let mut having: Vec<(&Version, &Environment)> = environments
        .iter()
        .filter(|environment| environment.only.as_ref().is_none_or(|only| only.contains(&rule.library)))
        .filter_map(|environment| Some((environment.version_of(&rule.library)?, *environment)))
        .collect();
    // A stable sort from the end, so that of equal releases the environment that is later in the table comes first.
    having.reverse();
    having.sort_by(|a, b| b.0.cmp(a.0));
    let new = having.iter().find(|(version, _)| {
        **version >= rule.since && rule.until.as_ref().is_none_or(|until| *version < until)
    });
    let mut old: Vec<(&Version, &Environment)> =
        having.iter().filter(|(version, _)| **version < rule.since).copied().collect();
    // Of equal releases one is enough; of equal Pythons it is not, since the libraries beside them differ.
    if rule.library != "python" {
        old.dedup_by_key(|(version, _)| *version);
    }
    old.truncate(MOST_OLD);
    Stage {
        old: old.into_iter().map(|(_, environment)| environment).collect(),
        new: new.map(|(_, environment)| *environment),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use mlem_rules::Catalogue;

    use super::*;

    fn environment(name: &str, python: &str, lock: &str) -> Environment {
        let raw = RawEnvironment {
            name: name.to_string(),
            python: python.to_string(),
            checked: "2026-12-01".to_string(),
            large: false,
            only: None,
        };
        Environment::new(raw, "lock.txt", lock).unwrap()
    }

    #[test]
    fn the_nearest_release_on_either_side_is_taken() {
        let environments = [
            environment("a", "3.6", "pandas==0.22.0"),
            environment("b", "3.7", "# comment\npandas==0.25.3\nNumPy==1.17.5"),
            environment("c", "3.7", "pandas==0.25.3"),
            environment("d", "3.9", "pandas==1.5.3"),
            environment("e", "3.13", "pandas==3.1.1"),
        ];
        let mut special = environment("f", "3.12", "pandas==3.1.1");
        special.only = Some(vec!["tensorflow".to_string()]);
        let all: Vec<&Environment> = environments.iter().chain([&special]).collect();
        let catalogue = Catalogue::shipped();
        // as_matrix, gone since 1.0.
        let stage = stage(catalogue.rule("PD002").unwrap(), &all);
        let old: Vec<&str> = stage.old.iter().map(|each| each.name.as_str()).collect();
        assert_eq!(old, ["c", "a"]);
        assert_eq!(stage.new.unwrap().name, "e");
        // SettingWithCopyWarning's old place, which a rule is about until 3.0.
        let stage = super::stage(catalogue.rule("PD075").unwrap(), &all);
        assert_eq!(stage.new.unwrap().name, "d");
    }

    #[test]
    fn a_lock_holds_exact_pins_only() {
        let raw = RawEnvironment {
            name: "a".to_string(),
            python: "3.6".to_string(),
            checked: String::new(),
            large: false,
            only: None,
        };
        let error = Environment::new(raw, "a.txt", "numpy==1.0\npandas>=0.22").unwrap_err();
        assert_eq!(error.to_string(), "a.txt: line 2: `pandas>=0.22` is not `name==version`");
    }

    #[test]
    fn a_changed_pin_changes_the_digest() {
        let one = environment("a", "3.6", "numpy==1.0");
        let other = environment("a", "3.6", "numpy==1.1");
        let newer = environment("a", "3.7", "numpy==1.0");
        assert_ne!(one.digest(), other.digest());
        assert_ne!(one.digest(), newer.digest());
    }
}
