//! Metrics of upright boxes in space, turned about the vertical.

use super::ranks::compare;
use super::sums::sum;

/// A box: class, confidence, centre, size (width, length, height) and yaw in radians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cuboid<'t> {
    /// Its class.
    pub class: &'t str,
    /// How sure the prediction is.
    pub confidence: f64,
    /// Its centre.
    pub centre: [f64; 3],
    /// Width, length, height.
    pub size: [f64; 3],
    /// Turn about the vertical, in radians.
    pub yaw: f64,
}

impl Cuboid<'_> {
    /// The corners of its base, relative to an origin, in turning order.
    fn base(&self, origin: [f64; 3]) -> Vec<(f64, f64)> {
        let (sine, cosine) = self.yaw.sin_cos();
        let [width, length, _] = self.size;
        [(0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)]
            .map(|(along, across)| {
                let (along, across) = (along * length, across * width);
                (
                    self.centre[0] - origin[0] + along * cosine - across * sine,
                    self.centre[1] - origin[1] + along * sine + across * cosine,
                )
            })
            .to_vec()
    }

    fn volume(&self) -> f64 {
        self.size.iter().product()
    }

    /// Intersection over union of two boxes.
    pub fn iou(&self, other: &Cuboid<'_>) -> f64 {
        let (bottom, top) = (self.centre[2] - self.size[2] / 2.0, self.centre[2] + self.size[2] / 2.0);
        let (other_bottom, other_top) =
            (other.centre[2] - other.size[2] / 2.0, other.centre[2] + other.size[2] / 2.0);
        let height = (top.min(other_top) - bottom.max(other_bottom)).max(0.0);
        if height == 0.0 {
            return 0.0;
        }
        // Near the origin the corners keep their digits.
        let area = area(&clipped(self.base(self.centre), &other.base(self.centre)));
        let shared = height * area;
        (shared / (self.volume() + other.volume() - shared)).clamp(0.0, 1.0)
    }
}

/// The part of a convex polygon inside another one (Sutherland and Hodgman), both in the same turning order.
fn clipped(polygon: Vec<(f64, f64)>, window: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut polygon = polygon;
    for (index, from) in window.iter().enumerate() {
        let to = window[(index + 1) % window.len()];
        let side =
            |point: (f64, f64)| (to.0 - from.0) * (point.1 - from.1) - (to.1 - from.1) * (point.0 - from.0);
        let mut kept = Vec::with_capacity(polygon.len() + 1);
        for (index, point) in polygon.iter().enumerate() {
            let next = polygon[(index + 1) % polygon.len()];
            let (here, there) = (side(*point), side(next));
            if here >= 0.0 {
                kept.push(*point);
            }
            if (here > 0.0 && there < 0.0) || (here < 0.0 && there > 0.0) {
                let share = here / (here - there);
                kept.push((point.0 + (next.0 - point.0) * share, point.1 + (next.1 - point.1) * share));
            }
        }
        polygon = kept;
    }
    polygon
}

fn area(polygon: &[(f64, f64)]) -> f64 {
    let crossed = (0..polygon.len()).map(|index| {
        let (here, next) = (polygon[index], polygon[(index + 1) % polygon.len()]);
        here.0 * next.1 - next.0 * here.1
    });
    sum(crossed).abs() / 2.0
}

/// Mean average precision of one sample at each threshold; NaN where there is no truth.
pub fn sample_average_precisions(
    truth: &[Cuboid<'_>],
    predicted: &[Cuboid<'_>],
    thresholds: &[f64],
) -> Vec<f64> {
    let mut classes: Vec<&str> = truth.iter().map(|one| one.class).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut totals = vec![0.0; thresholds.len()];
    for class in &classes {
        let theirs: Vec<&Cuboid<'_>> = truth.iter().filter(|one| one.class == *class).collect();
        let mut ours: Vec<&Cuboid<'_>> = predicted.iter().filter(|one| one.class == *class).collect();
        ours.sort_by(|left, right| compare(right.confidence, left.confidence));
        let best: Vec<(usize, f64)> = ours
            .iter()
            .map(|one| {
                theirs.iter().map(|other| one.iou(other)).enumerate().fold(
                    (0, f64::NEG_INFINITY),
                    |best, found| {
                        if found.1 > best.1 { found } else { best }
                    },
                )
            })
            .collect();
        for (total, threshold) in totals.iter_mut().zip(thresholds) {
            let mut is_taken = vec![false; theirs.len()];
            let hits = best.iter().map(|(index, overlap)| {
                let is_hit = *overlap > *threshold && !is_taken[*index];
                is_taken[*index] |= is_hit;
                is_hit
            });
            *total += average_precision(hits, theirs.len());
        }
    }
    totals.into_iter().map(|total| total / classes.len() as f64).collect()
}

/// The area under the envelope of precision over recall, all points.
fn average_precision(hits: impl Iterator<Item = bool>, wanted: usize) -> f64 {
    let (mut found, mut seen) = (0.0, 0.0);
    let mut curve: Vec<(f64, f64)> = hits
        .map(|is_hit| {
            found += f64::from(u8::from(is_hit));
            seen += 1.0;
            (found / wanted as f64, found / seen)
        })
        .collect();
    for place in (1..curve.len()).rev() {
        curve[place - 1].1 = curve[place - 1].1.max(curve[place].1);
    }
    let mut recall = 0.0;
    sum(curve.into_iter().map(|(reached, precision)| {
        let won = reached - recall;
        recall = reached;
        won * precision
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuboid(centre: [f64; 3], size: [f64; 3], yaw: f64) -> Cuboid<'static> {
        Cuboid { class: "car", confidence: 0.5, centre, size, yaw }
    }

    #[test]
    fn overlaps_of_turned_boxes() {
        let one = cuboid([2000.0, 700.0, 1.0], [2.0, 2.0, 2.0], 0.0);
        assert!((one.iou(&one) - 1.0).abs() < 1e-12);
        // A square on its tip over the same centre shares the octagon of area 8(√2 - 1).
        let tipped = cuboid([2000.0, 700.0, 1.0], [2.0, 2.0, 2.0], std::f64::consts::FRAC_PI_4);
        let octagon = 8.0 * (std::f64::consts::SQRT_2 - 1.0);
        assert!((one.iou(&tipped) - octagon / (8.0 - octagon)).abs() < 1e-12);
        assert_eq!(one.iou(&cuboid([2000.0, 700.0, 3.0], [2.0, 2.0, 2.0], 0.0)), 0.0);
        assert_eq!(one.iou(&cuboid([2010.0, 700.0, 1.0], [2.0, 2.0, 2.0], 1.0)), 0.0);
    }

    #[test]
    fn samples_without_truth_have_no_score() {
        let one = cuboid([0.0; 3], [1.0; 3], 0.0);
        assert!(sample_average_precisions(&[], &[one], &[0.5])[0].is_nan());
        assert_eq!(sample_average_precisions(&[one], &[one, one], &[0.5, 0.95]), [1.0, 1.0]);
        assert_eq!(sample_average_precisions(&[one], &[], &[0.5]), [0.0]);
    }
}
