//! Levenshtein distance.

use rustc_hash::FxHashMap;

/// Fewest insertions, deletions and substitutions between two sequences (Myers' bit vectors in Hyyrö's block
/// form: 64 cells of the table a step).
pub fn levenshtein<T: Copy + Eq + std::hash::Hash>(left: &[T], right: &[T]) -> usize {
    let shared = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    let (left, right) = (&left[shared..], &right[shared..]);
    let shared = left.iter().rev().zip(right.iter().rev()).take_while(|(left, right)| left == right).count();
    let (pattern, text) = (&left[..left.len() - shared], &right[..right.len() - shared]);
    if pattern.is_empty() || text.is_empty() {
        return pattern.len() + text.len();
    }
    let blocks = pattern.len().div_ceil(64);
    let mut matches: FxHashMap<T, Vec<u64>> = FxHashMap::default();
    for (place, item) in pattern.iter().enumerate() {
        matches.entry(*item).or_insert_with(|| vec![0; blocks])[place / 64] |= 1 << (place % 64);
    }
    let nowhere = vec![0; blocks];
    let (mut plus, mut minus) = (vec![u64::MAX; blocks], vec![0u64; blocks]);
    let mut distance = pattern.len();
    let last = 1u64 << ((pattern.len() - 1) % 64);
    for item in text {
        let matches = matches.get(item).unwrap_or(&nowhere);
        // The table's upper edge grows by one with each item of the text.
        let (mut plus_in, mut minus_in) = (1u64, 0u64);
        for block in 0..blocks {
            let (vertical_plus, vertical_minus) = (plus[block], minus[block]);
            let equal = matches[block] | minus_in;
            let diagonal = (((equal & vertical_plus).wrapping_add(vertical_plus)) ^ vertical_plus)
                | equal
                | vertical_minus;
            let horizontal_plus = vertical_minus | !(diagonal | vertical_plus);
            let horizontal_minus = vertical_plus & diagonal;
            if block == blocks - 1 {
                distance += usize::from(horizontal_plus & last != 0);
                distance -= usize::from(horizontal_minus & last != 0);
            }
            let shifted_plus = horizontal_plus << 1 | plus_in;
            let shifted_minus = horizontal_minus << 1 | minus_in;
            (plus_in, minus_in) = (horizontal_plus >> 63, horizontal_minus >> 63);
            plus[block] = shifted_minus | !(diagonal | shifted_plus);
            minus[block] = shifted_plus & diagonal;
        }
    }
    distance
}

/// The distance between two texts, in code points.
pub fn text_distance(left: &str, right: &str) -> usize {
    if left.is_ascii() && right.is_ascii() {
        return levenshtein(left.as_bytes(), right.as_bytes());
    }
    let points = |text: &str| text.chars().collect::<Vec<char>>();
    levenshtein(&points(left), &points(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_table(left: &[u8], right: &[u8]) -> usize {
        let mut row: Vec<usize> = (0..=right.len()).collect();
        for (i, from) in left.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for (j, to) in right.iter().enumerate() {
                let cost = (diagonal + usize::from(from != to)).min(row[j] + 1).min(row[j + 1] + 1);
                diagonal = std::mem::replace(&mut row[j + 1], cost);
            }
        }
        row[right.len()]
    }

    #[test]
    fn equals_the_table_on_random_strings_of_all_lengths() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..600 {
            let alphabet = 1 + random(6);
            let mut text =
                |longest| (0..random(longest)).map(|_| b'a' + random(alphabet) as u8).collect::<Vec<u8>>();
            let (left, right) = (text(200), text(200));
            assert_eq!(levenshtein(&left, &right), by_table(&left, &right), "{left:?} {right:?}");
        }
    }

    #[test]
    fn counts_code_points() {
        assert_eq!(text_distance("naïve", "naive"), 1);
        assert_eq!(text_distance("", "日本"), 2);
    }
}
