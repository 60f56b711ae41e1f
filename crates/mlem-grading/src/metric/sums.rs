//! Sums whose error does not grow with the number of terms.

/// A running sum with Neumaier's compensation (`A. Neumaier, ZAMM 54, 1974`), so that a mean over millions of
/// rows agrees with numpy's pairwise sum to the last digits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    pub(crate) fn add(&mut self, value: f64) {
        let total = self.total + value;
        if total.is_finite() {
            self.lost += if self.total.abs() >= value.abs() {
                (self.total - total) + value
            } else {
                (value - total) + self.total
            };
        }
        self.total = total;
    }

    pub(crate) fn value(self) -> f64 {
        self.total + self.lost
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Sum {
        let mut sum = Sum::default();
        values.into_iter().for_each(|value| sum.add(value));
        sum
    }
}

/// The sum of the values.
pub(crate) fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().collect::<Sum>().value()
}

/// The mean of the values; NaN when there are none.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut count = 0u64;
    let total = sum(values.into_iter().inspect(|_| count += 1));
    total / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_plain_addition_loses_is_kept() {
        assert_eq!(sum([1e16, 1.0, -1e16]), 1.0);
        assert_eq!(sum(std::iter::repeat_n(0.1, 10)), 1.0);
        assert_eq!(sum([f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(mean([]).is_nan());
    }
}
