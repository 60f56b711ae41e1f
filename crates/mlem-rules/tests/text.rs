//! Every rule's own example: `before` becomes exactly `after`, and `after` is left alone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use mlem_python::{Program, Unit};
use mlem_rules::{Catalogue, LiveError, Pins, Question, Rule, Version, fix_until_stable};

/// A target in which the rule applies: the first version it is about.
fn target(rule: &Rule) -> Pins {
    let python = if rule.library == "python" {
        let release = rule.since.release();
        let part = |at: usize| release.get(at).map_or(0, |n| u8::try_from(*n).unwrap());
        (part(0), part(1))
    } else {
        (3, 12)
    };
    Pins { python, packages: BTreeMap::from([(rule.library.clone(), rule.since.clone())]) }
}

fn program(cells: &[&str]) -> Program {
    Program::new(cells.iter().map(|cell| Unit::cell(cell.trim_matches('\n'))).collect())
}

/// The error that the rule says `before` raises, in the second cell.
fn error(rule: &Rule) -> Option<LiveError> {
    let (ename, evalue) = rule.error.as_ref()?.split_once(": ")?;
    Some(LiveError { ename: ename.to_string(), evalue: evalue.to_string(), unit: 1, lines: None })
}

/// The notebook after the rule's fixes (whatever their safety), cell by cell.
fn fixed(rule: &'static Rule, cells: &[&str], error: Option<&LiveError>) -> String {
    let fixed =
        fix_until_stable(Catalogue::shipped(), &program(cells), &target(rule), (error, None), &|finding| {
            finding.rule.id == rule.id
        });
    fixed.sources().join("\n")
}

fn findings(rule: &'static Rule, cells: &[&str]) -> usize {
    let program = program(cells);
    let target = target(rule);
    let error = error(rule);
    let question = Question { error: error.as_ref(), ..Question::without_kernel(&program, &target) };
    Catalogue::shipped().check(&question).iter().filter(|finding| finding.rule.id == rule.id).count()
}

#[test]
fn the_shipped_rule_files_are_valid() {
    let errors: Vec<String> = Catalogue::shipped_errors().iter().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "\n{}", errors.join("\n"));
    for rule in Catalogue::shipped().rules() {
        if let Some(error) = &rule.error {
            assert!(error.contains(": "), "{}: error is not `Name: message`", rule.id);
        }
        if let Some(evidence) = &rule.evidence {
            assert!(regex::Regex::new(evidence).is_ok(), "{}: evidence `{evidence}`", rule.id);
        }
    }
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
    rules.filter(move |rule| rule.id.starts_with(&only))
}

#[test]
fn before_becomes_after() {
    let mut failures = Vec::new();
    for rule in rules() {
        let error = error(rule);
        if let Some(error) = &error
            && !rule.is_evidence(&error.ename, &error.evalue)
        {
            failures.push(format!("{} {}: `evidence` does not match `error`", rule.id, rule.name));
        }
        if findings(rule, &[&rule.setup, &rule.before]) == 0 {
            failures.push(format!("{} {}: nothing is found in `before`", rule.id, rule.name));
            continue;
        }
        let Some(after) = &rule.after else {
            continue;
        };
        let wanted = program(&[&rule.setup, after]);
        let wanted: Vec<&str> = wanted.units().iter().map(Unit::source).collect();
        let wanted = wanted.join("\n");
        let got = fixed(rule, &[&rule.setup, &rule.before], error.as_ref());
        if got != wanted {
            failures.push(format!(
                "{} {}: `before` becomes\n{}\nand not\n{}",
                rule.id,
                rule.name,
                indented(&got),
                indented(&wanted)
            ));
        }
        if fixed(rule, &[&rule.setup, after], None) != wanted {
            failures.push(format!("{} {}: `after` is changed again", rule.id, rule.name));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
}

#[test]
fn rules_do_not_apply_outside_their_window() {
    for rule in Catalogue::shipped().rules() {
        let mut outside = target(rule);
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

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
