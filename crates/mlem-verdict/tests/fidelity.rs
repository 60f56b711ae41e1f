//! Before/after pairs of notebooks, each labelled by a person (`tests/fidelity/README.md`): the
//! class that is found, its reasons, and how often it is the label.

// Clippy's exception for tests does not reach the functions they share.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::Path;

use mlem_notebook::{CellKind, Notebook};
use mlem_rules::Pins;
use mlem_verdict::{Changes, Class, Form, Source, compare_code};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Label {
    class: Class,
    set: Set,
    reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Set {
    First,
    Second,
    Third,
}

struct Pair {
    name: String,
    label: Label,
    found: Changes,
}

fn pins() -> Pins {
    let newest = mlem_environment::newest_releases();
    Pins {
        python: newest.python(),
        packages: newest.iter().map(|(name, version)| (name.to_owned(), version.clone())).collect(),
    }
}

fn notebook(path: &Path) -> Notebook {
    Notebook::from_script(&std::fs::read_to_string(path).unwrap(), path)
}

fn compared(old: &Notebook, new: &Notebook, pins: &Pins) -> Changes {
    let sources = |notebook: &Notebook| -> Vec<(usize, String)> {
        let code = notebook.cells().iter().filter(|cell| cell.kind == CellKind::Code);
        code.map(|cell| (cell.index.0, cell.source.clone())).collect()
    };
    let (old, new) = (sources(old), sources(new));
    fn as_sources(all: &[(usize, String)]) -> Vec<Source<'_>> {
        all.iter().map(|(cell, text)| Source { cell: Some(*cell), text, form: Form::Cell }).collect()
    }
    compare_code(&as_sources(&old), &as_sources(&new), pins)
}

fn pairs() -> Vec<Pair> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fidelity/pairs");
    let mut folders: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let pins = pins();
    folders
        .into_iter()
        .map(|folder| Pair {
            name: folder.file_name().unwrap().to_string_lossy().into_owned(),
            label: toml::from_str(&std::fs::read_to_string(folder.join("label.toml")).unwrap()).unwrap(),
            found: compared(&notebook(&folder.join("old.py")), &notebook(&folder.join("new.py")), &pins),
        })
        .collect()
}

/// Found among labelled, and labelled among found.
fn rates(pairs: &[&Pair], is: fn(Class) -> bool) -> String {
    let found = pairs.iter().filter(|pair| is(pair.found.class())).count();
    let labelled = pairs.iter().filter(|pair| is(pair.label.class)).count();
    let both = pairs.iter().filter(|pair| is(pair.found.class()) && is(pair.label.class)).count();
    format!("precision {both}/{found}, recall {both}/{labelled}")
}

fn summary(pairs: &[&Pair]) -> String {
    format!(
        "{} pairs; drift: {}; neutral: {}; raised (drift or unclear): {}",
        pairs.len(),
        rates(pairs, |class| class == Class::Drift),
        rates(pairs, |class| class == Class::Neutral),
        rates(pairs, |class| class != Class::Neutral),
    )
}

#[test]
fn pairs_are_classed_for_these_reasons() {
    let pairs = pairs();
    let all: Vec<&Pair> = pairs.iter().collect();
    let of = |set: Set| -> Vec<&Pair> { pairs.iter().filter(|pair| pair.label.set == set).collect() };
    let mut page = String::new();
    writeln!(
        page,
        "all: {}\nfirst: {}\nsecond: {}\nthird: {}",
        summary(&all),
        summary(&of(Set::First)),
        summary(&of(Set::Second)),
        summary(&of(Set::Third))
    )
    .unwrap();
    for pair in &pairs {
        let class = pair.found.class();
        let mark = if class == pair.label.class { "" } else { " (!)" };
        writeln!(
            page,
            "\n{}: {class}{mark}; labelled {}: {}",
            pair.name, pair.label.class, pair.label.reason
        )
        .unwrap();
        for change in &pair.found.changes {
            let place = match (change.old, change.new) {
                (Some(old), _) => format!("{}:{}", old.cell.unwrap(), old.lines.0),
                (None, Some(new)) => format!("+{}:{}", new.cell.unwrap(), new.lines.0),
                (None, None) => "?".to_owned(),
            };
            // The words of a rule are the catalogue's, and change with it.
            let reason = change.rule.as_deref().unwrap_or(&change.reason);
            writeln!(page, "  {place} {} {}: {reason}", change.class, change.topic).unwrap();
        }
    }
    insta::assert_snapshot!(page);
}

/// The one fault that must not be: a changed notebook that passes for the same.
#[test]
fn no_drift_passes_for_neutral() {
    let missed: Vec<String> = pairs()
        .into_iter()
        .filter(|pair| pair.label.class == Class::Drift && pair.found.class() == Class::Neutral)
        .map(|pair| pair.name)
        .collect();
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn a_notebook_is_itself() {
    let pins = pins();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fidelity/pairs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let own = notebook(&entry.unwrap().path().join("old.py"));
        assert!(compared(&own, &own, &pins).changes.is_empty());
    }
}
