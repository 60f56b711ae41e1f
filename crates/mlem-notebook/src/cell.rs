//! One cell as it stands, edits included.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::json::{Scanner, Span, Syntax};
use crate::output::Output;

/// The position of a cell among all cells of its notebook, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellIndex(pub usize);

impl fmt::Display for CellIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What a cell holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellKind {
    /// Source to execute.
    Code,
    /// Markdown (and the `html` cells of nbformat 3).
    Markdown,
    /// Text that is left alone.
    Raw,
    /// A heading of nbformat 3; its depth is [`Cell::level`].
    Heading,
}

/// One cell of a notebook.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Its position among all cells.
    pub index: CellIndex,
    /// What it holds.
    pub kind: CellKind,
    /// Its text; a lone surrogate of the file is U+FFFD here.
    pub source: String,
    /// Its id (nbformat 4.5).
    pub id: Option<String>,
    /// Its tags, from `metadata.tags`.
    pub tags: Vec<String>,
    /// The prompt number of its last execution.
    pub execution_count: Option<u64>,
    /// The language that an nbformat 3 code cell names.
    pub language: Option<String>,
    /// The depth of a heading cell, from 1.
    pub level: Option<u8>,
    pub(crate) outputs: Outputs,
    pub(crate) error_output: bool,
}

/// Where a cell's outputs are.
#[derive(Debug, Clone)]
pub(crate) enum Outputs {
    /// In the text, not parsed yet.
    Stored(Arc<String>, Span),
    /// Set since the file was read.
    Set(Vec<Output>),
    /// The cell has none.
    Absent,
}

impl Cell {
    /// Whether this is a code cell.
    pub fn is_code(&self) -> bool {
        self.kind == CellKind::Code
    }

    /// The cell's outputs, parsed on every call. An output of unknown type is left out.
    pub fn outputs(&self) -> Vec<Output> {
        match &self.outputs {
            Outputs::Absent => Vec::new(),
            Outputs::Set(outputs) => outputs.clone(),
            Outputs::Stored(text, span) => {
                let mut outputs = Vec::new();
                let mut scanner = Scanner::new(text, span.start);
                // The span was scanned when the notebook was read: this cannot fail again.
                let _ = scanner.elements(|scanner, _| -> Result<(), Syntax> {
                    outputs.extend(Output::from_value(&scanner.value()?));
                    Ok(())
                });
                outputs
            }
        }
    }

    /// Whether one of the outputs is an exception.
    pub fn has_error_output(&self) -> bool {
        self.error_output
    }

    /// Whether the author expects the cell to fail: it is tagged `raises-exception`, or its stored
    /// output is an exception.
    pub fn may_fail(&self) -> bool {
        self.error_output || self.tags.iter().any(|tag| tag == "raises-exception")
    }
}
