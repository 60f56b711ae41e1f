//! Doubts about rules that somebody has looked at: `reviewed.toml`, with the reason why the rule stands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use super::judge::Outcome;
use super::table::Row;

/// What is wrong with the file.
#[derive(Debug, Error)]
pub(crate) enum ReviewError {
    /// It cannot be read.
    #[error("{path}: {1}", path = .0.display())]
    Read(PathBuf, std::io::Error),
    /// It is not TOML, or has other fields.
    #[error("{path}: {1}", path = .0.display())]
    Syntax(PathBuf, toml::de::Error),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReviews {
    reviewed: Vec<RawReview>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReview {
    outcome: Outcome,
    rules: Vec<String>,
    reason: String,
}

/// Why rules stand in spite of their outcome.
#[derive(Debug, Default)]
pub(crate) struct Reviews(BTreeMap<String, (Outcome, String)>);

impl Reviews {
    /// Reads `reviewed.toml`.
    pub(crate) fn read(folder: &Path) -> Result<Reviews, ReviewError> {
        let path = folder.join("reviewed.toml");
        let text = std::fs::read_to_string(&path).map_err(|error| ReviewError::Read(path.clone(), error))?;
        let raw: RawReviews = toml::from_str(&text).map_err(|error| ReviewError::Syntax(path, error))?;
        let entries = raw.reviewed.into_iter().flat_map(|review| {
            let RawReview { outcome, rules, reason } = review;
            rules.into_iter().map(move |rule| (rule, (outcome, reason.clone())))
        });
        Ok(Reviews(entries.collect()))
    }

    /// Why a row's rule stands.
    pub(crate) fn reason(&self, row: &Row) -> Option<&str> {
        self.0
            .get(&row.rule)
            .filter(|(outcome, _)| *outcome == row.outcome)
            .map(|(_, reason)| reason.as_str())
    }

    /// Rows that somebody has to look at.
    pub(crate) fn open<'a>(&self, rows: &'a [Row]) -> Vec<&'a Row> {
        rows.iter().filter(|row| row.outcome.is_doubt() && self.reason(row).is_none()).collect()
    }

    /// Rules whose rows no longer have the outcome that was looked at.
    #[cfg(test)]
    pub(crate) fn needless(&self, rows: &[Row]) -> Vec<&str> {
        let holds = |rule: &str| rows.iter().any(|row| row.rule == rule && self.reason(row).is_some());
        self.0.keys().map(String::as_str).filter(|rule| !holds(rule)).collect()
    }
}
