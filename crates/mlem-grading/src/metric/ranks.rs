//! Ranks where ties share the middle of their places.

/// The order of the values from the lowest, by index; NaN last. Equal values keep their order.
pub(crate) fn ascending(values: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.sort_by(|left, right| compare(values[*left as usize], values[*right as usize]));
    order
}

/// Compares numbers; the two zeros are equal, and NaN comes after everything.
pub(crate) fn compare(left: f64, right: f64) -> std::cmp::Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// Twice the average rank (from 1) of each value, so that ranks of ties stay whole numbers.
pub(crate) fn doubled_mid_ranks(values: &[f64]) -> Vec<u64> {
    let order = ascending(values);
    let mut ranks = vec![0; values.len()];
    let mut start = 0;
    for tie in order.chunk_by(|left, right| values[*left as usize] == values[*right as usize]) {
        let doubled = (2 * start + tie.len() + 1) as u64;
        tie.iter().for_each(|index| ranks[*index as usize] = doubled);
        start += tie.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_the_middle() {
        assert_eq!(doubled_mid_ranks(&[0.5, -0.0, 0.0, 9.0]), [6, 3, 3, 8]);
    }
}
