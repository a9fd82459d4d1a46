//! A part of the run (`--window 30s..5m`, counted from the first send), closed at both ends and clipped to the run.
//!
//! A request belongs to the window in which its first token came (else its end, else, if it failed, its send): that
//! decides over its latencies, its bucket and its part in goodput and failure rate. Rates and gaps go by events: a
//! request a second counts where the request ended, a token or gap where its chunk arrived, whichever request it belongs
//! to. So a warm-up request that reaches into the window gives it tokens, but not its TTFT. The steady state uses the
//! same rules. Pauses of streams count where they ended. Peaks, the steady state, the timeline and the client's own figures are about the whole run.

use serde::Serialize;

/// From `start_ns` to `end_ns` since the first send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Window {
    /// First instant inside.
    pub start_ns: i64,
    /// Last instant inside.
    pub end_ns: i64,
}

impl Window {
    /// True if `at_ns` lies inside.
    pub fn contains(&self, at_ns: i64) -> bool {
        self.start_ns <= at_ns && at_ns <= self.end_ns
    }

    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }
}
