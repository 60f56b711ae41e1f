//! The notebook: its text as found, its cells, and the edits that wait to be written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::atomic::write_atomic;
use crate::cell::{Cell, CellIndex, CellKind, Outputs};
use crate::error::NotebookError;
use crate::json::{Scanner, Span, Syntax};
use crate::output::Output;
use crate::reading::{KernelClaims, ObjectPlace, Parts, take_apart};
use crate::style::Style;
use crate::{script, upgrade};

/// Larger files are refused before they are read: 1 GiB.
pub const MAX_BYTES: u64 = 1 << 30;

/// The language of a notebook's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Language {
    /// Python, of any version.
    Python,
    /// The notebook does not say.
    Unknown,
    /// Another language, named as the notebook names it.
    Other(String),
}

/// A notebook file: every byte as it was found, and the edits made since.
///
/// Edits are splices into the original text, so whatever is not edited is written back byte for
/// byte: key order, indentation, escapes, line endings, unknown keys, the end of the file.
///
/// ```
/// use std::path::Path;
/// use mlem_notebook::{CellIndex, Notebook};
///
/// let text = r#"{"cells": [{"cell_type": "code", "source": ["x = 1\n", "y = 2"]}], "nbformat": 4}"#;
/// let mut notebook = Notebook::parse(text.to_owned(), Path::new("a.ipynb"))?;
/// notebook.set_source(CellIndex(0), "x = 1\ny = 3");
/// assert_eq!(notebook.to_text(), text.replace("y = 2", "y = 3"));
/// # Ok::<(), mlem_notebook::NotebookError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Notebook {
    file: PathBuf,
    text: Arc<String>,
    parts: Parts,
    style: OnceLock<Style>,
    splices: BTreeMap<(usize, Slot), Splice>,
    cell_metadata: BTreeMap<CellIndex, Map<String, Value>>,
    metadata: Map<String, Value>,
}

/// What a splice writes. The order decides between members inserted at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    ExecutionCount,
    Metadata,
    Outputs,
    Source,
}

/// A replacement of `start..end` (the start is the key) by `text`.
#[derive(Debug, Clone)]
struct Splice {
    end: usize,
    text: String,
}

