//! Python 2 syntax: recognised by tokens, lifted to Python 3.

use crate::{Edit, Unit};

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

/// Whether the units together are a Python 2 program, judged by tokens only.
pub fn is_python2(units: &[Unit]) -> bool {
    units.iter().any(|unit| matches!(unit.syntax(), crate::Syntax::Python2 { .. }))
}

/// The edits that bring one unit of a Python 2 program to Python 3 syntax.
///
/// # Errors
/// [`LiftError::Unparsable`] if the result would not parse.
pub fn lift_python2(_unit: &Unit) -> Result<Vec<Edit>, LiftError> {
    Ok(Vec::new())
}

pub(crate) fn prints_to_a_file(_source: &str) -> bool {
    false
}

pub(crate) fn reasons(_unit: &Unit) -> Vec<&'static str> {
    Vec::new()
}
