//! The calls of a program that relied on a default which has changed since.

use std::collections::BTreeSet;

use mlem_python::ast::{Expr, Stmt};
use mlem_python::{Edit, Program, Ranged, TextSize};
use pep440_rs::Version;

use super::calls::{Given, Relied, relied};
use super::change::DefaultChange;
use crate::call::Callable;
use crate::catalogue::Catalogue;
use crate::condition::{Verdict, has_type};
use crate::finding::{Finding, Fix, Proof};
use crate::functions::{each_expr, each_stmt};
use crate::pattern::names;
use crate::rule::{Matcher, Rule};
use crate::target::{Question, Target};

/// What is known of the versions that a notebook was written with.
pub trait Past {
    /// What proves that the notebook ran with a version of the distribution (normalised name) that is at least
    /// `from` and below `before`; nothing when that is not proven.
    fn proves(&self, distribution: &str, from: Option<&Version>, before: &Version) -> Option<String>;
}

/// A call that relied on an old default.
#[derive(Debug, Clone)]
pub struct DefaultPin {
    /// Where; its fix writes the old default out. Without a fix nothing does.
    pub finding: Finding,
    /// What proves that the old default held.
    pub evidence: String,
}

impl Catalogue {
    /// The calls of a program that relied on a default which `past` proves to have held, and which is another in
    /// the target, in the order of the source.
    pub fn default_pins(
        &'static self,
        program: &Program,
        target: &dyn Target,
        past: &dyn Past,
    ) -> Vec<DefaultPin> {
        let proven: Vec<Option<String>> = self
            .rules()
            .iter()
            .map(|rule| {
                let change = rule.default_change()?;
                let applies = rule.applies_to(target);
                applies.then(|| past.proves(&rule.library, change.from.as_ref(), &rule.since)).flatten()
            })
            .collect();
        if proven.iter().all(Option::is_none) {
            return Vec::new();
        }
        let question = Question::without_kernel(program, target);
        let later = set_later(program);
        let mut pins: Vec<DefaultPin> = Vec::new();
        each_expr(program, |unit, expr| {
            let Expr::Call(call) = expr else { return };
            let Some(name) = called(program, unit, &call.func) else { return };
            for at in self.index.defaults.get(name).into_iter().flatten() {
                let (rule, Some(evidence)) = (&self.rules()[*at], &proven[*at]) else { continue };
                let Matcher::Default(change) = &rule.matcher else { continue };
                let is_meant = change.callables.iter().any(|it| is_called(&question, unit, &call.func, it));
                // Columns named anew later go by their order, which is what is pinned.
                let is_set = change.sorted_keys.is_none() && later.contains(change.parameter.as_str());
                if !is_meant || is_set || !is_mentioned(program, change) {
                    continue;
                }
                let Some(Relied { place, edit }) = relied(program, unit, call, change) else { continue };
                let fix = edit.map(|edit| Fix { edits: vec![(place, edit)] });
                // One dictionary may go into several calls.
                let is_there = |pin: &DefaultPin| {
                    std::ptr::eq(pin.finding.rule, rule) && fix.is_some() && pin.finding.fix == fix
                };
                if !pins.iter().any(is_there) {
                    let finding = finding(rule, change, unit, expr, fix);
                    pins.push(DefaultPin { finding, evidence: evidence.clone() });
                }
            }
        });
        pins.sort_by_key(|pin| (pin.finding.unit, pin.finding.range.start(), pin.finding.range.end()));
        pins
    }
}

/// The last segment of the full name of what is called, or of a method its own name.
fn called<'a>(program: &'a Program, unit: usize, function: &'a Expr) -> Option<&'a str> {
    match program.qualified_name(unit, function) {
        Some(full) => full.rsplit('.').next(),
        None => match function {
            Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
            _ => None,
        },
    }
}

fn is_called(question: &Question, unit: usize, function: &Expr, callable: &Callable) -> bool {
    match callable {
        Callable::Qualified(full) => names(question.program, unit, function, full),
        Callable::Method { receiver, name } => match function {
            // A function of a module (`np.where`) is no method.
            Expr::Attribute(attribute) if attribute.attr.as_str() == name => {
                question.program.qualified_name(unit, function).is_none()
                    && has_type(question, unit, &attribute.value, receiver) == Verdict::Proven
            }
            _ => false,
        },
    }
}

fn is_mentioned(program: &Program, change: &DefaultChange) -> bool {
    change
        .mentions
        .as_ref()
        .is_none_or(|mentions| program.units().iter().any(|unit| mentions.is_match(unit.source())))
}

/// Parameters that the program sets on an object after it was made: `x.set_params(step__name=…)`, `x.name = …`.
fn set_later(program: &Program) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    each_expr(program, |_, expr| {
        if let Expr::Call(call) = expr
            && let Expr::Attribute(function) = &*call.func
            && function.attr.as_str() == "set_params"
        {
            let given = call.arguments.keywords.iter().filter_map(|keyword| keyword.arg.as_ref());
            names.extend(given.map(|name| {
                let name = name.as_str();
                name.rsplit_once("__").map_or(name, |(_, last)| last).to_string()
            }));
        }
    });
    each_stmt(program, |_, statement| {
        if let Stmt::Assign(assign) = statement {
            for target in &assign.targets {
                if let Expr::Attribute(attribute) = target {
                    names.insert(attribute.attr.to_string());
                }
            }
        }
    });
    names
}

fn finding(
    rule: &'static Rule,
    change: &DefaultChange,
    unit: usize,
    call: &Expr,
    fix: Option<Fix>,
) -> Finding {
    let DefaultChange { parameter, old, new, .. } = change;
    let lack = match &change.reason {
        Some(reason) => format!(" (no fix: {reason})"),
        None => String::new(),
    };
    let message = format!(
        "{} relied on the default of {parameter}: {old} before {} {}, {new} since{lack}",
        change.called(),
        rule.library,
        rule.since,
    );
    Finding {
        rule,
        unit,
        range: call.range(),
        message,
        safety: rule.safety,
        proof: Proof::Proven,
        fix,
        tentative: None,
    }
}

/// The insertion that gives a parameter at the end of a list of arguments or dictionary items.
pub(super) fn insertion(given: &Given, text: String) -> Edit {
    let (at, comma) = given.end;
    let text = if comma { format!(", {text}") } else { text };
    Edit { range: mlem_python::TextRange::empty(at), text }
}

/// Where something is added, and whether a comma comes before it.
pub(super) type End = (TextSize, bool);
