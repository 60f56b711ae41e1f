use std::path::Path;

use insta::assert_snapshot;
use mlem_notebook::{CellKind, Notebook};

use super::notebook;

fn cells(notebook: &Notebook) -> Vec<(CellKind, String)> {
    notebook.cells().iter().map(|cell| (cell.kind, cell.source.clone())).collect()
}

fn read(text: &str) -> Vec<(CellKind, String)> {
    cells(&Notebook::from_script(text, Path::new("a.py")))
}

fn code(source: &str) -> (CellKind, String) {
    (CellKind::Code, source.to_owned())
}

fn markdown(source: &str) -> (CellKind, String) {
    (CellKind::Markdown, source.to_owned())
}

#[test]
fn percent_format_is_written_and_read_back() {
    let mut notebook = notebook("v3.ipynb");
    assert_snapshot!(notebook.to_percent());
    notebook.upgrade();
    let again = Notebook::from_script(&notebook.to_percent(), Path::new("a.py"));
    assert_eq!(cells(&again), cells(&notebook));
    assert_eq!(again.nbformat(), (4, 5));
}

#[test]
fn percent_format_keeps_tags_and_kernelspec() {
    let notebook = notebook("v4_5.ipynb");
    let text = notebook.to_percent();
    assert_snapshot!(text);
    let again = Notebook::from_script(&text, Path::new("a.py"));
    assert_eq!(cells(&again), cells(&notebook));
    assert_eq!(again.cells()[1].tags, ["parameters"]);
    assert_eq!(again.kernel_name(), Some("python3"));
    assert_eq!(again.to_percent(), text);
}

#[test]
fn text_that_looks_like_a_marker_survives() {
    let text = r###"{"nbformat": 4, "cells": [
        {"cell_type": "markdown", "source": "%% of the rows\n%%"},
        {"cell_type": "code", "source": "# %%\n# %% a comment\n# # %% two\n%%time\nx = 1"},
        {"cell_type": "markdown", "source": "# %% a title\n#\n##"},
        {"cell_type": "raw", "source": ""}]}"###;
    let notebook = Notebook::parse(text.into(), Path::new("a.ipynb")).unwrap();
    assert_eq!(read(&notebook.to_percent()), cells(&notebook));
}

#[test]
fn percent_scripts_of_other_tools_are_read() {
    let text = "import os\n\n#%% Load the data\nx = 1\n# %% [markdown]\n\"\"\"\n# Title\n\"\"\"\n# %% [markdown] tags=[\"a b\"]\n# Text\n#\n# more\n# %%\n%matplotlib inline\n# %d items";
    assert_eq!(
        read(text),
        [
            code("import os"),
            code("x = 1"),
            markdown("# Title"),
            markdown("Text\n\nmore"),
            code("%matplotlib inline\n# %d items")
        ]
    );
    let crlf = Notebook::from_script(&text.replace('\n', "\r\n"), Path::new("a.py"));
    assert_eq!(cells(&crlf), read(text));
    assert_eq!(crlf.cells()[3].tags, ["a b"]);
}

#[test]
fn nbconvert_format_is_written_and_read_back() {
    let mut notebook = notebook("v3.ipynb");
    assert_snapshot!(notebook.to_nbconvert());
    notebook.upgrade();
    let again = Notebook::from_script(&notebook.to_nbconvert(), Path::new("a.py"));
    assert_eq!(cells(&again), cells(&notebook));
    assert_eq!(again.cells()[3].execution_count, Some(2));
}

#[test]
fn nbconvert_scripts_of_old_versions_are_read() {
    let text = "\n# coding: utf-8\n\n# # Title\n# \n# Text\n\n# In[1]:\n\nget_ipython().magic(u'matplotlib inline')\nfiles = get_ipython().getoutput(u'ls')\n# a comment of the code\n\n\n# Second text\n\n# In[ ]:\n\nget_ipython().run_cell_magic(u'bash', u'', u'ls\\necho')\n\n";
    assert_eq!(
        read(text),
        [
            markdown("# Title\n\nText"),
            code("%matplotlib inline\nfiles = !ls\n# a comment of the code"),
            markdown("Second text"),
            code("%%bash\nls\necho")
        ]
    );
}

#[test]
fn plain_python_becomes_one_cell() {
    let text = "#!/usr/bin/env python\nimport os\n\n\ndef f():\n    return 1 % 2\n";
    assert_eq!(read(text), [code(text)]);
    assert_eq!(read(""), [code("")]);
}
