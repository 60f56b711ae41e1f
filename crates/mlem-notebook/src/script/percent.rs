//! The percent format: `# %%` before every cell (jupytext, Spyder, VS Code).

use serde_json::{Map, Value, json};

use super::{ScriptCell, commented, magic, uncommented};
use crate::cell::CellKind;
use crate::notebook::Notebook;

/// The text behind a cell marker.
pub(super) fn marker(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("# %%").or_else(|| line.strip_prefix("#%%"))?;
    (rest.is_empty() || rest.starts_with([' ', '\t', '['])).then(|| rest.trim())
}

/// The notebook in percent format, with the header that jupytext writes.
pub(crate) fn write(notebook: &Notebook) -> String {
    let mut text = header(notebook);
    for cell in notebook.cells() {
        let mut line = String::from("# %%");
        match cell.kind {
            CellKind::Code => {}
            CellKind::Markdown | CellKind::Heading => line.push_str(" [markdown]"),
            CellKind::Raw => line.push_str(" [raw]"),
        }
        if !cell.tags.is_empty() {
            line.push_str(&format!(" tags={}", json!(cell.tags)));
        }
        let source = match cell.kind {
            CellKind::Code => magic::comment(&cell.source),
            CellKind::Markdown | CellKind::Raw => text_cell(&cell.source),
            CellKind::Heading => text_cell(&super::heading(cell)),
        };
        text.push_str(&format!("{line}\n{source}\n\n"));
    }
    // One empty line between cells, none at the end.
    if text.ends_with("\n\n") {
        text.pop();
    }
    text
}

/// Text as comments, or in a string where a line of it would become a cell marker.
fn text_cell(source: &str) -> String {
    let comments = commented(source, "#");
    if comments.lines().any(|line| marker(line).is_some()) && !source.contains("\"\"\"") {
        return format!("r\"\"\"\n{source}\n\"\"\"");
    }
    comments
}

fn header(notebook: &Notebook) -> String {
    let mut lines = vec![
        "# ---",
        "# jupyter:",
        "#   jupytext:",
        "#     text_representation:",
        "#       extension: .py",
        "#       format_name: percent",
        "#       format_version: '1.3'",
    ]
    .into_iter()
    .map(str::to_owned)
    .collect::<Vec<_>>();
    if let Some((name, display_name, language)) = notebook.kernelspec() {
        lines.push("#   kernelspec:".into());
        lines.push(format!("#     display_name: {}", scalar(display_name)));
        lines.push(format!("#     language: {}", scalar(language)));
        lines.push(format!("#     name: {}", scalar(name)));
    }
    lines.push("# ---\n\n".into());
    lines.join("\n")
}

/// A YAML scalar: quoted where the plain form would be read as something else.
fn scalar(text: &str) -> String {
    let plain = text.starts_with(|first: char| first.is_alphabetic())
        && text.chars().all(|character| character.is_alphanumeric() || " _-.()".contains(character))
        && !text.ends_with(' ');
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "''")) }
}

/// Whether a text is in percent format; one without cells has at least the header.
pub(super) fn recognises(text: &str) -> bool {
    text.lines().any(|line| marker(line).is_some()) || text.starts_with("# ---\n# jupyter:\n")
}

/// The cells and the notebook's metadata.
pub(super) fn read(text: &str) -> (Vec<ScriptCell>, Value) {
    let (metadata, body) = split_header(text);
    let mut cells = Vec::new();
    let mut current: Option<(&str, Vec<&str>)> = None;
    let mut before: Vec<&str> = Vec::new();
    for line in body.split('\n') {
        match (marker(line), &mut current) {
            (Some(next), _) => {
                if let Some((options, lines)) = current.take() {
                    cells.push(cell(options, &lines));
                }
                current = Some((next, Vec::new()));
            }
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => before.push(line),
        }
    }
    if let Some((options, lines)) = current {
        cells.push(cell(options, &lines));
    }
    let before = before.join("\n");
    if !before.trim().is_empty() {
        let source = magic::uncomment(before.trim_end_matches('\n'));
        cells.insert(0, ScriptCell::code(source));
    }
    (cells, metadata)
}

/// A cell from the text behind its marker and the lines below.
fn cell(options: &str, lines: &[&str]) -> ScriptCell {
    let text = lines.join("\n");
    // The empty line before the next marker, or the line feed at the end of the file.
    let source = text.strip_suffix('\n').unwrap_or(&text);
    let (kind, options) = match options.strip_prefix("[markdown]").or_else(|| options.strip_prefix("[md]")) {
        Some(rest) => ("markdown", rest),
        None => match options.strip_prefix("[raw]") {
            Some(rest) => ("raw", rest),
            None => ("code", options),
        },
    };
    let source = if kind == "code" {
        magic::uncomment(source)
    } else {
        docstring(source).unwrap_or_else(|| uncommented(source))
    };
    ScriptCell { kind, source, metadata: metadata(options), execution_count: None }
}

/// Markdown may also stand in a triple-quoted string.
fn docstring(source: &str) -> Option<String> {
    let text = source.trim();
    let text = text.strip_prefix(['r', 'R']).unwrap_or(text);
    ["\"\"\"", "'''"].iter().find_map(|quotes| {
        let inner = text.strip_prefix(quotes)?.strip_suffix(quotes)?;
        Some(inner.trim_matches('\n').to_owned())
    })
}

/// The `key=value` pairs behind a marker, values in JSON; words before them are the title.
fn metadata(options: &str) -> Map<String, Value> {
    let mut metadata = Map::new();
    let mut rest = options.trim();
    let mut title = Vec::new();
    while !rest.is_empty() {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if let Some((key, _)) = word.split_once('=')
            && !key.is_empty()
        {
            let value = &rest[key.len() + 1..];
            let mut values = serde_json::Deserializer::from_str(value).into_iter::<Value>();
            if let Some(Ok(parsed)) = values.next() {
                metadata.insert(key.to_owned(), parsed);
                rest = value[values.byte_offset()..].trim_start();
                continue;
            }
        }
        title.push(word);
        rest = after.trim_start();
    }
    if !title.is_empty() {
        metadata.insert("title".into(), title.join(" ").into());
    }
    metadata
}

/// Takes jupytext's header off and reads the kernelspec from it.
fn split_header(text: &str) -> (Value, &str) {
    let Some(after) = text.strip_prefix("# ---\n") else { return (json!({}), text) };
    let Some(end) = after.find("\n# ---\n") else { return (json!({}), text) };
    let mut kernelspec = Map::new();
    let mut inside = false;
    for line in after[..end].lines() {
        let line = line.strip_prefix('#').unwrap_or(line);
        let depth = line.len() - line.trim_start().len();
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        if value.is_empty() || depth <= 3 {
            inside = key == "kernelspec";
        } else if inside {
            let value = value.trim();
            let quoted =
                ['\'', '"'].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
            kernelspec.insert(
                key.to_owned(),
                quoted.map_or_else(|| value.into(), |text| text.replace("''", "'")).into(),
            );
        }
    }
    let metadata = if kernelspec.is_empty() { json!({}) } else { json!({"kernelspec": kernelspec}) };
    (metadata, &after[end + "\n# ---\n".len()..])
}
