//! The registry of ingestors: one file each, one line here.

mod aiperf_gpu_telemetry;
mod aiperf_raw;
mod aiperf_records;
mod aiperf_server_metrics;
mod aiperf_server_metrics_csv;
mod aiperf_summary;
mod aiperf_summary_csv;
#[cfg(test)]
mod damage_test;
mod evalscope_perf;
mod genai_perf_summary;
mod gpu_dmon;
mod guidellm;
mod guidellm_csv;
mod inference_benchmarker;
mod inference_perf;
mod inference_perf_prometheus;
mod inference_perf_summary;
mod inference_profiler;
mod inference_profiler_system;
mod llama_batched_bench;
mod llama_bench;
mod llama_cpp_log;
mod llama_cpp_timings;
mod llmperf;
mod lmdeploy;
mod mapping;
mod mlperf_loadgen;
mod nvidia_smi_csv;
mod ollama;
mod otlp_spans;
mod perf_analyzer;
mod prometheus_query_range;
mod prometheus_text;
#[cfg(test)]
mod reading_test;
#[cfg(test)]
mod recognition_test;
mod sglang_bench;
mod sglang_request_metrics;
mod sglang_server_log;
mod tgi_log;
mod trtllm_bench;
mod trtllm_iteration_stats;
mod vllm_bench;
mod vllm_server_log;
mod workload_trace;

use crate::ingestor::Ingestor;

/// All ingestors, in the order a listing shows them.
pub static INGESTORS: &[&Ingestor] = &[
    &vllm_bench::VLLM_BENCH,
    &sglang_bench::SGLANG_BENCH,
    &aiperf_records::AIPERF_RECORDS,
    &aiperf_raw::AIPERF_RAW,
    &aiperf_summary::AIPERF_SUMMARY,
    &aiperf_summary_csv::AIPERF_SUMMARY_CSV,
    &aiperf_server_metrics_csv::AIPERF_SERVER_METRICS_CSV,
    &guidellm::GUIDELLM,
    &guidellm_csv::GUIDELLM_CSV,
    &inference_perf::INFERENCE_PERF,
    &inference_perf_summary::INFERENCE_PERF_SUMMARY,
    &inference_perf_prometheus::INFERENCE_PERF_PROMETHEUS,
    &perf_analyzer::PERF_ANALYZER,
    &genai_perf_summary::GENAI_PERF_SUMMARY,
    &lmdeploy::LMDEPLOY,
    &inference_benchmarker::INFERENCE_BENCHMARKER,
    &llama_bench::LLAMA_BENCH,
    &llama_batched_bench::LLAMA_BATCHED_BENCH,
    &inference_profiler::INFERENCE_PROFILER,
    &evalscope_perf::EVALSCOPE_PERF,
    &llmperf::LLMPERF,
    &trtllm_bench::TRTLLM_BENCH,
    &mlperf_loadgen::MLPERF_LOADGEN,
    &workload_trace::WORKLOAD_TRACE,
    &mapping::MAPPING,
    &vllm_server_log::VLLM_SERVER_LOG,
    &tgi_log::TGI_LOG,
    &prometheus_text::PROMETHEUS_TEXT,
    &prometheus_query_range::PROMETHEUS_QUERY_RANGE,
    &aiperf_server_metrics::AIPERF_SERVER_METRICS,
    &aiperf_gpu_telemetry::AIPERF_GPU_TELEMETRY,
    &inference_profiler_system::INFERENCE_PROFILER_SYSTEM,
    &nvidia_smi_csv::NVIDIA_SMI_CSV,
    &gpu_dmon::GPU_DMON,
    &llama_cpp_log::LLAMA_CPP_LOG,
    &llama_cpp_timings::LLAMA_CPP_TIMINGS,
    &ollama::OLLAMA,
    &otlp_spans::OTLP_SPANS,
    &sglang_server_log::SGLANG_SERVER_LOG,
    &sglang_request_metrics::SGLANG_REQUEST_METRICS,
    &trtllm_iteration_stats::TRTLLM_ITERATION_STATS,
];