impl Notebook {
    /// Reads a notebook file.
    ///
    /// # Errors
    /// If the file cannot be read, is larger than [`MAX_BYTES`], or is no notebook of nbformat 3
    /// or 4.
    pub fn read(path: &Path) -> Result<Notebook, NotebookError> {
        let failed = |source| NotebookError::Io { file: path.to_owned(), action: "read", source };
        let mut file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(std::io::Error::from(std::io::ErrorKind::IsADirectory)));
        }
        let too_large = |bytes| NotebookError::TooLarge { file: path.to_owned(), bytes, limit: MAX_BYTES };
        if metadata.len() > MAX_BYTES {
            return Err(too_large(metadata.len()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
        // The length of a pipe or a growing file is not known beforehand.
        file.by_ref().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(too_large(bytes.len() as u64));
        }
        Notebook::parse(decode(bytes, path)?, path)
    }

    /// Reads a notebook from its text; `name` stands for the file in messages.
    ///
    /// # Errors
    /// If the text is no notebook of nbformat 3 or 4.
    pub fn parse(text: String, name: &Path) -> Result<Notebook, NotebookError> {
        let text = Arc::new(text);
        let parts = take_apart(&text, name)?;
        Ok(Notebook {
            file: name.to_owned(),
            text,
            parts,
            style: OnceLock::new(),
            splices: BTreeMap::new(),
            cell_metadata: BTreeMap::new(),
            metadata: Map::new(),
        })
    }

    /// An in-memory notebook (nbformat 4.5) of a script: percent format (`# %%`), the output of
    /// nbconvert (`# In[3]:`), or plain Python, which becomes one cell.
    pub fn from_script(text: &str, name: &Path) -> Notebook {
        script::read(text, name)
    }

    /// The notebook as a script in percent format, as jupytext writes it.
    pub fn to_percent(&self) -> String {
        script::percent::write(self)
    }

    /// The notebook as a script as `jupyter nbconvert --to script` writes it. Raw cells have no
    /// place in that format and are left out.
    pub fn to_nbconvert(&self) -> String {
        script::nbconvert::write(self)
    }

    /// The file's name as given.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The format's major and minor version.
    pub fn nbformat(&self) -> (u32, u32) {
        self.parts.nbformat
    }

    /// Turns an nbformat 3 notebook, edits included, into nbformat 4.5. Returns whether it was one.
    pub fn upgrade(&mut self) -> bool {
        if self.parts.nbformat.0 != 3 {
            return false;
        }
        *self = Notebook::of_own_making(upgrade::to_4_5(&self.to_text()), &self.file);
        true
    }

    /// A notebook from text that this crate has just written.
    #[expect(
        clippy::expect_used,
        reason = "every member is written right above; the tests cover all writers"
    )]
    pub(crate) fn of_own_making(text: String, name: &Path) -> Notebook {
        Notebook::parse(text, name).expect("a notebook of nbformat 4.5")
    }

    /// All cells as they stand, edits included.
    pub fn cells(&self) -> &[Cell] {
        &self.parts.cells
    }

    /// The language of the code: from `language_info`, else the kernelspec, else what nbformat 3
    /// code cells say.
    pub fn language(&self) -> Language {
        self.parts.kernel.language(&self.parts.cells)
    }

    /// The language's version that the notebook was last run with, such as `2.7.6`.
    pub fn language_version(&self) -> Option<&str> {
        self.parts.kernel.info_version.as_deref()
    }

    /// The name of the kernelspec, such as `python3`.
    pub fn kernel_name(&self) -> Option<&str> {
        self.parts.kernel.spec_name.as_deref()
    }

    /// The kernelspec's name, display name and language, if the first two are there.
    pub(crate) fn kernelspec(&self) -> Option<(&str, &str, &str)> {
        let kernel = &self.parts.kernel;
        let language = kernel.spec_language.as_deref().unwrap_or("python");
        Some((kernel.spec_name.as_deref()?, kernel.spec_display_name.as_deref()?, language))
    }

    fn style(&self) -> &Style {
        self.style.get_or_init(|| Style::detect(&self.text))
    }

    /// Replaces a cell's source. It is written in the form the cell had: one string or a list of
    /// lines; lines that did not change keep their bytes. No such cell: nothing happens.
    pub fn set_source(&mut self, cell: CellIndex, source: &str) {
        if self.cells().get(cell.0).is_none_or(|cell| cell.source == source) {
            return;
        }
        let place = &self.parts.places[cell.0];
        let key = if self.is_v3_code(cell) { "input" } else { "source" };
        match place.source.clone() {
            Some(span) => {
                if original_source(&self.text, &span) == source {
                    self.splices.remove(&(span.start, Slot::Source));
                } else {
                    let text = self.source_text(&span, source);
                    self.splice(span, Slot::Source, text);
                }
            }
            // The cell had no source, and is to have none again.
            None if source.is_empty() => {
                self.splices.remove(&(place.object.last_end, Slot::Source));
            }
            None => {
                let object = place.object.clone();
                let value =
                    if self.style().indent.is_some() { crate::output::split(source) } else { source.into() };
                self.insert(&object, Slot::Source, key, &value);
            }
        }
        self.parts.cells[cell.0].source = source.to_owned();
    }

    /// Replaces a code cell's outputs and prompt number, in the form of the file's nbformat.
    /// Other cells are left alone.
    pub fn set_outputs(&mut self, cell: CellIndex, execution_count: Option<u64>, outputs: &[Output]) {
        if !self.cells().get(cell.0).is_some_and(Cell::is_code) {
            return;
        }
        let v3 = self.is_v3_code(cell);
        let place = self.parts.places[cell.0].clone();
        let count = execution_count.map_or(Value::Null, Value::from);
        let count_key = if v3 { "prompt_number" } else { "execution_count" };
        match place.execution_count {
            Some(span) => self.splice(span, Slot::ExecutionCount, count.to_string()),
            // nbformat 3 leaves the number out where there is none.
            None if v3 && execution_count.is_none() => {}
            None => self.insert(&place.object, Slot::ExecutionCount, count_key, &count),
        }
        let list: Value =
            outputs.iter().map(|output| if v3 { output.to_value_v3() } else { output.to_value() }).collect();
        match place.outputs {
            Some(span) => {
                let mut text = String::new();
                self.style().value(&mut text, &list, margin(&self.text, span.start));
                self.splice(span, Slot::Outputs, text);
            }
            None => self.insert(&place.object, Slot::Outputs, "outputs", &list),
        }
        let cell = &mut self.parts.cells[cell.0];
        cell.execution_count = execution_count;
        cell.error_output = outputs.iter().any(|output| matches!(output, Output::Error { .. }));
        cell.outputs = Outputs::Set(outputs.to_vec());
    }

    /// Sets one key of a cell's metadata; `null` is written as such. No such cell: nothing happens.
    pub fn set_cell_metadata(&mut self, cell: CellIndex, key: &str, value: Value) {
        let Some(place) = self.parts.places.get(cell.0).cloned() else { return };
        if key == "tags" {
            let tags = value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
            self.parts.cells[cell.0].tags = tags.collect();
        }
        let edits = self.cell_metadata.entry(cell).or_default();
        edits.insert(key.to_owned(), value);
        let edits = edits.clone();
        self.edit_metadata(place.metadata, &place.object, edits);
    }

    /// Sets one key of the notebook's metadata.
    pub fn set_metadata(&mut self, key: &str, value: Value) {
        self.metadata.insert(key.to_owned(), value);
        let (span, object) = (self.parts.metadata.clone(), self.parts.root.clone());
        self.edit_metadata(span, &object, self.metadata.clone());
    }

    /// Writes which kernel executed the notebook: its `kernelspec` (`name`, `display_name`,
    /// `language`) and the `language_info` of its `kernel_info_reply`.
    pub fn set_kernel(&mut self, kernelspec: Value, language_info: Value) {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        self.parts.kernel = KernelClaims {
            spec_name: text(&kernelspec, "name"),
            spec_display_name: text(&kernelspec, "display_name"),
            spec_language: text(&kernelspec, "language"),
            info_name: text(&language_info, "name"),
            info_version: text(&language_info, "version"),
            metadata_language: None,
        };
        self.set_metadata("kernelspec", kernelspec);
        self.set_metadata("language_info", language_info);
    }

    /// The notebook's text: the bytes it was read from, with the edits.
    pub fn to_text(&self) -> String {
        let grown: usize = self.splices.values().map(|splice| splice.text.len()).sum();
        let mut text = String::with_capacity(self.text.len() + grown);
        let mut at = 0;
        for ((start, _), splice) in &self.splices {
            text.push_str(&self.text[at..*start]);
            text.push_str(&splice.text);
            at = splice.end;
        }
        text.push_str(&self.text[at..]);
        text
    }

    /// Writes the notebook through a temporary file in the same folder; see
    /// [`write_atomic`](crate::write_atomic).
    ///
    /// # Errors
    /// If the file cannot be written; then the old one is still there, whole.
    pub fn write_atomic(&self, path: &Path) -> Result<(), NotebookError> {
        let written = if self.splices.is_empty() {
            write_atomic(path, self.text.as_bytes())
        } else {
            write_atomic(path, self.to_text().as_bytes())
        };
        written.map_err(|source| NotebookError::Io { file: path.to_owned(), action: "write", source })
    }

    fn is_v3_code(&self, cell: CellIndex) -> bool {
        self.parts.nbformat.0 == 3 && self.parts.cells[cell.0].kind == CellKind::Code
    }

    fn splice(&mut self, span: Span, slot: Slot, text: String) {
        if self.text[span.clone()] == text {
            self.splices.remove(&(span.start, slot));
        } else {
            self.splices.insert((span.start, slot), Splice { end: span.end, text });
        }
    }

    /// Adds a member behind the last one of an object, laid out like the first.
    fn insert(&mut self, object: &ObjectPlace, slot: Slot, key: &str, value: &Value) {
        let style = self.style();
        let mut text = String::from(",");
        text.push_str(lead(&self.text, object.first_key).unwrap_or(if style.comma == "," {
            ""
        } else {
            " "
        }));
        style.string(&mut text, key);
        text.push_str(style.colon);
        style.value(&mut text, value, margin(&self.text, object.first_key));
        self.splices.insert((object.last_end, slot), Splice { end: object.last_end, text });
    }

    /// Rewrites the changed keys of a metadata object, or adds the object.
    fn edit_metadata(&mut self, span: Option<Span>, object: &ObjectPlace, edits: Map<String, Value>) {
        match span {
            Some(span) => {
                let text = edited_object(&self.text, &span, edits, self.style());
                self.splice(span, Slot::Metadata, text);
            }
            None => self.insert(object, Slot::Metadata, "metadata", &Value::Object(edits)),
        }
    }

    /// A source in the form of the one at `span`.
    fn source_text(&self, span: &Span, source: &str) -> String {
        let style = self.style();
        let mut out = String::new();
        if self.text.as_bytes()[span.start] == b'"' {
            style.string(&mut out, source);
            return out;
        }
        let mut old_lines: Vec<(String, Span)> = Vec::new();
        // The span was scanned when the notebook was read: this cannot fail again.
        let _ = Scanner::new(&self.text, span.start).elements(|scanner, _| -> Result<(), Syntax> {
            scanner.kind()?;
            let start = scanner.offset();
            let line = scanner.string()?.into_owned();
            old_lines.push((line, start..scanner.offset()));
            Ok(())
        });
        let (before_first, before_close, between) = match (old_lines.first(), old_lines.last()) {
            (Some((_, first)), Some((_, last))) => {
                let lead = &self.text[span.start + 1..first.start];
                let between = match old_lines.get(1) {
                    Some((_, second)) => self.text[first.end..second.start].to_owned(),
                    None if lead.contains('\n') => format!(",{lead}"),
                    None => style.comma.to_owned(),
                };
                (lead.to_owned(), self.text[last.end..span.end - 1].to_owned(), between)
            }
            _ => match &style.indent {
                Some(indent) => {
                    let margin = margin(&self.text, span.start);
                    let lead = format!("{}{margin}{indent}", style.newline);
                    (lead.clone(), format!("{}{margin}", style.newline), format!(",{lead}"))
                }
                None => (String::new(), String::new(), style.comma.to_owned()),
            },
        };
        out.push('[');
        // Lines that are still there keep their bytes: odd escapes, lone surrogates.
        let mut next_old = 0;
        for (index, line) in source.split_inclusive('\n').enumerate() {
            out.push_str(if index == 0 { &before_first } else { &between });
            match old_lines[next_old..].iter().position(|(old, _)| old == line) {
                Some(skipped) => {
                    out.push_str(&self.text[old_lines[next_old + skipped].1.clone()]);
                    next_old += skipped + 1;
                }
                None => style.string(&mut out, line),
            }
        }
        if !source.is_empty() {
            out.push_str(&before_close);
        }
        out.push(']');
        out
    }
}

