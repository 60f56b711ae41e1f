//! Metrics of labels.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::competition::{Case, Fault, LabelKind, Metric, Mode};
use crate::metric::labels::{Coded, accuracy as share};
use crate::metric::probability;
use crate::table::{Column, Values, python_integer, python_split};

pub(super) fn accuracy(case: &Case<'_>) -> Result<f64, Fault> {
    coded(case).map(|coded| share(&coded))
}

/// The labels of the only target as codes.
pub(super) fn coded(case: &Case<'_>) -> Result<Coded, Fault> {
    super::only_target(case)?;
    let (truth, predicted) = case.target(0)?;
    match case.competition.labels {
        LabelKind::Typed => typed(case, truth, predicted),
        LabelKind::BlankIsEmpty => {
            blanks(case, truth, predicted, "").map_or_else(|| typed(case, truth, predicted), Ok)
        }
        LabelKind::BlankIsNan => match blanks(case, truth, predicted, "nan") {
            Some(coded) => Ok(coded),
            None if truth.is_text() != predicted.is_text() => Err(mixed(truth, predicted)),
            None => typed(case, truth, predicted),
        },
        LabelKind::Printed => {
            let (truth, predicted) = both(case, |row| truth.printed(row), |row| predicted.printed(row));
            Ok(Coded::new(&borrowed(&truth), &borrowed(&predicted)))
        }
        LabelKind::Integer => integers(case, truth, predicted, integer),
        LabelKind::FirstToken => integers(case, truth, predicted, first_token),
    }
}

fn both<'t, T>(
    case: &Case<'t>,
    truth: impl Fn(usize) -> T,
    predicted: impl Fn(usize) -> T,
) -> (Vec<T>, Vec<T>) {
    case.pairs.iter().map(|(theirs, ours)| (truth(*theirs as usize), predicted(*ours as usize))).unzip()
}

fn borrowed<'l>(labels: &'l [Cow<'_, str>]) -> Vec<&'l str> {
    labels.iter().map(AsRef::as_ref).collect()
}

/// Labels as the columns hold them. Numbers and text never agree; scikit-learn 1.5 only refuses to compare them
/// where both sides have at most two labels, and the accuracy is 0 otherwise.
fn typed<'t>(case: &Case<'t>, truth: Column<'t>, predicted: Column<'t>) -> Result<Coded, Fault> {
    let name = &case.targets[0];
    if let Some((_, row)) = case.pairs.iter().find(|(_, row)| predicted.is_missing(*row as usize)) {
        return Err(Fault::Submission(format!("row {}: `{name}` is missing", row + 1)));
    }
    if let Some((row, _)) = case.pairs.iter().find(|(row, _)| truth.is_missing(*row as usize)) {
        return Err(Fault::Answers(format!("row {}: the label is missing", row + 1)));
    }
    match (truth.is_text(), predicted.is_text()) {
        (true, true) => {
            let text = |column: Column<'t>| move |row| column.text().get(row).unwrap_or_default();
            let (truth, predicted) = both(case, text(truth), text(predicted));
            Ok(Coded::new(&truth, &predicted))
        }
        (false, false) => {
            let whole = |column: Column<'_>, row: usize| match column.values() {
                Values::Integer(values) => Some(values[row]),
                _ => column.number(row).filter(|value| value.fract() == 0.0).and_then(whole_number),
            };
            let (truth, predicted) =
                both(case, |row| (row, whole(truth, row)), |row| (row, whole(predicted, row)));
            if let Some((row, _)) = truth.iter().find(|(_, label)| label.is_none()) {
                return Err(Fault::Answers(format!("row {}: a label is a fraction", row + 1)));
            }
            if let Some((row, _)) = predicted.iter().find(|(_, label)| label.is_none()) {
                return Err(Fault::Submission(format!(
                    "row {}: `{name}` is no whole number, so no label",
                    row + 1
                )));
            }
            let labels = |rows: Vec<(usize, Option<i64>)>| {
                rows.into_iter().filter_map(|(_, label)| label).collect::<Vec<i64>>()
            };
            Ok(Coded::new(&labels(truth), &labels(predicted)))
        }
        _ => {
            let distinct = |column: Column<'_>, rows: &mut dyn Iterator<Item = usize>| {
                let mut labels = BTreeSet::new();
                rows.take_while(|row| labels.insert(column.printed(*row)) || labels.len() <= 2)
                    .for_each(drop);
                labels.len()
            };
            let few = distinct(truth, &mut case.pairs.iter().map(|(row, _)| *row as usize)) <= 2
                && distinct(predicted, &mut case.pairs.iter().map(|(_, row)| *row as usize)) <= 2;
            let is_accuracy = matches!(case.competition.metric, Metric::Accuracy | Metric::ErrorRate);
            if few || !is_accuracy || case.mode == Mode::Strict {
                return Err(mixed(truth, predicted));
            }
            let rows = case.pairs.len();
            Ok(Coded { truth: vec![0; rows], predicted: vec![1; rows], classes: 2 })
        }
    }
}

