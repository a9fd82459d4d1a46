//! Count, mean, spread and percentiles of one distribution.

use crate::convention::recipe::Method;
use crate::percentile::{Percentile, Position};
use serde::Serialize;

/// Percentiles every summary has.
pub const PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// A distribution in few numbers, in the metric's unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// How many values.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Population standard deviation (divided by the count, as numpy and every client do).
    pub std: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Rising by `p`.
    pub percentiles: Vec<Percentile>,
}

impl Summary {
    /// The percentile `p`, if it was asked for.
    pub fn percentile(&self, p: f64) -> Option<&Percentile> {
        self.percentiles.iter().find(|x| x.p == p)
    }

    /// `mean`, `std`, `min`, `max`, `count`, `sum` or `p<number>`.
    pub fn stat(&self, name: &str) -> Option<f64> {
        match name {
            "mean" => Some(self.mean),
            "std" => Some(self.std),
            "min" => Some(self.min),
            "max" => Some(self.max),
            "count" => Some(self.count as f64),
            "sum" => Some(self.mean * self.count as f64),
            _ => {
                let p: f64 = name.strip_prefix('p')?.parse().ok()?;
                self.percentile(p).map(|x| x.value)
            }
        }
    }

    /// Summary of values in memory; `None` if there are none. Sorts them.
    pub(crate) fn of(values: &mut [f64], percentiles: &[f64]) -> Option<Summary> {
        values.sort_unstable_by(f64::total_cmp);
        let (first, last) = (values.first().copied()?, values.last().copied()?);
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
        let count = values.len() as u64;
        let at = |rank: u64| values.get(rank as usize).copied().unwrap_or(last);
        let percentiles =
            percentiles.iter().map(|p| Position::new(count, *p, Method::Linear).resolve(count, *p, at)).collect();
        Some(Summary { count, mean, std: variance.sqrt(), min: first, max: last, percentiles })
    }

    /// The same distribution in another unit.
    pub fn scaled(&self, factor: f64) -> Summary {
        let percentile = |p: &Percentile| Percentile {
            value: p.value * factor,
            low: p.low.map(|v| v * factor),
            high: p.high.map(|v| v * factor),
            ..*p
        };
        Summary {
            count: self.count,
            mean: self.mean * factor,
            std: self.std * factor,
            min: self.min * factor,
            max: self.max * factor,
            percentiles: self.percentiles.iter().map(percentile).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sample_on_paper() {
        let s = Summary::of(&mut [4.0, 2.0, 9.0, 5.0], &PERCENTILES).unwrap();
        assert_eq!((s.count, s.mean, s.min, s.max), (4, 5.0, 2.0, 9.0));
        assert_eq!(s.std, 6.5f64.sqrt());
        assert_eq!(s.stat("p50"), Some(4.5));
        assert_eq!(Summary::of(&mut [], &PERCENTILES), None);
    }
}
