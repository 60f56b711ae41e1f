//! Masks as run lengths: work on runs, never on pixels.

use crate::table::{python_integer_saturated, python_split};

/// Why run lengths are no mask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunLengthError {
    /// Something that is no whole number.
    #[error("`{0}` in the run lengths is no whole number")]
    Number(String),
    /// A start without its length.
    #[error("the run lengths are no pairs of start and length")]
    Odd,
    /// A start or length below 1.
    #[error("starts and lengths must be at least 1")]
    NotPositive,
    /// Starts that fall.
    #[error("the runs are not sorted by their starts")]
    Unsorted,
    /// Two runs that share a pixel.
    #[error("runs overlap")]
    Overlap,
}

/// Pixels from 0, as half-open runs in rising order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mask {
    runs: Vec<(u64, u64)>,
}

impl Mask {
    /// Reads `start length start length …`, starts from 1; what lies behind the image is cut off.
    pub fn parse(text: &str, pixels: u64) -> Result<Mask, RunLengthError> {
        let numbers = numbers(text)?;
        if numbers.len() % 2 == 1 {
            return Err(RunLengthError::Odd);
        }
        let pairs = numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        Mask::from_pairs(pairs, pixels)
    }

    /// The same, but an odd number of tokens means what numpy's broadcasting makes of it: one token is an empty
    /// mask, and of three both starts have the one length.
    pub fn parse_as_numpy(text: &str, pixels: u64) -> Result<Mask, RunLengthError> {
        let numbers = numbers(text)?;
        let pairs = match numbers[..] {
            [start] => {
                // The start is still checked.
                return if start > 0 { Ok(Mask::default()) } else { Err(RunLengthError::NotPositive) };
            }
            [start, length, other] => vec![(start, length), (other, length)],
            _ => return Mask::parse(text, pixels),
        };
        Mask::from_pairs(pairs, pixels)
    }

    fn from_pairs(pairs: Vec<(i64, i64)>, pixels: u64) -> Result<Mask, RunLengthError> {
        if !pairs.is_sorted_by_key(|(start, _)| *start) {
            return Err(RunLengthError::Unsorted);
        }
        let mut runs: Vec<(u64, u64)> = Vec::with_capacity(pairs.len());
        for (start, length) in pairs {
            let (Ok(start @ 1..), Ok(length @ 1..)) = (u64::try_from(start), u64::try_from(length)) else {
                return Err(RunLengthError::NotPositive);
            };
            let from = (start - 1).min(pixels);
            let to = from.saturating_add(length).min(pixels);
            if from == to {
                continue;
            }
            match runs.last_mut() {
                Some((_, end)) if *end > from => return Err(RunLengthError::Overlap),
                Some((_, end)) if *end == from => *end = to,
                _ => runs.push((from, to)),
            }
        }
        Ok(Mask { runs })
    }

    /// Its runs: from, to (exclusive), none touching the next.
    pub fn runs(&self) -> &[(u64, u64)] {
        &self.runs
    }

    /// Number of pixels.
    pub fn area(&self) -> u64 {
        self.runs.iter().map(|(from, to)| to - from).sum()
    }

    /// Number of pixels in both.
    pub fn overlap(&self, other: &Mask) -> u64 {
        let (mut ours, mut theirs) = (self.runs.iter().peekable(), other.runs.iter().peekable());
        let mut shared = 0;
        while let (Some((from, to)), Some((other_from, other_to))) = (ours.peek(), theirs.peek()) {
            shared += to.min(other_to).saturating_sub(*from.max(other_from));
            if to <= other_to {
                ours.next()
            } else {
                theirs.next()
            };
        }
        shared
    }

    /// The Dice coefficient; `None` if both are empty.
    pub fn dice(&self, other: &Mask) -> Option<f64> {
        let all = self.area() + other.area();
        (all > 0).then(|| 2.0 * self.overlap(other) as f64 / all as f64)
    }
}

fn numbers(text: &str) -> Result<Vec<i64>, RunLengthError> {
    python_split(text)
        .map(|token| {
            python_integer_saturated(token)
                .ok_or_else(|| RunLengthError::Number(token.chars().take(40).collect()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(text: &str) -> Mask {
        Mask::parse(text, 100).unwrap()
    }

    #[test]
    fn runs_are_joined_and_cut() {
        assert_eq!(mask("1 2 3 4 99 9 200 5").runs(), [(0, 6), (98, 100)]);
        assert_eq!(mask(" ").area(), 0);
    }

    #[test]
    fn what_is_refused() {
        let refused = |text| Mask::parse(text, 100).unwrap_err();
        assert_eq!(refused("1 2 3"), RunLengthError::Odd);
        assert_eq!(refused("1 x"), RunLengthError::Number("x".to_owned()));
        assert_eq!(refused("0 2"), RunLengthError::NotPositive);
        assert_eq!(refused("1 0"), RunLengthError::NotPositive);
        assert_eq!(refused("5 1 1 1"), RunLengthError::Unsorted);
        assert_eq!(refused("1 5 3 1"), RunLengthError::Overlap);
    }

    #[test]
    fn odd_tokens_as_numpy_takes_them() {
        let read = |text| Mask::parse_as_numpy(text, 100);
        assert_eq!(read("7"), Ok(Mask::default()));
        assert_eq!(read("1 3 10").unwrap().runs(), [(0, 3), (9, 12)]);
        assert_eq!(read("1 3 10 2 20"), Err(RunLengthError::Odd));
        assert_eq!(read("1 3 2"), Err(RunLengthError::Overlap));
    }

    #[test]
    fn overlaps() {
        assert_eq!(mask("1 10 20 10").overlap(&mask("5 20")), 6 + 5);
        assert_eq!(mask("1 4").dice(&mask("3 4")), Some(0.5));
        assert_eq!(mask("").dice(&mask("")), None);
    }
}
