//! `.ix` took labels and positions alike; it became `loc` and `iloc` (pandas 1.0.0 release notes).
//!
//! Masks and text are labels. An integer is a label where the index holds integers, and a position
//! elsewhere, so it is decided only where the index is known: from how the frame was read, or from
//! the live kernel.

use mlem_python::ast::{Expr, ExprSubscript, Operator, Stmt, UnaryOp};
use mlem_python::{Edit, Program, Ranged, TextRange};

use super::Context;
use super::walk::{assignments, each_expr, each_stmt, integer, is_bool, is_name};
use crate::condition::{Verdict, has_type};
use crate::finding::{Finding, Fix};
use crate::judge::finding;
use crate::target::Question;

pub(crate) const TRIGGERS: &[&str] = &["ix"];

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let question = context.question;
    let mut findings = Vec::new();
    each_expr(question.program, |unit, expr| {
        let Expr::Subscript(subscript) = expr else {
            return;
        };
        let Expr::Attribute(indexer) = &*subscript.value else {
            return;
        };
        if indexer.attr.as_str() != "ix" {
            return;
        }
        let frame = &*indexer.value;
        // numpy.ix_ is another name, so only pandas objects have `.ix`; the type tells whether
        // there are columns.
        let is_frame = match has_type(question, unit, frame, "pandas.DataFrame") {
            Verdict::Proven | Verdict::Live => true,
            Verdict::Unknown(_) => true,
            Verdict::Refuted => {
                if has_type(question, unit, frame, "pandas.Series") == Verdict::Refuted {
                    return;
                }
                false
            }
        };
        let decision = decide(question, unit, frame, subscript, is_frame);
        let fixed = |edits: Vec<Edit>| {
            let edits = edits.into_iter().map(|edit| (unit, edit)).collect();
            Ok(Some(Fix { edits }))
        };
        // What is undecided stays without a fix even when the error confirms it.
        let (unknown, is_live, fix) = match decision {
            Decision::Sure(edits) => (None, false, fixed(edits)),
            Decision::Live(edits) => (None, true, fixed(edits)),
            Decision::Unsure(reason) => (Some(reason.clone()), false, Err(reason)),
        };
        findings.extend(finding(question, context.rule, unit, expr.range(), unknown, is_live, fix));
    });
    findings
}

enum Decision {
    /// The edits, from the source alone.
    Sure(Vec<Edit>),
    /// The edits, with what the kernel said.
    Live(Vec<Edit>),
    /// Why it cannot be decided.
    Unsure(String),
}

/// What one part of an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// `:`
    All,
    /// Text, a mask, or anything only `loc` takes.
    Label,
    /// Integers.
    Integer,
    Unclear,
}

/// What an index (the labels of an axis) holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axis {
    Integers,
    Others,
    Unknown,
}

