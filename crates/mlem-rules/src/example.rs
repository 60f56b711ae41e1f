//! A rule's own example as its test: `before` becomes exactly `after`, and `after` is left alone.

use std::collections::BTreeMap;

use mlem_python::{Program, Unit};

use crate::catalogue::Catalogue;
use crate::plan::fix_until_stable;
use crate::rule::Rule;
use crate::target::{LiveError, Pins, Question};

impl Rule {
    /// A target in which the rule applies: the first version it is about.
    pub fn first_target(&self) -> Pins {
        let python = if self.library == "python" {
            let part =
                |at: usize| self.since.release().get(at).map_or(0, |n| u8::try_from(*n).unwrap_or(u8::MAX));
            (part(0), part(1))
        } else {
            (3, 12)
        };
        Pins { python, packages: BTreeMap::from([(self.library.clone(), self.since.clone())]) }
    }

    /// The error that the rule says `before` raises, in the second of the example's two cells.
    fn example_error(&self) -> Option<LiveError> {
        let (ename, evalue) = self.error.as_ref()?.split_once(": ")?;
        Some(LiveError { ename: ename.to_string(), evalue: evalue.to_string(), unit: 1, lines: None })
    }
}

/// What speaks against a rule's own example, without any library: nothing when it holds.
pub fn objections(catalogue: &'static Catalogue, rule: &'static Rule) -> Vec<String> {
    let mut objections = Vec::new();
    if let Some(evidence) = &rule.evidence
        && let Err(error) = regex::Regex::new(evidence)
    {
        objections.push(format!("evidence: is no regular expression: {error}"));
    }
    let error = rule.example_error();
    match (&rule.error, &error) {
        (Some(text), None) => objections.push(format!("error: `{text}` is not `Name: message`")),
        (_, Some(error)) if !rule.is_evidence(&error.ename, &error.evalue) => {
            objections.push("evidence: does not match `error`".to_string());
        }
        _ => {}
    }
    let target = rule.first_target();
    let before = program(&rule.setup, &rule.before);
    let question = Question { error: error.as_ref(), ..Question::without_kernel(&before, &target) };
    if !catalogue.check(&question).iter().any(|finding| std::ptr::eq(finding.rule, rule)) {
        objections.push("before: nothing is found in it".to_string());
        return objections;
    }
    let Some(after) = &rule.after else {
        return objections;
    };
    let fixed = |program: &Program, error: Option<&LiveError>| {
        let only = |finding: &crate::Finding| std::ptr::eq(finding.rule, rule);
        fix_until_stable(catalogue, program, &target, (error, None), &only).sources().join("\n")
    };
    let after = program(&rule.setup, after);
    let wanted = after.units().iter().map(Unit::source).collect::<Vec<_>>().join("\n");
    let got = fixed(&before, error.as_ref());
    if got != wanted {
        objections.push(format!(
            "after: `before` becomes\n{}\nand not\n{}",
            indented(&got),
            indented(&wanted)
        ));
    }
    let again = fixed(&after, None);
    if again != wanted {
        objections.push(format!("after: is changed again, to\n{}", indented(&again)));
    }
    objections
}

/// The example as a notebook of two cells.
fn program(setup: &str, snippet: &str) -> Program {
    Program::new([setup, snippet].map(|cell| Unit::cell(cell.trim_matches('\n'))).to_vec())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
