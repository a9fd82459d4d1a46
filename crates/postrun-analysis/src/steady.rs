//! Ramp-up, steady state and drain tail of a run.
//!
//! The level of a run is its median number of requests in flight between the first and the last send. Ramp-up ends
//! when 90 % of that level is first reached. The steady state ends with the last send, or when the level is last held,
//! whichever is later; what follows is the drain tail, in which ever fewer requests share the server and throughput
//! falls although nothing is wrong. If everything is sent at once (last send within 5 % of the run), the level is the
//! peak: with a concurrency limit that is the plateau, without one the run is a single burst that has no steady state.

use crate::in_flight::InFlight;
use crate::requests::Requests;
use crate::run::{MetricSummary, RunValue};
use crate::window::Window;
use serde::Serialize;

const OF_LEVEL: f64 = 0.9;
const AT_ONCE: f64 = 0.05;

/// The steady part of a run and its headline figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SteadyState {
    /// The steady window.
    pub window: Window,
    /// Share of the run before it.
    pub ramp_share: f64,
    /// Share of the run after it.
    pub drain_share: f64,
    /// Requests in flight that define it.
    pub level: u64,
    /// Ok requests that fall into it.
    pub requests: u64,
    /// Per-run figures over it.
    pub values: Vec<RunValue>,
    /// Distributions over it.
    pub metrics: Vec<MetricSummary>,
}

/// The steady window, with the level and the shares of ramp and drain; or why there is none.
pub(crate) fn find(
    requests: &Requests,
    in_flight: &InFlight,
    max_concurrency: Option<u32>,
) -> Result<(Window, u64, f64, f64), &'static str> {
    let span = requests.span().ok_or("send times not recorded")?;
    let length = span.end_ns - span.start_ns;
    let ok = (0..requests.len()).filter(|i| requests.counts(*i) && requests.end_ns(*i).is_some());
    let (count, last_send) =
        ok.fold((0usize, span.start_ns), |(n, last), i| (n + 1, last.max(requests.sent_ns[i].unwrap_or(last))));
    if count < 2 || length <= 0 {
        return Err("fewer than two requests with known times");
    }
    let at_once = ((last_send - span.start_ns) as f64) < AT_ONCE * length as f64;
    let peak = in_flight.peak().unwrap_or(0);
    let level = match at_once {
        true if max_concurrency.is_none_or(|limit| u64::from(limit) > peak) => {
            return Err("all requests were sent at once without a concurrency limit: the run is one burst");
        }
        true => peak,
        false => in_flight.median_level(span.start_ns, last_send).unwrap_or(peak),
    };
    let held = |l: u64| l as f64 >= OF_LEVEL * level as f64;
    let mut holding = in_flight.spans().filter(|(_, _, l)| held(*l));
    let first = holding.next().ok_or("the run never settles at a level")?;
    let last_held = holding.last().map_or(first.1, |(_, to, _)| to);
    let end_ns = if at_once { last_held } else { last_held.max(last_send) };
    let window = Window { start_ns: first.0, end_ns };
    let share = |ns: i64| ns as f64 / length as f64;
    Ok((window, level, share(window.start_ns - span.start_ns), share(span.end_ns - window.end_ns)))
}
