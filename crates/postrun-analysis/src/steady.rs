//! Ramp-up, steady state and drain tail of a run.
//!
//! The level of a run is its median number of requests in flight between the first and the last send. Ramp-up ends
//! when 90 % of that level is first reached. The steady state ends with the last send; with a concurrency limit, when
//! that 90 % is last held. What follows is the drain tail, in which ever fewer requests share the server and throughput falls
//! although nothing is wrong.
//!
//! There is no steady state where the number in flight keeps rising while requests arrive (its mean over the last third
//! of the arrivals is more than 1.3 times that of the middle third, and by more than two requests; a queue that grows
//! evenly gives 1.67): then requests arrive faster than they are
//! served, and every latency depends on how long the run went on. Nor where everything is sent at once (last send within
//! 5 % of the run) without a concurrency limit: that is a single burst. With a limit, the plateau at the peak is steady.

use crate::figure::{MetricSummary, RunValue};
use crate::in_flight::InFlight;
use crate::requests::Requests;
use crate::window::Window;
use serde::Serialize;

const OF_LEVEL: f64 = 0.9;
const AT_ONCE: f64 = 0.05;
const RISING: f64 = 1.3;
const RISING_BY: f64 = 2.0;

/// The steady part of a run and its headline figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SteadyState {
    /// The steady window.
    pub window: Window,
    /// Share of the run before it.
    pub ramp_share: f64,
    /// Share of the run after it.
    pub drain_share: f64,
    /// Ok requests that belong to it.
    pub requests: u64,
    /// Per-run figures over it.
    pub values: Vec<RunValue>,
    /// Distributions over it.
    pub metrics: Vec<MetricSummary>,
}

/// The steady window with the shares of ramp and drain; or why there is none.
pub(crate) fn find(
    requests: &Requests,
    in_flight: &InFlight,
    max_concurrency: Option<u32>,
) -> Result<(Window, f64, f64), String> {
    let span = requests.span().ok_or(match requests.first_send_ns() {
        Some(_) => "no answer with its end is recorded",
        None => "send times not recorded",
    })?;
    let length = span.end_ns - span.start_ns;
    let ok = (0..requests.len()).filter(|i| requests.counts(*i) && requests.end_ns(*i).is_some());
    let (count, last_send) =
        ok.fold((0usize, span.start_ns), |(n, last), i| (n + 1, last.max(requests.sent_ns[i].unwrap_or(last))));
    if count < 2 || length <= 0 {
        return Err("fewer than two requests with known times".to_string());
    }
    let at_once = ((last_send - span.start_ns) as f64) < AT_ONCE * length as f64;
    let peak = in_flight.peak().unwrap_or(0);
    let limited = max_concurrency.is_some_and(|limit| u64::from(limit) <= peak);
    let level = match at_once {
        true if !limited => {
            return Err("all requests were sent at once without a concurrency limit: the run is one burst".to_string());
        }
        true => peak,
        false => in_flight.median_level(span.start_ns, last_send).unwrap_or(peak),
    };
    let mut holding = in_flight.spans().filter(|(_, _, l)| *l as f64 >= OF_LEVEL * level as f64);
    let first = holding.next().ok_or("the run never settles at a level")?;
    let last_held = holding.last().map_or(first.1, |(_, to, _)| to);
    let end_ns = match (at_once, limited) {
        (true, _) => last_held,
        (false, true) => last_held.max(last_send),
        (false, false) => last_send,
    };
    let window = Window { start_ns: first.0, end_ns };
    if window.start_ns >= window.end_ns {
        return Err("the run never settles at a level".to_string());
    }
    let third = (last_send - span.start_ns) / 3;
    let mean = |from: i64| in_flight.area(from, from + third) / third.max(1) as f64;
    let (early, late) = (mean(span.start_ns + third), mean(last_send - third));
    if !limited && !at_once && late > RISING * early && late > early + RISING_BY {
        return Err(format!(
            "requests in flight kept rising until the last send (from {early:.1} to {late:.1}): requests arrived faster than they were served"
        ));
    }
    let share = |ns: i64| ns as f64 / length as f64;
    Ok((window, share(window.start_ns - span.start_ns), share(span.end_ns - window.end_ns)))
}
