//! Tokens of a piece of Python, and the smallest edits that lead from one text to another.
//!
//! A replacement is rendered as a whole, but written as edits of the tokens that differ, so that
//! comments, line breaks and spacing of everything that stays are kept.

use std::ops::Range;

use mlem_python::{Edit, TextRange, TextSize};

/// Byte ranges of the tokens of `text`; white space, comments and line continuations are left out.
pub(crate) fn lex(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b'\\' | 0x0c => at += 1,
            b'#' => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
            }
            _ => {
                let end = token_end(bytes, at);
                tokens.push(at..end);
                at = end;
            }
        }
    }
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn token_end(bytes: &[u8], start: usize) -> usize {
    let byte = bytes[start];
    let next = bytes.get(start + 1).copied().unwrap_or(0);
    if byte.is_ascii_digit() || (byte == b'.' && next.is_ascii_digit()) {
        let hexadecimal = byte == b'0' && matches!(next, b'x' | b'X');
        let mut at = start + 1;
        while at < bytes.len() {
            let exponent_sign =
                matches!(bytes[at], b'+' | b'-') && matches!(bytes[at - 1], b'e' | b'E') && !hexadecimal;
            if !(is_word(bytes[at]) || bytes[at] == b'.' || exponent_sign) {
                break;
            }
            at += 1;
        }
        return at;
    }
    if is_word(byte) {
        let mut at = start;
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        let prefix = &bytes[start..at];
        if at < bytes.len()
            && matches!(bytes[at], b'"' | b'\'')
            && prefix.len() <= 2
            && prefix.iter().all(|b| matches!(b.to_ascii_lowercase(), b'r' | b'b' | b'u' | b'f' | b't'))
        {
            let has_fields = prefix.iter().any(|b| matches!(b.to_ascii_lowercase(), b'f' | b't'));
            return string_end(bytes, at, has_fields);
        }
        return at;
    }
    if matches!(byte, b'"' | b'\'') {
        return string_end(bytes, start, false);
    }
    for length in [3, 2] {
        if let Some(operator) = bytes.get(start..start + length)
            && OPERATORS.contains(&operator)
        {
            return start + length;
        }
    }
    start + 1
}

const OPERATORS: &[&[u8]] = &[
    b"**=", b"//=", b">>=", b"<<=", b"...", b"!=", b"==", b"<=", b">=", b"->", b":=", b"+=", b"-=", b"*=",
    b"/=", b"%=", b"&=", b"|=", b"^=", b"@=", b"**", b"//", b"<<", b">>", b"<>",
];

