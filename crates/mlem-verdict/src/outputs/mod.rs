//! What an executed notebook shows, compared with what it showed before.

mod html;
mod matching;
mod normalise;
mod reprs;
mod shown;
mod tokens;

use mlem_notebook::{CellIndex, Notebook, Output};
use serde::Serialize;

use crate::verdict::Verdict;
use matching::Match;
use shown::Shown;

/// How far numbers may be apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Largest difference as a part of the larger number.
    pub relative: f64,
    /// Differences up to this are none: for numbers that are zero but for rounding.
    pub absolute: f64,
}

impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance { relative: 1e-6, absolute: 1e-12 }
    }
}

/// How one cell's outputs compare with the reference.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum OutputStatus {
    /// Equal but for spacing, addresses, timings and harmless changes of representation.
    Same,
    /// Equal words, and numbers within the tolerance.
    Close {
        /// The largest difference of two numbers as a part of the larger one.
        largest_relative_difference: f64,
    },
    /// Something else is shown.
    Different {
        /// The reference around the first difference.
        expected: String,
        /// The new output there.
        actual: String,
    },
    /// There is no telling.
    NotComparable {
        /// Why, in words.
        reason: String,
    },
    /// The reference shows something and the new output nothing of it.
    Missing,
    /// Neither shows anything.
    Empty,
}

/// The comparison of one code cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellComparison {
    /// Which cell, among all cells of the reference.
    pub cell: CellIndex,
    /// The result.
    #[serde(flatten)]
    pub status: OutputStatus,
}

/// Compares the code cells of an executed notebook with those of a reference, by position.
///
/// `executed` must hold the outputs of that execution only: a cell that was not reached must have
/// no outputs, or old ones would be compared with themselves.
pub fn compare_notebooks(
    reference: &Notebook,
    executed: &Notebook,
    tolerance: &Tolerance,
) -> Vec<CellComparison> {
    let now = executed.cells();
    reference
        .cells()
        .iter()
        .enumerate()
        .filter(|(_, cell)| cell.is_code())
        .map(|(index, cell)| {
            let outputs =
                now.get(index).filter(|cell| cell.is_code()).map(|cell| cell.outputs()).unwrap_or_default();
            CellComparison {
                cell: CellIndex(index),
                status: compare_outputs(&cell.source, &cell.outputs(), &outputs, tolerance),
            }
        })
        .collect()
}

/// Compares the outputs of one cell with the reference. `source` is the cell's code; it tells
/// output that cannot repeat (clock, package versions) from output that differs.
pub fn compare_outputs(
    source: &str,
    reference: &[Output],
    executed: &[Output],
    tolerance: &Tolerance,
) -> OutputStatus {
    let old = Shown::of(reference);
    let new = Shown::of(executed);
    match (&old.error, &new.error) {
        (None, Some(error)) => {
            return OutputStatus::Different {
                expected: matching::excerpt(&old.text, 0),
                actual: matching::excerpt(error, 0),
            };
        }
        (Some(_), None) => {
            return not_comparable("the stored output is an error");
        }
        (Some(then), Some(now)) if error_class(then) != error_class(now) => {
            return OutputStatus::Different {
                expected: matching::excerpt(then, 0),
                actual: matching::excerpt(now, 0),
            };
        }
        _ => {}
    }
    if !old.is_visible() {
        return if old.error.is_some() {
            OutputStatus::Same
        } else if new.is_visible() {
            not_comparable("nothing was stored")
        } else if old.warnings {
            not_comparable("only warnings were stored")
        } else {
            OutputStatus::Empty
        };
    }
    if !new.is_visible() {
        return OutputStatus::Missing;
    }
    if new.pictures > 0 && new.pictures < old.pictures {
        let count = |pictures: usize| match pictures {
            1 => "1 picture".to_owned(),
            pictures => format!("{pictures} pictures"),
        };
        return OutputStatus::Different { expected: count(old.pictures), actual: count(new.pictures) };
    }
    if old.pictures > 0 && new.pictures == 0 {
        return OutputStatus::Different {
            expected: "a picture".to_owned(),
            actual: if new.text.trim().is_empty() {
                "no picture".to_owned()
            } else {
                matching::excerpt(&new.text, 0)
            },
        };
    }
    compare_texts(source, &old, &new, tolerance)
}

