//! One pass over Python 2 tokens that notes what Python 3 refuses and how to write it there.
//!
//! No edit adds or removes a line break, except where a tuple parameter is unpacked before a
//! compound statement: line numbers stay what the author sees.

mod indentation;
mod literals;
mod print;
mod statements;
mod tuples;

use std::collections::BTreeMap;
use std::ops::Range;

use ruff_text_size::{TextRange, TextSize};

use super::lexer::{Kind, Tokens, tokenize};
use crate::Edit;

pub(super) use indentation::MIXED_INDENTATION;

/// `from __future__` imports that change how the rest of a program reads. In IPython they stay
/// in force for all later cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Future {
    pub(crate) print_function: bool,
    pub(crate) unicode_literals: bool,
}

/// What the pass found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Replacements, sorted, none overlapping.
    pub(crate) edits: Vec<Edit>,
    /// What Python 3 refuses, each once.
    pub(crate) reasons: Vec<&'static str>,
    /// The future imports in force after the source.
    pub(crate) future: Future,
}

pub(crate) fn scan(source: &str, ipython: bool, future: Future) -> Scan {
    let tokens = tokenize(source, ipython);
    let mut lift = Lift { tokens: &tokens, future, edits: BTreeMap::new(), reasons: Vec::new() };
    lift.find_future();
    lift.expressions();
    lift.statements();
    lift.indentation();
    let mut reasons = lift.reasons;
    reasons.sort_unstable();
    reasons.dedup();
    let edits = lift.edits.into_iter().filter_map(|((start, end), text)| {
        let range = TextRange::new(TextSize::try_from(start).ok()?, TextSize::try_from(end).ok()?);
        Some(Edit { range, text })
    });
    Scan { edits: edits.collect(), reasons, future: lift.future }
}

struct Lift<'a> {
    tokens: &'a Tokens<'a>,
    future: Future,
    edits: BTreeMap<(usize, usize), String>,
    reasons: Vec<&'static str>,
}

impl Lift<'_> {
    fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        let text = text.into();
        if range.is_empty()
            && let Some(present) = self.edits.get_mut(&(range.start, range.end))
        {
            present.push_str(&text);
            return;
        }
        self.edits.insert((range.start, range.end), text);
    }

    fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(at..at, text);
    }

    /// The text of a range with the edits in it applied; they are used up. An edit that overlaps another
    /// one stays, so that the result is refused ([`crate::EditSet::add`]).
    fn take(&mut self, range: Range<usize>) -> String {
        let mut text = String::new();
        let mut copied = range.start;
        let inside: Vec<(usize, usize)> = self
            .edits
            .range((range.start, 0)..=(range.end, usize::MAX))
            .map(|(key, _)| *key)
            .filter(|(start, end)| *start >= range.start && *end <= range.end)
            .collect();
        for key in inside {
            if key.0 < copied {
                continue;
            }
            if let Some(edit) = self.edits.remove(&key) {
                text.push_str(&self.tokens.source[copied..key.0]);
                text.push_str(&edit);
                copied = key.1;
            }
        }
        text.push_str(&self.tokens.source[copied..range.end]);
        text
    }

    fn start(&self, token: usize) -> usize {
        self.tokens.tokens[token].range.start
    }

    fn end(&self, token: usize) -> usize {
        self.tokens.tokens[token].range.end
    }

    fn depth(&self, token: usize) -> usize {
        self.tokens.tokens[token].depth
    }

    /// Replaces the white space between two tokens, or inserts before the second when a line
    /// is continued between them.
    fn join(&mut self, left: usize, right: usize, text: &str) {
        let gap = self.end(left)..self.start(right);
        if self.tokens.source[gap.clone()].contains('\n') {
            self.insert(gap.start, text);
        } else {
            self.replace(gap, text);
        }
    }

    /// Tokens with this text at this depth in a range.
    fn find(&self, tokens: Range<usize>, depth: usize, text: &str) -> Option<usize> {
        tokens.into_iter().find(|&at| self.depth(at) == depth && self.tokens.is(at, text))
    }

    /// The closing bracket of an opening one.
    fn closing(&self, open: usize) -> Option<usize> {
        let depth = self.depth(open);
        (open + 1..self.tokens.tokens.len())
            .find(|&at| self.depth(at) <= depth)
            .filter(|&at| matches!(self.tokens.text(at), ")" | "]" | "}"))
    }

    fn find_future(&mut self) {
        for at in 0..self.tokens.tokens.len() {
            if !(self.tokens.is(at, "__future__") && at > 0 && self.tokens.is(at - 1, "from")) {
                continue;
            }
            let mut name = at + 2;
            while matches!(self.tokens.kind(name), Some(Kind::Name | Kind::Operator)) {
                self.future.print_function |= self.tokens.is(name, "print_function");
                self.future.unicode_literals |= self.tokens.is(name, "unicode_literals");
                name += 1;
            }
        }
    }

    fn expressions(&mut self) {
        let mut open_backticks: Vec<usize> = Vec::new();
        for at in 0..self.tokens.tokens.len() {
            let text = self.tokens.text(at);
            match self.tokens.tokens[at].kind {
                Kind::Number => self.number(at),
                Kind::String => self.string(at),
                Kind::Operator if text == "<>" => {
                    self.replace(self.tokens.tokens[at].range.clone(), "!=");
                    self.reasons.push("<> operator");
                }
                Kind::Operator if text == "`" => {
                    let depth = self.depth(at);
                    if open_backticks.last() == Some(&depth) {
                        open_backticks.pop();
                        self.replace(self.tokens.tokens[at].range.clone(), ")");
                    } else {
                        open_backticks.push(depth);
                        self.replace(self.tokens.tokens[at].range.clone(), "repr(");
                    }
                    self.reasons.push("backticks");
                }
                Kind::Operator if text == "[" => self.list_comprehension(at),
                Kind::Name if text == "lambda" => self.lambda(at),
                Kind::Newline => open_backticks.clear(),
                _ => {}
            }
        }
    }
}
