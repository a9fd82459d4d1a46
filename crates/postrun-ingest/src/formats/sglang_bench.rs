//! SGLang `bench_serving` results: JSON lines, one line a run, with or without per-request arrays.
//!
//! # Which files
//! What `python -m sglang.bench_serving --output-file` (newer: `sglang.benchmark.serving`) appends: one object a line,
//! runs of a sweep and re-runs one below the other. Per-request arrays only with `--output-details`. Recognised by
//! `random_range_ratio`, `total_output_tokens_retokenized`, or `dataset_name` beside `input_throughput`.
//!
//! # Versions seen
//! Keys of 0.4.6 to 0.5.23. The file names no client version; `server_info.version` is the server's.
//! An unbounded rate is a bare `Infinity`, which strict JSON parsers refuse.
//!
//! # How the figures are read
//! - Backend `sglang` (native `/generate`): the client divided each gap by the tokens of its chunk and repeated it. The
//!   list then has one entry a token; a stall is spread out, P99 ITL understated, and the number of chunks lost. Other
//!   backends: one gap a chunk.
//! - The client's e2e (and so its TPOT) ends with the last line of the stream, usage or `[DONE]` included. The file
//!   holds only chunk times, so postrun's e2e, first token plus gaps, is a little shorter. The parity list says so.
//! - 0.5.23 stores the server's prompt lengths but totals its own tokenizer's: `total_input_tokens` and the rates made
//!   from it can differ from the stored lengths by some percent.
//! - There is no count of failures: `errors` decides, or neither output nor first token.
//! - Backend `trt` stores the requested output length: TPOT and token rates are withheld.
//!
//! # What is not recorded
//! Send times and so concurrency over time, arrival rate and any join with server files; latencies per request; request
//! ids; the model unless `server_info` has it. Without `--output-details` there are no requests at all.

use crate::bench::arrays::{ArrayRun, Shape};
use crate::bench::facts;
use crate::bench::file;
use crate::bench::reported::{self, Named, named};
use crate::bench::rows::{self, RowPolicy};
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::RecordError;
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{Doc, IssueCode, ReportedRow, TokenSource, Tool};

