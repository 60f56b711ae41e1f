//! The time of a notebook: bounds on the versions it ran with and on the day it was written, each with its evidence.
//!
//! Only what follows for certain bounds a version: a release cannot be used before it came out, nor by a Python that it
//! does not run on. Clues that contradict each other leave a library without bounds.

use std::collections::BTreeMap;

use pep440_rs::{Operator, Version, VersionSpecifiers};
use serde::Serialize;

use crate::date::Date;
use crate::history::{History, release_history};

/// Something that a notebook tells about its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clue {
    /// What it says.
    pub says: Says,
    /// Where it was seen, for a person: "cell 3 imports sklearn.cross_validation, gone since scikit-learn 0.20".
    pub evidence: String,
}

/// What a clue says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// Versions of a distribution (normalised name) that PEP 440 specifiers allow.
    Versions(String, VersionSpecifiers),
    /// A version of a distribution that is at least the first and below the second.
    Between(String, Option<Version>, Option<Version>),
    /// The CPython that ran it: as many of its numbers as are known.
    Python(Version),
    /// It was last run on this day or before.
    AsOf(Date),
}

/// A bound of an interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bound<T> {
    /// Where the interval ends.
    pub at: T,
    /// Whether it ends behind `at` (`<=`, `>=`) rather than before it.
    pub inclusive: bool,
    /// What says so.
    pub evidence: String,
}

/// An interval; what is not known has no bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interval<T> {
    /// Where it begins.
    pub from: Option<Bound<T>>,
    /// Where it ends.
    pub to: Option<Bound<T>>,
}

impl<T> Default for Interval<T> {
    fn default() -> Self {
        Self { from: None, to: None }
    }
}

impl<T: Ord + Clone> Interval<T> {
    fn not_before(&mut self, at: &T, evidence: &str) {
        if self.from.as_ref().is_none_or(|bound| bound.at < *at) {
            self.from = Some(Bound { at: at.clone(), inclusive: true, evidence: evidence.to_owned() });
        }
    }

    fn not_after(&mut self, at: &T, inclusive: bool, evidence: &str) {
        let is_tighter = self
            .to
            .as_ref()
            .is_none_or(|bound| *at < bound.at || *at == bound.at && bound.inclusive && !inclusive);
        if is_tighter {
            self.to = Some(Bound { at: at.clone(), inclusive, evidence: evidence.to_owned() });
        }
    }

    fn is_empty(&self) -> bool {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => from.at > to.at || from.at == to.at && !to.inclusive,
            _ => false,
        }
    }
}

/// What is known of a notebook's time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Age {
    versions: BTreeMap<String, Interval<Version>>,
    day: Interval<Date>,
    conflicts: Vec<String>,
}

impl Age {
    /// What clues say together, with the shipped table of releases.
    pub fn of(clues: &[Clue]) -> Self {
        Self::by(release_history(), clues)
    }

    fn by(history: &History, clues: &[Clue]) -> Self {
        let mut age = Self::default();
        for Clue { says, evidence } in clues {
            match says {
                Says::Versions(distribution, specifiers) => {
                    let interval = age.versions.entry(distribution.clone()).or_default();
                    specifiers.iter().for_each(|it| narrow(interval, it.operator(), it.version(), evidence));
                }
                Says::Between(distribution, from, below) => {
                    let interval = age.versions.entry(distribution.clone()).or_default();
                    if let Some(from) = from {
                        interval.not_before(from, evidence);
                    }
                    if let Some(below) = below {
                        interval.not_after(below, false, evidence);
                    }
                }
                Says::Python(version) => age.ran_on(history, version, evidence),
                Says::AsOf(day) => {
                    age.day.not_after(day, true, evidence);
                    for (name, library) in history.libraries() {
                        if let Some(release) = library.first_after(*day) {
                            let evidence = format!(
                                "{evidence}; {name} {} came out on {}",
                                release.version, release.date
                            );
                            let interval = age.versions.entry(name.to_owned()).or_default();
                            interval.not_after(&release.version, false, &evidence);
                        }
                    }
                }
            }
        }
        age.settle();
        age
    }

