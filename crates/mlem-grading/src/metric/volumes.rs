//! Volumes stacked from masks, and the Hausdorff distance between two of them.

use super::masks::Mask;

/// Voxels of one case and day: slices of equal height and width.
#[derive(Debug, Clone, Default)]
pub struct Volume {
    shape: Option<(u64, u64)>,
    slices: u64,
    /// Slice, row, column of each voxel.
    voxels: Vec<[u64; 3]>,
}

impl Volume {
    /// Whether a slice of this height and width can be put on top.
    pub fn accepts(&self, shape: (u64, u64)) -> bool {
        self.shape.is_none_or(|known| known == shape)
    }

    /// Puts a slice on top: the union of column-major masks.
    pub fn push(&mut self, shape: (u64, u64), masks: impl Iterator<Item = Mask>) {
        self.shape = Some(shape);
        let mut pixels: Vec<u64> = masks
            .flat_map(|mask| mask.runs().iter().flat_map(|(from, to)| *from..*to).collect::<Vec<u64>>())
            .collect();
        pixels.sort_unstable();
        pixels.dedup();
        let (slice, height) = (self.slices, shape.0);
        self.voxels.extend(pixels.into_iter().map(|pixel| [slice, pixel % height, pixel / height]));
        self.slices += 1;
    }
}

/// The Hausdorff distance between prediction and truth with every axis scaled to 0 … 1 by the truth's size, as a
/// share of the unit cube's diagonal. `None` if both are empty; 1 if one is, or if the prediction has more than
/// ten times as many voxels.
pub fn hausdorff(predicted: &Volume, truth: &Volume) -> Option<f64> {
    match (predicted.voxels.len(), truth.voxels.len()) {
        (0, 0) => return None,
        (0, _) | (_, 0) => return Some(1.0),
        (predicted, truth) if predicted > 10 * truth => return Some(1.0),
        _ => {}
    }
    let (height, width) = truth.shape.unwrap_or_default();
    let scale = [truth.slices, height, width].map(|length| 1.0 / length as f64);
    let bounds = Bounds::around(&predicted.voxels, &truth.voxels);
    let farthest = |from: &Volume, to: &Volume| {
        let distances = bounds.squared_distances(&to.voxels, scale);
        from.voxels.iter().map(|voxel| distances[bounds.index(*voxel)]).fold(0.0, f64::max)
    };
    let squared = farthest(predicted, truth).max(farthest(truth, predicted));
    Some(squared.sqrt() / 3f64.sqrt())
}

/// The box around all voxels of both volumes.
struct Bounds {
    low: [u64; 3],
    size: [usize; 3],
}

impl Bounds {
    fn around(some: &[[u64; 3]], others: &[[u64; 3]]) -> Bounds {
        let (mut low, mut high) = ([u64::MAX; 3], [0; 3]);
        for voxel in some.iter().chain(others) {
            for axis in 0..3 {
                low[axis] = low[axis].min(voxel[axis]);
                high[axis] = high[axis].max(voxel[axis]);
            }
        }
        Bounds { low, size: [0, 1, 2].map(|axis| (high[axis] - low[axis] + 1) as usize) }
    }

    fn index(&self, voxel: [u64; 3]) -> usize {
        let [slice, row, column] = [0, 1, 2].map(|axis| (voxel[axis] - self.low[axis]) as usize);
        (slice * self.size[1] + row) * self.size[2] + column
    }

    /// For each place in the box the squared distance to the nearest voxel, one axis after the other
    /// (Felzenszwalb and Huttenlocher, "Distance Transforms of Sampled Functions", 2012).
    fn squared_distances(&self, voxels: &[[u64; 3]], scale: [f64; 3]) -> Vec<f64> {
        let [slices, rows, columns] = self.size;
        let mut distances = vec![f64::INFINITY; slices * rows * columns];
        voxels.iter().for_each(|voxel| distances[self.index(*voxel)] = 0.0);
        let strides = [rows * columns, columns, 1];
        let mut lines = Lines::default();
        for axis in [2, 1, 0] {
            let (length, stride) = (self.size[axis], strides[axis]);
            for start in 0..distances.len() {
                if start / stride % length == 0 {
                    lines.transform(&mut distances, start, stride, length, scale[axis]);
                }
            }
        }
        distances
    }
}

