use std::path::Path;

use mlem_notebook::{CellIndex, Notebook};

use super::every_text;

#[test]
fn an_untouched_notebook_is_written_byte_for_byte() {
    for (name, text) in every_text() {
        let notebook = Notebook::parse(text.clone(), Path::new(&name)).unwrap();
        assert_eq!(notebook.to_text(), text, "{name}");
    }
}

#[test]
fn an_edit_that_is_taken_back_leaves_no_trace() {
    for (name, text) in every_text() {
        let mut notebook = Notebook::parse(text.clone(), Path::new(&name)).unwrap();
        for index in 0..notebook.cells().len() {
            let source = notebook.cells()[index].source.clone();
            notebook.set_source(CellIndex(index), "something else\n");
            assert_ne!(notebook.to_text(), text, "{name}");
            notebook.set_source(CellIndex(index), &source);
        }
        assert_eq!(notebook.to_text(), text, "{name}");
    }
}

#[test]
fn every_edit_reads_back_as_it_was_made_and_touches_no_other_cell() {
    let sources =
        ["", "\n", "x", "a\nb", "a\r\nb\n\n", "é 😀 \u{2028} \" \\ \t \u{0} \u{7f} \u{1b}[0m", "  \n\n"];
    for (name, text) in every_text() {
        let original = Notebook::parse(text, Path::new(&name)).unwrap();
        for index in 0..original.cells().len() {
            for source in sources {
                let mut notebook = original.clone();
                notebook.set_source(CellIndex(index), source);
                assert_eq!(notebook.cells()[index].source, source, "{name}");
                let again = Notebook::parse(notebook.to_text(), Path::new(&name)).unwrap();
                for (old, new) in original.cells().iter().zip(again.cells()) {
                    let expected = if old.index == CellIndex(index) { source } else { &old.source };
                    assert_eq!(new.source, expected, "{name}, cell {index}");
                    assert_eq!(new.outputs(), old.outputs(), "{name}, cell {index}");
                    assert_eq!(new.id, old.id);
                }
            }
        }
    }
}
