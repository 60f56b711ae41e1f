use crate::notebook::Notebook;
pub(crate) fn write(notebook: &Notebook) -> String { notebook.cells().iter().map(|c| c.source.as_str()).collect() }