/// Buffers for the lower envelope of parabolas along one line.
#[derive(Default)]
struct Lines {
    /// Place and height of each parabola of the envelope, and from where on it is the lowest.
    parabolas: Vec<(usize, f64, f64)>,
}

impl Lines {
    fn transform(&mut self, values: &mut [f64], start: usize, stride: usize, length: usize, scale: f64) {
        self.parabolas.clear();
        let squared = scale * scale;
        for place in 0..length {
            let height = values[start + place * stride];
            if height.is_infinite() {
                continue;
            }
            let mut from = f64::NEG_INFINITY;
            while let Some((other, other_height, other_from)) = self.parabolas.last() {
                let (here, there) = (place as f64, *other as f64);
                from = ((height - other_height) / squared + here * here - there * there)
                    / (2.0 * (here - there));
                if from > *other_from {
                    break;
                }
                self.parabolas.pop();
                from = f64::NEG_INFINITY;
            }
            self.parabolas.push((place, height, from));
        }
        if self.parabolas.is_empty() {
            return;
        }
        let mut current = 0;
        for place in 0..length {
            while self.parabolas.get(current + 1).is_some_and(|(_, _, from)| *from <= place as f64) {
                current += 1;
            }
            let (centre, height, _) = self.parabolas[current];
            let distance = place.abs_diff(centre) as f64 * scale;
            values[start + place * stride] = height + distance * distance;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(shape: (u64, u64), slices: &[&str]) -> Volume {
        let mut volume = Volume::default();
        for slice in slices {
            volume.push(shape, [Mask::parse(slice, shape.0 * shape.1).unwrap()].into_iter());
        }
        volume
    }

    /// Every voxel against every other one.
    fn by_definition(predicted: &Volume, truth: &Volume) -> f64 {
        let (height, width) = truth.shape.unwrap();
        let size = [truth.slices, height, width].map(|length| length as f64);
        let distance = |a: &[u64; 3], b: &[u64; 3]| {
            (0..3)
                .map(|axis| (a[axis] as f64 / size[axis] - b[axis] as f64 / size[axis]).powi(2))
                .sum::<f64>()
        };
        let directed = |from: &Volume, to: &Volume| {
            let nearest = |a| to.voxels.iter().map(|b| distance(a, b)).fold(f64::INFINITY, f64::min);
            from.voxels.iter().map(nearest).fold(0.0, f64::max)
        };
        directed(predicted, truth).max(directed(truth, predicted)).sqrt() / 3f64.sqrt()
    }

    #[test]
    fn equals_the_definition() {
        let mut state = 3u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..60 {
            let shape = (2 + random(9), 2 + random(7));
            let mut slices = || -> Vec<String> {
                (0..4).map(|_| format!("{} {}", 1 + random(shape.0 * shape.1), 1 + random(5))).collect()
            };
            let (predicted, truth) = (slices(), slices());
            let strs =
                |slices: &[String]| volume(shape, &slices.iter().map(String::as_str).collect::<Vec<&str>>());
            let (predicted, truth) = (strs(&predicted), strs(&truth));
            let found = hausdorff(&predicted, &truth).unwrap();
            if predicted.voxels.len() <= 10 * truth.voxels.len() {
                assert!((found - by_definition(&predicted, &truth)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn empty_and_equal_volumes() {
        let (empty, some) = (volume((5, 5), &["", ""]), volume((5, 5), &["3 2", "1 1"]));
        assert_eq!(hausdorff(&empty, &empty), None);
        assert_eq!(hausdorff(&empty, &some), Some(1.0));
        assert_eq!(hausdorff(&some, &empty), Some(1.0));
        assert_eq!(hausdorff(&some, &some), Some(0.0));
        assert_eq!(hausdorff(&volume((5, 5), &["1 25"]), &volume((5, 5), &["1 2"])), Some(1.0));
    }
}
