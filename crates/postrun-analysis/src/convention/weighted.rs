//! Summaries of values with weights, by any of the methods in use.

use super::recipe::{Method, Recipe, Spread};
use crate::percentile::{Percentile, Position, is_few};
use crate::summary::Summary;

/// A value, and for how many it stands.
pub(crate) type Weighted = (f64, f64);

/// The summary of values in memory by a recipe's method; `None` if there are none. Sorts them.
pub(crate) fn summarise(values: &mut [Weighted], percentiles: &[f64], recipe: &Recipe) -> Option<Summary> {
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (min, max) = (values.first()?.0, values.last()?.0);
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mean = values.iter().map(|(value, weight)| value * weight).sum::<f64>() / total;
    let squares = values.iter().map(|(value, weight)| (value - mean) * (value - mean) * weight).sum::<f64>();
    let count = total.round() as u64;
    let at = |rank: u64| {
        let mut seen = 0.0;
        let found = values.iter().find(|(_, weight)| {
            seen += weight;
            rank as f64 + 0.5 < seen
        });
        found.map_or(max, |(value, _)| *value)
    };
    let equal = values.iter().all(|(_, weight)| *weight == 1.0);
    let one_each = |rank: u64| values.get(rank as usize).map_or(max, |(value, _)| *value);
    let percentile = |p: &f64| {
        let plain = match equal {
            true => Position::new(count, *p, recipe.method).resolve(count, *p, one_each),
            // What counts several times is still one value: nothing independent, so no interval.
            false => Percentile {
                low: None,
                high: None,
                few_samples: is_few(values.len() as u64, *p),
                ..Position::new(count, *p, recipe.method).resolve(count, *p, at)
            },
        };
        match recipe.method {
            Method::SummedShares => Percentile { value: by_shares(values, total, *p), ..plain },
            _ => plain,
        }
    };
    Some(Summary {
        count,
        mean,
        std: spread(squares, total, recipe.spread),
        min,
        max,
        percentiles: percentiles.iter().map(percentile).collect(),
    })
}

/// From the sum of squared distances from the mean.
fn spread(squares: f64, n: f64, spread: Spread) -> f64 {
    match spread {
        Spread::Population => (squares / n).sqrt(),
        Spread::Sample if n > 1.0 => (squares / (n - 1.0)).sqrt(),
        Spread::Sample => f64::NAN,
    }
}

/// The spread of a summary that was taken over a population.
pub(crate) fn respread(summary: Summary, recipe: &Recipe) -> Summary {
    let n = summary.count as f64;
    Summary { std: spread(summary.std * summary.std * n, n, recipe.spread), ..summary }
}

/// The smallest value at which the sum of shares reaches the percentile. The shares are added in floats, one for every
/// value that occurs, as clients do that keep a distribution as such: where a share falls on the percentile
/// itself, their rounding decides.
fn by_shares(sorted: &[Weighted], total: f64, p: f64) -> f64 {
    let wanted = (p * 1000.0).round() / 100_000.0;
    let mut sum = 0.0;
    for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
        sum += equal.iter().map(|(_, weight)| weight).sum::<f64>() / total;
        if let (Some((value, _)), true) = (equal.first(), sum >= wanted) {
            return *value;
        }
    }
    sorted.last().map_or(f64::NAN, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convention::recipe::POSTRUN;

    fn of(values: &[Weighted], recipe: Recipe, stat: &str) -> f64 {
        summarise(&mut values.to_vec(), &[50.0, 90.0, 95.0], &recipe).unwrap().stat(stat).unwrap()
    }

    #[test]
    fn methods_on_one_to_ten() {
        let values: Vec<Weighted> = (1..=10).map(|v| (f64::from(v), 1.0)).collect();
        let by = |method| Recipe { method, ..POSTRUN };
        assert!((of(&values, by(Method::Linear), "p95") - 9.55).abs() < 1e-12);
        assert_eq!(of(&values, by(Method::FloorIndex), "p95"), 10.0);
        assert_eq!(of(&values, by(Method::FloorIndex), "p50"), 6.0);
        assert_eq!(of(&values, by(Method::NearestRank), "p50"), 5.0);
        assert_eq!(of(&values, by(Method::NearestRank), "p90"), 9.0);
        assert_eq!(of(&values, by(Method::NearestIndex), "p50"), 5.0);
        assert_eq!(of(&values, by(Method::NearestIndex), "p95"), 10.0);
        assert_eq!(of(&values, by(Method::SummedShares), "p50"), 5.0);
        // Nine tenths added one by one stay below 0.9.
        assert_eq!(of(&values, by(Method::SummedShares), "p90"), 10.0);
    }

    #[test]
    fn weights_count_as_repeats() {
        let (weighted, repeated) = ([(1.0, 3.0), (5.0, 1.0)], [(1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (5.0, 1.0)]);
        for stat in ["mean", "std", "min", "max", "count", "sum", "p50", "p90", "p95"] {
            assert_eq!(of(&weighted, POSTRUN, stat), of(&repeated, POSTRUN, stat), "{stat}");
        }
    }

    #[test]
    fn repeats_of_a_value_tell_nothing_new() {
        let values: Vec<Weighted> = (1..=30).map(|v| (f64::from(v), 100.0)).collect();
        let summary = summarise(&mut values.clone(), &[50.0, 95.0], &POSTRUN).unwrap();
        let once: Vec<Weighted> = values.iter().map(|(value, _)| (*value, 1.0)).collect();
        let plain = summarise(&mut once.clone(), &[50.0, 95.0], &POSTRUN).unwrap();
        assert_eq!(summary.count, 3000);
        for (weighted, plain) in summary.percentiles.iter().zip(&plain.percentiles) {
            assert_eq!((weighted.low, weighted.high), (None, None), "P{}", weighted.p);
            assert_eq!(weighted.few_samples, plain.few_samples, "P{}", weighted.p);
        }
        assert!(plain.percentiles[0].low.is_some() && summary.percentiles[1].few_samples);
    }

    #[test]
    fn the_spread_of_a_sample_is_wider() {
        let sample = Recipe { spread: Spread::Sample, ..POSTRUN };
        let values = [(2.0, 1.0), (4.0, 1.0), (6.0, 1.0)];
        assert_eq!(of(&values, sample, "std"), 2.0);
        assert_eq!(of(&values, POSTRUN, "std"), (8.0f64 / 3.0).sqrt());
        assert!(of(&[(1.0, 1.0)], sample, "std").is_nan());
    }
}
