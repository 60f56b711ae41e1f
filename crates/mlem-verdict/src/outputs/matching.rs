//! Two normalised texts, word for word and number for number.

use super::Tolerance;
use super::reprs::reprs;
use super::tokens::{Number, Token, tokens};

/// How two texts agree.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Match {
    Same,
    /// With the largest relative difference of two numbers.
    Close(f64),
    Different {
        expected: String,
        actual: String,
    },
}

/// Numbers printed with fewer digits than this after the point are taken at their word. With
/// more, one that is printed with fewer digits than the other may be its rounded form: Python 2's
/// `str` keeps 12 significant digits, numpy 8 decimals, pandas 6.
const ROUNDED: usize = 6;

/// Compares two normalised texts.
pub(super) fn compare(then: &str, now: &str, tolerance: &Tolerance) -> Match {
    let old = tokens(then);
    let new = tokens(now);
    let mut matcher = Matcher::new(tolerance);
    let Err((old_at, new_at)) = matcher.sequences(&old, &new) else {
        return matcher.result();
    };
    // The order of sets, and of Python 2's dicts, is an accident.
    if let (Some(old_sorted), Some(new_sorted)) = (in_order(&old), in_order(&new)) {
        let mut again = Matcher::new(tolerance);
        if again.sequences(&old_sorted, &new_sorted).is_ok() {
            return again.result();
        }
    }
    if let (Some(old_rows), Some(new_rows)) = (Shortened::of(then), Shortened::of(now))
        && let Some(result) = old_rows.compare(&new_rows, tolerance)
    {
        return result;
    }
    let place = |text: &str, all: &[Token<'_>], at: usize| {
        excerpt(text, all.get(at).map_or(text.len(), |token| token.at))
    };
    Match::Different { expected: place(then, &old, old_at), actual: place(now, &new, new_at) }
}

/// A piece of the text around a byte offset, on one line.
pub(super) fn excerpt(text: &str, at: usize) -> String {
    const BEFORE: usize = 30;
    const LENGTH: usize = 120;
    let head: Vec<char> = text[..at].chars().rev().take(BEFORE).collect();
    let from_start = head.len() == text[..at].chars().count();
    let mut piece: String = head.into_iter().rev().collect();
    piece.extend(text[at..].chars().take(LENGTH - BEFORE));
    let shortened = text[at..].chars().count() > LENGTH - BEFORE;
    let piece = piece.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}{piece}{}", if from_start { "" } else { "…" }, if shortened { "…" } else { "" })
}

struct Matcher<'t> {
    tolerance: &'t Tolerance,
    /// Whether every number was equal as it is written, but for trailing zeros.
    identical: bool,
    largest: f64,
}

