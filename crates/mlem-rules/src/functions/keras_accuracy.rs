//! The accuracy under its name. Keras before 2.3 reported `metrics=['accuracy']` as `acc` and
//! `val_acc`; since 2.3 a metric has the name it was given (Keras 2.3.0 release notes). Where every
//! model of the notebook is compiled with `'accuracy'` and none with `'acc'`, the short names are
//! those of nothing: in `monitor`, in the history, in the logs of callbacks and in file names.

use mlem_python::ast::{Expr, ExprCall, ExprStringLiteral};
use mlem_python::{Edit, Program, Ranged, TextRange, TextSize};

use super::Context;
use super::walk::{assignments, each_expr, in_force};
use crate::finding::{Finding, Fix};
use crate::judge::finding;

pub(crate) const TRIGGERS: &[&str] =
    &["EarlyStopping", "ReduceLROnPlateau", "ModelCheckpoint", "history", "logs", "hist"];

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let program = context.question.program;
    if !is_accuracy_alone(program) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut report = |unit: usize, range: TextRange, edits: Vec<Edit>| {
        if !edits.is_empty() {
            let edits = edits.into_iter().map(|edit| (unit, edit)).collect();
            let fix = Ok(Some(Fix { edits }));
            findings.extend(finding(context.question, context.rule, unit, range, None, false, fix));
        }
    };
    each_expr(program, |unit, expr| match expr {
        Expr::Call(call) => {
            if let Some(watched) = watched(program, unit, call) {
                report(unit, watched.range(), lengthened(program, unit, watched));
            }
            if let Some(path) = checkpoint_path(program, unit, call) {
                let (home, path) = match path {
                    Expr::Name(name) => {
                        match in_force(&assignments(program, name.id.as_str()), unit, path.start()) {
                            Some(from) => (from.unit, from.value),
                            None => return,
                        }
                    }
                    other => (unit, other),
                };
                report(home, path.range(), fields(program, home, path));
            }
            if let Some(key) = logged(call) {
                report(unit, key.range, lengthened_literal(program, unit, key).into_iter().collect());
            }
        }
        Expr::Subscript(subscript) => {
            if let Expr::StringLiteral(key) = &*subscript.slice
                && is_record(program, unit, &subscript.value)
            {
                report(unit, key.range, lengthened_literal(program, unit, key).into_iter().collect());
            }
        }
        _ => {}
    });
    findings
}

/// Whether models are compiled with the metric `'accuracy'`, and none with `'acc'`.
fn is_accuracy_alone(program: &Program) -> bool {
    let (mut long, mut short) = (false, false);
    each_expr(program, |_, expr| {
        let Expr::Call(call) = expr else {
            return;
        };
        let Expr::Attribute(method) = &*call.func else {
            return;
        };
        let metrics = match method.attr.as_str() {
            "compile" => call.arguments.find_argument_value("metrics", 2),
            _ => None,
        };
        let Some(metrics) = metrics else {
            return;
        };
        each_text(metrics, &mut |text| {
            long |= text.value.to_str() == "accuracy";
            short |= text.value.to_str() == "acc";
        });
        // Names that are not seen here could be anything.
        short |= !matches!(metrics, Expr::List(_) | Expr::Tuple(_) | Expr::Dict(_) | Expr::StringLiteral(_));
    });
    long && !short
}

fn each_text<'a>(expr: &'a Expr, on: &mut impl FnMut(&'a ExprStringLiteral)) {
    match expr {
        Expr::StringLiteral(text) => on(text),
        Expr::List(list) => list.elts.iter().for_each(|part| each_text(part, on)),
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|part| each_text(part, on)),
        Expr::Dict(dict) => dict.items.iter().for_each(|item| each_text(&item.value, on)),
        _ => {}
    }
}

/// What a callback watches.
fn watched<'a>(program: &Program, unit: usize, call: &'a ExprCall) -> Option<&'a Expr> {
    let full = program.qualified_name(unit, &call.func)?;
    let last = full.strip_prefix("tensorflow.").unwrap_or(full).strip_prefix("keras.callbacks.")?;
    let position = match last {
        "EarlyStopping" | "ReduceLROnPlateau" => 0,
        "ModelCheckpoint" => 1,
        _ => return None,
    };
    call.arguments.find_argument_value("monitor", position)
}

fn checkpoint_path<'a>(program: &Program, unit: usize, call: &'a ExprCall) -> Option<&'a Expr> {
    let full = program.qualified_name(unit, &call.func)?;
    matches!(full, "keras.callbacks.ModelCheckpoint" | "tensorflow.keras.callbacks.ModelCheckpoint")
        .then(|| call.arguments.find_argument_value("filepath", 0))
        .flatten()
}

/// `logs.get('acc')` of a callback.
fn logged(call: &ExprCall) -> Option<&ExprStringLiteral> {
    let Expr::Attribute(method) = &*call.func else {
        return None;
    };
    match (&*method.value, call.arguments.args.first()) {
        (Expr::Name(logs), Some(Expr::StringLiteral(key)))
            if logs.id.as_str() == "logs" && method.attr.as_str() == "get" =>
        {
            Some(key)
        }
        _ => None,
    }
}

/// The dict of a history, or a name for it, or the logs of a callback.
fn is_record(program: &Program, unit: usize, expr: &Expr) -> bool {
    match expr {
        Expr::Attribute(attribute) => attribute.attr.as_str() == "history",
        Expr::Name(name) if name.id.as_str() == "logs" => true,
        Expr::Name(name) => in_force(&assignments(program, name.id.as_str()), unit, expr.start())
            .is_some_and(|from| matches!(from.value, Expr::Attribute(a) if a.attr.as_str() == "history")),
        _ => false,
    }
}

fn lengthened(program: &Program, unit: usize, expr: &Expr) -> Vec<Edit> {
    match expr {
        Expr::StringLiteral(literal) => lengthened_literal(program, unit, literal).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// `'val_acc'` to `'val_accuracy'`.
fn lengthened_literal(program: &Program, unit: usize, literal: &ExprStringLiteral) -> Option<Edit> {
    if !matches!(literal.value.to_str(), "acc" | "val_acc") {
        return None;
    }
    let source = program.units()[unit].source();
    let end = source[literal.range].rfind("acc")? + "acc".len();
    let at = literal.range.start() + TextSize::try_from(end).unwrap_or_default();
    Some(Edit { range: TextRange::empty(at), text: "uracy".to_string() })
}

/// `{val_acc:.2f}` in a path to `{val_accuracy:.2f}`.
fn fields(program: &Program, unit: usize, path: &Expr) -> Vec<Edit> {
    let source = program.units()[unit].source();
    let mut edits = Vec::new();
    let mut literals = Vec::new();
    collect_literals(path, &mut literals);
    for range in literals {
        for name in ["{acc", "{val_acc"] {
            for (at, _) in source[range].match_indices(name) {
                let end = at + name.len();
                if source[range][end..].starts_with([':', '}', '!']) {
                    let place = range.start() + TextSize::try_from(end).unwrap_or_default();
                    edits.push(Edit { range: TextRange::empty(place), text: "uracy".to_string() });
                }
            }
        }
    }
    edits
}

fn collect_literals(expr: &Expr, found: &mut Vec<TextRange>) {
    match expr {
        Expr::StringLiteral(literal) => found.push(literal.range),
        Expr::BinOp(joined) => {
            collect_literals(&joined.left, found);
            collect_literals(&joined.right, found);
        }
        Expr::Call(call) => call.arguments.args.iter().for_each(|part| collect_literals(part, found)),
        _ => {}
    }
}
