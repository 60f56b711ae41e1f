//! Every rule on the real library: `before` fails, differs or warns, and `after` runs.
//!
//! Needs an interpreter with the libraries, named by MLEM_REAL_PYTHON. One process runs all
//! snippets, so that a library is imported once.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use mlem_rules::{Catalogue, Demonstration, Pins, Rule, Version};
use serde_json::{Value, json};

struct Python {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Python {
    fn start() -> Python {
        let path = std::env::var_os("MLEM_REAL_PYTHON")
            .expect("MLEM_REAL_PYTHON has to name an interpreter with the libraries");
        let mut child = Command::new(&path)
            .arg("-c")
            .arg(include_str!("real_library.py"))
            .env("MPLBACKEND", "Agg")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", path.display()));
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Python { child, input, output }
    }

    fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.input, "{request}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("no answer to {request}: {error}: {line:?}"))
    }

    fn run(&mut self, setup: &str, snippet: &str) -> Outcome {
        let answer = self.ask(&json!({ "cells": [setup, snippet] }));
        let text = |key: &str| answer[key].as_str().unwrap_or_default().to_string();
        Outcome {
            error: answer["ename"].as_str().map(|name| (name.to_string(), text("evalue"))),
            failed_setup: answer["failed_setup"].as_bool().unwrap(),
            printed: text("stdout"),
            warnings: answer["warnings"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|warning| warning.as_str().map(str::to_string))
                .collect(),
        }
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Outcome {
    error: Option<(String, String)>,
    failed_setup: bool,
    printed: String,
    warnings: Vec<String>,
}

impl Outcome {
    fn describe(&self) -> String {
        match &self.error {
            Some((name, message)) => {
                let place = if self.failed_setup { "setup raises " } else { "raises " };
                let message = message.lines().next().unwrap_or_default();
                format!("{place}{name}: {message}")
            }
            None => format!("runs, prints {:?}, warns {:?}", self.printed, self.warnings),
        }
    }

    /// Warnings that announce an end.
    fn deprecations(&self) -> Vec<&String> {
        self.warnings
            .iter()
            .filter(|warning| {
                let category = warning.split(':').next().unwrap_or_default();
                category.contains("Deprecat")
                    || category.contains("Future")
                    || category.contains("Pandas4Warning")
                    || category.contains("ChainedAssignment")
                    || category == "UserWarning"
            })
            .collect()
    }
}

/// What speaks against a rule.
fn objection(rule: &Rule, python: &mut Python) -> Option<String> {
    let before = python.run(&rule.setup, &rule.before);
    if before.failed_setup {
        return Some(format!("before: {}", before.describe()));
    }
    match rule.proof {
        Demonstration::Fails => {
            let Some((name, message)) = &before.error else {
                return Some(format!("before: {}", before.describe()));
            };
            if rule.evidence.is_some() && !rule.is_evidence(name, message) {
                return Some(format!("the evidence does not match: {name}: {message}"));
            }
        }
        Demonstration::Differs | Demonstration::Warns if before.error.is_some() => {
            return Some(format!("before: {}", before.describe()));
        }
        _ => {}
    }
    let Some(after) = &rule.after else {
        return None;
    };
    let after = python.run(&rule.setup, after);
    if after.error.is_some() {
        return Some(format!("after: {}", after.describe()));
    }
    match rule.proof {
        Demonstration::Differs if before.printed == after.printed => {
            Some(format!("both print {:?}", before.printed))
        }
        Demonstration::Warns => {
            let still = after.deprecations();
            let gone = before.deprecations().into_iter().any(|w| !still.contains(&w));
            (!gone).then(|| format!("the same warnings: {:?}", before.warnings))
        }
        _ => None,
    }
}

#[test]
fn rules_are_true_on_the_real_libraries() {
    let mut python = Python::start();
    let mut target = Pins { python: (0, 0), packages: BTreeMap::new() };
    let version = python.ask(&json!({ "version_of": "python" }));
    let version: Version = version["version"].as_str().unwrap().parse().unwrap();
    let part = |at: usize| u8::try_from(version.release()[at]).unwrap();
    target.python = (part(0), part(1));
    for rule in Catalogue::shipped().rules() {
        if rule.library == "python" || target.packages.contains_key(&rule.library) {
            continue;
        }
        let answer = python.ask(&json!({ "version_of": rule.library }));
        if let Some(version) = answer["version"].as_str() {
            target.packages.insert(rule.library.clone(), version.parse().unwrap());
        }
    }
    let only = std::env::var("MLEM_RULE").ok();
    let (mut shown, mut passed_over) = (0, Vec::new());
    let mut objections = Vec::new();
    for rule in Catalogue::shipped().rules() {
        if only.as_ref().is_some_and(|only| !rule.id.starts_with(only.as_str())) {
            continue;
        }
        if rule.default_change().is_some() {
            continue;
        }
        if let Demonstration::NotRun(reason) = &rule.proof {
            passed_over.push(format!("{}: {reason}", rule.id));
        } else if !rule.applies_to(&target) {
            passed_over.push(format!("{}: the interpreter has no such {}", rule.id, rule.library));
        } else if let Some(objection) = objection(rule, &mut python) {
            objections.push(format!("{:8} {:36} {objection}", rule.id, rule.name));
        } else {
            shown += 1;
        }
    }
    println!("{shown} rules shown, {} not run", passed_over.len());
    for line in passed_over {
        println!("    {line}");
    }
    assert!(objections.is_empty(), "{} rules are not true:\n{}", objections.len(), objections.join("\n"));
    assert!(shown > 0, "no rule was run");
}

/// Runs what a row of the table writes; estimators check it only when they are fitted.
const VALIDATE: &str = "
if hasattr(made, '_parameter_constraints'):
    made._validate_params()
elif type(made).__name__.endswith(('Classifier', 'Regressor')):
    made.fit([[0.0], [1.0], [2.0], [3.0]] * 10, [0, 1, 0, 1] * 10)";

#[test]
fn written_defaults_are_accepted_by_the_real_libraries() {
    let mut python = Python::start();
    let only = std::env::var("MLEM_RULE").ok();
    let (mut shown, mut passed_over) = (0, Vec::new());
    let mut objections = Vec::new();
    for rule in Catalogue::shipped().rules() {
        let Some(change) = rule.default_change() else { continue };
        if only.as_ref().is_some_and(|only| !rule.id.starts_with(only.as_str())) {
            continue;
        }
        let version = python.ask(&json!({ "version_of": rule.library }));
        let Some(version) = version["version"].as_str() else {
            passed_over.push(format!("{}: {} is not installed", rule.id, rule.library));
            continue;
        };
        let version: Version = version.parse().unwrap();
        if version < rule.since {
            passed_over.push(format!("{}: {} is only {version}", rule.id, rule.library));
            continue;
        }
        let text = match &rule.after {
            Some(after) => format!("{}{VALIDATE}", after.trim()),
            // What cannot be written any more is refused, or the call runs without it.
            None => rule.before.clone(),
        };
        let outcome = python.run(&rule.setup, &text);
        // Without a network a download fails, but only after its arguments were accepted.
        let offline =
            |name: &str| matches!(name, "URLError" | "HTTPError" | "ConnectionError" | "TimeoutError");
        match &outcome.error {
            Some((name, _)) if !outcome.failed_setup && offline(name) => shown += 1,
            Some(_) => objections.push(format!("{} {}: {}", rule.id, rule.name, outcome.describe())),
            None => shown += 1,
        }
        if let (Some(write), None) = (&change.write, &outcome.error) {
            let complaint = outcome.deprecations().into_iter().find(|it| it.contains(&change.parameter));
            if let Some(warning) = complaint {
                passed_over.push(format!("{}: {}={write} warns: {warning}", rule.id, change.parameter));
            }
        }
    }
    println!("{shown} rows accepted, and to know:");
    for line in passed_over {
        println!("    {line}");
    }
    assert!(objections.is_empty(), "{} rows are refused:\n{}", objections.len(), objections.join("\n"));
    assert!(shown > 0 || only.is_some(), "no row was run");
}
