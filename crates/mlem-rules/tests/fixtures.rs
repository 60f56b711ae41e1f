//! Whole notebooks before and after, as plain files: `fixtures/NAME/input.py` becomes
//! `expected.py` by the rules in `rules.txt`. Cells are separated by `# %%` lines. `BLESS=1` writes what comes out, to be read
//! before it is committed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mlem_python::{Program, Unit};
use mlem_rules::{Catalogue, Finding, Pins, fix_until_stable};

/// Versions of 2026.
fn target() -> Pins {
    let packages = [
        ("numpy", "2.4"),
        ("pandas", "3.0"),
        ("scikit-learn", "1.8"),
        ("scipy", "1.17"),
        ("matplotlib", "3.10"),
        ("seaborn", "0.13"),
        ("lightgbm", "4.6"),
        ("xgboost", "3.1"),
        ("keras", "3.12"),
        ("tensorflow", "2.20"),
        ("tf-keras", "2.20"),
        ("statsmodels", "0.15"),
        ("ipython", "9.7"),
        ("transformers", "5.0"),
    ];
    Pins {
        python: (3, 12),
        packages: BTreeMap::from(
            packages.map(|(name, version)| (name.to_string(), version.parse().unwrap())),
        ),
    }
}

fn fixed(source: &str, rules: &[&str]) -> String {
    let cells = source.split("# %%\n").map(Unit::cell).collect();
    let fixed = fix_until_stable(
        Catalogue::shipped(),
        &Program::new(cells),
        &target(),
        (None, None),
        &|finding: &Finding| finding.is_applicable() && rules.contains(&finding.rule.id.as_str()),
    );
    fixed.sources().join("# %%\n")
}

#[test]
fn notebooks_become_what_is_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut failures = Vec::new();
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert!(!names.is_empty());
    for path in names {
        let input = fs::read_to_string(path.join("input.py")).unwrap();
        let rules = fs::read_to_string(path.join("rules.txt")).unwrap();
        let got = fixed(&input, &rules.split_whitespace().collect::<Vec<_>>());
        if std::env::var_os("BLESS").is_some() {
            fs::write(path.join("expected.py"), &got).unwrap();
        }
        let expected = fs::read_to_string(path.join("expected.py")).unwrap_or_default();
        if got != expected {
            failures.push(format!("{}:\n{}", path.display(), difference(&expected, &got)));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Lines of both texts, the common ones at either end left out.
fn difference(expected: &str, got: &str) -> String {
    let expected: Vec<&str> = expected.lines().collect();
    let got: Vec<&str> = got.lines().collect();
    let same = expected.iter().zip(&got).take_while(|(a, b)| a == b).count();
    let rest = expected.len().min(got.len()) - same;
    let tail = expected.iter().rev().zip(got.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let mut text = format!("from line {}:\n", same + 1);
    for line in &expected[same..expected.len() - tail] {
        text.push_str(&format!("  - {line}\n"));
    }
    for line in &got[same..got.len() - tail] {
        text.push_str(&format!("  + {line}\n"));
    }
    text
}
