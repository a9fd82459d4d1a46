//! A distribution as a curve: quantiles close together in its middle, ever closer towards its tail.

use super::Sources;
use crate::metric::Compute;
use crate::metrics::METRICS;
use crate::summary::Summary;
use postrun_schema::Unit;

/// From here on the steps shrink with the distance from 100.
const TAIL_FROM: u32 = 90;
/// Steps in each tenth of what is left.
const TAIL_STEPS: u32 = 9;

/// Quantiles of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantiles {
    /// Metric id.
    pub metric: &'static str,
    /// How many values.
    pub count: u64,
    /// `(percentile, value)`, in nanoseconds or tokens, rising, from the smallest value to the largest.
    pub points: Vec<(f64, f64)>,
}

pub(super) fn of(from: &Sources<'_>) -> Vec<Quantiles> {
    let mut out = Vec::new();
    for (position, metric) in METRICS.iter().enumerate() {
        if !matches!((&metric.compute, metric.unit), (Compute::PerRequest(_), Unit::Nanoseconds | Unit::Tokens)) {
            continue;
        }
        let column = &from.requests.values[position];
        let value = |i: usize| from.redefined.value(position, i).unwrap_or(column[i]);
        let mut values: Vec<f64> = from.rows().map(value).filter(|v| v.is_finite()).collect();
        let wanted = percentiles(values.len());
        if let Some(s) = Summary::of(&mut values, &wanted) {
            let points = s.percentiles.iter().map(|p| (p.p, p.value)).collect();
            out.push(Quantiles { metric: metric.id, count: s.count, points });
        }
    }
    out
}

/// Percentiles worth drawing for `n` values: none between two values of the tail.
fn percentiles(n: usize) -> Vec<f64> {
    let mut out: Vec<f64> = (0..=TAIL_FROM).map(f64::from).collect();
    let mut left = f64::from(100 - TAIL_FROM);
    while left / 100.0 * n as f64 > 1.0 && left > 1e-6 {
        out.extend((1..=TAIL_STEPS).map(|step| 100.0 - left + left * f64::from(step) / 10.0));
        left /= 10.0;
    }
    out.push(100.0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_as_fine_as_there_are_values() {
        let (few, many) = (percentiles(5), percentiles(1_000_000));
        assert_eq!((few.len(), few.first(), few.last()), (92, Some(&0.0), Some(&100.0)));
        assert!(many.len() < 140 && many.windows(2).all(|w| w[0] < w[1]), "{many:?}");
        assert!(many.iter().any(|p| (p - 99.9).abs() < 1e-9));
    }
}
