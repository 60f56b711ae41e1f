//! The rules of the published study (arXiv 2602.07195), so that its tables can be rebuilt.
//!
//! They are kept as they are, faults included, and are used for nothing else:
//! a large p-value of few or noisy scores counts as "reproducible", the sign of a score is lost in the
//! normalisation, and a steady score a hair beside its target is rejected.

use std::time::Duration;

use serde::Serialize;

use super::student::two_sided_p;
use super::{mean, variance};

/// The settings of the study's first rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// The largest relative difference, as a share of the target.
    pub share: f64,
    /// Whether a difference of exactly that share is still inside (the study has both spellings).
    pub inclusive: bool,
    /// The longest run that counts.
    pub budget: Duration,
}

impl Default for Band {
    /// Ten per cent, inclusive, 600 seconds.
    fn default() -> Self {
        Self { share: 0.10, inclusive: true, budget: Duration::from_secs(600) }
    }
}

/// What the first rule calls a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum BandVerdict {
    /// Within the band.
    Replicable,
    /// Graded, and outside the band.
    #[serde(rename = "Not Replicable")]
    NotReplicable,
    /// It wrote no table that could be graded.
    #[serde(rename = "Failed: no csv")]
    NoCsv,
    /// It took longer than the budget.
    #[serde(rename = "Failed: over the budget")]
    OverBudget,
}

impl Band {
    /// Whether `measured` is close enough to `target`; never for a target of zero.
    pub fn holds(&self, measured: f64, target: f64) -> bool {
        if target == 0.0 || !measured.is_finite() || !target.is_finite() {
            return false;
        }
        // In per cent, as the study computes it: at the very edge the rounding of this order of operations decides.
        let percent = (measured - target).abs() / target.abs() * 100.0;
        let limit = self.share * 100.0;
        if self.inclusive { percent <= limit } else { percent < limit }
    }

    /// The verdict on one run: `score` is none where nothing could be graded.
    pub fn verdict(&self, score: Option<f64>, target: f64, took: Duration) -> BandVerdict {
        match score {
            _ if took > self.budget => BandVerdict::OverBudget,
            None => BandVerdict::NoCsv,
            Some(score) if self.holds(score, target) => BandVerdict::Replicable,
            Some(_) => BandVerdict::NotReplicable,
        }
    }
}

/// Stages judged by reruns and a t-test. The baseline has a rule of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The notebook as it was, in today's image.
    Baseline,
    /// Backported or modernized.
    Treated,
}

/// One notebook's reruns: `scores[0]` is run 1, the graded run; none where a run gave no number.
#[derive(Debug, Clone, PartialEq)]
pub struct Reruns<'a> {
    /// The leaderboard's score.
    pub target: f64,
    /// Scores of the runs in order.
    pub scores: &'a [Option<f64>],
}

/// A decision of the second rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reproducible {
    /// The study's verdict.
    pub reproducible: bool,
    /// The t-test's p-value, where it was asked for one; NaN is left out as none.
    pub p_value: Option<f64>,
    /// The step of the rule that decided.
    pub because: Because,
}

/// Which step of the second rule decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Because {
    /// The second run is missing from the results altogether, and what is not listed as bad counts as good.
    NoSecondRun,
    /// The baseline gave the same score twice, whatever the target.
    EqualScores,
    /// Both of the first two runs are within the band.
    WithinBand,
    /// Fewer than two runs gave a number.
    TooFewScores,
    /// The scores do not vary and equal the target: no p-value.
    UndefinedP,
    /// The t-test's p-value.
    TTest,
}

/// Linear map of the logarithms of one competition's targets onto 0 to 1, as the study normalises scores.
///
/// Its minimum and maximum are those of the *suspects'* targets, so a score's image depends on its company. (The t
/// statistic does not: it is the same under any linear map.)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normalisation {
    low: f64,
    high: f64,
    lower_is_better: bool,
}

impl Normalisation {
    /// From the targets of a competition's suspects.
    pub fn of_targets(targets: &[f64], lower_is_better: bool) -> Self {
        let logs = targets.iter().map(|target| target.abs().ln_1p());
        Self {
            low: logs.clone().fold(f64::INFINITY, f64::min),
            high: logs.fold(f64::NEG_INFINITY, f64::max),
            lower_is_better,
        }
    }

    /// The image of a score.
    pub fn apply(&self, score: f64) -> f64 {
        let log = score.abs().ln_1p();
        let mapped = if self.high > self.low { (log - self.low) / (self.high - self.low) } else { log };
        if self.lower_is_better { -mapped } else { mapped }
    }
}

