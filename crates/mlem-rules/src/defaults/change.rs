//! One default value that changed, as the table says it.

use std::str::FromStr;
use std::sync::OnceLock;

use pep440_rs::Version;
use regex::Regex;
use serde::Deserialize;

use mlem_python::Unit;
use mlem_python::ast::Stmt;

use crate::call::Callable;
use crate::rule::{Demonstration, Matcher, Rule, check_words};
use crate::schema::{Kind, OneOrMany, Safety, ScoreEffect, UnknownType};

/// What a changed default does to a notebook that relied on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DefaultEffect {
    /// Results move.
    Shifting,
    /// What is printed or written changes, the numbers do not.
    Display,
    /// Only times, warnings or the last digits change.
    Neutral,
}

/// One `[[default]]` table; unknown fields are refused.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDefault {
    pub(crate) id: String,
    name: String,
    call: OneOrMany,
    parameter: String,
    position: Option<usize>,
    from: Option<String>,
    since: String,
    until: Option<String>,
    old: String,
    new: String,
    write: Option<String>,
    reason: Option<String>,
    #[serde(default)]
    with: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    mentions: Option<String>,
    dict: Option<usize>,
    sorted_keys: Option<usize>,
    score: DefaultEffect,
    warning: Option<String>,
    warned: Option<String>,
    setup: Option<String>,
    example: Option<String>,
    before: Option<String>,
    after: Option<String>,
    source: String,
}

/// A default value that changed: which calls relied on it, and what they have to say now.
#[derive(Debug)]
pub struct DefaultChange {
    pub(crate) callables: Vec<Callable>,
    /// The parameter by its name of today.
    pub parameter: String,
    /// Index from 0 of the first positional argument that may give it.
    pub(crate) position: Option<usize>,
    /// First version in which the old default held; nothing when it held from the start.
    pub from: Option<Version>,
    /// The old default in words or as written.
    pub old: String,
    /// The new default in words or as written.
    pub new: String,
    /// What gives the old behaviour on today's library; nothing where nothing does.
    pub write: Option<String>,
    /// Why there is nothing to write.
    pub reason: Option<String>,
    /// What the change does.
    pub effect: DefaultEffect,
    /// Arguments that have to be there.
    pub(crate) with: Vec<Argument>,
    /// Arguments that must not be there.
    pub(crate) unless: Vec<Argument>,
    /// What the notebook's source has to mention somewhere.
    pub(crate) mentions: Option<Regex>,
    /// Index of the argument that is a dictionary of parameters, where the parameter is one of its keys.
    pub(crate) dict: Option<usize>,
    /// Index of the argument that is a dictionary whose sorted keys are what is written.
    pub(crate) sorted_keys: Option<usize>,
    /// What libraries from `warned` up to the change printed where a call relied on the default.
    warning: Option<(String, Version)>,
    compiled: OnceLock<Option<Regex>>,
}

/// `kernel`, or `kernel='linear'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) value: Option<String>,
}

impl Argument {
    fn parse(text: &str) -> Argument {
        match text.split_once('=') {
            Some((name, value)) => Argument { name: name.to_string(), value: Some(value.to_string()) },
            None => Argument { name: text.to_string(), value: None },
        }
    }

    /// Whether an argument's source text is this value; quotes of either kind are the same.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.value.as_ref().is_none_or(|value| value.replace('"', "'") == text.replace('"', "'"))
    }
}

impl DefaultChange {
    /// The first version that warned of the change, if `output` holds its warning.
    pub fn warned(&self, output: &str) -> Option<&Version> {
        let (pattern, version) = self.warning.as_ref()?;
        self.compiled
            .get_or_init(|| Regex::new(pattern).ok())
            .as_ref()
            .filter(|regex| regex.is_match(output))
            .map(|_| version)
    }

    /// The name that messages use for what is called.
    pub(crate) fn called(&self) -> &str {
        self.callables.first().map_or("", Callable::last_segment)
    }
}

impl RawDefault {
    /// The rule, or the field and what is wrong with it.
    pub(crate) fn compile(self, library: &str, file: &str, line: usize) -> Result<Rule, (String, String)> {
        let id = self.id.clone();
        self.compile_fields(library, file, line).map_err(|reason| (id, reason))
    }