/// Beyond this many bytes two texts are compared for equality only: tokens take about twenty times
/// the memory of the text.
const LARGE: usize = 16 * 1024 * 1024;

fn compare_texts(source: &str, old: &Shown, new: &Shown, tolerance: &Tolerance) -> OutputStatus {
    if old.text.len().max(new.text.len()) > LARGE {
        return if old.text == new.text {
            OutputStatus::Same
        } else {
            not_comparable("the output is larger than 16 MB")
        };
    }
    let then = normalise::text(&old.text);
    let now = normalise::text(&new.text);
    match (then.trim().is_empty(), now.trim().is_empty()) {
        (true, true) if old.pictures > 0 => return OutputStatus::Same,
        (true, true) if !old.text.trim().is_empty() && old.text == new.text => {
            return OutputStatus::Same;
        }
        (true, true) if old.other && old.text.trim().is_empty() => {
            return not_comparable("only markup or a widget was stored");
        }
        (true, true) => {
            return not_comparable("only timings, progress or names of objects were stored");
        }
        (false, true) => return OutputStatus::Missing,
        _ => {}
    }
    match matching::compare(&then, &now, tolerance) {
        Match::Same => OutputStatus::Same,
        Match::Close(largest_relative_difference) => OutputStatus::Close { largest_relative_difference },
        Match::Different { expected, actual } => {
            match normalise::cannot_repeat(source, &then, &now, tolerance) {
                Some(reason) => not_comparable(reason),
                None => OutputStatus::Different { expected, actual },
            }
        }
    }
}

/// The part of a notebook's verdict that its outputs decide: `Different` if any cell differs or
/// lost its output, `Equivalent` if all that can be compared agree, `Runs` if nothing can be
/// compared.
pub fn summarise(comparisons: &[CellComparison]) -> Verdict {
    let mut agree = false;
    for comparison in comparisons {
        match comparison.status {
            OutputStatus::Different { .. } | OutputStatus::Missing => return Verdict::Different,
            OutputStatus::Same | OutputStatus::Close { .. } => agree = true,
            OutputStatus::NotComparable { .. } | OutputStatus::Empty => {}
        }
    }
    if agree { Verdict::Equivalent } else { Verdict::Runs }
}

fn not_comparable(reason: &str) -> OutputStatus {
    OutputStatus::NotComparable { reason: reason.to_owned() }
}

