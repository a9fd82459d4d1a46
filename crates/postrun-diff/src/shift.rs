//! How each percentile of a latency moved: the shift function of two distributions.
//!
//! Of a change that is the same for all requests it is a flat line; a tail that grew alone rises at its right end. Its intervals
//! are made as those of the table: the same blocks, the same correction, the same allowance, so that the percentiles of the
//! table have the same interval in both. Those between them are not corrected for anew.
//!
//! Source: Doksum 1974, Empirical probability plots; Wilcox 1995, Comparing two independent groups via multiple quantiles.

use crate::figures::PERCENTILES;
use crate::result::{Delta, DeltaScope};

/// Metrics whose percentiles are drawn.
pub(crate) const SHIFTED: [&str; 4] = ["ttft_ms", "tpot_ms", "itl_ms", "e2e_ms"];

/// Percentiles that are drawn beside those that are compared: a run must be analysed with them for gaps to have them.
pub const DRAWN_PERCENTILES: [f64; 9] = [5.0, 10.0, 20.0, 30.0, 40.0, 60.0, 70.0, 80.0, 99.9];

/// The changes of the percentiles of one metric, over the whole run.
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
    /// Metric id.
    pub metric: &'static str,
    /// Rising by percentile.
    pub points: Vec<Delta>,
}

/// The percentile of `p95`.
pub(crate) fn percentile_of(stat: &str) -> Option<f64> {
    stat.strip_prefix('p')?.parse().ok()
}

/// True for a percentile that is drawn and not compared.
pub(crate) fn drawn_alone(stat: &str) -> bool {
    percentile_of(stat).is_some_and(|p| !PERCENTILES.contains(&p))
}

/// False for a percentile beyond which not one value of a run lies: it is the slowest request under another name.
fn carried(p: f64, d: &Delta, runs: [u64; 2]) -> bool {
    let beyond = (p / 100.0).min(1.0 - p / 100.0) + 1e-9;
    d.counts.iter().zip(runs).all(|(n, runs)| *n as f64 / runs.max(1) as f64 * beyond >= 1.0)
}

/// The shift function of each metric, of what was compared and what is only drawn; `runs` of each side.
pub(crate) fn shifts(compared: &[Delta], drawn: &[Delta], runs: [u64; 2]) -> Vec<Shift> {
    let of = |metric: &&'static str| {
        let inside = |d: &&Delta| d.metric == *metric && d.scope == DeltaScope::All;
        let points = compared.iter().chain(drawn).filter(inside);
        let mut points: Vec<(f64, &Delta)> = points.filter_map(|d| Some((percentile_of(&d.stat)?, d))).collect();
        points.retain(|(p, d)| carried(*p, d, runs));
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let points: Vec<Delta> = points.into_iter().map(|(_, d)| d.clone()).collect();
        (!points.is_empty()).then_some(Shift { metric, points })
    };
    SHIFTED.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_alone_is_no_percentile_of_the_table() {
        assert_eq!((percentile_of("p99.9"), percentile_of("paired"), percentile_of("mean")), (Some(99.9), None, None));
        assert!(drawn_alone("p5") && !drawn_alone("p95") && !drawn_alone("value"));
        assert!(DRAWN_PERCENTILES.iter().all(|p| !PERCENTILES.contains(p)));
    }
}
