//! One pass over Python 2 tokens that notes what Python 3 refuses and how to write it there.
//!
//! No edit adds or removes a line break, except where a tuple parameter is unpacked before a
//! compound statement: line numbers stay what the author sees.

use std::collections::BTreeMap;
use std::ops::Range;

use ruff_text_size::{TextRange, TextSize};

use super::lexer::{Kind, Tokens, tokenize};
use crate::Edit;

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

/// A reason that a broken Python 3 source can give, too.
pub(super) const MIXED_INDENTATION: &str = "tabs and spaces mixed in indentation";

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

impl<'a> Lift<'a> {
    // --- edits ---------------------------------------------------------------------------

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

    // --- whole source --------------------------------------------------------------------

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

    fn number(&mut self, at: usize) {
        let text = self.tokens.text(at);
        let digits = text.trim_end_matches(['l', 'L']);
        if digits.len() < text.len() {
            self.reasons.push("long integer literal");
        }
        let octal = digits.len() > 1
            && digits.starts_with('0')
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && digits.bytes().any(|byte| byte != b'0');
        if octal {
            self.reasons.push("octal literal without 0o");
        }
        let lifted = if octal { format!("0o{}", digits.trim_start_matches('0')) } else { digits.to_owned() };
        // `7L.real` is an attribute, `7.real` a broken float.
        let gap = if self.tokens.is(at + 1, ".") && lifted != text { " " } else { "" };
        if lifted != text {
            self.replace(self.tokens.tokens[at].range.clone(), format!("{lifted}{gap}"));
        }
    }

    fn string(&mut self, at: usize) {
        let text = self.tokens.text(at);
        let Some(quote) = text.find(['"', '\'']) else { return };
        let (prefix, body) = text.split_at(quote);
        let prefix = prefix.to_ascii_lowercase();
        if prefix == "ur" {
            self.reasons.push("ur'' string");
            // In Python 2 a raw unicode literal still reads \uXXXX; Python 3's raw one does not.
            let lifted = if body.contains("\\u") || body.contains("\\U") {
                format!("u{}", escape_backslashes(body, |next| !matches!(next, 'u' | 'U')))
            } else {
                format!("r{body}")
            };
            self.replace(self.tokens.tokens[at].range.clone(), lifted);
        } else if prefix.is_empty() && !self.future.unicode_literals {
            // A byte string of Python 2 has no \u, \U and \N: they are a backslash and a letter.
            let lifted = escape_named(body);
            if lifted != body {
                self.replace(self.tokens.tokens[at].range.clone(), lifted);
            }
        }
    }

    /// `[f(x) for x in 1, 2]`: Python 3 wants the tuple in parentheses.
    fn list_comprehension(&mut self, open: usize) {
        let Some(close) = self.closing(open) else { return };
        let depth = self.depth(open) + 1;
        let Some(mut at) = self.find(open + 1..close, depth, "for") else { return };
        while let Some(keyword) = self.find(at..close, depth, "in") {
            let end = (keyword + 1..close)
                .find(|&at| self.depth(at) == depth && matches!(self.tokens.text(at), "for" | "if"))
                .unwrap_or(close);
            if self.find(keyword + 1..end, depth, ",").is_some() && keyword + 1 < end {
                self.insert(self.start(keyword + 1), "(");
                self.insert(self.end(end - 1), ")");
                self.reasons.push("tuple without parentheses in a list comprehension");
            }
            let Some(next) = self.find(end..close, depth, "for") else { break };
            at = next;
        }
    }

    // --- tuple parameters ----------------------------------------------------------------

