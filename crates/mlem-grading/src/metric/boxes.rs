//! Metrics of boxes in pictures.

use rustc_hash::FxHashMap;

use super::ranks::compare;
use super::sums::mean;

/// A labelled point of a prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point<'t> {
    /// Its label.
    pub label: &'t str,
    /// Its place.
    pub at: (f64, f64),
}

/// A labelled box of the truth: left upper corner, width and height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelledBox<'t> {
    /// Its label.
    pub label: &'t str,
    /// Its left upper corner.
    pub corner: (f64, f64),
    /// Its width and height.
    pub size: (f64, f64),
}

/// Hits, false alarms and misses on one page: each box takes the first unused point of its label strictly inside.
pub fn points_in_boxes(boxes: &[LabelledBox<'_>], points: &[Point<'_>]) -> (usize, usize, usize) {
    let mut is_used = vec![false; points.len()];
    let mut hits = 0;
    for wanted in boxes {
        let (left, top) = wanted.corner;
        let (right, bottom) = (left + wanted.size.0, top + wanted.size.1);
        let found = points.iter().zip(&mut is_used).find(|(point, is_used)| {
            let (x, y) = point.at;
            !**is_used && point.label == wanted.label && left < x && x < right && top < y && y < bottom
        });
        if let Some((_, is_used)) = found {
            *is_used = true;
            hits += 1;
        }
    }
    (hits, points.len() - hits, boxes.len() - hits)
}

/// A box of a class with a confidence: left, top, right, bottom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detection<'t> {
    /// Its class.
    pub class: &'t str,
    /// How sure the prediction is.
    pub confidence: f64,
    /// Left, top, right, bottom.
    pub corners: [f64; 4],
}

fn iou(one: [f64; 4], other: [f64; 4]) -> f64 {
    let side = |low: usize| {
        let overlap = one[low + 2].min(other[low + 2]) - one[low].max(other[low]);
        if overlap > 0.0 { overlap } else { 0.0 }
    };
    let area = |corners: [f64; 4]| (corners[2] - corners[0]) * (corners[3] - corners[1]);
    let shared = side(0) * side(1);
    let union = area(one) + area(other) - shared;
    if union > 0.0 { shared / union } else { 0.0 }
}

/// Mean over the classes of the truth of the average precision of all images together. Each prediction, by
/// falling confidence, takes the best unused box of its class with an intersection over union above 0.5; a box
/// that none took is a hit of confidence 0, and an image with nothing of a class a false alarm of confidence 0.
/// `None` where a class has nothing but hits.
pub fn mean_average_precision(images: &[(Vec<Detection<'_>>, Vec<Detection<'_>>)]) -> Option<f64> {
    let mut classes: Vec<&str> =
        images.iter().flat_map(|(truth, _)| truth.iter().map(|one| one.class)).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut averages = Vec::with_capacity(classes.len());
    for class in classes {
        let mut outcomes: Vec<(f64, bool)> = Vec::new();
        for (truth, predicted) in images {
            let boxes: Vec<[f64; 4]> =
                truth.iter().filter(|one| one.class == class).map(|one| one.corners).collect();
            let mut predicted: Vec<&Detection<'_>> =
                predicted.iter().filter(|one| one.class == class).collect();
            predicted.sort_by(|left, right| compare(right.confidence, left.confidence));
            let mut is_taken = vec![false; boxes.len()];
            let before = outcomes.len();
            for one in predicted {
                let mut best = (0.5, None);
                for (index, corners) in boxes.iter().enumerate().filter(|(index, _)| !is_taken[*index]) {
                    let overlap = iou(one.corners, *corners);
                    if overlap > best.0 {
                        best = (overlap, Some(index));
                    }
                }
                if let Some(index) = best.1 {
                    is_taken[index] = true;
                }
                outcomes.push((one.confidence, best.1.is_some()));
            }
            outcomes.extend(is_taken.iter().filter(|is_taken| !**is_taken).map(|_| (0.0, true)));
            if outcomes.len() == before {
                outcomes.push((0.0, false));
            }
        }
        if outcomes.iter().all(|(_, is_hit)| *is_hit) {
            return None;
        }
        averages.push(average_precision(outcomes));
    }
    Some(if averages.is_empty() { 0.0 } else { mean(averages) })
}

