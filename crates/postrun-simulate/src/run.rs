//! What a simulation yields: every request as it truly went, and everything that was sampled on the way.
//!
//! All times are nanoseconds since the start of the benchmark, in true time. Clocks are put on when files are written.

use crate::engine::Counters;
use crate::scenario::Scenario;
use serde::Serialize;

/// A finished simulation.
#[derive(Debug, Clone)]
pub struct Run {
    /// What was simulated.
    pub scenario: Scenario,
    /// In order of due time.
    pub requests: Vec<RequestRecord>,
    /// In order of time.
    pub preemptions: Vec<Preemption>,
    /// Stalls and holds within the run, by kind and time.
    pub stalls: Vec<Stall>,
    /// From the start until the client was done, nanoseconds.
    pub duration_ns: i64,
    pub(crate) scrapes: Vec<Sample>,
    pub(crate) log_ticks: Vec<Sample>,
    pub(crate) totals: Totals,
    pub(crate) counters: Counters,
}

/// One request, as client and server truly saw it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RequestRecord {
    /// Number, from 0.
    pub request: u32,
    /// Tokens of the prompt, with its common prefix.
    pub prompt_tokens: u32,
    /// Tokens asked for.
    pub output_tokens: u32,
    /// Tokens made.
    pub generated_tokens: u32,
    /// Prompt tokens found in the prefix cache.
    pub cached_tokens: u32,
    /// Times it was preempted.
    pub preemptions: u32,
    /// When the client was to send it.
    pub due_ns: i64,
    /// When the client's event loop got to it.
    pub entered_ns: i64,
    /// When the client stamped it as sent, after waiting for its concurrency limit.
    pub sent_ns: i64,
    /// When it left the client (later than sent if it waited for a connection).
    pub left_client_ns: i64,
    /// When the server had it.
    pub arrival_ns: Option<i64>,
    /// When the engine's queue had it, tokenized.
    pub queued_ns: Option<i64>,
    /// Start of the first step that computed it.
    pub first_scheduled_ns: Option<i64>,
    /// End of the step that made the first token.
    pub first_token_ns: Option<i64>,
    /// End of the step that made the last token.
    pub last_token_ns: Option<i64>,
    /// When the client was done with it.
    pub done_ns: i64,
    /// Time its chunks lay in the client unread, and in buffers of the network, summed over chunks.
    pub unread_ns: i64,
    /// Time its chunks were held on the way, summed over chunks.
    pub held_ns: i64,
    /// What the client reports; none if it was served.
    pub error: Option<String>,
    /// When the client read each chunk, and how many tokens it had.
    #[serde(skip)]
    pub chunks: Vec<(i64, u32)>,
}

impl RequestRecord {
    /// Served in full.
    pub fn ok(&self) -> bool {
        self.error.is_none()
    }

    /// TTFT as the client saw it.
    pub fn ttft_ns(&self) -> Option<i64> {
        self.chunks.first().map(|(t, _)| t - self.sent_ns)
    }

    /// Last chunk minus send, as the client saw it.
    pub fn e2e_ns(&self) -> Option<i64> {
        self.chunks.last().map(|(t, _)| t - self.sent_ns)
    }

    /// Time per output token after the first.
    pub fn tpot_ns(&self) -> Option<f64> {
        let later = self.generated_tokens.checked_sub(1).filter(|n| *n > 0)?;
        Some((self.e2e_ns()? - self.ttft_ns()?) as f64 / f64::from(later))
    }

    /// Gaps between chunks.
    pub fn gaps_ns(&self) -> impl Iterator<Item = i64> + '_ {
        self.chunks.windows(2).map(|w| w[1].0 - w[0].0)
    }

    /// First scheduled minus queued.
    pub fn queue_ns(&self) -> Option<i64> {
        Some(self.first_scheduled_ns? - self.queued_ns?)
    }

    /// First token minus first scheduled.
    pub fn prefill_ns(&self) -> Option<i64> {
        Some(self.first_token_ns? - self.first_scheduled_ns?)
    }

    /// Last token minus first token.
    pub fn decode_ns(&self) -> Option<i64> {
        Some(self.last_token_ns? - self.first_token_ns?)
    }
}

/// Where a request was when it lost its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before its first token.
    Prefill,
    /// After it.
    Decode,
}

/// One preemption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Preemption {
    /// Whose.
    pub request: u32,
    /// When it lost its blocks.
    pub from_ns: i64,
    /// When it was scheduled again; none if never.
    pub to_ns: Option<i64>,
    /// When its next token came (or when it was preempted again); none if never.
    pub recovered_ns: Option<i64>,
    /// Phase it struck.
    pub phase: Phase,
    /// Computed tokens that were thrown away.
    pub lost_tokens: u32,
}

/// What stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StallKind {
    /// The server: no step went on.
    Server,
    /// Connections: chunks were held.
    Network,
    /// The client: nothing was sent or read.
    Client,
}

/// One stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stall {
    /// What stood still.
    pub kind: StallKind,
    /// From.
    pub from_ns: i64,
    /// To.
    pub to_ns: i64,
}

/// The server's state at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub at_ns: i64,
    pub running: u32,
    pub waiting: u32,
    pub used_blocks: u32,
    pub counters: Counters,
}

/// Sums over steps.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub steps: u64,
    pub busy_ns: i64,
    pub cpu_ns: i64,
    pub frontend_ns: i64,
    /// Sums weighted with the length of the step.
    pub decodes_ns: f64,
    pub running_ns: f64,
    pub kv_ns: f64,
    pub kv_high_ns: i64,
    pub kv_peak: u32,
    /// Time that decoding requests spent in steps; of it, because of prompts, and because of stalls.
    pub gaps_ns: f64,
    pub gaps_by_prefill_ns: f64,
    pub gaps_by_stall_ns: f64,
}
