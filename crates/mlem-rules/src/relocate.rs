//! Moves found at run time: the same rewriting as `moved` rules, for one name whose new home was asked of the
//! installed packages.

use mlem_python::ast::visitor::{Visitor, walk_expr, walk_stmt};
use mlem_python::ast::{Expr, Stmt};
use mlem_python::{Edit, Program};

use crate::moved::{self, Move};

/// The edits, by unit, that make `program` take the module or symbol `old` from `new`: import statements and
/// dotted uses. Empty when either is no dotted name, or nothing refers to `old`.
pub fn relocate(program: &Program, old: &str, new: &str) -> Vec<(usize, Edit)> {
    let Ok(step) = Move::parse(old, new) else { return Vec::new() };
    let mut finder = Finder { program, step, unit: 0, edits: Vec::new() };
    for (unit, parsed) in program.units().iter().enumerate() {
        finder.unit = unit;
        for statement in parsed.body() {
            finder.visit_stmt(statement);
        }
    }
    finder.edits
}

struct Finder<'a> {
    program: &'a Program,
    step: Move,
    unit: usize,
    edits: Vec<(usize, Edit)>,
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let aliases = moved::moved_aliases(statement, std::slice::from_ref(&self.step));
        if !aliases.is_empty() {
            let source = self.program.units()[self.unit].source();
            let edits = match statement {
                Stmt::ImportFrom(from) => moved::edit_import_from(source, from, &aliases),
                _ => moved::edit_import(&aliases),
            };
            self.edits.extend(edits.into_iter().map(|edit| (self.unit, edit)));
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        let is_use = matches!(expr, Expr::Attribute(_))
            && self.program.qualified_name(self.unit, expr) == Some(self.step.old.as_str());
        if is_use {
            // A use that cannot be rewritten (its new name is shadowed there) is left for the next error to show.
            if let Ok(edits) = moved::edit_use(self.program, self.unit, expr, &self.step, &[]) {
                for edit in edits {
                    if !self.edits.contains(&edit) {
                        self.edits.push(edit);
                    }
                }
            }
            return;
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use mlem_python::{EditSet, Unit};

    use super::*;

    fn relocated(source: &str, old: &str, new: &str) -> String {
        let unit = Unit::cell(source);
        let program = Program::new(vec![unit]);
        let mut set = EditSet::new();
        for (_, edit) in relocate(&program, old, new) {
            set.add(edit).unwrap();
        }
        set.apply(source).unwrap()
    }

    #[test]
    fn imports_and_uses_follow_the_name() {
        assert_eq!(
            relocated("from a.b import x, y\nx()", "a.b.x", "a.c.x"),
            "from a.b import y\nfrom a.c import x\nx()"
        );
        assert_eq!(relocated("import a\na.b.x()", "a.b.x", "a.x"), "import a\na.x()");
        assert_eq!(relocated("import z", "a.b.x", "a.x"), "import z");
    }
}
