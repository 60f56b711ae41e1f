//! Default values that changed without an error: the tables in `defaults/`, and the calls that relied on them.
//!
//! A call is worth a [`DefaultPin`] when the notebook's time ([`Past`]) proves that the old default held, the target
//! has the new one, and the call leaves the parameter out.

mod calls;
mod change;
mod find;

pub use change::{DefaultChange, DefaultEffect};
pub use find::{DefaultPin, Past};

use serde::Deserialize;
use toml::Spanned;

use crate::catalogue::CatalogueError;
use crate::place::Place;
use crate::rule::Rule;
use change::RawDefault;

/// The tables, one a library.
const TABLES: &[(&str, &str)] = &[
    ("defaults/keras.toml", include_str!("../../defaults/keras.toml")),
    ("defaults/lightgbm.toml", include_str!("../../defaults/lightgbm.toml")),
    ("defaults/pandas.toml", include_str!("../../defaults/pandas.toml")),
    ("defaults/scikit-learn.toml", include_str!("../../defaults/scikit-learn.toml")),
    ("defaults/xgboost.toml", include_str!("../../defaults/xgboost.toml")),
];

/// One file: the changes that calls can be pinned against, and those that were looked at and need no pin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    library: String,
    #[serde(default)]
    default: Vec<Spanned<RawDefault>>,
    #[serde(default)]
    reviewed: Vec<Spanned<Reviewed>>,
}

/// A change of a default that is no change of behaviour, or that no argument can undo.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reviewed {
    /// Callables and parameter.
    what: String,
    since: String,
    why: String,
}

/// The rules of all shipped tables, and what is wrong with the tables.
pub(crate) fn shipped() -> (Vec<Rule>, Vec<CatalogueError>) {
    let mut rules = Vec::new();
    let mut errors = Vec::new();
    for (file, text) in TABLES {
        let (mut read, mut refused) = read(file, text);
        rules.append(&mut read);
        errors.append(&mut refused);
    }
    (rules, errors)
}

/// The rules of one table.
pub(crate) fn read(file: &str, text: &str) -> (Vec<Rule>, Vec<CatalogueError>) {
    let error = |at: Option<usize>, rule: Option<String>, reason: String| CatalogueError {
        file: file.to_string(),
        place: at.map(|at| Place::at(text, at)),
        rule,
        reason,
    };
    let table: Table = match toml::from_str(text) {
        Ok(table) => table,
        Err(reason) => {
            let at = reason.span().map(|span| span.start);
            return (Vec::new(), vec![error(at, None, reason.message().to_string())]);
        }
    };
    let mut rules = Vec::new();
    let mut errors = Vec::new();
    for row in table.default {
        let start = row.span().start;
        let line = Place::at(text, start).line;
        match row.into_inner().compile(&table.library, file, line) {
            Ok(rule) => rules.push(rule),
            Err((id, reason)) => errors.push(error(Some(start), Some(id), reason)),
        }
    }
    for row in table.reviewed {
        let Reviewed { what, since, why } = row.get_ref();
        if [what, since, why].iter().any(|text| text.trim().is_empty()) {
            errors.push(error(Some(row.span().start), None, "reviewed: a field is empty".to_string()));
        }
    }
    (rules, errors)
}