    fn compile_fields(self, library: &str, file: &str, line: usize) -> Result<Rule, String> {
        let version = |field: &str, text: &str| {
            Version::from_str(text).map_err(|_| format!("{field}: `{text}` is not a version"))
        };
        let since = version("since", &self.since)?;
        let from = self.from.as_ref().map(|text| version("from", text)).transpose()?;
        let until = self.until.as_ref().map(|text| version("until", text)).transpose()?;
        if from.as_ref().is_some_and(|from| *from >= since) {
            return Err("from: is not before `since`".to_string());
        }
        let callables = self.call.into_vec();
        let parsed = callables
            .iter()
            .map(|text| Callable::parse(text).map_err(|reason| format!("call: {reason}")))
            .collect::<Result<Vec<_>, _>>()?;
        let Some(first) = callables.first() else {
            return Err("call: is empty".to_string());
        };
        match (&self.write, &self.reason, self.sorted_keys) {
            (Some(write), None, None) if is_expression(write) => {}
            (Some(write), None, None) => return Err(format!("write: `{write}` is not an expression")),
            (None, Some(reason), None) if !reason.trim().is_empty() => {}
            (None, None, Some(_)) if self.after.is_some() => {}
            (None, None, Some(_)) => return Err("after: is needed beside `sorted_keys`".to_string()),
            _ => {
                return Err(
                    "needs one of `write`, `sorted_keys`, and `reason` why there is nothing to write"
                        .to_string(),
                );
            }
        }
        let regex = |field: &str, text: &str| Regex::new(text).map_err(|error| format!("{field}: {error}"));
        let mentions = self.mentions.as_ref().map(|text| regex("mentions", text)).transpose()?;
        let warning = match (self.warning, self.warned) {
            (Some(text), Some(warned)) => {
                regex("warning", &text)?;
                let warned = version("warned", &warned)?;
                if warned >= since {
                    return Err("warned: is not before `since`".to_string());
                }
                Some((text, warned))
            }
            (None, None) => None,
            _ => return Err("`warning` and `warned` go together".to_string()),
        };
        let short = parsed[0].last_segment().to_string();
        let summary = format!(
            "the default of {short}'s {} is another: {} before {} {}, {} since",
            self.parameter, self.old, library, self.since, self.new
        );
        let is_method = matches!(parsed[0], Callable::Method { .. });
        let (setup, before) = match (self.setup, self.before, first.rsplit_once('.')) {
            (setup, Some(before), _) => (setup.unwrap_or_default(), before),
            (setup, None, Some((module, _))) if !is_method => (
                setup.unwrap_or_else(|| format!("from {module} import {short}")),
                format!("made = {short}({})", self.example.clone().unwrap_or_default()),
            ),
            _ => return Err("before: a method needs `setup` and `before`".to_string()),
        };
        let is_written = self.write.is_some() || self.sorted_keys.is_some();
        let after = match (self.after, &self.write) {
            (Some(after), _) if is_written => Some(after),
            (Some(_), _) => return Err("after: there is nothing to write".to_string()),
            (None, None) => None,
            (None, Some(write)) => {
                let comma = if before.ends_with("()") { "" } else { ", " };
                match before.strip_suffix(')') {
                    Some(open) => Some(format!("{open}{comma}{}={write})", self.parameter)),
                    None => return Err("after: is missing".to_string()),
                }
            }
        };
        let argument = |texts: &[String]| texts.iter().map(|text| Argument::parse(text)).collect();
        let change = DefaultChange {
            callables: parsed,
            parameter: self.parameter,
            position: self.position,
            from,
            old: self.old,
            new: self.new,
            write: self.write,
            reason: self.reason,
            effect: self.score,
            with: argument(&self.with),
            unless: argument(&self.unless),
            mentions,
            dict: self.dict,
            sorted_keys: self.sorted_keys,
            warning,
            compiled: OnceLock::new(),
        };
        check_words(
            (&self.id, &self.name, library),
            &[("parameter", &change.parameter), ("source", &self.source), ("old", &change.old)],
        )?;
        Ok(Rule {
            id: self.id,
            name: self.name,
            summary,
            library: library.to_string(),
            since,
            until,
            kind: Kind::Default,
            safety: Safety::SafeWithEvidence,
            // Writing out what held is what keeps the numbers.
            score: ScoreEffect::Neutral,
            evidence: None,
            source: self.source,
            setup,
            before,
            after,
            error: None,
            proof: Demonstration::NotRun("the test of the table runs what it writes".to_string()),
            unknown: UnknownType::Silent,
            known: Vec::new(),
            matcher: Matcher::Default(Box::new(change)),
            file: file.to_string(),
            line,
            compiled: OnceLock::new(),
        })
    }
}

fn is_expression(text: &str) -> bool {
    let unit = Unit::module(text);
    unit.error_count() == 0 && matches!(unit.body(), [Stmt::Expr(_)])
}
