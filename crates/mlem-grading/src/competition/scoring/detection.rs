//! Metrics of boxes that cells hold as tokens.

use rustc_hash::FxHashMap;

use crate::competition::{Case, Fault, Mode};
use crate::metric::boxes::{
    CocoBox, Detection, LabelledBox, Point, coco_average_precision, mean_average_precision, points_in_boxes,
};
use crate::metric::cuboids::{Cuboid, sample_average_precisions};
use crate::metric::sums::mean;
use crate::table::{Column, Key, python_float, python_split, python_strip};

/// A cell of tokens; `None` where it is missing.
fn cell<'t>(column: Column<'t>, row: u32) -> Result<Option<&'t str>, String> {
    if !column.is_text() && !column.is_missing(row as usize) {
        return Err(format!("row {}: the column holds {}, not text", row + 1, column.kind()));
    }
    Ok(column.text().get(row as usize))
}

/// Tokens separated by one space each, in groups of `size`.
fn groups(row: u32, text: &str, size: usize) -> Result<Vec<Vec<&str>>, String> {
    let tokens: Vec<&str> = text.split(' ').collect();
    if !tokens.len().is_multiple_of(size) {
        return Err(format!("row {}: {} tokens, which is no multiple of {size}", row + 1, tokens.len()));
    }
    Ok(tokens.chunks_exact(size).map(<[&str]>::to_vec).collect())
}

fn float(row: u32, token: &str) -> Result<f64, String> {
    python_float(token).ok_or_else(|| format!("row {}: `{token}` is not a number", row + 1))
}

