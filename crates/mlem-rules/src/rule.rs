//! A rule as the engine uses it: parsed, checked, ready to match.

use std::str::FromStr;
use std::sync::OnceLock;

use pep440_rs::Version;
use regex::Regex;
use rustc_hash::FxHashMap;

use crate::call::{Arguments, Callable};
use crate::condition::Condition;
use crate::defaults::DefaultChange;
use crate::functions::{self, FunctionRule};
use crate::guards::Failure;
use crate::imports::Need;
use crate::moved::Move;
use crate::pattern::Pattern;
use crate::schema::{Kind, RawRule, Safety, ScoreEffect, UnknownType};
use crate::target::Target;
use crate::template::Template;

/// How a rule is shown to be true on the real library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Demonstration {
    /// `before` raises, `after` runs.
    Fails,
    /// Both run, and what they print differs.
    Differs,
    /// `before` warns that it will go, `after` does not.
    Warns,
    /// Not run, for this reason.
    NotRun(String),
}

/// One thing that eroded.
#[derive(Debug)]
pub struct Rule {
    /// Letters of the library and a number, unique: `PD004`.
    pub id: String,
    /// What is found, in kebab case.
    pub name: String,
    /// One line for a person.
    pub summary: String,
    /// The distribution whose version decides; `python` for the language.
    pub library: String,
    /// First version in which the old form breaks or changes.
    pub since: Version,
    /// First version in which it works again.
    pub until: Option<Version>,
    /// What happened to it.
    pub kind: Kind,
    /// When its fix may be applied.
    pub safety: Safety,
    /// What the fix can do to numbers.
    pub score: ScoreEffect,
    /// Regular expression for `ExceptionName: message` of a live error.
    pub evidence: Option<String>,
    /// Where the fact is from.
    pub source: String,
    /// Code both snippets need.
    pub setup: String,
    /// The old form.
    pub before: String,
    /// The new form; nothing when there is no fix.
    pub after: Option<String>,
    /// `ExceptionName: message` that `before` raises, for the text test of a rule that waits for
    /// the live error.
    pub error: Option<String>,
    /// How the rule is shown to be true.
    pub proof: Demonstration,
    pub(crate) unknown: UnknownType,
    /// Conditions that a live error does not stand for.
    pub(crate) known: Vec<String>,
    pub(crate) matcher: Matcher,
    /// The file it is written in.
    pub file: String,
    /// The line in that file where its table begins, from 1.
    pub line: usize,
    /// Compiled when a live error is first looked at; a test compiles them all.
    pub(crate) compiled: OnceLock<Option<Regex>>,
}

/// The target's version of a library, `python` included.
pub(crate) fn version_of(target: &dyn Target, library: &str) -> Option<Version> {
    if library == "python" {
        let (major, minor) = target.python();
        Some(Version::new([u64::from(major), u64::from(minor)]))
    } else {
        target.version_of(library).cloned()
    }
}

/// What a rule matches, and what it does about it.
#[derive(Debug)]
pub(crate) enum Matcher {
    Moved {
        moves: Vec<Move>,
        needs: Vec<Need>,
    },
    Patterns {
        patterns: Vec<(Pattern, Option<Template>)>,
        conditions: FxHashMap<String, Condition>,
        needs: Vec<Need>,
    },
    Call {
        callables: Vec<Callable>,
        arguments: Arguments,
        needs: Vec<Need>,
        conditions: FxHashMap<String, Condition>,
    },
    Function(&'static FunctionRule),
    /// A default value that changed; [`Catalogue::default_pins`](crate::Catalogue::default_pins) finds the calls.
    Default(Box<DefaultChange>),
}

impl Rule {
    /// The changed default that a rule of `defaults/` is about.
    pub fn default_change(&self) -> Option<&DefaultChange> {
        match &self.matcher {
            Matcher::Default(change) => Some(change),
            _ => None,
        }
    }

    /// Whether the target's version lies in the rule's window.
    pub fn applies_to(&self, target: &dyn Target) -> bool {
        version_of(target, &self.library).is_some_and(|version| self.is_about(&version))
    }

    /// How what the rule is about may fail.
    pub(crate) fn failures(&self) -> &'static [Failure] {
        match &self.matcher {
            Matcher::Patterns { patterns, .. }
                if patterns.iter().all(|(pattern, _)| pattern.is_builtin()) =>
            {
                &[Failure::Name]
            }
            Matcher::Patterns { patterns, .. }
                if patterns.iter().all(|(pattern, _)| pattern.is_subscript()) =>
            {
                &[Failure::Key, Failure::Attribute]
            }
            Matcher::Moved { .. } => &[Failure::Attribute, Failure::Import],
            Matcher::Call { .. } => &[Failure::Argument],
            _ if self.kind == Kind::Argument => &[Failure::Argument],
            _ => &[Failure::Attribute],
        }
    }