    /// What a CPython says about the versions of libraries.
    fn ran_on(&mut self, history: &History, version: &Version, evidence: &str) {
        let Some(minor) = minor_of(version) else { return };
        // Any of its releases, where it is not known which: the last one runs what any of them runs.
        let last = Version::new([u64::from(minor.0), u64::from(minor.1), 99]);
        let version = if version.release().len() > 2 { version } else { &last };
        if let Some(day) = history.cpython(minor) {
            let evidence = format!("{evidence}, and CPython {}.{} came out on {day}", minor.0, minor.1);
            self.day.not_before(&day, &evidence);
        }
        for (name, library) in history.libraries() {
            let interval = self.versions.entry(name.to_owned()).or_default();
            if let Some(release) = library.first_without(version) {
                let evidence = format!("{evidence}, which {name} {} does not run on", release.version);
                interval.not_after(&release.version, false, &evidence);
            }
            if let Some(first) = library.first_wheel(minor) {
                let python = format!("CPython {}.{}", minor.0, minor.1);
                interval
                    .not_before(first, &format!("{evidence}, and {name} {first} is the first for {python}"));
            }
        }
    }

    /// Takes back what contradicts itself.
    fn settle(&mut self) {
        if self.day.is_empty() {
            self.conflicts.push(contradiction("the day", &self.day));
            self.day = Interval::default();
            // Nothing that follows from either of the two can be trusted.
            self.versions.clear();
        }
        let contradicting: Vec<String> = self
            .versions
            .iter()
            .filter(|(_, interval)| interval.is_empty())
            .map(|(name, _)| name.clone())
            .collect();
        for name in contradicting {
            if let Some(interval) = self.versions.remove(&name) {
                self.conflicts.push(contradiction(&format!("the version of {name}"), &interval));
            }
        }
        self.versions.retain(|_, interval| interval.from.is_some() || interval.to.is_some());
    }

    /// The versions that a distribution can have had.
    pub fn versions(&self, distribution: &str) -> Option<&Interval<Version>> {
        self.versions.get(distribution)
    }

    /// All that is known of versions, in alphabetical order.
    pub fn all_versions(&self) -> impl Iterator<Item = (&str, &Interval<Version>)> {
        self.versions.iter().map(|(name, interval)| (name.as_str(), interval))
    }

    /// The days on which it can have been written.
    pub fn day(&self) -> &Interval<Date> {
        &self.day
    }

    /// Clues that contradict each other, in words.
    pub fn conflicts(&self) -> &[String] {
        &self.conflicts
    }

    /// What proves that a version of the distribution was at least `from` and below `before`, in words.
    pub fn proves(&self, distribution: &str, from: Option<&Version>, before: &Version) -> Option<String> {
        let interval = self.versions.get(distribution)?;
        let to = interval.to.as_ref()?;
        if to.at > *before || to.at == *before && to.inclusive {
            return None;
        }
        let Some(from) = from else { return Some(to.evidence.clone()) };
        let lower = interval.from.as_ref().filter(|bound| bound.at >= *from)?;
        Some(if lower.evidence == to.evidence {
            to.evidence.clone()
        } else {
            format!("{}; {}", to.evidence, lower.evidence)
        })
    }
}

fn narrow(interval: &mut Interval<Version>, operator: &Operator, version: &Version, evidence: &str) {
    match operator {
        Operator::Equal | Operator::ExactEqual => {
            interval.not_before(version, evidence);
            interval.not_after(version, true, evidence);
        }
        Operator::EqualStar => {
            interval.not_before(version, evidence);
            interval.not_after(&next(version.release()), false, evidence);
        }
        Operator::TildeEqual => {
            interval.not_before(version, evidence);
            let release = version.release();
            interval.not_after(&next(&release[..release.len().saturating_sub(1)]), false, evidence);
        }
        Operator::LessThan => interval.not_after(version, false, evidence),
        Operator::LessThanEqual => interval.not_after(version, true, evidence),
        Operator::GreaterThan | Operator::GreaterThanEqual => interval.not_before(version, evidence),
        Operator::NotEqual | Operator::NotEqualStar => {}
    }
}

