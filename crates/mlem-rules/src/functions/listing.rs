//! Positions in the list of a folder's files. Its order is the file system's (`os` and `glob` documentation: "arbitrary
//! order"), so that `os.listdir(folder)[0]` names another file on another machine.

use mlem_python::ast::visitor::{Visitor, walk_stmt};
use mlem_python::ast::{Expr, ExprCall, Stmt};
use mlem_python::{Edit, Program, Ranged, TextRange};

use super::Context;
use super::walk::{assignments, each_expr, in_force, integer};
use crate::finding::{Finding, Fix};
use crate::judge::finding;

pub(crate) const TRIGGERS: &[&str] = &["listdir", "glob"];

/// Calls whose lists are taken by position, made to give them in the order of the names.
pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let program = context.question.program;
    let mut calls: Vec<(usize, TextRange)> = Vec::new();
    each_expr(program, |unit, expr| {
        let Expr::Subscript(subscript) = expr else { return };
        if !subscript.ctx.is_load() || !is_position(&subscript.slice) {
            return;
        }
        let listed = match &*subscript.value {
            Expr::Call(call) if is_listing(program, unit, call) => Some((unit, call.range())),
            Expr::Name(name) => listed(program, unit, name.id.as_str(), expr),
            _ => None,
        };
        if let Some(call) = listed.filter(|call| !calls.contains(call)) {
            calls.push(call);
        }
    });
    let of = |(unit, range): (usize, TextRange)| {
        let edits = vec![
            (unit, Edit { range: TextRange::empty(range.start()), text: "sorted(".into() }),
            (unit, Edit { range: TextRange::empty(range.end()), text: ")".into() }),
        ];
        finding(context.question, context.rule, unit, range, None, false, Ok(Some(Fix { edits })))
    };
    calls.into_iter().filter_map(of).collect()
}

/// A number or a range of numbers.
fn is_position(slice: &Expr) -> bool {
    match slice {
        Expr::Slice(slice) => {
            let bounds = [&slice.lower, &slice.upper, &slice.step];
            bounds.iter().any(|bound| bound.is_some())
        }
        other => integer(other).is_some(),
    }
}

fn is_listing(program: &Program, unit: usize, call: &ExprCall) -> bool {
    matches!(program.qualified_name(unit, &call.func), Some("os.listdir" | "glob.glob"))
}

/// The call that a name's list comes from, if nothing has put it in order or changed it since.
fn listed(program: &Program, unit: usize, name: &str, use_: &Expr) -> Option<(usize, TextRange)> {
    let assigned = in_force(&assignments(program, name), unit, use_.start())?;
    let Expr::Call(call) = assigned.value else { return None };
    let is_touched = program.units().iter().any(|parsed| {
        let mut touches = Touches { name, found: false };
        parsed.body().iter().for_each(|statement| touches.visit_stmt(statement));
        touches.found
    });
    (is_listing(program, assigned.unit, call) && !is_touched).then(|| (assigned.unit, call.range()))
}

/// `name.sort()`, `random.shuffle(name)` and the like: the list has the order that the notebook gave it.
struct Touches<'n> {
    name: &'n str,
    found: bool,
}

impl<'a> Visitor<'a> for Touches<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Expr(expression) = statement
            && let Expr::Call(call) = &*expression.value
            && let Expr::Attribute(method) = &*call.func
        {
            let is_it = |expr: &Expr| matches!(expr, Expr::Name(name) if name.id.as_str() == self.name);
            self.found |= is_it(&method.value) && matches!(method.attr.as_str(), "sort" | "reverse")
                || method.attr.as_str() == "shuffle" && call.arguments.args.iter().any(is_it);
        }
        walk_stmt(self, statement);
    }
}
