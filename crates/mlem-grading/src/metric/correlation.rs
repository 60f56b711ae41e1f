//! Correlation of numbers, and of rankings of labels.

use super::ranks::{ascending, doubled_mid_ranks};
use super::sums::{mean, sum};

/// Pearson's correlation; NaN where either side is constant, not finite, or shorter than two.
pub fn pearson(left: &[f64], right: &[f64]) -> f64 {
    let is_constant = |values: &[f64]| values.iter().all(|value| *value == values[0]);
    if left.len() < 2 || is_constant(left) || is_constant(right) {
        return f64::NAN;
    }
    let centred = |values: &[f64]| {
        let centre = mean(values.iter().copied());
        values.iter().map(|value| value - centre).collect::<Vec<f64>>()
    };
    let (left, right) = (centred(left), centred(right));
    // Scaled by the largest value, so that squares of large numbers stay finite.
    let length = |values: &[f64]| {
        let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        largest * sum(values.iter().map(|value| (value / largest) * (value / largest))).sqrt()
    };
    let (left_length, right_length) = (length(&left), length(&right));
    let correlation =
        sum(left.iter().zip(&right).map(|(left, right)| (left / left_length) * (right / right_length)));
    if correlation.is_nan() { correlation } else { correlation.clamp(-1.0, 1.0) }
}

/// Spearman's correlation: Pearson's of the ranks; NaN where a value is.
pub fn spearman(left: &[f64], right: &[f64]) -> f64 {
    if left.iter().chain(right).any(|value| value.is_nan()) {
        return f64::NAN;
    }
    let ranks =
        |values: &[f64]| doubled_mid_ranks(values).into_iter().map(|rank| rank as f64).collect::<Vec<f64>>();
    pearson(&ranks(left), &ranks(right))
}

/// Label-weighted label-ranking average precision (lwlrap): rows weigh by their number of true labels, rows
/// without one are left out. `None` where no row has any.
pub fn lwlrap(truth: &[Vec<f64>], scores: &[Vec<f64>]) -> Option<f64> {
    let labels = truth.len();
    let rows = truth.first().map_or(0, Vec::len);
    let mut weight = 0usize;
    let mut terms = Vec::new();
    for row in 0..rows {
        let is_true: Vec<bool> = truth.iter().map(|column| column[row] > 0.0).collect();
        let positives = is_true.iter().filter(|is_true| **is_true).count();
        if positives == 0 {
            continue;
        }
        weight += positives;
        if positives == labels {
            terms.push(positives as f64);
            continue;
        }
        let values: Vec<f64> = scores.iter().map(|column| -column[row]).collect();
        let order = ascending(&values);
        let (mut seen, mut seen_true) = (0usize, 0usize);
        for tie in order.chunk_by(|left, right| values[*left as usize] == values[*right as usize]) {
            let hits = tie.iter().filter(|label| is_true[**label as usize]).count();
            seen += tie.len();
            seen_true += hits;
            terms.push(hits as f64 * seen_true as f64 / seen as f64);
        }
    }
    (weight > 0).then(|| sum(terms) / weight as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert!((pearson(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]) - 1.0).abs() < 1e-15);
        assert!(pearson(&[1.0, 1.0], &[1.0, 2.0]).is_nan());
        assert!(pearson(&[1.0, 2.0], &[1.0, f64::INFINITY]).is_nan());
        assert!((pearson(&[1e300, 0.0, 0.0], &[1.0, 0.0, 0.0]) - 1.0).abs() < 1e-15);
        // spearmanr([1, 2, 3], [1, inf, 2]).correlation of scipy 1.14.1
        assert!((spearman(&[1.0, 2.0, 3.0], &[1.0, f64::INFINITY, 2.0]) - 0.5).abs() < 1e-15);
        assert!(spearman(&[1.0, 2.0], &[1.0, f64::NAN]).is_nan());
        // label_ranking_average_precision_score([[1, 1], [1, 0]], [[.1, .3], [.2, .4]], sample_weight=[2, 1])
        let lwlrap = lwlrap(&[vec![1.0, 1.0], vec![1.0, 0.0]], &[vec![0.1, 0.2], vec![0.3, 0.4]]).unwrap();
        assert!((lwlrap - 2.5 / 3.0).abs() < 1e-15, "{lwlrap}");
    }
}
