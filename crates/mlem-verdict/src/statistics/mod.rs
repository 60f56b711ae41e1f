//! Is the score the same? Equivalence from repeated runs, with a stated error rate.
//!
//! Failing to find a difference is not a proof of sameness, so the question is put the other way round:
//! [`assess`] says *equivalent* only when a confidence interval of the difference lies inside the
//! margin (two one-sided tests, Schuirmann 1987), *different* only when it lies outside, and
//! *inconclusive* otherwise. The runs may be looked at one by one: the level of each look is chosen so
//! that the rate of wrong decisions over the whole [`Plan`] stays below its stated bound.
//!
//! [`paper`] holds the rules of the published study (arXiv 2602.07195), faults included, so that its tables can be
//! rebuilt.

mod margin;
pub mod paper;
mod plan;
mod student;

use serde::{Deserialize, Serialize};

pub use margin::{Margin, margin_of_metric, metric_margins};
pub use plan::Plan;

/// What one run gave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunScore {
    /// A finite score.
    Scored(f64),
    /// The run gave none: it failed, was stopped, or what it wrote could not be graded.
    Missing,
}

impl RunScore {
    /// A grader's answer as a run's score: what is not a finite number counts as missing.
    pub fn new(score: Option<f64>) -> Self {
        match score {
            Some(value) if value.is_finite() => RunScore::Scored(value),
            _ => RunScore::Missing,
        }
    }

    /// The score, where there is one.
    pub fn value(self) -> Option<f64> {
        match self {
            RunScore::Scored(value) => Some(value),
            RunScore::Missing => None,
        }
    }
}

/// What has been decided so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The difference lies within the margin.
    Equivalent,
    /// The difference lies outside the margin.
    Different,
    /// All runs are used up and neither can be said, or a run gave no score.
    Inconclusive,
    /// Neither can be said yet, and runs are left.
    RunAgain,
}

/// A decision with the figures it rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assessment {
    /// What was decided.
    pub decision: Decision,
    /// Why, in words.
    pub reason: String,
    /// Runs that were made, those without a score included.
    pub runs: usize,
    /// Runs that gave no score.
    pub missing: usize,
    /// Mean of the runs' scores; none without a score.
    pub mean: Option<f64>,
    /// Sample standard deviation (divisor n - 1); none below two scores.
    pub standard_deviation: Option<f64>,
    /// Mean of the reference.
    pub reference: f64,
    /// Mean minus reference.
    pub difference: Option<f64>,
    /// The largest difference that counts as the same, in the score's own unit.
    pub margin: f64,
    /// Confidence interval of the difference.
    pub interval: Option<[f64; 2]>,
    /// Confidence level of that interval.
    pub level: Option<f64>,
    /// Whether two runs that give the same count as proof that all do.
    pub deterministic: bool,
}

/// Decides from the runs made so far whether the score is still the reference's.
///
/// `reference` holds the score to compare with: one number (a leaderboard's, a stored one), or several when the
/// old notebook was repeated, too. `identical` says that the first two runs gave the same in everything they
/// show and write; then they stand for all and are compared exactly.
///
/// # Panics
/// Never; an empty `reference` or one without a finite number is inconclusive.
pub fn assess(
    reference: &[f64],
    runs: &[RunScore],
    identical: bool,
    margin: Margin,
    plan: &Plan,
) -> Assessment {
    let past: Vec<f64> = reference.iter().copied().filter(|value| value.is_finite()).collect();
    let scores: Vec<f64> = runs.iter().filter_map(|run| run.value()).collect();
    let target = mean(&past).unwrap_or(f64::NAN);
    let width = margin.around(target);
    let mut assessment = Assessment {
        decision: Decision::RunAgain,
        reason: String::new(),
        runs: runs.len(),
        missing: runs.len() - scores.len(),
        mean: mean(&scores),
        standard_deviation: (scores.len() > 1).then(|| variance(&scores).sqrt()),
        reference: target,
        difference: mean(&scores).map(|mean| mean - target),
        margin: width,
        interval: None,
        level: None,
        deterministic: false,
    };
    let (decision, reason) = decide(&past, &scores, identical, plan, &mut assessment);
    assessment.decision = decision;
    assessment.reason = reason;
    assessment
}

fn decide(
    past: &[f64],
    scores: &[f64],
    identical: bool,
    plan: &Plan,
    assessment: &mut Assessment,
) -> (Decision, String) {
    let runs = assessment.runs;
    let over = runs >= plan.runs();
    let margin = assessment.margin;
    if past.is_empty() {
        return (Decision::Inconclusive, "there is no score to compare with".to_owned());
    }
    let Some(difference) = assessment.difference else {
        return if over {
            (Decision::Inconclusive, format!("none of {runs} runs gave a score"))
        } else {
            (Decision::RunAgain, "no score yet".to_owned())
        };
    };
    // Two equal scores with different outputs are chance (accuracy has few values); two equal runs are not.
    if identical
        && assessment.missing == 0
        && scores.len() > 1
        && scores.iter().all(|score| *score == scores[0])
    {
        assessment.deterministic = true;
        return if difference.abs() <= margin {
            (Decision::Equivalent, format!("identical runs, {} from the reference", number(difference)))
        } else {
            (Decision::Different, format!("identical runs, {} from the reference", number(difference)))
        };
    }
    if scores.len() < 2 {
        return if over {
            (Decision::Inconclusive, format!("only one of {runs} runs gave a score"))
        } else {
            (Decision::RunAgain, "one score says nothing about its spread".to_owned())
        };
    }
    // Two equal scores have no spread to judge by: a metric of few values (accuracy on 50 rows) repeats by chance.
    if scores.len() == 2 && scores[0] == scores[1] && past.len() < 2 && !over {
        return (Decision::RunAgain, "two equal scores of runs that were not identical".to_owned());
    }
    let level = 1.0 - 2.0 * plan.look_level();
    let half = student::half_width(scores, past, plan.look_level());
    let interval = [difference - half, difference + half];
    assessment.interval = Some(interval);
    assessment.level = Some(level);
    let shown = format!(
        "{}% interval of the difference {} to {}, margin {}",
        (level * 1000.0).round() / 10.0,
        number(interval[0]),
        number(interval[1]),
        number(margin)
    );
    if interval[0] > margin || interval[1] < -margin {
        return (Decision::Different, shown);
    }
    let inside = interval[0] >= -margin && interval[1] <= margin;
    match (inside, assessment.missing, over) {
        (true, 0, _) => (Decision::Equivalent, shown),
        (true, missing, _) => (
            Decision::Inconclusive,
            format!("{missing} of {runs} runs gave no score; of the others: {shown}"),
        ),
        (false, _, true) => (Decision::Inconclusive, shown),
        (false, _, false) => (Decision::RunAgain, shown),
    }
}

