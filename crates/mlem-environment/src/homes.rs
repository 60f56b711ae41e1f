//! Choosing among the places that offer a name.

use std::collections::BTreeMap;

use serde::Serialize;

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
    let top = near.map(|near| near.split('.').next().unwrap_or(near));
    let mut best: BTreeMap<String, Entry> = BTreeMap::new();
    for entry in entries {
        // A place that was looked at and did not have it, as an old release's index could claim.
        if near.is_some_and(|near| entry.qualified == format!("{near}.{}", entry.name)) {
            continue;
        }
        match best.get(&entry.origin) {
            Some(known) if cost(known) <= cost(&entry) => {}
            _ => drop(best.insert(entry.origin.clone(), entry)),
        }
    }
    let same = |entry: &Entry| top.is_some_and(|top| top_of(&entry.qualified) == top);
    let mut places: Vec<Entry> = best.into_values().collect();
    places.sort_by(|one, other| {
        let order = |entry: &Entry| (!same(entry), entry.distribution == PYTHON, distance(entry, near));
        order(one).cmp(&order(other)).then_with(|| cost(one).cmp(&cost(other)))
    });
    let in_library = places.iter().filter(|entry| same(entry)).count();
    let total = places.len();
    let first = places.first().map(|entry| (same(entry), depth(entry)));
    let second = places.get(1).map(|entry| (same(entry), depth(entry)));
    let of_first = match (first, second) {
        (Some((true, _)), _) if in_library == 1 => Confidence::Only,
        (Some(_), None) => Confidence::Likely,
        // Offered nearer to the library's root than any other: what its makers show first.
        (Some((is_same, first)), Some((other_same, second))) if is_same != other_same || first < second => Confidence::Likely,
        _ => Confidence::Ambiguous,
    };
    // Without a library to look in, nothing makes one place better than another.
    let of_first = if top.is_none() && total > 1 { Confidence::Ambiguous } else { of_first };
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
        rank(entries, near).into_iter().map(|home| format!("{} {:?}", home.qualified, home.confidence)).collect()
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
}
