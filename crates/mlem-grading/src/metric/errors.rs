//! Errors of predicted numbers.

use super::sums::{mean, sum};

/// Root of the mean squared error.
pub fn rmse(truth: &[f64], predicted: &[f64]) -> f64 {
    mean(differences(truth, predicted).map(|difference| difference * difference)).sqrt()
}

/// Mean absolute error.
pub fn mae(truth: &[f64], predicted: &[f64]) -> f64 {
    mean(differences(truth, predicted).map(f64::abs))
}

/// Root of the mean squared difference of `ln(1 + x)`.
pub fn rmsle(truth: &[f64], predicted: &[f64]) -> f64 {
    let logs = |values: &[f64]| values.iter().map(|value| value.ln_1p()).collect::<Vec<f64>>();
    rmse(&logs(truth), &logs(predicted))
}

/// Coefficient of determination; 1 for a perfect prediction of a constant, 0 for an imperfect one.
pub fn r2(truth: &[f64], predicted: &[f64]) -> f64 {
    let centre = mean(truth.iter().copied());
    let residual = sum(differences(truth, predicted).map(|difference| difference * difference));
    let total = sum(truth.iter().map(|value| (value - centre) * (value - centre)));
    match (residual == 0.0, total == 0.0) {
        (true, true) => 1.0,
        (false, true) => 0.0,
        _ => 1.0 - residual / total,
    }
}

fn differences<'v>(truth: &'v [f64], predicted: &'v [f64]) -> impl Iterator<Item = f64> + 'v {
    truth.iter().zip(predicted).map(|(truth, predicted)| truth - predicted)
}

/// The modified Laplace log likelihood: deviations are at least 70, errors at most 1,000.
pub fn laplace_log_likelihood(truth: &[f64], predicted: &[f64], deviations: &[f64]) -> f64 {
    let root = std::f64::consts::SQRT_2;
    mean(differences(truth, predicted).zip(deviations).map(|(difference, deviation)| {
        // `f64::max` and `min` would hide a NaN.
        let deviation = if *deviation < 70.0 { 70.0 } else { *deviation };
        let difference = if difference.abs() > 1000.0 { 1000.0 } else { difference.abs() };
        -root * difference / deviation - (root * deviation).ln()
    }))
}

/// Mean angle in radians between directions given as azimuth and zenith.
pub fn angular_error(truth: (&[f64], &[f64]), predicted: (&[f64], &[f64])) -> f64 {
    mean((0..truth.0.len()).map(|row| {
        let (azimuth, zenith) = (truth.0[row], truth.1[row]);
        let (other_azimuth, other_zenith) = (predicted.0[row], predicted.1[row]);
        let cosine = zenith.sin()
            * other_zenith.sin()
            * (azimuth.cos() * other_azimuth.cos() + azimuth.sin() * other_azimuth.sin())
            + zenith.cos() * other_zenith.cos();
        cosine.clamp(-1.0, 1.0).acos()
    }))
}

/// Great-circle distance in metres on a sphere of 6,371 km, from degrees.
pub fn haversine(from: (f64, f64), to: (f64, f64)) -> f64 {
    let [(latitude, longitude), (other_latitude, other_longitude)] =
        [from, to].map(|(latitude, longitude)| (latitude.to_radians(), longitude.to_radians()));
    let half = |difference: f64| (difference / 2.0).sin().powi(2);
    let chord = half(other_latitude - latitude)
        + latitude.cos() * other_latitude.cos() * half(other_longitude - longitude);
    2.0 * 6_371_000.0 * chord.sqrt().asin()
}

/// A quantile, linear between order statistics (numpy's default); NaN if any value is or none is there.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() - 1) as f64 * share;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(rmse(&[1.0, 2.0], &[1.0, 4.0]), std::f64::consts::SQRT_2);
        assert_eq!(mae(&[1.0, 2.0], &[1.0, 4.0]), 1.0);
        assert_eq!(quantile(&[3.0, 1.0, 2.0, 10.0], 0.5), 2.5);
        assert_eq!(r2(&[1.0, 1.0], &[1.0, 1.0]), 1.0);
        assert_eq!(r2(&[1.0, 1.0], &[1.0, 2.0]), 0.0);
        // The perfect score of the competition with every deviation at the floor.
        let perfect = laplace_log_likelihood(&[2000.0], &[2000.0], &[1.0]);
        assert!((perfect - -4.595_068_832_329).abs() < 1e-12, "{perfect}");
        assert!(laplace_log_likelihood(&[2000.0], &[f64::NAN], &[1.0]).is_nan());
        let quarter = haversine((0.0, 0.0), (0.0, 90.0));
        assert!((quarter - 6_371_000.0 * std::f64::consts::FRAC_PI_2).abs() < 1e-6);
        assert_eq!(angular_error((&[1.0], &[0.0]), (&[2.0], &[std::f64::consts::PI])), std::f64::consts::PI);
    }
}
