//! Choosing among the places that offer a name.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::knowledge::Knowledge;
use crate::names::{Entry, PYTHON};

/// How sure it is that a place is the one that was meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// The only public place in the library where the name was looked for: a fix by itself.
    Only,
    /// The best of several, or the only place but in another library.
    Likely,
    /// One of several that nothing tells apart.
    Ambiguous,
}

/// A place where a name can be imported from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Home {
    /// Module and name, e.g. `sklearn.model_selection.train_test_split`.
    pub qualified: String,
    /// Where it is defined.
    pub defined: String,
    /// The distribution, by its normalised name; `python` for the standard library.
    pub distribution: String,
    /// `class`, `function`, `module` or `data`.
    pub kind: &'static str,
    /// How sure it is.
    pub confidence: Confidence,
}

impl Home {
    /// The module to import from and the name, e.g. `("sklearn.model_selection", "train_test_split")`; no module for a
    /// top-level module.
    pub fn split(&self) -> (Option<&str>, &str) {
        match self.qualified.rsplit_once('.') {
            Some((module, name)) => (Some(module), name),
            None => (None, &self.qualified),
        }
    }
}

/// Orders the places of a name: the same library first, then short public paths; one place for each definition.
pub(crate) fn rank(entries: Vec<Entry>, near: Option<&str>) -> Vec<Home> {
    let top = near.map(top_of);
    // Python 2's modules were spread over others of the standard library: `urllib2.urlopen`.
    let near_python = top.is_some_and(|top| Knowledge::shipped().standard_library(top).is_some());
    // The library itself, its family (for Python the whole standard library), everything else.
    let kinship = |entry: &Entry| match top {
        Some(top) if top_of(&entry.qualified) == top => 0,
        Some(_) if near_python && entry.distribution == PYTHON => 1,
        _ => 2,
    };
    let mut best: BTreeMap<String, Entry> = BTreeMap::new();
    for entry in entries {
        match best.get(&entry.origin) {
            Some(known) if cost(known) <= cost(&entry) => {}
            _ => drop(best.insert(entry.origin.clone(), entry)),
        }
    }
    let mut places: Vec<Entry> = best.into_values().collect();
    places.sort_by(|one, other| {
        let order = |entry: &Entry| (kinship(entry), unlikeliness(entry, near), distance(entry, near));
        order(one).cmp(&order(other)).then_with(|| cost(one).cmp(&cost(other)))
    });
    let of_first = confidence(&places, &kinship, near);
    places
        .into_iter()
        .enumerate()
        .map(|(index, entry)| Home {
            qualified: entry.qualified,
            defined: entry.origin,
            distribution: entry.distribution,
            kind: entry.kind,
            confidence: if index == 0 { of_first } else { Confidence::Ambiguous },
        })
        .collect()
}

/// How sure the first of the ordered places is.
fn confidence(places: &[Entry], kinship: &dyn Fn(&Entry) -> u8, near: Option<&str>) -> Confidence {
    let (Some(first), Some(near)) = (places.first(), near) else {
        // Without a library to look in, nothing makes one of several places better than another.
        return if places.len() == 1 { Confidence::Likely } else { Confidence::Ambiguous };
    };
    let rivals = |entry: &&Entry| {
        kinship(entry) == kinship(first) && unlikeliness(entry, Some(near)) == unlikeliness(first, Some(near))
    };
    let rivals: Vec<&Entry> = places[1..].iter().filter(rivals).collect();
    if kinship(first) < 2 {
        if rivals.is_empty() {
            return Confidence::Only;
        }
    } else if depth(first) == 0 && near.split('.').any(|part| CARRIERS.contains(&part)) {
        // A copy of another library that a library carried along: `sklearn.externals.joblib`.
        return Confidence::Only;
    }
    // Offered nearer to the library's root than any other: what its makers show first.
    if rivals.iter().all(|rival| depth(first) < depth(rival)) {
        Confidence::Likely
    } else {
        Confidence::Ambiguous
    }
}

/// Packages in which libraries carried copies of others.
const CARRIERS: &[&str] = &["externals", "extern", "external", "packages", "vendored", "_vendor", "vendor"];

/// Parts of dotted names that say: not meant for users.
const BACKSTAGE: &[&str] = &[
    "core",
    "internals",
    "internal",
    "sandbox",
    "testing",
    "legacy",
    "external",
    "private",
    "pathsec",
    "lib",
    "distutils",
];