fn mixed(truth: Column<'_>, predicted: Column<'_>) -> Fault {
    Fault::Submission(format!(
        "the predicted labels are {}, the answers' are {}",
        predicted.kind(),
        truth.kind()
    ))
}

/// Text labels with a stand-in for blank cells; `None` where the columns are not both text, blank ones aside.
fn blanks<'t>(case: &Case<'t>, truth: Column<'t>, predicted: Column<'t>, blank: &'t str) -> Option<Coded> {
    // A column of nothing but blank cells is one of numbers, all missing.
    let is_blank = blank.is_empty() && (0..predicted.len()).all(|row| predicted.is_missing(row));
    if !truth.is_text() || !(predicted.is_text() || is_blank) {
        return None;
    }
    let text = |column: Column<'t>| move |row: usize| column.text().get(row).unwrap_or(blank);
    let (truth, predicted) = both(case, text(truth), text(predicted));
    Some(Coded::new(&truth, &predicted))
}

/// What is before the point, where 64 bits hold it.
fn whole_number(value: f64) -> Option<i64> {
    (value.abs() < 9_223_372_036_854_775_808.0).then_some(value as i64)
}

/// `int()` of a value: fractions lose what is behind the point.
fn integer(column: Column<'_>, row: usize) -> Option<i64> {
    match column.values() {
        Values::Integer(values) => Some(values[row]),
        Values::Bool(values) => Some(i64::from(values[row])),
        Values::Float(values) => whole_number(values[row]),
        Values::Text => column.text().get(row).and_then(python_integer),
    }
}

/// An integer, or the first token of a text; MLE-bench's grader fails on fractions.
fn first_token(column: Column<'_>, row: usize) -> Option<i64> {
    match column.values() {
        Values::Integer(values) => Some(values[row]),
        Values::Bool(values) => Some(i64::from(values[row])),
        Values::Float(_) => None,
        Values::Text => python_integer(python_split(column.text().get(row)?).next()?),
    }
}

fn integers(
    case: &Case<'_>,
    truth: Column<'_>,
    predicted: Column<'_>,
    read: fn(Column<'_>, usize) -> Option<i64>,
) -> Result<Coded, Fault> {
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for (answer, row) in &case.pairs {
        theirs.push(
            integer(truth, *answer as usize)
                .ok_or_else(|| Fault::Answers(format!("row {}: the label is no integer", answer + 1)))?,
        );
        ours.push(read(predicted, *row as usize).ok_or_else(|| {
            let shown = predicted.printed(*row as usize);
            Fault::Submission(format!("row {}: `{}` is `{shown}`, not an integer", row + 1, case.targets[0]))
        })?);
    }
    Ok(Coded::new(&theirs, &ours))
}

pub(super) fn probabilistic_f1(case: &Case<'_>) -> Result<f64, Fault> {
    let name = super::only_target(case)?;
    let (truth, predicted) = case.target(0)?;
    let truth: Vec<bool> = case.true_numbers(truth)?.into_iter().map(|label| label != 0.0).collect();
    let predicted = case.any_numbers(name, predicted)?;
    if !truth.contains(&true) {
        return Err(Fault::Answers("there are no positives".to_owned()));
    }
    // Where everything is clipped to nothing, MLE-bench's grader divides by zero.
    if predicted.iter().all(|value| *value < 0.0) {
        return Err(Fault::Submission("all predictions are negative".to_owned()));
    }
    Ok(probability::probabilistic_f1(&truth, &predicted))
}
