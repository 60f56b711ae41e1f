//! Takes out of a text what is not the result: terminal control, addresses, timings, progress,
//! and the ways in which libraries write the same value differently.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::reprs::{Repr, reprs};
use super::tokens::tokens;

/// ECMA-48 control sequences (colours, cursor) and operating system commands (links, titles).
#[allow(clippy::unwrap_used)] // a constant pattern, used by every test
static ESCAPES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\))").unwrap());

/// The text that is compared.
pub(super) fn text(shown: &str) -> String {
    let mut text = on_screen(&ESCAPES.replace_all(shown, ""));
    for repr in &reprs().replacements {
        text = replaced(repr, text);
    }
    text
}

fn replaced(repr: &Repr, mut text: String) -> String {
    loop {
        let next = match repr.pattern.replace_all(&text, &repr.replace) {
            Cow::Borrowed(_) => return text,
            Cow::Owned(next) => next,
        };
        if !repr.repeat || next == text {
            return next;
        }
        text = next;
    }
}

/// What a terminal shows in the end: a carriage return starts the line again (progress bars
/// rewrite themselves), a backspace takes one character back.
fn on_screen(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        let last = line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or_default();
        if last.contains('\u{8}') {
            let mut kept = String::new();
            for c in last.chars() {
                if c == '\u{8}' {
                    kept.pop();
                } else {
                    kept.push(c);
                }
            }
            out.push_str(&kept);
        } else {
            out.push_str(last);
        }
        out.push_str(end);
    }
    out
}

/// Why two outputs of this cell could differ without a different result, or `None`. Decided by
/// the lines that differ: all of them must be of the kind that cannot repeat.
pub(super) fn cannot_repeat(source: &str, then: &str, now: &str) -> Option<&'static str> {
    let differing: Vec<&str> = then
        .lines()
        .zip(now.lines())
        .filter(|(a, b)| words(a) != words(b))
        .flat_map(|(a, b)| [a, b])
        .collect();
    let same_length = then.lines().count() == now.lines().count();
    if source.lines().any(|line| is_installer(line.trim_start())) {
        return Some("the installer's messages");
    }
    let versions = ["version", "watermark", "show_versions"];
    if versions.iter().any(|word| source.contains(word))
        && same_length
        && differing.iter().all(|line| VERSION.is_match(line))
    {
        return Some("versions of packages");
    }
    let clocks = ["time", "now()", "today()"];
    if clocks.iter().any(|word| source.contains(word))
        && same_length
        && differing.iter().all(|line| CLOCK.is_match(line))
        && words_only(then) == words_only(now)
    {
        return Some("the clock");
    }
    None
}

fn is_installer(line: &str) -> bool {
    let command = line.trim_start_matches(['!', '%']).trim_start();
    let first = command.split_whitespace().next().unwrap_or_default();
    (line.starts_with(['!', '%']) && matches!(first, "pip" | "pip3" | "conda" | "apt" | "apt-get"))
        || (line.starts_with('!') && command.contains("pip install"))
}

#[allow(clippy::unwrap_used)] // a constant pattern, used by the tests
static VERSION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d+\.\d+|\b\d{8}\b").unwrap());

#[allow(clippy::unwrap_used)] // a constant pattern, used by the tests
static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:time|timed|took|elapsed|duration|seconds?|secs?|minutes?|mins?|ms|done in|finished in|date|today|now)\b|\d\s?s\b|\d{1,2}:\d{2}:\d{2}|\d{4}-\d{2}-\d{2}").unwrap()
});

fn words(line: &str) -> Vec<&str> {
    tokens(line).into_iter().map(|token| token.text).collect()
}

fn words_only(text: &str) -> Vec<&str> {
    tokens(text).into_iter().filter(|token| token.number.is_none()).map(|token| token.text).collect()
}

/// The text as it reaches the table's entry of this name.
#[cfg(test)]
pub(super) fn before(name: &str, table: &str, shown: &str) -> String {
    let index = table
        .split("[[repr]]")
        .skip(1)
        .position(|entry| entry.contains(&format!("name = \"{name}\"")))
        .unwrap();
    let mut text = on_screen(&ESCAPES.replace_all(shown, ""));
    for repr in &reprs().replacements[..index] {
        text = replaced(repr, text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_shows_the_last_state_of_a_line() {
        assert_eq!(on_screen("10%\r50%\r100%\ndone\r\nx\r"), "100%\ndone\nx");
        assert_eq!(on_screen("12\u{8}\u{8}34"), "34");
        assert_eq!(text("\u{1b}[1;31mred\u{1b}[0m"), "red");
    }

    #[test]
    fn what_cannot_repeat_is_decided_by_the_lines_that_differ() {
        let timed = "start = time.time()\nfit()\nprint(time.time() - start, score)";
        assert_eq!(cannot_repeat(timed, "took 3.1 s\nscore 0.9", "took 4.0 s\nscore 0.9"), Some("the clock"));
        assert_eq!(cannot_repeat(timed, "took 3.1 s\nscore 0.9", "took 4.0 s\nscore 0.8"), None);
        assert_eq!(cannot_repeat("print(x)", "took 3.1 s", "took 4.0 s"), None);
        assert_eq!(cannot_repeat("print(pd.__version__)", "0.24.2", "3.0.1"), Some("versions of packages"));
        assert_eq!(cannot_repeat("!pip install x", "a", "b"), Some("the installer's messages"));
    }
}
