//! Did latencies change for good at some moment? Pettitt's test on the requests in order of sending.

use super::rank::{median, ranks};
use crate::requests::Requests;
use serde::Serialize;

const FEWEST: usize = 40;
/// Longer series are thinned: every k-th request says as much.
const MOST: usize = 4000;

/// The most likely moment of a change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangePoint {
    /// Metric id.
    pub metric: &'static str,
    /// Seconds after the first send.
    pub at_s: f64,
    /// Median before, in milliseconds.
    pub before_ms: f64,
    /// Median after.
    pub after_ms: f64,
    /// Requests before.
    pub requests_before: u64,
    /// Requests after.
    pub requests_after: u64,
    /// How likely chance alone would show a difference like this.
    pub p_value: f64,
    /// Requests sent a second before.
    pub sent_per_s_before: f64,
    /// Requests sent a second after.
    pub sent_per_s_after: f64,
    /// Median prompt before, in tokens; null where not recorded.
    pub prompt_tokens_before: Option<f64>,
    /// Median prompt after.
    pub prompt_tokens_after: Option<f64>,
    /// Share of the difference between the medians that lies between the quarters next to the change: near 1 for a step,
    /// small for a slow drift.
    pub abruptness: f64,
}

/// When a request was sent, its latency and its prompt.
type Row = (i64, f64, Option<u32>);

/// Requests sent a second, and the median prompt.
fn load(part: &[Row], step: usize) -> (f64, Option<f64>) {
    let seconds = part.first().zip(part.last()).map_or(0.0, |(first, last)| (last.0 - first.0) as f64 / 1e9);
    let rate = if seconds > 0.0 { (part.len().saturating_sub(1) * step) as f64 / seconds } else { 0.0 };
    (rate, median(&mut part.iter().filter_map(|row| row.2.map(f64::from)).collect::<Vec<_>>()))
}

pub(crate) fn of(r: &Requests, metric: &'static str) -> Option<ChangePoint> {
    let values = r.metric(metric)?;
    let origin = r.first_send_ns()?;
    let mut rows: Vec<Row> = (0..r.len())
        .filter(|i| r.counts(*i) && values[*i].is_finite())
        .filter_map(|i| Some((r.sent_ns[i]?, values[i] / 1e6, r.prompt_tokens[i])))
        .collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let step = rows.len().div_ceil(MOST).max(1);
    let rows: Vec<Row> = rows.into_iter().step_by(step).collect();
    let n = rows.len();
    if n < FEWEST {
        return None;
    }
    let (k, at) = pettitt(&rows);
    let nf = n as f64;
    let side = |part: &[Row]| median(&mut part.iter().map(|p| p.1).collect::<Vec<_>>());
    let (before, after) = (side(&rows[..at])?, side(&rows[at..])?);
    let near = (at.min(n - at) / 4).max(3);
    let step_size = side(&rows[at..(at + near).min(n)])? - side(&rows[at.saturating_sub(near)..at])?;
    let (early, late) = (load(&rows[..at], step), load(&rows[at..], step));
    Some(ChangePoint {
        metric,
        sent_per_s_before: early.0,
        sent_per_s_after: late.0,
        prompt_tokens_before: early.1,
        prompt_tokens_after: late.1,
        at_s: (rows[at].0 - origin) as f64 / 1e9,
        before_ms: before,
        after_ms: after,
        requests_before: (at * step) as u64,
        requests_after: ((n - at) * step) as u64,
        p_value: (2.0 * (-6.0 * k * k / (nf.powi(3) + nf.powi(2))).exp()).min(1.0),
        abruptness: if after != before { (step_size / (after - before)).clamp(0.0, 1.0) } else { 0.0 },
    })
}

/// The largest rank statistic over all splits, and the split. In n log n: U(t) = 2 Σ ranks(first t) − t (n + 1).
fn pettitt(rows: &[Row]) -> (f64, usize) {
    let n = rows.len();
    let values: Vec<f64> = rows.iter().map(|row| row.1).collect();
    let ranks = ranks(&values);
    let (mut best, mut split, mut sum) = (0.0f64, n / 2, 0.0);
    for (t, rank) in ranks.iter().enumerate().take(n - 1) {
        sum += rank;
        let u = (2.0 * sum - (t + 1) as f64 * (n + 1) as f64).abs();
        if u > best {
            (best, split) = (u, t + 1);
        }
    }
    (best, split)
}
