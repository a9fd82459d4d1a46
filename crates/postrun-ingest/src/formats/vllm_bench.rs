//! `vllm bench serve` results (and the older `benchmark_serving.py`): per-request arrays or a summary.
//!
//! # Which files
//! The JSON object of `--save-result`, with per-request arrays where `--save-detailed` was given; several objects in
//! one file (`--append-result`, with or without a line break between them); the `run=N.json` and `summary.json` files
//! of `vllm bench sweep`; files of forks that kept the keys (InferenceX, InferenceMAX). Recognised by `burstiness` or
//! `endpoint_type` beside the run's totals. Decided by the keys that are there, never by a version.
//!
//! # Versions seen
//! Keys of 0.6.6 to 0.33.0. The goodput key of 0.8.5 and older ends in a colon; `start_times` came with 0.16,
//! `latencies` and `queue_times` with 0.31, server-side queue and prefill times with 0.33. `request_rate` is the text
//! `"inf"`, a bare `Infinity`, or null when the load was unbounded.
//!
//! # How the figures are read
//! - Arrays are in seconds; one entry of `itls` is a gap between chunks, not between tokens.
//! - TTFT 0 is a timer that never fired: not measured. A request fails by its `errors` entry, or by having neither
//!   output nor first token unless the client counted it as completed.
//! - e2e is first token plus gaps. `latencies` beyond that (chat before 0.31 timed the closing usage chunk) becomes
//!   the stream's end.
//! - Chat before 0.33 took the role-only opening chunk for the first token. Where every stream has exactly one chunk
//!   more than tokens, TTFT is taken from the second chunk; the client's own TTFT then differs, and the parity list
//!   says so.
//! - `queue_times` is the wait for the client's own concurrency limit, so `scheduled send = sent − queue time`.
//!
//! # What is not recorded
//! Request ids, cached tokens, preemptions, finish reasons, wall-clock times (`start_times` is a monotonic clock;
//! `date` is the moment of saving, to the second), tokens per chunk; before 0.16 also the send times. Without
//! `--save-detailed` a file holds the client's summary only; from 0.31 on also `latencies` and `queue_times`, which
//! give e2e and client queue time.

use crate::bench::arrays::{ArrayRun, Shape};
use crate::bench::facts;
use crate::bench::file;
use crate::bench::reported::{self, Named, named, row};
use crate::bench::rows::{self, RowPolicy};
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::Scalar;
use crate::json::records::RecordError;
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{Doc, ReportedRow, TokenSource, Tool};
use std::collections::BTreeMap;

