//! Names and arguments that the target interpreter does not have, in any library, rule or no rule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mlem_environment::{Answer, Confidence, Probe};
use mlem_python::ast::visitor::{Visitor, walk_expr};
use mlem_python::ast::{Expr, ExprCall};
use mlem_python::{Program, Ranged, TextSize};

/// A name or argument that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vanished {
    /// Unit of the program.
    pub unit: usize,
    /// Where it is referred to.
    pub at: TextSize,
    /// In a line: what is not there, in which version, and where it may be now.
    pub message: String,
    /// Where it may be now, of a name.
    pub moved: Option<Relocation>,
}

/// A name and the place that offers it today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// The dotted name that is gone.
    pub old: String,
    /// The dotted name that is there.
    pub new: String,
    /// The distribution that has it.
    pub distribution: String,
    /// No other place offers it; else it is the likeliest of several.
    pub is_only: bool,
}

/// Asks the interpreter for every dotted name and keyword argument that `program` uses of an installed library.
///
/// A name is reported once a unit. Names below one that is reported in an earlier place, imports guarded against their absence, and
/// whatever the interpreter cannot tell are passed over.
pub fn find(program: &Program, probe: &mut Probe, folder: &Path) -> Vec<Vanished> {
    let guarded: BTreeSet<&str> = program
        .imports()
        .iter()
        .filter(|import| import.guarded)
        .flat_map(|import| [import.qualified.as_str(), import.module.as_str()])
        .collect();
    let mut references = References { program, unit: 0, names: BTreeMap::new(), keywords: Vec::new() };
    for import in program.imports() {
        if !import.is_star && !import.qualified.starts_with('.') {
            references
                .names
                .entry((import.unit, import.qualified.clone()))
                .or_insert(import.alias_range.start());
        }
    }
    for (unit, parsed) in program.units().iter().enumerate() {
        references.unit = unit;
        for statement in parsed.body() {
            references.visit_stmt(statement);
        }
    }
    let mut asked: BTreeMap<String, Answer> = BTreeMap::new();
    let mut answer = |probe: &mut Probe, name: &str| -> Answer {
        asked.entry(name.to_owned()).or_insert_with(|| probe.lookup(name)).clone()
    };
    let mut found: Vec<Vanished> = Vec::new();
    let mut gone: Vec<String> = Vec::new();
    for ((unit, name), at) in &references.names {
        let top = name.split('.').next().unwrap_or(name);
        let below = |parent: &String| name.starts_with(&format!("{parent}."));
        let is_guarded = guarded.iter().any(|each| name == each || name.starts_with(&format!("{each}.")));
        if gone.iter().any(|parent| parent == name || below(parent)) || is_guarded {
            continue;
        }
        match answer(probe, top).exists {
            Some(true) => {}
            // Reported once, where it is first imported; the notebook's own modules are no library.
            Some(false) if !is_own(folder, top) => {
                let message = format!("`{top}` is not installed in the target");
                found.push(Vanished { unit: *unit, at: *at, message, moved: None });
                gone.push(top.to_owned());
                continue;
            }
            _ => continue,
        }
        let reply = answer(probe, name);
        if reply.exists == Some(false) {
            let moved = relocation(probe, name);
            let message = message(name, &reply, moved.as_ref());
            found.push(Vanished { unit: *unit, at: *at, message, moved });
            gone.push(name.clone());
        }
    }
    for (unit, name, keyword, at) in references.keywords {
        let reply = answer(probe, &name);
        if reply.exists == Some(true) && reply.accepts_keyword(&keyword) == Some(false) {
            let of = of(&reply);
            let message = format!("`{name}` takes no argument `{keyword}`{of}");
            found.push(Vanished { unit, at, message, moved: None });
        }
    }
    found.sort_by_key(|each| (each.unit, each.at));
    found
}

fn is_own(folder: &Path, top: &str) -> bool {
    folder
        .ancestors()
        .take(3)
        .any(|place| place.join(top).is_dir() || place.join(format!("{top}.py")).is_file())
}

fn of(answer: &Answer) -> String {
    match (&answer.distribution, &answer.version) {
        (Some(distribution), Some(version)) => format!(" in {distribution} {version}"),
        _ => String::new(),
    }
}

fn relocation(probe: &mut Probe, name: &str) -> Option<Relocation> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let home = probe.where_now(last, name.split('.').next()).into_iter().next()?;
    let is_only = match home.confidence {
        Confidence::Only => true,
        Confidence::Likely => false,
        _ => return None,
    };
    let new = home.qualified;
    (new != name).then(|| Relocation { old: name.to_owned(), new, distribution: home.distribution, is_only })
}

fn message(name: &str, answer: &Answer, moved: Option<&Relocation>) -> String {
    let now = match moved {
        Some(Relocation { new, is_only: true, .. }) => format!("; it is `{new}` now"),
        Some(Relocation { new, .. }) => format!("; it may be `{new}` now"),
        None => String::new(),
    };
    format!("`{name}` is not there{}{now}", of(answer))
}

struct References<'a> {
    program: &'a Program,
    unit: usize,
    names: BTreeMap<(usize, String), TextSize>,
    keywords: Vec<(usize, String, String, TextSize)>,
}

impl<'a> Visitor<'a> for References<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Attribute(_) => {
                if let Some(name) = self.program.qualified_name(self.unit, expr) {
                    self.names.entry((self.unit, name.to_owned())).or_insert(expr.start());
                }
            }
            Expr::Call(ExprCall { func, arguments, .. }) => {
                if let Some(name) = self.program.qualified_name(self.unit, func)
                    && name.contains('.')
                {
                    for keyword in &arguments.keywords {
                        if let Some(argument) = &keyword.arg {
                            let at = keyword.start();
                            self.keywords.push((self.unit, name.to_owned(), argument.to_string(), at));
                        }
                    }
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}
