//! When the feature releases of libraries came out, and which Pythons they run on.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::LazyLock;

use pep440_rs::{Version, VersionSpecifiers};
use serde::Deserialize;

use crate::date::Date;

/// The feature releases of some libraries and of CPython.
#[derive(Debug)]
pub struct History {
    cpython: BTreeMap<(u8, u8), Date>,
    libraries: BTreeMap<String, Library>,
}

/// One library's feature releases, oldest first.
#[derive(Debug)]
pub struct Library {
    releases: Vec<Release>,
    /// The first version with a binary wheel for a CPython.
    wheels: BTreeMap<(u8, u8), Version>,
}

/// The first release of a series (`1.4` for 1.4.0).
#[derive(Debug)]
pub struct Release {
    /// Its first two numbers.
    pub version: Version,
    /// The day on which it was uploaded.
    pub date: Date,
    python: Option<VersionSpecifiers>,
}

#[derive(Deserialize)]
struct Table {
    cpython: BTreeMap<String, Date>,
    libraries: BTreeMap<String, RawLibrary>,
}

#[derive(Deserialize)]
struct RawLibrary {
    releases: Vec<RawRelease>,
    #[serde(default)]
    wheels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct RawRelease {
    version: String,
    date: Date,
    python: Option<String>,
}

impl History {
    /// The day on which a CPython came out.
    pub fn cpython(&self, minor: (u8, u8)) -> Option<Date> {
        self.cpython.get(&minor).copied()
    }

    /// A library by its normalised name.
    pub fn library(&self, distribution: &str) -> Option<&Library> {
        self.libraries.get(distribution)
    }

    /// All libraries in alphabetical order.
    pub fn libraries(&self) -> impl Iterator<Item = (&str, &Library)> {
        self.libraries.iter().map(|(name, library)| (name.as_str(), library))
    }
}

impl Library {
    /// The oldest release from which on all came out after a day.
    pub fn first_after(&self, day: Date) -> Option<&Release> {
        first_of_tail(&self.releases, |release| release.date > day)
    }

    /// The series after the one that a version belongs to.
    pub fn after(&self, version: &Version) -> Option<&Release> {
        self.releases.iter().find(|release| release.version > *version)
    }

    /// The oldest release from which on none runs on a CPython.
    pub fn first_without(&self, python: &Version) -> Option<&Release> {
        let refuses =
            |release: &Release| release.python.as_ref().is_some_and(|python_is| !python_is.contains(python));
        first_of_tail(&self.releases, refuses)
    }

    /// The first version with a binary wheel for a CPython, where wheels say for which they are.
    pub fn first_wheel(&self, python: (u8, u8)) -> Option<&Version> {
        self.wheels.get(&python)
    }
}

fn first_of_tail(releases: &[Release], holds: impl Fn(&Release) -> bool) -> Option<&Release> {
    releases.iter().rev().take_while(|release| holds(release)).last()
}

/// The shipped table.
pub fn release_history() -> &'static History {
    static SHIPPED: LazyLock<History> = LazyLock::new(|| {
        // The table is part of the program; a test reads every row of it.
        let table: Table =
            toml::from_str(include_str!("../data/history.toml")).expect("history.toml is valid");
        let minor = |text: &str| {
            let (major, minor) = text.split_once('.').expect("major.minor");
            (major.parse().expect("a number"), minor.parse().expect("a number"))
        };
        let version = |text: &str| Version::from_str(text).expect("a version of PEP 440");
        let library = |raw: RawLibrary| Library {
            releases: raw
                .releases
                .into_iter()
                .map(|raw| Release {
                    version: version(&raw.version),
                    date: raw.date,
                    python: raw.python.map(|text| VersionSpecifiers::from_str(&text).expect("specifiers")),
                })
                .collect(),
            wheels: raw.wheels.iter().map(|(python, first)| (minor(python), version(first))).collect(),
        };
        History {
            cpython: table.cpython.iter().map(|(python, date)| (minor(python), *date)).collect(),
            libraries: table.libraries.into_iter().map(|(name, raw)| (name, library(raw))).collect(),
        }
    });
    &SHIPPED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Distribution;

    #[test]
    fn every_row_is_in_order_and_final() {
        for (name, library) in release_history().libraries() {
            assert_eq!(Distribution::new(name).as_str(), name);
            assert!(!library.releases.is_empty(), "{name}");
            for pair in library.releases.windows(2) {
                assert!(pair[0].version < pair[1].version, "{name} {}", pair[1].version);
            }
            assert!(library.releases.iter().all(|release| !release.version.any_prerelease()), "{name}");
        }
        assert!(release_history().cpython((3, 6)) < release_history().cpython((3, 7)));
    }

    #[test]
    fn days_and_pythons_bound_versions() {
        let library = release_history().library("scikit-learn").expect("a row");
        let version = |release: Option<&Release>| release.map(|release| release.version.to_string());
        let day: Date = "2019-06-30".parse().expect("a day");
        assert_eq!(version(library.first_after(day)).as_deref(), Some("0.22"));
        let python = |text: &str| Version::from_str(text).expect("a version");
        assert_eq!(version(library.first_without(&python("2.7.15"))).as_deref(), Some("0.21"));
        assert_eq!(version(library.first_without(&python("3.6.5"))).as_deref(), Some("1.0"));
        assert_eq!(version(library.first_without(&python("3.13.0"))), None);
        assert_eq!(library.first_wheel((3, 6)).map(ToString::to_string).as_deref(), Some("0.18.1"));
    }
}
