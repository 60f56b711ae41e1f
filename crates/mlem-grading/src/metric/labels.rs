//! Agreement of predicted with true labels. Labels come as codes in the order of the sorted labels.

use super::sums::{mean, sum};

/// Labels of both sides, as codes from 0 in the order of the sorted union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coded {
    /// The true label of each row.
    pub truth: Vec<u32>,
    /// The predicted label of each row.
    pub predicted: Vec<u32>,
    /// Number of labels.
    pub classes: usize,
}

impl Coded {
    /// Codes for labels of any ordered kind.
    pub fn new<L: Ord + Copy>(truth: &[L], predicted: &[L]) -> Coded {
        let mut labels: Vec<L> = truth.iter().chain(predicted).copied().collect();
        labels.sort_unstable();
        labels.dedup();
        let code = |label: &L| labels.partition_point(|known| known < label) as u32;
        Coded {
            truth: truth.iter().map(code).collect(),
            predicted: predicted.iter().map(code).collect(),
            classes: labels.len(),
        }
    }

    fn rows(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.truth
            .iter()
            .zip(&self.predicted)
            .map(|(truth, predicted)| (*truth as usize, *predicted as usize))
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts {
            support: vec![0; self.classes],
            predicted: vec![0; self.classes],
            hits: vec![0; self.classes],
        };
        for (truth, predicted) in self.rows() {
            counts.support[truth] += 1;
            counts.predicted[predicted] += 1;
            if truth == predicted {
                counts.hits[truth] += 1;
            }
        }
        counts
    }
}

struct Counts {
    support: Vec<u64>,
    predicted: Vec<u64>,
    hits: Vec<u64>,
}

/// Share of rows with the right label.
pub fn accuracy(coded: &Coded) -> f64 {
    coded.rows().filter(|(truth, predicted)| truth == predicted).count() as f64 / coded.truth.len() as f64
}

/// Mean over all labels of the F1 score of each; 0 for a label that is neither true nor predicted anywhere.
pub fn f1_macro(coded: &Coded) -> f64 {
    let counts = coded.counts();
    mean((0..coded.classes).map(|class| {
        let all = counts.support[class] + counts.predicted[class];
        if all == 0 { 0.0 } else { 2.0 * counts.hits[class] as f64 / all as f64 }
    }))
}

/// Cohen's kappa with quadratic weights over the places of the labels (not their values); NaN where all labels
/// are the same one.
pub fn quadratic_kappa(coded: &Coded) -> f64 {
    let counts = coded.counts();
    let rows = coded.truth.len() as f64;
    let observed: f64 =
        sum(coded.rows().map(|(truth, predicted)| (truth.abs_diff(predicted) as f64).powi(2)));
    // The sum over all pairs of (i - j)² s_i p_j, from the moments of both counts.
    let moment = |counts: &[u64], power: i32| {
        sum(counts.iter().enumerate().map(|(class, count)| (class as f64).powi(power) * *count as f64))
    };
    let (support, predicted) = (&counts.support, &counts.predicted);
    let expected = (moment(support, 2) * rows + moment(predicted, 2) * rows
        - 2.0 * moment(support, 1) * moment(predicted, 1))
        / rows;
    1.0 - observed / expected
}

/// Matthews' correlation coefficient, also for more than two labels; 0 where either side is constant.
pub fn matthews(coded: &Coded) -> f64 {
    let counts = coded.counts();
    let rows = coded.truth.len() as f64;
    let hits = counts.hits.iter().sum::<u64>() as f64;
    let dot = |left: &[u64], right: &[u64]| {
        sum(left.iter().zip(right).map(|(left, right)| *left as f64 * *right as f64))
    };
    let covariance = hits * rows - dot(&counts.support, &counts.predicted);
    let spread = |counts: &[u64]| rows * rows - dot(counts, counts);
    let scale = spread(&counts.support) * spread(&counts.predicted);
    if scale == 0.0 { 0.0 } else { covariance / scale.sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let coded = Coded::new(&["a", "b", "c"], &["a", "b", "b"]);
        assert_eq!((coded.classes, accuracy(&coded)), (3, 2.0 / 3.0));
        // cohen_kappa_score(["a","b","c"], ["a","b","b"], weights="quadratic") of scikit-learn 1.5.2
        assert!((quadratic_kappa(&coded) - 0.666_666_666_666_666_7).abs() < 1e-15);
        assert!(quadratic_kappa(&Coded::new(&[1, 1], &[1, 1])).is_nan());
        assert_eq!(matthews(&Coded::new(&["a", "b"], &["a", "c"])), 0.5);
        assert_eq!(matthews(&Coded::new(&[1, 0], &[1, 1])), 0.0);
        assert_eq!(f1_macro(&Coded::new(&[1, 2, 3], &[1, 2, 4])), 0.5);
    }
}
