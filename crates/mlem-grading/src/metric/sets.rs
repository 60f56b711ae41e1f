//! Agreement of sets and ranked lists of tokens.

use rustc_hash::{FxHashMap, FxHashSet};

/// F1 over all (row, label) pairs; predicted labels that occur in no row of the truth are ignored, not counted
/// against. 0 where there is nothing to count.
pub fn multilabel_f1(rows: &[(Vec<&str>, Vec<&str>)]) -> f64 {
    let classes: FxHashSet<&str> = rows.iter().flat_map(|(truth, _)| truth.iter().copied()).collect();
    let (mut hits, mut all) = (0u64, 0u64);
    for (truth, predicted) in rows {
        let truth: FxHashSet<&str> = truth.iter().copied().collect();
        let predicted: FxHashSet<&str> =
            predicted.iter().copied().filter(|label| classes.contains(label)).collect();
        hits += truth.intersection(&predicted).count() as u64;
        all += (truth.len() + predicted.len()) as u64;
    }
    if all == 0 { 0.0 } else { 2.0 * hits as f64 / all as f64 }
}

/// Jaccard index of two texts as sets of lower-cased words; `None` if both are empty.
pub fn word_jaccard(truth: &str, predicted: &str) -> Option<f64> {
    let [truth, predicted] = [truth, predicted].map(str::to_lowercase);
    let words = |text| crate::table::python_split(text).collect::<FxHashSet<&str>>();
    let (truth, predicted) = (words(&truth), words(&predicted));
    let shared = truth.intersection(&predicted).count();
    let all = truth.len() + predicted.len() - shared;
    (all > 0).then(|| shared as f64 / all as f64)
}

/// Average precision of the first `k` of a ranked list; each distinct prediction counts once, where it first
/// stands. 0 where nothing is to be found.
pub fn average_precision_at(k: usize, truth: &FxHashSet<&str>, predicted: &[&str]) -> f64 {
    if truth.is_empty() {
        return 0.0;
    }
    let predicted = &predicted[..predicted.len().min(k)];
    let (mut hits, mut total) = (0.0, 0.0);
    for (place, prediction) in predicted.iter().enumerate() {
        if truth.contains(prediction) && !predicted[..place].contains(prediction) {
            hits += 1.0;
            total += hits / (place as f64 + 1.0);
        }
    }
    total / truth.len().min(k) as f64
}

/// Inversions of a predicted order and the most there could be, each doubled: `n(n-1)` for `n` items. `None`
/// where an item of the truth is not in the prediction.
pub fn inversions(truth: &[&str], predicted: &[&str]) -> Option<(u64, u64)> {
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    for (place, item) in predicted.iter().enumerate() {
        places.entry(item).or_insert(place);
    }
    let ranks: Option<Vec<usize>> = truth.iter().map(|item| places.get(item).copied()).collect();
    let most = predicted.len() as u64 * (predicted.len() as u64).saturating_sub(1);
    Some((2 * count_inversions(&ranks?), most))
}

/// Pairs that stand in falling order, counted with a Fenwick tree.
fn count_inversions(ranks: &[usize]) -> u64 {
    let size = ranks.iter().max().map_or(0, |highest| highest + 1);
    let mut tree = vec![0u64; size + 1];
    let mut inversions = 0;
    for (seen, rank) in ranks.iter().enumerate() {
        let (mut not_above, mut node) = (0, rank + 1);
        while node > 0 {
            not_above += tree[node];
            node &= node - 1;
        }
        inversions += seen as u64 - not_above;
        let mut node = rank + 1;
        while node <= size {
            tree[node] += 1;
            node += node & node.wrapping_neg();
        }
    }
    inversions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_unknown_to_the_truth_do_not_count() {
        let rows = [(vec!["a", "b"], vec!["a", "z"]), (vec![], vec!["b"])];
        assert_eq!(multilabel_f1(&rows), 0.5);
        assert_eq!(multilabel_f1(&[(vec![], vec!["a"])]), 0.0);
    }

    #[test]
    fn words() {
        assert_eq!(word_jaccard("Good day", "good NIGHT"), Some(1.0 / 3.0));
        assert_eq!(word_jaccard("", " \u{1f}"), None);
    }

    #[test]
    fn ranked_lists() {
        let truth: FxHashSet<&str> = ["a", "b"].into_iter().collect();
        assert_eq!(average_precision_at(5, &truth, &["x", "a", "a", "b"]), (0.5 + 0.5) / 2.0);
        assert_eq!(average_precision_at(1, &truth, &["x", "a"]), 0.0);
        assert_eq!(average_precision_at(3, &FxHashSet::default(), &["x"]), 0.0);
    }

    #[test]
    fn orders() {
        assert_eq!(inversions(&["a", "b", "c"], &["a", "b", "c"]), Some((0, 6)));
        assert_eq!(inversions(&["c", "b", "a"], &["a", "b", "c"]), Some((6, 6)));
        assert_eq!(inversions(&["a", "z"], &["a", "b"]), None);
        assert_eq!(count_inversions(&[2, 0, 2, 1, 0]), 6);
    }
}
