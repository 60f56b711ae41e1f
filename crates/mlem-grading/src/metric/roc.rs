//! Areas under the ROC curve.

use super::ranks::compare;
use super::sums::sum;

/// The area under the ROC curve (Mann-Whitney with ties halved); `None` where one class is absent.
///
/// The ranks are summed as whole numbers, so that the result is exact but for one division.
pub fn roc_auc(truth: &[bool], scores: &[f64]) -> Option<f64> {
    let positives = truth.iter().filter(|truth| **truth).count() as u128;
    let negatives = truth.len() as u128 - positives;
    if positives == 0 || negatives == 0 {
        return None;
    }
    let mut keyed: Vec<(u64, bool)> =
        scores.iter().zip(truth).map(|(score, truth)| (sortable(*score), *truth)).collect();
    keyed.sort_unstable();
    let (mut doubled, mut start) = (0u128, 0usize);
    for tie in keyed.chunk_by(|left, right| left.0 == right.0) {
        let hits = tie.iter().filter(|(_, truth)| *truth).count();
        doubled += hits as u128 * (2 * start + tie.len() + 1) as u128;
        start += tie.len();
    }
    let wins = doubled - positives * (positives + 1);
    Some(wins as f64 / (2 * positives * negatives) as f64)
}

/// Bits of a number that compare as the number does; the two zeros are one.
fn sortable(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The ROC polyline from (0, 0): false and true positive rate at each distinct score, from the highest.
fn roc_curve(truth: &[bool], scores: &[f64]) -> Vec<(f64, f64)> {
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    order.sort_by(|left, right| compare(scores[*right as usize], scores[*left as usize]));
    let positives = truth.iter().filter(|truth| **truth).count() as f64;
    let negatives = truth.len() as f64 - positives;
    let (mut hits, mut alarms) = (0.0, 0.0);
    let mut curve = vec![(0.0, 0.0)];
    for tie in order.chunk_by(|left, right| scores[*left as usize] == scores[*right as usize]) {
        for index in tie {
            if truth[*index as usize] { hits += 1.0 } else { alarms += 1.0 }
        }
        curve.push((alarms / negatives, hits / positives));
    }
    curve
}

/// The area to the right of the ROC curve, in bands of the true positive rate with a weight each, divided by the
/// weighted height of the bands; `None` where one class is absent.
pub fn weighted_auc(truth: &[bool], scores: &[f64], bands: &[(f64, f64, f64)]) -> Option<f64> {
    let positives = truth.iter().filter(|truth| **truth).count();
    if positives == 0 || positives == truth.len() {
        return None;
    }
    let curve = roc_curve(truth, scores);
    let area = |low: f64, high: f64| {
        sum(curve.windows(2).map(|pair| {
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
            let (from, to) = (y0.max(low), y1.min(high));
            if to <= from {
                return 0.0;
            }
            let x_at = |y: f64| x0 + (x1 - x0) * (y - y0) / (y1 - y0);
            (to - from) * (1.0 - (x_at(from) + x_at(to)) / 2.0)
        }))
    };
    let weighted = sum(bands.iter().map(|(low, high, weight)| weight * area(*low, *high)));
    Some(weighted / sum(bands.iter().map(|(low, high, weight)| weight * (high - low))))
}

/// The generalised mean with the power `power`.
pub fn power_mean(values: &[f64], power: f64) -> f64 {
    (sum(values.iter().map(|value| value.powf(power))) / values.len() as f64).powf(1.0 / power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_of_small_cases() {
        let truth = [true, false, true, false];
        assert_eq!(roc_auc(&truth, &[0.9, 0.1, 0.8, 0.2]), Some(1.0));
        assert_eq!(roc_auc(&truth, &[0.5; 4]), Some(0.5));
        assert_eq!(roc_auc(&truth, &[0.0, -0.0, 1.0, -1.0]), Some(0.875));
        assert_eq!(roc_auc(&truth, &[-3.0, -2.0, -1.0, -4.0]), Some(0.75));
        assert_eq!(roc_auc(&[true, true], &[0.1, 0.2]), None);
    }

    #[test]
    fn bands_of_equal_weight_give_the_whole_area() {
        let truth = [true, false, true, false, true];
        let scores = [0.9, 0.8, 0.7, 0.7, 0.1];
        let whole = weighted_auc(&truth, &scores, &[(0.0, 0.4, 1.0), (0.4, 1.0, 1.0)]).unwrap();
        assert!((whole - roc_auc(&truth, &scores).unwrap()).abs() < 1e-15);
    }
}
