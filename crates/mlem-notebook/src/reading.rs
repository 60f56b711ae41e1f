//! From text to cells and the places where edits go.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use crate::cell::{Cell, CellIndex, CellKind, Outputs};
use crate::error::NotebookError;
use crate::json::{Kind, Scanner, Span, Syntax};

/// Where an object's members are.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObjectPlace {
    /// The offset of the first key's opening quote.
    pub(crate) first_key: usize,
    /// The end of the last member's value: new members go here.
    pub(crate) last_end: usize,
}

/// Where the parts of one cell are.
#[derive(Debug, Clone, Default)]
pub(crate) struct CellPlace {
    pub(crate) object: ObjectPlace,
    pub(crate) source: Option<Span>,
    pub(crate) outputs: Option<Span>,
    pub(crate) execution_count: Option<Span>,
    pub(crate) metadata: Option<Span>,
}

/// What the notebook says about its language and kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct KernelClaims {
    pub(crate) spec_name: Option<String>,
    pub(crate) spec_display_name: Option<String>,
    pub(crate) spec_language: Option<String>,
    pub(crate) info_name: Option<String>,
    pub(crate) info_version: Option<String>,
    pub(crate) metadata_language: Option<String>,
}

/// A notebook's text taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) nbformat: (u32, u32),
    pub(crate) root: ObjectPlace,
    pub(crate) metadata: Option<Span>,
    pub(crate) kernel: KernelClaims,
    pub(crate) cells: Vec<Cell>,
    pub(crate) places: Vec<CellPlace>,
}

/// Either not JSON or not of a notebook's shape.
enum Problem {
    Syntax(Syntax),
    Shape { pointer: String, reason: String },
}

impl From<Syntax> for Problem {
    fn from(syntax: Syntax) -> Self {
        Problem::Syntax(syntax)
    }
}

fn shape<T>(pointer: &str, reason: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::Shape { pointer: pointer.to_owned(), reason: reason.into() })
}

fn expect(scanner: &mut Scanner<'_>, wanted: Kind, pointer: &str) -> Result<(), Problem> {
    let found = scanner.kind()?;
    if found == wanted {
        return Ok(());
    }
    shape(pointer, format!("expected {}, found {}", wanted.described(), found.described()))
}

/// Takes a notebook's text apart.
pub(crate) fn take_apart(text: &Arc<String>, file: &Path) -> Result<Parts, NotebookError> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Err(NotebookError::Empty { file: file.to_owned() });
    }
    let mut root = Root::default();
    let mut scanner = Scanner::new(text, 0);
    let scanned = root.scan(&mut scanner).and_then(|()| Ok(scanner.end()?));
    let not_a_notebook =
        |reason: &str| NotebookError::NotANotebook { file: file.to_owned(), reason: reason.into() };
    match scanned {
        Ok(()) => {}
        Err(Problem::Syntax(syntax)) => return Err(json_error(text, file, &syntax)),
        Err(Problem::Shape { pointer, reason }) => {
            // A wrong shape in front of broken JSON is most often a part of the same damage.
            let mut scanner = Scanner::new(text, 0);
            if let Err(syntax) = scanner.skip().and_then(|_| scanner.end()) {
                return Err(json_error(text, file, &syntax));
            }
            if pointer.is_empty() {
                return Err(not_a_notebook("the document is not an object"));
            }
            // A version that is not supported explains an unknown shape better than the shape.
            let mut versions = Versions::default();
            let read = Scanner::new(text, 0).members(|scanner, key| versions.member(scanner, &key.name));
            return Err(match versions.nbformat {
                Some(nbformat) if read.is_ok() && nbformat != 3 && nbformat != 4 => {
                    NotebookError::Version { file: file.to_owned(), nbformat }
                }
                _ => NotebookError::Shape { file: file.to_owned(), pointer, reason },
            });
        }
    }
    let missing = |pointer: &str| NotebookError::Shape {
        file: file.to_owned(),
        pointer: pointer.into(),
        reason: "missing".into(),
    };
    let drafts = match root.versions.nbformat {
        None if root.cells.is_none() && root.worksheet_cells.is_none() => {
            return Err(not_a_notebook("it has neither `nbformat` nor `cells`"));
        }
        None => return Err(missing("/nbformat")),
        Some(4) => root.cells.ok_or_else(|| missing("/cells"))?,
        Some(3) => root.worksheet_cells.ok_or_else(|| missing("/worksheets"))?,
        Some(nbformat) => return Err(NotebookError::Version { file: file.to_owned(), nbformat }),
    };
    let major = if root.versions.nbformat == Some(3) { 3 } else { 4 };
    let (cells, places) = drafts
        .into_iter()
        .enumerate()
        .map(|(index, draft)| draft.finish(CellIndex(index), major, text))
        .unzip();
    Ok(Parts {
        nbformat: (major, root.versions.minor),
        root: root.place,
        metadata: root.metadata,
        kernel: root.kernel,
        cells,
        places,
    })
}

