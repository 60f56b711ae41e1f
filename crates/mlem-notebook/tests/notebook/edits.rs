use std::path::Path;

use insta::assert_snapshot;
use mlem_notebook::{CellIndex, Notebook, Output};
use serde_json::{Map, json};

use super::{difference, fixture, notebook};

fn after_source(name: &str, edits: &[(usize, &str)]) -> String {
    let mut notebook = notebook(name);
    for (cell, source) in edits {
        notebook.set_source(CellIndex(*cell), source);
    }
    difference(&fixture(name), &notebook.to_text())
}

#[test]
fn a_source_keeps_its_form_and_its_unchanged_lines() {
    assert_snapshot!(after_source(
        "v4_5.ipynb",
        &[
            (1, "import pandas as pd\ndf = pd.DataFrame({'größe': [1]})\ndf\n"),
            (2, "x = 1\ny = 2"),
            (4, "one = \"é\"\n"),
            (0, "")
        ]
    ));
}

#[test]
fn an_ascii_file_stays_ascii_and_odd_escapes_stay_odd() {
    assert_snapshot!(after_source(
        "v4_2_indent_4_ascii.ipynb",
        &[(0, "s = 'thé \u{1f600}'"), (1, "x = 2\ny = '</b><'\nz = 'ü'")]
    ));
}

#[test]
fn a_source_where_there_was_none_can_be_taken_back() {
    let text = r#"{"cells": [{"cell_type": "raw", "metadata": {}}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#;
    let mut notebook = Notebook::parse(text.to_owned(), Path::new("a.ipynb")).unwrap();
    notebook.set_source(CellIndex(0), "x");
    assert!(notebook.to_text().contains(r#""source": "x""#), "{}", notebook.to_text());
    notebook.set_source(CellIndex(0), "");
    assert_eq!(notebook.to_text(), text);
}

#[test]
fn nbformat_3_is_edited_in_its_own_form() {
    let mut notebook = notebook("v3.ipynb");
    notebook.set_source(CellIndex(1), "import pandas as pd\nprint('rows:', 3)");
    notebook.set_outputs(CellIndex(1), Some(7), &outputs());
    notebook.set_source(CellIndex(2), "One *string*");
    notebook.set_outputs(CellIndex(4), Some(8), &[]);
    notebook.set_cell_metadata(CellIndex(4), "tags", json!(["slow"]));
    assert_snapshot!(difference(&fixture("v3.ipynb"), &notebook.to_text()));
}

#[test]
fn a_lone_surrogate_survives_an_edit_of_another_line() {
    assert_snapshot!(after_source(
        "as_python_writes.ipynb",
        &[(0, "a = '\u{fffd}'\nb = 'nul: \0'\nc = 4"), (1, "x = 2")]
    ));
}

#[test]
fn a_compact_file_stays_compact() {
    let mut notebook = notebook("compact.ipynb");
    notebook.set_source(CellIndex(0), "x = 1\ny = 3\nz = 4");
    notebook.set_source(CellIndex(1), "a\nb");
    notebook.set_outputs(
        CellIndex(0),
        Some(1),
        &[Output::Stream { name: "stdout".into(), text: "a\nb".into() }],
    );
    notebook.set_cell_metadata(CellIndex(1), "k", json!(1));
    assert_snapshot!(notebook.to_text());
}

/// One output of every kind.
fn outputs() -> Vec<Output> {
    let mut data = Map::new();
    data.insert("text/plain".into(), json!("one\ntwo"));
    data.insert("image/png".into(), json!("iVBORw0KGgo=\n"));
    data.insert("application/json".into(), json!({"b": [1, "x\ny"], "a": {}}));
    vec![
        Output::Stream { name: "stderr".into(), text: "careful\n".into() },
        Output::DisplayData { data: data.clone(), metadata: Map::new(), display_id: Some("id".into()) },
        Output::ExecuteResult { execution_count: Some(7), data, metadata: Map::new() },
        Output::Error {
            ename: "E".into(),
            evalue: "v".into(),
            traceback: vec!["line\n1".into(), "line 2".into()],
        },
    ]
}

#[test]
fn outputs_are_written_in_the_form_of_nbformat_4_and_read_back() {
    let mut notebook = notebook("v4_5.ipynb");
    notebook.set_outputs(CellIndex(2), Some(7), &outputs());
    notebook.set_outputs(CellIndex(3), None, &[]);
    assert!(notebook.cells()[2].has_error_output());
    assert!(!notebook.cells()[3].has_error_output());
    let text = notebook.to_text();
    assert_snapshot!(difference(&fixture("v4_5.ipynb"), &text));

    let again = Notebook::parse(text, Path::new("again")).unwrap();
    let mut expected = outputs();
    // The display id belongs to a running kernel, not to a file.
    if let Output::DisplayData { display_id, .. } = &mut expected[1] {
        *display_id = None;
    }
    assert_eq!(again.cells()[2].outputs(), expected);
    assert_eq!(again.cells()[2].execution_count, Some(7));
}

#[test]
fn outputs_of_nbformat_3_read_back() {
    let mut notebook = notebook("v3.ipynb");
    notebook.set_outputs(CellIndex(4), Some(7), &outputs());
    let again = Notebook::parse(notebook.to_text(), Path::new("again")).unwrap();
    let mut expected = outputs();
    if let Output::DisplayData { display_id, .. } = &mut expected[1] {
        *display_id = None;
    }
    assert_eq!(again.cells()[4].outputs(), expected);
}

#[test]
fn metadata_is_changed_key_by_key() {
    let mut notebook = notebook("v4_5.ipynb");
    notebook.set_cell_metadata(CellIndex(1), "tags", json!(["slow"]));
    notebook.set_cell_metadata(CellIndex(1), "mlem", json!({"seconds": 1.5}));
    notebook.set_cell_metadata(CellIndex(2), "mlem", json!({"seconds": 2}));
    notebook.set_kernel(
        json!({"display_name": "Python 3", "language": "python", "name": "python3"}),
        json!({"name": "python", "version": "3.11.7"}),
    );
    assert_eq!(notebook.language_version(), Some("3.11.7"));
    assert_eq!(notebook.cells()[1].tags, ["slow"]);
    assert_snapshot!(difference(&fixture("v4_5.ipynb"), &notebook.to_text()));
}

#[test]
fn members_that_are_missing_are_added() {
    let text = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\"\n  }\n ],\n \"nbformat\": 4\n}\n";
    let mut notebook = Notebook::parse(text.into(), Path::new("bare")).unwrap();
    notebook.set_source(CellIndex(0), "x = 1");
    notebook.set_outputs(CellIndex(0), Some(1), &[]);
    notebook.set_cell_metadata(CellIndex(0), "tags", json!([]));
    notebook.set_metadata("title", json!("t"));
    let new = notebook.to_text();
    assert_snapshot!(difference(text, &new));
    let again = Notebook::parse(new, Path::new("again")).unwrap();
    assert_eq!(again.cells()[0].source, "x = 1");
    assert_eq!(again.cells()[0].execution_count, Some(1));
}

#[test]
fn edits_of_cells_that_are_not_there_do_nothing() {
    let mut notebook = notebook("v4_5.ipynb");
    notebook.set_source(CellIndex(99), "x");
    notebook.set_outputs(CellIndex(99), None, &[]);
    notebook.set_outputs(CellIndex(0), Some(3), &outputs());
    notebook.set_cell_metadata(CellIndex(99), "k", json!(1));
    assert_eq!(notebook.to_text(), fixture("v4_5.ipynb"));
}
