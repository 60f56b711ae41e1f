//! What stored outputs tell about the versions that made them.

use std::str::FromStr;
use std::sync::LazyLock;

use pep440_rs::Version;
use regex::Regex;
use serde::Deserialize;

use crate::age::Says;

struct Mark {
    library: String,
    output: Regex,
    unless: Option<Regex>,
    from: Option<Version>,
    below: Option<Version>,
}

#[derive(Deserialize)]
struct Table {
    mark: Vec<RawMark>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMark {
    library: String,
    output: String,
    unless: Option<String>,
    from: Option<String>,
    below: Option<String>,
    #[expect(dead_code, reason = "for those who read the table")]
    source: String,
}

/// What one output's text says, each with the text that says it; `is_written` tells whether the notebook's source
/// holds something that a pattern finds.
pub fn marks(output: &str, is_written: &dyn Fn(&Regex) -> bool) -> Vec<(Says, String)> {
    shipped()
        .iter()
        .filter_map(|mark| {
            let found = mark.output.find(output)?;
            if mark.unless.as_ref().is_some_and(is_written) {
                return None;
            }
            let says = Says::Between(mark.library.clone(), mark.from.clone(), mark.below.clone());
            Some((says, shortened(found.as_str())))
        })
        .collect()
}

/// The end of a text on one line, at most forty characters: the mark is what it ends with.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().rev().nth(39) {
        Some((at, _)) if at > 0 => format!("…{}", &line[at..]),
        _ => line,
    }
}

fn shipped() -> &'static [Mark] {
    static SHIPPED: LazyLock<Vec<Mark>> = LazyLock::new(|| {
        // The table is part of the program; a test reads every row of it.
        let table: Table = toml::from_str(include_str!("../data/marks.toml")).expect("marks.toml is valid");
        let version = |text: &String| Version::from_str(text).expect("a version of PEP 440");
        let regex = |text: &String| Regex::new(text).expect("a regular expression");
        table
            .mark
            .iter()
            .map(|raw| Mark {
                library: raw.library.clone(),
                output: regex(&raw.output),
                unless: raw.unless.as_ref().map(regex),
                from: raw.from.as_ref().map(version),
                below: raw.below.as_ref().map(version),
            })
            .collect()
    });
    &SHIPPED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(output: &str, source: &str) -> Vec<String> {
        let found = marks(output, &|regex| regex.is_match(source));
        found
            .into_iter()
            .map(|(says, text)| match says {
                Says::Between(library, from, below) => {
                    let show = |version: Option<Version>| version.map_or("-".into(), |it| it.to_string());
                    format!("{library} {} {} {text}", show(from), show(below))
                }
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn every_row_bounds_something() {
        assert!(shipped().iter().all(|mark| mark.from.is_some() || mark.below.is_some()));
    }

    #[test]
    fn estimators_print_all_their_parameters_only_in_old_versions() {
        let output =
            "RandomForestClassifier(bootstrap=True,\n            n_jobs=1, verbose=0, warm_start=False)";
        assert_eq!(
            said(output, "RandomForestClassifier()"),
            [
                "scikit-learn - 0.23 …e, n_jobs=1, verbose=0, warm_start=False",
                "scikit-learn - 0.20 …orestClassifier(bootstrap=True, n_jobs=1"
            ]
        );
        assert!(said(output, "RandomForestClassifier(warm_start=False, n_jobs=1)").is_empty());
        assert!(said("RandomForestClassifier(max_depth=3)", "").is_empty());
    }

    #[test]
    fn frames_describe_themselves_in_two_ways() {
        let old = "RangeIndex: 2 entries\nData columns (total 1 columns):\na    2 non-null int64\n";
        assert_eq!(said(old, "").len(), 1);
        let new = "Data columns (total 1 columns):\n #   Column  Non-Null Count  Dtype\n 0   a       2 non-null      int64";
        assert!(said(new, "")[0].starts_with("pandas 1.0 -"), "{:?}", said(new, ""));
    }
}
