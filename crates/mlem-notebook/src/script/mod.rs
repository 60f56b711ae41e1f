//! Notebooks as scripts.

use std::path::Path;

use serde_json::{Value, json};

use crate::notebook::Notebook;
use crate::output::split;
use crate::style::Style;
use crate::upgrade::cell_id;

pub(crate) mod nbconvert;
pub(crate) mod percent;

/// A cell read from a script.
struct ScriptCell {
    kind: &'static str,
    source: String,
    metadata: serde_json::Map<String, Value>,
    execution_count: Option<u64>,
}

/// Reads a script of any of the known forms.
pub(crate) fn read(text: &str, name: &Path) -> Notebook {
    let cells = vec![ScriptCell {
        kind: "code",
        source: text.to_owned(),
        metadata: serde_json::Map::new(),
        execution_count: None,
    }];
    assemble(&cells, json!({}), name)
}

fn assemble(cells: &[ScriptCell], metadata: Value, name: &Path) -> Notebook {
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
    let mut document = json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5});
    document.sort_all_objects();
    let mut text = String::new();
    Style::nbformat().value(&mut text, &document, "");
    text.push('\n');
    // The document is a notebook by construction.
    #[expect(clippy::expect_used, reason = "built from parts that are a notebook by construction")]
    Notebook::parse(text, name).expect("a notebook of nbformat 4.5")
}