fn decide(
    question: &Question,
    unit: usize,
    frame: &Expr,
    subscript: &ExprSubscript,
    is_frame: bool,
) -> Decision {
    let program = question.program;
    let source = program.units()[unit].source();
    let (row, column) = match &*subscript.slice {
        Expr::Tuple(tuple) => match tuple.elts.as_slice() {
            [row, column] => (row, Some(column)),
            _ => return Decision::Unsure("the index has more than two parts".to_string()),
        },
        row => (row, None),
    };
    let Expr::Attribute(indexer) = &*subscript.value else {
        return Decision::Unsure("not an indexer".to_string());
    };
    let name = |text: &str| Edit { range: indexer.attr.range, text: text.to_string() };
    let mut live = false;
    let row_part = part(question, unit, row, &mut live);
    let column_part = column.map(|column| part(question, unit, column, &mut live));
    if row_part == Part::Unclear || column_part == Some(Part::Unclear) {
        return Decision::Unsure("whether it is a label or a position is not known".to_string());
    }
    let mut axis = |attribute: &str, written: Axis| {
        if written != Axis::Unknown {
            return written;
        }
        let found = live_axis(question, unit, &source[frame.range()], attribute);
        live |= found != Axis::Unknown;
        found
    };
    let rows = match row_part {
        Part::Integer => axis("index", written_index(program, unit, frame)),
        _ => Axis::Unknown,
    };
    let columns = match column_part {
        Some(Part::Integer) => axis("columns", written_columns(program, unit, frame)),
        _ => Axis::Unknown,
    };
    // Each part as a label or as a position.
    let as_position = |part: Part, axis: Axis| match (part, axis) {
        (Part::Integer, Axis::Integers) => Some(false),
        (Part::Integer, Axis::Others) => Some(true),
        (Part::Integer, Axis::Unknown) => None,
        _ => Some(false),
    };
    let row_position = as_position(row_part, rows);
    let column_position = column_part.map(|part| as_position(part, columns));
    let reason = || "an integer is a label or a position, depending on the index".to_string();
    let edits = match (row_position, column_position) {
        (None, _) | (_, Some(None)) => return Decision::Unsure(reason()),
        (Some(false), None | Some(Some(false))) => vec![name("loc")],
        (Some(true), None) => vec![name("iloc")],
        (Some(true), Some(Some(true))) => vec![name("iloc")],
        (Some(false), Some(Some(true))) if row_part == Part::All => vec![name("iloc")],
        (Some(true), Some(Some(false))) if column_part == Some(Part::All) => vec![name("iloc")],
        // Labels on one side, positions on the other: the positions are looked up.
        (Some(false), Some(Some(true))) => match column {
            Some(column) if is_frame => looked_up(name("loc"), source, frame, column, "columns"),
            _ => return Decision::Unsure(reason()),
        },
        (Some(true), Some(Some(false))) => looked_up(name("loc"), source, frame, row, "index"),
    };
    if live { Decision::Live(edits) } else { Decision::Sure(edits) }
}

/// `df.ix[mask, 0]` to `df.loc[mask, df.columns[0]]`.
fn looked_up(name: Edit, source: &str, frame: &Expr, part: &Expr, attribute: &str) -> Vec<Edit> {
    let text = format!("{}.{attribute}[", &source[frame.range()]);
    vec![
        name,
        Edit { range: TextRange::empty(part.start()), text },
        Edit { range: TextRange::empty(part.end()), text: "]".to_string() },
    ]
}

fn part(question: &Question, unit: usize, expr: &Expr, live: &mut bool) -> Part {
    let mut part = |expr| part(question, unit, expr, live);
    match expr {
        Expr::Slice(slice) => {
            let bounds: Vec<Part> =
                [&slice.lower, &slice.upper].into_iter().flatten().map(|bound| part(bound)).collect();
            match bounds.as_slice() {
                [] => Part::All,
                [first, rest @ ..] if rest.iter().all(|other| other == first) => *first,
                _ => Part::Unclear,
            }
        }
        Expr::StringLiteral(_) | Expr::Compare(_) => Part::Label,
        Expr::BinOp(binary) if matches!(binary.op, Operator::BitAnd | Operator::BitOr) => Part::Label,
        Expr::UnaryOp(unary) if unary.op == UnaryOp::Invert => Part::Label,
        Expr::List(list) => {
            let mut parts = list.elts.iter().map(|element| match element {
                Expr::BooleanLiteral(_) => Part::Label,
                other => part(other),
            });
            match parts.next() {
                Some(first) if parts.all(|other| other == first) => first,
                _ => Part::Unclear,
            }
        }
        other if integer(other).is_some() => Part::Integer,
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
                Part::Label
            }
            _ => by_type(question, unit, expr, live),
        },
        _ => by_type(question, unit, expr, live),
    }
}

