//! The table of harmless changes of representation, `reprs.toml`.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

const TABLE: &str = include_str!("../../reprs.toml");

/// One replacement.
pub(super) struct Repr {
    pub(super) pattern: Regex,
    pub(super) replace: String,
    pub(super) repeat: bool,
}

/// Output that no two runs share.
pub(super) struct Unrepeatable {
    pub(super) reason: String,
    /// Words of the code that ask for it.
    pub(super) code: Vec<String>,
    pub(super) pattern: Regex,
}

/// The table, ready to use.
pub(super) struct Reprs {
    pub(super) replacements: Vec<Repr>,
    pub(super) unrepeatable: Vec<Unrepeatable>,
    pub(super) estimators: HashSet<String>,
    /// Quoted parameter values that stand for a default not yet decided.
    pub(super) undecided: Vec<String>,
    /// Old value of a parameter and its present name.
    pub(super) values: Vec<(String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    repr: Vec<Entry>,
    unrepeatable: Vec<Masked>,
    estimators: Estimators,
    #[serde(rename = "parameter-value")]
    values: Vec<Value>,
}

/// `name` and `source` are for the reader of the table, `then` and `now` for its test.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), allow(dead_code))]
struct Entry {
    name: String,
    pattern: String,
    replace: String,
    #[serde(default)]
    repeat: bool,
    then: String,
    now: String,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the source is for the reader of the table")]
struct Masked {
    reason: String,
    code: Vec<String>,
    pattern: String,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the source is for the reader of the table")]
struct Estimators {
    source: String,
    undecided: Vec<String>,
    classes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the source is for the reader of the table")]
struct Value {
    then: Vec<String>,
    now: String,
    source: String,
}

static REPRS: LazyLock<Reprs> = LazyLock::new(|| {
    // The table is compiled in and read by the tests below: a fault in it cannot reach a user.
    #[allow(clippy::unwrap_used)]
    let file: File = toml::from_str(TABLE).unwrap();
    #[allow(clippy::unwrap_used)]
    let replacements = file
        .repr
        .into_iter()
        .map(|entry| Repr {
            pattern: Regex::new(&entry.pattern).unwrap(),
            replace: entry.replace,
            repeat: entry.repeat,
        })
        .collect();
    #[allow(clippy::unwrap_used)]
    let unrepeatable = file
        .unrepeatable
        .into_iter()
        .map(|entry| Unrepeatable {
            reason: entry.reason,
            code: entry.code,
            pattern: Regex::new(&entry.pattern).unwrap(),
        })
        .collect();
    let values = file
        .values
        .into_iter()
        .flat_map(|value| {
            let now = value.now;
            value.then.into_iter().map(move |then| (then, now.clone()))
        })
        .collect();
    Reprs {
        replacements,
        unrepeatable,
        estimators: file.estimators.classes.into_iter().collect(),
        undecided: file.estimators.undecided,
        values,
    }
});

pub(super) fn reprs() -> &'static Reprs {
    &REPRS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::normalise;
    use crate::outputs::tokens::tokens;

    #[test]
    fn every_entry_makes_its_two_sides_equal() {
        let file: File = toml::from_str(TABLE).unwrap();
        let mut names = HashSet::new();
        let mut wrong = Vec::new();
        for entry in file.repr {
            assert!(names.insert(entry.name.clone()), "{} is there twice", entry.name);
            assert!(!entry.source.is_empty());
            let pattern = Regex::new(&entry.pattern).unwrap();
            let words = |text: &str| -> Vec<String> {
                let normal = normalise::text(text);
                tokens(&normal).iter().map(|t| t.text.to_owned()).collect()
            };
            if words(&entry.then) != words(&entry.now) {
                wrong.push(format!("{}: {:?} and {:?}", entry.name, words(&entry.then), words(&entry.now)));
            }
            // On its own it may need an earlier entry; then its pattern must match what those leave.
            let matches = [&entry.then, &entry.now].into_iter().any(|text| {
                pattern.is_match(text) || pattern.is_match(&normalise::before(&entry.name, TABLE, text))
            });
            if !matches {
                wrong.push(format!("{}: the pattern matches neither side", entry.name));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
