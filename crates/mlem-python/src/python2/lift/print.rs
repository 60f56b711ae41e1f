//! The `print` statement.

use super::Lift;
use crate::python2::lexer::Kind;

impl Lift<'_> {
    pub(super) fn print(&mut self, keyword: usize, stop: usize) {
        let first = keyword + 1;
        if first >= stop {
            // Legal in Python 3, where it does nothing.
            self.insert(self.end(keyword), "()");
            return;
        }
        if self.tokens.is(first, ">>") {
            self.print_to(keyword, first, stop);
            return;
        }
        let text = self.tokens.text(first);
        let operand = self.starts_expression(first) || matches!(text, "(" | "[" | "-" | "+");
        if !operand {
            return;
        }
        if self.starts_expression(first) {
            self.reasons.push("print statement");
        }
        let trailing = self.tokens.is(stop - 1, ",");
        let last = if trailing { stop - 2 } else { stop - 1 };
        if last < first {
            return;
        }
        let end = if !trailing {
            ""
        } else if self.ends_with_newline(last) {
            ", end=''"
        } else {
            ", end=' '"
        };
        let close = if self.tokens.is(first, "(") { self.closing(first) } else { None };
        if trailing {
            self.reasons.extend((close != Some(last)).then_some("print statement"));
            self.take(self.end(last)..self.end(stop - 1));
            self.replace(self.end(last)..self.end(stop - 1), "");
        }
        if close == Some(last) {
            let is_tuple = self.find(first + 1..last, self.depth(first) + 1, ",").is_some();
            let has_keyword = self.find(first + 1..last, self.depth(first) + 1, "=").is_some();
            if has_keyword {
                return;
            }
            if is_tuple {
                self.insert(self.start(first), "(");
                self.insert(self.end(last), format!("{end})"));
            } else if first + 1 < last {
                self.insert(self.start(last), end);
            }
            return;
        }
        self.join(keyword, first, "(");
        self.insert_after(last, &format!("{end})"));
    }

    /// Inserts behind a token whose end may already carry a deletion.
    fn insert_after(&mut self, token: usize, text: &str) {
        self.insert(self.end(token), text);
    }

    /// `print >>file, a, b`.
    fn print_to(&mut self, keyword: usize, chevron: usize, stop: usize) {
        self.reasons.push("print statement");
        let comma = self.find(chevron..stop, 0, ",");
        let target_end = comma.unwrap_or(stop);
        if target_end == chevron + 1 {
            return;
        }
        let target = self.take(self.start(chevron + 1)..self.end(target_end - 1));
        let first = comma.map_or(stop, |comma| comma + 1);
        if first >= stop {
            let range = self.end(keyword)..self.end(stop - 1);
            self.take(range.clone());
            self.replace(range, format!("(file={target})"));
            return;
        }
        let trailing = self.tokens.is(stop - 1, ",");
        let last = if trailing { stop - 2 } else { stop - 1 };
        self.replace(self.end(keyword)..self.start(first), "(");
        let end = match (trailing, self.ends_with_newline(last)) {
            (false, _) => "",
            (true, false) => ", end=' '",
            (true, true) => ", end=''",
        };
        if trailing {
            self.replace(self.end(last)..self.end(stop - 1), "");
        }
        self.insert_after(last, &format!("{end}, file={target})"));
    }

    /// After a line break Python 2 leaves out the space that a trailing comma stands for.
    fn ends_with_newline(&self, token: usize) -> bool {
        let text = self.tokens.text(token);
        self.tokens.kind(token) == Some(Kind::String)
            && (text.ends_with("\\n\"") || text.ends_with("\\n'"))
            && !text.starts_with(['r', 'R'])
    }
}
