//! How long blocks must be so that one hardly depends on the next.
//!
//! The rule of Politis and White (2004, corrected 2009) for circular blocks: the autocovariances of the series up to the lag
//! from which on they are no more than noise say how much the sum of a block varies beyond independent values.

/// At least so many blocks; fewer say nothing of how blocks vary.
const FEWEST_BLOCKS: f64 = 4.0;

/// Length of a block, at least 1.
pub(crate) fn block_length(series: &[f64]) -> f64 {
    let n = series.len();
    if n < 8 {
        return 1.0;
    }
    let mean = series.iter().sum::<f64>() / n as f64;
    let centred: Vec<f64> = series.iter().map(|v| v - mean).collect();
    let covariance = |lag: usize| {
        let (early, late) = (&centred[..n - lag], &centred[lag..]);
        early.iter().zip(late).map(|(a, b)| a * b).sum::<f64>() / n as f64
    };
    let variance = covariance(0);
    if variance <= 0.0 || !variance.is_finite() {
        return 1.0;
    }
    let longest = n as f64 / FEWEST_BLOCKS;
    // Correlation is noise where this many lags in a row are below the bound.
    let quiet_for = 5.max((n as f64).log10().sqrt().ceil() as usize);
    let bound = 2.0 * ((n as f64).log10() / n as f64).sqrt();
    let last_lag = (n / 2).saturating_sub(1);
    let (mut last_loud, mut quiet) = (0, 0);
    for lag in 1..=last_lag {
        if (covariance(lag) / variance).abs() > bound {
            (last_loud, quiet) = (lag, 0);
        } else {
            quiet += 1;
            if quiet == quiet_for {
                break;
            }
        }
    }
    if last_loud == 0 {
        return 1.0;
    }
    let reach = (2 * last_loud).min(last_lag);
    let (mut spectrum, mut slope) = (variance, 0.0);
    for lag in 1..=reach {
        let t = lag as f64 / reach as f64;
        let weight = if t <= 0.5 { 1.0 } else { 2.0 * (1.0 - t) };
        let c = covariance(lag);
        spectrum += 2.0 * weight * c;
        slope += 2.0 * weight * lag as f64 * c;
    }
    let d = 4.0 / 3.0 * spectrum * spectrum;
    let length = if d > 0.0 { (2.0 * slope * slope / d * n as f64).cbrt() } else { longest };
    length.clamp(1.0, longest.max(1.0))
}

/// Fewer blocks than this in a series: it does not settle within the run, it wanders.
const SETTLED_BLOCKS: f64 = 10.0;
/// Parts over which the steps of a series that wanders are measured.
const PARTS: usize = 8;
/// So few blocks show slow changes that shorter ones do not.
pub(crate) const LONG_BLOCKS: usize = 5;

/// No block is shorter than the square root of the series: a short series hides its correlation.
pub(crate) fn at_least(length: usize, stretches: usize) -> usize {
    length.max((stretches as f64).sqrt().round() as usize)
}

/// True for a series that does not settle within the run, as latencies behind a queue that grows for all of it. Of a short
/// series only a block of twice the usual least length says so: shorter ones come by chance.
pub(crate) fn wanders(series: &[f64]) -> bool {
    let n = series.len() as f64;
    n >= 8.0 && block_length(series) > (n / SETTLED_BLOCKS).max(2.0 * n.sqrt())
}

/// Standard error of the sum of a series that wanders: that of a random walk, from the steps between neighbouring eighths.
///
/// Means of neighbouring parts of a walk differ with a quarter of the variance of the mean of all eight.
pub(crate) fn wandering_spread(series: &[f64]) -> f64 {
    let n = series.len();
    let part = (n / PARTS).max(1);
    if n < 2 * part + 1 {
        return f64::INFINITY;
    }
    let mean = |i: usize| series[i..i + part].iter().sum::<f64>() * PARTS as f64;
    let steps = (part..=n - part).map(|i| mean(i) - mean(i - part));
    let (count, squares) = steps.fold((0.0, 0.0), |(n, sum), step| (n + 1.0, sum + step * step));
    (squares / count * PARTS as f64 / 2.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::{Rng, SEED};

    fn correlated(n: usize, keeps: f64) -> Vec<f64> {
        let mut rng = Rng::new(SEED);
        let mut level = 0.0;
        (0..n)
            .map(|_| {
                level = keeps * level + rng.normal();
                level
            })
            .collect()
    }

    #[test]
    fn correlation_makes_blocks_longer() {
        let lengths: Vec<f64> = [0.0, 0.5, 0.9].into_iter().map(|k| block_length(&correlated(400, k))).collect();
        assert!(lengths[0] < 3.0 && lengths[1] > lengths[0] && lengths[2] > 2.0 * lengths[1], "{lengths:?}");
        assert_eq!((block_length(&[1.0; 50]), block_length(&[])), (1.0, 1.0));
    }

    #[test]
    fn a_walk_wanders_and_noise_does_not() {
        assert!(wanders(&correlated(300, 1.0)));
        assert!(!wanders(&correlated(300, 0.3)));
    }
}