/// Six significant digits, for reasons that people read.
fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = 5 - value.abs().log10().floor() as i32;
    if (0..=12).contains(&digits) {
        let text = format!("{value:.*}", digits as usize);
        let trimmed = text.trim_end_matches('0').trim_end_matches('.');
        trimmed.to_owned()
    } else {
        format!("{value:.5e}")
    }
}

/// Arithmetic mean; none of nothing.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample variance with the divisor n - 1; zero below two values.
pub(crate) fn variance(values: &[f64]) -> f64 {
    let Some(mean) = mean(values) else { return 0.0 };
    if values.len() < 2 {
        return 0.0;
    }
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(values: &[f64]) -> Vec<RunScore> {
        values.iter().map(|value| RunScore::Scored(*value)).collect()
    }

    fn decision(reference: &[f64], runs: &[RunScore], identical: bool, margin: f64) -> Decision {
        assess(reference, runs, identical, Margin::Absolute(margin), &Plan::default()).decision
    }

    #[test]
    fn identical_runs_are_compared_exactly() {
        let runs = scored(&[0.81, 0.81]);
        assert_eq!(decision(&[0.81], &runs, true, 0.001), Decision::Equivalent);
        assert_eq!(decision(&[0.80], &runs, true, 0.001), Decision::Different);
    }

    #[test]
    fn equal_scores_of_unequal_runs_are_not_determinism() {
        let runs = scored(&[0.81, 0.81]);
        let assessment = assess(&[0.81], &runs, false, Margin::Absolute(0.001), &Plan::default());
        assert!(!assessment.deterministic);
        assert_eq!(assessment.standard_deviation, Some(0.0));
    }

    #[test]
    fn a_wide_spread_is_no_proof_of_sameness() {
        // The study's t-test calls this reproducible: p = 0.38.
        let runs = scored(&[0.5, 0.9]);
        assert_eq!(decision(&[0.99], &runs, false, 0.01), Decision::RunAgain);
        let ten = scored(&[0.5, 0.9, 0.6, 0.8, 0.5, 0.9, 0.55, 0.85, 0.6, 0.99]);
        assert_ne!(decision(&[0.99], &ten, false, 0.01), Decision::Equivalent);
    }

    #[test]
    fn a_steady_score_beside_its_target_is_the_same() {
        // The study's t-test calls this different: |t| = 26.
        let runs = scored(&[0.9901, 0.9899, 0.9900, 0.9901, 0.9899]);
        assert_eq!(decision(&[0.991], &runs, false, 0.01), Decision::Equivalent);
    }

    #[test]
    fn a_missing_run_never_counts_as_success() {
        let mut runs = scored(&[0.9901, 0.9899, 0.9900, 0.9901, 0.9899]);
        runs.push(RunScore::new(Some(f64::NAN)));
        assert_eq!(decision(&[0.99], &runs, false, 0.01), Decision::Inconclusive);
        assert_eq!(decision(&[0.5], &runs, false, 0.01), Decision::Different);
        let none = vec![RunScore::Missing; Plan::MOST_RUNS];
        assert_eq!(decision(&[0.5], &none, false, 0.01), Decision::Inconclusive);
        assert_eq!(decision(&[0.5], &[RunScore::Missing], false, 0.01), Decision::RunAgain);
        assert_eq!(decision(&[], &scored(&[1.0, 1.0]), true, 0.01), Decision::Inconclusive);
        assert_eq!(decision(&[f64::NAN], &scored(&[1.0, 1.0]), true, 0.01), Decision::Inconclusive);
    }

    #[test]
    fn a_repeated_reference_brings_its_own_spread() {
        let runs = scored(&[0.80, 0.81, 0.79, 0.80, 0.81]);
        let steady = assess(&[0.80], &runs, false, Margin::Absolute(0.02), &Plan::default());
        let spread =
            assess(&[0.70, 0.90, 0.75, 0.85, 0.80], &runs, false, Margin::Absolute(0.02), &Plan::default());
        assert_eq!(steady.decision, Decision::Equivalent);
        assert_eq!(spread.decision, Decision::Inconclusive);
    }

    #[test]
    fn figures_are_shown_with_six_digits() {
        assert_eq!(number(0.1234567), "0.123457");
        assert_eq!(number(1234.5678), "1234.57");
        assert_eq!(number(-0.5), "-0.5");
        assert_eq!(number(1.5e-9), "1.50000e-9");
        assert_eq!(number(0.0), "0");
    }
}