/// `NameError` of `NameError: name 'x' is not defined`.
fn error_class(error: &str) -> &str {
    error.split(':').next().unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::path::Path;

    fn notebook(cells: &[Value]) -> Notebook {
        let text = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4});
        Notebook::parse(text.to_string(), Path::new("test.ipynb")).unwrap()
    }

    fn code(printed: &str) -> Value {
        let outputs = if printed.is_empty() {
            json!([])
        } else {
            json!([{"output_type": "stream", "name": "stdout", "text": printed}])
        };
        json!({"cell_type": "code", "metadata": {}, "execution_count": 1, "source": "f()", "outputs": outputs})
    }

    fn statuses(old: &[Value], new: &[Value]) -> (Vec<(usize, OutputStatus)>, Verdict) {
        let found = compare_notebooks(&notebook(old), &notebook(new), &Tolerance::default());
        let verdict = summarise(&found);
        (found.into_iter().map(|c| (c.cell.0, c.status)).collect(), verdict)
    }

    #[test]
    fn cells_are_numbered_among_all_cells() {
        let text = json!({"cell_type": "markdown", "metadata": {}, "source": "# A"});
        let cells = [text, code("1.5"), code("")];
        let (found, verdict) = statuses(&cells, &cells);
        assert_eq!(found, [(1, OutputStatus::Same), (2, OutputStatus::Empty)]);
        assert_eq!(verdict, Verdict::Equivalent);
    }

    #[test]
    fn silence_never_counts_as_success() {
        let old = [code("a 1"), code("score 0.5")];
        let (found, verdict) = statuses(&old, &[code("a 1"), code("")]);
        assert_eq!(found[1].1, OutputStatus::Missing);
        assert_eq!(verdict, Verdict::Different);
        let (found, verdict) = statuses(&old, &[code("a 1")]);
        assert_eq!(found[1].1, OutputStatus::Missing);
        assert_eq!(verdict, Verdict::Different);
    }

    #[test]
    fn nothing_to_compare_with_is_no_success_either() {
        let (_, verdict) = statuses(&[code(""), code("")], &[code("a"), code("b")]);
        assert_eq!(verdict, Verdict::Runs);
        assert_eq!(summarise(&[]), Verdict::Runs);
    }

    #[test]
    fn one_difference_decides() {
        let old = [code("a 1.0"), code("b 2.0")];
        assert_eq!(statuses(&old, &[code("a 1.0"), code("b 2.0000001")]).1, Verdict::Equivalent);
        assert_eq!(statuses(&old, &[code("a 1.0"), code("b 2.1")]).1, Verdict::Different);
    }

    fn displayed(data: &[Value]) -> Vec<Output> {
        let output = |data: &Value| {
            Output::from_value(&json!({"output_type": "display_data", "metadata": {}, "data": data})).unwrap()
        };
        data.iter().map(output).collect()
    }

    fn compared(old: &[Value], new: &[Value]) -> OutputStatus {
        compare_outputs("f()", &displayed(old), &displayed(new), &Tolerance::default())
    }

    #[test]
    fn tables_that_are_only_markup_are_compared_by_their_cells() {
        let table = |style: &str, value: &str| {
            json!({
                "text/plain": "<IPython.core.display.HTML object>",
                "text/html": format!(
                    "<style>{style}</style><table border=\"1\"><thead><tr><th></th><th>a &amp; b</th></tr></thead>\
                     <tbody><tr><th>0</th><td>{value}</td></tr></tbody></table>"
                ),
            })
        };
        assert_eq!(compared(&[table("", "0.5")], &[table("td {color: red}", "0.50")]), OutputStatus::Same);
        assert!(matches!(compared(&[table("", "0.5")], &[table("", "0.6")]), OutputStatus::Different { .. }));
        let note = json!({"text/plain": "<IPython.core.display.HTML object>", "text/html": "<b>done</b>"});
        assert_eq!(compared(std::slice::from_ref(&note), std::slice::from_ref(&note)), OutputStatus::Same);
    }

    #[test]
    fn every_picture_has_to_come_back() {
        let picture = json!({"image/png": "iVBORw0KGgo=", "text/plain": "<Figure size 432x288 with 1 Axes>"});
        let two = [picture.clone(), picture.clone()];
        assert_eq!(compared(&two, &two), OutputStatus::Same);
        assert_eq!(
            compared(&two, std::slice::from_ref(&picture)),
            OutputStatus::Different { expected: "2 pictures".into(), actual: "1 picture".into() }
        );
        assert_eq!(compared(std::slice::from_ref(&picture), &two), OutputStatus::Same);
    }

    #[test]
    fn hostile_texts_end_in_an_answer() {
        let braces = "{".repeat(200_000);
        let digits = "9".repeat(100_000);
        for text in
            [braces.as_str(), digits.as_str(), "1e999999999999", "[((([", "\u{1b}[", "{,}", "é\u{300}-"]
        {
            let other = format!("{text} x");
            assert_eq!(statuses(&[code(text)], &[code(text)]).1, Verdict::Equivalent, "{}", &text[..4]);
            assert_eq!(statuses(&[code(text)], &[code(&other)]).1, Verdict::Different);
        }
    }

    #[test]
    fn the_report_names_the_status() {
        let comparison = CellComparison {
            cell: CellIndex(3),
            status: OutputStatus::Close { largest_relative_difference: 1e-9 },
        };
        assert_eq!(
            serde_json::to_value(comparison).unwrap(),
            json!({"cell": 3, "status": "close", "largest_relative_difference": 1e-9})
        );
    }
}
