//! The registry of metrics: one file each, one line in the list here and one in `METRICS`.

mod arrival_rate;
mod batch_size_seen;
mod client_queue_time;
mod decode_time;
mod e2e_latency;
mod failure_rate;
mod goodput;
mod gpu_memory_peak;
mod inference_time;
mod interarrival;
mod interarrival_cv;
mod itl;
mod itl_per_token;
mod kv_cache_full;
mod kv_cache_max;
mod kv_cache_mean;
mod mean_concurrency;
mod normalized_latency;
mod output_length;
mod output_throughput;
mod peak_arrival_rate;
mod peak_chunks;
mod peak_concurrency;
mod peak_output_throughput;
mod peak_requests_in_1s;
mod preempted_decode;
mod preempted_prefill;
mod preempted_share;
mod preemption_total;
mod prefill_time;
mod prefix_cache_hit_rate;
mod prompt_length;
mod prompt_throughput;
mod queue_share;
mod queue_time;
mod request_preemptions;
mod request_throughput;
mod running_max;
mod running_mean;
mod server_ttft;
mod tokens_per_chunk;
mod total_throughput;
mod tpot;
mod ttft;
mod waiting_max;
mod waiting_mean;

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
    &server_ttft::SERVER_TTFT,
    &request_preemptions::REQUEST_PREEMPTIONS,
    &preempted_prefill::PREEMPTED_PREFILL,
    &preempted_decode::PREEMPTED_DECODE,
    &client_queue_time::CLIENT_QUEUE_TIME,
    &prompt_length::PROMPT_LENGTH,
    &output_length::OUTPUT_LENGTH,
    &interarrival::INTERARRIVAL,
    &arrival_rate::ARRIVAL_RATE,
    &peak_arrival_rate::PEAK_ARRIVAL_RATE,
    &interarrival_cv::INTERARRIVAL_CV,
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
    &preemption_total::PREEMPTION_TOTAL,
    &preempted_share::PREEMPTED_SHARE,
    &kv_cache_mean::KV_CACHE_MEAN,
    &kv_cache_max::KV_CACHE_MAX,
    &kv_cache_full::KV_CACHE_FULL,
    &running_mean::RUNNING_MEAN,
    &running_max::RUNNING_MAX,
    &waiting_mean::WAITING_MEAN,
    &waiting_max::WAITING_MAX,
    &prefix_cache_hit_rate::PREFIX_CACHE_HIT_RATE,
    &queue_share::QUEUE_SHARE,
    &gpu_memory_peak::GPU_MEMORY_PEAK,
    &batch_size_seen::BATCH_SIZE_SEEN,
];

/// The metric with this id; the display unit may be left out: `ttft` finds `ttft_ms`.
pub fn find_metric(name: &str) -> Option<&'static Metric> {
    let name = name.to_lowercase().replace('-', "_");
    let plain = |id: &str| id.trim_end_matches("_ms").trim_end_matches("_requests_per_s") == name;
    METRICS.iter().copied().find(|m| m.id == name).or_else(|| METRICS.iter().copied().find(|m| plain(m.id)))
}
