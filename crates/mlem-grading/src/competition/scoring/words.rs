//! Metrics of texts and of sets of tokens.

use crate::competition::{Case, Fault, LabelKind};
use crate::metric::sums::{mean, sum};
use crate::metric::{edit, sets};
use crate::table::{Column, python_integer_saturated, python_split};

/// Text cells of one side; blank ones are empty. A column of numbers has no text methods in pandas, so
/// MLE-bench's graders fail on it.
fn texts<'t>(column: Column<'t>, rows: impl Iterator<Item = u32>) -> Result<Vec<&'t str>, &'static str> {
    let all_missing = (0..column.len()).all(|row| column.is_missing(row));
    if !column.is_text() && !all_missing {
        return Err(column.kind());
    }
    Ok(rows.map(|row| column.text().get(row as usize).unwrap_or_default()).collect())
}

fn both<'t>(case: &Case<'t>) -> Result<Vec<(&'t str, &'t str)>, Fault> {
    let name = super::only_target(case)?;
    let (truth, predicted) = case.target(0)?;
    let truth = texts(truth, case.pairs.iter().map(|(row, _)| *row))
        .map_err(|kind| Fault::Answers(format!("the target holds {kind}, not text")))?;
    let predicted = texts(predicted, case.pairs.iter().map(|(_, row)| *row))
        .map_err(|kind| Fault::Submission(format!("column `{name}` holds {kind}, not text")))?;
    Ok(truth.into_iter().zip(predicted).collect())
}

pub(super) fn multilabel(case: &Case<'_>) -> Result<f64, Fault> {
    let rows: Vec<(Vec<&str>, Vec<&str>)> = both(case)?
        .into_iter()
        .map(|(truth, predicted)| (python_split(truth).collect(), python_split(predicted).collect()))
        .collect();
    Ok(sets::multilabel_f1(&rows))
}

pub(super) fn jaccard(case: &Case<'_>) -> Result<f64, Fault> {
    let index = |place: usize, truth: &str, predicted: &str| {
        sets::word_jaccard(truth, predicted).or(case.competition.both_empty).ok_or_else(|| {
            let row = case.pairs[place].1 + 1;
            Fault::Submission(format!("row {row}: neither the prediction nor the answer holds a word"))
        })
    };
    let indices: Result<Vec<f64>, Fault> = if case.competition.labels == LabelKind::Printed {
        let (truth, predicted) = case.target(0)?;
        let printed = |column: Column<'_>, row: u32| {
            if column.is_missing(row as usize) {
                String::new()
            } else {
                column.printed(row as usize).into_owned()
            }
        };
        let rows = case.pairs.iter().enumerate();
        rows.map(|(place, (theirs, ours))| index(place, &printed(truth, *theirs), &printed(predicted, *ours)))
            .collect()
    } else {
        both(case)?
            .into_iter()
            .enumerate()
            .map(|(place, (truth, predicted))| index(place, truth, predicted))
            .collect()
    };
    Ok(mean(indices?))
}

pub(super) fn levenshtein(case: &Case<'_>) -> Result<f64, Fault> {
    if case.competition.labels == LabelKind::Printed {
        super::only_target(case)?;
        let (truth, predicted) = case.target(0)?;
        return Ok(mean(case.pairs.iter().map(|(theirs, ours)| {
            let (truth, predicted) = (truth.printed(*theirs as usize), predicted.printed(*ours as usize));
            edit::text_distance(&truth, &predicted) as f64
        })));
    }
    let rows = both(case)?;
    let (truth, predicted) = case.target(0)?;
    for (theirs, ours) in &case.pairs {
        if predicted.is_missing(*ours as usize) {
            return Err(Fault::Submission(format!("row {}: `{}` is missing", ours + 1, case.targets[0])));
        }
        if truth.is_missing(*theirs as usize) {
            return Err(Fault::Answers(format!("row {}: the text is missing", theirs + 1)));
        }
    }
    Ok(mean(rows.into_iter().map(|(truth, predicted)| edit::text_distance(truth, predicted) as f64)))
}

/// Sequences of integers in one cell.
pub(super) fn levenshtein_ratio(case: &Case<'_>) -> Result<f64, Fault> {
    let name = super::only_target(case)?;
    let (truth, predicted) = case.target(0)?;
    let sequence = |column: Column<'_>, row: u32| {
        let printed = column.printed(row as usize);
        python_split(&printed).map(python_integer_saturated).collect::<Option<Vec<i64>>>()
    };
    let mut distances = Vec::with_capacity(case.pairs.len());
    let mut length = 0;
    for (theirs, ours) in &case.pairs {
        let truth = sequence(truth, *theirs)
            .ok_or_else(|| Fault::Answers(format!("row {}: no sequence of integers", theirs + 1)))?;
        let predicted = sequence(predicted, *ours).ok_or_else(|| {
            Fault::Submission(format!("row {}: `{name}` is no sequence of integers", ours + 1))
        })?;
        length += truth.len();
        distances.push(edit::levenshtein(&truth, &predicted) as f64);
    }
    if length == 0 {
        return Err(Fault::Answers("all sequences are empty".to_owned()));
    }
    Ok(sum(distances) / length as f64)
}
