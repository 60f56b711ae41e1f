//! The names that a program defines itself.

use mlem_python::Program;
use mlem_python::ast::visitor::{Visitor, walk_stmt};
use mlem_python::ast::{Expr, Stmt};
use rustc_hash::FxHashSet;

/// Names of the functions, methods and attributes that the program defines itself.
pub(crate) fn defined_names(program: &Program) -> FxHashSet<&str> {
    struct Names<'a> {
        names: FxHashSet<&'a str>,
        in_class: bool,
    }
    impl<'a> Visitor<'a> for Names<'a> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            let outer = self.in_class;
            match statement {
                Stmt::FunctionDef(function) => {
                    self.names.insert(function.name.as_str());
                }
                Stmt::ClassDef(class) => {
                    self.in_class = true;
                    self.names.extend(class.body.iter().filter_map(class_attribute));
                }
                // `self.name = …` in a method.
                Stmt::Assign(assign) if self.in_class => {
                    self.names.extend(assign.targets.iter().filter_map(own_attribute));
                }
                Stmt::AnnAssign(assign) if self.in_class => {
                    self.names.extend(own_attribute(&assign.target));
                }
                _ => {}
            }
            walk_stmt(self, statement);
            self.in_class = outer;
        }
        // Expressions define nothing.
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut names = Names { names: FxHashSet::default(), in_class: false };
    for unit in program.units() {
        unit.body().iter().for_each(|statement| names.visit_stmt(statement));
    }
    names.names
}

/// The attribute that a statement of a class's body makes.
fn class_attribute(statement: &Stmt) -> Option<&str> {
    let target = match statement {
        Stmt::Assign(assign) => assign.targets.first()?,
        Stmt::AnnAssign(assign) => &*assign.target,
        _ => return None,
    };
    Some(target.as_name_expr()?.id.as_str())
}

/// `name` of `self.name`.
fn own_attribute(target: &Expr) -> Option<&str> {
    let attribute = target.as_attribute_expr()?;
    let owner = attribute.value.as_name_expr()?;
    (owner.id.as_str() == "self").then(|| attribute.attr.as_str())
}
