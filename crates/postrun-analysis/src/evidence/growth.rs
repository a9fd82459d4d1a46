//! Arrivals against completions: does the queue grow for as long as requests come in?

use super::rank::{quantile, spearman};
use crate::in_flight::InFlight;
use crate::requests::Requests;
use serde::Serialize;

const FEWEST: usize = 20;

/// The sending phase: first send to last send.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Growth {
    /// Requests sent.
    pub requests: u64,
    /// Length of the sending phase in seconds.
    pub sending_s: f64,
    /// Requests sent a second.
    pub arrivals_per_s: f64,
    /// Requests finished a second within the sending phase.
    pub completions_per_s: f64,
    /// In flight, mean over the second quarter of the sending phase.
    pub in_flight_early: f64,
    /// In flight, mean over its last quarter.
    pub in_flight_late: f64,
    /// In flight when the last request was sent.
    pub backlog: u64,
    /// Seconds from the last send to the last token.
    pub drain_s: f64,
    /// End-to-end latency of the quickest tenth of the requests, in milliseconds: about what one takes that does not wait.
    pub quickest_tenth_ms: f64,
    /// Rank correlation of send order and TTFT.
    pub rho_ttft: f64,
    /// Mean e2e times arrivals a second: what would be in flight in balance (Little's law).
    pub littles_law: f64,
}

pub(crate) fn of(r: &Requests, f: &InFlight) -> Option<Growth> {
    let mut sends: Vec<(i64, usize)> =
        (0..r.len()).filter(|i| r.counts(*i)).filter_map(|i| Some((r.sent_ns[i]?, i))).collect();
    sends.sort_unstable();
    let (first, last) = (sends.first()?.0, sends.last()?.0);
    let span = r.span()?;
    let length = last - first;
    if sends.len() < FEWEST || length <= 0 {
        return None;
    }
    let seconds = length as f64 / 1e9;
    let part = |from: f64, to: f64| {
        let at = |share: f64| first + (length as f64 * share) as i64;
        f.area(at(from), at(to)) / (at(to) - at(from)).max(1) as f64
    };
    let ended = sends.iter().filter(|(_, i)| r.end_ns(*i).is_some_and(|end| end <= last)).count();
    let timed: Vec<(f64, f64)> =
        sends.iter().enumerate().filter_map(|(n, (_, i))| Some((n as f64, r.ttft_ns[*i]? as f64))).collect();
    let (order, ttft): (Vec<f64>, Vec<f64>) = timed.into_iter().unzip();
    let e2e: Vec<f64> = sends.iter().filter_map(|(_, i)| Some(r.e2e_ns[*i]? as f64 / 1e9)).collect();
    let arrivals = (sends.len() - 1) as f64 / seconds;
    Some(Growth {
        requests: sends.len() as u64,
        sending_s: seconds,
        arrivals_per_s: arrivals,
        completions_per_s: ended as f64 / seconds,
        in_flight_early: part(0.25, 0.5),
        in_flight_late: part(0.75, 1.0),
        backlog: f.level(last),
        drain_s: (span.end_ns - last).max(0) as f64 / 1e9,
        quickest_tenth_ms: quantile(&mut e2e.clone(), 0.1).unwrap_or(0.0) * 1e3,
        rho_ttft: spearman(&order, &ttft),
        littles_law: arrivals * e2e.iter().sum::<f64>() / e2e.len().max(1) as f64,
    })
}
