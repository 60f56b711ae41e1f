//! Indentation by tabs and spaces.

use super::Lift;

/// A reason that a broken Python 3 source can give, too.
pub(crate) const MIXED_INDENTATION: &str = "tabs and spaces mixed in indentation";

impl Lift<'_> {
    /// Python 2 takes a tab as the way to the next multiple of eight columns; Python 3 refuses
    /// indentation whose meaning depends on the width of a tab.
    pub(super) fn indentation(&mut self) {
        let source = self.tokens.source;
        let mut levels = vec![(0, 0)];
        let mut ambiguous = false;
        for indent in &self.tokens.indents {
            let (eight, one) = columns(&source[indent.clone()]);
            while levels.len() > 1 && levels.last().is_some_and(|(level, _)| eight < *level) {
                levels.pop();
            }
            let (level, level_one) = levels.last().copied().unwrap_or((0, 0));
            if eight.cmp(&level) != one.cmp(&level_one) {
                ambiguous = true;
                break;
            }
            if eight > level {
                levels.push((eight, one));
            }
        }
        if !ambiguous {
            return;
        }
        self.reasons.push(MIXED_INDENTATION);
        for indent in &self.tokens.indents {
            let text = &source[indent.clone()];
            if text.contains('\t') {
                self.replace(indent.clone(), " ".repeat(columns(text).0));
            }
        }
    }
}

/// Width of indentation with a tab of eight and of one column
/// (`tok->tabsize` and `ALTTABSIZE` in CPython's tokenizer). A form feed starts over.
fn columns(indent: &str) -> (usize, usize) {
    indent.bytes().fold((0, 0), |(eight, one), byte| match byte {
        b'\t' => ((eight / 8 + 1) * 8, one + 1),
        b'\x0c' => (0, 0),
        b' ' => (eight + 1, one + 1),
        _ => (eight, one),
    })
}