/// The white space before a key, if its object is laid out over several lines.
fn lead(text: &str, key_at: usize) -> Option<&str> {
    let before = &text[..key_at];
    let lead = &before[before.trim_end().len()..];
    lead.contains('\n').then_some(lead)
}

/// The indentation of the line that holds an offset.
fn margin(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |newline| newline + 1)..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn original_source(text: &str, span: &Span) -> String {
    let mut scanner = Scanner::new(text, span.start);
    let mut source = String::new();
    if text.as_bytes()[span.start] == b'"' {
        source = scanner.string().map(|text| text.into_owned()).unwrap_or_default();
    } else {
        // The span was scanned when the notebook was read: this cannot fail again.
        let _ = scanner.elements(|scanner, _| -> Result<(), Syntax> {
            source.push_str(&scanner.string()?);
            Ok(())
        });
    }
    source
}

/// The object at `span` with some members replaced and new ones added behind the last.
fn edited_object(text: &str, span: &Span, mut edits: Map<String, Value>, style: &Style) -> String {
    let mut out = String::new();
    let mut at = span.start;
    let mut place = ObjectPlace::default();
    let mut found: Vec<(String, Span, usize)> = Vec::new();
    // The span was scanned when the notebook was read: this cannot fail again.
    let _ = Scanner::new(text, span.start).members(|scanner, key| -> Result<(), Syntax> {
        place.see(key.at);
        let value = scanner.skip()?;
        place.last_end = value.end;
        found.push((key.name.into_owned(), value, key.at));
        Ok(())
    });
    if found.is_empty() {
        style.value(&mut out, &Value::Object(edits), margin(text, span.start));
        return out;
    }
    for (index, (name, value, key_at)) in found.iter().enumerate() {
        // Of equal keys the last wins.
        if found[index + 1..].iter().any(|(other, ..)| other == name) {
            continue;
        }
        if let Some(new) = edits.shift_remove(name) {
            out.push_str(&text[at..value.start]);
            style.value(&mut out, &new, margin(text, *key_at));
            at = value.end;
        }
    }
    out.push_str(&text[at..place.last_end]);
    for (name, value) in edits {
        out.push(',');
        out.push_str(lead(text, place.first_key).unwrap_or(if style.comma == "," { "" } else { " " }));
        style.string(&mut out, &name);
        out.push_str(style.colon);
        style.value(&mut out, &value, margin(text, place.first_key));
    }
    out.push_str(&text[place.last_end..span.end]);
    out
}