/// Two-sided one-sample t-test of `scores` against `target`, both already normalised: the p-value, which is NaN for
/// scores that do not vary and equal the target, and 0 for such that do not vary and differ.
pub fn t_test(scores: &[f64], target: f64) -> f64 {
    let Some(mean) = mean(scores) else { return f64::NAN };
    if scores.len() < 2 {
        return f64::NAN;
    }
    let n = scores.len() as f64;
    two_sided_p((mean - target) / (variance(scores) / n).sqrt(), n - 1.0)
}

/// Whether a notebook is a suspect after two runs: only suspects are run again and tested.
pub fn is_suspect(reruns: &Reruns<'_>, stage: Stage, band: &Band) -> bool {
    let first = reruns.scores.first().copied().flatten();
    let second = reruns.scores.get(1).copied().flatten();
    match (first, second, stage) {
        (Some(first), Some(second), Stage::Baseline) => first != second,
        (Some(first), Some(second), Stage::Treated) => {
            !(band.holds(first, reruns.target) && band.holds(second, reruns.target))
        }
        _ => true,
    }
}

/// The second rule: reruns and a t-test on normalised scores.
///
/// `second_run_is_recorded` is false where the result of run 2 does not exist (not even as a failure).
pub fn reproducible(
    reruns: &Reruns<'_>,
    second_run_is_recorded: bool,
    stage: Stage,
    band: &Band,
    normalisation: &Normalisation,
) -> Reproducible {
    if !second_run_is_recorded {
        return Reproducible { reproducible: true, p_value: None, because: Because::NoSecondRun };
    }
    if !is_suspect(reruns, stage, band) {
        let because = if stage == Stage::Baseline { Because::EqualScores } else { Because::WithinBand };
        return Reproducible { reproducible: true, p_value: None, because };
    }
    let finite: Vec<f64> =
        reruns.scores.iter().flatten().copied().filter(|score| score.is_finite()).collect();
    if finite.len() < 2 {
        return Reproducible { reproducible: false, p_value: None, because: Because::TooFewScores };
    }
    let scores: Vec<f64> = finite.iter().map(|score| normalisation.apply(*score)).collect();
    let p = t_test(&scores, normalisation.apply(reruns.target));
    if p.is_nan() {
        return Reproducible { reproducible: false, p_value: None, because: Because::UndefinedP };
    }
    // The verdict rejects at p <= 0.05; the rule that stops the reruns ([`runs_again`]) at p < 0.05.
    Reproducible { reproducible: p > 0.05, p_value: Some(p), because: Because::TTest }
}

