//! Numbers and strings.

use super::Lift;

impl Lift<'_> {
    pub(super) fn number(&mut self, at: usize) {
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

    pub(super) fn string(&mut self, at: usize) {
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
