//! Metrics of ranked lists, orders and correlations.

use rustc_hash::FxHashSet;

use crate::competition::{Case, Fault, Mode};
use crate::metric::sums::mean;
use crate::metric::{correlation, sets};
use crate::table::python_split;

/// Predictions are separated by one space each, so that two in a row make an empty prediction.
pub(super) fn map_at_k(case: &Case<'_>) -> Result<f64, Fault> {
    super::only_target(case)?;
    let k = case.competition.k.ok_or_else(|| Fault::Answers("map-at-k needs --k".to_owned()))?;
    let (truth, predicted) = case.target(0)?;
    Ok(mean(case.pairs.iter().map(|(theirs, ours)| {
        let (truth, predicted) = (truth.printed(*theirs as usize), predicted.printed(*ours as usize));
        let truth: FxHashSet<&str> = truth.split(' ').collect();
        sets::average_precision_at(k, &truth, &predicted.split(' ').take(k).collect::<Vec<&str>>())
    })))
}

pub(super) fn kendall(case: &Case<'_>) -> Result<f64, Fault> {
    super::only_target(case)?;
    let (truth, predicted) = case.target(0)?;
    let (mut inversions, mut most) = (0, 0);
    for (theirs, ours) in &case.pairs {
        let (truth, predicted) = (truth.printed(*theirs as usize), predicted.printed(*ours as usize));
        let truth: Vec<&str> = python_split(&truth).collect();
        let predicted: Vec<&str> = python_split(&predicted).collect();
        if truth.len() != predicted.len() {
            return Err(Fault::Submission(format!(
                "row {}: {} items where the answer has {}",
                ours + 1,
                predicted.len(),
                truth.len()
            )));
        }
        let (found, all) = sets::inversions(&truth, &predicted).ok_or_else(|| {
            Fault::Submission(format!("row {}: items of the answer are not in it", ours + 1))
        })?;
        inversions += found;
        most += all;
    }
    if most == 0 {
        return Err(Fault::Answers("no order has two items".to_owned()));
    }
    Ok(1.0 - 2.0 * inversions as f64 / most as f64)
}

/// scipy ranks text as well, by its code points.
pub(super) fn spearman(case: &Case<'_>, index: usize) -> Result<f64, Fault> {
    let name = &case.targets[index];
    let (truth, predicted) = case.target(index)?;
    let truth = case.true_numbers(truth)?;
    if !predicted.is_text() || case.mode == Mode::Strict {
        return Ok(correlation::spearman(&truth, &case.any_numbers(name, predicted)?));
    }
    let cell = |(_, row): &(u32, u32)| {
        let text = predicted.text().get(*row as usize);
        text.ok_or_else(|| {
            Fault::Submission(format!("row {}: `{name}` is missing in a column of text", row + 1))
        })
    };
    let texts = case.pairs.iter().map(cell).collect::<Result<Vec<&str>, Fault>>()?;
    let mut sorted = texts.clone();
    sorted.sort_unstable();
    let ranks: Vec<f64> =
        texts.iter().map(|text| sorted.partition_point(|other| other < text) as f64).collect();
    Ok(correlation::spearman(&truth, &ranks))
}

pub(super) fn pearson(case: &Case<'_>) -> Result<f64, Fault> {
    let name = super::only_target(case)?;
    let (truth, predicted) = case.target(0)?;
    if case.pairs.len() < 2 {
        return Err(Fault::Answers("a correlation needs two rows".to_owned()));
    }
    Ok(correlation::pearson(&case.true_numbers(truth)?, &case.any_numbers(name, predicted)?))
}

/// Rows without a true label are left out before anything is looked at.
pub(super) fn lwlrap(case: &Case<'_>) -> Result<f64, Fault> {
    let (mut truth, mut scores) = (Vec::new(), Vec::new());
    for (index, name) in case.targets.iter().enumerate() {
        let (theirs, ours) = case.target(index)?;
        truth.push(case.true_numbers(theirs)?);
        scores.push(case.any_numbers(name, ours)?);
    }
    for (place, (_, row)) in case.pairs.iter().enumerate() {
        let is_graded = truth.iter().any(|column| column[place] > 0.0);
        if let Some(column) = scores.iter().position(|column| is_graded && !column[place].is_finite()) {
            return Err(Fault::Submission(format!(
                "row {}: `{}` is missing or infinite",
                row + 1,
                case.targets[column]
            )));
        }
    }
    correlation::lwlrap(&truth, &scores).ok_or_else(|| Fault::Answers("no row has a true label".to_owned()))
}
