//! Python 2 syntax: recognised by its tokens, lifted to Python 3.
//!
//! Works on tokens rather than on a tree: no parser for Python 3 can represent the old
//! statements, and tokens stay readable around every error. Semantics (`xrange`, `iteritems`,
//! integer division) are left to rules.

pub(crate) mod lexer;
mod lift;

use ruff_text_size::TextSize;

pub(crate) use lift::Future;

use crate::edit::{Edit, EditSet};
use crate::unit::{Syntax, Unit};

/// Why a unit could not be lifted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiftError {
    /// The lifted source still does not parse.
    #[error("line {line}, column {column}: {message}")]
    Unparsable {
        /// Line of the first error in the lifted source, from 1.
        line: usize,
        /// Column of the first error, in characters from 1.
        column: usize,
        /// The parser's words.
        message: String,
    },
}

/// Whether the units together are a Python 2 program: more units hold tokens that only Python 2
/// allows than hold tokens that only Python 3 allows. Strings, comments and names do not count.
pub fn is_python2(units: &[Unit]) -> bool {
    let old = units.iter().filter(|unit| unit.has_python2_tokens()).count();
    old > 0 && old > units.iter().filter(|unit| has_python3_tokens(unit)).count()
}

/// The edits that bring one unit of a Python 2 program to Python 3 syntax. Also a unit that is
/// valid Python 3 may need some: `print (a, b)` prints a tuple in Python 2.
///
/// Future imports of other units are not known here; [`lift_program`] knows them.
///
/// # Errors
/// [`LiftError::Unparsable`] if the result would not parse.
pub fn lift_python2(unit: &Unit) -> Result<Vec<Edit>, LiftError> {
    lift_after(unit, &mut Future::default())
}

/// [`lift_python2`] for all units of a Python 2 program in execution order. A
/// `from __future__ import print_function` holds for all later cells, as in IPython.
pub fn lift_program(units: &[Unit]) -> Vec<Result<Vec<Edit>, LiftError>> {
    let mut future = Future::default();
    let lift = |unit: &Unit| {
        if unit.is_cell() { lift_after(unit, &mut future) } else { lift_after(unit, &mut Future::default()) }
    };
    units.iter().map(lift).collect()
}

fn lift_after(unit: &Unit, future: &mut Future) -> Result<Vec<Edit>, LiftError> {
    if matches!(unit.syntax(), Syntax::Opaque(_)) {
        return Ok(Vec::new());
    }
    let scan = lift::scan(unit.source(), unit.is_cell(), *future);
    *future = scan.future;
    match remaining_error(unit, &scan.edits) {
        None => Ok(scan.edits),
        Some((line, column, message)) => Err(LiftError::Unparsable { line, column, message }),
    }
}

/// What the Python 3 parser still objects to after the edits.
fn remaining_error(unit: &Unit, edits: &[Edit]) -> Option<(usize, usize, String)> {
    let mut set = EditSet::new();
    let lifted = set.add_all(edits.iter().cloned()).and_then(|()| set.apply(unit.source()));
    match lifted {
        Ok(lifted) => unit.python3_error(&lifted),
        Err(error) => Some((1, 1, error.to_string())),
    }
}

/// What a unit holds that only Python 2 allows.
pub(crate) struct Recognised {
    /// Each once, sorted.
    pub(crate) reasons: Vec<&'static str>,
    /// Whether no broken Python 3 source would hold it.
    pub(crate) certain: bool,
    /// The first error that the lift leaves.
    pub(crate) remaining: Option<(usize, usize, String)>,
}

pub(crate) fn recognise(unit: &Unit) -> Recognised {
    let scan = lift::scan(unit.source(), unit.is_cell(), Future::default());
    let certain = scan.reasons.iter().any(|reason| *reason != lift::MIXED_INDENTATION);
    let remaining = if scan.reasons.is_empty() { None } else { remaining_error(unit, &scan.edits) };
    Recognised { reasons: scan.reasons, certain, remaining }
}

/// Whether a `print` is followed by `>>`, which parses as Python 3 and fails when run.
pub(crate) fn prints_to_a_file(source: &str) -> bool {
    source.match_indices("print").any(|(at, word)| {
        let rest = source[at + word.len()..].trim_start_matches([' ', '\t']);
        rest.starts_with(">>")
    })
}

/// Whether every bracket has its counterpart.
pub(crate) fn brackets_match(source: &str) -> bool {
    let tokens = lexer::tokenize(source, true);
    let mut open = Vec::new();
    let matches = (0..tokens.tokens.len()).all(|at| match (tokens.kind(at), tokens.text(at)) {
        (Some(lexer::Kind::Operator), "(") => {
            open.push(")");
            true
        }
        (Some(lexer::Kind::Operator), "[") => {
            open.push("]");
            true
        }
        (Some(lexer::Kind::Operator), "{") => {
            open.push("}");
            true
        }
        (Some(lexer::Kind::Operator), close @ (")" | "]" | "}")) => open.pop() == Some(close),
        _ => true,
    });
    matches && open.is_empty()
}

/// Tokens that Python 2 refuses and notebooks use: f-strings, annotations, `nonlocal`, `:=`,
/// keyword arguments of `print` without its future import.
fn has_python3_tokens(unit: &Unit) -> bool {
    if matches!(unit.syntax(), Syntax::Opaque(_)) || unit.has_python2_tokens() {
        return false;
    }
    let tokens = lexer::tokenize(unit.source(), unit.is_cell());
    (0..tokens.tokens.len()).any(|at| match tokens.kind(at) {
        Some(lexer::Kind::String) => {
            let text = tokens.text(at);
            text.find(['"', '\'']).is_some_and(|quote| text[..quote].contains(['f', 'F']))
        }
        Some(lexer::Kind::Name) => tokens.text(at) == "nonlocal",
        Some(lexer::Kind::Operator) => matches!(tokens.text(at), "->" | ":="),
        _ => false,
    })
}

/// Where an offset of the lifted source lies in the original.
pub fn original_offset(edits: &[Edit], lifted: TextSize) -> TextSize {
    let mut shift = 0_i64;
    let lifted = i64::from(lifted.to_u32());
    for edit in edits {
        let start = i64::from(edit.range.start().to_u32()) + shift;
        let length = i64::try_from(edit.text.len()).unwrap_or(i64::MAX);
        if lifted < start {
            break;
        }
        if lifted < start + length {
            return edit.range.start();
        }
        shift += length - i64::from(edit.range.len().to_u32());
    }
    TextSize::new(u32::try_from((lifted - shift).max(0)).unwrap_or(u32::MAX))
}
