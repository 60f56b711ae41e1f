//! Standard output for data, standard error for everything else.

use std::io::{self, Write};

/// Writes data. A reader that went away (`| head`) is no error.
pub(crate) fn data(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes a line of data.
pub(crate) fn line(text: &str) {
    data(&format!("{text}\n"));
}

/// Writes a value as JSON.
pub(crate) fn json<T: serde::Serialize>(value: &T) {
    // Reports are structs of strings, numbers and lists, which always serialise.
    line(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// Says something to the person at the terminal.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Says why the command ends.
pub(crate) fn error(text: &str) {
    note(&format!("error: {text}"));
}

/// Says that one of several inputs was left out, or that something is worth a look.
pub(crate) fn warning(text: &str) {
    note(&format!("warning: {text}"));
}

/// `1 change`, `2 changes`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}
