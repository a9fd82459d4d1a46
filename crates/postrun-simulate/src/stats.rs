//! Means and percentiles, as numpy has them.

/// Sorted copy.
pub(crate) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Linear percentile (type 7) of sorted values; 0 of none.
pub(crate) fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let rank = percent / 100.0 * last as f64;
    let low = rank.floor() as usize;
    let high = (low + 1).min(last);
    sorted[low] + (sorted[high] - sorted[low]) * (rank - low as f64)
}

/// Mean; 0 of none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Population standard deviation; 0 of none.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values);
    mean(&values.iter().map(|v| (v - middle).powi(2)).collect::<Vec<_>>()).sqrt()
}

/// `part / whole`, 0 where there is no whole.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Pearson's correlation; 0 where one side does not vary.
pub(crate) fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (mean_x, mean_y) = (mean(&x), mean(&y));
    let products: Vec<f64> = pairs.iter().map(|(a, b)| (a - mean_x) * (b - mean_y)).collect();
    ratio(mean(&products), deviation(&x) * deviation(&y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_numpy() {
        let values = sorted([4.0, 1.0, 3.0, 2.0]);
        assert_eq!(percentile(&values, 50.0), 2.5);
        assert!((percentile(&values, 90.0) - 3.7).abs() < 1e-12);
        assert_eq!(percentile(&[], 50.0), 0.0);
        assert!((deviation(&values) - 1.118_033_988_7).abs() < 1e-9);
        assert!((correlation(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]) - 1.0).abs() < 1e-12);
    }
}