fn json_error(text: &str, file: &Path, syntax: &Syntax) -> NotebookError {
    let at = (0..=syntax.at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let before = text[..at].trim_start_matches('\u{feff}');
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[at..];
    let line = rest.lines().next().unwrap_or("");
    let reason = if ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark)) {
        "an unresolved merge conflict"
    } else if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
        "it looks like an HTML page"
    } else if rest.starts_with('\0') {
        "a null byte"
    } else {
        syntax.reason
    };
    NotebookError::Json {
        file: file.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        reason: reason.into(),
    }
}

#[derive(Default)]
struct Versions {
    nbformat: Option<u64>,
    minor: u32,
}

impl Versions {
    /// Takes the two version members and passes over all others.
    fn member(&mut self, scanner: &mut Scanner<'_>, name: &str) -> Result<(), Problem> {
        match name {
            "nbformat" => {
                expect(scanner, Kind::Number, "/nbformat")?;
                match scanner.value()?.as_u64() {
                    Some(number) => self.nbformat = Some(number),
                    None => return shape("/nbformat", "expected a whole number"),
                }
            }
            "nbformat_minor" => {
                self.minor =
                    scanner.value()?.as_u64().and_then(|minor| u32::try_from(minor).ok()).unwrap_or(0);
            }
            _ => scanner.pass_over()?,
        }
        Ok(())
    }
}

#[derive(Default)]
struct Root<'t> {
    versions: Versions,
    place: ObjectPlace,
    metadata: Option<Span>,
    kernel: KernelClaims,
    cells: Option<Vec<Draft<'t>>>,
    worksheet_cells: Option<Vec<Draft<'t>>>,
}

impl<'t> Root<'t> {
    fn scan(&mut self, scanner: &mut Scanner<'t>) -> Result<(), Problem> {
        expect(scanner, Kind::Object, "")?;
        scanner.members(|scanner, key| -> Result<(), Problem> {
            self.place.see(key.at);
            match &*key.name {
                "cells" => self.cells = Some(cells(scanner, "/cells")?),
                "worksheets" => self.worksheet_cells = Some(worksheets(scanner)?),
                "metadata" => {
                    if scanner.kind()? == Kind::Object {
                        self.kernel = KernelClaims::default();
                        self.metadata = Some(self.kernel.scan(scanner)?);
                    } else {
                        return shape("/metadata", "expected an object");
                    }
                }
                name => self.versions.member(scanner, name)?,
            }
            self.place.last_end = scanner.offset();
            Ok(())
        })?;
        Ok(())
    }
}

impl ObjectPlace {
    pub(crate) fn see(&mut self, key_at: usize) {
        // A key is never at offset 0: its object's brace is before it.
        if self.first_key == 0 {
            self.first_key = key_at;
        }
    }
}

impl KernelClaims {
    fn scan(&mut self, scanner: &mut Scanner<'_>) -> Result<Span, Problem> {
        scanner.members(|scanner, key| {
            match (&*key.name, scanner.kind()?) {
                ("kernelspec", Kind::Object) => {
                    scanner.members(|scanner, key| -> Result<(), Problem> {
                        match &*key.name {
                            "name" => self.spec_name = text(scanner)?,
                            "display_name" => self.spec_display_name = text(scanner)?,
                            "language" => self.spec_language = text(scanner)?,
                            _ => scanner.pass_over()?,
                        }
                        Ok(())
                    })?;
                }
                ("language_info", Kind::Object) => {
                    scanner.members(|scanner, key| -> Result<(), Problem> {
                        match &*key.name {
                            "name" => self.info_name = text(scanner)?,
                            "version" => self.info_version = text(scanner)?,
                            _ => scanner.pass_over()?,
                        }
                        Ok(())
                    })?;
                }
                // IJulia's notebooks of nbformat 3 name the language here.
                ("language", Kind::String) => self.metadata_language = text(scanner)?,
                _ => scanner.pass_over()?,
            }
            Ok(())
        })
    }
}

