//! Metrics of numbers: probabilities, errors, distances.

use rustc_hash::FxHashMap;

use crate::competition::{Case, Fault, Metric, Mode};
use crate::metric::sums::{mean, sum};
use crate::metric::{errors, probability, roc};
use crate::table::{Column, Key, KeyColumn, Values};

/// The mean over the target columns.
pub(super) fn over_columns(
    case: &Case<'_>,
    score: impl Fn(&Case<'_>, usize) -> Result<f64, Fault>,
) -> Result<f64, Fault> {
    let scores =
        (0..case.targets.len()).map(|index| score(case, index)).collect::<Result<Vec<f64>, Fault>>()?;
    Ok(mean(scores))
}

/// Whether each graded answer is the greater of the two labels.
fn binary_truth(case: &Case<'_>, column: Column<'_>) -> Result<Vec<bool>, Fault> {
    let wrong = |what: &str| Err(Fault::Answers(format!("a column of two labels is needed, and {what}")));
    if column.is_text() {
        let text = column.text();
        let labels: Option<Vec<&str>> = case.pairs.iter().map(|(row, _)| text.get(*row as usize)).collect();
        let Some(labels) = labels else { return wrong("a label is missing") };
        return two_classes(&labels).map_or_else(wrong, Ok);
    }
    let labels = case.true_numbers(column)?;
    if labels.iter().any(|label| label.fract() != 0.0) {
        return wrong("there are fractions");
    }
    two_classes(&labels).map_or_else(wrong, Ok)
}

fn two_classes<L: PartialOrd + Copy>(labels: &[L]) -> Result<Vec<bool>, &'static str> {
    let mut found: Vec<L> = Vec::new();
    for label in labels {
        if !found.contains(label) {
            found.push(*label);
            if found.len() > 2 {
                return Err("there are more");
            }
        }
    }
    match found[..] {
        [one, other] => {
            let positive = if one > other { one } else { other };
            Ok(labels.iter().map(|label| *label == positive).collect())
        }
        _ => Err("all are the same"),
    }
}

/// The area under the ROC curve of one target.
pub(super) fn roc_auc(case: &Case<'_>, index: usize) -> Result<f64, Fault> {
    if case.competition.metric == Metric::RocAuc {
        super::only_target(case)?;
    }
    let (truth, predicted) = case.target(index)?;
    let scores = case.numbers(&case.targets[index], predicted)?;
    area(&binary_truth(case, truth)?, &scores)
}

fn area(truth: &[bool], scores: &[f64]) -> Result<f64, Fault> {
    roc::roc_auc(truth, scores).ok_or_else(|| Fault::Answers("only one class is there".to_owned()))
}

pub(super) fn weighted_roc_auc(case: &Case<'_>) -> Result<f64, Fault> {
    let name = super::only_target(case)?;
    let (truth, predicted) = case.target(0)?;
    let scores = case.numbers(name, predicted)?;
    let truth: Vec<bool> = case.true_numbers(truth)?.iter().map(|label| *label == 1.0).collect();
    roc::weighted_auc(&truth, &scores, &[(0.0, 0.4, 2.0), (0.4, 1.0, 1.0)])
        .ok_or_else(|| Fault::Answers("only one class is there".to_owned()))
}

pub(super) fn bias_roc_auc(case: &Case<'_>) -> Result<f64, Fault> {
    let cut = |values: Vec<f64>| values.into_iter().map(|value| value >= 0.5).collect::<Vec<bool>>();
    let name = super::only_target(case)?;
    let (truth, predicted) = case.target(0)?;
    // A missing prediction is not at least 0.5.
    let scores: Vec<f64> =
        cut(case.any_numbers(name, predicted)?).into_iter().map(|high| f64::from(u8::from(high))).collect();
    let toxic = cut(answers_any(case, truth)?);
    let overall = area(&toxic, &scores)?;
    let mut areas: [Vec<f64>; 3] = Default::default();
    for identity in &case.competition.answers_columns {
        let member = cut(answers_any(case, case.answer_column(identity)?)?);
        let chosen: [fn(bool, bool) -> bool; 3] =
            [|_, member| member, |toxic, member| toxic != member, |toxic, member| toxic == member];
        for (areas, is_chosen) in areas.iter_mut().zip(chosen) {
            let rows: Vec<usize> =
                (0..toxic.len()).filter(|row| is_chosen(toxic[*row], member[*row])).collect();
            let truth: Vec<bool> = rows.iter().map(|row| toxic[*row]).collect();
            let scores: Vec<f64> = rows.iter().map(|row| scores[*row]).collect();
            areas.push(
                roc::roc_auc(&truth, &scores)
                    .ok_or_else(|| Fault::Answers(format!("`{identity}` has only one class")))?,
            );
        }
    }
    Ok(0.25 * overall + 0.25 * sum(areas.iter().map(|areas| roc::power_mean(areas, -5.0))))
}

