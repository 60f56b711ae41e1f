//! The outputs of a code cell, in one shape for nbformat 3 and 4.

use serde_json::{Map, Value, json};

/// The data of a rich output: MIME type to value. Text is one string, JSON types are values.
pub type MimeBundle = Map<String, Value>;

/// One output of a code cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Text written to a stream.
    Stream {
        /// `stdout` or `stderr`.
        name: String,
        /// What was written.
        text: String,
    },
    /// Something shown by `display()`.
    DisplayData {
        /// MIME type to value.
        data: MimeBundle,
        /// Metadata, by MIME type where it belongs to one.
        metadata: Map<String, Value>,
        /// The id under which a kernel may update it. Never written to a file.
        display_id: Option<String>,
    },
    /// The value of the cell's last expression.
    ExecuteResult {
        /// The prompt number.
        execution_count: Option<u64>,
        /// MIME type to value.
        data: MimeBundle,
        /// Metadata, by MIME type where it belongs to one.
        metadata: Map<String, Value>,
    },
    /// An exception that ended the cell.
    Error {
        /// The exception's class.
        ename: String,
        /// Its message.
        evalue: String,
        /// Formatted lines, usually with ANSI colours.
        traceback: Vec<String>,
    },
}

/// nbformat 3's short names and their MIME types (nbformat, `v4/convert.py`, `_mime_map`).
const SHORT_NAMES: [(&str, &str); 8] = [
    ("text", "text/plain"),
    ("html", "text/html"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpeg", "image/jpeg"),
    ("latex", "text/latex"),
    ("json", "application/json"),
    ("javascript", "application/javascript"),
];

pub(crate) fn is_json_mime(mime: &str) -> bool {
    mime == "application/json" || (mime.starts_with("application/") && mime.ends_with("+json"))
}

/// nbformat splits these into lines when it writes (nbformat, `v4/rwbase.py`).
fn is_split_mime(mime: &str) -> bool {
    mime.starts_with("text/") || matches!(mime, "application/javascript" | "image/svg+xml")
}

/// The text of a value that may be a string or a list of strings.
pub(crate) fn joined(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) => lines.iter().map(Value::as_str).collect::<Option<String>>(),
        _ => None,
    }
}

/// The lines of a text, each with its line feed, as a JSON list.
pub(crate) fn split(text: &str) -> Value {
    Value::Array(text.split_inclusive('\n').map(Value::from).collect())
}

