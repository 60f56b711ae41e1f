//! Tokens of Python 2, IPython escapes included.
//!
//! Follows the lexical analysis chapter of the Python 2.7 language reference. Never fails: what
//! is not a token becomes an operator of one character, and an open string ends with its line
//! or with the source, so that everything around an error still gets read.

use std::ops::Range;

use crate::magic;

/// The kinds that the recogniser and the lift tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Identifiers and keywords.
    Name,
    Number,
    String,
    Operator,
    /// The end of a logical line.
    Newline,
    /// An IPython escape up to the end of its line.
    Magic,
}

/// One token with the bracket depth it stands in; brackets have the depth outside of them.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
    pub(crate) depth: usize,
}

/// Tokens, and the leading white space of each logical line.
#[derive(Debug, Default)]
pub(crate) struct Tokens<'a> {
    pub(crate) source: &'a str,
    pub(crate) tokens: Vec<Token>,
    pub(crate) indents: Vec<Range<usize>>,
}

impl<'a> Tokens<'a> {
    /// The text of a token; empty behind the last one.
    pub(crate) fn text(&self, index: usize) -> &'a str {
        self.tokens.get(index).map_or("", |token| &self.source[token.range.clone()])
    }

    pub(crate) fn kind(&self, index: usize) -> Option<Kind> {
        self.tokens.get(index).map(|token| token.kind)
    }

    pub(crate) fn is(&self, index: usize, text: &str) -> bool {
        self.tokens.get(index).is_some_and(|token| {
            matches!(token.kind, Kind::Name | Kind::Operator) && &self.source[token.range.clone()] == text
        })
    }
}

/// Operators of more than one character, longest first; `:=` and `->` are Python 3's.
const OPERATORS: &[&str] = &[
    "**=", "//=", ">>=", "<<=", "**", "//", ">>", "<<", "<=", ">=", "==", "!=", "<>", "+=", "-=", "*=", "/=",
    "%=", "&=", "|=", "^=", "@=", "->", ":=",
];

