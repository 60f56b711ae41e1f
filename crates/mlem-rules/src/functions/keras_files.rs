//! Names of the files Keras saves to. Since Keras 3 the ending decides the format, and others are
//! refused: weights go to `.weights.h5`, whole models to `.keras` or `.h5` (Keras 3 references:
//! `ModelCheckpoint`, `Model.save_weights`, `Model.save`). Whatever else in the notebook has the
//! same name is the same file and follows.

use mlem_python::ast::comparable::ComparableExpr;
use mlem_python::ast::{Expr, ExprCall, FStringPart, InterpolatedStringElement, Operator};
use mlem_python::{Edit, Program, Ranged, TextRange, TextSize};

use super::Context;
use super::walk::{assignments, each_expr, in_force, is_bool};
use crate::condition::{Verdict, has_type};
use crate::finding::{Finding, Fix};
use crate::judge::finding;

pub(crate) const TRIGGERS: &[&str] = &["ModelCheckpoint", "save_weights", "save"];

const MODELS: &[&str] = &[
    "keras.models.Sequential",
    "keras.models.Model",
    "tensorflow.keras.models.Sequential",
    "tensorflow.keras.models.Model",
];

/// What is saved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Saved {
    Weights,
    Checkpoint,
    Model,
}

impl Saved {
    fn is_fine(self, ending: &str) -> bool {
        let fine: &[&str] = match self {
            Saved::Weights => &[".weights.h5"],
            Saved::Checkpoint => &[".keras", ".h5"],
            Saved::Model => &[".keras", ".h5", ".hdf5"],
        };
        fine.iter().any(|fine| ending.ends_with(fine))
    }

    fn ending(self) -> &'static str {
        if self == Saved::Weights { ".weights.h5" } else { ".keras" }
    }
}

/// Endings that name a format of old; anything else after a point is part of the name.
const OLD_ENDINGS: &[&str] =
    &[".h5", ".hdf5", ".hdf", ".h5f", ".keras", ".ckpt", ".hd5", ".model", ".weights"];

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let question = context.question;
    let program = question.program;
    let mut findings = Vec::new();
    each_expr(program, |unit, expr| {
        let Expr::Call(call) = expr else {
            return;
        };
        let Some((saved, path)) = what_is_saved(context, unit, call) else {
            return;
        };
        let (home, named) = match path {
            Expr::Name(name) => match in_force(&assignments(program, name.id.as_str()), unit, path.start()) {
                Some(from) => (from.unit, from.value),
                None => return,
            },
            other => (unit, other),
        };
        let Some(ending) = Ending::of(program, home, named) else {
            return;
        };
        if saved.is_fine(ending.text) {
            return;
        }
        let mut edits = vec![(home, ending.replaced(saved))];
        let is_file_name = ending.old().is_some();
        let mut follow = |at: usize, other: &Expr| {
            if ComparableExpr::from(other) == ComparableExpr::from(named)
                && (at, other.range()) != (home, named.range())
                && let Some(ending) = Ending::of(program, at, other)
            {
                edits.push((at, ending.replaced(saved)));
            }
        };
        each_expr(program, |at, other| match other {
            // `'model'` may be anything, but not what is loaded.
            Expr::Call(call) if !is_file_name && takes_files(call) => {
                call.arguments.args.iter().for_each(|argument| follow(at, argument));
            }
            other if is_file_name => follow(at, other),
            _ => {}
        });
        let fix = Ok(Some(Fix { edits }));
        findings.extend(finding(question, context.rule, unit, path.range(), None, false, fix));
    });
    findings
}

/// Whether a call is handed the name of a file to read, or of one it looks for.
fn takes_files(call: &ExprCall) -> bool {
    let name = match &*call.func {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        _ => return false,
    };
    matches!(name, "load_model" | "load_weights" | "exists" | "isfile" | "remove" | "FileLink" | "File")
}

