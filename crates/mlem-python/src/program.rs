//! Units in execution order, and the questions that others ask of them.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::Unit;
use crate::analysis::{Analysis, Summary, Symbol, Value, analyse};
use crate::dependents::Rerun;

/// One name that an import statement brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Index of the unit.
    pub unit: usize,
    /// The whole import statement.
    pub range: TextRange,
    /// The alias in it: `pandas as pd` of `import pandas as pd`, `x as y` of `from m import x as y`.
    pub alias_range: TextRange,
    /// The dotted name imported: `pandas`, `os.path`, `sklearn.svm.SVC`; of a star import the
    /// module. Relative imports keep their leading dots.
    pub qualified: String,
    /// The module that the statement names: `sklearn.svm` of `from sklearn.svm import SVC`.
    pub module: String,
    /// The name it binds: `os` of `import os.path`; `*` of a star import.
    pub bound: String,
    /// `from m import x` rather than `import m`.
    pub is_from: bool,
    /// `from m import *`.
    pub is_star: bool,
    /// In a `try` that catches ImportError (or a class above it), in one of its handlers, or
    /// under `contextlib.suppress(ImportError)`.
    pub guarded: bool,
    /// In a function's body, so it may never run.
    pub in_function: bool,
}

/// The module-level names that one unit deals with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Names it binds or unbinds.
    pub binds: BTreeSet<String>,
    /// Names whose object it changes in place.
    pub mutates: BTreeSet<String>,
    /// Names whose value from before the unit it reads; of functions that it calls or passes on,
    /// also what they read. A definition alone reads nothing.
    pub reads: BTreeSet<String>,
}

/// Units in execution order with their analysis.
#[derive(Clone, Debug)]
pub struct Program {
    units: Vec<Unit>,
    analysis: Analysis,
    /// Only repair asks for these.
    summaries: OnceLock<Vec<Summary>>,
    flows: OnceLock<Vec<Flow>>,
}

/// Packages whose `__init__` imports the submodules that notebooks reach through it, so that
/// `import numpy as np` makes `np.random.rand` reachable.
const EAGER_PACKAGES: &[&str] =
    &["numpy", "pandas", "tensorflow", "keras", "os", "torch", "xgboost", "lightgbm"];

impl Program {
    /// Analyses units in execution order. Units with a module name ([`Unit::named`]) have a
    /// namespace of their own, which imports of that module see.
    pub fn new(units: Vec<Unit>) -> Self {
        let analysis = analyse(&units);
        Self { units, analysis, summaries: OnceLock::new(), flows: OnceLock::new() }
    }

