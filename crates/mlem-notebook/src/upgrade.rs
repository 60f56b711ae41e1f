//! nbformat 3 to 4.5, after nbformat's own `v4/convert.py`.

use serde_json::{Map, Value, json};

use crate::json::Scanner;
use crate::output::{joined, long_name, split};
use crate::style::Style;

/// The text of an nbformat 4.5 notebook with the content of an nbformat 3 one.
pub(crate) fn to_4_5(text: &str) -> String {
    // The caller has read the text as a notebook: it is JSON and an object.
    let Value::Object(mut old) = Scanner::new(text, 0).value().unwrap_or_default() else {
        return String::new();
    };
    let mut metadata = match old.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    // nbformat drops the name; `title` is where nbformat 4 documents it.
    if let Some(name) = metadata.shift_remove("name").as_ref().and_then(Value::as_str)
        && !name.is_empty()
        && !metadata.contains_key("title")
    {
        metadata.insert("title".into(), name.into());
    }
    // A signature vouches for bytes that are gone.
    metadata.shift_remove("signature");
    // Transient: nbformat keeps these in memory and strips them when it writes.
    old.remove("orig_nbformat");
    old.remove("orig_nbformat_minor");
    metadata.remove("orig_nbformat");
    metadata.remove("orig_nbformat_minor");
    let mut cells = Vec::new();
    if let Some(Value::Array(worksheets)) = old.remove("worksheets") {
        for worksheet in worksheets {
            let Value::Object(mut worksheet) = worksheet else { continue };
            let Some(Value::Array(list)) = worksheet.remove("cells") else { continue };
            for cell in list {
                let Value::Object(cell) = cell else { continue };
                let index = cells.len();
                cells.push(upgraded_cell(cell, index));
            }
        }
    }
    old.insert("cells".into(), cells.into());
    old.insert("metadata".into(), metadata.into());
    old.insert("nbformat".into(), 4.into());
    old.insert("nbformat_minor".into(), 5.into());
    let mut new = Value::Object(old);
    new.sort_all_objects();
    let mut text = String::new();
    Style::nbformat().value(&mut text, &new, "");
    text.push('\n');
    text
}

fn upgraded_cell(mut cell: Map<String, Value>, index: usize) -> Value {
    if !cell.get("metadata").is_some_and(Value::is_object) {
        cell.insert("metadata".into(), json!({}));
    }
    match cell.get("cell_type").and_then(Value::as_str).unwrap_or("raw") {
        "code" => {
            cell.remove("language");
            if let Some(collapsed) = cell.remove("collapsed")
                && let Some(Value::Object(metadata)) = cell.get_mut("metadata")
            {
                metadata.insert("collapsed".into(), collapsed);
            }
            let source = cell.remove("input").as_ref().and_then(joined).unwrap_or_default();
            cell.insert("source".into(), split(&source));
            let count = cell.remove("prompt_number").filter(Value::is_u64);
            cell.insert("execution_count".into(), count.unwrap_or(Value::Null));
            let outputs = match cell.remove("outputs") {
                Some(Value::Array(outputs)) => outputs.into_iter().map(upgraded_output).collect(),
                _ => Vec::new(),
            };
            cell.insert("outputs".into(), Value::Array(outputs));
        }
        "heading" => {
            let level = cell.remove("level").and_then(|level| level.as_u64()).unwrap_or(1).clamp(1, 6);
            let source = cell.get("source").and_then(joined).unwrap_or_default();
            let hashes = "#".repeat(usize::try_from(level).unwrap_or(1));
            let line = source.lines().collect::<Vec<_>>().join(" ");
            cell.insert("cell_type".into(), "markdown".into());
            cell.insert("source".into(), split(&format!("{hashes} {line}")));
        }
        kind => {
            let kind = if kind == "html" { "markdown".into() } else { kind.to_owned() };
            let source = cell.get("source").and_then(joined).unwrap_or_default();
            cell.insert("cell_type".into(), kind.into());
            cell.insert("source".into(), split(&source));
        }
    }
    let source = cell.get("source").and_then(joined).unwrap_or_default();
    cell.insert("id".into(), cell_id(index, &source).into());
    Value::Object(cell)
}

/// An id that depends on the content alone, so that upgrading twice gives the same file. The
/// position is part of it in clear: ids must be unique, and equal cells are common.
pub(crate) fn cell_id(index: usize, source: &str) -> String {
    // FNV-1a, 64 bits: stable for ever, unlike the standard library's hasher.
    let hash = source.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{index}-{:08x}", hash >> 32)
}

fn upgraded_output(output: Value) -> Value {
    let Value::Object(mut output) = output else { return output };
    match output.get("output_type").and_then(Value::as_str).unwrap_or("") {
        kind @ ("pyout" | "display_data") => {
            let executed = kind == "pyout";
            let mut new = Map::new();
            new.insert("output_type".into(), if executed { "execute_result" } else { "display_data" }.into());
            if executed {
                new.insert("execution_count".into(), output.remove("prompt_number").unwrap_or(Value::Null));
            }
            let metadata = match output.remove("metadata") {
                Some(Value::Object(metadata)) => {
                    metadata.into_iter().map(|(key, value)| (long_name(&key).to_owned(), value)).collect()
                }
                _ => Map::new(),
            };
            new.insert("metadata".into(), Value::Object(metadata));
            output.remove("output_type");
            output.remove("prompt_number");
            let data = output.into_iter().map(|(key, value)| {
                let mime = long_name(&key).to_owned();
                let parsed = (mime == "application/json").then(|| joined(&value)).flatten();
                let parsed = parsed.and_then(|text| serde_json::from_str(&text).ok());
                (mime, parsed.unwrap_or(value))
            });
            let data: Map<String, Value> = data.collect();
            new.insert("data".into(), Value::Object(data));
            Value::Object(new)
        }
        "pyerr" => {
            output.insert("output_type".into(), "error".into());
            Value::Object(output)
        }
        "stream" => {
            let name = output.remove("stream").unwrap_or_else(|| "stdout".into());
            output.insert("name".into(), name);
            Value::Object(output)
        }
        _ => Value::Object(output),
    }
}
