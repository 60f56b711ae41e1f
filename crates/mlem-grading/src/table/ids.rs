//! Which row of a submission belongs to which row of the answers.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::{Column, Text, Values};

/// One id as it compares: numbers with numbers, text with text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key<'t> {
    /// A whole number.
    Integer(i64),
    /// Any other number, by its bits (the two zeros are one).
    Float(u64),
    /// Text.
    Text(&'t str),
}

/// The ids of a table, ready to be compared with those of another one.
#[derive(Debug)]
pub enum KeyColumn<'t> {
    /// Integers and booleans.
    Integer(Cow<'t, [i64]>),
    /// Numbers of which some are fractions or missing.
    Float(&'t [f64]),
    /// Text.
    Text(Text<'t>),
}

impl<'t> KeyColumn<'t> {
    /// The ids of a column.
    pub fn new(column: Column<'t>) -> KeyColumn<'t> {
        match column.values() {
            Values::Integer(values) => KeyColumn::Integer(Cow::Borrowed(values)),
            Values::Bool(values) => {
                KeyColumn::Integer(values.iter().map(|value| i64::from(*value)).collect())
            }
            Values::Float(values) => KeyColumn::Float(values),
            Values::Text => KeyColumn::Text(column.text()),
        }
    }

    /// Number of ids.
    pub fn len(&self) -> usize {
        match self {
            KeyColumn::Integer(values) => values.len(),
            KeyColumn::Float(values) => values.len(),
            KeyColumn::Text(text) => text.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An id; `None` where it is missing, which equals nothing.
    pub fn get(&self, row: usize) -> Option<Key<'t>> {
        match self {
            KeyColumn::Integer(values) => Some(Key::Integer(values[row])),
            KeyColumn::Float(values) => {
                let value = values[row];
                let whole = value as i64;
                match value {
                    value if value.is_nan() => None,
                    // A whole number in a column of fractions equals the integer; beyond 2^53 floats are
                    // whole anyway and stay floats, as the integer next to it may differ.
                    value if value.abs() < 9_007_199_254_740_992.0 && value == whole as f64 => {
                        Some(Key::Integer(whole))
                    }
                    value => Some(Key::Float(value.to_bits())),
                }
            }
            KeyColumn::Text(text) => text.get(row).map(Key::Text),
        }
    }

    /// An id for a message.
    pub fn shown(&self, row: usize) -> String {
        match self {
            KeyColumn::Integer(values) => values[row].to_string(),
            KeyColumn::Float(values) => super::python_repr(values[row]),
            KeyColumn::Text(text) => text.get(row).map_or("a missing value".to_owned(), short),
        }
    }

    fn compare(&self, left: usize, right: usize) -> Ordering {
        match self {
            KeyColumn::Integer(values) => values[left].cmp(&values[right]),
            KeyColumn::Float(values) => values[left].partial_cmp(&values[right]).unwrap_or_else(|| {
                // Missing ids sort last.
                values[left].is_nan().cmp(&values[right].is_nan())
            }),
            KeyColumn::Text(text) => match (text.get(left), text.get(right)) {
                (Some(left), Some(right)) => left.cmp(right),
                (left, right) => left.is_none().cmp(&right.is_none()),
            },
        }
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

/// Why the ids of a submission are not those of the answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdMismatch {
    text: String,
}

impl std::fmt::Display for IdMismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// For each row of the answers the row of the submission with the same id. Both must hold the same ids equally
/// often; the k-th occurrence belongs to the k-th.
///
/// Held-out ids are never named: messages speak of the submission's own ids and rows.
pub fn pair(submission: &KeyColumn<'_>, answers: &KeyColumn<'_>) -> Result<Vec<u32>, IdMismatch> {
    let paired = match (submission, answers) {
        (KeyColumn::Integer(ours), KeyColumn::Integer(theirs)) => {
            pair_keys(ours.len(), |row| Some(ours[row]), theirs.len(), |row| Some(theirs[row]))
        }
        (KeyColumn::Text(ours), KeyColumn::Text(theirs)) => {
            pair_keys(ours.len(), |row| ours.get(row), theirs.len(), |row| theirs.get(row))
        }
        _ => pair_keys(submission.len(), |row| submission.get(row), answers.len(), |row| answers.get(row)),
    };
    paired.map_err(|fault| IdMismatch { text: fault.describe(submission, answers) })
}

enum PairFault {
    /// A row of the submission whose id is missing.
    Missing(usize),
    /// Rows of the submission whose ids are not (or not so often) among the answers', of which the first; and
    /// how many of the answers' ids it lacks.
    Unexpected { row: usize, earlier: Option<usize>, count: usize, lacking: usize },
    /// The submission lacks so many of the answers' ids.
    Lacking(usize),
}

impl PairFault {
    fn describe(self, submission: &KeyColumn<'_>, answers: &KeyColumn<'_>) -> String {
        match self {
            PairFault::Missing(row) => format!("row {}: the id is missing", row + 1),
            PairFault::Lacking(count) => {
                format!("{count} of the {} ids of the answers are not in the submission", answers.len())
            }
            PairFault::Unexpected { row, earlier: Some(earlier), .. } => format!(
                "row {}: id {} appears again, first at row {}",
                row + 1,
                submission.shown(row),
                earlier + 1
            ),
            PairFault::Unexpected { row, earlier: None, count, lacking } => {
                let kinds = match (submission, answers) {
                    (KeyColumn::Text(_), KeyColumn::Integer(_) | KeyColumn::Float(_)) => {
                        "; the submission's ids are text, the answers' are numbers"
                    }
                    (KeyColumn::Integer(_) | KeyColumn::Float(_), KeyColumn::Text(_)) => {
                        "; the submission's ids are numbers, the answers' are text"
                    }
                    _ => "",
                };
                format!(
                    "row {}: id {} is not among the answers' ids ({count} such rows; {lacking} ids of the \
                     answers are not in the submission){kinds}",
                    row + 1,
                    submission.shown(row)
                )
            }
        }
    }
}

fn pair_keys<K: Hash + Eq + Copy>(
    rows: usize,
    ours: impl Fn(usize) -> Option<K>,
    answer_rows: usize,
    theirs: impl Fn(usize) -> Option<K>,
) -> Result<Vec<u32>, PairFault> {
    // Most submissions keep the order of the sample.
    if rows == answer_rows && (0..rows).all(|row| ours(row).is_some_and(|key| theirs(row) == Some(key))) {
        return Ok((0..rows as u32).collect());
    }
    const END: u32 = u32::MAX;
    let mut heads: FxHashMap<K, u32> = FxHashMap::with_capacity_and_hasher(rows, rustc_hash::FxBuildHasher);
    let mut following = vec![END; rows];
    // From the last row to the first, so that each list is in the file's order.
    for row in (0..rows).rev() {
        let Some(key) = ours(row) else { return Err(PairFault::Missing(row)) };
        if let Some(next) = heads.insert(key, row as u32) {
            following[row] = next;
        }
    }
    let mut taken = vec![false; rows];
    let mut lacking = 0;
    let mut paired = Vec::with_capacity(answer_rows);
    for row in 0..answer_rows {
        match theirs(row).and_then(|key| heads.get_mut(&key)) {
            Some(head) if *head != END => {
                paired.push(*head);
                taken[*head as usize] = true;
                *head = following[*head as usize];
            }
            _ => lacking += 1,
        }
    }
    let Some(first) = taken.iter().position(|taken| !taken) else {
        return if lacking == 0 { Ok(paired) } else { Err(PairFault::Lacking(lacking)) };
    };
    let count = taken.iter().filter(|taken| !**taken).count();
    let earlier = (0..first).find(|row| ours(*row) == ours(first));
    Err(PairFault::Unexpected { row: first, earlier, count, lacking })
}

/// The rows in the order of their ids, equal ones in the file's order, missing ones last.
pub fn rank(keys: &KeyColumn<'_>) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..keys.len() as u32).collect();
    rows.sort_by(|left, right| keys.compare(*left as usize, *right as usize));
    rows
}

/// For each row of the answers the row of the submission that stands at the same place when both are sorted by
/// id; the ids themselves are not compared. Both must have the same number of rows.
pub fn pair_by_rank(submission: &KeyColumn<'_>, answers: &KeyColumn<'_>) -> Vec<u32> {
    let mut paired = vec![0; answers.len()];
    for (ours, theirs) in rank(submission).into_iter().zip(rank(answers)) {
        paired[theirs as usize] = ours;
    }
    paired
}
