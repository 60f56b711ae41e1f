//! Statements by their first word: `exec`, `raise`, `except`.

use super::Lift;
use crate::python2::lexer::Kind;

impl Lift<'_> {
    pub(super) fn statements(&mut self) {
        let mut at = 0;
        while at < self.tokens.tokens.len() {
            let end = (at..self.tokens.tokens.len())
                .find(|&at| self.tokens.kind(at) == Some(Kind::Newline))
                .unwrap_or(self.tokens.tokens.len());
            // Behind `%time` stands code.
            let first = if self.tokens.kind(at) == Some(Kind::Magic) { at + 1 } else { at };
            self.logical_line(first, end);
            at = end + 1;
        }
    }

    fn logical_line(&mut self, mut at: usize, end: usize) {
        if at < end && is_compound(self.tokens.text(at)) {
            let Some(colon) = self.header_colon(at, end) else { return };
            match self.tokens.text(at) {
                "except" => self.except(at, colon),
                "def" => self.definition(at, colon),
                _ => {}
            }
            at = colon + 1;
        }
        while at < end {
            let stop = self.find(at..end, 0, ";").unwrap_or(end);
            if at < stop {
                match self.tokens.text(at) {
                    "print" if !self.future.print_function => self.print(at, stop),
                    "exec" => self.exec(at, stop),
                    "raise" => self.raise(at, stop),
                    _ => {}
                }
            }
            at = stop + 1;
        }
    }

    /// The colon that ends a compound statement's header; a lambda's colon does not.
    fn header_colon(&self, keyword: usize, end: usize) -> Option<usize> {
        let mut lambdas = 0_usize;
        for at in keyword..end {
            if self.depth(at) > 0 {
                continue;
            }
            if self.tokens.is(at, "lambda") {
                lambdas += 1;
            } else if self.tokens.is(at, ":") {
                if lambdas == 0 {
                    return Some(at);
                }
                lambdas -= 1;
            }
        }
        None
    }

    fn except(&mut self, keyword: usize, colon: usize) {
        let Some(comma) = self.find(keyword + 1..colon, 0, ",") else { return };
        let target = comma + 1..colon;
        if target.is_empty() || comma == keyword + 1 || self.find(target.clone(), 0, ",").is_some() {
            return;
        }
        let name = self.tokens.text(target.start);
        // Python 3.14 reads `except A, B:` as a tuple of classes; classes are capitalised.
        if !(target.len() == 1 && name.starts_with(char::is_uppercase)) {
            self.reasons.push("except clause with a comma");
        }
        let comma_range = self.tokens.tokens[comma].range.start..self.start(target.start);
        if target.len() == 1 {
            self.replace(comma_range, " as ");
        } else {
            // The target is not a name, which Python 3 wants.
            let pattern = self.take(self.start(target.start)..self.end(colon - 1));
            let name = self.unused("error");
            self.replace(comma_range.start..self.end(colon - 1), format!(" as {name}"));
            self.insert_in_body(colon, &format!("{pattern} = {name}"));
        }
    }

    fn unused(&self, wish: &str) -> String {
        let mut name = wish.to_owned();
        while (0..self.tokens.tokens.len()).any(|at| self.tokens.is(at, &name)) {
            name.push('_');
        }
        name
    }

    fn exec(&mut self, keyword: usize, stop: usize) {
        let first = keyword + 1;
        if first >= stop || matches!(self.tokens.text(first), "=" | "." | ",") {
            return;
        }
        let whole = self.tokens.is(first, "(") && self.closing(first) == Some(stop - 1);
        if whole {
            return;
        }
        if self.starts_expression(first) || self.find(first..stop, 0, "in").is_some() {
            self.reasons.push("exec statement");
        }
        self.join(keyword, first, "(");
        if let Some(scope) = self.find(first..stop, 0, "in").filter(|&at| at + 1 < stop && at > first) {
            self.replace(self.end(scope - 1)..self.start(scope + 1), ", ");
        }
        self.insert(self.end(stop - 1), ")");
    }

    fn raise(&mut self, keyword: usize, stop: usize) {
        let Some(comma) = self.find(keyword + 1..stop, 0, ",") else { return };
        if comma == keyword + 1 || comma + 1 >= stop {
            return;
        }
        self.reasons.push("raise statement with a comma");
        let second = self.find(comma + 1..stop, 0, ",").filter(|&at| at + 1 < stop);
        let value = comma + 1..second.unwrap_or(stop);
        let separator = self.start(comma)..self.start(value.start);
        let class = self.tokens.text(comma - 1);
        let is_call = self.tokens.is(value.start, "(") && self.closing(value.start) == Some(value.end - 1);
        if value.len() == 1 && self.tokens.is(value.start, "None") {
            // `raise instance, None, traceback` and `raise Class, None, traceback`.
            let call = if class.starts_with(char::is_uppercase) { "()" } else { "" };
            self.take(separator.start..self.end(value.start));
            self.replace(separator.start..self.end(value.start), call);
        } else if is_call {
            self.replace(separator, "");
        } else {
            self.replace(separator, "(");
            self.insert(self.end(value.end - 1), ")");
        }
        if let Some(second) = second {
            self.replace(self.start(second)..self.start(second + 1), ".with_traceback(");
            self.insert(self.end(stop - 1), ")");
        }
    }

    /// Whether a token can only start an expression, so that a name before it is a statement's
    /// keyword in Python 2 and an error in Python 3.
    pub(super) fn starts_expression(&self, at: usize) -> bool {
        let text = self.tokens.text(at);
        match self.tokens.kind(at) {
            Some(Kind::Number | Kind::String) => true,
            Some(Kind::Name) => !matches!(text, "in" | "is" | "and" | "or" | "if" | "else" | "for"),
            Some(Kind::Operator) => matches!(text, "{" | "`" | "~"),
            _ => false,
        }
    }

    /// Puts a simple statement before the first statement of a body, behind its docstring.
    pub(super) fn insert_in_body(&mut self, colon: usize, statement: &str) {
        let on_next_line = self.tokens.kind(colon + 1) == Some(Kind::Newline);
        let first = colon + if on_next_line { 2 } else { 1 };
        if first >= self.tokens.tokens.len() {
            return;
        }
        let text = self.tokens.text(first);
        if self.tokens.kind(first) == Some(Kind::String) && self.tokens.kind(first + 1) == Some(Kind::Newline)
        {
            self.insert(self.end(first), format!("; {statement}"));
        } else if is_compound(text) || matches!(text, "@" | "async") {
            let start = self.start(first);
            let line = self.tokens.source[..start].rfind('\n').map_or(0, |at| at + 1);
            let indent = &self.tokens.source[line..start];
            self.insert(start, format!("{statement}\n{indent}"));
        } else {
            self.insert(self.start(first), format!("{statement}; "));
        }
    }
}

fn is_compound(word: &str) -> bool {
    matches!(
        word,
        "if" | "elif" | "else" | "while" | "for" | "try" | "except" | "finally" | "with" | "def" | "class"
    )
}
