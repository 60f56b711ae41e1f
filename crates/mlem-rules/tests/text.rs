//! Every rule's own example: `before` becomes exactly `after`, and `after` is left alone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use mlem_python::{Program, Unit};
use mlem_rules::{Catalogue, Finding, Pins, Question, Rule, Version, example, fix_until_stable};

fn program(cells: &[&str]) -> Program {
    Program::new(cells.iter().map(|cell| Unit::cell(cell.trim_matches('\n'))).collect())
}

#[test]
fn the_shipped_rule_files_are_valid() {
    let errors: Vec<String> = Catalogue::shipped_errors().iter().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "\n{}", errors.join("\n"));
}

#[test]
fn every_rule_file_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/rules");
    let catalogue = include_str!("../src/catalogue.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(catalogue.contains(&format!("../rules/{name}")), "{name} is not in FILES");
    }
}

/// The shipped rules, or with MLEM_RULE only those whose identifier begins with it.
fn rules() -> impl Iterator<Item = &'static Rule> {
    let only = std::env::var("MLEM_RULE").unwrap_or_default();
    let rules = Catalogue::shipped().rules().iter();
    // Changed defaults wait for the notebook's time; tests/defaults.rs has them.
    rules.filter(move |rule| rule.id.starts_with(&only) && rule.default_change().is_none())
}

#[test]
fn before_becomes_after() {
    let failures: Vec<String> = rules()
        .flat_map(|rule| {
            let said = example::objections(Catalogue::shipped(), rule).into_iter();
            said.map(move |objection| format!("{} {}: {objection}", rule.id, rule.name))
        })
        .collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
}

#[test]
fn rules_do_not_apply_outside_their_window() {
    for rule in Catalogue::shipped().rules() {
        let mut outside = rule.first_target();
        outside.packages.clear();
        if rule.library == "python" {
            outside.python = (2, 7);
        }
        assert!(!rule.applies_to(&outside), "{}: applies without {}", rule.id, rule.library);
        if let Some(until) = &rule.until {
            outside.packages.insert(rule.library.clone(), until.clone());
            assert!(!rule.applies_to(&outside), "{}: applies to {until}", rule.id);
        }
        let old: Version = "0.0.1".parse().unwrap();
        outside.packages.insert(rule.library.clone(), old);
        assert!(!rule.applies_to(&outside), "{}: applies to 0.0.1", rule.id);
    }
}

#[test]
fn all_rules_together_settle() {
    let newest: Version = "9999".parse().unwrap();
    let mut target = Pins { python: (3, 12), packages: BTreeMap::new() };
    for rule in Catalogue::shipped().rules() {
        target.packages.insert(rule.library.clone(), newest.clone());
    }
    let settle =
        |program: &Program| fix_until_stable(Catalogue::shipped(), program, &target, (None, None), &|_| true);
    let mut failures = Vec::new();
    for rule in rules().filter(|rule| rule.applies_to(&target)) {
        for snippet in [Some(&rule.before), rule.after.as_ref()].into_iter().flatten() {
            let once = settle(&program(&[&rule.setup, snippet]));
            let again = settle(&once.program);
            if let Some(applied) = again.applied.first() {
                let text = indented(once.sources()[1]);
                failures.push(format!("{}: {} is still applied to\n{text}", rule.id, applied.rule.id));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Pairs whose results differ in their text alone: `device='cuda'` is the first GPU, `cuda:0`, and the order of
/// keyword arguments says nothing.
const SAME_IN_OTHER_WORDS: &[(&str, &str)] = &[("XG002", "XG004"), ("XG004", "XG005"), ("TR002", "TR008")];

/// Where two rules are sure of one place, it must not matter which comes first.
#[test]
fn rules_at_one_place_agree() {
    let newest: Version = "9999".parse().unwrap();
    let mut target = Pins { python: (3, 13), packages: BTreeMap::new() };
    for rule in Catalogue::shipped().rules() {
        target.packages.insert(rule.library.clone(), newest.clone());
    }
    let fixed = |program: &Program, filter: &dyn Fn(&Finding) -> bool| {
        fix_until_stable(Catalogue::shipped(), program, &target, (None, None), filter)
    };
    let mut failures = Vec::new();
    for rule in rules() {
        let program = program(&[&rule.setup, &rule.before]);
        let findings = Catalogue::shipped().check(&Question::without_kernel(&program, &target));
        let sure: Vec<&Finding> = findings.iter().filter(|finding| finding.is_applicable()).collect();
        for (at, first) in sure.iter().enumerate() {
            let here = |other: &&&Finding| other.unit == first.unit && other.range == first.range;
            for second in sure[at + 1..].iter().filter(here) {
                let beginning_with = |id: &str| {
                    let once = fixed(&program, &|finding| finding.is_applicable() && finding.rule.id == id);
                    let all = fixed(&once.program, &Finding::is_applicable);
                    all.sources().join("\n")
                };
                let (one, other) = (beginning_with(&first.rule.id), beginning_with(&second.rule.id));
                let pair = (first.rule.id.as_str(), second.rule.id.as_str());
                if one != other && !SAME_IN_OTHER_WORDS.contains(&pair) {
                    let (one, other) = (indented(&one), indented(&other));
                    failures.push(format!("{} gives\n{one}and {}\n{other}", first.rule.id, second.rule.id));
                }
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
