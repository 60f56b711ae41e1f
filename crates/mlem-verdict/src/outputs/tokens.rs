//! A text as words, numbers and punctuation; white space only separates.

/// One piece of a text, with the byte offset where it starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) at: usize,
    pub(super) text: &'a str,
    pub(super) number: Option<Number>,
}

/// A number as it is printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number {
    pub(super) value: f64,
    /// Printed without point or exponent: a count or a label, which must be equal to the digit.
    pub(super) integer: bool,
    /// Digits after the point.
    pub(super) decimals: usize,
    /// Value of one unit of the last printed digit.
    pub(super) unit: f64,
}

pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let mut all: Vec<Token<'_>> = Vec::with_capacity(text.len() / 4);
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let sign = usize::from(matches!(c, '-' | '+') && may_be_signed(bytes, at));
        let digits = number_length(&bytes[at + sign..]);
        if digits > 0 {
            let length = sign + digits;
            let piece = &text[at..at + length];
            all.push(Token { at, text: piece, number: read_number(piece) });
            at += length;
            continue;
        }
        let start = at + sign;
        let word: usize =
            text[start..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').map(char::len_utf8).sum();
        let special = special_number(&text[start..start + word], sign == 1 && c == '-');
        if let Some(number) = special {
            all.push(Token { at, text: &text[at..start + word], number: Some(number) });
            at = start + word;
        } else {
            // A sign before a word is a word of its own.
            let length = if sign == 1 || word == 0 { c.len_utf8() } else { word };
            all.push(Token { at, text: &text[at..at + length], number: None });
            at += length;
        }
    }
    all
}

/// `-` after a word, a digit or a closing bracket is a minus or a hyphen (`2014-01-02`).
fn may_be_signed(bytes: &[u8], at: usize) -> bool {
    at == 0 || {
        let before = bytes[at - 1];
        !(before.is_ascii_alphanumeric() || matches!(before, b'_' | b')' | b']' | b'.') || before >= 0x80)
    }
}

/// Length of `12`, `1.5`, `1.`, `.5`, `1e-05`, or 0.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(0);
    let mut length = whole;
    if bytes.get(length) == Some(&b'.') {
        let fraction = digits(length + 1);
        if whole + fraction == 0 {
            return 0;
        }
        length += 1 + fraction;
    }
    if length == 0 {
        return 0;
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = bytes.get(length + 1 + sign..).map_or(0, |_| digits(length + 1 + sign));
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}

fn read_number(text: &str) -> Option<Number> {
    let value: f64 = text.parse().ok()?;
    let mantissa_end = text.find(['e', 'E']).unwrap_or(text.len());
    let exponent: i32 =
        text.get(mantissa_end + 1..).and_then(|digits| digits.parse().ok()).unwrap_or_default();
    let mantissa = &text[..mantissa_end];
    let decimals = mantissa.find('.').map_or(0, |dot| mantissa.len() - dot - 1);
    Some(Number {
        value,
        integer: !text.contains(['.', 'e', 'E']),
        decimals,
        unit: 10f64.powi(exponent - decimals as i32),
    })
}

/// `nan`, `NaN`, `inf`, `-inf`: numpy and pandas write them in different case.
fn special_number(word: &str, negative: bool) -> Option<Number> {
    let value = match word {
        "nan" | "NaN" | "NAN" => f64::NAN,
        "inf" | "Inf" if negative => f64::NEG_INFINITY,
        "inf" | "Inf" => f64::INFINITY,
        _ => return None,
    };
    Some(Number { value, integer: false, decimals: 0, unit: 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|t| t.text).collect()
    }

    #[test]
    fn numbers_words_and_punctuation() {
        assert_eq!(pieces("[ 1., -2.5e-3 ]"), ["[", "1.", ",", "-2.5e-3", "]"]);
        assert_eq!(pieces("2014-01-02"), ["2014", "-", "01", "-", "02"]);
        assert_eq!(pieces("x1=-.5 y"), ["x1", "=", "-.5", "y"]);
        assert_eq!(pieces("-inf nan -x 3rd"), ["-inf", "nan", "-", "x", "3", "rd"]);
        assert_eq!(pieces("a.b 1.2.3 e é_1"), ["a", ".", "b", "1.2", ".3", "e", "é_1"]);
        assert_eq!(pieces("5e 1e+ 7"), ["5", "e", "1", "e", "+", "7"]);
    }

    #[test]
    fn numbers_know_their_precision() {
        let number = tokens("-1.25e-3")[0].number.unwrap();
        assert_eq!(number.value, -0.00125);
        assert_eq!(number.decimals, 2);
        assert!((number.unit - 1e-5).abs() < 1e-18);
        assert!(tokens("17")[0].number.unwrap().integer);
        assert!(!tokens("17.")[0].number.unwrap().integer);
    }
}