impl KernelClaims {
    fn language(&self, cells: &[Cell]) -> Language {
        let cell_language =
            cells.iter().filter(|cell| cell.is_code()).find_map(|cell| cell.language.as_deref());
        let named = [&self.info_name, &self.spec_language, &self.metadata_language]
            .into_iter()
            .find_map(Option::as_deref);
        if let Some(name) = named.or(cell_language) {
            return match name.to_ascii_lowercase().as_str() {
                "python" | "ipython" | "python2" | "python3" | "ipython2" | "ipython3" => Language::Python,
                "" => Language::Unknown,
                _ => Language::Other(name.to_owned()),
            };
        }
        // Old files name only the kernel. Environments give it names of their own, so a name that
        // is not known says nothing.
        let kernel = self.spec_name.as_deref().unwrap_or("").to_ascii_lowercase();
        let shown = self.spec_display_name.as_deref().unwrap_or("").to_ascii_lowercase();
        match kernel.as_str() {
            "ir" => Language::Other("R".into()),
            name if name.starts_with("julia") => Language::Other("julia".into()),
            name if name.contains("python") || shown.contains("python") => Language::Python,
            _ => Language::Unknown,
        }
    }
}

/// The text of a file's bytes, without a copy.
fn decode(bytes: Vec<u8>, file: &Path) -> Result<String, NotebookError> {
    let refused = |reason: String| NotebookError::Encoding { file: file.to_owned(), reason };
    match bytes.get(..2) {
        Some([0xff, 0xfe]) => return Err(refused("it is UTF-16 (little-endian); save it as UTF-8".into())),
        Some([0xfe, 0xff]) => return Err(refused("it is UTF-16 (big-endian); save it as UTF-8".into())),
        Some([b'{', 0]) => return Err(refused("it is UTF-16 (little-endian); save it as UTF-8".into())),
        Some([0, b'{']) => return Err(refused("it is UTF-16 (big-endian); save it as UTF-8".into())),
        _ => {}
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let byte = bytes.get(at).copied().unwrap_or(0);
        let looks_like_json = bytes.trim_ascii_start().first() == Some(&b'{');
        let guess = if looks_like_json {
            "; it may be Latin-1 or Windows-1252: save it as UTF-8"
        } else {
            "; it looks like binary data"
        };
        refused(format!("byte 0x{byte:02x} in line {line}{guess}"))
    })
}