impl<'t> Matcher<'t> {
    fn new(tolerance: &'t Tolerance) -> Matcher<'t> {
        Matcher { tolerance, identical: true, largest: 0.0 }
    }

    fn result(&self) -> Match {
        if self.identical { Match::Same } else { Match::Close(self.largest) }
    }

    /// `Err`: the positions of the first difference.
    fn sequences(&mut self, old: &[Token<'_>], new: &[Token<'_>]) -> Result<(), (usize, usize)> {
        let (mut i, mut j) = (0, 0);
        while i < old.len() && j < new.len() {
            if let Some((old_end, new_end)) = estimator_at(old, i, new, j) {
                if !self.estimators(&old[i + 2..old_end - 1], &new[j + 2..new_end - 1]) {
                    return Err((i, j));
                }
                (i, j) = (old_end, new_end);
                continue;
            }
            if !self.tokens(&old[i], &new[j]) {
                return Err((i, j));
            }
            i += 1;
            j += 1;
        }
        if i == old.len() && j == new.len() { Ok(()) } else { Err((i, j)) }
    }

    fn tokens(&mut self, old: &Token<'_>, new: &Token<'_>) -> bool {
        match (old.number, new.number) {
            (Some(a), Some(b)) if a.integer && b.integer => {
                // As text: 007 is not 7, and beyond 2^53 a float would lose digits.
                old.text.trim_start_matches('+') == new.text.trim_start_matches('+')
            }
            (Some(a), Some(b)) => old.text == new.text || self.numbers(&a, &b),
            (None, None) => old.text == new.text,
            _ => false,
        }
    }

    fn numbers(&mut self, a: &Number, b: &Number) -> bool {
        if a.value.is_nan() || b.value.is_nan() {
            return a.value.is_nan() && b.value.is_nan();
        }
        if a.value == b.value {
            // 3 and 3.0 are the same number of another type.
            self.identical &= a.integer == b.integer;
            return true;
        }
        if a.value.is_infinite() || b.value.is_infinite() {
            return false;
        }
        let apart = (a.value - b.value).abs();
        let larger = a.value.abs().max(b.value.abs());
        let near = apart <= self.tolerance.absolute || apart <= self.tolerance.relative * larger;
        if near || is_rounded(a, b, apart) {
            self.identical = false;
            if larger > self.tolerance.absolute {
                self.largest = self.largest.max(apart / larger);
            }
            return true;
        }
        false
    }

    /// The arguments of two estimators: what both print must agree; one prints defaults and the
    /// other does not.
    fn estimators(&mut self, old: &[Token<'_>], new: &[Token<'_>]) -> bool {
        let old = arguments(old);
        let new = arguments(new);
        let mut old_places = old.iter().filter(|argument| argument.name.is_none());
        new.iter().all(|argument| match argument.name {
            None => old_places.next().is_none_or(|other| self.sequences(other.value, argument.value).is_ok()),
            Some(name) => old.iter().find(|other| other.name == Some(name)).is_none_or(|other| {
                self.sequences(other.value, argument.value).is_ok() || is_renamed(other.value, argument.value)
            }),
        })
    }
}

/// Whether the number printed with fewer digits is the other one, rounded.
fn is_rounded(a: &Number, b: &Number, apart: f64) -> bool {
    let (coarse, fine) = if a.unit > b.unit { (a, b) } else { (b, a) };
    coarse.unit > fine.unit && coarse.decimals >= ROUNDED && apart <= 0.5 * coarse.unit * (1.0 + 1e-6)
}

/// Ends of two calls of the same estimator that begin here, behind their closing brackets.
fn estimator_at(old: &[Token<'_>], i: usize, new: &[Token<'_>], j: usize) -> Option<(usize, usize)> {
    let name = old[i].text;
    if name != new[j].text || !reprs().estimators.contains(name) {
        return None;
    }
    Some((closing(old, i + 1)?, closing(new, j + 1)?))
}

/// Behind the bracket that closes the one at `open`; `None` if there is no bracket at `open`.
fn closing(all: &[Token<'_>], open: usize) -> Option<usize> {
    if all.get(open)?.text != "(" {
        return None;
    }
    let mut depth = 0usize;
    for (index, token) in all.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(index + 1);
                }
            }
            _ => {}
        }
    }
    None
}

struct Argument<'a, 't> {
    name: Option<&'a str>,
    value: &'t [Token<'a>],
}

fn arguments<'a, 't>(all: &'t [Token<'a>]) -> Vec<Argument<'a, 't>> {
    at_commas(all)
        .into_iter()
        .map(|part| match part {
            [name, equals, value @ ..] if equals.text == "=" => Argument { name: Some(name.text), value },
            value => Argument { name: None, value },
        })
        .collect()
}

/// The parts between the commas that are in no bracket.
fn at_commas<'a, 't>(all: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut parts = Vec::new();
    let mut depth = 0usize;
    let mut from = 0;
    for (index, token) in all.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                parts.push(&all[from..index]);
                from = index + 1;
            }
            _ => {}
        }
    }
    if from < all.len() {
        parts.push(&all[from..]);
    }
    parts
}

