//! Percentiles: one definition for the whole project.
//!
//! Linear interpolation between order statistics (Hyndman–Fan type 7, the default of numpy and pandas): for `n` sorted
//! values the percentile `p` lies at position `h = (n − 1)·p/100`; between two neighbours it is interpolated.
//! Peers that differ: MLPerf LoadGen, `trtllm-bench` and older EvalScope take the value at index `⌊n·p/100⌋`, EvalScope the
//! one at rank `⌈n·p/100⌉`, GuideLLM the smallest at which the summed shares reach p, AIPerf (where failed requests count as
//! infinite) the one nearest to `h`. For the values 1…10 P95 is 9.55 here and 10 there. `--convention` takes theirs.
//!
//! Every percentile comes with a distribution-free 95 % interval: two order statistics between which the true
//! percentile of the population lies with that probability, whatever the distribution (binomial argument). It assumes
//! independent values. Gaps of one stream are not, nor are latencies of a run whose queue grows: there the true
//! uncertainty is larger. A percentile beyond which fewer than 5 values are expected is marked (`*`, `few_samples`): it
//! rests on single requests. Where a client counts the value of a request several times (once a token), there is no interval,
//! and the mark follows from the number of requests: the repeats of one value are not values of their own.

use crate::convention::recipe::Method;
use serde::Serialize;

/// Probability with which the interval covers the true percentile.
pub const CONFIDENCE: f64 = 0.95;
/// Fewer values than this expected above a percentile: it is marked.
pub const FEW_ABOVE: f64 = 5.0;
/// Beyond this many values the binomial is taken as normal.
const EXACT_UP_TO: u64 = 5_000;
/// The exponential of anything below is 0.
const SMALLEST_LOG: f64 = -746.0;
const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

/// One percentile of a distribution, in the distribution's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentile {
    /// 0 to 100.
    pub p: f64,
    /// The value.
    pub value: f64,
    /// Lower end of the interval; `None`: the sample has no value low enough.
    pub low: Option<f64>,
    /// Upper end of the interval; `None`: the sample has no value high enough.
    pub high: Option<f64>,
    /// True when fewer than [`FEW_ABOVE`] values are expected above (or, below 50, beneath) it.
    pub few_samples: bool,
}

/// Which order statistics (from 0) a percentile of `n` values needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Position {
    below: u64,
    above: u64,
    fraction: f64,
    low: Option<u64>,
    high: Option<u64>,
}

impl Position {
    /// `n` must not be 0.
    pub(crate) fn new(n: u64, p: f64, method: Method) -> Position {
        let h = match method {
            Method::Linear => (n - 1) as f64 * (p / 100.0),
            Method::FloorIndex => (n as f64 * p / 100.0).floor(),
            Method::NearestIndex => ((n - 1) as f64 * (p / 100.0)).round_ties_even(),
            Method::SummedShares | Method::NearestRank => (n as f64 * p / 100.0).ceil() - 1.0,
        };
        let h = h.clamp(0.0, (n - 1) as f64);
        let below = (h.floor() as u64).min(n - 1);
        let above = (below + 1).min(n - 1);
        let (low, high) = interval(n, p / 100.0);
        // In tiny samples the interpolated value can lie below the interval; a wider interval still covers.
        let (low, high) = (low.map(|l| l.min(below)), high.map(|h| h.max(above)));
        Position { below, above, fraction: h - below as f64, low, high }
    }

    /// The ranks it needs.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = u64> {
        [Some(self.below), Some(self.above), self.low, self.high].into_iter().flatten()
    }

    /// The percentile, given the value at a rank.
    pub(crate) fn resolve(&self, n: u64, p: f64, at: impl Fn(u64) -> f64) -> Percentile {
        let (a, b) = (at(self.below), at(self.above));
        let value = if self.fraction == 0.0 { a } else { a + (b - a) * self.fraction };
        Percentile { p, value, low: self.low.map(&at), high: self.high.map(&at), few_samples: is_few(n, p) }
    }
}

/// Fewer than [`FEW_ABOVE`] of `n` values are expected beyond the percentile.
pub(crate) fn is_few(n: u64, p: f64) -> bool {
    expected_beyond(n, p) < FEW_ABOVE && p > 0.0 && p < 100.0
}

