//! How much longer a step takes when many requests share it: quiet moments of the run against busy ones.

use super::rank::median;
use crate::timeline::Timeline;
use serde::Serialize;

/// Windows with fewer gaps say little.
const FEWEST_GAPS: u64 = 20;
/// Busy: at least this share of the high level of the run; quiet: at most this one.
const BUSY: f64 = 0.67;
const QUIET: f64 = 0.4;
/// Gaps shorter than this are chunks read in one go, not steps.
const SHORTEST_MS: f64 = 0.5;

/// Quiet windows of the timeline against busy ones. Times in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Crowding {
    /// Windows that count as busy.
    pub busy_windows: u64,
    /// Windows that count as quiet.
    pub quiet_windows: u64,
    /// Requests in flight in the busy ones, median.
    pub busy_level: f64,
    /// Requests in flight in the quiet ones, median.
    pub quiet_level: f64,
    /// Median gap of the busy ones.
    pub busy_gap_ms: f64,
    /// Median gap of the quiet ones.
    pub quiet_gap_ms: f64,
    /// Output tokens a second in the busy ones, median.
    pub busy_tokens_per_s: f64,
    /// Output tokens a second in the quiet ones, median.
    pub quiet_tokens_per_s: f64,
    /// The gap of a request by itself: the line through both, at one request.
    pub alone_gap_ms: f64,
    /// Busy gap over the gap alone: by so much every request pays for the company.
    pub factor: f64,
}

/// `None` where the load hardly varied, or without chunk times.
pub(crate) fn of(timeline: Option<&Timeline>) -> Option<Crowding> {
    let rows: Vec<(f64, f64, f64)> = timeline?
        .windows
        .iter()
        .filter_map(|w| {
            let itl = w.itl.as_ref().filter(|itl| itl.count >= FEWEST_GAPS)?;
            Some((w.mean_concurrency?, itl.stat("p50")? / 1e6, w.output_tokens_per_s?))
        })
        .filter(|(level, gap, _)| *level > 0.0 && *gap >= SHORTEST_MS)
        .collect();
    let mut levels: Vec<f64> = rows.iter().map(|r| r.0).collect();
    let high = super::rank::quantile(&mut levels, 0.9)?;
    let of = |keep: &dyn Fn(f64) -> bool| {
        let part: Vec<&(f64, f64, f64)> = rows.iter().filter(|r| keep(r.0)).collect();
        let middle =
            |get: &dyn Fn(&(f64, f64, f64)) -> f64| median(&mut part.iter().map(|r| get(r)).collect::<Vec<_>>());
        Some((part.len() as u64, middle(&|r| r.0)?, middle(&|r| r.1)?, middle(&|r| r.2)?))
    };
    let (busy_windows, busy_level, busy_gap_ms, busy_tokens_per_s) = of(&|level| level >= BUSY * high)?;
    let (quiet_windows, quiet_level, quiet_gap_ms, quiet_tokens_per_s) = of(&|level| level <= QUIET * high)?;
    let slope = (busy_gap_ms - quiet_gap_ms) / (busy_level - quiet_level).max(1e-9);
    // A line that leads below a fifth of the quiet gap leads too far.
    let alone = (quiet_gap_ms - slope * (quiet_level - 1.0)).clamp(quiet_gap_ms / 5.0, busy_gap_ms.max(quiet_gap_ms));
    Some(Crowding {
        busy_windows,
        quiet_windows,
        busy_level,
        quiet_level,
        busy_gap_ms,
        quiet_gap_ms,
        busy_tokens_per_s,
        quiet_tokens_per_s,
        alone_gap_ms: alone,
        factor: busy_gap_ms / alone,
    })
}
