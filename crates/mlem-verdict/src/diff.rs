//! Two versions of a notebook: the changes of the code, and the outputs compared.

use std::collections::HashMap;

use mlem_notebook::{Cell, CellIndex, Notebook};
use mlem_rules::Target;
use serde::Serialize;

use crate::fidelity::{Change, Class, Form, Source, compare_code};
use crate::outputs::{CellComparison, OutputStatus, Tolerance, compare_outputs, summarise};
use crate::verdict::Verdict;

/// What became of a notebook.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotebookDiff {
    /// `drifted`, `different`, `inconclusive` or `equivalent`.
    pub verdict: Verdict,
    /// The worst class of the changes.
    pub class: Class,
    /// Every change of the code.
    pub changes: Vec<Change>,
    /// The outputs of each code cell of the old version that shows something.
    pub outputs: Vec<OutputDiff>,
}

/// The outputs of one cell, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutputDiff {
    /// The cell in the old version, among all cells.
    pub cell: CellIndex,
    /// The same cell in the new version, where it is there.
    pub new_cell: Option<CellIndex>,
    /// The result.
    #[serde(flatten)]
    pub status: OutputStatus,
}

/// Compares two versions of a notebook; `target` decides which rules of the catalogue say what
/// became of what.
pub fn diff_notebooks(
    old: &Notebook,
    new: &Notebook,
    target: &dyn Target,
    tolerance: &Tolerance,
) -> NotebookDiff {
    let (before, after) = (code_cells(old), code_cells(new));
    let changes = compare_code(&sources(old, &before), &sources(new, &after), target);
    let pairs = paired(&before, &after);
    let outputs: Vec<OutputDiff> = before
        .iter()
        .enumerate()
        .map(|(at, cell)| {
            let new = pairs.get(&at).map(|other| after[*other]);
            let shown = new.map(Cell::outputs).unwrap_or_default();
            let status = compare_outputs(&cell.source, &cell.outputs(), &shown, tolerance);
            OutputDiff { cell: cell.index, new_cell: new.map(|cell| cell.index), status }
        })
        .filter(|each| each.status != OutputStatus::Empty)
        .collect();
    let comparisons: Vec<CellComparison> =
        outputs.iter().map(|each| CellComparison { cell: each.cell, status: each.status.clone() }).collect();
    let class = changes.class();
    let code = match class {
        Class::Drift => Verdict::Drifted,
        Class::Unclear => Verdict::Inconclusive,
        Class::Neutral => Verdict::Equivalent,
    };
    // Nothing to compare with leaves the code's verdict.
    let verdict = code.combine(match summarise(&comparisons) {
        Verdict::Runs => Verdict::Equivalent,
        verdict => verdict,
    });
    NotebookDiff { verdict, class, changes: changes.changes, outputs }
}

fn code_cells(notebook: &Notebook) -> Vec<&Cell> {
    notebook.cells().iter().filter(|cell| cell.is_code()).collect()
}

/// A plain script is one module; anything else is cells.
fn sources<'a>(notebook: &Notebook, cells: &[&'a Cell]) -> Vec<Source<'a>> {
    let is_script = notebook.file().extension().is_some_and(|extension| extension == "py");
    let is_module = is_script && notebook.cells().len() == 1;
    cells
        .iter()
        .map(|cell| Source {
            cell: (!is_module).then_some(cell.index.0),
            text: &cell.source,
            form: if is_module { Form::Module } else { Form::Cell },
        })
        .collect()
}

/// Which code cell of the new version each one of the old version is: one of the same id or the
/// same source, and between those the next one where as many stand there.
fn paired(old: &[&Cell], new: &[&Cell]) -> HashMap<usize, usize> {
    if old.len() == new.len() {
        return (0..old.len()).map(|at| (at, at)).collect();
    }
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut next = 0;
    for (at, cell) in old.iter().enumerate() {
        let is_same = |other: &&Cell| {
            cell.id.is_some() && cell.id == other.id
                || !cell.source.trim().is_empty() && cell.source == other.source
        };
        if let Some(found) = new[next..].iter().position(is_same) {
            pairs.push((at, next + found));
            next += found + 1;
        }
    }
    let mut result: HashMap<usize, usize> = pairs.iter().copied().collect();
    let mut last = (0, 0);
    for (i, j) in pairs.into_iter().chain([(old.len(), new.len())]) {
        if i - last.0 == j - last.1 {
            result.extend((last.0..i).zip(last.1..j));
        }
        last = (i + 1, j + 1);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlem_rules::Pins;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;
    use std::path::Path;

    fn notebook(cells: &[(&str, &str)]) -> Notebook {
        let cells: Vec<Value> = cells
            .iter()
            .map(|(source, printed)| {
                let outputs = if printed.is_empty() {
                    json!([])
                } else {
                    json!([{"output_type": "stream", "name": "stdout", "text": printed}])
                };
                json!({"cell_type": "code", "metadata": {}, "execution_count": 1, "source": source, "outputs": outputs})
            })
            .collect();
        let text = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4});
        Notebook::parse(text.to_string(), Path::new("test.ipynb")).unwrap()
    }

    fn verdict(old: &[(&str, &str)], new: &[(&str, &str)]) -> Verdict {
        let target = Pins { python: (3, 13), packages: BTreeMap::new() };
        diff_notebooks(&notebook(old), &notebook(new), &target, &Tolerance::default()).verdict
    }

    #[test]
    fn the_worse_of_code_and_outputs_decides() {
        let old = [("x = f(2)", ""), ("print(x)", "1.5")];
        assert_eq!(verdict(&old, &old), Verdict::Equivalent);
        assert_eq!(verdict(&old, &[("x = f(2)  # two", ""), ("print(x)", "1.5")]), Verdict::Equivalent);
        assert_eq!(verdict(&old, &[("x = f(3)", ""), ("print(x)", "1.5")]), Verdict::Inconclusive);
        assert_eq!(verdict(&old, &[("x = f(2)", ""), ("print(x)", "1.6")]), Verdict::Different);
        assert_eq!(verdict(&old, &[("x = f(2)", ""), ("print(x)", "")]), Verdict::Different);
        assert_eq!(verdict(&old, &[("x = f(2)", ""), ("print('x', 1.5)", "1.5")]), Verdict::Drifted);
        assert_eq!(verdict(&[("x = 1", "")], &[("x = 1 # one", "")]), Verdict::Equivalent);
    }

    #[test]
    fn outputs_follow_their_cells() {
        let old = [("a()", "1"), ("b()", "2")];
        assert_eq!(verdict(&old, &[("# a comment", ""), ("a()", "1"), ("b()", "2")]), Verdict::Equivalent);
        assert_eq!(verdict(&old, &[("b()", "2")]), Verdict::Different);
    }
}
