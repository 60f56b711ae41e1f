//! Metrics of masks given as run lengths.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::competition::{Case, Fault, Mode};
use crate::metric::masks::{Mask, RunLengthError};
use crate::metric::sums::mean;
use crate::metric::volumes::{Volume, hausdorff};
use crate::table::Column;

/// What stands for a mask without pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Empty {
    /// A blank cell.
    Blank,
    /// The sign `-`; a blank cell is an error.
    Dash,
    /// Nothing.
    Never,
}

/// A cell's mask.
fn mask(case: &Case<'_>, column: Column<'_>, row: u32, pixels: u64, empty: Empty) -> Result<Mask, String> {
    let at = |reason: String| format!("row {}: {reason}", row + 1);
    let all_missing = || (0..column.len()).all(|row| column.is_missing(row));
    if !column.is_text() && !all_missing() {
        return Err(at(format!("the column holds {}, not run lengths", column.kind())));
    }
    let cell = match (column.text().get(row as usize), empty) {
        (None, Empty::Blank) | (Some("-"), Empty::Dash) => "",
        (None, _) => return Err(at("the run lengths are missing".to_owned())),
        (Some(cell), _) => cell,
    };
    let parsed = match case.mode {
        Mode::Mlebench => Mask::parse_as_numpy(cell, pixels),
        Mode::Strict => Mask::parse(cell, pixels),
    };
    parsed.map_err(|error: RunLengthError| at(error.to_string()))
}

/// Sizes of the answers' images, from the two columns that the competition names.
fn size(case: &Case<'_>, row: u32, name: &str) -> Result<u64, Fault> {
    let number = case.answer_column(name)?.number(row as usize);
    number
        .filter(|value| *value >= 0.0 && value.fract() == 0.0)
        .map(|value| value as u64)
        .ok_or_else(|| Fault::Answers(format!("row {}: `{name}` is no size", row + 1)))
}

fn pixels(case: &Case<'_>, row: u32) -> Result<u64, Fault> {
    let [height, width] = &case.competition.answers_columns[..] else {
        return Err(Fault::Answers("the images' sizes are not named".to_owned()));
    };
    Ok(size(case, row, height)?.saturating_mul(size(case, row, width)?))
}

/// Pairs of masks, truth first.
fn both(
    case: &Case<'_>,
    (true_empty, empty): (Empty, Empty),
    pixels: impl Fn(u32) -> Result<u64, Fault>,
) -> Result<Vec<(Mask, Mask)>, Fault> {
    let (truth, predicted) = case.target(0)?;
    let mut masks = Vec::with_capacity(case.pairs.len());
    for (theirs, ours) in &case.pairs {
        let pixels = pixels(*theirs)?;
        let predicted = mask(case, predicted, *ours, pixels, empty).map_err(Fault::Submission)?;
        let truth = mask(case, truth, *theirs, pixels, true_empty).map_err(Fault::Answers)?;
        masks.push((truth, predicted));
    }
    Ok(masks)
}

/// Dice over all pixels; `-` is an empty mask, a blank cell is an error.
pub(super) fn global_dice(case: &Case<'_>) -> Result<f64, Fault> {
    let masks = both(case, (Empty::Dash, Empty::Dash), |row| pixels(case, row))?;
    let shared: u64 = masks.iter().map(|(truth, predicted)| truth.overlap(predicted)).sum();
    let all: u64 = masks.iter().map(|(truth, predicted)| truth.area() + predicted.area()).sum();
    Ok(if all == 0 { f64::NAN } else { 2.0 * shared as f64 / all as f64 })
}

/// A blank cell is an empty mask in a submission, but not in the answers.
pub(super) fn mean_dice(case: &Case<'_>) -> Result<f64, Fault> {
    let masks = both(case, (Empty::Never, Empty::Blank), |row| pixels(case, row))?;
    Ok(mean(masks.iter().map(|(truth, predicted)| truth.dice(predicted).unwrap_or(1.0))))
}

/// Images of 101 x 101.
pub(super) fn mean_iou_precision(case: &Case<'_>) -> Result<f64, Fault> {
    const PIXELS: u64 = 101 * 101;
    let masks = both(case, (Empty::Blank, Empty::Blank), |_| Ok(PIXELS))?;
    Ok(mean(masks.iter().map(|(truth, predicted)| {
        if truth.area() == 0 {
            return f64::from(u8::from(predicted.area() == 0));
        }
        // The two-bin histogram of a mask without any pixel has all of them in its second bin.
        let (shared, union) = match predicted.area() {
            0 => (truth.area(), PIXELS),
            area => (truth.overlap(predicted), truth.area() + area - truth.overlap(predicted)),
        };
        let iou = shared as f64 / union as f64;
        // The thresholds are numpy.arange(0.5, 1.0, 0.05): multiples of the first step.
        let step = 0.55 - 0.5;
        let exceeded = (0..10).filter(|place| iou > 0.5 + f64::from(*place) * step).count();
        exceeded as f64 / 10.0
    })))
}

