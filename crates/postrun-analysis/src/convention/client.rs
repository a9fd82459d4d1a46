//! What each client calls its metrics, and how it defines them.
//!
//! `--convention NAME` computes every metric that the client has by the client's definition; what it has no word for keeps
//! postrun's. Under `itl_ms` stands what the client itself calls inter-token latency: every gap for some, for others one mean
//! a request, which is TPOT by another name. Buckets, the steady state and a window are cut as always; rates that a client
//! defines otherwise are those of its whole run, and are left out there. The timeline, the pauses, the evidence of a
//! diagnosis and the pictures of these are not redefined: the findings' thresholds were set for them.
//! A metric whose facts the recording lacks is unavailable, never replaced by a neighbour.

use super::{Convention, find, recipe};
use crate::gap_rule::GapRule;
use serde::Serialize;

/// A client and its definitions.
#[derive(Debug)]
pub struct ClientConvention {
    /// Name on the command line.
    pub id: &'static str,
    /// The tool, and the versions the definitions were read from.
    pub title: &'static str,
    /// The metrics it has.
    pub metrics: &'static [Defined],
}

/// One metric by one client.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Defined {
    /// postrun's id.
    pub metric: &'static str,
    /// The client's own word for it.
    pub name: &'static str,
    /// Id of the definition among [`super::CONVENTIONS`].
    pub definition: &'static str,
    /// In words.
    pub text: &'static str,
}

impl ClientConvention {
    /// True for all but postrun's own.
    pub fn is_another(&self) -> bool {
        self.id != POSTRUN.id
    }

    /// How it defines a metric; `None`: it has none of the kind.
    pub fn defined(&self, metric: &str) -> Option<&'static Defined> {
        self.metrics.iter().find(|d| d.metric == metric)
    }

    /// False where what it calls inter-token latency is one mean a request.
    pub fn itl_is_gaps(&self) -> bool {
        self.definition("itl_ms").is_none_or(|definition| GapRule::of(&definition.recipe).is_some())
    }

    /// The definition of a metric where it is not postrun's own.
    pub(crate) fn definition(&self, metric: &str) -> Option<&'static Convention> {
        self.defined(metric).and_then(|d| find(d.definition)).filter(|c| c.recipe != recipe::POSTRUN)
    }
}

impl Default for &'static ClientConvention {
    fn default() -> Self {
        &POSTRUN
    }
}

/// The convention with this name.
pub fn find_client(id: &str) -> Option<&'static ClientConvention> {
    CLIENTS.iter().copied().find(|c| c.id == id)
}

/// All conventions, postrun's own first.
pub static CLIENTS: &[&ClientConvention] =
    &[&POSTRUN, &VLLM, &SGLANG, &GUIDELLM, &AIPERF, &INFERENCE_PERF, &EVALSCOPE, &LLMPERF, &TENSORRT_LLM, &MLPERF];

const fn d(metric: &'static str, name: &'static str, definition: &'static str, text: &'static str) -> Defined {
    Defined { metric, name, definition, text }
}

static POSTRUN: ClientConvention = ClientConvention {
    id: "postrun",
    title: "postrun",
    metrics: &[
        d("ttft_ms", "TTFT", "same", "first token-bearing chunk − send"),
        d("tpot_ms", "TPOT", "same", "(last − first token) / (output tokens − tokens of the first chunk)"),
        d("itl_ms", "ITL (chunk gap)", "same", "every gap between token-bearing chunks, pooled"),
        d("e2e_ms", "E2E", "same", "last token-bearing chunk − send"),
        d("e2e_per_output_token_ms", "E2E per output token", "same", "E2E / output tokens"),
        d("client_queue_ms", "Client queue", "same", "send − intended send"),
        d("requests_per_s", "Requests/s", "same", "ok requests / the client's own duration"),
        d("output_tokens_per_s", "Output tokens/s", "same", "output tokens of ok requests / duration"),
        d("prompt_tokens_per_s", "Prompt tokens/s", "same", "prompt tokens of ok requests / duration"),
        d("total_tokens_per_s", "Total tokens/s", "same", "prompt and output tokens of ok requests / duration"),
        d(
            "peak_output_tokens_per_s",
            "Peak output tokens/s",
            "same",
            "most tokens in one second, as each chunk carried them",
        ),
        d("mean_concurrency", "Mean concurrency", "same", "sum of E2E / duration"),
        d("peak_concurrency", "Peak concurrency", "same", "most requests under way at one instant"),
    ],
};

