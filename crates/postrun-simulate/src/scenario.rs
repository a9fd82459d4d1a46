//! What is simulated: one plain value, as JSON in and out. Every field has a default; the name of a field ends in its unit.

use crate::cause::Cause;
use crate::error::Result;
use crate::lengths::Lengths;
use serde::{Deserialize, Serialize};

/// One run: the load, the server, what disturbs them, and what is recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// Name of the run; becomes the label in the result.
    pub name: String,
    /// Causes this scenario injects, in no order that means anything; empty for a healthy run. Copied to the truth, without
    /// effect.
    pub causes: Vec<Cause>,
    /// Start of all random numbers.
    pub seed: u64,
    /// When requests are due.
    pub load: Load,
    /// The load generator's own limits.
    pub client: Client,
    /// Prompt lengths, tokens (without a common prefix).
    pub prompts: Lengths,
    /// Output lengths, tokens.
    pub outputs: Lengths,
    /// The scheduler and the server around it.
    pub server: Server,
    /// What a step costs.
    pub step: StepCost,
    /// The KV cache.
    pub kv: KvCache,
    /// Common prefixes and the cache for them.
    pub prefix: Prefix,
    /// Speculative decoding.
    pub speculation: Speculation,
    /// The way between client and server.
    pub network: Network,
    /// Requests that fail.
    pub failures: Failures,
    /// Stalls, warm-up, a change in the middle.
    pub disturbances: Disturbances,
    /// The clocks.
    pub clocks: Clocks,
    /// What is recorded, and how often.
    pub recording: Recording,
}

impl Scenario {
    /// Reads a scenario from JSON; absent fields take their defaults, unknown ones are an error.
    pub fn from_json(text: &str) -> Result<Scenario> {
        let scenario: Scenario = serde_json::from_str(text)?;
        scenario.validate()?;
        Ok(scenario)
    }

    /// The scenario as indented JSON.
    pub fn to_json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }
}

/// The pattern of due times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// All at once; with `max_concurrency`, a closed loop.
    Unbounded,
    /// Evenly spaced.
    Constant,
    /// Exponential gaps.
    Poisson,
    /// Gamma gaps of shape `burstiness`: below 1 in bursts, above 1 more even.
    Gamma,
}

/// When requests are due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Load {
    /// Number of requests.
    pub requests: u32,
    /// Pattern of due times.
    pub arrivals: Arrivals,
    /// Mean rate, requests per second (not for unbounded arrivals).
    pub rate_per_s: f64,
    /// Shape of gamma gaps, no unit.
    pub burstiness: f64,
    /// At most so many requests under way; the others wait inside the client before they are sent.
    pub max_concurrency: Option<u32>,
    /// The rate changes over the run, instead of `rate_per_s`.
    pub ramp: Option<Ramp>,
}

/// A rate that rises (or falls) linearly over the requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ramp {
    /// Rate at the first request, requests per second.
    pub start_per_s: u32,
    /// Rate at the last request, requests per second.
    pub end_per_s: u32,
}

/// The load generator: one thread with an event loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Client {
    /// CPU time to send a request, microseconds.
    pub send_cpu_us: f64,
    /// CPU time to read one chunk, microseconds.
    pub chunk_cpu_us: f64,
    /// Connections in the pool; a request beyond waits after its send time was stamped, so its TTFT contains the wait.
    pub connections: Option<u32>,
    /// The event loop stands still: nothing is sent, nothing read.
    pub stalls: Stalls,
    /// A request is given up after so long, milliseconds.
    pub timeout_ms: Option<f64>,
}

/// Stretches of time in which something stands still; gaps between them are exponential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stalls {
    /// How many per second of undisturbed time; 0 for none.
    pub per_s: f64,
    /// Mean length, milliseconds.
    pub length_ms: f64,
    /// Lengths are uniform within ± this share of the mean, 0 to 1.
    pub spread: f64,
}

/// What happens to a request that loses its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreemptionMode {
    /// Its prompt and the tokens so far are computed again.
    Recompute,
    /// Its blocks are copied out, and back in when there is room.
    Swap,
}

/// The scheduler and the server around it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// Name of the model.
    pub model: String,
    /// Requests running at a time, at most.
    pub max_num_seqs: u32,
    /// Tokens computed in one step, at most.
    pub max_num_batched_tokens: u32,
    /// Prompt and output together, tokens; longer ones are cut. Must fit in the KV cache.
    pub max_model_len: u32,
    /// On: prompts share steps with decodes. Off: a prompt is computed whole, in a step without decodes.
    pub chunked_prefill: bool,
    /// Admit a request when its first chunk fits, not its whole prompt; gives preemptions during prefill.
    pub lazy_admission: bool,
    /// What preemption does.
    pub preemption: PreemptionMode,
    /// Time to copy a block back after a swap, microseconds.
    pub swap_us_per_block: f64,
    /// Tokens collected before a chunk is sent (the first token goes at once).
    pub stream_interval: u32,
    /// Work per request before it is queued (one at a time), microseconds.
    pub frontend_us: f64,
    /// Tokenization (one request at a time), microseconds per prompt token.
    pub tokenize_us_per_token: f64,
    /// Work per chunk between the end of a step and the network, microseconds.
    pub output_us: f64,
}

