//! Numbers in text: pandas' rules for cells, Python's rules for tokens inside cells, and Python's way to print.

/// White space of C's `isspace`, which pandas skips around numbers.
fn trimmed(cell: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r');
    let start = cell.iter().position(|byte| !is_space(byte)).unwrap_or(cell.len());
    let end = cell.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    &cell[start..end]
}

/// What a cell is as an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Integer {
    /// It fits 64 bits.
    Value(i64),
    /// Digits, but too many.
    Overflow,
    /// Something else.
    No,
}

/// Reads a cell as pandas' `str_to_int64`.
pub(super) fn parse_integer(cell: &[u8]) -> Integer {
    let (digits, negative) = match trimmed(cell) {
        [b'-', digits @ ..] => (digits, true),
        [b'+', digits @ ..] | digits => (digits, false),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Integer::No;
    }
    let mut value: i64 = 0;
    for digit in digits {
        let digit = i64::from(digit - b'0');
        let next = value
            .checked_mul(10)
            .and_then(|ten| if negative { ten.checked_sub(digit) } else { ten.checked_add(digit) });
        match next {
            Some(next) => value = next,
            None => return Integer::Overflow,
        }
    }
    Integer::Value(value)
}

/// Reads a cell as pandas does with `float_precision="round_trip"`: correctly rounded decimals, infinities by
/// name, nothing else.
pub(super) fn parse_float(cell: &[u8]) -> Option<f64> {
    let text = trimmed(cell);
    let unsigned = match text {
        [b'+' | b'-', rest @ ..] | rest => rest,
    };
    if unsigned.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.') {
        // Only ASCII can parse, so bytes that are no UTF-8 cannot come from a number.
        return std::str::from_utf8(text).ok()?.parse().ok();
    }
    let unsigned = match cell {
        [b'+' | b'-', rest @ ..] | rest => rest,
    };
    let is_infinite = unsigned.eq_ignore_ascii_case(b"inf") || unsigned.eq_ignore_ascii_case(b"infinity");
    is_infinite.then(|| if cell.starts_with(b"-") { f64::NEG_INFINITY } else { f64::INFINITY })
}

/// Reads a token as Python's `float()` does, underscores between digits left out.
pub fn python_float(token: &str) -> Option<f64> {
    let token = token.trim_matches(super::values::is_python_space);
    // Rust and Python accept the same spellings of decimals, infinity and NaN.
    token.parse().ok()
}

/// Reads a token as Python's `int()` does, underscores between digits left out.
pub fn python_integer(token: &str) -> Option<i64> {
    match parse_integer(token.trim_matches(super::values::is_python_space).as_bytes()) {
        Integer::Value(value) => Some(value),
        Integer::Overflow | Integer::No => None,
    }
}

/// The same, with integers beyond 64 bits taken as the nearest that fits.
pub fn python_integer_saturated(token: &str) -> Option<i64> {
    let token = token.trim_matches(super::values::is_python_space);
    match parse_integer(token.as_bytes()) {
        Integer::Value(value) => Some(value),
        Integer::Overflow => Some(if token.starts_with('-') { i64::MIN } else { i64::MAX }),
        Integer::No => None,
    }
}

/// Prints a float as Python's `repr` does: the shortest digits that read back, an exponent below 1e-4 and from 1e16.
pub fn python_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".to_owned() } else { "-inf".to_owned() };
    }
    let magnitude = value.abs();
    if value == 0.0 || (1e-4..1e16).contains(&magnitude) {
        return format!("{value:?}");
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("+", exponent), |exponent| ("-", exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        assert_eq!(parse_integer(b" +12 "), Integer::Value(12));
        assert_eq!(parse_integer(b"-9223372036854775808"), Integer::Value(i64::MIN));
        assert_eq!(parse_integer(b"9223372036854775808"), Integer::Overflow);
        for text in ["", "-", "1.0", "1 2", "0x1", "1_0"] {
            assert_eq!(parse_integer(text.as_bytes()), Integer::No, "{text}");
        }
    }

    #[test]
    fn floats() {
        assert_eq!(parse_float(b"0.1"), Some(0.1));
        assert_eq!(parse_float(b" 5. "), Some(5.0));
        assert_eq!(parse_float(b"1e999"), Some(f64::INFINITY));
        assert_eq!(parse_float(b"-Infinity"), Some(f64::NEG_INFINITY));
        for text in ["", ".", "-", "nan", "1e", "1,5", "0x1p3", " inf", "1 2"] {
            assert_eq!(parse_float(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn printed_as_python() {
        let cases = [
            (1.0, "1.0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e16, "1e+16"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (-0.0, "-0.0"),
            (1e300, "1e+300"),
        ];
        for (value, text) in cases {
            assert_eq!(python_repr(value), text);
        }
    }
}
