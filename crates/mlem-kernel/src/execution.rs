//! What executing one cell gave: status, outputs, times.

use std::time::{Duration, SystemTime};

use mlem_notebook::{MimeBundle, Output};
use serde_json::{Map, Value};

use crate::process::Death;

/// How a cell is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecuteOptions {
    /// Time after which the cell is interrupted.
    pub deadline: Option<Duration>,
    /// Time that an interrupted cell has to end before its kernel is killed.
    pub interrupt_grace: Duration,
    /// Whether the code goes into the kernel's history and counts.
    pub store_history: bool,
    /// Whether the kernel broadcasts nothing but streams.
    pub silent: bool,
    /// Whether the kernel drops requests that were queued behind this one when it fails. One request
    /// is sent at a time here, so `false` only spares the next cell from being dropped while an old
    /// ipykernel is still emptying its queue.
    pub stop_on_error: bool,
    /// Bytes of output kept; what comes beyond is counted and dropped, a final error excepted.
    pub output_limit_bytes: usize,
}

impl Default for ExecuteOptions {
    fn default() -> ExecuteOptions {
        ExecuteOptions {
            deadline: None,
            interrupt_grace: Duration::from_secs(5),
            store_history: true,
            silent: false,
            stop_on_error: false,
            output_limit_bytes: 64 << 20,
        }
    }
}

/// How the execution of a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionStatus {
    /// It ran to its end.
    Ok,
    /// It raised; the outputs hold the error.
    Error,
    /// The kernel did not run it.
    Aborted,
    /// The deadline passed and it was interrupted; [`Kernel::is_alive`](crate::Kernel::is_alive)
    /// tells whether the kernel survived that.
    TimedOut,
    /// The kernel died under it.
    KernelDied(Death),
}

/// The execution of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// How it ended.
    pub status: ExecutionStatus,
    /// The prompt number that the kernel gave it.
    pub execution_count: Option<u64>,
    /// The outputs, as a notebook shows them.
    pub outputs: Vec<Output>,
    /// Displays that the cell changed, the last state of each; they may belong to earlier cells
    /// ([`DisplayUpdate::apply`]). Those of this cell are in `outputs` already.
    pub updates: Vec<DisplayUpdate>,
    /// When the request was sent.
    pub started: SystemTime,
    /// When it was over.
    pub finished: SystemTime,
    /// Time between the two by a clock that is never set, in seconds.
    pub seconds: f64,
    /// Bytes of output that were not kept.
    pub truncated_bytes: u64,
    /// Whether the cell asked the kernel to end (`exit()`, `quit()`): it will, shortly.
    pub exit_requested: bool,
}

impl Execution {
    /// The error that ended the cell: class, message, traceback lines.
    pub fn error(&self) -> Option<(&str, &str, &[String])> {
        self.outputs.iter().rev().find_map(|output| match output {
            Output::Error { ename, evalue, traceback } => {
                Some((ename.as_str(), evalue.as_str(), traceback.as_slice()))
            }
            _ => None,
        })
    }
}

/// A display that got new data.
#[derive(Clone, Debug, PartialEq)]
pub struct DisplayUpdate {
    /// The display's id.
    pub display_id: String,
    /// Its new data.
    pub data: MimeBundle,
    /// Its new metadata.
    pub metadata: Map<String, Value>,
}

impl DisplayUpdate {
    /// Changes the displays with this id among `outputs`; tells whether there was one.
    pub fn apply(&self, outputs: &mut [Output]) -> bool {
        let mut found = false;
        for output in outputs {
            if let Output::DisplayData { data, metadata, display_id: Some(id) } = output
                && *id == self.display_id
            {
                data.clone_from(&self.data);
                metadata.clone_from(&self.metadata);
                found = true;
            }
        }
        found
    }
}