static VLLM: ClientConvention = ClientConvention {
    id: "vllm",
    title: "vllm bench serve 0.33",
    metrics: &[
        d("ttft_ms", "TTFT", "whole_answers", "first chunk with output − send; before 0.33 a role-only chunk counted"),
        d("tpot_ms", "TPOT", "later_tokens", "(latency − TTFT) / (output tokens − 1), above one token"),
        d("itl_ms", "ITL", "same", "every gap between chunks, pooled"),
        d("e2e_ms", "E2EL", "same", "last chunk with output − send"),
        d("client_queue_ms", "client queue time", "same", "wait for a slot under the concurrency limit"),
        d("requests_per_s", "request throughput", "same", "ok requests / stopwatch around all sends"),
        d("output_tokens_per_s", "output throughput", "same", "output tokens of ok requests / the same"),
        d("total_tokens_per_s", "total token throughput", "same", "prompt and output tokens / the same"),
        d(
            "peak_output_tokens_per_s",
            "peak output token throughput",
            "peaks_by_second",
            "most chunks in one second of the run, each taken for one token",
        ),
        d(
            "peak_concurrency",
            "peak concurrent requests",
            "peaks_by_second",
            "most requests under way at any time of one second",
        ),
    ],
};

static SGLANG: ClientConvention = ClientConvention {
    id: "sglang",
    title: "SGLang bench_serving 0.5",
    metrics: &[
        d("ttft_ms", "TTFT", "whole_answers", "first chunk with content − send; the latency where nothing is streamed"),
        d("tpot_ms", "TPOT", "to_stream_end", "(latency − TTFT) / (output tokens − 1), latency to the last line"),
        d("itl_ms", "ITL", "same", "every gap between chunks with content, pooled"),
        d("e2e_ms", "E2E latency", "to_stream_end", "last line of the response (usage, [DONE]) − send"),
        d("requests_per_s", "request throughput", "same", "ok requests / stopwatch around all sends"),
        d("output_tokens_per_s", "output throughput", "same", "output tokens of ok requests / the same"),
        d(
            "prompt_tokens_per_s",
            "input throughput",
            "client_tokenizer_prompts",
            "prompt tokens by its tokenizer / the same",
        ),
        d(
            "total_tokens_per_s",
            "total throughput",
            "client_tokenizer_prompts",
            "prompt tokens by its tokenizer and output tokens / the same",
        ),
        d(
            "peak_output_tokens_per_s",
            "peak output token throughput",
            "peaks_by_second",
            "most chunks in one second of the run, each taken for one token",
        ),
        d("mean_concurrency", "concurrency", "to_stream_end", "sum of latencies / the same"),
        d(
            "peak_concurrency",
            "peak concurrent requests",
            "peaks_by_second",
            "most requests under way at any time of one second",
        ),
    ],
};

static GUIDELLM: ClientConvention = ClientConvention {
    id: "guidellm",
    title: "GuideLLM 0.6",
    metrics: &[
        d(
            "ttft_ms",
            "time_to_first_token_ms",
            "nearest_rank",
            "first chunk with text − send; percentiles are values that occur",
        ),
        d(
            "tpot_ms",
            "time_per_output_token_ms",
            "with_ttft_weighted_by_tokens",
            "(last token − send) / output tokens, TTFT included; counted once a token",
        ),
        d(
            "itl_ms",
            "inter_token_latency_ms",
            "weighted_by_tokens",
            "(last − first token) / (output tokens − 1), one mean a request, counted once a token",
        ),
        d("e2e_ms", "request_latency", "to_stream_end_nearest_rank", "end of the response − send"),
        d(
            "e2e_per_output_token_ms",
            "time_per_output_token_ms",
            "with_ttft_weighted_by_tokens",
            "(last token − send) / output tokens, counted once a token",
        ),
        d(
            "client_queue_ms",
            "request_dispatch_delay",
            "nearest_rank",
            "send − intended send; percentiles are values that occur",
        ),
        d("requests_per_s", "requests_per_second", "same", "ok requests / first send to last end"),
        d("output_tokens_per_s", "output_tokens_per_second", "same", "output tokens of ok requests / the same"),
        d("prompt_tokens_per_s", "prompt_tokens_per_second", "same", "prompt tokens of ok requests / the same"),
        d("total_tokens_per_s", "tokens_per_second", "same", "prompt and output tokens of ok requests / the same"),
        d("mean_concurrency", "request_concurrency", "to_stream_end", "sum of latencies / the same"),
    ],
};

static AIPERF: ClientConvention = ClientConvention {
    id: "aiperf",
    title: "AIPerf 0.13",
    metrics: &[
        d("ttft_ms", "time_to_first_token", "same", "first response with content (reasoning is content) − send"),
        d(
            "tpot_ms",
            "inter_token_latency",
            "client_tokenizer_outputs",
            "(latency − TTFT) / (output tokens − 1), tokens by its tokenizer",
        ),
        d(
            "itl_ms",
            "inter_token_latency",
            "request_mean",
            "(latency − TTFT) / (output tokens − 1), one mean a request; gaps are its inter_chunk_latency",
        ),
        d("e2e_ms", "request_latency", "same", "last response with content − send"),
        d(
            "client_queue_ms",
            "credit_to_start_latency",
            "all_requests_coarse_times",
            "send − release by its rate limiter, failed requests included",
        ),
        d("requests_per_s", "request_throughput", "same", "ok requests / its measured phase"),
        d(
            "output_tokens_per_s",
            "output_token_throughput",
            "client_tokenizer_outputs",
            "output tokens by its tokenizer / the same",
        ),
        d(
            "prompt_tokens_per_s",
            "input_token_throughput",
            "client_tokenizer_prompts",
            "prompt tokens by its tokenizer / the same",
        ),
        d(
            "total_tokens_per_s",
            "total_token_throughput",
            "client_tokenizer_prompts",
            "both by its tokenizer / the same",
        ),
    ],
};

