//! What is said about a graded submission: MLE-bench's sixteen fields, and some more.

use std::path::Path;

use jiff::ZonedDateTime;
use serde::Serialize;

use crate::chosen::Chosen;
use crate::competition::{Direction, Mode};
use crate::grader::{Outcome, ReasonKind};
use crate::leaderboard::Thresholds;

/// The report on one submission.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The competition; empty for a bare metric.
    pub competition_id: String,
    /// Rounded to five decimals. `null` without a score, and where the score is not finite.
    pub score: Option<f64>,
    /// What a gold medal takes.
    pub gold_threshold: Option<f64>,
    /// What a silver medal takes.
    pub silver_threshold: Option<f64>,
    /// What a bronze medal takes.
    pub bronze_threshold: Option<f64>,
    /// The middle of the leaderboard.
    pub median_threshold: Option<f64>,
    /// Whether any medal was earned.
    pub any_medal: bool,
    /// Gold.
    pub gold_medal: bool,
    /// Silver, and not gold.
    pub silver_medal: bool,
    /// Bronze, and neither of the others.
    pub bronze_medal: bool,
    /// Better than the median.
    pub above_median: bool,
    /// A file of that name is there and is called `.csv`.
    pub submission_exists: bool,
    /// It has a score, be it NaN.
    pub valid_submission: bool,
    /// From the leaderboard; without one, from the table.
    pub is_lower_better: bool,
    /// Local time, with microseconds.
    pub created_at: String,
    /// The graded file.
    pub submission_path: String,
    /// Why there is no score, or why it is not finite.
    pub reason: Option<String>,
    /// Of what kind the reason is.
    pub reason_kind: Option<ReasonKind>,
    /// Rows of the submission.
    pub rows: Option<usize>,
    /// The unrounded score; text for what JSON has no number for.
    pub score_raw: Option<RawScore>,
    /// The metric.
    pub metric: String,
    /// How strictly it was graded.
    pub mode: Mode,
    /// Why this file was graded, where there was a choice.
    pub chosen: Option<Chosen>,
}

/// A score as JSON can hold it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RawScore {
    /// A finite one.
    Number(f64),
    /// `NaN`, `Infinity` or `-Infinity`.
    Word(&'static str),
}

impl RawScore {
    fn new(score: f64) -> RawScore {
        match score {
            score if score.is_nan() => RawScore::Word("NaN"),
            f64::INFINITY => RawScore::Word("Infinity"),
            f64::NEG_INFINITY => RawScore::Word("-Infinity"),
            score => RawScore::Number(score),
        }
    }
}

/// What a report is about, apart from its outcome.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'s> {
    /// The competition's id, or nothing.
    pub competition: &'s str,
    /// The metric's name.
    pub metric: &'s str,
    /// Which scores are better, unless a leaderboard says.
    pub direction: Direction,
    /// How strictly it was graded.
    pub mode: Mode,
    /// For medals.
    pub thresholds: Option<Thresholds>,
}

impl Report {
    /// The report on an outcome.
    pub fn new(subject: Subject<'_>, submission: &Path, outcome: Outcome, chosen: Option<Chosen>) -> Report {
        let raw = outcome.score.as_ref().ok().copied();
        let score = raw.map(rounded);
        let medals = score.zip(subject.thresholds).map(|(score, thresholds)| thresholds.medals(score));
        let medals = medals.unwrap_or_default();
        let (mut reason, mut reason_kind) = (None, None);
        if let Err(why) = outcome.score {
            (reason, reason_kind) = (Some(why.text), Some(why.kind));
        } else if raw.is_some_and(|score| !score.is_finite()) {
            reason = Some("the metric gives no finite number here".to_owned());
        }
        let threshold = |of: fn(&Thresholds) -> f64| {
            subject.thresholds.as_ref().map(of).filter(|value| value.is_finite())
        };
        Report {
            competition_id: subject.competition.to_owned(),
            score: score.filter(|score| score.is_finite()),
            gold_threshold: threshold(|thresholds| thresholds.gold),
            silver_threshold: threshold(|thresholds| thresholds.silver),
            bronze_threshold: threshold(|thresholds| thresholds.bronze),
            median_threshold: threshold(|thresholds| thresholds.median),
            any_medal: medals.gold || medals.silver || medals.bronze,
            gold_medal: medals.gold,
            silver_medal: medals.silver,
            bronze_medal: medals.bronze,
            above_median: medals.above_median,
            submission_exists: outcome.exists,
            valid_submission: raw.is_some(),
            is_lower_better: subject
                .thresholds
                .map_or(subject.direction == Direction::Lower, |thresholds| thresholds.is_lower_better),
            created_at: ZonedDateTime::now().strftime("%Y-%m-%dT%H:%M:%S.%6f").to_string(),
            submission_path: submission.display().to_string(),
            reason,
            reason_kind,
            rows: outcome.rows,
            score_raw: raw.map(RawScore::new),
            metric: subject.metric.to_owned(),
            mode: subject.mode,
            chosen,
        }
    }

