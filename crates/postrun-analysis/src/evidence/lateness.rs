//! The load generator against its plan: was the load that was asked for the load that was sent?

use super::rank::quantile;
use crate::requests::Requests;
use postrun_schema::Manifest;
use serde::Serialize;

const FEWEST: usize = 20;
/// Sends closer together than this were made in one go.
const BUNCHED_NS: i64 = 2_000_000;

/// Sends against schedule. Times in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lateness {
    /// Requests sent.
    pub requests: u64,
    /// Requests a second asked for; null when unbounded or not recorded.
    pub asked_per_s: Option<f64>,
    /// Requests a second sent.
    pub sent_per_s: f64,
    /// Median of sent less scheduled; null where the schedule is not recorded.
    pub late_p50_ms: Option<f64>,
    /// P95 of it.
    pub late_p95_ms: Option<f64>,
    /// Requests sent more than 10 ms after the moment they were meant for, as a share.
    pub late_share: Option<f64>,
    /// Requests sent within two milliseconds of the one before, as a share.
    pub bunched_share: f64,
    /// What that share would be if requests came at random at the same rate.
    pub bunched_by_chance: f64,
    /// Shape of the gaps between arrivals that was asked for; 1 is random, below are bursts; null where not recorded.
    pub burstiness: Option<f64>,
    /// The client's own limit of requests in flight, where it has one.
    pub max_concurrency: Option<u32>,
}

pub(crate) fn of(r: &Requests, manifest: &Manifest) -> Option<Lateness> {
    let mut sends: Vec<i64> = (0..r.len()).filter(|i| r.measured[*i]).filter_map(|i| r.sent_ns[i]).collect();
    sends.sort_unstable();
    let (first, last) = (*sends.first()?, *sends.last()?);
    if sends.len() < FEWEST || last <= first {
        return None;
    }
    let late = r.metric("client_queue_ms");
    let mut late: Vec<f64> = late.into_iter().flatten().map(|ns| ns / 1e6).filter(|v| v.is_finite()).collect();
    let n = late.len();
    let share = (n > 0).then(|| late.iter().filter(|ms| **ms > 10.0).count() as f64 / n as f64);
    let gaps = (sends.len() - 1) as f64;
    let per_s = gaps / ((last - first) as f64 / 1e9);
    let bunched = sends.windows(2).filter(|w| w[1] - w[0] < BUNCHED_NS).count();
    Some(Lateness {
        requests: sends.len() as u64,
        asked_per_s: manifest.load.request_rate,
        sent_per_s: per_s,
        late_p50_ms: quantile(&mut late, 0.5),
        late_p95_ms: quantile(&mut late, 0.95),
        late_share: share,
        bunched_share: bunched as f64 / gaps,
        bunched_by_chance: 1.0 - (-per_s * BUNCHED_NS as f64 / 1e9).exp(),
        burstiness: manifest.load.burstiness,
        max_concurrency: manifest.load.max_concurrency,
    })
}