    /// The units, in execution order.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    fn fact(&self, unit: usize, range: TextRange) -> Option<Value> {
        self.analysis.facts.get(unit)?.get(&range).copied()
    }

    /// The dotted name by which what an expression names was defined, through imports and
    /// aliases: `pandas.DataFrame.from_csv` for `pd.DataFrame.from_csv`. A builtin that nothing
    /// rebinds is its own name. After a star import, a name that nothing binds is taken as that
    /// module's.
    pub fn qualified_name(&self, unit: usize, expr: &Expr) -> Option<&str> {
        let symbol = self.fact(unit, expr.range())?.qualified?;
        Some(self.analysis.names.text(symbol))
    }

    /// The class of an expression's value, where it is certain: `pandas.DataFrame`, `list`,
    /// `sklearn.svm.SVC` under the name by which the program imported it.
    pub fn type_of(&self, unit: usize, expr: &Expr) -> Option<&str> {
        let ty = self.fact(unit, expr.range())?.ty?;
        Some(self.analysis.names.type_name(ty)).filter(|name| !name.starts_with('~'))
    }

    /// The types of the items of a list, the elements of a tuple, the keys and values of a
    /// dictionary, where they are certain.
    pub fn item_types(&self, unit: usize, expr: &Expr) -> Vec<Option<&str>> {
        let Some(ty) = self.fact(unit, expr.range()).and_then(|fact| fact.ty) else { return Vec::new() };
        let items = self.analysis.names.arguments(ty).iter();
        items.map(|item| item.map(|item| self.analysis.names.type_name(item))).collect()
    }

    /// All imports, in the order of the source.
    pub fn imports(&self) -> &[Import] {
        &self.analysis.imports
    }

    fn imports_and_scopes(&self) -> (&[Import], &[Option<TextRange>]) {
        (&self.analysis.imports, &self.analysis.import_scopes)
    }

    /// Text that reaches a qualified name at a place through the imports in force there:
    /// `pd.concat` for `pandas.concat`. A direct import of the name is preferred.
    pub fn reference(&self, unit: usize, at: TextSize, qualified: &str) -> Option<String> {
        let mut best: Option<(usize, String)> = None;
        let mut offer = |depth: usize, text: String| {
            if best.as_ref().is_none_or(|(least, _)| depth < *least) {
                best = Some((depth, text));
            }
        };
        for name in self.analysis.bindings.keys() {
            let Some(reach) = self.reach_at(*name, unit, at) else { continue };
            if self.is_local(*name, unit, at) {
                continue;
            }
            let bound = self.analysis.names.text(*name);
            let Some(rest) = below(qualified, self.analysis.names.text(reach)) else { continue };
            if rest.is_empty() {
                offer(0, bound.to_owned());
            } else if self.is_reachable(unit, at, qualified, rest) {
                offer(rest.split('.').count(), format!("{bound}.{rest}"));
            }
        }
        let (imports, scopes) = self.imports_and_scopes();
        for (import, scope) in imports.iter().zip(scopes) {
            let Some(scope) = scope else { continue };
            let holds = import.unit == unit && scope.contains(at) && import.range.end() <= at;
            let bound = &import.bound;
            if !holds
                || import.is_star
                || (!import.is_from && *bound != import.qualified && import.qualified.contains('.'))
            {
                continue;
            }
            match below(qualified, &import.qualified) {
                Some("") => offer(0, bound.clone()),
                Some(rest) if !rest.contains('.') => offer(1, format!("{bound}.{rest}")),
                _ => {}
            }
        }
        best.map(|(_, text)| text)
    }

    /// What an import made a module-level name mean at a place, if no other binding followed. In a function, which
    /// runs later, also what an import further down makes of it, if all bindings of the name agree.
    fn reach_at(&self, name: Symbol, unit: usize, at: TextSize) -> Option<Symbol> {
        let private = |unit: usize| self.units.get(unit).is_some_and(|unit| unit.module_name().is_some());
        let visible = |other: usize| other == unit || (!private(other) && !private(unit));
        let bindings = self.analysis.bindings.get(&name)?;
        if self.analysis.runs_later(unit, at) {
            let mut reaches =
                bindings.iter().filter(|binding| visible(binding.unit)).map(|binding| binding.reach);
            if let Some(Some(first)) = reaches.next()
                && reaches.all(|reach| reach == Some(first))
            {
                return Some(first);
            }
        }
        let before = bindings
            .iter()
            .filter(|binding| visible(binding.unit) && (binding.unit, binding.at) < (unit, at));
        before.max_by_key(|binding| (binding.unit, binding.at))?.reach
    }

    /// Whether a name is not the module's at a place, but of a function, lambda or comprehension around it.
    fn is_local(&self, name: Symbol, unit: usize, at: TextSize) -> bool {
        self.analysis.local_names.iter().any(|scope| {
            scope.unit == unit && scope.range.contains_inclusive(at) && scope.names.contains(&name)
        })
    }

    /// Whether an import of `qualified` as `name` at the top of a unit would no longer hold at a place of
    /// it: something else has taken the name by then.
    pub fn is_overridden(&self, unit: usize, at: TextSize, name: &str, qualified: &str) -> bool {
        let Some(symbol) = self.analysis.names.find(name) else { return false };
        let bindings = self.analysis.bindings.get(&symbol).into_iter().flatten();
        let is_other =
            |reach: Option<Symbol>| reach.is_none_or(|reach| self.analysis.names.text(reach) != qualified);
        let mut here = bindings.filter(|binding| binding.unit == unit && binding.at < at);
        here.any(|binding| is_other(binding.reach)) || self.is_local(symbol, unit, at)
    }

    /// Whether `rest` hangs on a module without another import: an attribute of it, something in
    /// a class of it, a submodule that its package imports itself or another statement imported.
    fn is_reachable(&self, unit: usize, at: TextSize, qualified: &str, rest: &str) -> bool {
        let Some((first, _)) = rest.split_once('.') else {
            return true;
        };
        let root = qualified.split('.').next().unwrap_or(qualified);
        first.starts_with(char::is_uppercase)
            || EAGER_PACKAGES.contains(&root)
            || self.analysis.imports.iter().any(|import| {
                !import.is_from
                    && ((import.unit, import.range.end()) <= (unit, at) || self.analysis.runs_later(unit, at))
                    && below(qualified, &import.qualified).is_some_and(|rest| !rest.contains('.'))
            })
    }

    /// Whether the program binds this name anywhere, in any scope.
    pub fn name_is_bound(&self, name: &str) -> bool {
        self.analysis.names.find(name).is_some_and(|name| self.analysis.bound.contains(&name))
    }

    /// Whether the program reads this name anywhere outside of one range of one unit.
    pub fn is_name_used(&self, name: &str, except: (usize, TextRange)) -> bool {
        self.analysis.names.find(name).is_some_and(|name| self.analysis.is_used(name, except))
    }

    fn summaries(&self) -> &[Summary] {
        self.summaries.get_or_init(|| self.analysis.summaries())
    }

    /// What a unit does with module-level names. Module units with a name of their own do
    /// nothing with the program's.
    ///
    /// # Panics
    /// If there is no such unit.
    pub fn flow(&self, unit: usize) -> &Flow {
        let flows = || self.summaries().iter().map(|summary| flow(&self.analysis, summary)).collect();
        &self.flows.get_or_init(flows)[unit]
    }

    /// The units before `upto` to run again when `edited` change, in order, `edited` included.
    ///
    /// `upto` is the unit that runs next, most often the one that failed: it is taken to have
    /// run once, and what it reads is restored. [`Program::dependents_of_failure`] knows more.
    pub fn dependents(&self, edited: &[usize], upto: usize) -> Vec<usize> {
        Rerun { summaries: self.summaries(), upto, reached: None }.units(edited)
    }

    /// As [`Program::dependents`], where `upto` stopped with an error in the statement that
    /// starts at `failed`: what it does from there on has not happened.
    pub fn dependents_of_failure(&self, edited: &[usize], upto: usize, failed: TextSize) -> Vec<usize> {
        Rerun { summaries: self.summaries(), upto, reached: Some(failed) }.units(edited)
    }
}

/// What follows `prefix` in a dotted name, without the dot.
fn below<'a>(qualified: &'a str, prefix: &str) -> Option<&'a str> {
    let rest = qualified.strip_prefix(prefix)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

fn flow(analysis: &Analysis, summary: &Summary) -> Flow {
    let text = |name: Symbol| analysis.names.text(name).to_owned();
    // A read of a name that nothing in the program binds is of a builtin or of nothing.
    let known = |name: &Symbol| analysis.bindings.contains_key(name);
    Flow {
        binds: summary.binds.iter().copied().map(text).collect(),
        mutates: summary.mutates.iter().filter(|name| known(name)).copied().map(text).collect(),
        reads: summary.reads.iter().map(|read| read.name).filter(known).map(text).collect(),
    }
}