/// The end of the string whose opening quote is at `start`; `has_fields` of an f-string.
fn string_end(bytes: &[u8], start: usize, has_fields: bool) -> usize {
    let quote = bytes[start];
    let triple = bytes.get(start..start + 3) == Some(&[quote; 3]);
    let mut at = start + if triple { 3 } else { 1 };
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
        } else if triple && bytes.get(at..at + 3) == Some(&[quote; 3]) {
            return at + 3;
        } else if !triple && bytes[at] == quote {
            return at + 1;
        } else if has_fields && bytes[at] == b'{' {
            at = if bytes.get(at + 1) == Some(&b'{') { at + 2 } else { field_end(bytes, at + 1) };
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// The end of the replacement field whose code or format begins at `start`. Since Python 3.12 (PEP 701) its
/// strings may have the quotes of the f-string around it.
fn field_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut depth = 0_usize;
    let mut is_format = false;
    while at < bytes.len() {
        match bytes[at] {
            b'}' if depth == 0 => return at + 1,
            b'{' if is_format => {
                at = field_end(bytes, at + 1);
                continue;
            }
            _ if is_format => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => is_format = true,
            b'#' => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                continue;
            }
            byte if is_word(byte) || matches!(byte, b'"' | b'\'') => {
                at = token_end(bytes, at);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Whether a line ends outside all brackets, which would end the statement there.
pub(crate) fn breaks_line(text: &str) -> bool {
    let mut depth = 0_i32;
    let mut previous_end = 0;
    for token in lex(text) {
        if depth <= 0 && ends_line(&text[previous_end..token.start]) {
            return true;
        }
        match &text[token.clone()] {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        previous_end = token.end;
    }
    false
}

fn ends_line(trivia: &str) -> bool {
    let mut escaped = false;
    for character in trivia.chars() {
        match character {
            '\\' => escaped = true,
            '\n' if !escaped => return true,
            '\n' => escaped = false,
            _ => {}
        }
    }
    false
}

/// The edits that turn `old` (which starts at `base` of its unit) into `new`, token by token.
pub(crate) fn minimal_edits(old: &str, base: TextSize, new: &str) -> Vec<Edit> {
    if old == new {
        return Vec::new();
    }
    let whole = || vec![edit(base, 0..old.len(), new.to_string())];
    let old_tokens = lex(old);
    let new_tokens = lex(new);
    // The table of the longest common subsequence is quadratic; beyond this one edit is better.
    if old_tokens.len().saturating_mul(new_tokens.len()) > 4_000_000 {
        return whole();
    }
    let pairs = common(old, &old_tokens, new, &new_tokens);
    let edits = gap_edits(old, &old_tokens, new, &new_tokens, &pairs, base);
    // A kept line break can end up outside all brackets; then the text is replaced in one piece.
    let result = apply(old, base, &edits);
    let same_tokens = {
        let result_tokens = lex(&result);
        result_tokens.len() == new_tokens.len()
            && result_tokens.iter().zip(&new_tokens).all(|(a, b)| result[a.clone()] == new[b.clone()])
    };
    if !same_tokens || (breaks_line(&result) && !breaks_line(old)) {
        return whole();
    }
    edits
}

fn edit(base: TextSize, range: Range<usize>, text: String) -> Edit {
    let start = base + offset(range.start);
    let end = base + offset(range.end);
    Edit { range: TextRange::new(start, end), text }
}

/// Sources are far below 4 GB; the parser refuses larger ones.
pub(crate) fn offset(value: usize) -> TextSize {
    TextSize::new(u32::try_from(value).unwrap_or(u32::MAX))
}

fn apply(old: &str, base: TextSize, edits: &[Edit]) -> String {
    let mut result = String::with_capacity(old.len() + 16);
    let mut at = 0;
    for edit in edits {
        let start = (edit.range.start() - base).to_usize();
        let end = (edit.range.end() - base).to_usize();
        result.push_str(&old[at..start]);
        result.push_str(&edit.text);
        at = end;
    }
    result.push_str(&old[at..]);
    result
}

/// Index pairs of a longest common subsequence of the two token lists.
fn common(
    old: &str,
    old_tokens: &[Range<usize>],
    new: &str,
    new_tokens: &[Range<usize>],
) -> Vec<(usize, usize)> {
    let same = |i: usize, j: usize| old[old_tokens[i].clone()] == new[new_tokens[j].clone()];
    let (n, m) = (old_tokens.len(), new_tokens.len());
    let mut prefix = 0;
    while prefix < n && prefix < m && same(prefix, prefix) {
        prefix += 1;
    }
    let mut suffix = 0;
    while suffix < n - prefix && suffix < m - prefix && same(n - 1 - suffix, m - 1 - suffix) {
        suffix += 1;
    }
    let mut pairs: Vec<_> = (0..prefix).map(|k| (k, k)).collect();
    let (rows, columns) = (n - prefix - suffix, m - prefix - suffix);
    let mut table = vec![0_u32; (rows + 1) * (columns + 1)];
    let index = |i: usize, j: usize| i * (columns + 1) + j;
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            table[index(i, j)] = if same(prefix + i, prefix + j) {
                table[index(i + 1, j + 1)] + 1
            } else {
                table[index(i + 1, j)].max(table[index(i, j + 1)])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < rows && j < columns {
        if same(prefix + i, prefix + j) {
            pairs.push((prefix + i, prefix + j));
            i += 1;
            j += 1;
        } else if table[index(i + 1, j)] >= table[index(i, j + 1)] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs.extend((0..suffix).rev().map(|k| (n - 1 - k, m - 1 - k)));
    pairs
}

fn gap_edits(
    old: &str,
    old_tokens: &[Range<usize>],
    new: &str,
    new_tokens: &[Range<usize>],
    pairs: &[(usize, usize)],
    base: TextSize,
) -> Vec<Edit> {
    let mut edits = Vec::new();
    let (mut i, mut j) = (0, 0);
    let ends = pairs.iter().copied().chain([(old_tokens.len(), new_tokens.len())]);
    for (next_i, next_j) in ends {
        let previous_old = if i == 0 { 0 } else { old_tokens[i - 1].end };
        let next_old = old_tokens.get(next_i).map_or(old.len(), |t| t.start);
        let previous_new = if j == 0 { 0 } else { new_tokens[j - 1].end };
        let next_new = new_tokens.get(next_j).map_or(new.len(), |t| t.start);
        let inserted = &new[previous_new..next_new];
        let removed = i < next_i;
        let added = j < next_j;
        if removed && added {
            let first = old_tokens[i].clone();
            let last = old_tokens[next_i - 1].clone();
            // A name for a name keeps the spacing around it; otherwise spacing is there where the
            // new text has some, as it was written before if it was.
            let renames = next_i - i == 1
                && next_j - j == 1
                && is_name(&old[first.clone()])
                && is_name(&new[new_tokens[j].clone()]);
            let leading = inserted.len() - inserted.trim_start().len();
            let trailing = inserted.trim_end().len();
            let (mut from, mut to) = (leading, trailing);
            let (mut start, mut end) = (first.start, last.end);
            if start == previous_old {
                from = 0;
            } else if leading == 0 && !renames && is_plain(&old[previous_old..start]) {
                start = previous_old;
            }
            if end == next_old {
                to = inserted.len();
            } else if trailing == inserted.len() && !renames && is_plain(&old[end..next_old]) {
                end = next_old;
            }
            edits.push(edit(base, start..end, inserted[from..to].to_string()));
        } else if removed {
            let first = &old[old_tokens[i].clone()];
            let last_end = old_tokens[next_i - 1].end;
            let trailing = &old[last_end..next_old];
            let mut range = if first == "," || trailing.contains('#') {
                let start = if first == "," { previous_old } else { old_tokens[i].start };
                start..last_end
            } else {
                old_tokens[i].start..next_old
            };
            let left = &old[previous_old..range.start];
            let right = &old[range.end..next_old];
            let mut text = "";
            if inserted.is_empty() && is_plain(left) && is_plain(right) {
                range = previous_old..next_old;
            } else if left.is_empty() && right.is_empty() {
                text = inserted;
            }
            edits.push(edit(base, range, text.to_string()));
        } else if added {
            let trivia = &old[previous_old..next_old];
            let closes = inserted.trim_start().starts_with([',', ')', ']', '}', '.', '=']);
            if trivia.is_empty() || (!trivia.contains(['\n', '#'])) {
                edits.push(edit(base, previous_old..next_old, inserted.to_string()));
            } else if closes {
                let text = inserted.trim_end().to_string();
                edits.push(edit(base, previous_old..previous_old, text));
            } else {
                let text = inserted.trim_start().to_string();
                edits.push(edit(base, next_old..next_old, text));
            }
        }
        i = next_i + 1;
        j = next_j + 1;
    }
    edits
}

/// Spacing on one line, without a comment.
fn is_plain(trivia: &str) -> bool {
    !trivia.contains(['\n', '#', '\\'])
}

fn is_name(token: &str) -> bool {
    !token.starts_with(|c: char| c.is_ascii_digit()) && token.bytes().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(old: &str, new: &str) -> String {
        apply(old, TextSize::new(0), &minimal_edits(old, TextSize::new(0), new))
    }

    #[test]
    fn an_f_string_is_one_token_whatever_quotes_are_in_it() {
        let tokens = |text: &'static str| lex(text).into_iter().map(|token| &text[token]).collect::<Vec<_>>();
        assert_eq!(tokens("f'{d['#']}' + x"), ["f'{d['#']}'", "+", "x"]);
        assert_eq!(tokens("f'{f'{'a'}'}', b"), ["f'{f'{'a'}'}'", ",", "b"]);
        assert_eq!(tokens("f'{{ {x:{'>'}{n}} }}' y"), ["f'{{ {x:{'>'}{n}} }}'", "y"]);
        assert_eq!(tokens("rf\"{a!r:'}\" y"), ["rf\"{a!r:'}\"", "y"]);
        assert_eq!(tokens("'{' y"), ["'{'", "y"]);
        assert_eq!(tokens("f'{'"), ["f'{'"]);
    }

    #[test]
    fn a_renamed_keyword_touches_only_its_token() {
        let edits = minimal_edits("plt.hist(x, normed = True)", 0.into(), "plt.hist(x, density=True)");
        assert_eq!(edits.len(), 1);
        assert_eq!(edits[0].text, "density");
        assert_eq!(edits[0].range, TextRange::new(12.into(), 18.into()));
    }

    #[test]
    fn comments_and_line_breaks_of_kept_tokens_survive() {
        let old = "f(\n    a,  # first\n    b=1,\n    c=2,\n)";
        assert_eq!(rewritten(old, "f(a, c=2,)"), "f(\n    a,  # first\n    c=2,\n)");
        assert_eq!(rewritten(old, "g(a, b=1, c=2,)"), old.replace("f(", "g("));
    }

    #[test]
    fn a_line_break_never_ends_up_outside_brackets() {
        assert_eq!(rewritten("f(a,\n  b)", "a + b"), "a + b");
    }

    #[test]
    fn words_are_not_glued() {
        assert_eq!(rewritten("a+b", "a and b"), "a and b");
        assert_eq!(rewritten("not(x)", "not x"), "not x");
    }

    #[test]
    fn an_append_becomes_a_concat() {
        assert_eq!(
            rewritten(
                "df.append(more, # extra rows\n  ignore_index=True)",
                "pd.concat([df, more], ignore_index=True)"
            ),
            "pd.concat([df, more], # extra rows\n  ignore_index=True)"
        );
    }
}