/// F0.5 of each image, 0 where it is undefined; ids must stand in the answers' order.
pub(super) fn f05_pixels(case: &Case<'_>) -> Result<f64, Fault> {
    let (ours, theirs) = (case.submission_ids()?, case.answer_ids()?);
    for (answer, row) in &case.pairs {
        let (answer, row) = (*answer as usize, *row as usize);
        if ours.get(row).is_none() || ours.get(row) != theirs.get(answer) {
            return Err(Fault::Submission(format!(
                "row {}: id {} is not the one that the answers have there",
                row + 1,
                ours.shown(row)
            )));
        }
    }
    let masks = both(case, (Empty::Never, Empty::Never), |row| pixels(case, row))?;
    Ok(mean(masks.iter().map(|(truth, predicted)| {
        let hits = truth.overlap(predicted) as f64;
        let weighted = 0.25 * truth.area() as f64 + predicted.area() as f64;
        if weighted == 0.0 { 0.0 } else { 1.25 * hits / weighted }
    })))
}

/// Dice of each row and Hausdorff distance of each day's volume. In MLE-bench's mode rows belong together by
/// their place, in strict mode by id and class.
pub(super) fn dice_hausdorff(case: &Case<'_>) -> Result<f64, Fault> {
    let (truth, predicted) = case.target(0)?;
    let pairs = match case.mode {
        Mode::Mlebench => {
            let rows = case.submission.rows().min(case.answers.rows()) as u32;
            (0..rows).map(|row| (row, row)).collect()
        }
        Mode::Strict => by_id_and_class(case)?,
    };
    let (our_ids, their_ids) =
        (case.submitted(&case.competition.id_column)?, case.answer_column(&case.competition.id_column)?);
    if !our_ids.is_text() || !their_ids.is_text() {
        return Err(Fault::Submission("the ids must be `case…_day…_slice_…` text".to_owned()));
    }
    let [height, width] = &case.competition.answers_columns[..] else {
        return Err(Fault::Answers("the images' sizes are not named".to_owned()));
    };
    let mut dice = Vec::new();
    let (mut our_slices, mut their_slices) = (Slices::default(), Slices::default());
    for (theirs, ours) in &pairs {
        let shape = (size(case, *theirs, height)?, size(case, *theirs, width)?);
        let pixels = shape.0.saturating_mul(shape.1);
        let ours_mask = mask(case, predicted, *ours, pixels, Empty::Blank).map_err(Fault::Submission)?;
        let theirs_mask = mask(case, truth, *theirs, pixels, Empty::Blank).map_err(Fault::Answers)?;
        dice.extend(theirs_mask.dice(&ours_mask));
        let id = |column: Column<'_>, row: u32| {
            let id = column.text().get(row as usize).map(str::to_owned);
            id.ok_or_else(|| format!("row {}: the id is missing", row + 1))
        };
        our_slices
            .entry(id(our_ids, *ours).map_err(Fault::Submission)?)
            .or_default()
            .push((shape, ours_mask));
        their_slices
            .entry(id(their_ids, *theirs).map_err(Fault::Answers)?)
            .or_default()
            .push((shape, theirs_mask));
    }
    let ours = volumes(our_slices).map_err(Fault::Submission)?;
    let theirs = volumes(their_slices).map_err(Fault::Answers)?;
    let distances = ours.iter().zip(&theirs).filter_map(|(ours, theirs)| hausdorff(ours, theirs));
    Ok(0.4 * mean(dice) + 0.6 * (1.0 - mean(distances)))
}

/// Masks of each slice, by its id and so in its order.
type Slices = BTreeMap<String, Vec<((u64, u64), Mask)>>;

/// One volume for each day, in the order of the slices' ids; the masks of a slice are joined.
fn volumes(slices: Slices) -> Result<Vec<Volume>, String> {
    let mut order: Vec<Volume> = Vec::new();
    let mut days: FxHashMap<String, usize> = FxHashMap::default();
    for (slice, masks) in slices {
        let day = slice.split("_slice_").next().unwrap_or_default().to_owned();
        let index = *days.entry(day.clone()).or_insert_with(|| {
            order.push(Volume::default());
            order.len() - 1
        });
        let shape = masks[0].0;
        if masks.iter().any(|(other, _)| *other != shape) || !order[index].accepts(shape) {
            return Err(format!("the slices of {day} have different sizes"));
        }
        order[index].push(shape, masks.into_iter().map(|(_, mask)| mask));
    }
    Ok(order)
}

fn by_id_and_class(case: &Case<'_>) -> Result<Vec<(u32, u32)>, Fault> {
    let class = &case.competition.required[0];
    let (our_ids, our_classes) = (case.submitted(&case.competition.id_column)?, case.submitted(class)?);
    let (ids, classes) = (case.answer_column(&case.competition.id_column)?, case.answer_column(class)?);
    super::super::Check::Rows.run(case)?;
    let mut rows: FxHashMap<(String, String), u32> = FxHashMap::default();
    let key = |ids: Column<'_>, classes: Column<'_>, row: usize| {
        (ids.printed(row).into_owned(), classes.printed(row).into_owned())
    };
    for row in 0..our_ids.len() {
        if rows.insert(key(our_ids, our_classes, row), row as u32).is_some() {
            let (id, class) = key(our_ids, our_classes, row);
            return Err(Fault::Submission(format!(
                "row {}: id {id} with class {class} appears again",
                row + 1
            )));
        }
    }
    (0..ids.len())
        .map(|row| {
            let found = rows.get(&key(ids, classes, row)).copied();
            found.map(|found| (row as u32, found)).ok_or_else(|| {
                Fault::Submission("ids and classes of the answers are not in the submission".to_owned())
            })
        })
        .collect()
}
