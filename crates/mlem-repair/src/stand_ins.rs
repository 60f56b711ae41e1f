//! What stands in for a module that cannot be had: a reviewed table, and the edits that follow from a row of it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mlem_environment::{Distribution, Environment};
use mlem_python::ast::visitor::{Visitor, walk_expr, walk_stmt};
use mlem_python::ast::{Expr, Stmt};
use mlem_python::{Edit, EditSet, Program, Ranged};
use serde::Deserialize;

use crate::comment::comment_out;

/// One row of `data/stand_ins.toml`, which says what its fields mean.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StandIn {
    import: String,
    needs: Vec<String>,
    #[serde(default)]
    moved: BTreeMap<String, String>,
    #[serde(default)]
    methods: BTreeMap<String, String>,
    #[serde(default)]
    calls: Vec<String>,
    #[serde(default)]
    drop: bool,
    note: Option<String>,
    pub(crate) source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    stand_in: Vec<StandIn>,
}

static TABLE: LazyLock<Vec<StandIn>> = LazyLock::new(|| {
    // The table is part of the program, and a test reads it.
    #[expect(clippy::unwrap_used)]
    let table: Table = toml::from_str(include_str!("../data/stand_ins.toml")).unwrap();
    table.stand_in
});

/// The row for a top-level import.
pub(crate) fn of(import: &str) -> Option<&'static StandIn> {
    TABLE.iter().find(|row| row.import == import)
}

impl StandIn {
    /// What has to be installed for it; `None` where that is not to be had, since the environment is not ours.
    pub(crate) fn installs(&self, environment: &Environment) -> Option<Vec<Distribution>> {
        let lacking: Vec<Distribution> = self
            .needs
            .iter()
            .filter(|name| environment.version_of(name).is_none())
            .map(|name| Distribution::new(name))
            .collect();
        (lacking.is_empty() || environment.is_ours()).then_some(lacking)
    }

    /// In a sentence.
    pub(crate) fn reason(&self) -> String {
        let what = if self.moved.is_empty() {
            self.methods.iter().map(|(old, new)| format!("`{old}` is `{new}`")).collect::<Vec<_>>()
        } else {
            self.moved.iter().map(|(old, new)| format!("`{new}` for `{old}`")).collect()
        };
        let note = self.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
        format!("`{}` cannot be had; what stands in for it: {}{note}", self.import, what.join(", "))
    }

    /// The edits by unit; empty when the program uses something of the module that nothing stands in for.
    pub(crate) fn edits(&self, program: &Program) -> Vec<(usize, Vec<Edit>)> {
        let mut all: BTreeMap<usize, Vec<Edit>> = BTreeMap::new();
        for (old, new) in &self.moved {
            for (unit, edit) in mlem_rules::relocate(program, old, new) {
                all.entry(unit).or_default().push(edit);
            }
        }
        for (unit, parsed) in program.units().iter().enumerate() {
            let mut uses = Uses { row: self, program, unit, source: parsed.source(), edits: Vec::new() };
            for statement in parsed.body() {
                uses.visit_stmt(statement);
            }
            if !uses.edits.is_empty() {
                all.entry(unit).or_default().extend(uses.edits);
            }
        }
        if self.leaves_some(program, &all) { Vec::new() } else { all.into_iter().collect() }
    }

    /// Whether the module is still imported after the edits.
    fn leaves_some(&self, program: &Program, edits: &BTreeMap<usize, Vec<Edit>>) -> bool {
        let edited = program.units().iter().enumerate().map(|(unit, parsed)| {
            let mut set = EditSet::new();
            let fits = set.add_all(edits.get(&unit).cloned().unwrap_or_default()).is_ok();
            fits.then(|| set.apply_checked(parsed).ok()).flatten().unwrap_or_else(|| parsed.clone())
        });
        let edited = Program::new(edited.collect());
        let is_it = |name: &str| name == self.import || name.starts_with(&format!("{}.", self.import));
        edited.imports().iter().any(|import| is_it(&import.module) || is_it(&import.qualified))
    }
}

struct Uses<'a> {
    row: &'a StandIn,
    program: &'a Program,
    unit: usize,
    source: &'a str,
    edits: Vec<Edit>,
}

impl<'a> Visitor<'a> for Uses<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let goes = match statement {
            Stmt::Import(_) | Stmt::ImportFrom(_) => {
                let mut imports = self
                    .program
                    .imports()
                    .iter()
                    .filter(|import| import.unit == self.unit && import.range == statement.range())
                    .peekable();
                self.row.drop
                    && imports.peek().is_some()
                    && imports.all(|import| import.module.split('.').next() == Some(&self.row.import))
            }
            Stmt::Expr(expression) => {
                matches!(&*expression.value, Expr::Call(call) if self
                    .program
                    .qualified_name(self.unit, &call.func)
                    .is_some_and(|name| self.row.calls.iter().any(|known| known == name)))
            }
            _ => false,
        };
        if goes && let Some(edit) = comment_out(self.source, statement.range()) {
            self.edits.push(edit);
            return;
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Attribute(attribute) = expr
            && let Some(new) = self.row.methods.get(attribute.attr.as_str())
        {
            self.edits.push(Edit::replacement(attribute.attr.range(), new.as_str()));
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use mlem_python::Unit;

    use super::*;

    fn replaced(cell: &str, import: &str) -> Option<String> {
        let program = Program::new(vec![Unit::cell(cell)]);
        let mut set = EditSet::new();
        let edits = of(import)?.edits(&program);
        edits.into_iter().for_each(|(_, edits)| set.add_all(edits).unwrap());
        (!set.is_empty()).then(|| set.apply(cell).unwrap())
    }

    #[test]
    fn every_row_has_a_source_and_something_to_do() {
        for row in TABLE.iter() {
            assert!(!row.source.is_empty(), "{row:?}");
            assert!(!row.moved.is_empty() || !row.methods.is_empty(), "{row:?}");
        }
    }

    #[test]
    fn modules_and_methods_give_way() {
        assert_eq!(
            replaced("from Levenshtein import distance\nd = distance('a', 'b')", "Levenshtein").as_deref(),
            Some("from rapidfuzz.distance.Levenshtein import distance\nd = distance('a', 'b')")
        );
        assert_eq!(
            replaced("import pandas_profiling as pp\npp.ProfileReport(df)", "pandas_profiling").as_deref(),
            Some("import ydata_profiling as pp\npp.ProfileReport(df)")
        );
        assert_eq!(
            replaced(
                "from pandarallel import pandarallel\npandarallel.initialize(progress_bar=True)\ns.parallel_apply(f)",
                "pandarallel"
            )
            .as_deref(),
            Some("# from pandarallel import pandarallel\n# pandarallel.initialize(progress_bar=True)\ns.apply(f)")
        );
        assert_eq!(replaced("from Levenshtein import editops\neditops('a', 'b')", "Levenshtein"), None);
    }
}
