//! Writing through a column that was taken out of a frame. Since pandas 3 (copy on write) it changes
//! only the column taken out, with a warning and without an error: the frame stays as it was
//! (pandas 3.0.0 release notes, "Copy-on-Write").

use mlem_python::ast::{CmpOp, Expr, ExprCall, Operator, Stmt, UnaryOp};
use mlem_python::{Edit, Ranged, TextRange, TextSize};

use super::Context;
use super::walk::{each_stmt, integer, is_bool};
use crate::call::ArgumentList;
use crate::condition::{Verdict, has_type};
use crate::finding::{Finding, Fix};
use crate::judge::finding;
use crate::target::Question;

const FRAME: &str = "pandas.DataFrame";

/// A frame is only found where pandas is.
pub(crate) const TRIGGERS: &[&str] = &["pandas"];

/// Attributes of a frame that are not columns.
const NOT_COLUMNS: &[&str] = &[
    "loc", "iloc", "ix", "at", "iat", "values", "columns", "index", "T", "shape", "size", "dtypes", "str",
    "dt", "cat", "plot", "array", "axes", "flat", "data", "attrs", "flags", "style", "sparse", "empty",
    "ndim",
];

/// A column taken out of a frame.
struct Column<'a> {
    frame: &'a Expr,
    /// Source of the key: `'Age'`.
    key: String,
    /// The key is a name, which may as well hold a mask or a list of columns.
    named_by: Option<&'a Expr>,
    /// `frame.Age` rather than `frame['Age']`.
    by_attribute: bool,
}

impl Column<'_> {
    /// Whether the key is known to hold a mask or a list, which takes a copy out of the frame.
    fn is_selection(&self, question: &Question, unit: usize) -> bool {
        let key = self.named_by.and_then(|key| question.program.type_of(unit, key));
        !matches!(key, None | Some("str" | "int"))
    }
}

fn column<'a>(source: &str, expr: &'a Expr) -> Option<Column<'a>> {
    match expr {
        Expr::Subscript(subscript) => {
            let is_indexer = matches!(&*subscript.value, Expr::Attribute(attribute)
                if NOT_COLUMNS.contains(&attribute.attr.as_str()));
            let is_key = matches!(&*subscript.slice, Expr::StringLiteral(_) | Expr::Name(_));
            (is_key && !is_indexer).then(|| Column {
                frame: &subscript.value,
                key: source[subscript.slice.range()].to_string(),
                named_by: subscript.slice.is_name_expr().then_some(&*subscript.slice),
                by_attribute: false,
            })
        }
        Expr::Attribute(attribute) if !NOT_COLUMNS.contains(&attribute.attr.as_str()) => {
            let key = format!("'{}'", attribute.attr);
            Some(Column { frame: &attribute.value, key, named_by: None, by_attribute: true })
        }
        _ => None,
    }
}

/// `df['c'][mask] = v` and `df.c.loc[mask] = v`.
pub(crate) fn check_assignment(context: &Context) -> Vec<Finding> {
    let question = context.question;
    let mut findings = Vec::new();
    each_stmt(question.program, |unit, statement| {
        let target = match statement {
            Stmt::Assign(assign) if assign.targets.len() == 1 => &assign.targets[0],
            Stmt::AugAssign(assign) => &*assign.target,
            _ => return,
        };
        let Expr::Subscript(outer) = target else {
            return;
        };
        let source = question.program.units()[unit].source();
        let (taken, indexer) = match &*outer.value {
            Expr::Attribute(attribute)
                if matches!(attribute.attr.as_str(), "loc" | "iloc" | "at" | "iat") =>
            {
                (&*attribute.value, Some(attribute.attr.as_str()))
            }
            other => (other, None),
        };
        let Some(column) = column(source, taken) else {
            return;
        };
        // `df[mask]['c'] = v` never changed the frame, but a copy of some of its rows.
        let is_label = indexer.is_none() && outer.slice.is_string_literal_expr();
        if column.is_selection(question, unit) || (is_label && column.named_by.is_some()) {
            return;
        }
        let verdict = has_type(question, unit, column.frame, FRAME);
        if verdict == Verdict::Refuted {
            return;
        }
        let (mut unknown, is_live) = match verdict {
            Verdict::Unknown(reason) => (Some(reason), false),
            other => (None, other == Verdict::Live),
        };
        let frame = &source[column.frame.range()];
        let rows = &source[outer.slice.range()];
        let key = &column.key;
        let by_position = format!("{frame}.iloc[{rows}, {frame}.columns.get_loc({key})]");
        let by_label = format!("{frame}.loc[{rows}, {key}]");
        let text = match (indexer, row_key(question, unit, &outer.slice)) {
            (_, RowKey::Several) => return,
            (Some("iloc" | "iat"), _) | (None, RowKey::Positions) => by_position,
            (Some(_), _) | (None, RowKey::Labels) => by_label,
            (None, RowKey::Unclear) => {
                let reason = format!("whether `{rows}` is a label or a position is not known");
                unknown.get_or_insert(reason);
                by_label
            }
        };
        let edit = Edit { range: target.range(), text };
        let fix = Fix { edits: vec![(unit, edit)] };
        findings.extend(finding(
            question,
            context.rule,
            unit,
            target.range(),
            unknown,
            is_live,
            Ok(Some(fix)),
        ));
    });
    findings
}

