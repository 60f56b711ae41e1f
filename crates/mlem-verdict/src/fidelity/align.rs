//! Which statements of two lists are the same, moved, or versions of each other.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use mlem_python::tree::{Kind, Node};

use super::names::{function, method, target_names, targets};

/// How the statements of two lists belong together; all are positions.
#[derive(Debug, Default)]
pub(super) struct Alignment {
    /// Equal and in the same order.
    pub(super) same: Vec<(usize, usize)>,
    /// Equal, in another order.
    pub(super) moved: Vec<(usize, usize)>,
    /// Two versions of one statement.
    pub(super) changed: Vec<(usize, usize)>,
    pub(super) removed: Vec<usize>,
    pub(super) added: Vec<usize>,
}

/// Cells of the table of common subsequences; beyond it equal statements are matched greedily.
const LARGEST_TABLE: usize = 16_000_000;
/// Pairs of left-over statements that are compared for likeness.
const MOST_PAIRS: usize = 250_000;
/// How alike two statements have to be to be versions of each other.
const ALIKE: f64 = 0.5;

fn hash(node: &Node) -> u64 {
    let mut hasher = DefaultHasher::new();
    node.hash(&mut hasher);
    hasher.finish()
}

/// Aligns two lists of statements.
pub(super) fn align(old: &[&Node], new: &[&Node]) -> Alignment {
    let old_keys: Vec<u64> = old.iter().map(|node| hash(node)).collect();
    let new_keys: Vec<u64> = new.iter().map(|node| hash(node)).collect();
    let same = common(&old_keys, &new_keys);
    let mut left: Vec<usize> = (0..old.len()).collect();
    let mut right: Vec<usize> = (0..new.len()).collect();
    left.retain(|at| same.binary_search_by_key(at, |pair| pair.0).is_err());
    right.retain(|at| same.binary_search_by_key(at, |pair| pair.1).is_err());

    let mut moved = Vec::new();
    left.retain(|&at| {
        let found = right.iter().position(|&other| new_keys[other] == old_keys[at]);
        match found {
            Some(position) => {
                moved.push((at, right.remove(position)));
                false
            }
            None => true,
        }
    });
    let changed = versions(old, new, &left, &right, &same);
    left.retain(|at| changed.iter().all(|pair| pair.0 != *at));
    right.retain(|at| changed.iter().all(|pair| pair.1 != *at));
    Alignment { same, moved, changed, removed: left, added: right }
}

/// A longest common subsequence, as pairs of positions.
fn common(old: &[u64], new: &[u64]) -> Vec<(usize, usize)> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let mut pairs: Vec<(usize, usize)> = (0..start).map(|at| (at, at)).collect();
    let middle = if a.len().saturating_mul(b.len()) > LARGEST_TABLE { greedy(a, b) } else { table(a, b) };
    pairs.extend(middle.into_iter().map(|(i, j)| (i + start, j + start)));
    pairs.extend((0..end).rev().map(|at| (old.len() - 1 - at, new.len() - 1 - at)));
    pairs
}

fn table(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    let mut lengths = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i * width + j] = if a[i] == b[j] {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            i += 1;
            j += 1;
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

fn greedy(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, key) in b.iter().enumerate() {
        places.entry(*key).or_default().push(at);
    }
    let (mut next, mut pairs) = (0, Vec::new());
    for (i, key) in a.iter().enumerate() {
        let found = places.get(key).and_then(|all| all.iter().find(|at| **at >= next));
        if let Some(&j) = found {
            pairs.push((i, j));
            next = j + 1;
        }
    }
    pairs
}