/// How many of `n` values are expected beyond percentile `p`: above it or, below 50, beneath it.
pub fn expected_beyond(n: u64, p: f64) -> f64 {
    let share = p.min(100.0 - p) / 100.0;
    // Of 50 values exactly 5 lie above P90, whatever a float makes of a tenth.
    (n as f64 * share * 1e9).round() / 1e9
}

/// Ranks `(l, u)` from 0 with `P(X(l) ≤ q ≤ X(u)) ≥` [`CONFIDENCE`], equal tails.
fn interval(n: u64, q: f64) -> (Option<u64>, Option<u64>) {
    if q <= 0.0 || q >= 1.0 {
        return (None, None);
    }
    let tail = (1.0 - CONFIDENCE) / 2.0;
    if n > EXACT_UP_TO {
        let (mean, sd) = (n as f64 * q, (n as f64 * q * (1.0 - q)).sqrt());
        let low = (mean - NORMAL_QUANTILE * sd - 0.5).floor();
        let high = (mean + NORMAL_QUANTILE * sd + 0.5).ceil();
        let rank = |r: f64| (r >= 0.0 && r < n as f64).then_some(r as u64);
        return (rank(low - 1.0), rank(high));
    }
    // B(n, q) by its recurrence in logarithms: P(B = 0) = (1 − q)^n can be far below the smallest float.
    let mut log_pmf = n as f64 * (1.0 - q).ln();
    let odds = q / (1.0 - q);
    let mut cdf = 0.0f64;
    let (mut low, mut high) = (None, None);
    for k in 0..=n {
        // Far from the mean it is 0, which the exponential takes its time to find.
        if log_pmf > SMALLEST_LOG {
            cdf += log_pmf.exp();
        }
        // The count of values below q is at most k with probability `cdf`.
        if cdf <= tail {
            low = Some(k);
        }
        if cdf >= 1.0 - tail {
            high = Some(k);
            break;
        }
        log_pmf += ((n - k) as f64 / (k + 1) as f64 * odds).ln();
    }
    (low.filter(|l| *l < n), high.filter(|h| *h < n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percentile(sorted: &[f64], p: f64) -> Percentile {
        let n = sorted.len() as u64;
        Position::new(n, p, Method::Linear).resolve(n, p, |rank| sorted[rank as usize])
    }

    #[test]
    fn type_7_on_one_to_ten() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(percentile(&values, 50.0).value, 5.5);
        assert!((percentile(&values, 95.0).value - 9.55).abs() < 1e-12);
        assert!((percentile(&values, 99.0).value - 9.91).abs() < 1e-12);
        assert_eq!(percentile(&[7.0], 99.0).value, 7.0);
    }

    #[test]
    fn interval_of_the_median_of_ten() {
        // P(2 ≤ B(10, ½) ≤ 8) = 0.978; the textbook interval is from the 2nd to the 9th value.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let median = percentile(&values, 50.0);
        assert_eq!((median.low, median.high), (Some(2.0), Some(9.0)));
    }

    #[test]
    fn exactly_five_beyond_are_not_too_few() {
        for (n, p) in [(20, 75.0), (50, 90.0), (100, 95.0), (500, 99.0), (5000, 99.9), (50, 10.0)] {
            let few = |n: u64| {
                let values: Vec<f64> = (0..n).map(|i| i as f64).collect();
                percentile(&values, p).few_samples
            };
            assert!(!few(n) && few(n - 1), "P{p} of {n}");
        }
    }

    #[test]
    fn p99_of_ten_has_no_upper_end() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let p99 = percentile(&values, 99.0);
        assert!(p99.few_samples);
        assert_eq!(p99.high, None);
    }

    #[test]
    fn the_interval_holds_the_value_even_of_two() {
        let p99 = percentile(&[1.0, 2.0], 99.0);
        assert_eq!((p99.low, p99.value, p99.high), (Some(1.0), 1.99, None));
    }

    #[test]
    fn exact_and_normal_interval_agree_where_they_meet() {
        let (a, b) = interval(EXACT_UP_TO, 0.95);
        let (c, d) = interval(EXACT_UP_TO + 1, 0.95);
        for (exact, normal) in [(a, c), (b, d)] {
            assert!(exact.unwrap().abs_diff(normal.unwrap()) <= 2, "{exact:?} {normal:?}");
        }
    }
}