pub(super) static VLLM_BENCH: Ingestor = Ingestor {
    id: "vllm_bench",
    title: "vllm bench serve result",
    doc: Doc::from_source(include_str!("vllm_bench.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

fn sniff(head: &Head) -> Sniff {
    let ours = head.has_any(&["burstiness", "endpoint_type"]);
    let a_run = head.has_any(&["completed", "duration", "request_rate", "input_lens", "backend", "num_prompts"]);
    if ours && a_run && !head.has_any(SGLANG_KEYS) && !head.has_any(super::trtllm_bench::SERVING_KEYS) {
        Sniff::Strong
    } else if head.has_any(&["ttfts", "itls"]) && !ours {
        Sniff::Weak
    } else {
        Sniff::No
    }
}

static SHAPE: Shape = Shape {
    durations: &["ttfts", "latencies", "queue_times", "server_queue_times", "server_ttfts"],
    points: &["start_times"],
    counts: &["input_lens", "output_lens"],
    // Whether a chat stream opens with a role-only chunk is known only at the end.
    stream_gaps: |scalars| {
        !is_chat(scalars) && (scalars.contains_key("backend") || scalars.contains_key("endpoint_type"))
    },
};

/// Keys that only SGLang's client writes.
const SGLANG_KEYS: &[&str] = &["random_range_ratio", "total_output_tokens_retokenized"];

fn has_any(run: &ArrayRun, keys: &[&str]) -> bool {
    keys.iter().any(|k| run.scalars.contains_key(*k))
}

fn is_chat(scalars: &BTreeMap<String, Scalar>) -> bool {
    let text = |key| facts::text(scalars, key).unwrap_or_default();
    text("endpoint_type").contains("chat") || text("backend").contains("chat")
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    file::ingest(source, sink, VLLM_BENCH.id, &SHAPE, |mut run, file, writer| {
        if facts::number(&run.scalars, "run_number") == Some(-1.0) {
            return Err(RecordError::NotARun("a sweep's warm-up run (run_number -1)".to_string()));
        }
        if has_any(&run, SGLANG_KEYS) {
            return Err(RecordError::NotARun("a record of SGLang's bench_serving (format sglang_bench)".to_string()));
        }
        let policy = RowPolicy {
            // Gaps that were placed while streaming by can no longer be shifted by a chunk.
            role_chunk_possible: is_chat(&run.scalars) && run.columns.spool.is_some(),
            gaps_are_per_token: false,
            output_is_requested: false,
            completed: facts::count(&run.scalars, "completed"),
        };
        let totals = rows::write_rows(&mut run, file, &policy, writer)?;
        reported(&run).into_iter().for_each(|figure| writer.push_reported(figure));
        Ok(finished(run, totals.requests))
    })
}

fn finished(run: ArrayRun, requests: u64) -> FinishedRun {
    let mut manifest = facts::manifest(&run);
    manifest.tool = Tool { name: "vllm bench serve".to_string(), version: None, how_known: version_hint(&run) };
    manifest.model = facts::text(&run.scalars, "model_id");
    manifest.output_tokens_source = TokenSource::ServerElseClient;
    manifest.prompt_tokens_source = TokenSource::ServerElseClient;
    manifest.counted.failed = facts::count(&run.scalars, "failed");
    manifest.not_recorded = not_recorded(&run);
    let fingerprint = facts::fingerprint(&run);
    FinishedRun {
        label: facts::text(&run.scalars, "label").filter(|l| !l.is_empty()),
        shape: facts::load_shape(&manifest.load, facts::number(&run.scalars, "run_number")),
        manifest,
        issues: run.issues,
        requests,
        fingerprint,
        part: None,
    }
}

fn version_hint(run: &ArrayRun) -> String {
    let has = |key: &str| run.scalars.contains_key(key) || run.columns.lengths.contains_key(key);
    let fits = if has("server_queue_times") || has("server_ttfts") {
        "0.33 or newer"
    } else if has("latencies") || has("queue_times") {
        "0.31 or newer"
    } else if has("start_times") {
        "0.16 to 0.28"
    } else if has("request_goodput:") {
        "0.8.5 or older, or a fork of it"
    } else if has("max_output_tokens_per_s") {
        "0.11 or newer"
    } else if has("endpoint_type") && !has("backend") {
        "0.8.5 to 0.10"
    } else {
        "any version"
    };
    format!("the file names no version; its keys fit {fits}")
}

fn not_recorded(run: &ArrayRun) -> Vec<String> {
    let mut facts = facts::absent_arrays(run, &["input_lens", "output_lens", "ttfts", "itls", "start_times"]);
    facts.extend(
        ["request ids", "cached tokens", "preemptions", "finish reasons", "tokens per chunk", "wall-clock times"]
            .map(String::from),
    );
    facts.push("reasoning tokens, and so the time to the first answer token".to_string());
    facts
}

fn reported(run: &ArrayRun) -> Vec<ReportedRow> {
    reported::rows(&run.scalars, latency_metric, figure, |key, value| {
        let kept = ["spec_decode_", "diffusion_", "probe_"].iter().any(|p| key.starts_with(p));
        let row = row(key, "value", value, &named("", "", "not_from_requests")).filter(|_| kept)?;
        Some(ReportedRow { metric: key.to_string(), ..row })
    })
}

fn latency_metric(stem: &str) -> Option<Named> {
    Some(match stem {
        "ttft" => named("ttft_ms", "ms", "first_chunk"),
        "tpot" => named("tpot_ms", "ms", "latency_per_later_token"),
        "itl" => named("itl_ms", "ms", "chunk_gaps"),
        "e2el" => named("e2e_ms", "ms", "recorded_latency"),
        "client_queue_time" => named("client_queue_ms", "ms", "same"),
        "e2el_including_client_queue" => named("e2e_ms", "ms", "from_schedule"),
        _ => return None,
    })
}

fn figure(key: &str) -> Option<Named> {
    Some(match key {
        "duration" => named("duration_s", "s", "client_stopwatch"),
        "completed" => named("requests_ok", "requests", "same"),
        "failed" => named("requests_failed", "requests", "same"),
        "total_input_tokens" => named("prompt_tokens", "tokens", "same"),
        "total_output_tokens" => named("output_tokens", "tokens", "same"),
        "request_throughput" => named("requests_per_s", "req/s", "same"),
        "output_throughput" => named("output_tokens_per_s", "tok/s", "same"),
        "total_token_throughput" => named("total_tokens_per_s", "tok/s", "same"),
        "request_goodput" | "request_goodput:" => named("goodput_requests_per_s", "req/s", "thresholds_not_stored"),
        "max_output_tokens_per_s" => named("peak_chunks_per_s", "chunks/s", "first_chunks_in_1s"),
        "max_concurrent_requests" => named("peak_requests_in_1s", "requests", "in_1s_or_at_once"),
        "rtfx" => named("rtfx", "", "speech_only"),
        _ => return None,
    })
}
