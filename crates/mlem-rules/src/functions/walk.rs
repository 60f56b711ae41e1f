//! Walks over all units that function rules share.

use mlem_python::ast::visitor::{Visitor, walk_expr, walk_stmt};
use mlem_python::ast::{Expr, Stmt};
use mlem_python::{Program, Ranged, TextRange, TextSize};

struct Each<'f, 'a> {
    unit: usize,
    on_stmt: &'f mut dyn FnMut(usize, &'a Stmt),
    on_expr: &'f mut dyn FnMut(usize, &'a Expr),
}

impl<'a> Visitor<'a> for Each<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        (self.on_stmt)(self.unit, statement);
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        (self.on_expr)(self.unit, expr);
        walk_expr(self, expr);
    }
}

fn each<'a>(
    program: &'a Program,
    on_stmt: &mut dyn FnMut(usize, &'a Stmt),
    on_expr: &mut dyn FnMut(usize, &'a Expr),
) {
    for (unit, parsed) in program.units().iter().enumerate() {
        let mut each = Each { unit, on_stmt, on_expr };
        for statement in parsed.body() {
            each.visit_stmt(statement);
        }
    }
}

/// Calls a function with every expression of the program, in source order of their parents.
pub(crate) fn each_expr<'a>(program: &'a Program, mut on: impl FnMut(usize, &'a Expr)) {
    each(program, &mut |_, _| {}, &mut on);
}

/// Calls a function with every statement of the program, nested ones too.
pub(crate) fn each_stmt<'a>(program: &'a Program, mut on: impl FnMut(usize, &'a Stmt)) {
    each(program, &mut on, &mut |_, _| {});
}

/// `name = value`, somewhere in the program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assignment<'a> {
    pub(crate) unit: usize,
    pub(crate) at: TextSize,
    pub(crate) value: &'a Expr,
}

/// All assignments to a bare name, in order.
pub(crate) fn assignments<'a>(program: &'a Program, name: &str) -> Vec<Assignment<'a>> {
    let mut found = Vec::new();
    each_stmt(program, |unit, statement| {
        if let Stmt::Assign(assign) = statement
            && assign.targets.iter().any(|target| is_name(target, name))
        {
            found.push(Assignment { unit, at: statement.start(), value: &assign.value });
        }
    });
    found
}

/// The assignment in force at a place: the last before it, or the first of all in a function that
/// is written before.
pub(crate) fn in_force<'a>(
    assignments: &[Assignment<'a>],
    unit: usize,
    at: TextSize,
) -> Option<Assignment<'a>> {
    let before = assignments.iter().rev().find(|a| (a.unit, a.at) < (unit, at));
    before.or(assignments.first()).copied()
}

/// The parameters of the program's functions: inside, such a name is not the one outside.
pub(crate) struct Parameters<'a> {
    functions: Vec<(usize, TextRange, Vec<&'a str>)>,
}

impl<'a> Parameters<'a> {
    pub(crate) fn collect(program: &'a Program) -> Self {
        let mut functions = Vec::new();
        each_stmt(program, |unit, statement| {
            if let Stmt::FunctionDef(function) = statement {
                let names = function.parameters.iter().map(|parameter| parameter.name().as_str());
                functions.push((unit, function.range, names.collect()));
            }
        });
        each_expr(program, |unit, expr| {
            if let Expr::Lambda(lambda) = expr
                && let Some(parameters) = &lambda.parameters
            {
                let names = parameters.iter().map(|parameter| parameter.name().as_str());
                functions.push((unit, lambda.range, names.collect()));
            }
        });
        Parameters { functions }
    }

    /// Whether a name used here is a parameter.
    pub(crate) fn hide(&self, unit: usize, used: TextRange, name: &str) -> bool {
        self.functions
            .iter()
            .any(|(at, range, names)| *at == unit && range.contains_range(used) && names.contains(&name))
    }
}

/// Whether an expression is this bare name.
pub(crate) fn is_name(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Name(found) if found.id.as_str() == name)
}

/// The integer an expression is literally.
pub(crate) fn integer(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::NumberLiteral(number) => match &number.value {
            mlem_python::ast::Number::Int(value) => value.as_i64(),
            _ => None,
        },
        Expr::UnaryOp(unary) if unary.op == mlem_python::ast::UnaryOp::USub => {
            integer(&unary.operand).map(|value| -value)
        }
        _ => None,
    }
}

/// Whether an expression is literally this truth value.
pub(crate) fn is_bool(expr: &Expr, value: bool) -> bool {
    matches!(expr, Expr::BooleanLiteral(literal) if literal.value == value)
}
