//! Notebooks as scripts, both ways.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::cell::Cell;
use crate::notebook::Notebook;
use crate::output::split;
use crate::style::Style;
use crate::upgrade::cell_id;

mod magic;
pub(crate) mod nbconvert;
pub(crate) mod percent;

/// A cell read from a script.
struct ScriptCell {
    kind: &'static str,
    source: String,
    metadata: Map<String, Value>,
    execution_count: Option<u64>,
}

impl ScriptCell {
    fn code(source: String) -> ScriptCell {
        ScriptCell { kind: "code", source, metadata: Map::new(), execution_count: None }
    }
}

/// Reads a script of any of the known forms; plain Python becomes one cell, so that its line
/// numbers stay true.
pub(crate) fn read(text: &str, name: &Path) -> Notebook {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let (cells, metadata) = if percent::recognises(&text) {
        percent::read(&text)
    } else if nbconvert::recognises(&text) {
        (nbconvert::read(&text), json!({}))
    } else {
        (vec![ScriptCell::code(text)], json!({}))
    };
    assemble(&cells, metadata, name)
}

fn assemble(cells: &[ScriptCell], mut metadata: Value, name: &Path) -> Notebook {
    let cells: Vec<Value> = cells
        .iter()
        .enumerate()
        .map(|(index, cell)| {
            let mut value = json!({
                "cell_type": cell.kind,
                "id": cell_id(index, &cell.source),
                "metadata": cell.metadata,
                "source": split(&cell.source),
            });
            if cell.kind == "code" {
                value["execution_count"] = cell.execution_count.map_or(Value::Null, Value::from);
                value["outputs"] = json!([]);
            }
            value
        })
        .collect();
    // A script says by its suffix what its language is.
    metadata["language_info"] = json!({"name": "python"});
    let mut document = json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5});
    document.sort_all_objects();
    let mut text = String::new();
    Style::nbformat().value(&mut text, &document, "");
    text.push('\n');
    Notebook::of_own_making(text, name)
}

/// A heading cell as Markdown.
fn heading(cell: &Cell) -> String {
    let line = cell.source.lines().collect::<Vec<_>>().join(" ");
    format!("{} {line}", "#".repeat(usize::from(cell.level.unwrap_or(1).clamp(1, 6))))
}

/// A text as comments; `empty` is written for an empty line.
fn commented(text: &str, empty: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| if line.is_empty() { empty.to_owned() } else { format!("# {line}") })
        .collect();
    lines.join("\n")
}

/// The text in comments.
fn uncommented(text: &str) -> String {
    let lines: Vec<&str> = text
        .split('\n')
        .map(|line| line.strip_prefix("# ").or_else(|| line.strip_prefix('#')).unwrap_or(line))
        .collect();
    lines.join("\n")
}
