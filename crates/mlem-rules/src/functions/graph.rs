//! Code of TensorFlow 1 that builds a graph and runs it in a session. `tensorflow.compat.v1` with
//! the behaviour of version 2 switched off still does that (TensorFlow guide "Migrate to TensorFlow
//! 2", running unmodified code), but for `contrib`, estimators and the tutorials' data, which are
//! gone. `layers` and the recurrent cells need Keras 2 beside it, the package tf_keras (TensorFlow
//! 2.16 release notes, "TF_USE_LEGACY_KERAS").

use mlem_python::ast::{Expr, Stmt, StmtImport};
use mlem_python::{Edit, Program, Ranged, TextRange};

use super::Context;
use super::walk::{each_expr, each_stmt};
use crate::finding::{Finding, Fix};
use crate::judge::finding;

pub(crate) const TRIGGERS: &[&str] =
    &["placeholder", "placeholder_with_default", "Session", "InteractiveSession", "ConfigProto"];

/// Names that only graph code has.
const OF_GRAPHS: &[&str] = &[
    "tensorflow.placeholder",
    "tensorflow.placeholder_with_default",
    "tensorflow.Session",
    "tensorflow.InteractiveSession",
];

/// What is not in `tensorflow.compat.v1` either, with the word for it.
const GONE: &[(&str, &str)] = &[
    ("tensorflow.contrib", "tensorflow.contrib is gone"),
    ("tensorflow.examples", "tensorflow.examples is gone"),
    ("tensorflow.estimator", "estimators are gone"),
    ("tensorflow.keras", "Keras models do not run in the notebook's own sessions"),
    ("keras", "Keras models do not run in the notebook's own sessions"),
];

/// What needs Keras 2.
const LEGACY: &[&str] = &["tensorflow.layers", "tensorflow.nn.rnn_cell"];

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let program = context.question.program;
    let mut first = None;
    let mut needs_legacy = false;
    let mut reason = program.imports().iter().find_map(|import| gone(&import.qualified));
    each_expr(program, |unit, expr| {
        if !matches!(expr, Expr::Attribute(_) | Expr::Name(_)) {
            return;
        }
        let Some(full) = program.qualified_name(unit, expr) else {
            return;
        };
        if OF_GRAPHS.contains(&full) {
            first.get_or_insert((unit, expr.range()));
        }
        needs_legacy |= LEGACY.iter().any(|legacy| is_below(full, legacy));
        reason = reason.or_else(|| gone(full));
    });
    let Some((unit, range)) = first else {
        return Vec::new();
    };
    let has_legacy = context.question.target.version_of("tf-keras").is_some();
    let fix = match reason {
        Some(reason) => Err(reason.to_string()),
        None if needs_legacy && !has_legacy => {
            Err("layers and recurrent cells of TensorFlow 1 need the package tf_keras".to_string())
        }
        None => rewrite(program, needs_legacy),
    };
    finding(context.question, context.rule, unit, range, None, false, fix.map(Some)).into_iter().collect()
}

fn is_below(name: &str, outer: &str) -> bool {
    name.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn gone(name: &str) -> Option<&'static str> {
    GONE.iter().find(|(outer, _)| is_below(name, outer)).map(|(_, reason)| *reason)
}

/// Every `import tensorflow` imports the old interface.
fn rewrite(program: &Program, needs_legacy: bool) -> Result<Fix, String> {
    let mut edits = Vec::new();
    each_stmt(program, |unit, statement| {
        if let Stmt::Import(import) = statement {
            edits.extend(import_old(program, unit, import, needs_legacy));
        }
    });
    if edits.is_empty() {
        return Err("no `import tensorflow` is found that could be changed".to_string());
    }
    Ok(Fix { edits })
}

fn import_old(program: &Program, unit: usize, import: &StmtImport, needs_legacy: bool) -> Vec<(usize, Edit)> {
    let Some(alias) = import.names.iter().find(|alias| alias.name.as_str() == "tensorflow") else {
        return Vec::new();
    };
    let name = alias.asname.as_ref().map_or("tensorflow", |name| name.as_str());
    let source = program.units()[unit].source();
    let start = import.start().to_usize();
    let line = source[..start].rfind('\n').map_or(0, |at| at + 1);
    let indent = &source[line..start];
    let off = format!("{name}.disable_v2_behavior()");
    let rest = &source[import.end().to_usize()..];
    let line_end = rest.find('\n').unwrap_or(rest.len());
    let is_alone = indent.trim().is_empty() && !rest[..line_end].trim_start().starts_with(';');
    let mut edits = vec![Edit { range: alias.range, text: format!("tensorflow.compat.v1 as {name}") }];
    if is_alone {
        let at = import.end() + crate::tokens::offset(line_end);
        edits.push(Edit { range: TextRange::empty(at), text: format!("\n{indent}{off}") });
    } else {
        edits.push(Edit { range: TextRange::empty(import.end()), text: format!("; {off}") });
    }
    if needs_legacy {
        let set = "import os; os.environ['TF_USE_LEGACY_KERAS'] = '1'";
        let end = if is_alone { format!("\n{indent}") } else { "; ".to_string() };
        edits.push(Edit { range: TextRange::empty(import.start()), text: format!("{set}{end}") });
    }
    edits.into_iter().map(|edit| (unit, edit)).collect()
}
