//! Many runs in order: where did a figure change, and stay changed?
//!
//! Runs are ordered by the time at which their client saved them, or by label. For each figure the split with the largest
//! standardised step between the runs before and after is sought; then each part is searched again. A step counts where
//! shuffling the runs gives one as large in less than 5 % of the cases, divided by the number of figures; with fewer runs than
//! that can show, where it is larger than the allowance for noise between runs and no run of one part lies among those of the other.

use crate::stats::rng::{Rng, SEED};
use postrun_analysis::RunAnalysis;
use postrun_schema::natural_order;
use serde::Serialize;

/// Figures that are followed.
const FOLLOWED: [(&str, &str); 6] = [
    ("ttft_ms", "p50"),
    ("ttft_ms", "p95"),
    ("tpot_ms", "p50"),
    ("e2e_ms", "p95"),
    ("output_tokens_per_s", "value"),
    ("failure_rate", "value"),
];
const SHUFFLES: usize = 999;

/// Runs in order, with their changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// Labels in order.
    pub runs: Vec<String>,
    /// What orders them.
    pub ordered_by: Order,
    /// One a figure.
    pub series: Vec<TrendSeries>,
}

/// One figure over the runs, in the metric's unit.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendSeries {
    /// Metric id.
    pub metric: &'static str,
    /// Statistic.
    pub stat: &'static str,
    /// By run; `None` where the run has none.
    pub values: Vec<Option<f64>>,
    /// Changes, in order.
    pub changes: Vec<TrendPoint>,
}

/// A change that stayed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendPoint {
    /// Position of the first run after it.
    pub at: usize,
    /// Its label.
    pub run: String,
    /// Change of the mean, as a share of the mean before.
    pub change_share: Option<f64>,
    /// Share of shuffles with a step as large.
    pub p_value: f64,
}

/// What orders runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// When their client saved them.
    Time,
    /// Labels, numbers in them by size.
    Label,
    /// As they were named.
    Given,
}

impl Order {
    /// One word.
    pub fn text(self) -> &'static str {
        match self {
            Order::Time => "time",
            Order::Label => "label",
            Order::Given => "the order given",
        }
    }
}

/// Follows `runs`, ordered as wished: by time only where every run has one, and all write it alike.
pub fn trend(mut runs: Vec<&RunAnalysis>, by: Option<Order>, run_noise: f64) -> Trend {
    let date = |r: &RunAnalysis| r.manifest.load.date.clone();
    let shape = |r: &&RunAnalysis| -> Option<String> {
        Some(date(r)?.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect())
    };
    let first = runs.first().and_then(shape);
    let dated = first.is_some() && runs.iter().all(|r| shape(r) == first);
    let ordered_by = match by {
        Some(Order::Given) => Order::Given,
        Some(Order::Label) => Order::Label,
        Some(Order::Time) | None if dated => Order::Time,
        _ => Order::Label,
    };
    match ordered_by {
        Order::Time => runs.sort_by_key(|r| date(r)),
        Order::Label => runs.sort_by(|a, b| natural_order(&a.manifest.label, &b.manifest.label)),
        Order::Given => {}
    }
    let labels: Vec<String> = runs.iter().map(|r| r.manifest.label.clone()).collect();
    let series = FOLLOWED.iter().filter_map(|(metric, stat)| {
        let values: Vec<Option<f64>> = runs.iter().map(|r| r.figure(metric, stat)).collect();
        if values.iter().all(Option::is_none) {
            return None;
        }
        let known: Vec<(usize, f64)> = values.iter().enumerate().filter_map(|(i, v)| Some((i, (*v)?))).collect();
        let mut changes = Vec::new();
        split(&known, run_noise, &mut changes);
        changes.sort_by_key(|c| c.at);
        changes.iter_mut().for_each(|c| c.run = labels.get(c.at).cloned().unwrap_or_default());
        Some(TrendSeries { metric, stat, values, changes })
    });
    Trend { ordered_by, series: series.collect(), runs: labels }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The split with the largest standardised step, and that step.
fn largest_step(values: &[f64]) -> Option<(usize, f64)> {
    let n = values.len() as f64;
    let steps = (1..values.len()).map(|t| {
        let (before, after) = values.split_at(t);
        let (a, b) = (mean(before), mean(after));
        let squares: f64 =
            before.iter().map(|v| (v - a) * (v - a)).chain(after.iter().map(|v| (v - b) * (v - b))).sum();
        let spread = (squares / (n - 2.0).max(1.0)).sqrt().max(1e-12 * a.abs().max(b.abs())).max(f64::MIN_POSITIVE);
        (t, (b - a).abs() / (spread * (1.0 / t as f64 + 1.0 / (n - t as f64)).sqrt()))
    });
    steps.max_by(|x, y| x.1.total_cmp(&y.1))
}

fn split(known: &[(usize, f64)], run_noise: f64, out: &mut Vec<TrendPoint>) {
    let values: Vec<f64> = known.iter().map(|(_, v)| *v).collect();
    let Some((t, step)) = largest_step(&values).filter(|_| values.len() >= 3) else { return };
    let (before, after) = values.split_at(t);
    let (a, b) = (mean(before), mean(after));
    if a == b {
        return;
    }
    let mut rng = Rng::new(SEED);
    let mut shuffled = values.clone();
    let mut as_large = 0usize;
    for _ in 0..SHUFFLES {
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, rng.below(i + 1));
        }
        as_large += usize::from(largest_step(&shuffled).is_some_and(|(_, s)| s >= step * (1.0 - 1e-9)));
    }
    let p_value = (1 + as_large) as f64 / (1 + SHUFFLES) as f64;
    let apart = |low: &[f64], high: &[f64]| {
        low.iter().copied().fold(f64::MIN, f64::max) < high.iter().copied().fold(f64::MAX, f64::min)
    };
    let ratio = if a > 0.0 && b > 0.0 { (b / a).max(a / b) - 1.0 } else { f64::INFINITY };
    let beyond =
        ratio > run_noise && (apart(before, after) || apart(after, before)) && before.len().min(after.len()) >= 1;
    if p_value > 0.05 / FOLLOWED.len() as f64 && !beyond {
        return;
    }
    let at = known.get(t).map_or(0, |(i, _)| *i);
    out.push(TrendPoint { at, run: String::new(), change_share: (a != 0.0).then(|| b / a - 1.0), p_value });
    split(&known[..t], run_noise, out);
    split(&known[t..], run_noise, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(values: &[f64]) -> Vec<usize> {
        let known: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
        let mut out = Vec::new();
        split(&known, 0.25, &mut out);
        out.sort_by_key(|c| c.at);
        out.iter().map(|c| c.at).collect()
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let steady = [10.0, 10.3, 9.9, 10.1, 10.2, 9.8, 10.0, 10.1];
        assert_eq!(changes(&steady), Vec::<usize>::new());
        let mut stepped = steady.to_vec();
        stepped.extend(steady.iter().map(|v| v * 1.1));
        assert_eq!(changes(&stepped), [8]);
        assert_eq!(changes(&[10.0, 10.5, 15.0]), [2]);
        assert_eq!(changes(&[10.0, 15.0]), Vec::<usize>::new());
    }
}