/// Orders places of one library: what users are meant to use, what they are not, and modules that happen to be called so.
fn unlikeliness(entry: &Entry, near: Option<&str>) -> u8 {
    // Where old code looked backstage, backstage is as good as any other place.
    let parts = entry.qualified.split('.').skip(1);
    let backstage = parts.filter(|part| BACKSTAGE.contains(part)).count();
    let looked =
        near.map_or(0, |near| near.split('.').skip(1).filter(|part| BACKSTAGE.contains(part)).count());
    match entry.kind {
        "module" if depth(entry) > 0 => 2,
        _ => u8::from(backstage > looked),
    }
}

fn top_of(qualified: &str) -> &str {
    qualified.split('.').next().unwrap_or(qualified)
}

fn depth(entry: &Entry) -> usize {
    entry.qualified.matches('.').count()
}

/// Fewer dots are better, then fewer letters, then the alphabet.
fn cost(entry: &Entry) -> (usize, usize, &str) {
    (depth(entry), entry.qualified.len(), &entry.qualified)
}

/// How far a place is from the module that was looked in: parts that are not shared.
fn distance(entry: &Entry, near: Option<&str>) -> usize {
    let Some(near) = near else { return 0 };
    let mut theirs = entry.qualified.split('.');
    let shared = near.split('.').take_while(|part| theirs.next() == Some(*part)).count();
    // Only being in the same sub-package of a library counts, being deep in it does not.
    usize::from(shared < 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(qualified: &str, origin: &str) -> Entry {
        Entry {
            name: qualified.rsplit('.').next().unwrap().to_owned(),
            qualified: qualified.to_owned(),
            origin: origin.to_owned(),
            distribution: top_of(qualified).to_owned(),
            kind: "function",
        }
    }

    fn ranked(places: &[(&str, &str)], near: Option<&str>) -> Vec<String> {
        let entries = places.iter().map(|(qualified, origin)| entry(qualified, origin)).collect();
        rank(entries, near)
            .into_iter()
            .map(|home| format!("{} {:?}", home.qualified, home.confidence))
            .collect()
    }

    #[test]
    fn the_only_place_in_the_library_is_a_fix() {
        let places = [
            ("sklearn.model_selection.train_test_split", "sklearn.model_selection._split.train_test_split"),
            ("other.train_test_split", "other.a.train_test_split"),
        ];
        assert_eq!(
            ranked(&places, Some("sklearn.cross_validation")),
            ["sklearn.model_selection.train_test_split Only", "other.train_test_split Ambiguous"]
        );
    }

    #[test]
    fn several_paths_to_one_definition_are_one_place() {
        let places = [("pandas.core.reshape.concat.concat", "p.c"), ("pandas.concat", "p.c")];
        assert_eq!(ranked(&places, Some("pandas.tools.merge")), ["pandas.concat Only"]);
    }

    #[test]
    fn places_that_nothing_tells_apart_are_ambiguous() {
        let places = [("a.imread", "a.imread"), ("b.imread", "b.imread")];
        assert_eq!(ranked(&places, Some("scipy.misc")), ["a.imread Ambiguous", "b.imread Ambiguous"]);
        assert_eq!(ranked(&places[..1], Some("scipy.misc")), ["a.imread Likely"]);
        assert_eq!(ranked(&places, None)[0], "a.imread Ambiguous");
    }

    #[test]
    fn python_2_modules_look_in_the_whole_standard_library() {
        let mut entries = vec![entry("imageio.core.urlopen", "a"), entry("urllib.request.urlopen", "b")];
        entries[1].distribution = PYTHON.to_owned();
        let home = &rank(entries, Some("urllib2"))[0];
        assert_eq!((home.qualified.as_str(), home.confidence), ("urllib.request.urlopen", Confidence::Only));
    }

    #[test]
    fn carried_copies_lead_to_the_library_itself() {
        let entries =
            vec![Entry { kind: "module", ..entry("joblib", "joblib") }, entry("x.testing.joblib", "y")];
        let home = &rank(entries, Some("sklearn.externals"))[0];
        assert_eq!((home.qualified.as_str(), home.confidence), ("joblib", Confidence::Only));
    }

    #[test]
    fn modules_and_backstage_places_are_no_rivals() {
        let places =
            [("pandas.concat", "a"), ("pandas.core.internals.concat", "b"), ("pandas.core.x.concat", "c")];
        assert_eq!(ranked(&places, Some("pandas.tools.merge"))[0], "pandas.concat Only");
    }
}
