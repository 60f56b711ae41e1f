//! A lenient JSON scanner that yields byte spans of the text it reads.
//!
//! `serde_json` is not enough for notebooks as they are found: it refuses `NaN` and `Infinity`,
//! which Python's `json` module writes and reads by default, it refuses to decode a lone surrogate
//! (`"\ud83d"`, left behind by front ends that cut a string in half), and it gives no spans. This
//! scanner accepts exactly what Python's `json.loads` accepts (strict mode), keeps offsets, and
//! skips a value without building it, so that megabytes of stored pictures cost one pass over
//! their bytes and no memory.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Map, Number, Value};

/// A byte range of the text.
pub(crate) type Span = Range<usize>;

/// Deeper nesting than this is refused; Python's own parser stops near 1,000.
const MAX_DEPTH: usize = 400;

/// The text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Syntax {
    /// Byte offset of the offending character.
    pub(crate) at: usize,
    pub(crate) reason: &'static str,
}

/// What a value is, known from its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl Kind {
    /// The kind with its article, for messages.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Kind::Object => "an object",
            Kind::Array => "a list",
            Kind::String => "a string",
            Kind::Number => "a number",
            Kind::Bool => "a boolean",
            Kind::Null => "null",
        }
    }
}

/// The name of an object's member and the offset of its opening quote.
pub(crate) struct Key<'t> {
    pub(crate) name: Cow<'t, str>,
    pub(crate) at: usize,
}

