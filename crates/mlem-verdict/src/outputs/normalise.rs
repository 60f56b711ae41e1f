//! Takes out of a text what is not the result: terminal control, addresses, timings, progress,
//! and the ways in which libraries write the same value differently.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::Tolerance;
use super::matching::{self, Match};
use super::reprs::{Repr, reprs};

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

/// Why these two outputs differ without a different result, or `None`: what the clock or the
/// installed versions decide is masked where the code asks for them, and the rest must agree.
pub(super) fn cannot_repeat(
    source: &str,
    then: &str,
    now: &str,
    tolerance: &Tolerance,
) -> Option<&'static str> {
    let (mut then, mut now) = (then.to_owned(), now.to_owned());
    for entry in &reprs().unrepeatable {
        if !entry.code.iter().any(|word| source.contains(word)) {
            continue;
        }
        then = entry.pattern.replace_all(&then, "<masked>").into_owned();
        now = entry.pattern.replace_all(&now, "<masked>").into_owned();
        if !matches!(matching::compare(&then, &now, tolerance), Match::Different { .. }) {
            return Some(&entry.reason);
        }
    }
    None
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
    fn only_what_cannot_repeat_is_excused() {
        let excuse = |source, then, now| cannot_repeat(source, then, now, &Tolerance::default());
        let timed = "start = time.time()\nfit()\nprint(time.time() - start, score)";
        assert_eq!(excuse(timed, "took 3.1 s\nscore 0.9", "took 4.0 s\nscore 0.9"), Some("the clock"));
        assert_eq!(excuse(timed, "took 3.1 s, score 0.9", "took 4.0 s, score 0.8"), None);
        assert_eq!(excuse("print(x)", "took 3.1 s", "took 4.0 s"), None);
        assert_eq!(excuse(timed, "2014-01-01 3.5", "2014-01-01 3.7"), None);
        let version = "print(pd.__version__, score)";
        assert_eq!(excuse(version, "0.24.2 0.9", "3.0.1 0.9"), Some("versions of packages"));
        assert_eq!(excuse(version, "0.24.2 0.9", "3.0.1 0.8"), None);
        assert_eq!(excuse("!pip install x", "a", "b\nc"), Some("the installer's messages"));
    }
}