    /// Whether a version of the rule's library lies in its window.
    pub(crate) fn is_about(&self, version: &Version) -> bool {
        *version >= self.since && self.until.as_ref().is_none_or(|until| version < until)
    }

    /// Whether the rule's evidence matches an error's `ExceptionName: message`.
    pub fn is_evidence(&self, ename: &str, evalue: &str) -> bool {
        let Some(pattern) = &self.evidence else {
            return false;
        };
        self.compiled
            .get_or_init(|| Regex::new(pattern).ok())
            .as_ref()
            .is_some_and(|regex| regex.is_match(&format!("{ename}: {evalue}")))
    }

    pub(crate) fn compile(raw: RawRule, file: &str, line: usize) -> Result<Rule, (String, String)> {
        let id = raw.id.clone();
        Self::compile_fields(raw, file, line).map_err(|reason| (id, reason))
    }

    fn compile_fields(raw: RawRule, file: &str, line: usize) -> Result<Rule, String> {
        check_words(
            (&raw.id, &raw.name, &raw.library),
            &[("summary", &raw.summary), ("source", &raw.source), ("before", &raw.before)],
        )?;
        let version = |field: &str, text: &str| {
            Version::from_str(text).map_err(|_| format!("{field}: `{text}` is not a version"))
        };
        let since = version("since", &raw.since)?;
        let until = match &raw.until {
            Some(text) => Some(version("until", text)?),
            None => None,
        };
        if until.as_ref().is_some_and(|until| *until <= since) {
            return Err("until: is not after `since`".to_string());
        }
        if raw.evidence.as_ref().is_some_and(String::is_empty) {
            return Err("evidence: is empty, which would match every error".to_string());
        }
        let proof = match raw.proof.as_str() {
            "fails" => Demonstration::Fails,
            "differs" => Demonstration::Differs,
            "warns" => Demonstration::Warns,
            other => match other.strip_prefix("none:") {
                Some(reason) if !reason.trim().is_empty() => Demonstration::NotRun(reason.trim().to_string()),
                _ => {
                    return Err(format!("proof: `{other}` is not fails, differs, warns or \"none: reason\""));
                }
            },
        };
        if let Some(name) = raw.known.iter().find(|name| !raw.conditions.contains_key(*name)) {
            return Err(format!("known: `{name}` has no condition in `where`"));
        }
        if raw.unknown == UnknownType::Error && (raw.evidence.is_none() || raw.error.is_none()) {
            return Err("unknown: `error` needs `evidence`, and `error` for the test".to_string());
        }
        let matcher = Matcher::compile(&raw)?;
        if raw.after.is_none() && matcher.has_fix() {
            return Err("after: is missing, although the rule has a fix".to_string());
        }
        Ok(Rule {
            id: raw.id,
            name: raw.name,
            summary: raw.summary,
            library: raw.library,
            since,
            until,
            kind: raw.kind,
            safety: raw.safety,
            score: raw.score,
            evidence: raw.evidence,
            source: raw.source,
            setup: raw.setup,
            before: raw.before,
            after: raw.after,
            error: raw.error,
            proof,
            unknown: raw.unknown,
            known: raw.known.clone(),
            matcher,
            file: file.to_string(),
            line,
            compiled: OnceLock::new(),
        })
    }
}

/// What every rule has to say, in whatever file it stands.
pub(crate) fn check_words(
    (id, name, library): (&str, &str, &str),
    texts: &[(&str, &str)],
) -> Result<(), String> {
    let letters = id.chars().take_while(char::is_ascii_uppercase).count();
    let digits = &id[letters..];
    if !(2..=4).contains(&letters) || digits.len() < 3 || !digits.chars().all(|c| c.is_ascii_digit()) {
        return Err("id: is not two to four capital letters and three digits".to_string());
    }
    let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(kebab) {
        return Err("name: is not in kebab case".to_string());
    }
    for (field, text) in texts {
        if text.trim().is_empty() {
            return Err(format!("{field}: is empty"));
        }
    }
    let normalised = library.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if library.is_empty() || !normalised {
        return Err("library: is not a normalised distribution name (scikit-learn)".to_string());
    }
    Ok(())
}

impl Matcher {
    fn has_fix(&self) -> bool {
        match self {
            Matcher::Moved { .. } => true,
            Matcher::Patterns { patterns, .. } => patterns.iter().any(|(_, t)| t.is_some()),
            Matcher::Call { arguments, .. } => arguments.changes_something(),
            Matcher::Function(_) | Matcher::Default(_) => false,
        }
    }

