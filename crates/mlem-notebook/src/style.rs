//! How a file writes its JSON, and writing more of it in the same way.

use serde_json::Value;

/// The habits of one JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Style {
    /// One step of indentation; `None` where everything stands on one line.
    pub(crate) indent: Option<String>,
    /// The line ending between the lines of the JSON text.
    pub(crate) newline: &'static str,
    /// Whether characters beyond ASCII are written as `\uXXXX`.
    pub(crate) ascii: bool,
    /// Between a key and its value.
    pub(crate) colon: &'static str,
    /// Between elements on one line.
    pub(crate) comma: &'static str,
}

impl Style {
    /// What nbformat itself writes (`v4/nbjson.py`: indent 1, `ensure_ascii=False`).
    pub(crate) fn nbformat() -> Style {
        Style { indent: Some(" ".into()), newline: "\n", ascii: false, colon: ": ", comma: ", " }
    }

    /// Finds the habits of a text that is known to be a JSON object.
    pub(crate) fn detect(text: &str) -> Style {
        let body = text.trim_start_matches('\u{feff}').trim_start();
        let inside = body.strip_prefix('{').unwrap_or(body);
        let lead = &inside[..inside.len() - inside.trim_start().len()];
        let indent = lead.rfind('\n').map(|at| lead[at + 1..].to_owned());
        // The first key of a notebook is a plain name, so its closing quote is the next quote.
        let after_key =
            inside.trim_start().get(1..).and_then(|key| key.split_once('"')).map_or("", |(_, rest)| rest);
        let colon = match after_key.as_bytes() {
            [b' ', b':', b' ', ..] => " : ",
            [b':', b' ' | b'\n' | b'\r', ..] | [] => ": ",
            _ => ":",
        };
        Style {
            newline: if lead.contains("\r\n") { "\r\n" } else { "\n" },
            indent,
            ascii: text.is_ascii() && escapes_beyond_ascii(text),
            colon,
            comma: if colon == ":" { "," } else { ", " },
        }
    }

    /// Writes a string literal as Python's `json` does.
    pub(crate) fn string(&self, out: &mut String, text: &str) {
        out.push('"');
        for character in text.chars() {
            match character {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                '\0'..='\u{1f}' => push_escape(out, character as u16),
                _ if self.ascii && !character.is_ascii() => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        push_escape(out, *unit);
                    }
                }
                _ => out.push(character),
            }
        }
        out.push('"');
    }

    /// Writes a value whose own line is indented by `margin`.
    pub(crate) fn value(&self, out: &mut String, value: &Value, margin: &str) {
        match value {
            Value::String(text) => self.string(out, text),
            Value::Array(list) if !list.is_empty() => {
                self.sequence(out, ['[', ']'], margin, list, |out, item, margin| {
                    self.value(out, item, margin)
                });
            }
            Value::Object(map) if !map.is_empty() => {
                self.sequence(out, ['{', '}'], margin, map, |out, (key, item), margin| {
                    self.string(out, key);
                    out.push_str(self.colon);
                    self.value(out, item, margin);
                });
            }
            other => out.push_str(&other.to_string()),
        }
    }

    /// Writes brackets around items, one a line where the text is indented.
    fn sequence<T>(
        &self,
        out: &mut String,
        [open, close]: [char; 2],
        margin: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut String, T, &str),
    ) {
        let inner = self.indent.as_ref().map(|indent| format!("{margin}{indent}"));
        out.push(open);
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                out.push_str(if inner.is_some() { "," } else { self.comma });
            }
            if let Some(inner) = &inner {
                out.push_str(self.newline);
                out.push_str(inner);
            }
            write(out, item, inner.as_deref().unwrap_or(""));
        }
        if inner.is_some() {
            out.push_str(self.newline);
            out.push_str(margin);
        }
        out.push(close);
    }
}

fn push_escape(out: &mut String, unit: u16) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        out.push(DIGITS[usize::from(unit >> shift & 0xf)]);
    }
}

/// Whether an all-ASCII text escapes a character that is not ASCII: the mark of `ensure_ascii`.
fn escapes_beyond_ascii(text: &str) -> bool {
    text.match_indices("\\u").any(|(at, _)| {
        // An even run of backslashes before it means that this one is itself escaped.
        let run = text.as_bytes()[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        run % 2 == 0
            && text.get(at + 2..at + 6).is_some_and(|digits| !digits.starts_with("00") || digits >= "0080")
    })
}