/// A name or another expression by its type: known from the source, or asked of the kernel.
fn by_type(question: &Question, unit: usize, expr: &Expr, live: &mut bool) -> Part {
    match question.program.type_of(unit, expr) {
        Some("str") => return Part::Label,
        Some("int") => return Part::Integer,
        _ => {}
    }
    let source = question.program.units()[unit].source();
    let found = match expr {
        // What is asked must be free of calls, which could do something.
        Expr::Name(_) | Expr::Attribute(_) => live_part(question, unit, &source[expr.range()]),
        _ => Part::Unclear,
    };
    *live |= found != Part::Unclear;
    found
}

/// What the live kernel says that a value selects by: the type of a scalar, the dtype of an array.
fn live_part(question: &Question, unit: usize, text: &str) -> Part {
    let here = question.error.is_none_or(|error| error.unit == unit);
    let Some(types) = question.types.filter(|_| here) else {
        return Part::Unclear;
    };
    let classes_of = |expression: &str| -> Vec<String> {
        let classes = types.type_of(expression).unwrap_or_default();
        classes.iter().map(|class| class.rsplit('.').next().unwrap_or(class).to_owned()).collect()
    };
    let classes = classes_of(text);
    let is = |names: &[&str]| classes.iter().any(|class| names.contains(&class.as_str()));
    if is(&["str", "str_", "bool", "bool_", "Timestamp", "datetime", "DatetimeIndex", "PeriodIndex"]) {
        return Part::Label;
    }
    if is(&["int", "long", "integer", "RangeIndex", "Int64Index"]) {
        return Part::Integer;
    }
    if is(&["list", "tuple"]) {
        return live_part(question, unit, &format!("{text}[0]"));
    }
    if !is(&["ndarray", "Series", "Index"]) {
        return Part::Unclear;
    }
    // NumPy 1.25 gave each dtype a class of its own: Int64DType, BoolDType, StrDType, ObjectDType.
    let dtype = classes_of(&format!("{text}.dtype")).into_iter().next().unwrap_or_default();
    if ["Int", "UInt", "Long", "ULong"].iter().any(|kind| dtype.starts_with(kind)) {
        Part::Integer
    } else if dtype.ends_with("DType") || dtype.ends_with("Dtype") {
        Part::Label
    } else {
        Part::Unclear
    }
}

/// What the notebook says about the index of a frame.
fn written_index(program: &Program, unit: usize, frame: &Expr) -> Axis {
    let origin = Origin { program, of: Side::Index };
    if origin.is_default(unit, frame, &mut Vec::new()) { Axis::Integers } else { Axis::Unknown }
}

/// What the notebook says about the columns of a frame: text, when it was read with a header.
fn written_columns(program: &Program, unit: usize, frame: &Expr) -> Axis {
    let origin = Origin { program, of: Side::Columns };
    if origin.is_default(unit, frame, &mut Vec::new()) { Axis::Others } else { Axis::Unknown }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Index,
    Columns,
}

/// Follows a frame to where it was made.
struct Origin<'a> {
    program: &'a Program,
    of: Side,
}

/// Methods that keep the labels of a frame's rows (or number them anew), and its columns' names.
const KEEPS_LABELS: &[&str] = &[
    "astype",
    "assign",
    "copy",
    "drop",
    "drop_duplicates",
    "dropna",
    "fillna",
    "head",
    "query",
    "replace",
    "sample",
    "sort_values",
    "tail",
];

