//! What a person sees of a cell's outputs.

use mlem_notebook::Output;
use serde_json::{Map, Value};

use super::html;

/// The outputs of a cell, sorted by how they can be compared.
pub(super) struct Shown {
    /// Standard output and the `text/plain` of results and displays, in order. The text form of a
    /// picture (`<Figure size …>`) is left out: the picture stands for it.
    pub(super) text: String,
    /// How many outputs hold a picture.
    pub(super) pictures: usize,
    /// Whether anything was written to standard error.
    pub(super) warnings: bool,
    /// Whether an output has neither text nor a picture (HTML alone, a widget).
    pub(super) other: bool,
    /// `Class: message` of the exception that ended the cell.
    pub(super) error: Option<String>,
}

impl Shown {
    pub(super) fn of(outputs: &[Output]) -> Shown {
        let mut shown =
            Shown { text: String::new(), pictures: 0, warnings: false, other: false, error: None };
        for output in outputs {
            match output {
                Output::Stream { name, text } if name == "stderr" => {
                    shown.warnings |= !text.trim().is_empty();
                }
                // Joined as they are: a line may come in several pieces.
                Output::Stream { text, .. } => shown.text.push_str(text),
                Output::DisplayData { data, .. } | Output::ExecuteResult { data, .. } => {
                    shown.add(data);
                }
                Output::Error { ename, evalue, .. } => {
                    shown.error = Some(format!("{ename}: {evalue}"));
                }
            }
        }
        shown
    }

    fn add(&mut self, data: &Map<String, Value>) {
        let is_picture = |mime: &String| mime.starts_with("image/") || mime == "application/pdf";
        if data.keys().any(is_picture) {
            self.pictures += 1;
            return;
        }
        let plain = data.get("text/plain").and_then(Value::as_str);
        // A table that was displayed as HTML has the name of an object for its text.
        let is_named = plain.is_none_or(|text| text.trim().is_empty() || text.contains("HTML object"));
        let table = data.get("text/html").and_then(Value::as_str).filter(|_| is_named).and_then(html::tables);
        match table.as_deref().or(plain) {
            Some(text) if !text.trim().is_empty() => {
                if !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.text.push('\n');
                }
                self.text.push_str(text);
                self.text.push('\n');
            }
            _ => self.other |= !data.is_empty(),
        }
    }

    /// Whether there is anything but warnings and an error.
    pub(super) fn is_visible(&self) -> bool {
        self.pictures > 0 || self.other || !self.text.trim().is_empty()
    }
}