/// Both targets' cells, read each in its way; faults go to the side they are of.
fn both<'t, A, B>(
    case: &Case<'t>,
    truth: impl Fn(Column<'t>, u32) -> Result<A, String>,
    predicted: impl Fn(Column<'t>, u32) -> Result<B, String>,
) -> Result<Vec<(A, B)>, Fault> {
    super::only_target(case)?;
    let (theirs, ours) = case.target(0)?;
    case.pairs
        .iter()
        .map(|(answer, row)| {
            Ok((
                truth(theirs, *answer).map_err(Fault::Answers)?,
                predicted(ours, *row).map_err(Fault::Submission)?,
            ))
        })
        .collect()
}

pub(super) fn centre_f1(case: &Case<'_>) -> Result<f64, Fault> {
    let pages = both(
        case,
        |column, row| {
            let Some(text) = cell(column, row)? else { return Ok(Vec::new()) };
            let boxes = groups(row, text, 5)?.into_iter().map(|tokens| {
                let number = |place: usize| float(row, tokens[place]);
                let (corner, size) = ((number(1)?, number(2)?), (number(3)?, number(4)?));
                Ok(LabelledBox { label: tokens[0], corner, size })
            });
            boxes.collect::<Result<Vec<LabelledBox<'_>>, String>>()
        },
        |column, row| {
            let Some(text) = cell(column, row)? else { return Ok(Vec::new()) };
            let points = groups(row, text, 3)?.into_iter().map(|tokens| {
                Ok(Point { label: tokens[0], at: (float(row, tokens[1])?, float(row, tokens[2])?) })
            });
            points.collect::<Result<Vec<Point<'_>>, String>>()
        },
    )?;
    let (mut hits, mut alarms, mut misses) = (0, 0, 0);
    for (boxes, points) in &pages {
        let counts = points_in_boxes(boxes, points);
        hits += counts.0;
        alarms += counts.1;
        misses += counts.2;
    }
    if hits == 0 {
        return Ok(0.0);
    }
    let precision = hits as f64 / (hits + alarms) as f64;
    let recall = hits as f64 / (hits + misses) as f64;
    Ok(2.0 * precision * recall / (precision + recall))
}

pub(super) fn box_map(case: &Case<'_>) -> Result<f64, Fault> {
    let read = |column, row| {
        let text = cell(column, row)?.ok_or_else(|| format!("row {}: the boxes are missing", row + 1))?;
        let tokens: Vec<&str> = python_split(text).collect();
        if !tokens.len().is_multiple_of(6) {
            return Err(format!("row {}: {} tokens, which is no multiple of 6", row + 1, tokens.len()));
        }
        let boxes = tokens.chunks_exact(6).map(|tokens| {
            let mut numbers = [0.0; 5];
            for (number, token) in numbers.iter_mut().zip(&tokens[1..]) {
                *number = float(row, token)?;
            }
            let [confidence, corners @ ..] = numbers;
            if !confidence.is_finite() {
                return Err(format!("row {}: a confidence is missing or infinite", row + 1));
            }
            Ok(Detection { class: tokens[0], confidence, corners })
        });
        boxes.collect::<Result<Vec<Detection<'_>>, String>>()
    };
    let images = both(case, read, read)?;
    mean_average_precision(&images)
        .ok_or_else(|| Fault::Submission("a class has nothing but hits, so no average precision".to_owned()))
}

/// The answers hold a row for each box; images are numbered by their first appearance there.
pub(super) fn coco_map(case: &Case<'_>) -> Result<f64, Fault> {
    let (ids, ours) = (case.answer_ids()?, case.submission_ids()?);
    let classes = case.answer_column(&case.truth[0])?;
    let corners = case
        .competition
        .answers_columns
        .iter()
        .map(|name| case.answer_column(name))
        .collect::<Result<Vec<Column<'_>>, Fault>>()?;
    let mut images: FxHashMap<Key<'_>, u32> = FxHashMap::default();
    let mut boxes: Vec<CocoBox> = Vec::with_capacity(ids.len());
    for row in 0..ids.len() {
        let wrong = |what: &str| Fault::Answers(format!("row {}: {what}", row + 1));
        let key = ids.get(row).ok_or_else(|| wrong("the id is missing"))?;
        let next = images.len() as u32;
        let image = *images.entry(key).or_insert(next);
        let number = |column: &Column<'_>| column.number(row).filter(|value| !value.is_nan());
        let class = number(&classes).ok_or_else(|| wrong("the class is no number"))? as i64;
        let mut place = [0.0; 4];
        for (value, column) in place.iter_mut().zip(&corners) {
            *value = number(column).ok_or_else(|| wrong("a corner is missing"))?;
        }
        boxes.push(CocoBox { image, class, corners: place, score: 0.0 });
    }
    // Numbered image by image.
    boxes.sort_by_key(|one| one.image);
    let predictions = case.submitted(&case.targets[0])?;
    if case.mode == Mode::Strict && ours.len() > images.len() {
        return Err(Fault::Submission(case.first_duplicate(&ours)));
    }
    let mut found = Vec::new();
    for row in 0..ours.len() as u32 {
        let image = ours.get(row as usize).and_then(|key| images.get(&key));
        let image = *image.ok_or_else(|| Fault::Submission(format!("row {}: no such image", row + 1)))?;
        let text = cell(predictions, row).map_err(Fault::Submission)?;
        let text =
            text.ok_or_else(|| Fault::Submission(format!("row {}: the boxes are missing", row + 1)))?;
        for tokens in groups(row, text, 6).map_err(Fault::Submission)? {
            let mut numbers = [0.0; 6];
            for (number, token) in numbers.iter_mut().zip(&tokens) {
                *number = float(row, token).map_err(Fault::Submission)?;
            }
            let [class, score, corners @ ..] = numbers;
            if !class.is_finite() {
                return Err(Fault::Submission(format!("row {}: a class is no number", row + 1)));
            }
            found.push(CocoBox { image, class: class as i64, corners, score });
        }
    }
    Ok(coco_average_precision(&boxes, &found, 0.4))
}

pub(super) fn cuboid_map(case: &Case<'_>) -> Result<f64, Fault> {
    const THRESHOLDS: [f64; 10] = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95];
    let read = |column, row| {
        let text = cell(column, row)?.unwrap_or_default();
        if python_strip(text).is_empty() {
            return Ok(Vec::new());
        }
        let boxes = groups(row, text, 9)?.into_iter().map(|tokens| {
            let mut numbers = [0.0; 8];
            for (number, token) in numbers.iter_mut().zip(&tokens) {
                *number = float(row, token)?;
            }
            let [confidence, x, y, z, width, length, height, yaw] = numbers;
            Ok(Cuboid { class: tokens[8], confidence, centre: [x, y, z], size: [width, length, height], yaw })
        });
        boxes.collect::<Result<Vec<Cuboid<'_>>, String>>()
    };
    let samples = both(case, read, read)?;
    let mut scores = Vec::with_capacity(samples.len() * THRESHOLDS.len());
    for ((truth, predicted), (answer, row)) in samples.iter().zip(&case.pairs) {
        // Only boxes of the sample's own classes are looked at.
        let is_wrong = |one: &&Cuboid<'_>| {
            let numbers = one.centre.iter().chain(&one.size).chain([&one.yaw]);
            numbers.clone().any(|number| !number.is_finite()) || one.size.iter().any(|side| *side <= 0.0)
        };
        let is_graded = |one: &&Cuboid<'_>| truth.iter().any(|other| other.class == one.class);
        if predicted.iter().filter(is_graded).any(|one| is_wrong(&one)) {
            return Err(Fault::Submission(format!("row {}: a box has no positive size", row + 1)));
        }
        if truth.iter().any(|one| is_wrong(&one)) {
            return Err(Fault::Answers(format!("row {}: a box has no positive size", answer + 1)));
        }
        scores.extend(sample_average_precisions(truth, predicted, &THRESHOLDS));
    }
    Ok(mean(scores))
}