/// Walks one JSON text from left to right.
pub(crate) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Scanner<'t> {
    /// A scanner that starts at byte `at`, behind a byte order mark if there is one.
    pub(crate) fn new(text: &'t str, at: usize) -> Self {
        let at = if at == 0 && text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { at };
        Scanner { text, at, depth: 0 }
    }

    /// The offset of the next byte to read.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, reason: &'static str) -> Syntax {
        let ended = self.at >= self.text.len();
        Syntax { at: self.at, reason: if ended { "the text ends in the middle of a value" } else { reason } }
    }

    fn fail<T>(&self, reason: &'static str) -> Result<T, Syntax> {
        Err(self.error(reason))
    }

    fn space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn enter(&mut self) -> Result<(), Syntax> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail("values are nested too deeply");
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    /// The kind of the value that comes next.
    pub(crate) fn kind(&mut self) -> Result<Kind, Syntax> {
        self.space();
        match self.byte() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            _ => self.fail("expected a value"),
        }
    }

    /// Requires that nothing but white space is left.
    pub(crate) fn end(&mut self) -> Result<(), Syntax> {
        self.space();
        if self.at < self.text.len() {
            return self.fail("more text after the end of the document");
        }
        Ok(())
    }

    /// Walks an object. `each` is called behind every colon and must consume the value.
    pub(crate) fn members<E: From<Syntax>>(
        &mut self,
        mut each: impl FnMut(&mut Self, Key<'t>) -> Result<(), E>,
    ) -> Result<Span, E> {
        self.space();
        let start = self.at;
        if self.byte() != Some(b'{') {
            return Err(self.error("expected an object").into());
        }
        self.enter()?;
        if self.byte() == Some(b'}') {
            self.at += 1;
        } else {
            loop {
                self.space();
                let at = self.at;
                let name = self.string()?;
                self.colon()?;
                each(self, Key { name, at })?;
                if self.more(b'}', "expected `,` or `}`")? {
                    continue;
                }
                break;
            }
        }
        self.depth -= 1;
        Ok(start..self.at)
    }

    /// Walks a list. `each` gets every element's index and must consume the element.
    pub(crate) fn elements<E: From<Syntax>>(
        &mut self,
        mut each: impl FnMut(&mut Self, usize) -> Result<(), E>,
    ) -> Result<Span, E> {
        self.space();
        let start = self.at;
        if self.byte() != Some(b'[') {
            return Err(self.error("expected a list").into());
        }
        self.enter()?;
        if self.byte() == Some(b']') {
            self.at += 1;
        } else {
            let mut index = 0;
            loop {
                self.space();
                each(self, index)?;
                index += 1;
                if self.more(b']', "expected `,` or `]`")? {
                    continue;
                }
                break;
            }
        }
        self.depth -= 1;
        Ok(start..self.at)
    }

    /// Consumes the colon between a key and its value.
    fn colon(&mut self) -> Result<(), Syntax> {
        self.space();
        if self.byte() != Some(b':') {
            return self.fail("expected `:`");
        }
        self.at += 1;
        Ok(())
    }

    /// Consumes a comma (true) or the closing bracket (false).
    fn more(&mut self, close: u8, expected: &'static str) -> Result<bool, Syntax> {
        self.space();
        match self.byte() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ => self.fail(expected),
        }
    }

    /// Passes over any value.
    pub(crate) fn pass_over(&mut self) -> Result<(), Syntax> {
        self.skip()?;
        Ok(())
    }

    /// Passes over any value without building it; returns where it is.
    pub(crate) fn skip(&mut self) -> Result<Span, Syntax> {
        match self.kind()? {
            Kind::Object => {
                let start = self.at;
                self.enter()?;
                if self.byte() == Some(b'}') {
                    self.at += 1;
                } else {
                    loop {
                        self.space();
                        self.skip_string()?;
                        self.colon()?;
                        self.skip()?;
                        if !self.more(b'}', "expected `,` or `}`")? {
                            break;
                        }
                    }
                }
                self.depth -= 1;
                Ok(start..self.at)
            }
            Kind::Array => self.elements(|scanner, _| scanner.pass_over()),
            Kind::String => self.skip_string(),
            Kind::Number => self.number(),
            Kind::Bool | Kind::Null => self.word(),
        }
    }

    fn word(&mut self) -> Result<Span, Syntax> {
        let start = self.at;
        for word in ["true", "false", "null", "NaN", "Infinity", "-Infinity"] {
            if self.text.as_bytes()[start..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(start..self.at);
            }
        }
        self.fail("expected a value")
    }

    fn number(&mut self) -> Result<Span, Syntax> {
        let start = self.at;
        if matches!(self.byte(), Some(b'N' | b'I')) || self.text.as_bytes()[start..].starts_with(b"-I") {
            return self.word();
        }
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return self.fail("expected a digit"),
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(start..self.at)
    }

    fn digits(&mut self) -> Result<(), Syntax> {
        let start = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { self.fail("expected a digit") } else { Ok(()) }
    }

    /// Passes over a string; the span holds both quotes.
    fn skip_string(&mut self) -> Result<Span, Syntax> {
        let start = self.at;
        if self.byte() != Some(b'"') {
            return self.fail("expected a string");
        }
        self.at += 1;
        loop {
            self.at += plain_prefix(&self.text.as_bytes()[self.at..]);
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(start..self.at);
                }
                Some(b'\\') => self.skip_escape()?,
                Some(_) => return self.fail("a control character inside a string"),
                None => return self.fail("the string has no end"),
            }
        }
    }

    fn skip_escape(&mut self) -> Result<(), Syntax> {
        self.at += 1;
        match self.byte() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.byte().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return self.fail("expected four hexadecimal digits after `\\u`");
                    }
                    self.at += 1;
                }
                Ok(())
            }
            _ => self.fail("unknown escape in a string"),
        }
    }

    /// Reads a string. A lone surrogate becomes U+FFFD.
    pub(crate) fn string(&mut self) -> Result<Cow<'t, str>, Syntax> {
        self.space();
        let span = self.skip_string()?;
        Ok(decode(&self.text[span.start + 1..span.end - 1]))
    }

    /// Builds a value. `NaN` and the infinities become null, the last of equal keys wins.
    pub(crate) fn value(&mut self) -> Result<Value, Syntax> {
        Ok(match self.kind()? {
            Kind::Object => {
                let mut map = Map::new();
                self.members(|scanner, key| -> Result<(), Syntax> {
                    map.insert(key.name.into_owned(), scanner.value()?);
                    Ok(())
                })?;
                Value::Object(map)
            }
            Kind::Array => {
                let mut list = Vec::new();
                self.elements(|scanner, _| -> Result<(), Syntax> {
                    list.push(scanner.value()?);
                    Ok(())
                })?;
                Value::Array(list)
            }
            Kind::String => Value::String(self.string()?.into_owned()),
            Kind::Number => {
                let span = self.number()?;
                number(&self.text[span])
            }
            Kind::Bool | Kind::Null => {
                let span = self.word()?;
                match &self.text[span] {
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    _ => Value::Null,
                }
            }
        })
    }
}

