//! Rules by the names that make them worth trying, so that checking is one walk.

use std::mem::Discriminant;

use mlem_python::ast::Expr;
use rustc_hash::FxHashMap;

use crate::call::Callable;
use crate::pattern::{Pattern, Trigger};
use crate::rule::{Matcher, Rule};
use crate::schema::Kind;
use crate::template::Template;

/// Rules worth trying where one name occurs: rule index with pattern, callable or move index.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// Patterns that are this name.
    pub(crate) names: Vec<(usize, usize)>,
    /// Patterns that begin with this name, with the kind of the whole expression.
    pub(crate) nodes: Vec<(Discriminant<Expr>, usize, usize)>,
    /// Patterns of statements whose expression is or begins with this name.
    pub(crate) statements: Vec<(usize, usize)>,
    /// `call` rules by the last segment of the callable.
    pub(crate) callables: Vec<(usize, usize)>,
    /// Moves by the last segment of the old name, for dotted uses.
    pub(crate) uses: Vec<(usize, usize)>,
    /// Function rules by trigger name.
    pub(crate) functions: Vec<usize>,
}

/// Rules by the names that make them worth trying.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) entries: FxHashMap<String, Entry>,
    /// Libraries with their rules.
    pub(crate) libraries: FxHashMap<String, Vec<usize>>,
    /// Patterns without a name to look them up by, by the kind of their expression.
    pub(crate) shapes: FxHashMap<Discriminant<Expr>, Vec<(usize, usize)>>,
    /// The same of statements, whatever their kind.
    pub(crate) statements: Vec<(usize, usize)>,
    /// Patterns that are a string literal, by its text.
    pub(crate) texts: FxHashMap<String, Vec<(usize, usize)>>,
    /// Names that are gone or renamed, by their full name: the rule and the new name in full.
    pub(crate) bare: FxHashMap<String, Vec<(usize, Option<String>)>>,
    /// Functions and classes that are called something else now, or are gone, by their full name.
    pub(crate) gone: FxHashMap<String, Vec<usize>>,
    /// Moves by the old name in full, for imports.
    pub(crate) moves: FxHashMap<String, Vec<(usize, usize)>>,
    /// Changed defaults, by the last segment of what is called.
    pub(crate) defaults: FxHashMap<String, Vec<usize>>,
}

impl Index {
    pub(crate) fn new(rules: &[Rule]) -> Index {
        let mut index = Index::default();
        for (at, rule) in rules.iter().enumerate() {
            index.libraries.entry(rule.library.clone()).or_default().push(at);
            match &rule.matcher {
                Matcher::Moved { moves, .. } => {
                    for (m, step) in moves.iter().enumerate() {
                        index.entry(step.last_segment()).uses.push((at, m));
                        index.moves.entry(step.old.clone()).or_default().push((at, m));
                    }
                }
                Matcher::Patterns { patterns, .. } => {
                    for (p, (pattern, template)) in patterns.iter().enumerate() {
                        let new = template.as_ref().map(Template::bare);
                        if let (Some(full), None | Some(Some(_))) = (pattern.bare(), &new)
                            && full.contains('.')
                        {
                            let new = new.flatten().map(|new| in_full(&new));
                            if new.is_none() {
                                index.gone.entry(full.to_string()).or_default().push(at);
                            }
                            index.bare.entry(full.to_string()).or_default().push((at, new));
                        }
                        if let Some(called) = pattern.called() {
                            index.gone.entry(called).or_default().push(at);
                        }
                        index.add_pattern(pattern, (at, p));
                    }
                }
                Matcher::Call { callables, arguments, .. } => {
                    for (c, callable) in callables.iter().enumerate() {
                        // Without a change every call is a finding, and so is the import.
                        if let (Callable::Qualified(full), Kind::Error, false) =
                            (callable, rule.kind, arguments.changes_something())
                        {
                            index.bare.entry(full.clone()).or_default().push((at, None));
                        }
                        if let Callable::Qualified(full) = callable
                            && (arguments.callee.is_some() || !arguments.changes_something())
                        {
                            index.gone.entry(full.clone()).or_default().push(at);
                        }
                        index.entry(callable.last_segment()).callables.push((at, c));
                    }
                }
                Matcher::Default(change) => {
                    for callable in &change.callables {
                        let rules = index.defaults.entry(callable.last_segment().to_string()).or_default();
                        // Several full names of one class end alike.
                        if rules.last() != Some(&at) {
                            rules.push(at);
                        }
                    }
                }
                Matcher::Function(function) => {
                    for trigger in function.triggers {
                        index.entry(trigger).functions.push(at);
                    }
                }
            }
        }
        index
    }

    fn add_pattern(&mut self, pattern: &Pattern, place: (usize, usize)) {
        let Some(trigger) = pattern.trigger() else {
            return;
        };
        match (trigger, pattern.statement) {
            (Trigger::Name(name) | Trigger::Node(_, name), true) => {
                self.entry(&name).statements.push(place);
            }
            (Trigger::Text(_) | Trigger::Shape(_), true) => self.statements.push(place),
            (Trigger::Name(name), false) => self.entry(&name).names.push(place),
            (Trigger::Node(kind, name), false) => self.entry(&name).nodes.push((kind, place.0, place.1)),
            (Trigger::Text(text), false) => self.texts.entry(text).or_default().push(place),
            (Trigger::Shape(kind), false) => self.shapes.entry(kind).or_default().push(place),
        }
    }

    fn entry(&mut self, name: &str) -> &mut Entry {
        self.entries.entry(name.to_string()).or_default()
    }
}

/// The full name of a replacement, builtins included.
fn in_full(name: &str) -> String {
    if name.contains('.') { name.to_string() } else { format!("builtins.{name}") }
}