fn object(value: Option<&Value>) -> Map<String, Value> {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The metadata of a rich output; what nbformat 3 keeps by short name gets its MIME type.
fn rich_metadata(output: &Value) -> Map<String, Value> {
    object(output.get("metadata"))
        .into_iter()
        .map(|(key, value)| (long_name(&key).to_owned(), value))
        .collect()
}

fn string(value: Option<&Value>) -> String {
    value.and_then(joined).unwrap_or_default()
}

impl Output {
    /// Reads one output in the form of nbformat 4 or 3. Missing members count as empty; an output
    /// of a type that neither format knows is `None`.
    pub fn from_value(value: &Value) -> Option<Output> {
        let kind = value.get("output_type")?.as_str()?;
        Some(match kind {
            "stream" => Output::Stream {
                // nbformat 3 calls the stream's name `stream`.
                name: value
                    .get("name")
                    .or_else(|| value.get("stream"))
                    .and_then(Value::as_str)
                    .unwrap_or("stdout")
                    .into(),
                text: string(value.get("text")),
            },
            "display_data" => Output::DisplayData {
                data: bundle(value),
                metadata: rich_metadata(value),
                display_id: value.pointer("/transient/display_id").and_then(Value::as_str).map(str::to_owned),
            },
            "execute_result" | "pyout" => Output::ExecuteResult {
                execution_count: value
                    .get("execution_count")
                    .or_else(|| value.get("prompt_number"))
                    .and_then(Value::as_u64),
                data: bundle(value),
                metadata: rich_metadata(value),
            },
            "error" | "pyerr" => Output::Error {
                ename: string(value.get("ename")),
                evalue: string(value.get("evalue")),
                traceback: match value.get("traceback") {
                    Some(Value::Array(lines)) => {
                        lines.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                    }
                    Some(Value::String(text)) => vec![text.clone()],
                    _ => Vec::new(),
                },
            },
            _ => return None,
        })
    }

    /// The output as nbformat 4 stores it: keys sorted, text as a list of lines, no `transient`.
    pub fn to_value(&self) -> Value {
        match self {
            Output::Stream { name, text } => {
                json!({"name": name, "output_type": "stream", "text": split(text)})
            }
            Output::DisplayData { data, metadata, .. } => {
                json!({"data": split_bundle(data), "metadata": metadata, "output_type": "display_data"})
            }
            Output::ExecuteResult { execution_count, data, metadata } => json!({
                "data": split_bundle(data),
                "execution_count": execution_count,
                "metadata": metadata,
                "output_type": "execute_result",
            }),
            Output::Error { ename, evalue, traceback } => {
                json!({"ename": ename, "evalue": evalue, "output_type": "error", "traceback": traceback})
            }
        }
    }

    /// The output as nbformat 3 stores it: short names instead of MIME types, `pyout`, `pyerr`.
    pub fn to_value_v3(&self) -> Value {
        let mut members = match self {
            Output::Stream { name, text } => {
                return json!({"output_type": "stream", "stream": name, "text": split(text)});
            }
            Output::Error { ename, evalue, traceback } => {
                return json!({"ename": ename, "evalue": evalue, "output_type": "pyerr", "traceback": traceback});
            }
            Output::DisplayData { data, metadata, .. } => {
                let mut members = split_bundle_v3(data);
                members.insert("metadata".into(), short_keys(metadata).into());
                members.insert("output_type".into(), "display_data".into());
                members
            }
            Output::ExecuteResult { execution_count, data, metadata } => {
                let mut members = split_bundle_v3(data);
                members.insert("metadata".into(), short_keys(metadata).into());
                members.insert("output_type".into(), "pyout".into());
                if let Some(count) = execution_count {
                    members.insert("prompt_number".into(), (*count).into());
                }
                members
            }
        };
        members.sort_keys();
        Value::Object(members)
    }
}

/// nbformat 4 keeps the data in `data`; nbformat 3 spreads it over the output itself.
fn bundle(output: &Value) -> MimeBundle {
    let mut bundle = MimeBundle::new();
    if let Some(Value::Object(data)) = output.get("data") {
        for (mime, value) in data {
            let text = if is_json_mime(mime) { None } else { joined(value) };
            bundle.insert(mime.clone(), text.map_or_else(|| value.clone(), Value::String));
        }
        return bundle;
    }
    let Value::Object(members) = output else { return bundle };
    for (key, value) in members {
        if matches!(
            key.as_str(),
            "output_type" | "prompt_number" | "execution_count" | "metadata" | "transient"
        ) {
            continue;
        }
        let mime = long_name(key);
        let mut value = joined(value).map_or_else(|| value.clone(), Value::String);
        if mime == "application/json"
            && let Some(parsed) = value.as_str().and_then(|text| serde_json::from_str(text).ok())
        {
            value = parsed;
        }
        bundle.insert(mime.to_owned(), value);
    }
    bundle
}

/// The MIME type of a short name of nbformat 3; other keys are MIME types already.
pub(crate) fn long_name(key: &str) -> &str {
    SHORT_NAMES.iter().find(|(short, _)| *short == key).map_or(key, |(_, long)| long)
}

fn short_name(mime: &str) -> &str {
    SHORT_NAMES.iter().find(|(_, long)| *long == mime).map_or(mime, |(short, _)| short)
}

fn short_keys(map: &Map<String, Value>) -> Map<String, Value> {
    map.iter().map(|(key, value)| (short_name(key).to_owned(), value.clone())).collect()
}

/// A bundle as nbformat writes it: textual types as lists of lines.
fn split_bundle(data: &MimeBundle) -> Map<String, Value> {
    let mut written: Map<String, Value> = data
        .iter()
        .map(|(mime, value)| match value {
            Value::String(text) if is_split_mime(mime) => (mime.clone(), split(text)),
            _ => (mime.clone(), value.clone()),
        })
        .collect();
    written.sort_keys();
    written
}

fn split_bundle_v3(data: &MimeBundle) -> Map<String, Value> {
    data.iter()
        .map(|(mime, value)| {
            let value = match value {
                Value::String(text) if is_split_mime(mime) => split(text),
                // nbformat 3 holds JSON as text.
                other if mime == "application/json" => Value::String(other.to_string()),
                other => other.clone(),
            };
            (short_name(mime).to_owned(), value)
        })
        .collect()
}
