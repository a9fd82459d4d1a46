//! The sums and peaks of one run (or one window of it) from which the per-run metrics are taken.

use crate::server::ServerFacts;

/// Everything a per-run metric may use. `None`: the recording does not say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFacts {
    /// Length of the measurement in seconds.
    pub duration_s: Option<f64>,
    /// Measured requests that belong to the scope, however they ended.
    pub requests: u64,
    /// Of them ok.
    pub ok: u64,
    /// Ok requests that ended inside the scope; in a window, not the same set.
    pub ended: u64,
    /// Of them failed.
    pub failed: u64,
    /// Prompt tokens of the ok requests.
    pub prompt_tokens: Option<u64>,
    /// Mean prompt tokens of the ok requests that belong to the scope and have the value.
    pub mean_prompt_tokens: Option<f64>,
    /// Mean output tokens of the ok requests that belong to the scope and have the value.
    pub mean_output_tokens: Option<f64>,
    /// Output tokens of the ok requests (in a window: of chunks inside it).
    pub output_tokens: Option<f64>,
    /// Token-bearing chunks of the ok requests.
    pub chunks: Option<u64>,
    /// Output tokens of the ok requests whose chunks are known.
    pub output_tokens_in_chunks: Option<u64>,
    /// Sum of e2e over the ok requests, in seconds.
    pub busy_s: Option<f64>,
    /// Requests sent in the scope, however they ended.
    pub arrivals: Option<u64>,
    /// Sends a second.
    pub arrivals_per_s: Option<f64>,
    /// Sends a second in the fullest window of the timeline.
    pub peak_arrivals_per_s: Option<f64>,
    /// Coefficient of variation of the times between sends.
    pub interarrival_cv: Option<f64>,
    /// Most requests in flight at one instant.
    pub peak_concurrency: Option<u64>,
    /// Most requests touching one second.
    pub peak_requests_in_1s: Option<u64>,
    /// Most output tokens in one second.
    pub peak_output_tokens_per_s: Option<f64>,
    /// Most chunks in one second.
    pub peak_chunks_per_s: Option<u64>,
    /// The server's side.
    pub server: ServerFacts,
    /// Requests that met every objective, where objectives were given.
    pub good: Option<u64>,
}

impl RunFacts {
    /// `amount` a second.
    pub(crate) fn rate(&self, amount: Option<f64>) -> Option<f64> {
        self.duration_s.filter(|s| *s > 0.0).and_then(|s| Some(amount? / s))
    }
}
