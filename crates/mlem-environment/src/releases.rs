//! The newest releases, as shipped: what code is judged against when no interpreter is given.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::LazyLock;

use pep440_rs::Version;
use serde::Deserialize;

/// Newest versions of the distributions that rules know, and of Python.
#[derive(Debug)]
pub struct Releases {
    date: String,
    python: (u8, u8),
    versions: BTreeMap<String, Version>,
}

#[derive(Deserialize)]
struct Table {
    date: String,
    python: String,
    releases: BTreeMap<String, Row>,
}

#[derive(Deserialize)]
struct Row {
    version: String,
}

impl Releases {
    /// The day on which the table was read from the package index, `YYYY-MM-DD`.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// The CPython that counts as newest.
    pub fn python(&self) -> (u8, u8) {
        self.python
    }

    /// The newest version of a distribution, by its normalised name.
    pub fn version_of(&self, distribution: &str) -> Option<&Version> {
        self.versions.get(distribution)
    }

    /// All rows in alphabetical order: normalised name and version.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Version)> {
        self.versions.iter().map(|(name, version)| (name.as_str(), version))
    }
}

/// The shipped table.
pub fn newest_releases() -> &'static Releases {
    static SHIPPED: LazyLock<Releases> = LazyLock::new(|| {
        // The table is part of the program; a test reads every row of it.
        let table: Table =
            toml::from_str(include_str!("../data/releases.toml")).expect("releases.toml is valid");
        let (major, minor) = table.python.split_once('.').expect("python = \"major.minor\"");
        let versions = table
            .releases
            .into_iter()
            .map(|(name, row)| (name, Version::from_str(&row.version).expect("a version of PEP 440")))
            .collect();
        Releases {
            date: table.date,
            python: (major.parse().expect("a number"), minor.parse().expect("a number")),
            versions,
        }
    });
    &SHIPPED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Distribution;

    #[test]
    fn every_row_is_a_normalised_name_with_a_final_release() {
        let releases = newest_releases();
        assert!(releases.python() >= (3, 13));
        assert!(releases.iter().count() > 60);
        for (name, version) in releases.iter() {
            assert_eq!(Distribution::new(name).as_str(), name);
            assert!(!version.any_prerelease(), "{name} {version}");
        }
        assert!(releases.version_of("numpy").is_some_and(|version| *version >= Version::new([2, 0])));
        assert!(releases.version_of("no-such-thing").is_none());
    }
}