/// The text of a string; anything else is passed over.
fn text(scanner: &mut Scanner<'_>) -> Result<Option<String>, Problem> {
    if scanner.kind()? == Kind::String {
        return Ok(Some(scanner.string()?.into_owned()));
    }
    scanner.skip()?;
    Ok(None)
}

fn worksheets<'t>(scanner: &mut Scanner<'t>) -> Result<Vec<Draft<'t>>, Problem> {
    expect(scanner, Kind::Array, "/worksheets")?;
    let mut drafts = Vec::new();
    scanner.elements(|scanner, index| {
        let pointer = format!("/worksheets/{index}");
        expect(scanner, Kind::Object, &pointer)?;
        let mut found = false;
        scanner.members(|scanner, key| -> Result<(), Problem> {
            if key.name == "cells" {
                found = true;
                drafts.extend(cells(scanner, &format!("{pointer}/cells"))?);
            } else {
                scanner.skip()?;
            }
            Ok(())
        })?;
        if found { Ok(()) } else { shape(&format!("{pointer}/cells"), "missing") }
    })?;
    Ok(drafts)
}

fn cells<'t>(scanner: &mut Scanner<'t>, pointer: &str) -> Result<Vec<Draft<'t>>, Problem> {
    expect(scanner, Kind::Array, pointer)?;
    let mut drafts = Vec::new();
    scanner.elements(|scanner, index| {
        drafts.push(Draft::scan(scanner, &|| format!("{pointer}/{index}"))?);
        Ok::<(), Problem>(())
    })?;
    Ok(drafts)
}

