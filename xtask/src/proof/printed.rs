//! Whether two printed texts say the same, whatever a version's way of printing values.

use std::sync::LazyLock;

use regex::Regex;

use super::value::close;

/// Wrappers that only tell the type of what is printed: `np.float64(1.0)` since numpy 2, `u'a'` and `1L` of Python 2.
static WRAPPERS: LazyLock<Regex> = LazyLock::new(|| {
    #[allow(clippy::unwrap_used, reason = "a constant expression that the tests compile")]
    Regex::new(r"np\.(?:float|int|uint|bool|str)\w*\(([^()]*)\)").unwrap()
});
static PREFIXES: LazyLock<Regex> = LazyLock::new(|| {
    #[allow(clippy::unwrap_used, reason = "a constant expression that the tests compile")]
    Regex::new(r#"\bu(['"])|(\d)L\b"#).unwrap()
});
static TOKENS: LazyLock<Regex> = LazyLock::new(|| {
    #[allow(clippy::unwrap_used, reason = "a constant expression that the tests compile")]
    Regex::new(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\w+|[^\s\w]").unwrap()
});

/// The path of a class, which moves (`<class 'pandas.core.frame.DataFrame'>`), and the two names of text columns.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    #[allow(clippy::unwrap_used, reason = "a constant expression that the tests compile")]
    Regex::new(r"<class '(?:\w+\.)*(\w+)'>|(dtype: )(?:object|str)\b").unwrap()
});

/// How two printed texts compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Printed {
    /// The same text.
    Same,
    /// The same words and numbers, spaced or wrapped otherwise.
    OtherForm,
    /// Something else.
    Different,
}

pub(crate) fn compare(then: &str, now: &str) -> Printed {
    if then == now {
        return Printed::Same;
    }
    let plain = |text: &str| {
        let text = WRAPPERS.replace_all(text, "$1");
        let text = NAMES.replace_all(&text, "$1$2");
        PREFIXES.replace_all(&text, "$1$2").into_owned()
    };
    let (then, now) = (plain(then), plain(now));
    let (mut then, mut now) = (TOKENS.find_iter(&then), TOKENS.find_iter(&now));
    loop {
        match (then.next(), now.next()) {
            (None, None) => return Printed::OtherForm,
            (Some(one), Some(other)) if same_token(one.as_str(), other.as_str()) => {}
            _ => return Printed::Different,
        }
    }
}

fn same_token(one: &str, other: &str) -> bool {
    one == other
        || match (one.parse::<f64>(), other.parse::<f64>()) {
            (Ok(one), Ok(other)) => close(one, other),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spacing_wrappers_and_last_digits_are_form() {
        assert_eq!(compare("1\n", "1\n"), Printed::Same);
        assert_eq!(compare("[1. 2.]", "[ 1.  2.]"), Printed::OtherForm);
        assert_eq!(compare("(0.5, 2L)", "(np.float64(0.5), 2)"), Printed::OtherForm);
        assert_eq!(compare("[u'a']", "['a']"), Printed::OtherForm);
        assert_eq!(
            compare("<class 'pandas.core.frame.DataFrame'>", "<class 'pandas.DataFrame'>"),
            Printed::OtherForm
        );
        assert_eq!(compare("Name: a, dtype: object", "Name: a, dtype: str"), Printed::OtherForm);
        assert_eq!(compare("0.1234567891", "0.1234567890"), Printed::OtherForm);
    }

    #[test]
    fn other_numbers_words_and_lengths_differ() {
        assert_eq!(compare("1", "2"), Printed::Different);
        assert_eq!(compare("a", "b"), Printed::Different);
        assert_eq!(compare("1 2", "1"), Printed::Different);
        assert_eq!(compare("dtype: int64", "dtype: object"), Printed::Different);
        assert_eq!(compare("", "1"), Printed::Different);
    }
}