/// Numbers of the answers, of which some may be missing.
fn answers_any(case: &Case<'_>, column: Column<'_>) -> Result<Vec<f64>, Fault> {
    let numbers: Option<Vec<f64>> = case.pairs.iter().map(|(row, _)| column.number(*row as usize)).collect();
    numbers.ok_or_else(|| Fault::Answers("a target holds text, not numbers".to_owned()))
}

/// Numbers of several columns.
type Columns = Vec<Vec<f64>>;

/// All targets of both sides, truth first.
fn columns(case: &Case<'_>) -> Result<(Columns, Columns), Fault> {
    let mut both = (Vec::new(), Vec::new());
    for (index, name) in case.targets.iter().enumerate() {
        let (truth, predicted) = case.target(index)?;
        both.0.push(case.true_numbers(truth)?);
        both.1.push(case.numbers(name, predicted)?);
    }
    Ok(both)
}

pub(super) fn log_loss(case: &Case<'_>) -> Result<f64, Fault> {
    if case.targets.len() == 1 {
        let (truth, predicted) = case.target(0)?;
        let positive = case.numbers(&case.targets[0], predicted)?;
        return Ok(probability::log_loss_binary(&binary_truth(case, truth)?, &positive));
    }
    let (truth, predicted) = columns(case)?;
    if truth.iter().flatten().any(|value| *value != 0.0 && *value != 1.0) {
        return Err(Fault::Answers("the classes must be columns of 0 and 1".to_owned()));
    }
    Ok(probability::log_loss_columns(&truth, &predicted))
}

pub(super) fn kl_divergence(case: &Case<'_>) -> Result<f64, Fault> {
    let mut truth = Vec::new();
    let mut predicted = Vec::new();
    for (index, name) in case.targets.iter().enumerate() {
        let (theirs, ours) = case.target(index)?;
        truth.push(case.true_numbers(theirs)?);
        // pandas leaves missing terms out of a sum.
        predicted.push(case.any_numbers(name, ours)?);
    }
    for row in 0..case.pairs.len() {
        let total = sum(truth.iter().map(|column| column[row]));
        if total <= 0.0 || truth.iter().any(|column| column[row] < 0.0) {
            return Err(Fault::Answers(format!("row {}: the votes sum to {total}", case.pairs[row].0 + 1)));
        }
        for column in 0..truth.len() {
            truth[column][row] /= total;
            if predicted[column][row].is_nan() {
                truth[column][row] = 0.0;
            }
        }
    }
    Ok(probability::kl_divergence(&truth, &predicted, 1e-15))
}

/// Per study: `patient_overall` and `C1` to `C7`, the part of the id after its first underscore.
pub(super) fn weighted_log_loss(case: &Case<'_>) -> Result<f64, Fault> {
    let name = super::only_target(case)?;
    let (truth, predicted) = case.target(0)?;
    let (truth, predicted) = (case.true_numbers(truth)?, case.numbers(name, predicted)?);
    let KeyColumn::Text(ids) = case.answer_ids()? else {
        return Err(Fault::Answers("the ids are no `study_variable` text".to_owned()));
    };
    // Sums of weighted losses and of weights, and how many of the eight variables were seen.
    let mut studies: FxHashMap<&str, (f64, f64, u8)> = FxHashMap::default();
    for (place, (row, _)) in case.pairs.iter().enumerate() {
        let parts = ids.get(*row as usize).and_then(|id| id.split_once('_'));
        let bit = parts.and_then(|(_, variable)| match variable {
            "patient_overall" => Some(0),
            _ => variable.strip_prefix('C')?.parse::<u8>().ok().filter(|place| (1..=7).contains(place)),
        });
        let (Some((study, variable)), Some(bit)) = (parts, bit) else {
            return Err(Fault::Answers(format!("row {}: the id is no `study_variable`", row + 1)));
        };
        let is_positive = match truth[place] {
            0.0 => false,
            1.0 => true,
            _ => return Err(Fault::Answers(format!("row {}: the label is neither 0 nor 1", row + 1))),
        };
        let weight =
            if variable == "patient_overall" { 7.0 } else { 1.0 } * if is_positive { 2.0 } else { 1.0 };
        let study = studies.entry(study).or_default();
        study.0 += weight * probability::log_loss_one(is_positive, predicted[place], 1e-15);
        study.1 += weight;
        study.2 |= 1 << bit;
    }
    if studies.values().any(|(_, _, seen)| *seen != u8::MAX) {
        return Err(Fault::Answers("a study does not have all of patient_overall and C1 to C7".to_owned()));
    }
    Ok(mean(studies.values().map(|(losses, weights, _)| losses / weights)))
}