    /// Parenthesised parameters between two tokens: (opening, closing) and the names in each.
    fn tuple_parameters(&self, tokens: Range<usize>, depth: usize) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut at = tokens.start;
        while at < tokens.end {
            let starts_parameter =
                at == tokens.start || (self.tokens.is(at - 1, ",") && self.depth(at - 1) == depth);
            if starts_parameter
                && self.tokens.is(at, "(")
                && self.depth(at) == depth
                && let Some(close) = self.closing(at)
                && close < tokens.end
            {
                found.push((at, close));
                at = close;
            }
            at += 1;
        }
        found
    }

    /// A name for a tuple parameter made of its parts, unlike any name of the source.
    fn parameter_name(&self, open: usize, close: usize) -> String {
        let parts = (open..close).filter(|&at| self.tokens.kind(at) == Some(Kind::Name));
        let mut name = parts.map(|at| self.tokens.text(at)).collect::<Vec<_>>().join("_");
        while (0..self.tokens.tokens.len()).any(|at| self.tokens.is(at, &name)) {
            name.push('_');
        }
        name
    }

    fn lambda(&mut self, keyword: usize) {
        let depth = self.depth(keyword);
        let limit = self.tokens.tokens.len();
        let Some(colon) = self.find(keyword + 1..limit, depth, ":") else { return };
        let tuples = self.tuple_parameters(keyword + 1..colon, depth);
        if tuples.is_empty() {
            return;
        }
        self.reasons.push("tuple parameter");
        let end = self.lambda_end(colon + 1, depth);
        for (open, close) in tuples {
            let name = self.parameter_name(open, close);
            let mut paths = Vec::new();
            self.tuple_paths(open, close, "", &mut paths);
            self.take(self.start(open)..self.end(close));
            self.replace(self.start(open)..self.end(close), name.clone());
            for at in colon + 1..end {
                let is_use = self.tokens.kind(at) == Some(Kind::Name) && !self.tokens.is(at - 1, ".");
                let is_keyword = self.tokens.is(at + 1, "=") && self.depth(at) > depth;
                if let Some((_, path)) = paths.iter().find(|(part, _)| *part == self.tokens.text(at))
                    && is_use
                    && !is_keyword
                {
                    self.replace(self.tokens.tokens[at].range.clone(), format!("{name}{path}"));
                }
            }
        }
    }

    /// The subscripts that reach each name of a nested tuple: `b` of `(a, (b, c))` is `[1][0]`.
    fn tuple_paths(&self, open: usize, close: usize, prefix: &str, paths: &mut Vec<(&'a str, String)>) {
        let (mut index, mut at) = (0, open + 1);
        while at < close {
            match self.tokens.text(at) {
                "," => index += 1,
                "(" => {
                    let inner = self.closing(at).unwrap_or(close);
                    self.tuple_paths(at, inner, &format!("{prefix}[{index}]"), paths);
                    at = inner;
                }
                name => paths.push((name, format!("{prefix}[{index}]"))),
            }
            at += 1;
        }
    }

    /// The token behind a lambda's body.
    fn lambda_end(&self, body: usize, depth: usize) -> usize {
        (body..self.tokens.tokens.len())
            .find(|&at| {
                self.tokens.kind(at) == Some(Kind::Newline)
                    || (self.depth(at) < depth)
                    || (self.depth(at) == depth
                        && matches!(self.tokens.text(at), "," | ")" | "]" | "}" | ";" | "for" | ":" | "="))
            })
            .unwrap_or(self.tokens.tokens.len())
    }

    fn definition(&mut self, keyword: usize, colon: usize) {
        let Some(open) = self.find(keyword..colon, 0, "(") else { return };
        let Some(close) = self.closing(open) else { return };
        let tuples = self.tuple_parameters(open + 1..close, 1);
        if tuples.is_empty() {
            return;
        }
        self.reasons.push("tuple parameter");
        let mut unpacking = Vec::new();
        for (open, close) in tuples {
            let name = self.parameter_name(open, close);
            let range = self.start(open)..self.end(close);
            let pattern = self.tokens.source[range.clone()].replace(['\n', '\r'], " ");
            unpacking.push(format!("{pattern} = {name}"));
            self.take(range.clone());
            self.replace(range, name);
        }
        self.insert_in_body(colon, &unpacking.join("; "));
    }

    /// Puts a simple statement before the first statement of a body, behind its docstring.
    fn insert_in_body(&mut self, colon: usize, statement: &str) {
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

    // --- statements ----------------------------------------------------------------------

    fn statements(&mut self) {
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
    fn starts_expression(&self, at: usize) -> bool {
        let text = self.tokens.text(at);
        match self.tokens.kind(at) {
            Some(Kind::Number | Kind::String) => true,
            Some(Kind::Name) => !matches!(text, "in" | "is" | "and" | "or" | "if" | "else" | "for"),
            Some(Kind::Operator) => matches!(text, "{" | "`" | "~"),
            _ => false,
        }
    }

    fn print(&mut self, keyword: usize, stop: usize) {
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

    // --- indentation ---------------------------------------------------------------------

    /// Python 2 takes a tab as the way to the next multiple of eight columns; Python 3 refuses
    /// indentation whose meaning depends on the width of a tab.
    fn indentation(&mut self) {
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

fn is_compound(word: &str) -> bool {
    matches!(
        word,
        "if" | "elif" | "else" | "while" | "for" | "try" | "except" | "finally" | "with" | "def" | "class"
    )
}

/// Doubles each backslash whose next character the predicate picks.
fn escape_backslashes(body: &str, double: impl Fn(char) -> bool) -> String {
    let mut result = String::with_capacity(body.len() + 8);
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        result.push(c);
        if c != '\\' {
            continue;
        }
        let Some(next) = chars.next() else { break };
        if double(next) {
            result.push('\\');
            if matches!(next, '"' | '\'' | '\\') {
                // In a raw string both characters belong to the value.
                result.push('\\');
            }
        }
        result.push(next);
    }
    result
}

/// Doubles the backslash of `\u`, `\U` and `\N`.
fn escape_named(body: &str) -> String {
    let mut result = String::with_capacity(body.len());
    let mut chars = body.chars();
    while let Some(c) = chars.next() {
        result.push(c);
        if c == '\\'
            && let Some(next) = chars.next()
        {
            if matches!(next, 'u' | 'U' | 'N') {
                result.push('\\');
            }
            result.push(next);
        }
    }
    result
}
