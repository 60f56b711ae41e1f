//! Losses of predicted probabilities.

use super::sums::{mean, sum};

/// The machine epsilon of 64-bit floats, to which scikit-learn's `log_loss` clips (since 1.3, for float64).
pub const SKLEARN_EPSILON: f64 = f64::EPSILON;

/// Mean log loss of the probability of `true`; probabilities are clipped after `1 - p` is formed.
pub fn log_loss_binary(truth: &[bool], positive: &[f64]) -> f64 {
    mean(truth.iter().zip(positive).map(|(truth, positive)| {
        let probability = if *truth { *positive } else { 1.0 - positive };
        -clip(probability, SKLEARN_EPSILON).ln()
    }))
}

/// Mean log loss over rows of one-hot truth, column by column; rows are not renormalised.
pub fn log_loss_columns(truth: &[Vec<f64>], predicted: &[Vec<f64>]) -> f64 {
    let rows = truth.first().map_or(0, Vec::len);
    mean((0..rows).map(|row| {
        -sum(truth
            .iter()
            .zip(predicted)
            .filter(|(truth, _)| truth[row] != 0.0)
            .map(|(truth, predicted)| truth[row] * clip(predicted[row], SKLEARN_EPSILON).ln()))
    }))
}

/// Kullback-Leibler divergence of predicted from true distributions, summed over columns, averaged over rows.
pub fn kl_divergence(truth: &[Vec<f64>], predicted: &[Vec<f64>], epsilon: f64) -> f64 {
    let rows = truth.first().map_or(0, Vec::len);
    mean((0..rows).map(|row| {
        sum(truth
            .iter()
            .zip(predicted)
            .filter(|(truth, _)| truth[row] != 0.0)
            .map(|(truth, predicted)| truth[row] * (truth[row] / clip(predicted[row], epsilon)).ln()))
    }))
}

/// The log loss of one prediction, clipped to `epsilon` from 0 and 1.
pub fn log_loss_one(truth: bool, positive: f64, epsilon: f64) -> f64 {
    let positive = clip(positive, epsilon);
    -(if truth { positive } else { 1.0 - positive }).ln()
}

fn clip(probability: f64, epsilon: f64) -> f64 {
    probability.clamp(epsilon, 1.0 - epsilon)
}

/// The probabilistic F1 score: predictions, clipped to 0 and 1, count as fractions of hits and false alarms.
/// 0 where precision or recall is not positive.
pub fn probabilistic_f1(truth: &[bool], positive: &[f64]) -> f64 {
    let clipped = |wanted: bool| {
        let chosen = truth.iter().zip(positive).filter(move |(truth, _)| **truth == wanted);
        sum(chosen.map(|(_, positive)| if positive.is_nan() { *positive } else { positive.clamp(0.0, 1.0) }))
    };
    let (hits, alarms) = (clipped(true), clipped(false));
    let precision = hits / (hits + alarms);
    let recall = hits / truth.iter().filter(|truth| **truth).count() as f64;
    if precision > 0.0 && recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certain_and_wrong_costs_what_the_clip_allows() {
        assert_eq!(log_loss_binary(&[true], &[0.0]), 36.043_653_389_117_15);
        let perfect = log_loss_columns(&[vec![1.0, 0.0], vec![0.0, 1.0]], &[vec![1.0, 0.0], vec![0.0, 1.0]]);
        assert!((perfect - 2.2e-16).abs() < 1e-17, "{perfect}");
    }

    #[test]
    fn fractions_of_hits() {
        assert_eq!(probabilistic_f1(&[true, false], &[1.0, 0.0]), 1.0);
        assert_eq!(probabilistic_f1(&[true, false], &[0.0, 0.0]), 0.0);
        assert!((probabilistic_f1(&[true, false], &[0.5, 0.5]) - 0.5).abs() < 1e-15);
    }
}