/// What happens while a cell runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellEvent<'a> {
    /// The kernel took up the request.
    Started,
    /// Text was written to `stdout` or `stderr`.
    Stream {
        /// Name of the stream.
        name: &'a str,
        /// The new text.
        text: &'a str,
    },
    /// Another output came.
    Output(&'a Output),
    /// A display was changed.
    DisplayUpdated(&'a DisplayUpdate),
    /// The outputs so far were cleared.
    Cleared,
    /// The deadline passed: the kernel was sent SIGINT.
    Interrupted,
    /// The interrupt had no effect in time: the kernel was killed.
    Killed,
}

/// An expression that could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{ename}: {evalue}")]
pub struct EvaluationError {
    /// The exception's class.
    pub ename: String,
    /// Its message.
    pub evalue: String,
}

/// Most outputs of one cell that are kept.
const MAX_OUTPUTS: usize = 10_000;

/// Most bytes kept of an error's message, and of each line of its traceback.
const MAX_ERROR_TEXT: usize = 64 * 1024;

/// Most lines of a traceback that are kept; the last ones say where it was raised.
const MAX_TRACEBACK: usize = 200;

/// The outputs of a running cell, put together as a notebook frontend does.
#[derive(Debug)]
pub(crate) struct OutputArea {
    outputs: Vec<Output>,
    updates: Vec<DisplayUpdate>,
    kept: usize,
    limit: usize,
    truncated: u64,
    clear_before_next: bool,
}

impl OutputArea {
    pub(crate) fn new(limit: usize) -> OutputArea {
        OutputArea {
            outputs: Vec::new(),
            updates: Vec::new(),
            kept: 0,
            limit,
            truncated: 0,
            clear_before_next: false,
        }
    }

    /// Counts bytes that never got here.
    pub(crate) fn count_truncated(&mut self, bytes: u64) {
        self.truncated += bytes;
    }

    /// Outputs, updates of displays, bytes not kept.
    pub(crate) fn finish(self) -> (Vec<Output>, Vec<DisplayUpdate>, u64) {
        (self.outputs, self.updates, self.truncated)
    }

    pub(crate) fn has_error(&self) -> bool {
        self.outputs.iter().any(|output| matches!(output, Output::Error { .. }))
    }

    /// Takes one broadcast of the cell's.
    pub(crate) fn take(&mut self, kind: &str, content: Value, on_event: &mut impl FnMut(CellEvent<'_>)) {
        let Value::Object(mut content) = content else {
            return;
        };
        match kind {
            "clear_output" => {
                if content.get("wait").and_then(Value::as_bool).unwrap_or(false) {
                    self.clear_before_next = true;
                } else {
                    self.clear(on_event);
                }
            }
            "stream" => {
                let name = text(&mut content, "name");
                let text = text(&mut content, "text");
                self.stream(name, text, on_event);
            }
            "display_data" => {
                let display_id = display_id(&content);
                let output = Output::DisplayData {
                    data: object(&mut content, "data"),
                    metadata: object(&mut content, "metadata"),
                    display_id,
                };
                self.push(output, on_event);
            }
            // `pyout` and `pyerr` are the names of protocol 4.
            "execute_result" | "pyout" => {
                let output = Output::ExecuteResult {
                    execution_count: content.get("execution_count").and_then(Value::as_u64),
                    data: object(&mut content, "data"),
                    metadata: object(&mut content, "metadata"),
                };
                self.push(output, on_event);
            }
            "update_display_data" => {
                if let Some(display_id) = display_id(&content) {
                    let update = DisplayUpdate {
                        display_id,
                        data: object(&mut content, "data"),
                        metadata: object(&mut content, "metadata"),
                    };
                    self.update(update, on_event);
                }
            }
            "error" | "pyerr" => self.error(&mut content, on_event),
            _ => {}
        }
    }

    fn clear(&mut self, on_event: &mut impl FnMut(CellEvent<'_>)) {
        self.outputs.clear();
        self.kept = 0;
        self.clear_before_next = false;
        on_event(CellEvent::Cleared);
    }

    fn clear_if_waiting(&mut self, on_event: &mut impl FnMut(CellEvent<'_>)) {
        if self.clear_before_next {
            self.clear(on_event);
        }
    }

    fn stream(&mut self, name: String, mut text: String, on_event: &mut impl FnMut(CellEvent<'_>)) {
        self.clear_if_waiting(on_event);
        on_event(CellEvent::Stream { name: &name, text: &text });
        let room = self.limit.saturating_sub(self.kept);
        self.truncated += cut(&mut text, room) as u64;
        if text.is_empty() {
            return;
        }
        if let Some(Output::Stream { name: last, text: so_far }) = self.outputs.last_mut()
            && *last == name
        {
            self.kept += text.len();
            so_far.push_str(&text);
        } else if self.outputs.len() < MAX_OUTPUTS {
            self.kept += text.len();
            self.outputs.push(Output::Stream { name, text });
        } else {
            self.truncated += text.len() as u64;
        }
    }

    fn push(&mut self, output: Output, on_event: &mut impl FnMut(CellEvent<'_>)) {
        self.clear_if_waiting(on_event);
        on_event(CellEvent::Output(&output));
        let size = output_bytes(&output);
        if self.kept + size > self.limit || self.outputs.len() >= MAX_OUTPUTS {
            self.truncated += size as u64;
        } else {
            self.kept += size;
            self.outputs.push(output);
        }
    }

    fn update(&mut self, update: DisplayUpdate, on_event: &mut impl FnMut(CellEvent<'_>)) {
        on_event(CellEvent::DisplayUpdated(&update));
        let size = bundle_bytes(&update.data);
        let known = self.updates.iter().position(|known| known.display_id == update.display_id);
        let freed = known.map_or(0, |index| bundle_bytes(&self.updates[index].data));
        if self.kept - freed.min(self.kept) + size > self.limit || self.updates.len() >= MAX_OUTPUTS {
            self.truncated += size as u64;
            return;
        }
        self.kept = self.kept - freed.min(self.kept) + size;
        update.apply(&mut self.outputs);
        match known {
            Some(index) => self.updates[index] = update,
            None => self.updates.push(update),
        }
    }

    /// An error is always kept: it is the reason why the cell failed.
    fn error(&mut self, content: &mut Map<String, Value>, on_event: &mut impl FnMut(CellEvent<'_>)) {
        self.clear_if_waiting(on_event);
        let mut ename = text(content, "ename");
        let mut evalue = text(content, "evalue");
        let mut traceback: Vec<String> = match content.remove("traceback") {
            Some(Value::Array(lines)) => lines
                .into_iter()
                .filter_map(|line| match line {
                    Value::String(line) => Some(line),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        let excess = traceback.len().saturating_sub(MAX_TRACEBACK);
        self.truncated += traceback.drain(..excess).map(|line| line.len() as u64).sum::<u64>();
        for piece in [&mut ename, &mut evalue].into_iter().chain(&mut traceback) {
            self.truncated += cut(piece, MAX_ERROR_TEXT) as u64;
        }
        let output = Output::Error { ename, evalue, traceback };
        on_event(CellEvent::Output(&output));
        self.outputs.push(output);
    }
}

/// Takes a string out of a message.
fn text(content: &mut Map<String, Value>, name: &str) -> String {
    match content.get_mut(name).map(Value::take) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}

/// Takes an object out of a message.
fn object(content: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match content.get_mut(name).map(Value::take) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn display_id(content: &Map<String, Value>) -> Option<String> {
    let id = content.get("transient")?.get("display_id")?;
    match id {
        Value::String(id) => Some(id.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

/// Cuts a text to at most `room` bytes at a character's border; returns the bytes cut off.
fn cut(text: &mut String, room: usize) -> usize {
    if text.len() <= room {
        return 0;
    }
    let mut end = room;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let excess = text.len() - end;
    text.truncate(end);
    text.shrink_to_fit();
    excess
}

fn output_bytes(output: &Output) -> usize {
    match output {
        Output::Stream { text, .. } => text.len(),
        Output::DisplayData { data, .. } | Output::ExecuteResult { data, .. } => bundle_bytes(data),
        Output::Error { .. } => 0,
    }
}

/// The size of a bundle's values, roughly as a file would hold them.
fn bundle_bytes(bundle: &MimeBundle) -> usize {
    fn size(value: &Value) -> usize {
        match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(|item| size(item) + 2).sum(),
            Value::Object(map) => map.iter().map(|(key, item)| key.len() + size(item) + 4).sum(),
            _ => 8,
        }
    }
    bundle.values().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn area(limit: usize, messages: &[(&str, Value)]) -> OutputArea {
        let mut area = OutputArea::new(limit);
        for (kind, content) in messages {
            area.take(kind, content.clone(), &mut |_| {});
        }
        area
    }

    fn stream(name: &str, text: &str) -> (&'static str, Value) {
        ("stream", json!({"name": name, "text": text}))
    }

    fn written(name: &str, text: &str) -> Output {
        Output::Stream { name: name.into(), text: text.into() }
    }

    #[test]
    fn neighbouring_text_of_one_stream_is_one_output() {
        let area = area(
            1000,
            &[stream("stdout", "a\r"), stream("stdout", "b"), stream("stderr", "c"), stream("stdout", "d")],
        );
        assert_eq!(area.outputs, [written("stdout", "a\rb"), written("stderr", "c"), written("stdout", "d")]);
    }

    #[test]
    fn a_waiting_clear_comes_with_the_next_output() {
        let wait = ("clear_output", json!({"wait": true}));
        let kept = area(1000, &[stream("stdout", "a"), wait.clone()]);
        assert_eq!(kept.outputs, [written("stdout", "a")]);
        let replaced = area(1000, &[stream("stdout", "a"), wait, stream("stdout", "b")]);
        assert_eq!(replaced.outputs, [written("stdout", "b")]);
        let cleared = area(1000, &[stream("stdout", "a"), ("clear_output", json!({"wait": false}))]);
        assert!(cleared.outputs.is_empty());
    }

    #[test]
    fn an_update_changes_the_display_and_is_reported() {
        let shown = |kind, text| {
            (kind, json!({"data": {"text/plain": text}, "metadata": {}, "transient": {"display_id": "d"}}))
        };
        let area = area(
            1000,
            &[
                shown("display_data", "old"),
                shown("update_display_data", "x"),
                shown("update_display_data", "new"),
            ],
        );
        assert!(matches!(&area.outputs[0], Output::DisplayData { data, .. } if data["text/plain"] == "new"));
        assert_eq!(area.updates.len(), 1);
        assert_eq!(area.updates[0].data["text/plain"], "new");
    }

    #[test]
    fn beyond_the_limit_only_errors_are_kept() {
        let area = area(
            5,
            &[
                stream("stdout", "ab€cd"),
                stream("stdout", "more"),
                ("display_data", json!({"data": {"text/plain": "0123456789"}, "metadata": {}})),
                ("error", json!({"ename": "E", "evalue": "v", "traceback": ["t"]})),
            ],
        );
        assert_eq!(area.outputs[0], written("stdout", "ab€"));
        assert!(area.has_error());
        assert_eq!((area.outputs.len(), area.truncated), (2, 2 + 4 + 10));
    }

    #[test]
    fn a_clear_makes_room_again() {
        let area = area(3, &[stream("stdout", "abc"), ("clear_output", json!({})), stream("stdout", "def")]);
        assert_eq!(area.outputs, [written("stdout", "def")]);
        assert_eq!(area.truncated, 0);
    }

    #[test]
    fn odd_contents_do_no_harm() {
        let area = area(
            100,
            &[
                ("stream", json!(null)),
                ("error", json!({"traceback": [1, "t"]})),
                ("stream", json!({"text": 3})),
            ],
        );
        assert_eq!(area.outputs.len(), 1);
    }
}