/// A quoted parameter value that only got another name (`'mse'`, `'squared_error'`), or that
/// stood for a default not yet decided.
fn is_renamed(old: &[Token<'_>], new: &[Token<'_>]) -> bool {
    let Some(then) = quoted(old) else {
        return false;
    };
    let table = reprs();
    table.undecided.iter().any(|value| value == then)
        || quoted(new).is_some_and(|now| table.values.iter().any(|(old, new)| old == then && new == now))
}

/// The word of `'word'`.
fn quoted<'a>(value: &[Token<'a>]) -> Option<&'a str> {
    match value {
        [open, word, close] if open.text == "'" && close.text == "'" => Some(word.text),
        _ => None,
    }
}

/// More braces than this, or deeper ones, are no set or dict a person prints; putting them in
/// order could take quadratic time or the whole stack.
const MOST_BRACES: usize = 2_000;
const DEEPEST_BRACES: usize = 100;

/// The tokens with the elements of every `{…}` in a fixed order; `None` if there are no braces or
/// too many.
fn in_order<'a>(all: &[Token<'a>]) -> Option<Vec<Token<'a>>> {
    let (mut count, mut depth, mut deepest) = (0, 0usize, 0);
    for token in all {
        match token.text {
            "{" => {
                count += 1;
                depth += 1;
                deepest = deepest.max(depth);
            }
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    ((1..=MOST_BRACES).contains(&count) && deepest <= DEEPEST_BRACES).then(|| sorted(all))
}

/// The tokens with the elements of every `{…}` in a fixed order.
fn sorted<'a>(all: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut out = Vec::with_capacity(all.len());
    let mut index = 0;
    while index < all.len() {
        let token = all[index];
        let inner = (token.text == "{").then(|| brace_end(all, index)).flatten();
        out.push(token);
        index += 1;
        let Some(end) = inner else { continue };
        let mut parts: Vec<Vec<Token<'a>>> = at_commas(&all[index..end]).into_iter().map(sorted).collect();
        parts.sort_by(|a, b| a.iter().map(|token| token.text).cmp(b.iter().map(|token| token.text)));
        for part in parts {
            out.extend(part);
            // A comma after the last part too, on both sides alike.
            out.push(Token { at: token.at, text: ",", number: None });
        }
        index = end;
    }
    out
}

