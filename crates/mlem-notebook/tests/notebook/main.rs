//! The notebook file as its users see it: fixtures in, bytes out.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails the test")]

mod atomic;
mod edits;
mod errors;
mod identity;
mod reading;
mod scripts;
mod upgrade;

use std::fs;
use std::path::{Path, PathBuf};

use mlem_notebook::Notebook;

fn fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn fixture(name: &str) -> String {
    fs::read_to_string(fixture_path(name)).unwrap()
}

fn notebook(name: &str) -> Notebook {
    Notebook::read(&fixture_path(name)).unwrap()
}

/// Every fixture, also with other line endings, a byte order mark and without a final newline.
fn every_text() -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for name in
        ["v4_5.ipynb", "v4_2_indent_4_ascii.ipynb", "v3.ipynb", "as_python_writes.ipynb", "compact.ipynb"]
    {
        let text = fixture(name);
        texts.push((format!("{name} with CRLF"), text.replace('\n', "\r\n")));
        texts.push((format!("{name} with a byte order mark"), format!("\u{feff}{text}")));
        texts.push((format!("{name} without a final newline"), text.trim_end().to_owned()));
        texts.push((format!("{name} with space around"), format!("\n\n{text}\n \n")));
        texts.push((name.to_owned(), text));
    }
    texts
}

/// The changed lines of two texts, with one line around.
fn difference(old: &str, new: &str) -> String {
    similar::TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(1)
        .missing_newline_hint(false)
        .to_string()
}
