//! Replacements of byte ranges. Bytes outside the ranges are copied, so they cannot change.

use ruff_text_size::{TextRange, TextSize};

use crate::Unit;

/// The replacement of a byte range of one unit's source; an empty range inserts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace.
    pub range: TextRange,
    /// What stands there afterwards.
    pub text: String,
}

impl Edit {
    /// Replaces `range` by `text`.
    pub fn replacement(range: TextRange, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }

    /// Inserts `text` before the byte at `at`.
    pub fn insertion(at: TextSize, text: impl Into<String>) -> Self {
        Self { range: TextRange::empty(at), text: text.into() }
    }

    /// Removes `range`.
    pub fn deletion(range: TextRange) -> Self {
        Self { range, text: String::new() }
    }
}

/// Why an edit was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// Two edits touch the same bytes, or insert at the same place.
    #[error("edit of bytes {added:?} overlaps the edit of bytes {present:?}")]
    Overlap {
        /// The range of the edit that was refused.
        added: TextRange,
        /// The range of the edit that was there before.
        present: TextRange,
    },
    /// The range ends behind the source or cuts a character.
    #[error("bytes {range:?} are not a range of whole characters of the source")]
    OutOfSource {
        /// The range of the edit that was refused.
        range: TextRange,
    },
    /// The edited source has more syntax errors than the source had.
    #[error("the edited source does not parse: line {line}, column {column}: {message}")]
    Syntax {
        /// Line of the first error in the edited source, from 1.
        line: usize,
        /// Column of the first error in the edited source, in characters from 1.
        column: usize,
        /// The parser's words.
        message: String,
    },
}

/// Edits of one source, sorted, none overlapping another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditSet {
    edits: Vec<Edit>,
}

impl EditSet {
    /// A set without edits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an edit, unless it shares a byte with one already there. Edits may touch each
    /// other, but two insertions at one place have no defined order and are refused; the same
    /// edit twice is taken as one.
    ///
    /// # Errors
    /// [`EditError::Overlap`].
    pub fn add(&mut self, edit: Edit) -> Result<(), EditError> {
        let key = |range: TextRange| (range.start(), range.end());
        let at = self.edits.partition_point(|present| key(present.range) < key(edit.range));
        if self.edits.get(at).is_some_and(|present| *present == edit) {
            return Ok(());
        }
        let neighbours = self.edits[at.saturating_sub(1)..].iter().take(2);
        for present in neighbours {
            let (a, b) = (present.range, edit.range);
            let crosses = a.start() < b.end() && b.start() < a.end();
            if crosses || a == b {
                return Err(EditError::Overlap { added: b, present: a });
            }
        }
        self.edits.insert(at, edit);
        Ok(())
    }

    /// Adds all edits or none.
    ///
    /// # Errors
    /// [`EditError::Overlap`] of the first edit that does not fit.
    pub fn add_all(&mut self, edits: impl IntoIterator<Item = Edit>) -> Result<(), EditError> {
        let mut trial = self.clone();
        for edit in edits {
            trial.add(edit)?;
        }
        *self = trial;
        Ok(())
    }

    /// The edits in the order of their ranges.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The source with the edits applied.
    ///
    /// # Errors
    /// [`EditError::OutOfSource`] if an edit does not lie on character boundaries of `source`.
    pub fn apply(&self, source: &str) -> Result<String, EditError> {
        let grown: usize = self.edits.iter().map(|edit| edit.text.len()).sum();
        let mut result = String::with_capacity(source.len() + grown);
        let mut copied = 0;
        for edit in &self.edits {
            let out_of_source = EditError::OutOfSource { range: edit.range };
            let kept = source.get(copied..edit.range.start().to_usize());
            result.push_str(kept.ok_or_else(|| out_of_source.clone())?);
            result.push_str(&edit.text);
            copied = edit.range.end().to_usize();
            if !source.is_char_boundary(copied) {
                return Err(out_of_source);
            }
        }
        result.push_str(&source[copied..]);
        Ok(result)
    }

    /// Applies the edits and parses the result the way `unit` was parsed.
    ///
    /// # Errors
    /// [`EditError::Syntax`] if the result has more syntax errors than `unit` had.
    pub fn apply_checked(&self, unit: &Unit) -> Result<Unit, EditError> {
        let edited = unit.reparse(&self.apply(unit.source())?);
        if edited.error_count() > unit.error_count() {
            let (line, column, message) = edited.first_error();
            return Err(EditError::Syntax { line, column, message });
        }
        Ok(edited)
    }
}