/// Index of the `}` that closes the `{` at `open`.
fn brace_end(all: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, token) in all.iter().enumerate().skip(open) {
        match token.text {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

/// A data frame or series that pandas printed with rows left out. Until pandas 0.24 it showed 30
/// at each end, since pandas 0.25 five (`display.min_rows`, pandas 0.25.0 release notes).
struct Shortened<'a> {
    head: Vec<&'a str>,
    tail: Vec<&'a str>,
    /// The line below the table, with the number of rows.
    footer: &'a str,
}

impl<'a> Shortened<'a> {
    fn of(text: &'a str) -> Option<Shortened<'a>> {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let (footer, rows) = lines.split_last()?;
        let counted = footer.contains("rows x ") || footer.contains("Length: ");
        let is_gap = |line: &&str| {
            let mut words = line.split_whitespace();
            line.contains("..") && words.all(|word| word.trim_matches('.').is_empty())
        };
        let gap = rows.iter().position(is_gap)?;
        let one_gap = rows.iter().filter(|line| is_gap(line)).count() == 1;
        (counted && one_gap).then(|| Shortened {
            head: rows[..gap].to_vec(),
            tail: rows[gap + 1..].to_vec(),
            footer,
        })
    }

    /// Compares the rows that both show; `None` if they differ.
    fn compare(&self, other: &Shortened<'_>, tolerance: &Tolerance) -> Option<Match> {
        let head = self.head.len().min(other.head.len());
        let tail = self.tail.len().min(other.tail.len());
        if head < 2 || tail < 1 {
            return None;
        }
        let mut matcher = Matcher::new(tolerance);
        let mut rows = |a: &[&str], b: &[&str]| {
            a.iter().zip(b).all(|(a, b)| matcher.sequences(&tokens(a), &tokens(b)).is_ok())
        };
        let agree = rows(&self.head[..head], &other.head[..head])
            && rows(&self.tail[self.tail.len() - tail..], &other.tail[other.tail.len() - tail..])
            && rows(&[self.footer], &[other.footer]);
        agree.then(|| matcher.result())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(then: &str, now: &str) -> Match {
        compare(then, now, &Tolerance::default())
    }

    fn differs(then: &str, now: &str) -> bool {
        matches!(compared(then, now), Match::Different { .. })
    }

    #[test]
    fn white_space_is_nothing_and_words_are_everything() {
        assert_eq!(compared("a  b\n c", "a b c"), Match::Same);
        assert!(differs("a b", "a c"));
        assert!(differs("a b", "a b c"));
        assert!(differs("", "a"));
    }

    #[test]
    fn numbers_within_the_tolerance() {
        assert_eq!(compared("0.50 1.", "0.5 1.0"), Match::Same);
        assert!(matches!(compared("0.30000000000000004", "0.3"), Match::Close(d) if d < 1e-15));
        assert!(differs("0.1234", "0.1235"));
        assert!(differs("0.9", "0.94"));
        assert!(matches!(compared("0.00001235", "0.000012345"), Match::Close(_)));
        assert!(differs("0.00001235", "0.00001236"));
        assert_eq!(compared("1e-17", "-3e-17"), Match::Close(0.0));
        assert!(differs("1000000", "1000001"), "counts are exact");
        assert!(differs("9007199254740993", "9007199254740992"));
        assert!(differs("id 007", "id 7"));
        assert_eq!(compared("3", "3.0"), Match::Close(0.0));
        assert_eq!(compared("nan inf", "NaN inf"), Match::Same);
        assert!(differs("nan", "0.0"));
        assert!(differs("inf", "-inf"));
    }

    #[test]
    fn estimators_show_all_or_only_changed_parameters() {
        let old = "LogisticRegression(C=10, dual=False, fit_intercept=True)";
        assert_eq!(compared(old, "LogisticRegression(C=10)"), Match::Same);
        assert!(differs(old, "LogisticRegression(C=1)"));
        assert!(differs(old, "Ridge()"));
        assert_eq!(
            compared(
                "Pipeline(memory=None, steps=[('a', StandardScaler(copy=True)), ('b', SVC(C=2))])",
                "Pipeline(steps=[('a', StandardScaler()), ('b', SVC(C=2))])"
            ),
            Match::Same
        );
        assert_eq!(
            compared(
                "RandomForestRegressor(criterion='mse', n_jobs=1)",
                "RandomForestRegressor(criterion='squared_error')"
            ),
            Match::Same
        );
    }

    #[test]
    fn order_in_braces_is_an_accident() {
        assert_eq!(compared("{'b': 1, 'a': {3, 2}}", "{'a': {2, 3}, 'b': 1}"), Match::Same);
        assert!(differs("{'b': 1, 'a': 2}", "{'a': 1, 'b': 2}"));
        assert!(differs("['b', 'a']", "['a', 'b']"));
    }

    #[test]
    fn rows_left_out_are_not_compared() {
        let old = "  x\n0 1\n1 2\n2 3\n.. ..\n97 98\n98 99\n99 100\n[100 rows x 1 columns]";
        let new = "  x\n0 1\n1 2\n.. ..\n98 99\n99 100\n[100 rows x 1 columns]";
        assert_eq!(compared(old, new), Match::Same);
        assert!(differs(old, &new.replace("99 100", "99 101")));
        assert!(differs(old, &new.replace("[100 rows", "[101 rows")));
    }

    #[test]
    fn an_excerpt_shows_the_place() {
        let Match::Different { expected, actual } =
            compared("accuracy: 0.91 (test)", "accuracy: 0.85 (test)")
        else {
            panic!("they differ");
        };
        assert_eq!(expected, "accuracy: 0.91 (test)");
        assert_eq!(actual, "accuracy: 0.85 (test)");
    }
}
