//! How far a score may move and still be the same.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// An equivalence margin: the largest difference that counts as the same.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Margin {
    /// In the score's own unit.
    Absolute(f64),
    /// As a share of the reference's absolute value, for scores without a natural unit (errors in dollars or seconds).
    Relative(f64),
}

impl Margin {
    /// The margin in the score's own unit around `reference`.
    pub fn around(self, reference: f64) -> f64 {
        match self {
            Margin::Absolute(width) => width.abs(),
            Margin::Relative(share) => share.abs() * reference.abs(),
        }
    }
}

#[derive(Deserialize)]
struct Table {
    metric: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    names: Vec<String>,
    margin: Margin,
    #[expect(dead_code, reason = "for the reader of the table")]
    why: String,
}

static MARGINS: LazyLock<BTreeMap<String, Margin>> = LazyLock::new(|| {
    // The table is part of the program; a test reads every row of it.
    let table: Table = toml::from_str(include_str!("margins.toml")).expect("margins.toml is valid");
    table
        .metric
        .into_iter()
        .flat_map(|row| row.names.into_iter().map(move |name| (name, row.margin)))
        .collect()
});

/// The default margin of a metric, by the name a grader or scikit-learn gives it (`roc_auc`, `rmse`,
/// `neg_mean_squared_error`; case, blanks and hyphens do not matter). Unknown metrics have none: the caller has to say.
pub fn margin_of_metric(metric: &str) -> Option<Margin> {
    let name = metric.trim().to_lowercase().replace([' ', '-'], "_");
    let name = name.strip_prefix("neg_").unwrap_or(&name);
    let name = name.strip_suffix("_score").or_else(|| name.strip_suffix("_error")).unwrap_or(name);
    MARGINS.get(name).copied()
}

/// All metrics that have a default margin, in alphabetical order.
pub fn metric_margins() -> impl Iterator<Item = (&'static str, Margin)> {
    MARGINS.iter().map(|(name, margin)| (name.as_str(), *margin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_in_the_scores_unit() {
        assert_eq!(Margin::Absolute(0.01).around(-5.0), 0.01);
        assert_eq!(Margin::Relative(0.02).around(-5.0), 0.1);
    }

    #[test]
    fn names_of_graders_and_of_scikit_learn_are_known() {
        assert_eq!(margin_of_metric("ROC AUC"), margin_of_metric("roc_auc_score"));
        assert!(margin_of_metric("neg_mean_squared_error").is_some());
        assert!(margin_of_metric("Log-Loss").is_some());
        assert_eq!(margin_of_metric("profit"), None);
    }

    #[test]
    fn every_margin_is_a_positive_share() {
        for (name, margin) in metric_margins() {
            let (Margin::Absolute(width) | Margin::Relative(width)) = margin;
            assert!(width > 0.0 && width <= 0.05, "{name}: {width}");
        }
    }
}