pub(super) static SGLANG_BENCH: Ingestor = Ingestor {
    id: "sglang_bench",
    title: "SGLang bench_serving result",
    doc: Doc::from_source(include_str!("sglang_bench.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

fn sniff(head: &Head) -> Sniff {
    if head.has_any(&["random_range_ratio", "total_output_tokens_retokenized"])
        || head.has_all(&["dataset_name", "input_throughput"])
    {
        Sniff::Strong
    } else if head.has_any(&["ttfts", "itls"]) && !head.has_any(&["burstiness", "endpoint_type"]) {
        Sniff::Weak
    } else {
        Sniff::No
    }
}

static SHAPE: Shape = Shape {
    durations: &["ttfts"],
    points: &[],
    counts: &["input_lens", "output_lens", "cached_tokens"],
    // The native backend needs the output lengths to know what the first chunk carried.
    stream_gaps: |scalars| facts::text(scalars, "backend").is_some_and(|b| b != NATIVE),
};

const NATIVE: &str = "sglang";

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    file::ingest(source, sink, SGLANG_BENCH.id, &SHAPE, |mut run, file, writer| {
        let ours =
            ["random_range_ratio", "total_output_tokens_retokenized"].iter().any(|k| run.scalars.contains_key(*k));
        if run.scalars.contains_key("burstiness") && !ours {
            return Err(RecordError::NotARun("a record of vllm bench serve (format vllm_bench)".to_string()));
        }
        let backend = facts::text(&run.scalars, "backend").unwrap_or_default();
        let policy = RowPolicy {
            role_chunk_possible: false,
            gaps_are_per_token: backend == NATIVE && run.columns.has_gaps,
            output_is_requested: backend == "trt",
            completed: facts::count(&run.scalars, "completed"),
        };
        let totals = rows::write_rows(&mut run, file, &policy, writer)?;
        if policy.output_is_requested {
            run.issues.add_many(
                IssueCode::OutputTokensRequested,
                totals.requests,
                || file.to_string(),
                || "backend trt stores the requested length".to_string(),
            );
        }
        reported(&run).into_iter().for_each(|figure| writer.push_reported(figure));
        Ok(finished(run, totals.requests, &policy))
    })
}

fn finished(run: ArrayRun, requests: u64, policy: &RowPolicy) -> FinishedRun {
    let mut manifest = facts::manifest(&run);
    manifest.tool = Tool {
        name: "sglang bench_serving".to_string(),
        version: None,
        how_known: "by its keys; the file names no client version".to_string(),
    };
    manifest.model = facts::text(&run.scalars, "server_info.model_path")
        .or_else(|| facts::text(&run.scalars, "server_info.served_model_name"));
    if let Some(version) = facts::text(&run.scalars, "server_info.version") {
        manifest.server.insert("name".to_string(), "SGLang".to_string());
        manifest.server.insert("version".to_string(), version);
    }
    manifest.output_tokens_source = match policy.output_is_requested {
        true => TokenSource::Requested,
        false => TokenSource::Server,
    };
    manifest.prompt_tokens_source = TokenSource::ServerElseClient;
    manifest.not_recorded = facts::absent_arrays(&run, &["input_lens", "output_lens", "ttfts", "itls"]);
    let always = ["send times", "latencies per request", "request ids", "preemptions", "finish reasons"];
    manifest.not_recorded.extend(always.map(String::from));
    manifest.not_recorded.push("reasoning tokens, and so the time to the first answer token".to_string());
    let fingerprint = facts::fingerprint(&run);
    FinishedRun {
        label: facts::text(&run.scalars, "tag").filter(|t| !t.is_empty()),
        shape: facts::load_shape(&manifest.load, None),
        manifest,
        issues: run.issues,
        requests,
        fingerprint,
        part: None,
    }
}

fn reported(run: &ArrayRun) -> Vec<ReportedRow> {
    reported::rows(&run.scalars, latency_metric, figure, |_, _| None)
}

fn latency_metric(stem: &str) -> Option<Named> {
    Some(match stem {
        "ttft" => named("ttft_ms", "ms", "first_chunk"),
        "tpot" => named("tpot_ms", "ms", "to_stream_end"),
        "itl" => named("itl_ms", "ms", "chunk_gaps_or_retokenized"),
        "e2e_latency" => named("e2e_ms", "ms", "to_stream_end"),
        _ => return None,
    })
}

fn figure(key: &str) -> Option<Named> {
    Some(match key {
        "duration" => named("duration_s", "s", "client_stopwatch"),
        "completed" => named("requests_ok", "requests", "same"),
        "total_input_tokens" => named("prompt_tokens", "tokens", "client_tokenizer_prompts"),
        "total_output_tokens" => named("output_tokens", "tokens", "same"),
        "total_output_tokens_retokenized" => named("output_tokens_retokenized", "tokens", "text_not_kept"),
        "total_input_text_tokens" => named("prompt_text_tokens", "tokens", "only_as_total"),
        "total_input_vision_tokens" => named("prompt_vision_tokens", "tokens", "only_as_total"),
        "request_throughput" => named("requests_per_s", "req/s", "same"),
        "input_throughput" => named("prompt_tokens_per_s", "tok/s", "client_tokenizer_prompts"),
        "output_throughput" => named("output_tokens_per_s", "tok/s", "same"),
        "total_throughput" => named("total_tokens_per_s", "tok/s", "client_tokenizer_prompts"),
        "concurrency" => named("mean_concurrency", "requests", "to_stream_end"),
        "max_output_tokens_per_s" => named("peak_chunks_per_s", "chunks/s", "first_chunks_in_1s"),
        "max_concurrent_requests" => named("peak_requests_in_1s", "requests", "in_1s_or_at_once"),
        "accept_length" => named("accept_length", "tokens", "only_as_total"),
        _ => return None,
    })
}