static INFERENCE_PERF: ClientConvention = ClientConvention {
    id: "inference-perf",
    title: "inference-perf 0.6",
    metrics: &[
        d("ttft_ms", "time_to_first_token", "same", "first token time − start, above one token"),
        d("tpot_ms", "time_per_output_token", "per_token_after_first", "(last − first token) / (tokens − 1)"),
        d(
            "itl_ms",
            "inter_token_latency",
            "tokens_share_chunk_time",
            "every gap between tokens; those of one chunk share its time, so that most of its gaps are 0",
        ),
        d("e2e_ms", "request_latency", "to_stream_end", "end of the response − start"),
        d(
            "e2e_per_output_token_ms",
            "normalized_time_per_output_token",
            "client_lengths_to_stream_end",
            "latency / output tokens by its tokenizer",
        ),
        d(
            "requests_per_s",
            "requests_per_sec",
            "last_response",
            "ok requests / first start to last end, failed ones included",
        ),
        d(
            "output_tokens_per_s",
            "output_tokens_per_sec",
            "client_lengths_to_last_response",
            "output tokens by its tokenizer / the same",
        ),
        d(
            "prompt_tokens_per_s",
            "input_tokens_per_sec",
            "client_lengths_to_last_response",
            "prompt tokens by its tokenizer / the same",
        ),
        d(
            "total_tokens_per_s",
            "total_tokens_per_sec",
            "client_lengths_to_last_response",
            "both by its tokenizer / the same",
        ),
    ],
};

static EVALSCOPE: ClientConvention = ClientConvention {
    id: "evalscope",
    title: "EvalScope perf 1.14",
    metrics: &[
        d("ttft_ms", "TTFT", "any_chunk", "first chunk of any kind − start; the latency where nothing is streamed"),
        d("tpot_ms", "TPOT", "any_chunk", "(latency − TTFT) / (output tokens − 1), 0 for one token"),
        d("itl_ms", "ITL", "any_chunk", "every gap between chunks of any kind, pooled"),
        d("e2e_ms", "Latency", "any_chunk", "end − start; percentiles are values that occur, at rank ⌈n·p/100⌉"),
        d(
            "requests_per_s",
            "Req Throughput",
            "last_response",
            "ok requests / first start to last end, failed ones included",
        ),
        d("output_tokens_per_s", "Output Throughput", "last_response", "output tokens of ok requests / the same"),
        d(
            "total_tokens_per_s",
            "Total Throughput",
            "last_response",
            "prompt and output tokens of ok requests / the same",
        ),
    ],
};

static LLMPERF: ClientConvention = ClientConvention {
    id: "llmperf",
    title: "LLMPerf 2024-12",
    metrics: &[
        d("ttft_ms", "ttft_s", "sample_spread", "first chunk with content − start"),
        d(
            "itl_ms",
            "inter_token_latency_s",
            "gaps_with_ttft",
            "all gaps, TTFT the first of them, / chunks: one mean a request",
        ),
        d("e2e_ms", "end_to_end_latency_s", "to_stream_end_sample_spread", "end of the response − start"),
    ],
};

static TENSORRT_LLM: ClientConvention = ClientConvention {
    id: "tensorrt-llm",
    title: "TensorRT-LLM benchmark_serving",
    metrics: &[
        d("ttft_ms", "TTFT", "first_chunk", "first chunk with choices (a role-only one counts) − send"),
        d("tpot_ms", "TPOT", "latency_per_later_token", "(latency − TTFT) / (output tokens − 1), above one token"),
        d("itl_ms", "ITL", "chunk_gaps", "every gap between chunks, the role-only one included, pooled"),
        d("e2e_ms", "E2EL", "recorded_latency", "end as the client recorded it − send"),
        d("requests_per_s", "request throughput", "same", "ok requests / stopwatch around all sends"),
        d("output_tokens_per_s", "output throughput", "same", "output tokens of ok requests / the same"),
        d("total_tokens_per_s", "total token throughput", "same", "prompt and output tokens / the same"),
    ],
};

static MLPERF: ClientConvention = ClientConvention {
    id: "mlperf",
    title: "MLPerf LoadGen 6 (Server)",
    metrics: &[
        d("ttft_ms", "first token latency", "from_schedule_floor_index", "first token − when the sample was scheduled"),
        d("tpot_ms", "time per output token", "from_schedule_floor_index", "(latency − TTFT) / (tokens − 1)"),
        d(
            "e2e_ms",
            "latency",
            "from_schedule_floor_index",
            "completion − when the sample was scheduled; percentile: value at index ⌊n·p/100⌋",
        ),
    ],
};
