use insta::assert_snapshot;
use mlem_notebook::CellIndex;

use super::notebook;

#[test]
fn nbformat_3_becomes_4_5() {
    let mut notebook = notebook("v3.ipynb");
    notebook.set_source(CellIndex(4), "an_edit = True");
    let before: Vec<_> = notebook.cells().iter().map(|cell| cell.outputs()).collect();
    assert!(notebook.upgrade());
    assert_eq!(notebook.nbformat(), (4, 5));
    let after: Vec<_> = notebook.cells().iter().map(|cell| cell.outputs()).collect();
    assert_eq!(before, after);
    assert_snapshot!(notebook.to_text());
    assert!(!notebook.upgrade());
}

#[test]
fn nbformat_4_is_left_alone() {
    for name in ["v4_5.ipynb", "compact.ipynb"] {
        let mut notebook = notebook(name);
        assert!(!notebook.upgrade());
        assert_eq!(notebook.to_text(), super::fixture(name));
    }
}

#[test]
fn equal_notebooks_get_equal_and_unique_ids() {
    let (mut one, mut two) = (notebook("v3.ipynb"), notebook("v3.ipynb"));
    one.upgrade();
    two.upgrade();
    assert_eq!(one.to_text(), two.to_text());
    let mut ids: Vec<_> = one.cells().iter().map(|cell| cell.id.clone().unwrap()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), one.cells().len());
}