pub(crate) fn tokenize(source: &str, ipython: bool) -> Tokens<'_> {
    let mut lexer = Lexer {
        bytes: source.as_bytes(),
        at: 0,
        depth: 0,
        ipython,
        result: Tokens { source, ..Tokens::default() },
    };
    lexer.run();
    lexer.result
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    ipython: bool,
    result: Tokens<'a>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: Kind, start: usize) {
        self.result.tokens.push(Token { kind, range: start..self.at, depth: self.depth });
    }

    fn run(&mut self) {
        if self.result.source.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
        }
        let mut line_start = true;
        while self.at < self.bytes.len() {
            if line_start {
                line_start = false;
                if !self.start_line() {
                    line_start = true;
                    continue;
                }
            }
            let start = self.at;
            let Some(&byte) = self.bytes.get(start) else { break };
            match byte {
                b' ' | b'\t' | b'\x0c' | b'\r' => self.at += 1,
                b'#' => self.skip_line(),
                b'\n' => {
                    self.at += 1;
                    if self.depth == 0 {
                        self.push(Kind::Newline, start);
                        line_start = true;
                    }
                }
                b'\\' if self.peek(1) == b'\n' => self.at += 2,
                b'\\' if self.peek(1) == b'\r' && self.peek(2) == b'\n' => self.at += 3,
                b'"' | b'\'' => self.string(start),
                b'0'..=b'9' => self.number(start),
                b'.' if self.peek(1).is_ascii_digit() => self.number(start),
                _ if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => self.name(start),
                b'!' | b'%' if self.ipython && self.depth == 0 && self.follows_assignment(start) => {
                    self.skip_line();
                    self.push(Kind::Magic, start);
                }
                _ => self.operator(start),
            }
        }
        if self.result.tokens.last().is_some_and(|token| token.kind != Kind::Newline) {
            self.depth = 0;
            let end = self.at;
            self.push(Kind::Newline, end);
        }
    }

    /// Reads the white space that starts a line. Whether a logical line starts here: not on an
    /// empty line, a comment or a magic.
    fn start_line(&mut self) -> bool {
        let start = self.at;
        while matches!(self.peek(0), b' ' | b'\t' | b'\x0c' | b'\r') {
            self.at += 1;
        }
        match self.peek(0) {
            0 if self.at >= self.bytes.len() => false,
            b'\n' => {
                self.at += 1;
                false
            }
            b'#' => {
                self.skip_line();
                self.at += usize::from(self.at < self.bytes.len());
                false
            }
            _ => {
                self.result.indents.push(start..self.at);
                if self.ipython && self.is_escape_line() {
                    let start = self.at;
                    match magic::code_offset(&self.result.source[start..]) {
                        Some(head) => self.at += head,
                        None => self.skip_line(),
                    }
                    self.push(Kind::Magic, start);
                }
                true
            }
        }
    }

    /// `%magic`, `!command`, `?name` and `name?`.
    fn is_escape_line(&self) -> bool {
        let rest = &self.result.source[self.at..];
        let line = rest.split('\n').next().unwrap_or("").trim_end();
        if line.starts_with(['%', '!', '?']) {
            return true;
        }
        line.strip_suffix('?').is_some_and(|object| {
            object
                .trim_end_matches('?')
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '%' | '*'))
        })
    }

    fn follows_assignment(&self, start: usize) -> bool {
        let last = self.result.tokens.last();
        last.is_some_and(|token| token.range.end <= start && &self.result.source[token.range.clone()] == "=")
    }

    /// Moves to the line break, over backslash continuations in escapes only.
    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
            self.at += 1;
        }
    }

    fn name(&mut self, start: usize) {
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'_' || self.peek(0) >= 0x80 {
            self.at += 1;
        }
        if matches!(self.peek(0), b'"' | b'\'') {
            let prefix = self.result.source[start..self.at].to_ascii_lowercase();
            if matches!(prefix.as_str(), "u" | "b" | "r" | "ur" | "br" | "rb" | "f" | "fr" | "rf") {
                self.string(start);
                return;
            }
        }
        self.push(Kind::Name, start);
    }

    fn string(&mut self, start: usize) {
        let quote = self.bytes[self.at];
        let triple = self.peek(1) == quote && self.peek(2) == quote;
        self.at += if triple { 3 } else { 1 };
        // A backslash keeps the next character from ending the string in raw strings, too.
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'\\' => self.at += if self.peek(1) == b'\r' && self.peek(2) == b'\n' { 3 } else { 2 },
                b'\n' if !triple => break,
                byte if byte == quote && !triple => {
                    self.at += 1;
                    break;
                }
                byte if byte == quote && self.peek(1) == quote && self.peek(2) == quote => {
                    self.at += 3;
                    break;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.bytes.len());
        while !self.result.source.is_char_boundary(self.at) {
            self.at += 1;
        }
        self.push(Kind::String, start);
    }

    fn number(&mut self, start: usize) {
        let digits = |lexer: &mut Self, accept: fn(u8) -> bool| {
            while accept(lexer.peek(0)) || (lexer.peek(0) == b'_' && accept(lexer.peek(1))) {
                lexer.at += 1;
            }
        };
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X' | b'o' | b'O' | b'b' | b'B') {
            self.at += 2;
            digits(self, |byte| byte.is_ascii_hexdigit());
        } else {
            digits(self, |byte| byte.is_ascii_digit());
            if self.peek(0) == b'.' {
                self.at += 1;
                digits(self, |byte| byte.is_ascii_digit());
            }
            let signed = matches!(self.peek(1), b'+' | b'-') && self.peek(2).is_ascii_digit();
            if matches!(self.peek(0), b'e' | b'E') && (self.peek(1).is_ascii_digit() || signed) {
                self.at += 2;
                digits(self, |byte| byte.is_ascii_digit());
            }
        }
        if matches!(self.peek(0), b'l' | b'L' | b'j' | b'J') {
            self.at += 1;
        }
        self.push(Kind::Number, start);
    }

    fn operator(&mut self, start: usize) {
        let rest = &self.bytes[self.at..];
        let length = OPERATORS.iter().find(|op| rest.starts_with(op.as_bytes())).map_or(1, |op| op.len());
        self.at += length;
        match self.bytes[start] {
            b'(' | b'[' | b'{' => {
                self.push(Kind::Operator, start);
                self.depth += 1;
            }
            b')' | b']' | b'}' => {
                self.depth = self.depth.saturating_sub(1);
                self.push(Kind::Operator, start);
            }
            _ => self.push(Kind::Operator, start),
        }
    }
}