/// Pairs left-over statements that are alike, the most alike first.
fn versions(
    old: &[&Node],
    new: &[&Node],
    left: &[usize],
    right: &[usize],
    same: &[(usize, usize)],
) -> Vec<(usize, usize)> {
    if left.len().saturating_mul(right.len()) > MOST_PAIRS {
        return Vec::new();
    }
    let old_features: Vec<Features> = left.iter().map(|at| Features::of(old[*at])).collect();
    let new_features: Vec<Features> = right.iter().map(|at| Features::of(new[*at])).collect();
    // How many matched statements stand before each: two versions of one stand in the same gap.
    let gap = |at: usize, side: fn(&(usize, usize)) -> usize| same.partition_point(|pair| side(pair) < at);
    let mut scored: Vec<(f64, usize, usize)> = Vec::new();
    for (i, a) in old_features.iter().enumerate() {
        for (j, b) in new_features.iter().enumerate() {
            let (left_at, right_at) = (left[i], right[j]);
            if !may_be_versions(old[left_at], new[right_at]) {
                continue;
            }
            let in_gap = gap(left_at, |pair| pair.0) == gap(right_at, |pair| pair.1);
            let likeness = a.likeness(b) + if in_gap { 0.1 } else { 0.0 };
            if likeness >= ALIKE {
                scored.push((likeness, left_at, right_at));
            }
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (_, i, j) in scored {
        if pairs.iter().all(|pair| pair.0 != i && pair.1 != j) {
            pairs.push((i, j));
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Whether two statements can be versions of one: of one kind, or both simple.
fn may_be_versions(old: &Node, new: &Node) -> bool {
    let simple = |node: &Node| {
        matches!(
            node.kind,
            Kind::Expression | Kind::Assign | Kind::AugmentedAssign | Kind::Return | Kind::Assert
        )
    };
    old.kind == new.kind || simple(old) && simple(new)
}

/// How alike two statements are, from 0 to a little above 1.
pub(super) fn likeness(old: &Node, new: &Node) -> f64 {
    if may_be_versions(old, new) { Features::of(old).likeness(&Features::of(new)) } else { 0.0 }
}

/// What a statement is made of, to tell how alike two are.
struct Features<'a> {
    parts: HashMap<(Kind, &'a str), usize>,
    count: usize,
    binds: Vec<&'a str>,
    calls: Option<&'a str>,
    defines: Option<&'a str>,
}

impl<'a> Features<'a> {
    fn of(node: &'a Node) -> Features<'a> {
        let mut parts: HashMap<(Kind, &'a str), usize> = HashMap::new();
        let mut count = 0;
        node.walk(&mut |part| {
            if !part.text.is_empty() {
                *parts.entry((part.kind, &part.text)).or_insert(0) += 1;
                count += 1;
            }
        });
        let mut binds = Vec::new();
        for target in targets(node) {
            target_names(target, &mut |name| binds.push(name));
        }
        let value = match node.kind {
            Kind::Assign | Kind::Expression | Kind::Return => node.children.last(),
            _ => None,
        };
        let calls = value.and_then(|value| function(value).or_else(|| method(value).map(|(name, _)| name)));
        let defines = matches!(node.kind, Kind::Function | Kind::Class).then_some(node.text.as_str());
        Features { parts, count, binds, calls, defines }
    }

    fn likeness(&self, other: &Features<'_>) -> f64 {
        let shared: usize = self
            .parts
            .iter()
            .map(|(part, count)| (*count).min(other.parts.get(part).copied().unwrap_or(0)))
            .sum();
        let dice = 2.0 * shared as f64 / (self.count + other.count).max(1) as f64;
        let binds = if !self.binds.is_empty() && self.binds == other.binds { 0.4 } else { 0.0 };
        let calls = if self.calls.is_some() && self.calls == other.calls { 0.25 } else { 0.0 };
        let defines = if self.defines.is_some() && self.defines == other.defines { 0.5 } else { 0.0 };
        dice + binds + calls + defines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlem_python::{Program, Unit};

    fn aligned(old: &str, new: &str) -> Alignment {
        let program = Program::new(vec![Unit::cell(old), Unit::cell(new)]);
        let (old, new) = (program.tree(0), program.tree(1));
        align(&old.iter().collect::<Vec<_>>(), &new.iter().collect::<Vec<_>>())
    }

    #[test]
    fn statements_are_matched_moved_changed_added_and_removed() {
        let found = aligned("a = f(1)\nb = g(2)\nc = h(3)\nz()", "b = g(2)\na = f(1)\nc = h(4)\nnew = k()");
        assert_eq!(found.same.len() + found.moved.len(), 2);
        assert_eq!(found.changed, [(2, 2)]);
        assert_eq!((found.removed, found.added), (vec![3], vec![3]));
    }

    #[test]
    fn a_long_list_is_matched_greedily() {
        let keys: Vec<u64> = (0..50).collect();
        assert_eq!(greedy(&keys, &keys), table(&keys, &keys));
    }
}