    fn compile(raw: &RawRule) -> Result<Matcher, String> {
        let given = [raw.moved.is_some(), raw.pattern.is_some(), raw.call.is_some(), raw.function.is_some()];
        if given.iter().filter(|g| **g).count() != 1 {
            return Err("needs exactly one of `moved`, `match`, `call` and `function`".to_string());
        }
        let belongs = |field: &str, present: bool, allowed: bool| {
            if present && !allowed {
                Err(format!("{field}: does not go with this kind of matcher"))
            } else {
                Ok(())
            }
        };
        belongs("replace", raw.replace.is_some(), raw.pattern.is_some())?;
        belongs("arguments", raw.arguments.is_some(), raw.call.is_some())?;
        belongs("where", !raw.conditions.is_empty(), raw.pattern.is_some() || raw.call.is_some())?;
        belongs(
            "needs",
            !raw.needs.is_empty(),
            raw.replace.is_some() || raw.moved.is_some() || raw.call.is_some(),
        )?;
        let needs = raw
            .needs
            .iter()
            .map(|text| Need::parse(text).map_err(|reason| format!("needs: {reason}")))
            .collect::<Result<Vec<_>, _>>()?;
        let mut conditions = FxHashMap::default();
        for (name, alternatives) in &raw.conditions {
            let condition = Condition::parse(&alternatives.clone().into_vec())
                .map_err(|reason| format!("where.{name}: {reason}"))?;
            conditions.insert(name.clone(), condition);
        }
        if let Some(moved) = &raw.moved {
            let moves = moved
                .iter()
                .map(|(old, new)| Move::parse(old, new).map_err(|reason| format!("moved.{old}: {reason}")))
                .collect::<Result<Vec<_>, _>>()?;
            if moves.is_empty() {
                return Err("moved: is empty".to_string());
            }
            return Ok(Matcher::Moved { moves, needs });
        }
        if let Some(call) = &raw.call {
            let callables = call
                .clone()
                .into_vec()
                .iter()
                .map(|text| Callable::parse(text).map_err(|reason| format!("call: {reason}")))
                .collect::<Result<Vec<_>, _>>()?;
            let arguments = Arguments::compile(raw.arguments.clone().unwrap_or_default())?;
            check_callee(&callables, &arguments, &needs)?;
            return Ok(Matcher::Call { callables, arguments, needs, conditions });
        }
        if let Some(name) = &raw.function {
            return functions::find(name)
                .map(Matcher::Function)
                .ok_or_else(|| format!("function: there is no function rule `{name}`"));
        }
        let patterns = compile_patterns(raw, &conditions, &needs)?;
        Ok(Matcher::Patterns { patterns, conditions, needs })
    }
}

/// A function is renamed to a full name that can be reached, a method to a method's name.
fn check_callee(callables: &[Callable], arguments: &Arguments, needs: &[Need]) -> Result<(), String> {
    let Some(callee) = &arguments.callee else {
        return Ok(());
    };
    for callable in callables {
        match callable {
            Callable::Method { .. } if callee.contains('.') => {
                return Err("arguments.callee: of a method is its new name alone".to_string());
            }
            Callable::Qualified(_)
                if callee.contains('.') && !needs.iter().any(|n| n.reach(callee).is_some()) =>
            {
                return Err(format!("needs: no import reaches `{callee}` of `callee`"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn compile_patterns(
    raw: &RawRule,
    conditions: &FxHashMap<String, Condition>,
    needs: &[Need],
) -> Result<Vec<(Pattern, Option<Template>)>, String> {
    let texts = raw.pattern.clone().map_or(Vec::new(), |p| p.into_vec());
    let replacements = raw.replace.clone().map_or(Vec::new(), |r| r.into_vec());
    if texts.is_empty() {
        return Err("match: is empty".to_string());
    }
    if replacements.len() > 1 && replacements.len() != texts.len() {
        return Err("replace: is a list of another length than `match`".to_string());
    }
    let mut patterns = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let replacement = replacements.get(index).or(replacements.first());
        let template = match replacement {
            Some(text) => Some(Template::parse(text).map_err(|reason| format!("replace: {reason}"))?),
            None => None,
        };
        let is_statement = template.as_ref().is_some_and(Template::is_statement);
        let pattern = Pattern::parse(text, is_statement).map_err(|reason| format!("match: {reason}"))?;
        if let Some(template) = &template {
            let bound = pattern.metavariables();
            for name in template.metavariables() {
                if !bound.contains(&name) {
                    return Err(format!("replace: `${name}` is not bound by `{text}`"));
                }
            }
            for name in template.dotted_names() {
                let root = name.split('.').next().unwrap_or_default();
                let builtin = ["str", "dict", "list", "int", "float", "bytes", "set"];
                if !builtin.contains(&root) && !needs.iter().any(|need| need.reach(&name).is_some()) {
                    return Err(format!("needs: no import reaches `{name}` of `replace`"));
                }
            }
        }
        patterns.push((pattern, template));
    }
    for name in conditions.keys() {
        if !patterns.iter().any(|(pattern, _)| pattern.metavariables().contains(name)) {
            return Err(format!("where.{name}: no pattern binds `${name}`"));
        }
    }
    Ok(patterns)
}