impl Origin<'_> {
    /// Whether the index certainly holds integers, or the columns certainly are text: read from a
    /// file or written as a dict, and nothing set another since.
    fn is_default(&self, unit: usize, expr: &Expr, names: &mut Vec<String>) -> bool {
        match expr {
            Expr::Name(name) => {
                let name = name.id.to_string();
                if names.contains(&name) {
                    return true;
                }
                let assigned = assignments(self.program, &name);
                if assigned.is_empty() || changes_labels(self.program, &name) {
                    return false;
                }
                names.push(name);
                assigned.iter().all(|a| self.is_default(a.unit, a.value, names))
            }
            // A selection of rows by a mask.
            Expr::Subscript(subscript) => {
                matches!(&*subscript.slice, Expr::Compare(_))
                    && self.is_default(unit, &subscript.value, names)
            }
            Expr::Call(call) => {
                let has = |wanted: &[&str]| {
                    call.arguments.keywords.iter().any(|keyword| {
                        // A `**` may hold anything.
                        keyword.arg.as_ref().is_none_or(|arg| wanted.contains(&arg.as_str()))
                    })
                };
                let sets = match self.of {
                    Side::Index => has(&["index_col", "index"]),
                    Side::Columns => has(&["header", "names", "columns"]),
                };
                match self.program.qualified_name(unit, &call.func) {
                    Some("pandas.read_csv" | "pandas.read_table" | "pandas.read_excel") => !sets,
                    Some("pandas.DataFrame") => {
                        !sets
                            && call.arguments.args.first().is_some_and(is_table)
                            && call.arguments.args.len() == 1
                    }
                    _ => match &*call.func {
                        Expr::Attribute(attribute) => {
                            KEEPS_LABELS.contains(&attribute.attr.as_str())
                                && self.is_default(unit, &attribute.value, names)
                        }
                        _ => false,
                    },
                }
            }
            _ => false,
        }
    }
}

/// A dict literal with text keys and lists in it.
fn is_table(expr: &Expr) -> bool {
    let Expr::Dict(dict) = expr else { return false };
    dict.items.iter().all(|item| {
        matches!(item.key, Some(Expr::StringLiteral(_)))
            && matches!(item.value, Expr::List(_) | Expr::ListComp(_))
    })
}

/// `df.index = …`, `df.columns = …` or `df.set_index(…, inplace=True)`.
fn changes_labels(program: &Program, name: &str) -> bool {
    let mut changes = false;
    each_stmt(program, |_, statement| match statement {
        Stmt::Assign(assign) => {
            changes |= assign.targets.iter().any(|target| {
                matches!(target, Expr::Attribute(attribute)
                    if matches!(attribute.attr.as_str(), "index" | "columns") && is_name(&attribute.value, name))
            });
        }
        Stmt::Expr(expression) => {
            if let Expr::Call(call) = &*expression.value
                && let Expr::Attribute(attribute) = &*call.func
                && is_name(&attribute.value, name)
            {
                changes |= call.arguments.keywords.iter().any(|keyword| {
                    keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == "inplace")
                        && is_bool(&keyword.value, true)
                        && !matches!(
                            attribute.attr.as_str(),
                            "fillna" | "replace" | "drop" | "dropna" | "rename" | "sort_values"
                        )
                });
            }
        }
        _ => {}
    });
    changes
}

/// What the live kernel says about an axis.
fn live_axis(question: &Question, unit: usize, frame: &str, attribute: &str) -> Axis {
    let here = question.error.is_none_or(|error| error.unit == unit);
    let Some(types) = question.types else {
        return Axis::Unknown;
    };
    if !here {
        return Axis::Unknown;
    }
    let Some(index) = types.type_of(&format!("{frame}.{attribute}")) else {
        return Axis::Unknown;
    };
    let is = |classes: &[String], names: &[&str]| {
        classes.iter().any(|class| {
            let last = class.rsplit('.').next().unwrap_or(class);
            names.contains(&last)
        })
    };
    if is(&index, &["RangeIndex", "Int64Index", "UInt64Index"]) {
        return Axis::Integers;
    }
    if is(&index, &["DatetimeIndex", "PeriodIndex", "TimedeltaIndex", "CategoricalIndex"]) {
        return Axis::Others;
    }
    let Some(dtype) = types.type_of(&format!("{frame}.{attribute}.dtype")) else {
        return Axis::Unknown;
    };
    // numpy names the class of a dtype after the type since 1.25; pandas has its own for text.
    if is(&dtype, &["Int64DType", "Int32DType", "UInt64DType", "Int64Dtype"]) {
        Axis::Integers
    } else if is(&dtype, &["ObjectDType", "StrDType", "StringDtype", "BytesDType"]) {
        Axis::Others
    } else {
        Axis::Unknown
    }
}
