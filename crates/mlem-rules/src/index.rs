//! Rules by the names that make them worth trying, so that checking is one walk.

use std::mem::Discriminant;

use mlem_python::ast::Expr;
use rustc_hash::FxHashMap;

use crate::call::Callable;
use crate::pattern::Trigger;
use crate::rule::{Matcher, Rule};
use crate::schema::Kind;
use crate::template::Template;

/// Rules worth trying where one name occurs: rule index with pattern, callable or move index.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) calls: Vec<(usize, usize)>,
    pub(crate) names: Vec<(usize, usize)>,
    pub(crate) subscripts: Vec<(usize, usize)>,
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
    /// Names that are gone or renamed, by their full name: the rule and the new name in full.
    pub(crate) bare: FxHashMap<String, Vec<(usize, Option<String>)>>,
    /// Rules with moves by the first segment of the old name, for imports.
    pub(crate) imports: FxHashMap<String, Vec<usize>>,
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
                        let top = step.old.split('.').next().unwrap_or_default();
                        let imports = index.imports.entry(top.to_string()).or_default();
                        if imports.last() != Some(&at) {
                            imports.push(at);
                        }
                    }
                }
                Matcher::Patterns { patterns, .. } => {
                    for (p, (pattern, template)) in patterns.iter().enumerate() {
                        let new = template.as_ref().map(Template::bare);
                        if let (Some(full), None | Some(Some(_))) = (pattern.bare(), &new)
                            && full.contains('.')
                        {
                            let new = new.flatten().map(|new| in_full(&new));
                            index.bare.entry(full.to_string()).or_default().push((at, new));
                        }
                        match pattern.trigger() {
                            None => {}
                            Some(Trigger::Call(name)) => index.entry(&name).calls.push((at, p)),
                            Some(Trigger::Name(name)) => index.entry(&name).names.push((at, p)),
                            Some(Trigger::Subscript(name)) => {
                                index.entry(&name).subscripts.push((at, p));
                            }
                            Some(Trigger::Shape(shape)) => {
                                index.shapes.entry(shape).or_default().push((at, p));
                            }
                        }
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
                        index.entry(callable.last_segment()).callables.push((at, c));
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

    fn entry(&mut self, name: &str) -> &mut Entry {
        self.entries.entry(name.to_string()).or_default()
    }
}

/// The full name of a replacement, builtins included.
fn in_full(name: &str) -> String {
    if name.contains('.') { name.to_string() } else { format!("builtins.{name}") }
}
