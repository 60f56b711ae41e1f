//! `normed` kept in a dict for a later call of `hist`: `density` since matplotlib 3.1
//! (2.1.0 and 3.1.0 API changes). A dict that is handed to a function of the notebook's own is left
//! alone: that function may well take an argument of this name.

use mlem_python::ast::{Expr, Stmt};
use mlem_python::{Edit, Program, Ranged};

use super::Context;
use super::walk::{Parameters, each_expr, each_stmt, is_name};
use crate::call::in_quotes_of;
use crate::finding::{Finding, Fix};
use crate::judge::finding;
use crate::pattern::names;

pub(crate) const TRIGGERS: &[&str] = &["hist", "hist2d", "distplot", "plot", "jointplot", "pairplot"];

const OLD: &str = "normed";
const NEW: &str = "density";

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let program = context.question.program;
    let mut kept = Vec::new();
    each_expr(program, |unit, expr| {
        if let Some(edit) = rename(program, unit, expr) {
            kept.push((unit, expr, edit));
        }
    });
    if kept.is_empty() {
        return Vec::new();
    }
    let own = OwnFunctions::collect(program);
    let mut findings = Vec::new();
    for (unit, expr, edit) in kept {
        if takers(program, unit, expr).iter().any(|(at, taker)| own.is_called(*at, taker)) {
            continue;
        }
        let range = edit.range;
        let fix = Ok(Some(Fix { edits: vec![(unit, edit)] }));
        findings.extend(finding(context.question, context.rule, unit, range, None, false, fix));
    }
    findings
}

/// The edit for `{'normed': True}` or `dict(normed=True)`, the only places where the name stands alone.
fn rename(program: &Program, unit: usize, expr: &Expr) -> Option<Edit> {
    let source = program.units()[unit].source();
    let is_flag = |value: &Expr| matches!(value, Expr::BooleanLiteral(_) | Expr::NumberLiteral(_));
    match expr {
        Expr::Dict(dict) => {
            if dict.items.iter().any(|item| key(item.key.as_ref()) == Some(NEW)) {
                return None;
            }
            let item = dict.items.iter().find(|item| key(item.key.as_ref()) == Some(OLD))?;
            let range = item.key.as_ref()?.range();
            let text = in_quotes_of(&source[range], &format!("'{NEW}'"));
            is_flag(&item.value).then_some(Edit { range, text })
        }
        Expr::Call(call) if names(program, unit, &call.func, "dict") => {
            let given = |name: &str| {
                let keywords = &call.arguments.keywords;
                keywords.iter().find(|k| k.arg.as_ref().is_some_and(|arg| arg.as_str() == name))
            };
            let keyword = given(OLD).filter(|keyword| is_flag(&keyword.value))?;
            let range = keyword.arg.as_ref()?.range;
            given(NEW).is_none().then(|| Edit { range, text: NEW.to_string() })
        }
        _ => None,
    }
}

fn key(key: Option<&Expr>) -> Option<&str> {
    match key {
        Some(Expr::StringLiteral(text)) => Some(text.value.to_str()),
        _ => None,
    }
}

/// The functions and methods that the program defines.
struct OwnFunctions<'a> {
    program: &'a Program,
    functions: Vec<&'a str>,
    methods: Vec<&'a str>,
}

impl<'a> OwnFunctions<'a> {
    fn collect(program: &'a Program) -> Self {
        let mut own = OwnFunctions { program, functions: Vec::new(), methods: Vec::new() };
        each_stmt(program, |_, statement| match statement {
            Stmt::FunctionDef(function) => own.functions.push(function.name.as_str()),
            Stmt::ClassDef(class) => {
                own.methods.extend(class.body.iter().filter_map(|member| match member {
                    Stmt::FunctionDef(method) => Some(method.name.as_str()),
                    _ => None,
                }))
            }
            _ => {}
        });
        own
    }

    fn is_called(&self, unit: usize, callee: &Expr) -> bool {
        match callee {
            Expr::Name(name) => self.functions.contains(&name.id.as_str()),
            // A function of a module is none of the program's methods.
            Expr::Attribute(attribute) => {
                self.program.qualified_name(unit, callee).is_none()
                    && self.methods.contains(&attribute.attr.as_str())
            }
            _ => false,
        }
    }
}

/// What a dict is spread into or handed to, with its unit: in place, or by the name it is kept under.
fn takers<'a>(program: &'a Program, unit: usize, dict: &Expr) -> Vec<(usize, &'a Expr)> {
    let mut name = None;
    each_stmt(program, |at, statement| {
        if let Stmt::Assign(assign) = statement
            && at == unit
            && assign.value.range() == dict.range()
            && let [Expr::Name(target)] = assign.targets.as_slice()
        {
            name = Some(target.id.as_str());
        }
    });
    let parameters = Parameters::collect(program);
    let mut found = Vec::new();
    each_expr(program, |at, expr| {
        let Expr::Call(call) = expr else {
            return;
        };
        let is_it = |value: &Expr| {
            let by_name = |name| is_name(value, name) && !parameters.hide(at, value.range(), name);
            at == unit && value.range() == dict.range() || name.is_some_and(by_name)
        };
        let mut values =
            call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|keyword| &keyword.value));
        if values.any(is_it) {
            found.push((at, &*call.func));
        }
    });
    found
}
