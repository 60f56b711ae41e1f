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

/// A binding of a name, somewhere in the program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assignment<'a> {
    pub(crate) unit: usize,
    /// Where it is in force from.
    pub(crate) at: TextSize,
    /// The value of `name = value`; of other bindings (a loop's target, one of several targets) the
    /// name itself, which says nothing.
    pub(crate) value: &'a Expr,
}

/// All bindings of a bare name by statements, in order.
pub(crate) fn assignments<'a>(program: &'a Program, name: &str) -> Vec<Assignment<'a>> {
    let mut found = Vec::new();
    each_stmt(program, |unit, statement| {
        let mut bind = |target: &'a Expr, value: Option<&'a Expr>, at: TextSize| match target {
            Expr::Name(_) if is_name(target, name) => {
                found.push(Assignment { unit, at, value: value.unwrap_or(target) });
            }
            Expr::Tuple(_) | Expr::List(_) | Expr::Starred(_) => {
                let inner = named(target, name);
                found.extend(inner.map(|value| Assignment { unit, at, value }));
            }
            _ => {}
        };
        match statement {
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| bind(target, Some(&assign.value), assign.end()));
            }
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    bind(&assign.target, Some(value), assign.end());
                }
            }
            Stmt::AugAssign(assign) => bind(&assign.target, None, assign.end()),
            Stmt::For(statement) => bind(&statement.target, None, statement.target.end()),
            Stmt::With(with) => {
                for target in with.items.iter().filter_map(|item| item.optional_vars.as_deref()) {
                    bind(target, None, target.end());
                }
            }
            _ => {}
        }
    });
    found
}

/// The name among the targets of an unpacking.
fn named<'a>(target: &'a Expr, name: &str) -> Option<&'a Expr> {
    match target {
        Expr::Name(_) => is_name(target, name).then_some(target),
        Expr::Tuple(tuple) => tuple.elts.iter().find_map(|element| named(element, name)),
        Expr::List(list) => list.elts.iter().find_map(|element| named(element, name)),
        Expr::Starred(starred) => named(&starred.value, name),
        _ => None,
    }
}

/// The binding in force at a place: the last before it, or the first of all in a function that
/// is written before.
pub(crate) fn in_force<'a>(
    assignments: &[Assignment<'a>],
    unit: usize,
    at: TextSize,
) -> Option<Assignment<'a>> {
    let before = assignments.iter().rev().find(|a| (a.unit, a.at) <= (unit, at));
    before.or(assignments.first()).copied()
}

/// The parameters of the program's functions and the variables of its comprehensions: inside, such a
/// name is not the one outside.
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
            let generators = match expr {
                Expr::ListComp(comprehension) => &comprehension.generators,
                Expr::SetComp(comprehension) => &comprehension.generators,
                Expr::DictComp(comprehension) => &comprehension.generators,
                Expr::Generator(comprehension) => &comprehension.generators,
                _ => return,
            };
            let mut names = Vec::new();
            for generator in generators {
                names_in(&generator.target, &mut names);
            }
            functions.push((unit, expr.range(), names));
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

/// The names that a target binds.
fn names_in<'a>(target: &'a Expr, names: &mut Vec<&'a str>) {
    match target {
        Expr::Name(name) => names.push(name.id.as_str()),
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| names_in(element, names)),
        Expr::List(list) => list.elts.iter().for_each(|element| names_in(element, names)),
        Expr::Starred(starred) => names_in(&starred.value, names),
        _ => {}
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
