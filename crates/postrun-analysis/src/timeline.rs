//! The run in windows of equal, friendly width: at least one second, at most 120 windows.
//!
//! TTFT counts in the window in which the first token came, a gap in the one in which its later chunk arrived, a request
//! sent or ended where that happened. Rates are per second, whatever the width. Of a workload only sends are known.

use crate::gaps::ChunkFacts;
use crate::in_flight::InFlight;
use crate::requests::Requests;
use crate::server::level;
use crate::server::tracks::Tracks;
use crate::summary::Summary;
use crate::window::Window;
use serde::Serialize;

const MAX_WINDOWS: i64 = 120;
const WIDTHS_S: [f64; 12] = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0];

/// Windows from the first send on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    /// Width of a window in seconds.
    pub width_s: f64,
    /// The windows in order.
    pub windows: Vec<TimelineWindow>,
}

impl Timeline {
    /// The window in which most requests were sent, the first of equal ones.
    pub fn fullest(&self) -> Option<&TimelineWindow> {
        self.windows.iter().rev().max_by_key(|w| w.sent)
    }

    /// Sends a second in that window.
    pub(crate) fn peak_sent_per_s(&self) -> Option<f64> {
        Some(self.fullest()?.sent as f64 / self.width_s)
    }
}

/// One window. Latencies are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineWindow {
    /// Start in seconds since the first send.
    pub start_s: f64,
    /// Measured requests sent in it.
    pub sent: u64,
    /// Ok requests that ended in it; `None`: no end is known.
    pub ended: Option<u64>,
    /// Output tokens that arrived in it, a second.
    pub output_tokens_per_s: Option<f64>,
    /// Mean number of requests in flight; `None`: no end is known.
    pub mean_concurrency: Option<f64>,
    /// TTFT of the requests whose first token came in it.
    pub ttft: Option<Summary>,
    /// Chunk gaps that ended in it.
    pub itl: Option<Summary>,
    /// The server in it, where its clock is aligned.
    pub server: ServerWindow,
}

/// What the server's samples say of one window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ServerWindow {
    /// Mean number of requests in the running batch.
    pub running: Option<f64>,
    /// Mean number of requests in the server's queue.
    pub waiting: Option<f64>,
    /// Highest KV cache usage, 0 to 1.
    pub kv_cache_usage: Option<f64>,
    /// Preemptions.
    pub preemptions: Option<f64>,
}

/// Everything that happened, by window.
pub(crate) fn over_time(
    (origin, width, n): (i64, i64, usize),
    r: &Requests,
    in_flight: &InFlight,
    chunks: Option<&ChunkFacts>,
    tracks: &Tracks,
) -> Timeline {
    let slot =
        |at: Option<i64>| at.and_then(|at| usize::try_from((at - origin).div_euclid(width)).ok()).filter(|w| *w < n);
    let (mut sent, mut ended, mut ttft) = (vec![0u64; n], vec![0u64; n], vec![Vec::new(); n]);
    for i in 0..r.len() {
        if let (true, Some(w)) = (r.measured[i], slot(r.sent_ns[i])) {
            sent[w] += 1;
        }
        if !r.counts(i) {
            continue;
        }
        if let Some(w) = slot(r.end_ns(i)) {
            ended[w] += 1;
        }
        if let (Some(w), Some(t)) = (slot(r.sent_ns[i].zip(r.ttft_ns[i]).map(|(s, t)| s + t)), r.ttft_ns[i]) {
            ttft[w].push(t as f64);
        }
    }
    let levels = in_flight.mean_levels(origin, width, n);
    let server = server_windows(tracks, (origin, width, n));
    let width_s = width as f64 / 1e9;
    // Without a single end nothing is known of ends, and so of what was in flight.
    let answered = r.span().is_some();
    let windows = (0..n).map(|w| TimelineWindow {
        start_s: w as f64 * width_s,
        sent: sent[w],
        ended: answered.then_some(ended[w]),
        output_tokens_per_s: chunks.and_then(|c| c.window_tokens.get(w)).map(|t| t / width_s),
        mean_concurrency: answered.then_some(levels[w]),
        ttft: Summary::of(&mut ttft[w], &[50.0, 95.0, 99.0]),
        itl: chunks.and_then(|c| c.windows.get(w).cloned().flatten()),
        server: server[w],
    });
    Timeline { width_s, windows: windows.collect() }
}

/// The server in each of `n` windows of `width_ns` from `origin_ns` on.
pub(crate) fn server_windows(tracks: &Tracks, (origin_ns, width_ns, n): (i64, i64, usize)) -> Vec<ServerWindow> {
    let aligned = |name: &str| tracks.get(name).filter(|t| t.aligned);
    let window = |w: usize| {
        let start_ns = origin_ns + width_ns * w as i64;
        let window = Some(Window { start_ns, end_ns: start_ns + width_ns });
        let counted = |at| level::counter_at(aligned("preemptions_total")?, at);
        ServerWindow {
            running: aligned("running").and_then(|t| level::mean(t, window)),
            waiting: aligned("waiting").and_then(|t| level::mean(t, window)),
            kv_cache_usage: aligned("kv_cache_usage").and_then(|t| level::max(t, window)),
            preemptions: counted(start_ns + width_ns).map(|end| end - counted(start_ns).unwrap_or(0.0)),
        }
    };
    (0..n).map(window).collect()
}

/// Width in nanoseconds and number of windows that cover `length_ns`.
pub(crate) fn axis(length_ns: i64) -> (i64, usize) {
    let to_ns = |s: &f64| (s * 1e9) as i64;
    let fitting = WIDTHS_S.iter().map(to_ns).find(|w| length_ns / w < MAX_WINDOWS);
    let width = fitting.unwrap_or_else(|| length_ns / MAX_WINDOWS + 1);
    (width, (length_ns / width + 1) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_stays_readable() {
        assert_eq!(axis(61_000_000_000), (1_000_000_000, 62));
        assert_eq!(axis(0), (1_000_000_000, 1));
        let (width, n) = axis(i64::MAX / 2);
        assert!(n <= 121 && width > 0);
    }
}