/// Whether the study runs a notebook again after run `reruns.scores.len()`.
///
/// After the second run: where the two scores differ or one is missing. Later: while the p-value is not below 0.05; the
/// sample it looks at leaves out run 1 and holds the last but one run twice, as the study's script does.
pub fn runs_again(reruns: &Reruns<'_>, normalisation: &Normalisation) -> bool {
    match reruns.scores {
        [] | [_] => true,
        [first, second] => first.is_none() || first != second,
        [_, later @ ..] => {
            let mut sample: Vec<f64> = later.iter().flatten().copied().collect();
            if let Some(doubled) = later.len().checked_sub(2).and_then(|index| later[index]) {
                sample.push(doubled);
            }
            let sample: Vec<f64> = sample.iter().map(|score| normalisation.apply(*score)).collect();
            let p = t_test(&sample, normalisation.apply(reruns.target));
            p.is_nan() || p >= 0.05
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Normalisation = Normalisation { low: 0.0, high: 0.0, lower_is_better: false };

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_band_accepts_ten_per_cent() {
        let band = Band::default();
        assert_eq!(band.verdict(Some(0.9), 0.99, seconds(10)), BandVerdict::Replicable);
        assert_eq!(band.verdict(Some(0.85), 0.99, seconds(10)), BandVerdict::NotReplicable);
        assert_eq!(band.verdict(None, 0.99, seconds(10)), BandVerdict::NoCsv);
        assert_eq!(band.verdict(Some(0.99), 0.99, seconds(601)), BandVerdict::OverBudget);
        assert_eq!(band.verdict(Some(0.0), 0.0, seconds(10)), BandVerdict::NotReplicable);
        assert_eq!(band.verdict(Some(-1.05), -1.0, seconds(10)), BandVerdict::Replicable);
    }

    #[test]
    fn the_edge_of_the_band_is_a_setting() {
        let inclusive = Band::default();
        let exclusive = Band { inclusive: false, ..Band::default() };
        assert!(inclusive.holds(11.0, 10.0));
        assert!(!exclusive.holds(11.0, 10.0));
        let short = Band { budget: seconds(300), ..Band::default() };
        assert_eq!(short.verdict(Some(1.0), 1.0, seconds(301)), BandVerdict::OverBudget);
    }

    /// `scipy.stats.ttest_1samp`, scipy 1.17.1.
    #[test]
    fn p_values_are_scipys() {
        let cases: [(&[f64], f64, f64); 3] = [
            (&[0.5, 0.9], 0.99, 0.38435876319455486),
            (&[0.81, 0.79, 0.8, 0.83, 0.77], 0.75, 0.007490433881274481),
            (&[1.0, 1.001, 0.999], 1.0005, 0.4777670321329276),
        ];
        for (scores, target, expected) in cases {
            let p = t_test(scores, target);
            assert!((p / expected - 1.0).abs() < 1e-9, "{scores:?} against {target}: {p}, scipy {expected}");
        }
    }

    #[test]
    fn two_far_scores_pass_and_a_steady_near_one_does_not() {
        let band = Band::default();
        let far = Reruns { target: 0.99, scores: &[Some(0.5), Some(0.9)] };
        let verdict = reproducible(&far, true, Stage::Treated, &band, &PLAIN);
        assert!(verdict.reproducible);
        let p = verdict.p_value.expect("tested");
        assert!((0.3..0.45).contains(&p), "{p}");

        let narrow = Band { share: 0.0005, ..band };
        let steady =
            Reruns { target: 0.991, scores: &[Some(0.9901), Some(0.9899), Some(0.99), Some(0.9901)] };
        assert!(!reproducible(&steady, true, Stage::Treated, &narrow, &PLAIN).reproducible);
        // Only the band rescues it.
        assert!(reproducible(&steady, true, Stage::Treated, &band, &PLAIN).reproducible);
    }

    #[test]
    fn scores_that_do_not_vary() {
        let tight = Band { share: 1e-9, ..Band::default() };
        let equal = Reruns { target: 0.5, scores: &[Some(0.5), None, Some(0.5)] };
        let verdict = reproducible(&equal, true, Stage::Treated, &tight, &PLAIN);
        assert_eq!((verdict.reproducible, verdict.because), (false, Because::UndefinedP));
        let beside = Reruns { target: 0.6, scores: &[Some(0.5), None, Some(0.5)] };
        let verdict = reproducible(&beside, true, Stage::Treated, &tight, &PLAIN);
        assert_eq!((verdict.reproducible, verdict.p_value), (false, Some(0.0)));
        // A deterministic baseline passes, however far from its target.
        let wrong = Reruns { target: 0.9, scores: &[Some(0.1), Some(0.1)] };
        let verdict = reproducible(&wrong, true, Stage::Baseline, &tight, &PLAIN);
        assert_eq!((verdict.reproducible, verdict.because), (true, Because::EqualScores));
    }

    #[test]
    fn missing_runs() {
        let band = Band::default();
        let alone = Reruns { target: 0.9, scores: &[Some(0.1)] };
        assert!(reproducible(&alone, false, Stage::Treated, &band, &PLAIN).reproducible);
        let failed = Reruns { target: 0.9, scores: &[Some(0.9), None] };
        let verdict = reproducible(&failed, true, Stage::Treated, &band, &PLAIN);
        assert_eq!((verdict.reproducible, verdict.because), (false, Because::TooFewScores));
    }

    #[test]
    fn normalisation_loses_the_sign() {
        let normalisation = Normalisation::of_targets(&[-0.5, 0.9], true);
        assert_eq!(normalisation.apply(-0.5), normalisation.apply(0.5));
        assert_eq!(normalisation.apply(0.9), -1.0);
        let alone = Normalisation::of_targets(&[0.9], false);
        assert_eq!(alone.apply(0.9), 0.9_f64.ln_1p());
    }

    #[test]
    fn the_t_statistic_does_not_depend_on_the_company() {
        let reruns = Reruns { target: 0.99, scores: &[Some(0.5), Some(0.9), Some(0.7)] };
        let band = Band::default();
        let p = |normalisation: &Normalisation| {
            reproducible(&reruns, true, Stage::Treated, &band, normalisation).p_value.expect("tested")
        };
        let wide = p(&Normalisation::of_targets(&[0.2, 0.99, 3.0], true));
        assert!((wide - p(&PLAIN)).abs() < 1e-12);
    }

    #[test]
    fn reruns_stop_below_and_verdicts_reject_at_five_per_cent() {
        let steady = Reruns { target: 0.99, scores: &[Some(0.5), Some(0.5)] };
        assert!(!runs_again(&steady, &PLAIN));
        let missing = Reruns { target: 0.99, scores: &[None, None] };
        assert!(runs_again(&missing, &PLAIN));
        let noisy = Reruns { target: 0.7, scores: &[Some(0.5), Some(0.9), Some(0.6)] };
        assert!(runs_again(&noisy, &PLAIN));
        // Run 1 is left out and run 2 counts twice: 0.9, 0.9, 0.9001 against 0.7.
        let shifted = Reruns { target: 0.7, scores: &[Some(0.7), Some(0.9), Some(0.9001)] };
        assert!(!runs_again(&shifted, &PLAIN));
    }
}