/// The first version behind all that begin with these numbers.
fn next(release: &[u64]) -> Version {
    let mut numbers = release.to_vec();
    if let Some(last) = numbers.last_mut() {
        *last += 1;
    }
    Version::new(numbers)
}

fn minor_of(version: &Version) -> Option<(u8, u8)> {
    match version.release() {
        [major, minor, ..] => Some((u8::try_from(*major).ok()?, u8::try_from(*minor).ok()?)),
        _ => None,
    }
}

fn contradiction<T: std::fmt::Display>(of: &str, interval: &Interval<T>) -> String {
    let bound = |bound: &Option<Bound<T>>| {
        bound.as_ref().map_or(String::new(), |bound| format!("{} ({})", bound.at, bound.evidence))
    };
    format!("{of} is not known: at least {} and before {}", bound(&interval.from), bound(&interval.to))
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn version(text: &str) -> Version {
        Version::from_str(text).expect("a version")
    }

    fn clue(says: Says) -> Clue {
        Clue { says, evidence: "seen".to_owned() }
    }

    fn stated(specifiers: &str) -> Clue {
        let specifiers = VersionSpecifiers::from_str(specifiers).expect("specifiers");
        clue(Says::Versions("scikit-learn".to_owned(), specifiers))
    }

    fn below(text: &str) -> Clue {
        clue(Says::Between("scikit-learn".to_owned(), None, Some(version(text))))
    }

    fn proves(clues: &[Clue], from: Option<&str>, before: &str) -> bool {
        let from = from.map(version);
        Age::of(clues).proves("scikit-learn", from.as_ref(), &version(before)).is_some()
    }

    #[test]
    fn only_what_follows_for_certain_is_proven() {
        assert!(!proves(&[], None, "0.22"));
        assert!(proves(&[below("0.20")], None, "0.22"));
        assert!(proves(&[below("0.22")], None, "0.22"));
        assert!(!proves(&[below("0.24")], None, "0.22"));
        assert!(!proves(&[below("0.20")], Some("0.19"), "0.22"), "nothing says that it was 0.19 or later");
        assert!(proves(&[stated("==0.20.3")], Some("0.19"), "0.22"));
        assert!(proves(&[stated("~=0.20.1")], Some("0.20"), "0.21"));
        assert!(proves(&[stated("==0.21.*")], Some("0.21"), "0.22"));
        assert!(!proves(&[stated("<=0.22")], None, "0.22"));
        assert!(!proves(&[stated(">=0.18")], None, "0.22"));
    }

    #[test]
    fn a_day_and_a_python_bound_every_library() {
        let day = clue(Says::AsOf("2019-06-30".parse().expect("a day")));
        assert!(proves(std::slice::from_ref(&day), None, "0.22"));
        assert!(!proves(&[day], None, "0.21"));
        let python = |text: &str| clue(Says::Python(version(text)));
        assert!(proves(&[python("2.7.12")], None, "0.21"));
        assert!(!proves(&[python("3.6.4")], None, "0.22"));
        assert!(proves(&[python("3.6.4")], Some("0.18"), "1.0"));
        let age = Age::of(&[python("3.6.4")]);
        let evidence = age.proves("scikit-learn", None, &version("1.2")).expect("proven");
        assert_eq!(evidence, "seen, which scikit-learn 1.0 does not run on");
        assert_eq!(age.day().from.as_ref().map(|bound| bound.at.to_string()).as_deref(), Some("2016-12-23"));
    }

    #[test]
    fn contradictions_leave_a_library_without_bounds() {
        let age = Age::of(&[below("0.18"), stated("==0.21.3")]);
        assert_eq!(age.versions("scikit-learn"), None);
        assert_eq!(age.conflicts().len(), 1);
        assert!(age.conflicts()[0].contains("scikit-learn"), "{:?}", age.conflicts());
        let early = clue(Says::AsOf("2016-01-01".parse().expect("a day")));
        let age = Age::of(&[early, clue(Says::Python(version("3.8.1"))), below("0.20")]);
        assert_eq!(age.all_versions().count(), 0);
        assert!(age.conflicts()[0].starts_with("the day"), "{:?}", age.conflicts());
    }
}
