//! Names of lists that are none any more: `map`, `filter`, `zip` and the methods `keys`, `values`
//! and `items` of a dict gave lists in Python 2, and what they give now has no positions, no length
//! and no `sort` (What's New In Python 3.0, "Views And Iterators Instead Of Lists"). The list is
//! made where the name is given, so that every use of the name sees the same one.

use mlem_python::ast::{Expr, ExprCall, Operator, Stmt};
use mlem_python::{Edit, Program, Ranged, TextRange};

use super::Context;
use super::walk::{Parameters, assignments, each_expr, each_stmt, in_force, is_name};
use crate::finding::{Finding, Fix};
use crate::judge::finding;
use crate::pattern::names;

pub(crate) const TRIGGERS: &[&str] = &["map", "filter", "zip", "keys", "values", "items"];

/// What a name was given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    /// `map`, `filter` or `zip`: an iterator, which only iteration suits.
    Iterator,
    /// A method of a value that is certainly a dict: a view, which also has a length.
    View,
    /// The same method of a value that is not known.
    PerhapsView,
}

/// Methods that lists have, and neither iterators nor views.
const OF_LISTS: &[&str] =
    &["sort", "reverse", "append", "extend", "insert", "remove", "pop", "index", "count"];

/// Methods among them that nothing with `keys`, `values` and `items` gives either: an index of
/// pandas has `append`, but no `sort`.
const OF_LISTS_ALONE: &[&str] = &["sort", "reverse", "extend"];

/// Functions that take a sequence and no iterator or view.
const OF_SEQUENCES: &[&str] = &[
    "numpy.array",
    "numpy.asarray",
    "numpy.mean",
    "numpy.std",
    "numpy.median",
    "numpy.argmax",
    "numpy.argmin",
    "numpy.random.choice",
    "numpy.random.shuffle",
    "random.choice",
    "random.sample",
    "random.shuffle",
];

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let program = context.question.program;
    let mut given = Vec::new();
    each_stmt(program, |unit, statement| {
        if let Stmt::Assign(assign) = statement
            && let [Expr::Name(name)] = assign.targets.as_slice()
            && let Expr::Call(call) = &*assign.value
            && let Some(what) = what_is_given(program, unit, call)
        {
            given.push((unit, name.id.as_str(), &*assign.value, what));
        }
    });
    let parameters = Parameters::collect(program);
    let mut findings = Vec::new();
    for (unit, name, value, what) in given {
        let assigned = assignments(program, name);
        let mut needs_list = false;
        each_expr(program, |at, expr| {
            needs_list = needs_list
                || used_name(program, at, expr, what).is_some_and(|used| {
                    is_name(used, name)
                        && !parameters.hide(at, used.range(), name)
                        && in_force(&assigned, at, used.start())
                            .is_some_and(|a| a.unit == unit && a.value.range() == value.range())
                });
        });
        if !needs_list {
            continue;
        }
        let fix = if program.name_is_bound("list") {
            Err("the notebook uses the name `list` for its own".to_string())
        } else {
            let edit = |at, text: &str| (unit, Edit { range: TextRange::empty(at), text: text.to_string() });
            Ok(Some(Fix { edits: vec![edit(value.start(), "list("), edit(value.end(), ")")] }))
        };
        findings.extend(finding(context.question, context.rule, unit, value.range(), None, false, fix));
    }
    findings
}

fn what_is_given(program: &Program, unit: usize, call: &ExprCall) -> Option<Given> {
    if ["map", "filter", "zip"].iter().any(|name| names(program, unit, &call.func, name)) {
        return Some(Given::Iterator);
    }
    let Expr::Attribute(method) = &*call.func else {
        return None;
    };
    let is_view = matches!(method.attr.as_str(), "keys" | "values" | "items")
        && call.arguments.args.is_empty()
        && call.arguments.keywords.is_empty();
    if !is_view {
        return None;
    }
    match program.type_of(unit, &method.value) {
        Some("dict" | "collections.OrderedDict" | "collections.Counter" | "collections.defaultdict") => {
            Some(Given::View)
        }
        Some(_) => None,
        None => Some(Given::PerhapsView),
    }
}

/// The expression that has to be a list for this use of it to work.
fn used_name<'a>(program: &Program, unit: usize, expr: &'a Expr, what: Given) -> Option<&'a Expr> {
    match expr {
        Expr::Attribute(attribute) => {
            let methods = if what == Given::PerhapsView { OF_LISTS_ALONE } else { OF_LISTS };
            methods.contains(&attribute.attr.as_str()).then_some(&*attribute.value)
        }
        _ if what == Given::PerhapsView => None,
        Expr::Subscript(subscript) => Some(&subscript.value),
        Expr::BinOp(sum) if sum.op == Operator::Add => match (&*sum.left, &*sum.right) {
            (left @ Expr::Name(_), Expr::List(_)) => Some(left),
            (Expr::List(_), right @ Expr::Name(_)) => Some(right),
            _ => None,
        },
        Expr::Call(call) => {
            let first = call.arguments.args.first()?;
            let measures = what == Given::Iterator && names(program, unit, &call.func, "len");
            let function = program.qualified_name(unit, &call.func);
            (measures || function.is_some_and(|full| OF_SEQUENCES.contains(&full))).then_some(first)
        }
        _ => None,
    }
}