    /// The sixteen fields that MLE-bench's own report has, in its order.
    pub fn as_mlebench(&self) -> serde_json::Value {
        let mut fields = match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(fields)) => fields,
            // A struct of strings, numbers and lists always serialises to an object.
            _ => serde_json::Map::new(),
        };
        for own in ["reason", "reason_kind", "rows", "score_raw", "metric", "mode", "chosen"] {
            fields.shift_remove(own);
        }
        serde_json::Value::Object(fields)
    }
}

/// Rounds to five decimals as Python's `round(score, 5)` does for a float: the decimal nearest to the exact
/// binary value, the even one if two are.
pub fn rounded(score: f64) -> f64 {
    if !score.is_finite() {
        return score;
    }
    // Rust prints the exact value rounded half to even, and reads it back correctly rounded.
    format!("{score:.5}").parse().unwrap_or(score)
}

/// The sums over several reports, as in MLE-bench's aggregated report.
#[derive(Debug, Clone, Serialize)]
pub struct Aggregate {
    /// Submissions asked for.
    pub total_runs: usize,
    /// Submissions that are there.
    pub total_runs_with_submissions: usize,
    /// Submissions with a score.
    pub total_valid_submissions: usize,
    /// Medals of any kind.
    pub total_medals: usize,
    /// Gold medals.
    pub total_gold_medals: usize,
    /// Silver medals.
    pub total_silver_medals: usize,
    /// Bronze medals.
    pub total_bronze_medals: usize,
    /// Submissions better than the median.
    pub total_above_median: usize,
    /// Each report.
    pub competition_reports: Vec<Report>,
}

impl Aggregate {
    /// The sums over these reports.
    pub fn new(reports: Vec<Report>) -> Aggregate {
        let count = |is_so: fn(&Report) -> bool| reports.iter().filter(|report| is_so(report)).count();
        Aggregate {
            total_runs: reports.len(),
            total_runs_with_submissions: count(|report| report.submission_exists),
            total_valid_submissions: count(|report| report.valid_submission),
            total_medals: count(|report| report.any_medal),
            total_gold_medals: count(|report| report.gold_medal),
            total_silver_medals: count(|report| report.silver_medal),
            total_bronze_medals: count(|report| report.bronze_medal),
            total_above_median: count(|report| report.above_median),
            competition_reports: reports,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_that_of_python() {
        // round(x, 5) of CPython 3.11
        for (score, expected) in [
            (0.000005, 1e-5),
            (0.000015, 2e-5),
            (0.1234565, 0.12346),
            (2.675, 2.675),
            (-1.0000049, -1.0),
            (1e22, 1e22),
        ] {
            assert_eq!(rounded(score), expected, "{score}");
        }
        assert!(rounded(f64::NAN).is_nan());
    }

    fn report(score: f64) -> Report {
        let subject = Subject {
            competition: "c",
            metric: "m",
            direction: Direction::Lower,
            mode: Mode::Mlebench,
            thresholds: Some(Thresholds {
                gold: 0.1,
                silver: 0.2,
                bronze: 0.3,
                median: 0.4,
                is_lower_better: true,
            }),
        };
        let outcome = Outcome { score: Ok(score), rows: Some(3), exists: true };
        Report::new(subject, Path::new("s.csv"), outcome, None)
    }

    #[test]
    fn what_is_no_number_is_null_and_valid() {
        let nan = report(f64::NAN);
        assert!(nan.valid_submission && !nan.any_medal && nan.score.is_none());
        let json = serde_json::to_string(&nan).unwrap();
        assert!(json.contains(r#""score":null"#) && json.contains(r#""score_raw":"NaN""#), "{json}");
        let perfect = report(f64::NEG_INFINITY);
        assert!(perfect.gold_medal && perfect.score_raw == Some(RawScore::Word("-Infinity")));
    }

    #[test]
    fn the_sixteen_fields_keep_their_order() {
        let fields = report(0.25).as_mlebench();
        let names: Vec<&String> = fields.as_object().unwrap().keys().collect();
        assert_eq!(
            names,
            [
                "competition_id",
                "score",
                "gold_threshold",
                "silver_threshold",
                "bronze_threshold",
                "median_threshold",
                "any_medal",
                "gold_medal",
                "silver_medal",
                "bronze_medal",
                "above_median",
                "submission_exists",
                "valid_submission",
                "is_lower_better",
                "created_at",
                "submission_path"
            ]
        );
        assert_eq!(fields["bronze_medal"], true);
        let created = fields["created_at"].as_str().unwrap();
        assert_eq!((created.len(), &created[10..11]), (26, "T"), "{created}");
    }
}