/// Average precision: the precision at each distinct score, weighted by the recall won there.
pub fn average_precision(mut outcomes: Vec<(f64, bool)>) -> f64 {
    outcomes.sort_by(|left, right| compare(right.0, left.0));
    let positives = outcomes.iter().filter(|(_, is_hit)| *is_hit).count() as f64;
    let (mut hits, mut seen) = (0.0, 0.0);
    super::sums::sum(outcomes.chunk_by(|left, right| left.0 == right.0).map(|tie| {
        let won = tie.iter().filter(|(_, is_hit)| *is_hit).count() as f64;
        hits += won;
        seen += tie.len() as f64;
        won / positives * (hits / seen)
    }))
}

/// A box as the COCO evaluation is handed it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CocoBox {
    /// Its image.
    pub image: u32,
    /// Its class.
    pub class: i64,
    /// Left, top, right, bottom: the area is made of them as corners, the overlap of them as x, y, width, height.
    pub corners: [f64; 4],
    /// Confidence of a prediction; of no meaning for the truth.
    pub score: f64,
}

/// COCO's average precision at one threshold with 101 recall points, over the classes of the truth, as
/// `pycocotools` 2.0 computes it. Boxes are numbered from 0 in their order: the truth's number 0 does not count
/// as matched, and what the predictions' number 0 matched stays free. `-1` where no class can be scored.
pub fn coco_average_precision(truth: &[CocoBox], predicted: &[CocoBox], threshold: f64) -> f64 {
    const MOST: usize = 100;
    let mut classes: Vec<i64> = truth.iter().map(|one| one.class).collect();
    classes.sort_unstable();
    classes.dedup();
    let group = |boxes: &[CocoBox]| {
        let mut groups: FxHashMap<(i64, u32), Vec<usize>> = FxHashMap::default();
        for (number, one) in boxes.iter().enumerate() {
            groups.entry((one.class, one.image)).or_default().push(number);
        }
        groups
    };
    let (true_groups, our_groups) = (group(truth), group(predicted));
    let images = truth.iter().chain(predicted).map(|one| one.image).max().map_or(0, |last| last + 1);
    let mut precisions = Vec::new();
    for class in classes {
        // Score, whether it counts as matched, whether it is left out.
        let mut outcomes: Vec<(f64, bool, bool)> = Vec::new();
        let mut wanted = 0;
        for image in 0..images {
            let of = |groups: &FxHashMap<(i64, u32), Vec<usize>>| {
                groups.get(&(class, image)).cloned().unwrap_or_default()
            };
            let mut theirs = of(&true_groups);
            // Boxes of no sensible area come last and are not to be found.
            theirs.sort_by_key(|number| is_ignored(&truth[*number]));
            wanted += theirs.iter().filter(|number| !is_ignored(&truth[**number])).count();
            let mut ours = of(&our_groups);
            ours.sort_by(|left, right| compare(predicted[*right].score, predicted[*left].score));
            ours.truncate(MOST);
            let mut taken_by: Vec<usize> = vec![0; theirs.len()];
            for number in ours {
                let one = &predicted[number];
                let mut best: Option<usize> = None;
                let mut overlap = threshold.min(1.0 - 1e-10);
                for (place, other) in theirs.iter().enumerate() {
                    if taken_by[place] > 0 {
                        continue;
                    }
                    let other = &truth[*other];
                    if best.is_some_and(|best| !is_ignored(&truth[theirs[best]])) && is_ignored(other) {
                        break;
                    }
                    let found = place_size_iou(one.corners, other.corners);
                    if found < overlap {
                        continue;
                    }
                    overlap = found;
                    best = Some(place);
                }
                let matched = best.map(|place| theirs[place]);
                if let Some(place) = best {
                    taken_by[place] = number;
                }
                let left_out = matched.is_some_and(|matched| is_ignored(&truth[matched]));
                let is_matched = matched.is_some_and(|matched| matched != 0);
                outcomes.push((one.score, is_matched, left_out || (!is_matched && is_ignored(one))));
            }
        }
        if wanted > 0 {
            precisions.extend(precision_at_recalls(outcomes, wanted));
        }
    }
    if precisions.is_empty() { -1.0 } else { mean(precisions) }
}

