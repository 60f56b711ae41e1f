//! What a statement reads and changes, to judge whether two may change places.

use std::collections::{HashMap, HashSet};

use mlem_python::tree::{Kind, Node};

use super::knowledge::knowledge;
use super::names::{base_name, function, method, stores, target_names, targets};

/// Stands for the state of the random number generators.
const RANDOM: &str = "<random>";
/// Stands for files.
const FILES: &str = "<files>";

/// Names that a statement reads and writes. What may be is taken to be.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub(super) reads: HashSet<String>,
    pub(super) writes: HashSet<String>,
}

/// What each function of a program mentions, by its name.
pub(super) fn function_names(statements: &[Node]) -> HashMap<String, HashSet<String>> {
    let mut functions: HashMap<String, HashSet<String>> = HashMap::new();
    for statement in statements {
        statement.walk(&mut |node| {
            if node.kind == Kind::Function {
                let names = functions.entry(node.text.clone()).or_default();
                node.walk(&mut |part| {
                    if part.kind == Kind::Name {
                        names.insert(part.text.clone());
                    }
                });
            }
        });
    }
    functions
}

impl Effects {
    pub(super) fn of(statement: &Node, functions: &HashMap<String, HashSet<String>>) -> Effects {
        let mut effects = Effects::default();
        stores(statement, &mut |name| {
            effects.writes.insert(name.to_owned());
        });
        statement.walk(&mut |node| effects.add(node, functions));
        effects
    }

    fn add(&mut self, node: &Node, functions: &HashMap<String, HashSet<String>>) {
        for target in targets(node) {
            let mut bound = HashSet::new();
            target_names(target, &mut |name| {
                bound.insert(name);
            });
            if let Some(name) = base_name(target).filter(|name| !bound.contains(name)) {
                self.writes.insert(name.to_owned());
            }
        }
        match node.kind {
            Kind::Name => {
                self.reads.insert(node.text.clone());
            }
            // An augmented target, and what a method is called on, may change.
            Kind::Call => {
                if let Some((name, receiver)) = method(node) {
                    if let Some(base) = base_name(receiver)
                        && !knowledge().only_shows(name)
                    {
                        self.writes.insert(base.to_owned());
                    }
                    self.topic(knowledge().method(name).map(|topic| topic.name.as_str()));
                }
                match function(node) {
                    Some(name) => self.topic(knowledge().function(name).map(|topic| topic.name.as_str())),
                    // The program's own function can do anything to what it is given.
                    None if node.children[0].kind == Kind::Name => {
                        self.both(RANDOM);
                        self.both(FILES);
                        self.reads
                            .extend(functions.get(&node.children[0].text).into_iter().flatten().cloned());
                        for argument in &node.children[1..] {
                            if let Some(base) = base_name(argument) {
                                self.writes.insert(base.to_owned());
                            }
                        }
                    }
                    None => {}
                }
            }
            Kind::Escape | Kind::Broken => {
                self.both(FILES);
            }
            _ => {}
        }
    }

    fn both(&mut self, what: &str) {
        self.reads.insert(what.to_owned());
        self.writes.insert(what.to_owned());
    }

    fn topic(&mut self, topic: Option<&str>) {
        match topic {
            Some("seed" | "synthetic" | "split" | "training" | "weights" | "layers" | "rows") => {
                self.both(RANDOM)
            }
            Some("submission" | "output") => self.both(FILES),
            Some("data") => {
                self.reads.insert(FILES.to_owned());
            }
            _ => {}
        }
    }

    /// Why these two may not change places: what both touch and one changes.
    pub(super) fn conflict<'a>(&'a self, other: &'a Effects) -> Option<&'a str> {
        let clash =
            |a: &'a HashSet<String>, b: &'a HashSet<String>| a.intersection(b).min().map(String::as_str);
        clash(&self.writes, &other.writes)
            .or_else(|| clash(&self.writes, &other.reads))
            .or_else(|| clash(&self.reads, &other.writes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlem_python::{Program, Unit};

    fn conflict(one: &str, other: &str) -> Option<String> {
        let program =
            Program::new(vec![Unit::cell("import numpy as np"), Unit::cell(one), Unit::cell(other)]);
        let (a, b) = (
            Effects::of(&program.tree(1)[0], &HashMap::new()),
            Effects::of(&program.tree(2)[0], &HashMap::new()),
        );
        a.conflict(&b).map(str::to_owned)
    }

    #[test]
    fn statements_that_share_nothing_may_change_places() {
        assert_eq!(conflict("a = b + 1", "c = b + 2"), None);
        assert_eq!(conflict("a = b.mean()", "c = b.max()"), None);
        assert_eq!(conflict("a = 1", "b = a"), Some("a".into()));
        assert_eq!(conflict("x['c'] = 1", "y = x"), Some("x".into()));
        assert_eq!(conflict("m.fit(x)", "m2 = m"), Some("m".into()));
        assert_eq!(conflict("np.random.seed(1)", "a = np.random.rand(3)"), Some("<random>".into()));
        assert_eq!(conflict("f(x)", "y = x"), Some("x".into()));
    }
}