/// A cell before the format version is known: nbformat sorts its keys, so `cells` come first.
#[derive(Default)]
struct Draft<'t> {
    place: ObjectPlace,
    kind: Option<CellKind>,
    source: Option<(Span, Cow<'t, str>)>,
    input: Option<(Span, Cow<'t, str>)>,
    execution_count: Option<(Span, Option<u64>)>,
    prompt_number: Option<(Span, Option<u64>)>,
    outputs: Option<Span>,
    error_output: bool,
    metadata: Option<Span>,
    tags: Vec<String>,
    id: Option<String>,
    language: Option<String>,
    level: Option<u8>,
}

impl<'t> Draft<'t> {
    fn scan(scanner: &mut Scanner<'t>, pointer: &dyn Fn() -> String) -> Result<Draft<'t>, Problem> {
        let kind = scanner.kind()?;
        if kind != Kind::Object {
            return shape(&pointer(), format!("expected a cell, found {}", kind.described()));
        }
        let mut draft = Draft::default();
        scanner.members(|scanner, key| -> Result<(), Problem> {
            draft.place.see(key.at);
            draft.member(scanner, &key.name, pointer)?;
            draft.place.last_end = scanner.offset();
            Ok(())
        })?;
        if draft.kind.is_none() {
            return shape(&format!("{}/cell_type", pointer()), "missing");
        }
        Ok(draft)
    }

    fn member(
        &mut self,
        scanner: &mut Scanner<'t>,
        name: &str,
        pointer: &dyn Fn() -> String,
    ) -> Result<(), Problem> {
        match name {
            "cell_type" => {
                if scanner.kind()? != Kind::String {
                    return shape(&format!("{}/cell_type", pointer()), "expected a string");
                }
                self.kind = Some(match &*scanner.string()? {
                    "code" => CellKind::Code,
                    // nbformat 3 allowed `html` cells and shows them as Markdown.
                    "markdown" | "html" => CellKind::Markdown,
                    "raw" => CellKind::Raw,
                    "heading" => CellKind::Heading,
                    other => {
                        return shape(
                            &format!("{}/cell_type", pointer()),
                            format!("unknown cell type `{other}`"),
                        );
                    }
                });
            }
            "source" => self.source = Some(source(scanner, &|| format!("{}/source", pointer()))?),
            "input" => self.input = Some(source(scanner, &|| format!("{}/input", pointer()))?),
            "execution_count" => self.execution_count = Some(count(scanner)?),
            "prompt_number" => self.prompt_number = Some(count(scanner)?),
            "outputs" => {
                if scanner.kind()? != Kind::Array {
                    return shape(&format!("{}/outputs", pointer()), "expected a list");
                }
                let mut error = false;
                self.outputs = Some(scanner.elements(|scanner, _| {
                    error |= is_error_output(scanner)?;
                    Ok::<(), Problem>(())
                })?);
                self.error_output = error;
            }
            "metadata" => self.metadata(scanner)?,
            "id" => self.id = text(scanner)?,
            "language" => self.language = text(scanner)?,
            "level" => self.level = scanner.value()?.as_u64().and_then(|level| u8::try_from(level).ok()),
            _ => scanner.pass_over()?,
        }
        Ok(())
    }

    /// Takes the tags; metadata that is no object is left alone.
    fn metadata(&mut self, scanner: &mut Scanner<'t>) -> Result<(), Problem> {
        if scanner.kind()? != Kind::Object {
            scanner.skip()?;
            return Ok(());
        }
        // Of equal keys the last wins.
        self.tags.clear();
        let tags = &mut self.tags;
        self.metadata = Some(scanner.members(|scanner, key| -> Result<(), Problem> {
            if key.name == "tags" && scanner.kind()? == Kind::Array {
                tags.clear();
                scanner.elements(|scanner, _| -> Result<(), Problem> {
                    tags.extend(text(scanner)?);
                    Ok(())
                })?;
            } else {
                scanner.skip()?;
            }
            Ok(())
        })?);
        Ok(())
    }

    fn finish(self, index: CellIndex, major: u32, text: &Arc<String>) -> (Cell, CellPlace) {
        let kind = self.kind.unwrap_or(CellKind::Raw);
        let code_of_v3 = major == 3 && kind == CellKind::Code;
        let source = if code_of_v3 { self.input } else { self.source };
        let execution_count = if code_of_v3 { self.prompt_number } else { self.execution_count };
        let (source_span, source) =
            source.map_or((None, String::new()), |(span, text)| (Some(span), text.into_owned()));
        let (count_span, count) = execution_count.map_or((None, None), |(span, count)| (Some(span), count));
        let outputs = match &self.outputs {
            Some(span) if kind == CellKind::Code => Outputs::Stored(Arc::clone(text), span.clone()),
            _ => Outputs::Absent,
        };
        let cell = Cell {
            index,
            kind,
            source,
            id: self.id,
            tags: self.tags,
            execution_count: count,
            language: self.language,
            level: self.level,
            error_output: self.error_output && kind == CellKind::Code,
            outputs,
        };
        let place = CellPlace {
            object: self.place,
            source: source_span,
            outputs: self.outputs,
            execution_count: count_span,
            metadata: self.metadata,
        };
        (cell, place)
    }
}

/// A prompt number; what is no whole number (`null`, `"*"`) counts as none.
fn count(scanner: &mut Scanner<'_>) -> Result<(Span, Option<u64>), Problem> {
    scanner.kind()?;
    let start = scanner.offset();
    let value = scanner.value()?;
    Ok((start..scanner.offset(), value.as_u64()))
}

/// Passes over one output and tells whether it is an exception.
fn is_error_output(scanner: &mut Scanner<'_>) -> Result<bool, Problem> {
    if scanner.kind()? != Kind::Object {
        scanner.skip()?;
        return Ok(false);
    }
    let mut error = false;
    scanner.members(|scanner, key| -> Result<(), Problem> {
        if key.name == "output_type" && scanner.kind()? == Kind::String {
            error = matches!(&*scanner.string()?, "error" | "pyerr");
        } else {
            scanner.skip()?;
        }
        Ok(())
    })?;
    Ok(error)
}

/// A source: one string or a list of lines.
fn source<'t>(
    scanner: &mut Scanner<'t>,
    pointer: &dyn Fn() -> String,
) -> Result<(Span, Cow<'t, str>), Problem> {
    match scanner.kind()? {
        Kind::String => {
            let start = scanner.offset();
            let text = scanner.string()?;
            Ok((start..scanner.offset(), text))
        }
        Kind::Array => {
            let mut text = String::new();
            let span = scanner.elements(|scanner, index| {
                let kind = scanner.kind()?;
                if kind != Kind::String {
                    return shape(
                        &format!("{}/{index}", pointer()),
                        format!("expected a line of text, found {}", kind.described()),
                    );
                }
                text.push_str(&scanner.string()?);
                Ok(())
            })?;
            Ok((span, Cow::Owned(text)))
        }
        kind => {
            shape(&pointer(), format!("expected a string or a list of lines, found {}", kind.described()))
        }
    }
}