/// What a step costs: the sum of its parts, times noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StepCost {
    /// CPU work per step (scheduling, sampling, launch), microseconds.
    pub cpu_us: f64,
    /// CPU work per request of the step, microseconds.
    pub cpu_us_per_request: f64,
    /// Device: fixed part (reading the weights), microseconds.
    pub gpu_us: f64,
    /// Device: per decoding request, microseconds.
    pub decode_us_per_request: f64,
    /// Device: per token of context that a decode reads, nanoseconds.
    pub kv_read_ns_per_token: f64,
    /// Device: per prompt token, microseconds.
    pub prefill_us_per_token: f64,
    /// Device: per pair of prompt token and token before it (the quadratic part), nanoseconds.
    pub attention_ns_per_pair: f64,
    /// Spread of the logarithm of a step's time, no unit.
    pub noise_sigma: f64,
}

/// The KV cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KvCache {
    /// Tokens per block.
    pub block_size: u32,
    /// Blocks.
    pub num_blocks: u32,
}

/// Common prefixes of prompts, and the server's cache for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prefix {
    /// Whether the server looks prompts up in its cache.
    pub caching: bool,
    /// Share of requests whose prompt starts with a common prefix, 0 to 1.
    pub share: f64,
    /// How many different common prefixes there are.
    pub groups: u32,
    /// Length of a common prefix, tokens; it comes before the drawn prompt length.
    pub tokens: u32,
}

/// Speculative decoding: a draft of tokens per step, accepted up to the first wrong one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Speculation {
    /// Draft tokens per step and request; 0 for none.
    pub draft_tokens: u32,
    /// Probability that a draft token is right, 0 to 1.
    pub acceptance: f64,
    /// Time to draft one token for the whole batch, microseconds.
    pub draft_us_per_token: f64,
}

/// The way between client and server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Network {
    /// Delay one way, microseconds.
    pub delay_us: f64,
    /// Mean of the exponential addition per message, microseconds.
    pub jitter_us: f64,
    /// Connections are held and then deliver everything at once.
    pub holds: Stalls,
    /// Share of connections that a hold catches, 0 to 1.
    pub hold_share: f64,
    /// A buffer on the way flushes each connection at this period, milliseconds; 0 for none.
    pub flush_ms: f64,
}

/// Requests that fail.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Failures {
    /// Share of requests answered with HTTP 500 at once, 0 to 1.
    pub http_500_share: f64,
    /// Share of requests whose stream breaks at a random token, 0 to 1.
    pub broken_stream_share: f64,
    /// Prompts of more tokens are refused with HTTP 400.
    pub refuse_prompts_over: Option<u32>,
}

/// Stalls, warm-up, a change in the middle.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Disturbances {
    /// The server's CPU stands still: no step goes on, no request is taken in.
    pub server_stalls: Stalls,
    /// The first steps are slow.
    pub warm_up: Option<WarmUp>,
    /// Steps are slower (or faster) from some time on.
    pub change: Option<Change>,
}

/// The first steps are slow (compilation, cold caches).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WarmUp {
    /// Until so many requests have their first token.
    pub requests: u32,
    /// Or until so many seconds have passed, whichever is later.
    pub seconds: f64,
    /// Times by which a step is longer.
    pub factor: f64,
}

/// Step times are multiplied from some time on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    /// From, seconds after the start.
    pub at_s: f64,
    /// Until, seconds after the start; null for the rest of the run.
    pub until_s: Option<f64>,
    /// Times by which a step is longer.
    pub factor: f64,
}

/// The clocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clocks {
    /// True wall time at the start of the run, unix seconds.
    pub start_unix_s: f64,
    /// The client's monotonic clock at the start of the run, seconds.
    pub client_zero_s: f64,
    /// The server's wall clock is ahead of true time by this, milliseconds.
    pub server_ahead_ms: f64,
}

/// What is recorded, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recording {
    /// Period of metric scrapes, seconds.
    pub scrape_s: f64,
    /// Period of the log's statistics line, seconds.
    pub log_s: f64,
    /// The server ran idle for so long before the run, and a few seconds after it, seconds.
    pub idle_s: f64,
}