/// The error of one target, by the competition's metric.
pub(super) fn error(case: &Case<'_>, index: usize) -> Result<f64, Fault> {
    let metric = case.competition.metric;
    if matches!(metric, Metric::Rmse | Metric::Rmsle | Metric::Mae | Metric::R2) {
        super::only_target(case)?;
    }
    let name = &case.targets[index];
    let (truth, predicted) = case.target(index)?;
    let (truth, predicted) = (case.true_numbers(truth)?, case.numbers(name, predicted)?);
    Ok(match metric {
        Metric::Rmsle | Metric::MeanColumnRmsle => {
            if truth.iter().any(|value| *value < 0.0) {
                return Err(Fault::Answers("RMSLE needs values that are not negative".to_owned()));
            }
            if let Some(place) = predicted.iter().position(|value| *value < 0.0) {
                let row = case.pairs[place].1 + 1;
                return Err(Fault::Submission(format!(
                    "row {row}: `{name}` is {}, and RMSLE needs values that are not negative",
                    predicted[place]
                )));
            }
            errors::rmsle(&truth, &predicted)
        }
        Metric::Mae => {
            let error = errors::mae(&truth, &predicted);
            if case.competition.round_to_integer { error.round_ties_even() } else { error }
        }
        Metric::R2 => errors::r2(&truth, &predicted),
        _ => errors::rmse(&truth, &predicted),
    })
}

pub(super) fn log_mae(case: &Case<'_>) -> Result<f64, Fault> {
    let name = super::only_target(case)?;
    let (truth, predicted) = case.target(0)?;
    let (truth, predicted) = (case.true_numbers(truth)?, case.numbers(name, predicted)?);
    let groups = case.answer_column(&case.competition.answers_columns[0])?;
    let mut rows: FxHashMap<String, (Vec<f64>, Vec<f64>)> = FxHashMap::default();
    for (place, (row, _)) in case.pairs.iter().enumerate() {
        if !groups.is_missing(*row as usize) {
            let group = rows.entry(groups.printed(*row as usize).into_owned()).or_default();
            group.0.push(truth[place]);
            group.1.push(predicted[place]);
        }
    }
    Ok(mean(rows.values().map(|(truth, predicted)| errors::mae(truth, predicted).ln())))
}

pub(super) fn angular(case: &Case<'_>) -> Result<f64, Fault> {
    let [azimuth, zenith] = &case.targets[..] else {
        return Err(Fault::Answers("two targets are needed: azimuth and zenith".to_owned()));
    };
    let (true_azimuth, our_azimuth) = case.target(0)?;
    let (true_zenith, our_zenith) = case.target(1)?;
    Ok(errors::angular_error(
        (&case.true_numbers(true_azimuth)?, &case.true_numbers(true_zenith)?),
        (&case.numbers(azimuth, our_azimuth)?, &case.numbers(zenith, our_zenith)?),
    ))
}

