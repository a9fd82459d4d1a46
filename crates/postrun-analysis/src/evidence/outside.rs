//! Where requests were before the engine had them: in the client's connections and on the way, or in the server's front
//! end, which tokenizes.

use super::rank::{median, quantile};
use crate::in_flight::InFlight;
use crate::requests::Requests;
use crate::server::ServerFacts;
use serde::Serialize;

const FEWEST: usize = 10;

/// What the client waited for and the engine did not see. Times in milliseconds; null where no record of the server
/// tells. Every one is a difference of durations, each by a clock of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outside {
    /// Requests with all the values.
    pub requests: u64,
    /// Client's TTFT less the server's: connections, proxies, network; median.
    pub before_server_ms: Option<f64>,
    /// P95 of it.
    pub before_server_p95_ms: Option<f64>,
    /// Server's TTFT less queue and prefill: its front end; median.
    pub front_end_ms: Option<f64>,
    /// Client's median TTFT of these requests.
    pub ttft_ms: f64,
    /// Most requests in flight, as the client counts.
    pub peak_in_flight: u64,
    /// Most requests running and waiting in the engine, as its samples say; null without samples.
    pub peak_in_engine: Option<f64>,
    /// Mean of requests in flight, as the client counts, while requests were sent.
    pub mean_in_flight: f64,
    /// Mean of requests running and waiting in the engine.
    pub mean_in_engine: Option<f64>,
}

pub(crate) fn of(r: &Requests, f: &InFlight, server: &ServerFacts) -> Option<Outside> {
    let none = Vec::new();
    let column = |metric: &str| r.metric(metric).unwrap_or(&none);
    let (ttft, server_ttft) = (column("ttft_ms"), column("server_ttft_ms"));
    let (queue, prefill) = (column("queue_ms"), column("prefill_ms"));
    let at = |list: &[f64], i: usize| list.get(i).copied().filter(|v| v.is_finite()).map(|ns| ns / 1e6);
    let rows: Vec<usize> = (0..r.len()).filter(|i| r.counts(*i) && at(ttft, *i).is_some()).collect();
    if rows.len() < FEWEST {
        return None;
    }
    let mut before: Vec<f64> =
        rows.iter().filter_map(|i| Some((at(ttft, *i)? - at(server_ttft, *i)?).max(0.0))).collect();
    let mut front: Vec<f64> =
        rows.iter().filter_map(|i| Some((at(server_ttft, *i)? - at(queue, *i)? - at(prefill, *i)?).max(0.0))).collect();
    let span = r.span();
    let mean = span.map_or(0.0, |s| f.area(s.start_ns, s.end_ns) / (s.end_ns - s.start_ns).max(1) as f64);
    let engine = |get: &dyn Fn(&crate::server::Level) -> Option<f64>| {
        let (running, waiting) = (server.running.as_ref()?, server.waiting.as_ref());
        Some(get(running)? + waiting.and_then(get).unwrap_or(0.0))
    };
    let enough = |list: &[f64]| list.len() * 10 >= rows.len() * 9;
    Some(Outside {
        requests: rows.len() as u64,
        before_server_ms: median(&mut before).filter(|_| enough(&before)),
        before_server_p95_ms: quantile(&mut before, 0.95).filter(|_| enough(&before)),
        front_end_ms: median(&mut front).filter(|_| enough(&front)),
        ttft_ms: median(&mut rows.iter().filter_map(|i| at(ttft, *i)).collect::<Vec<_>>())?,
        peak_in_flight: f.peak().unwrap_or(0),
        peak_in_engine: engine(&|l| Some(l.max)),
        mean_in_flight: mean,
        mean_in_engine: engine(&|l| l.mean),
    })
}