enum RowKey {
    /// A mask or labels: what `loc` takes.
    Labels,
    /// A slice of positions, which is what a slice of a column means.
    Positions,
    /// A tuple or other index this rule is not about.
    Several,
    Unclear,
}

fn row_key(question: &Question, unit: usize, slice: &Expr) -> RowKey {
    match slice {
        Expr::Compare(compare) if !compare.ops.contains(&CmpOp::Is) => RowKey::Labels,
        Expr::BinOp(binary) if matches!(binary.op, Operator::BitAnd | Operator::BitOr) => RowKey::Labels,
        Expr::UnaryOp(unary) if matches!(unary.op, UnaryOp::Invert) => RowKey::Labels,
        Expr::StringLiteral(_) => RowKey::Labels,
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(attribute)
                if matches!(
                    attribute.attr.as_str(),
                    "isnull"
                        | "isna"
                        | "notnull"
                        | "notna"
                        | "isin"
                        | "contains"
                        | "startswith"
                        | "endswith"
                        | "between"
                        | "duplicated"
                ) =>
            {
                RowKey::Labels
            }
            _ => RowKey::Unclear,
        },
        Expr::Slice(slice) => {
            let is_position = |bound: &Option<Box<Expr>>| {
                bound.as_deref().is_none_or(|bound| {
                    integer(bound).is_some() || question.program.type_of(unit, bound) == Some("int")
                })
            };
            if is_position(&slice.lower) && is_position(&slice.upper) {
                RowKey::Positions
            } else {
                RowKey::Unclear
            }
        }
        Expr::Tuple(_) => RowKey::Several,
        other => match question.program.type_of(unit, other) {
            Some("pandas.Series" | "pandas.Index") => RowKey::Labels,
            _ => RowKey::Unclear,
        },
    }
}

/// Methods that could change a column in place.
const IN_PLACE: &[&str] = &["fillna", "replace", "ffill", "bfill", "clip", "mask", "where", "interpolate"];

/// `df['c'].fillna(v, inplace=True)` as a statement.
pub(crate) fn check_inplace(context: &Context) -> Vec<Finding> {
    let question = context.question;
    let mut findings = Vec::new();
    each_stmt(question.program, |unit, statement| {
        let Stmt::Expr(expression) = statement else {
            return;
        };
        let Expr::Call(call) = &*expression.value else {
            return;
        };
        let Some(method) = in_place_method(call) else {
            return;
        };
        let source = question.program.units()[unit].source();
        // Writing the result back is the same for any container with a literal key, but an
        // attribute is a column only on a frame.
        let (target, frame) = match column(source, method) {
            Some(column) if column.is_selection(question, unit) => return,
            Some(column) => {
                let frame = &source[column.frame.range()];
                let target = format!("{frame}[{}]", column.key);
                (target, column.by_attribute.then_some(column.frame))
            }
            None => match method {
                Expr::Subscript(subscript)
                    if matches!(&*subscript.value, Expr::Attribute(attribute)
                        if matches!(attribute.attr.as_str(), "loc" | "iloc")) =>
                {
                    (source[method.range()].to_string(), None)
                }
                _ => return,
            },
        };
        let verdict = match frame {
            Some(frame) => has_type(question, unit, frame, FRAME),
            None => Verdict::Proven,
        };
        let (unknown, is_live) = match verdict {
            Verdict::Refuted => return,
            Verdict::Unknown(reason) => (Some(reason), false),
            other => (None, other == Verdict::Live),
        };
        let mut list = ArgumentList::new(source, call);
        if let Some(keyword) = list.keyword("inplace") {
            list.remove(keyword.range);
        }
        let mut edits = vec![(unit, insertion(statement.start(), format!("{target} = ")))];
        edits.extend(list.into_edits().into_iter().map(|edit| (unit, edit)));
        findings.extend(finding(
            question,
            context.rule,
            unit,
            statement.range(),
            unknown,
            is_live,
            Ok(Some(Fix { edits })),
        ));
    });
    findings
}

fn insertion(at: TextSize, text: String) -> Edit {
    Edit { range: TextRange::empty(at), text }
}

/// What a method that works in place is called on.
fn in_place_method(call: &ExprCall) -> Option<&Expr> {
    let Expr::Attribute(attribute) = &*call.func else {
        return None;
    };
    if !IN_PLACE.contains(&attribute.attr.as_str()) {
        return None;
    }
    let in_place = call.arguments.keywords.iter().any(|keyword| {
        keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == "inplace") && is_bool(&keyword.value, true)
    });
    in_place.then_some(&*attribute.value)
}
