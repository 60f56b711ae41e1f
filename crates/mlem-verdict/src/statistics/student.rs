//! Student's t: quantiles, and the half width of a difference's confidence interval.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::variance;

/// The `1 - alpha` quantile of Student's t with `freedom` degrees of freedom.
fn quantile(alpha: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(distribution) => distribution.inverse_cdf(1.0 - alpha),
        Err(_) => f64::INFINITY,
    }
}

/// Two-sided p-value of a t statistic.
pub(super) fn two_sided_p(t: f64, freedom: f64) -> f64 {
    if t.is_nan() {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(distribution) => 2.0 * distribution.cdf(-t.abs()),
        Err(_) => f64::NAN,
    }
}

/// Half the width of the `1 - 2 alpha` confidence interval of mean(`scores`) - mean(`reference`).
///
/// One reference number is taken as exact. Several are a sample with a spread of its own; then the standard error and
/// its degrees of freedom are Welch's (1947).
pub(super) fn half_width(scores: &[f64], reference: &[f64], alpha: f64) -> f64 {
    let n = scores.len() as f64;
    let own = variance(scores) / n;
    if reference.len() < 2 {
        return if own == 0.0 { 0.0 } else { quantile(alpha, n - 1.0) * own.sqrt() };
    }
    let m = reference.len() as f64;
    let theirs = variance(reference) / m;
    let both = own + theirs;
    if both == 0.0 {
        return 0.0;
    }
    let freedom = both.powi(2) / (own.powi(2) / (n - 1.0) + theirs.powi(2) / (m - 1.0));
    quantile(alpha, freedom) * both.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.t.ppf` and `2 * scipy.stats.t.sf`, scipy 1.17.1.
    #[test]
    fn quantiles_and_p_values_are_scipys() {
        for (alpha, freedom, expected) in ORACLE_QUANTILES {
            let got = quantile(alpha, freedom);
            assert!((got / expected - 1.0).abs() < 1e-9, "t({alpha}, {freedom}) = {got}, scipy {expected}");
        }
        for (t, freedom, expected) in ORACLE_P {
            let got = two_sided_p(t, freedom);
            assert!((got / expected - 1.0).abs() < 1e-9, "p({t}, {freedom}) = {got}, scipy {expected}");
        }
    }

    #[test]
    fn extremes_of_the_statistic() {
        assert!(two_sided_p(f64::NAN, 3.0).is_nan());
        assert_eq!(two_sided_p(f64::INFINITY, 3.0), 0.0);
        assert_eq!(half_width(&[1.0, 1.0], &[2.0], 0.05), 0.0);
    }

    const ORACLE_QUANTILES: [(f64, f64, f64); 20] = [
        (0.01, 1.0, 31.820515953773935),
        (0.01, 2.0, 6.9645567342832715),
        (0.01, 4.0, 3.746947387979196),
        (0.01, 9.0, 2.821437925025809),
        (0.01, 6.37, 3.082484423297817),
        (0.014, 1.0, 22.721757784940316),
        (0.014, 2.0, 5.8499047091184675),
        (0.014, 4.0, 3.371685318841059),
        (0.014, 9.0, 2.6158683411490364),
        (0.014, 6.37, 2.8320986215696307),
        (0.05, 1.0, 6.313751514675037),
        (0.05, 2.0, 2.9199855803537242),
        (0.05, 4.0, 2.1318467863266495),
        (0.05, 9.0, 1.833112932656237),
        (0.05, 6.37, 1.9231523360608926),
        (0.025, 1.0, 12.706204736174694),
        (0.025, 2.0, 4.302652729749462),
        (0.025, 4.0, 2.7764451051977934),
        (0.025, 9.0, 2.262157162798205),
        (0.025, 6.37, 2.412869029761572),
    ];
    const ORACLE_P: [(f64, f64, f64); 15] = [
        (0.5, 1.0, 0.7048327646991335),
        (0.5, 4.0, 0.6433299631818633),
        (0.5, 9.0, 0.6290712998260263),
        (1.4, 1.0, 0.3948630865774931),
        (1.4, 4.0, 0.23410062732682985),
        (1.4, 9.0, 0.19502860441252026),
        (2.262, 1.0, 0.2649953529235534),
        (2.262, 4.0, 0.08648895141831647),
        (2.262, 9.0, 0.05001284550245463),
        (12.7, 1.0, 0.050024327689344165),
        (12.7, 4.0, 0.00022140907155096572),
        (12.7, 9.0, 4.7438380451972684e-07),
        (26.0, 1.0, 0.024473312908508946),
        (26.0, 4.0, 1.3001305766721389e-05),
        (26.0, 9.0, 8.884047050922768e-10),
    ];
}