/// What a call saves, and the path it is given.
fn what_is_saved<'a>(context: &Context, unit: usize, call: &'a ExprCall) -> Option<(Saved, &'a Expr)> {
    let question = context.question;
    let given = |position: usize, name: &str| call.arguments.find_argument_value(name, position);
    if let Some(full) = question.program.qualified_name(unit, &call.func) {
        let is_checkpoint =
            matches!(full, "keras.callbacks.ModelCheckpoint" | "tensorflow.keras.callbacks.ModelCheckpoint");
        if !is_checkpoint || call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none()) {
            return None;
        }
        let saved = match given(4, "save_weights_only") {
            None => Saved::Checkpoint,
            Some(value) if is_bool(value, false) => Saved::Checkpoint,
            Some(value) if is_bool(value, true) => Saved::Weights,
            Some(_) => return None,
        };
        return Some((saved, given(0, "filepath")?));
    }
    let Expr::Attribute(method) = &*call.func else {
        return None;
    };
    let saved = match method.attr.as_str() {
        "save_weights" => Saved::Weights,
        "save" => Saved::Model,
        _ => return None,
    };
    let is_model = MODELS.iter().any(|model| {
        matches!(has_type(question, unit, &method.value, model), Verdict::Proven | Verdict::Live)
    });
    is_model.then(|| given(0, "filepath")).flatten().map(|path| (saved, path))
}

/// The last piece of text of a path, where it is written.
struct Ending<'a> {
    text: &'a str,
    /// Where the text stands, without its quotes.
    range: TextRange,
}

impl<'a> Ending<'a> {
    fn of(program: &'a Program, unit: usize, path: &Expr) -> Option<Ending<'a>> {
        let source = program.units()[unit].source();
        let range = match path {
            Expr::StringLiteral(literal) => {
                let last = literal.value.iter().last()?;
                content(source, last.range)?
            }
            Expr::FString(formatted) => {
                let FStringPart::FString(last) = formatted.value.iter().last()? else {
                    return None;
                };
                match last.elements.iter().last()? {
                    InterpolatedStringElement::Literal(literal) => literal.range,
                    InterpolatedStringElement::Interpolation(_) => return None,
                }
            }
            // folder + 'best.h5'; 'best%d.h5' % fold
            Expr::BinOp(joined) => {
                let part = match joined.op {
                    Operator::Add | Operator::Div => &joined.right,
                    Operator::Mod => &joined.left,
                    _ => return None,
                };
                return Ending::of(program, unit, part);
            }
            Expr::Call(call) => {
                let Expr::Attribute(method) = &*call.func else {
                    return None;
                };
                return match method.attr.as_str() {
                    // 'best{}.h5'.format(fold)
                    "format" => Ending::of(program, unit, &method.value),
                    "join" => Ending::of(program, unit, call.arguments.args.last()?),
                    _ => None,
                };
            }
            _ => return None,
        };
        Some(Ending { text: &source[range], range })
    }

    /// The ending that names a format.
    fn old(&self) -> Option<&'static str> {
        OLD_ENDINGS.iter().find(|old| self.text.ends_with(*old)).copied()
    }

    fn replaced(&self, saved: Saved) -> Edit {
        let old = self.old().map_or(0, str::len);
        let start = self.range.end() - TextSize::try_from(old).unwrap_or_default();
        Edit { range: TextRange::new(start, self.range.end()), text: saved.ending().to_string() }
    }
}

/// A string literal without its prefix and quotes.
fn content(source: &str, literal: TextRange) -> Option<TextRange> {
    let text = &source[literal];
    let open = text.find(['\'', '"'])?;
    let quote = &text[open..];
    let width = if quote.starts_with("'''") || quote.starts_with("\"\"\"") { 3 } else { 1 };
    let size = |width: usize| TextSize::try_from(width).unwrap_or_default();
    Some(TextRange::new(literal.start() + size(open + width), literal.end() - size(width)))
}