/// Outside of COCO's area range `all`.
fn is_ignored(one: &CocoBox) -> bool {
    let [left, top, right, bottom] = one.corners;
    let area = (right - left) * (bottom - top);
    !(0.0..=1e10).contains(&area) && !area.is_nan()
}

/// The intersection over union of boxes read as place and size.
fn place_size_iou(one: [f64; 4], other: [f64; 4]) -> f64 {
    let side = |axis: usize| {
        (one[axis + 2] + one[axis]).min(other[axis + 2] + other[axis]) - one[axis].max(other[axis])
    };
    let (width, height) = (side(0), side(1));
    if width <= 0.0 || height <= 0.0 {
        return 0.0;
    }
    let shared = width * height;
    shared / (one[2] * one[3] + other[2] * other[3] - shared)
}

/// The highest precision at or behind each of 101 recalls.
fn precision_at_recalls(mut outcomes: Vec<(f64, bool, bool)>, wanted: usize) -> Vec<f64> {
    outcomes.sort_by(|left, right| compare(right.0, left.0));
    let (mut hits, mut alarms) = (0.0, 0.0);
    let mut curve: Vec<(f64, f64)> = Vec::with_capacity(outcomes.len());
    for (_, is_matched, left_out) in outcomes {
        match (is_matched, left_out) {
            (true, false) => hits += 1.0,
            (false, false) => alarms += 1.0,
            (_, true) => {}
        }
        // numpy.spacing(1) keeps 0 / 0 away.
        curve.push((hits / wanted as f64, hits / (alarms + hits + f64::EPSILON)));
    }
    for place in (1..curve.len()).rev() {
        curve[place - 1].1 = curve[place - 1].1.max(curve[place].1);
    }
    (0..=100)
        .map(|place| {
            // numpy.linspace(0, 1, 101), whose last point is exact.
            let recall = if place == 100 { 1.0 } else { f64::from(place) * 0.01 };
            curve
                .get(curve.partition_point(|(reached, _)| *reached < recall))
                .map_or(0.0, |(_, precision)| *precision)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_strictly_inside() {
        let boxes = [LabelledBox { label: "a", corner: (0.0, 0.0), size: (10.0, 10.0) }; 2];
        let point = |label, x, y| Point { label, at: (x, y) };
        let points = [point("a", 0.0, 5.0), point("b", 5.0, 5.0), point("a", 5.0, 5.0)];
        assert_eq!(points_in_boxes(&boxes, &points), (1, 2, 1));
    }

    #[test]
    fn average_precision_of_ties() {
        // average_precision_score([1, 0, 1], [.5, .5, 0]) of scikit-learn 1.5.2
        assert!(
            (average_precision(vec![(0.5, true), (0.5, false), (0.0, true)]) - 0.583_333_333_333_333_3).abs()
                < 1e-15
        );
    }

    #[test]
    fn boxes_of_a_class() {
        let one = |class, confidence, corners| Detection { class, confidence, corners };
        let truth = vec![one("a", 1.0, [0.0, 0.0, 10.0, 10.0])];
        let hit = vec![one("a", 0.9, [0.0, 0.0, 10.0, 9.0])];
        let images = [(truth.clone(), hit.clone()), (vec![], vec![])];
        assert_eq!(mean_average_precision(&images), Some(1.0));
        let images = [(truth, vec![]), (vec![], hit)];
        assert_eq!(mean_average_precision(&images), Some(0.5));
    }
}
