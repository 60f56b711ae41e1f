//! Output pairs made by really running cells in old and current environments, with the label a
//! person gave each (`tests/outputs/`; `generate.py` makes the pairs from `cases.py`).

// Clippy's exception for tests does not reach the functions they share.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::Path;

use mlem_notebook::Output;
use mlem_verdict::{OutputStatus, Tolerance, compare_outputs};
use serde_json::Value;

struct Pair {
    name: String,
    label: String,
    found: OutputStatus,
}

fn label(status: &OutputStatus) -> &'static str {
    match status {
        OutputStatus::Same => "same",
        OutputStatus::Close { .. } => "close",
        OutputStatus::Different { .. } => "different",
        OutputStatus::NotComparable { .. } => "not-comparable",
        OutputStatus::Missing => "missing",
        OutputStatus::Empty => "empty",
    }
}

fn outputs(side: &Value) -> Vec<Output> {
    side["outputs"].as_array().unwrap().iter().map(|value| Output::from_value(value).unwrap()).collect()
}

fn pairs() -> Vec<Pair> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs/pairs");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let pair: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            let source: String = pair["then"]["source"]
                .as_array()
                .unwrap()
                .iter()
                .map(|line| line.as_str().unwrap())
                .collect();
            Pair {
                name: file.file_stem().unwrap().to_string_lossy().into_owned(),
                label: pair["label"].as_str().unwrap().to_owned(),
                found: compare_outputs(
                    &source,
                    &outputs(&pair["then"]),
                    &outputs(&pair["now"]),
                    &Tolerance::default(),
                ),
            }
        })
        .collect()
}

/// `different` and `missing` are the alarm; `same` and `close` the all-clear.
fn alarm(label: &str) -> bool {
    matches!(label, "different" | "missing")
}

fn clear(label: &str) -> bool {
    matches!(label, "same" | "close")
}

/// Precision and recall in words.
fn rates(pairs: &[Pair], what: fn(&str) -> bool) -> String {
    let found = pairs.iter().filter(|p| what(label(&p.found))).count();
    let labelled = pairs.iter().filter(|p| what(&p.label)).count();
    let both = pairs.iter().filter(|p| what(&p.label) && what(label(&p.found))).count();
    format!("precision {both}/{found}, recall {both}/{labelled}")
}

#[test]
fn pairs_are_judged_as_labelled() {
    let pairs = pairs();
    let mut report = format!(
        "{} pairs\nalarm (different, missing): {}\nall-clear (same, close): {}\n",
        pairs.len(),
        rates(&pairs, alarm),
        rates(&pairs, clear)
    );
    let mut wrong = 0;
    for pair in &pairs {
        if label(&pair.found) != pair.label {
            wrong += 1;
            writeln!(report, "{}: labelled {}, found {:?}", pair.name, pair.label, pair.found).unwrap();
        }
    }
    println!("{report}");
    assert_eq!(wrong, 0, "{report}");
}