/// The three latest weeks of each patient; rows that the submission lacks are left out.
pub(super) fn laplace(case: &Case<'_>) -> Result<f64, Fault> {
    let (ids, ours) = (case.answer_ids()?, case.submission_ids()?);
    let KeyColumn::Text(weeks) = &ids else {
        return Err(Fault::Answers("the ids are no `patient_week` text".to_owned()));
    };
    let patients = case.answer_column(&case.competition.answers_columns[0])?;
    let volumes = case.answer_column(&case.truth[0])?;
    let mut by_patient: FxHashMap<String, Vec<(i64, u32)>> = FxHashMap::default();
    for row in 0..weeks.len() {
        if volumes.is_missing(row) {
            continue;
        }
        let week = weeks.get(row).and_then(|id| id.rsplit('_').next()).and_then(crate::table::python_integer);
        let week = week.ok_or_else(|| Fault::Answers(format!("row {}: the id ends in no week", row + 1)))?;
        by_patient.entry(patients.printed(row).into_owned()).or_default().push((week, row as u32));
    }
    let mut rows: FxHashMap<Key<'_>, Vec<u32>> = FxHashMap::default();
    for row in 0..ours.len() {
        if let Some(key) = ours.get(row) {
            rows.entry(key).or_default().push(row as u32);
        }
    }
    let (volume, confidence) = (case.submitted(&case.targets[0])?, case.submitted(&case.targets[1])?);
    let number = |column: &Column<'_>, row: u32| column.number(row as usize).unwrap_or(f64::NAN);
    let (mut truth, mut predicted, mut deviations) = (Vec::new(), Vec::new(), Vec::new());
    let mut lacking = 0;
    for mut weeks in by_patient.into_values() {
        weeks.sort_unstable();
        for (_, row) in weeks.iter().rev().take(3) {
            let Some(found) = ids.get(*row as usize).and_then(|key| rows.get(&key)) else {
                lacking += 1;
                continue;
            };
            // What is not graded may appear twice.
            let [found] = &found[..] else {
                return Err(Fault::Submission(case.first_duplicate(&ours)));
            };
            truth.push(number(&volumes, *row));
            predicted.push(number(&volume, *found));
            let deviation = number(&confidence, *found);
            deviations.push(if deviation.is_nan() { 0.0 } else { deviation });
        }
    }
    if case.mode == Mode::Strict {
        if lacking > 0 {
            return Err(Fault::Submission(format!("{lacking} of the graded rows are not in the submission")));
        }
        if predicted.iter().any(|value| !value.is_finite()) {
            return Err(Fault::Submission(format!("`{}` is missing in a graded row", case.targets[0])));
        }
    }
    Ok(errors::laplace_log_likelihood(&truth, &predicted, &deviations))
}

/// The percentiles of each trip's distances. In MLE-bench's mode the rows of a trip belong together by their
/// order, in strict mode by their times.
pub(super) fn haversine(case: &Case<'_>) -> Result<f64, Fault> {
    let (trips, ours) = (case.answer_ids()?, case.submission_ids()?);
    let times = &case.competition.answers_columns[0];
    let (true_times, our_times) = (case.answer_column(times)?, case.submitted(times)?);
    let place = |columns: (&Column<'_>, &Column<'_>), row: u32| {
        let number = |column: &Column<'_>| column.number(row as usize);
        number(columns.0).zip(number(columns.1))
    };
    let (true_latitude, latitude) = case.target(0)?;
    let (true_longitude, longitude) = case.target(1)?;
    let by_trip = |keys: &KeyColumn<'_>| {
        let mut order = Vec::new();
        let mut rows: FxHashMap<String, Vec<u32>> = FxHashMap::default();
        for row in 0..keys.len() {
            let trip = keys.shown(row);
            let rows = rows.entry(trip.clone()).or_default();
            if rows.is_empty() {
                order.push(trip);
            }
            rows.push(row as u32);
        }
        (order, rows)
    };
    let (order, mut true_rows) = by_trip(&trips);
    let (_, mut our_rows) = by_trip(&ours);
    let mut scores = Vec::new();
    for trip in order {
        let mut theirs = true_rows.remove(&trip).unwrap_or_default();
        let mut ours = our_rows.remove(&trip).unwrap_or_default();
        if ours.len() != theirs.len() {
            return Err(Fault::Submission(format!(
                "trip {trip}: {} rows where the answers have {}",
                ours.len(),
                theirs.len()
            )));
        }
        if case.mode == Mode::Strict {
            let time = |column: &Column<'_>, row: u32| match column.values() {
                Values::Integer(values) => values[row as usize],
                _ => column.number(row as usize).map_or(i64::MIN, |time| time as i64),
            };
            theirs.sort_by_key(|row| time(&true_times, *row));
            ours.sort_by_key(|row| time(&our_times, *row));
            for (theirs, ours) in theirs.iter().zip(&ours) {
                if time(&true_times, *theirs) != time(&our_times, *ours) {
                    return Err(Fault::Submission(format!("row {}: no such time in trip {trip}", ours + 1)));
                }
            }
        }
        let mut distances = Vec::with_capacity(ours.len());
        for (theirs, ours) in theirs.into_iter().zip(ours) {
            let Some(to) = place((&latitude, &longitude), ours) else {
                return Err(Fault::Submission(format!(
                    "the columns {} must be numbers",
                    case.targets.join(", ")
                )));
            };
            let from = place((&true_latitude, &true_longitude), theirs)
                .ok_or_else(|| Fault::Answers("a place is text".to_owned()))?;
            let distance = errors::haversine(to, from);
            if case.mode == Mode::Strict && !distance.is_finite() {
                return Err(Fault::Submission(format!("row {}: a coordinate is missing", ours + 1)));
            }
            distances.push(distance);
        }
        scores.push((errors::quantile(&distances, 0.5) + errors::quantile(&distances, 0.95)) / 2.0);
    }
    Ok(mean(scores))
}
