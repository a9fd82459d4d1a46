//! The registry of metrics: one file each, one line in the list here and one in `METRICS`.

mod client_queue_time;
mod decode_time;
mod e2e_latency;
mod failure_rate;
mod goodput;
mod inference_time;
mod itl;
mod itl_per_token;
mod mean_concurrency;
mod normalized_latency;
mod output_throughput;
mod peak_chunks;
mod peak_concurrency;
mod peak_output_throughput;
mod peak_requests_in_1s;
mod prefill_time;
mod prompt_throughput;
mod queue_time;
mod request_throughput;
mod tokens_per_chunk;
mod total_throughput;
mod tpot;
mod ttft;

use crate::metric::Metric;

/// All metrics, in the order a report shows them.
pub static METRICS: &[&Metric] = &[
    &ttft::TTFT,
    &tpot::TPOT,
    &itl::ITL,
    &itl_per_token::ITL_PER_TOKEN,
    &e2e_latency::E2E_LATENCY,
    &normalized_latency::NORMALIZED_LATENCY,
    &queue_time::QUEUE_TIME,
    &prefill_time::PREFILL_TIME,
    &decode_time::DECODE_TIME,
    &inference_time::INFERENCE_TIME,
    &client_queue_time::CLIENT_QUEUE_TIME,
    &request_throughput::REQUEST_THROUGHPUT,
    &output_throughput::OUTPUT_THROUGHPUT,
    &prompt_throughput::PROMPT_THROUGHPUT,
    &total_throughput::TOTAL_THROUGHPUT,
    &peak_output_throughput::PEAK_OUTPUT_THROUGHPUT,
    &peak_chunks::PEAK_CHUNKS,
    &mean_concurrency::MEAN_CONCURRENCY,
    &peak_concurrency::PEAK_CONCURRENCY,
    &peak_requests_in_1s::PEAK_REQUESTS_IN_1S,
    &goodput::GOODPUT,
    &failure_rate::FAILURE_RATE,
    &tokens_per_chunk::TOKENS_PER_CHUNK,
];

/// The metric with this id; the display unit may be left out: `ttft` finds `ttft_ms`.
pub fn find_metric(name: &str) -> Option<&'static Metric> {
    let name = name.to_lowercase().replace('-', "_");
    let plain = |id: &str| id.trim_end_matches("_ms").trim_end_matches("_requests_per_s") == name;
    METRICS.iter().copied().find(|m| m.id == name).or_else(|| METRICS.iter().copied().find(|m| plain(m.id)))
}
