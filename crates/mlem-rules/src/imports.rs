//! Imports a replacement needs: how a qualified name is reached, and where an import goes.

use std::collections::BTreeSet;

use mlem_python::ast::Stmt;
use mlem_python::{Edit, Program, Ranged, TextRange, TextSize, Unit};

/// One import statement of a rule's `needs`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Need {
    /// The statement, e.g. `import pandas as pd`.
    pub(crate) statement: String,
    /// The dotted name it imports, e.g. `pandas`.
    pub(crate) qualified: String,
    /// The text that reaches that name afterwards: `pd`, or `scipy.special` of a plain import.
    pub(crate) reached_by: String,
    /// The name it binds: `pd`, `scipy`.
    pub(crate) bound: String,
}

impl Need {
    pub(crate) fn parse(statement: &str) -> Result<Need, String> {
        let unit = Unit::module(statement);
        let refuse = || Err(format!("`{statement}` is not one import of one name"));
        match unit.body() {
            [Stmt::Import(import)] if import.names.len() == 1 => {
                let alias = &import.names[0];
                let qualified = alias.name.to_string();
                let (reached_by, bound) = match &alias.asname {
                    Some(name) => (name.to_string(), name.to_string()),
                    None => {
                        let top = qualified.split('.').next().unwrap_or_default();
                        (qualified.clone(), top.to_string())
                    }
                };
                Ok(Need { statement: statement.to_string(), qualified, reached_by, bound })
            }
            [Stmt::ImportFrom(import)] if import.names.len() == 1 && import.level == 0 => {
                let alias = &import.names[0];
                let Some(module) = &import.module else {
                    return refuse();
                };
                if alias.name.as_str() == "*" {
                    return refuse();
                }
                let bound = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
                Ok(Need {
                    statement: statement.to_string(),
                    qualified: format!("{module}.{}", alias.name),
                    reached_by: bound.clone(),
                    bound,
                })
            }
            _ => refuse(),
        }
    }

    /// The text for a qualified name once this import stands, if it reaches it.
    pub(crate) fn reach(&self, qualified: &str) -> Option<String> {
        let rest = qualified.strip_prefix(&self.qualified)?;
        (rest.is_empty() || rest.starts_with('.')).then(|| format!("{}{rest}", self.reached_by))
    }

    /// Whether `from module import *` brings what the import would.
    fn comes_with_a_star(&self, program: &Program) -> bool {
        let module = self.qualified.rsplit_once('.').filter(|_| self.statement.starts_with("from "));
        module.is_some_and(|(module, _)| {
            program.imports().iter().any(|import| import.is_star && import.qualified == module)
        }) && !program.name_is_bound(&self.bound)
    }

    /// Whether the import would take a name the program uses for something else.
    fn is_taken(&self, program: &Program) -> bool {
        if !program.name_is_bound(&self.bound) {
            return false;
        }
        let brings_the_same = |import: &mlem_python::Import| {
            import.bound == self.bound
                && (import.qualified == self.qualified
                    || (self.reached_by.contains('.')
                        && import.qualified.split('.').next() == Some(self.bound.as_str())))
        };
        !program.imports().iter().any(brings_the_same)
    }
}

/// The text that reaches a module which has been imported itself, not only its package.
pub(crate) fn module_reference(program: &Program, unit: usize, at: TextSize, module: &str) -> Option<String> {
    let text = program.reference(unit, at, module)?;
    let is_imported = |import: &mlem_python::Import| !import.is_from && import.qualified == module;
    (!text.contains('.') || program.imports().iter().any(is_imported)).then_some(text)
}

/// How a qualified name can be written at a place.
pub(crate) enum Reach {
    Text(String),
    Blocked(String),
}

/// Finds texts for qualified names in one unit, and collects the imports that have to be added.
pub(crate) struct Needs<'a> {
    program: &'a Program,
    unit: usize,
    offered: &'a [Need],
    used: BTreeSet<String>,
}

impl<'a> Needs<'a> {
    pub(crate) fn new(program: &'a Program, unit: usize, offered: &'a [Need]) -> Self {
        Needs { program, unit, offered, used: BTreeSet::new() }
    }

    /// The text that reaches `qualified` at a place of this unit.
    pub(crate) fn reach(&mut self, at: TextSize, qualified: &str) -> Reach {
        if let Some(text) = self.program.reference(self.unit, at, qualified) {
            return Reach::Text(text);
        }
        let is_offered = self.offered.iter().any(|need| need.reach(qualified).is_some());
        if !qualified.contains('.') && !is_offered {
            return if self.program.name_is_bound(qualified) {
                Reach::Blocked(format!("the notebook uses the name `{qualified}` for its own"))
            } else {
                Reach::Text(qualified.to_string())
            };
        }
        let mut taken = None;
        for need in self.offered {
            let Some(text) = need.reach(qualified) else {
                continue;
            };
            // What the import would bring may be reached already, under another name.
            if let Some(reached) = module_reference(self.program, self.unit, at, &need.qualified) {
                let rest = &qualified[need.qualified.len()..];
                return Reach::Text(format!("{reached}{rest}"));
            }
            if need.comes_with_a_star(self.program) {
                return Reach::Text(text);
            }
            let meant = if need.reached_by.contains('.') { &need.bound } else { &need.qualified };
            if need.is_taken(self.program) || self.program.is_overridden(self.unit, at, &need.bound, meant) {
                taken = Some(&need.bound);
                continue;
            }
            self.used.insert(need.statement.clone());
            return Reach::Text(text);
        }
        if let Some(name) = taken {
            return Reach::Blocked(format!(
                "the notebook uses the name `{name}` for its own, which `{qualified}` would need"
            ));
        }
        // A method of a builtin (`str.upper`) needs no import.
        Reach::Text(qualified.to_string())
    }

    /// Adds an import outright.
    pub(crate) fn require(&mut self, statement: &str) {
        self.used.insert(statement.to_string());
    }

    /// The edits that add the imports found necessary.
    pub(crate) fn into_edits(self) -> Vec<(usize, Edit)> {
        self.used
            .iter()
            .map(|statement| (self.unit, insertion(&self.program.units()[self.unit], statement)))
            .collect()
    }
}

/// The edit that puts an import at the top of a unit: after magics, a docstring and
/// `from __future__` imports.
pub(crate) fn insertion(unit: &Unit, statement: &str) -> Edit {
    let source = unit.source();
    let mut previous_end = None;
    for (index, stmt) in unit.body().iter().enumerate() {
        let is_docstring = index == 0
            && matches!(stmt, Stmt::Expr(s) if s.value.is_string_literal_expr())
            && unit.body().len() > 1;
        let is_future = matches!(stmt, Stmt::ImportFrom(import)
            if import.module.as_ref().is_some_and(|m| m.as_str() == "__future__"));
        let is_magic = matches!(stmt, Stmt::IpyEscapeCommand(_));
        if is_docstring || is_future || is_magic {
            previous_end = Some(stmt.end());
            continue;
        }
        let start = stmt.start().to_usize();
        let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
        let before = &source[line_start..start];
        return if before.trim().is_empty() {
            Edit {
                range: TextRange::empty(crate::tokens::offset(line_start)),
                text: format!("{before}{statement}\n"),
            }
        } else {
            Edit { range: TextRange::empty(stmt.start()), text: format!("{statement}; ") }
        };
    }
    match previous_end {
        Some(end) => Edit { range: TextRange::empty(end), text: format!("\n{statement}") },
        None => Edit { range: TextRange::empty(TextSize::new(0)), text: format!("{statement}\n") },
    }
}