fn number(text: &str) -> Value {
    if let Ok(number) = text.parse::<u64>() {
        return Value::Number(number.into());
    }
    if let Ok(number) = text.parse::<i64>() {
        return Value::Number(number.into());
    }
    match text.parse::<f64>() {
        Ok(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        Err(_) => Value::Null,
    }
}

/// How many leading bytes of a string are neither a quote, a backslash nor a control character.
/// Stored pictures make this the hottest loop of the crate: blocks without any of them are told by a fold that
/// compiles to vector instructions, the rest is looked at eight bytes at a time.
fn plain_prefix(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    let special = |found: u8, byte: &u8| found | u8::from(*byte < 0x20 || *byte == b'"' || *byte == b'\\');
    while let Some(block) = bytes[at..].first_chunk::<64>() {
        if block.iter().fold(0, special) != 0 {
            break;
        }
        at += block.len();
    }
    while let Some(chunk) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        // "Has a zero byte" and "has a byte below n" of Bit Twiddling Hacks (S. E. Anderson).
        let zero_in = |x: u64| x.wrapping_sub(ONES) & !x & HIGHS;
        let quote = zero_in(word ^ (ONES * u64::from(b'"')));
        let backslash = zero_in(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let found = quote | backslash | control;
        if found != 0 {
            // The lowest set bit is exact: borrows only travel upwards.
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = &bytes[at..];
    at + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(rest.len())
}

/// The text of a string literal's inside, which the scanner has already found well formed.
fn decode(raw: &str) -> Cow<'_, str> {
    let Some(first) = raw.find('\\') else { return Cow::Borrowed(raw) };
    let mut text = String::with_capacity(raw.len());
    text.push_str(&raw[..first]);
    let mut rest = &raw[first..];
    while let Some(escape) = rest.strip_prefix('\\') {
        let (decoded, used) = match escape.as_bytes().first() {
            Some(b'b') => ('\u{8}', 1),
            Some(b'f') => ('\u{c}', 1),
            Some(b'n') => ('\n', 1),
            Some(b'r') => ('\r', 1),
            Some(b't') => ('\t', 1),
            Some(b'u') => unicode_escape(escape),
            Some(other) => (char::from(*other), 1),
            None => break,
        };
        text.push(decoded);
        rest = &escape[used..];
        let plain = rest.find('\\').unwrap_or(rest.len());
        text.push_str(&rest[..plain]);
        rest = &rest[plain..];
    }
    Cow::Owned(text)
}

/// Decodes `uXXXX` (and the low surrogate that follows a high one); returns the bytes used.
fn unicode_escape(escape: &str) -> (char, usize) {
    let unit = |text: &str| text.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let Some(first) = unit(&escape[1..]) else { return (char::REPLACEMENT_CHARACTER, 1) };
    if (0xd800..0xdc00).contains(&first)
        && let Some(second) = escape[5..].strip_prefix("\\u").and_then(unit)
        && (0xdc00..0xe000).contains(&second)
    {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 11);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<Value, Syntax> {
        let mut scanner = Scanner::new(text, 0);
        let value = scanner.value()?;
        scanner.end()?;
        Ok(value)
    }

    #[test]
    fn agrees_with_serde_json_on_ordinary_json() {
        for text in [
            r#"{"a": [1, -2, 3.5e-7, true, false, null, "x\ty\u00e9\ud83d\ude00"], "b": {}}"#,
            "[]",
            " {\"\": \"\"} ",
            "\"exactly seven\"",
            "18446744073709551615",
            r#"["\\", "\"", "\/", "\b\f\n\r\t"]"#,
        ] {
            assert_eq!(value(text).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
    }

    #[test]
    fn accepts_what_python_writes_and_serde_json_refuses() {
        assert_eq!(value(r#"[NaN, Infinity, -Infinity]"#).unwrap(), serde_json::json!([null, null, null]));
        assert_eq!(value(r#""\ud83d""#).unwrap(), Value::from("\u{fffd}"));
        assert_eq!(value(r#""\ude00\ud83dx""#).unwrap(), Value::from("\u{fffd}\u{fffd}x"));
        assert_eq!(value(r#"{"a": 1, "a": 2}"#).unwrap(), serde_json::json!({"a": 2}));
    }

    #[test]
    fn refuses_what_python_refuses() {
        for (text, at, reason) in [
            ("", 0, "the text ends in the middle of a value"),
            ("{\"a\": 1", 7, "the text ends in the middle of a value"),
            ("{\"a\" 1}", 5, "expected `:`"),
            ("[1 2]", 3, "expected `,` or `]`"),
            ("[1,]", 3, "expected a value"),
            ("{a: 1}", 1, "expected a string"),
            ("[01]", 2, "expected `,` or `]`"),
            ("[1.]", 3, "expected a digit"),
            ("\"a\nb\"", 2, "a control character inside a string"),
            ("\"\\x\"", 2, "unknown escape in a string"),
            ("\"\\u12g4\"", 5, "expected four hexadecimal digits after `\\u`"),
            ("[] []", 3, "more text after the end of the document"),
            ("nul", 0, "expected a value"),
        ] {
            assert_eq!(value(text), Err(Syntax { at, reason }), "{text}");
        }
        assert_eq!(value(&"[".repeat(100_000)).unwrap_err().reason, "values are nested too deeply");
    }

    #[test]
    fn finds_the_end_of_plain_text_at_every_offset() {
        for length in 0..40 {
            for stop in [b'"', b'\\', 0x1f, 0, b'\n'] {
                let mut bytes = vec![b'a'; length];
                bytes.extend([stop, b'"', 0xc3, 0xa9]);
                assert_eq!(plain_prefix(&bytes), length);
                assert_eq!(plain_prefix(&vec![0xe9; length]), length);
                assert_eq!(plain_prefix(&vec![b'!'; length]), length);
            }
        }
    }
}
