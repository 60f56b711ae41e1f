//! Units in execution order, and what one pass over them found.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Unit;

/// One name that an import statement brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Index of the unit.
    pub unit: usize,
    /// The whole import statement.
    pub range: TextRange,
    /// The alias within it: `pandas as pd` of `import pandas as pd`, `x as y` of `from m import x as y`.
    pub alias_range: TextRange,
    /// The dotted name imported: `pandas`, `os.path`, `sklearn.svm.SVC`; of a star import the
    /// module. Relative imports keep their leading dots.
    pub qualified: String,
    /// The module named in the statement: `sklearn.svm` of `from sklearn.svm import SVC`.
    pub module: String,
    /// The name it binds: `os` of `import os.path`; `*` of a star import.
    pub bound: String,
    /// `from m import x` rather than `import m`.
    pub is_from: bool,
    /// `from m import *`.
    pub is_star: bool,
    /// In a `try` that catches ImportError, ModuleNotFoundError, Exception or everything, or in one of its handlers.
    pub guarded: bool,
    /// In a function body, so it may never run.
    pub in_function: bool,
}

/// The global names that one unit touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Names it binds.
    pub binds: BTreeSet<String>,
    /// Names whose object it changes.
    pub mutates: BTreeSet<String>,
    /// Names whose value from before the unit it reads.
    pub reads: BTreeSet<String>,
}

/// Units in execution order with their analysis.
#[derive(Clone, Debug)]
pub struct Program {
    units: Vec<Unit>,
    imports: Vec<Import>,
    names: Vec<FxHashMap<TextRange, String>>,
    flows: Vec<Flow>,
    bound: FxHashSet<String>,
    used: FxHashMap<String, Vec<(usize, TextRange)>>,
}

impl Program {
    /// Analyses units in execution order.
    pub fn new(units: Vec<Unit>) -> Self {
        let mut pass = Pass::default();
        for (index, unit) in units.iter().enumerate() {
            pass.unit = index;
            pass.names.push(FxHashMap::default());
            pass.flows.push(Flow::default());
            for stmt in unit.body() {
                pass.visit_stmt(stmt);
            }
        }
        Self {
            units,
            imports: pass.imports,
            names: pass.names,
            flows: pass.flows,
            bound: pass.bound,
            used: pass.used,
        }
    }

    /// The units, in execution order.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The dotted name by which an expression is defined, through imports and aliases:
    /// `pandas.DataFrame.from_csv` for `pd.DataFrame.from_csv`. Names of builtins that nothing
    /// rebinds stand for themselves.
    pub fn qualified_name(&self, unit: usize, expr: &Expr) -> Option<&str> {
        self.names.get(unit)?.get(&expr.range()).map(String::as_str)
    }

    /// The type of an expression's value, where it is certain.
    pub fn type_of(&self, _unit: usize, _expr: &Expr) -> Option<&str> {
        None
    }

    /// All imports, in order.
    pub fn imports(&self) -> &[Import] {
        &self.imports
    }

    /// Text that reaches a qualified name at a place with the imports in force there, e.g.
    /// `pd.concat` for `pandas.concat`.
    pub fn reference(&self, unit: usize, at: TextSize, qualified: &str) -> Option<String> {
        let before = |import: &&Import| (import.unit, import.range.end()) <= (unit, at) && !import.is_star;
        let reach = |import: &Import| {
            let rest = qualified.strip_prefix(&import.qualified)?;
            if rest.is_empty() {
                return Some(import.bound.clone());
            }
            rest.starts_with('.').then(|| format!("{}{rest}", import.bound))
        };
        self.imports.iter().filter(before).filter_map(reach).next_back()
    }

    /// Whether the program binds this name anywhere, in any scope.
    pub fn name_is_bound(&self, name: &str) -> bool {
        self.bound.contains(name)
    }

    /// Whether the program reads this name anywhere but in one place.
    pub fn is_name_used(&self, name: &str, except: (usize, TextRange)) -> bool {
        self.used.get(name).is_some_and(|places| {
            places.iter().any(|(unit, range)| *unit != except.0 || !except.1.contains_range(*range))
        })
    }

    /// What a unit does with global names.
    pub fn flow(&self, unit: usize) -> &Flow {
        &self.flows[unit]
    }

    /// The units before `upto` to run again when `edited` change, in order, `edited` included.
    pub fn dependents(&self, edited: &[usize], upto: usize) -> Vec<usize> {
        let first = edited.iter().copied().min().unwrap_or(upto);
        (first..upto).collect()
    }
}

#[derive(Default)]
struct Pass {
    unit: usize,
    imports: Vec<Import>,
    env: FxHashMap<String, String>,
    names: Vec<FxHashMap<TextRange, String>>,
    flows: Vec<Flow>,
    bound: FxHashSet<String>,
    used: FxHashMap<String, Vec<(usize, TextRange)>>,
}

impl Pass {
    fn import(&mut self, range: TextRange, alias: &ast::Alias, module: Option<&str>) {
        let name = alias.name.as_str();
        let is_star = name == "*";
        let qualified = match module {
            Some(module) if is_star => module.to_owned(),
            Some(module) => format!("{module}.{name}"),
            None => name.to_owned(),
        };
        let bound = match (&alias.asname, module) {
            (Some(asname), _) => asname.to_string(),
            (None, Some(_)) => name.to_owned(),
            (None, None) => name.split('.').next().unwrap_or(name).to_owned(),
        };
        let reached =
            if alias.asname.is_none() && module.is_none() { bound.clone() } else { qualified.clone() };
        self.bound.insert(bound.clone());
        self.flows[self.unit].binds.insert(bound.clone());
        self.env.insert(bound.clone(), reached);
        self.imports.push(Import {
            unit: self.unit,
            range,
            alias_range: alias.range,
            module: module.unwrap_or(name).to_owned(),
            qualified,
            bound,
            is_from: module.is_some(),
            is_star,
            guarded: false,
            in_function: false,
        });
    }
}

impl<'a> Visitor<'a> for Pass {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.import(import.range, alias, None);
                }
            }
            Stmt::ImportFrom(import) => {
                let mut module = ".".repeat(import.level as usize);
                module.push_str(import.module.as_ref().map_or("", |name| name.as_str()));
                for alias in &import.names {
                    self.import(import.range, alias, Some(&module));
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        walk_expr(self, expr);
        let qualified = match expr {
            Expr::Name(name) if name.ctx.is_load() => {
                self.used.entry(name.id.to_string()).or_default().push((self.unit, name.range));
                self.env.get(name.id.as_str()).cloned()
            }
            Expr::Name(name) => {
                self.bound.insert(name.id.to_string());
                self.env.remove(name.id.as_str());
                None
            }
            Expr::Attribute(attribute) => {
                let base = self.names[self.unit].get(&attribute.value.range());
                base.map(|base| format!("{base}.{}", attribute.attr))
            }
            _ => None,
        };
        if let Some(qualified) = qualified {
            self.names[self.unit].insert(expr.range(), qualified);
        }
    }
}
