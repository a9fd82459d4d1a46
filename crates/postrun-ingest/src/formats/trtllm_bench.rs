//! TensorRT-LLM's clients: `benchmark_serving.py` results, and the request and report files of `trtllm-bench`.
//!
//! # Which files
//! - The JSON of `benchmark_serving.py --save-result`, with arrays where `--save-detailed` was given: recognised by
//!   `user_throughput` or `avg_decoded_tokens_per_iter`, which its relative of vLLM does not write.
//! - `trtllm-bench --request_json`: an array of requests with `start_timestamp`, `end_timestamp` and `decode_iteration`.
//! - `trtllm-bench --report_json` (`engine`, `world_info`, `performance`): a summary. It gives way to the request file of
//!   the same number of requests and the same mean latency, wherever that lies.
//!
//! `<name>.pytorch.json`, `--output_json` (texts only) and dumps of `/perf_metrics` are not read.
//!
//! # Versions seen
//! None as a file: read after the sources (benchmark_serving.py 0228a71, reporting.py 0249976, statistics.py 3856265 and
//! 77d7fe1). `num_output_tokens` is the older name of `num_total_output_tokens`.
//!
//! # How the figures are read
//! - Serving: arrays in seconds; e2e is first token plus gaps, `e2els` beyond that is the end of the stream. A role-only
//!   opening chunk of chat counts as first token there and is shifted here where every stream has one.
//! - Requests: nanoseconds of a monotonic clock; the send is behind the client's own limit. A first token at -1 means that
//!   the run did not stream. `output_tokens` counts all beams. Rates per request are tokens per nanosecond and not taken.
//! - Percentiles of the report are element floor(n·p). Its `issue_rate` is no rate in any unit and not taken.
//!
//! # What is not recorded
//! Wall-clock times; serving: also send times and request ids; requests: gaps between tokens (one mean each), errors (a
//! failed request ends the run), the warm-up. Cached tokens, preemptions and finish reasons nowhere.

mod requests;
mod serving;

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::sink::RunSink;
use postrun_schema::Doc;

pub(super) static TRTLLM_BENCH: Ingestor = Ingestor {
    id: "trtllm_bench",
    title: "TensorRT-LLM benchmark_serving and trtllm-bench",
    doc: Doc::from_source(include_str!("trtllm_bench.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

/// Keys of a serving result that vLLM's client does not write.
pub(super) const SERVING_KEYS: &[&str] = &["user_throughput", "avg_decoded_tokens_per_iter"];
const REQUEST_KEYS: &[&str] = &["start_timestamp", "end_timestamp", "decode_iteration"];
const REPORT_KEYS: &[&str] = &["engine", "world_info", "performance"];

fn sniff(head: &Head) -> Sniff {
    let serving = head.has_any(SERVING_KEYS) && head.has_all(&["total_input_tokens"]);
    match serving || head.has_all(REQUEST_KEYS) || head.has_all(REPORT_KEYS) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let head = Head::new(&source.base_name, &source.head);
    match head.has_any(&["start_timestamp", "engine", "performance"]) {
        true => requests::ingest(source, sink),
        false => serving::ingest(source, sink),
    }
}

#[cfg(test)]
mod tests;
