//! Results of `benchmark_serving.py`: index-aligned arrays, as those of the vLLM client it stems from.

use super::{SERVING_KEYS, TRTLLM_BENCH};
use crate::bench::arrays::{ArrayRun, Shape};
use crate::bench::facts;
use crate::bench::file;
use crate::bench::reported::{self, Named, named};
use crate::bench::rows::{self, RowPolicy};
use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::Scalar;
use crate::json::records::RecordError;
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{ReportedRow, TokenSource, Tool};
use std::collections::BTreeMap;

static SHAPE: Shape = Shape {
    durations: &["ttfts", "e2els"],
    points: &[],
    counts: &["input_lens", "output_lens"],
    // Whether a chat stream opens with a role-only chunk is known only at the end.
    stream_gaps: |scalars| scalars.contains_key("backend") && !is_chat(scalars),
};

fn is_chat(scalars: &BTreeMap<String, Scalar>) -> bool {
    facts::text(scalars, "backend").unwrap_or_default().contains("chat")
}

pub(super) fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    file::ingest(source, sink, TRTLLM_BENCH.id, &SHAPE, |mut run, file, writer| {
        let ours = SERVING_KEYS.iter().any(|key| run.scalars.contains_key(*key));
        if run.scalars.contains_key("burstiness") && !ours {
            return Err(RecordError::NotARun("a record of vllm bench serve (format vllm_bench)".to_string()));
        }
        if let Some(ends) = run.columns.times.remove("e2els") {
            run.columns.times.insert("latencies", ends);
        }
        let policy = RowPolicy {
            role_chunk_possible: is_chat(&run.scalars) && run.columns.spool.is_some(),
            gaps_are_per_token: false,
            output_is_requested: false,
            completed: facts::count(&run.scalars, "completed"),
        };
        let totals = rows::write_rows(&mut run, file, &policy, writer)?;
        figures(&run).into_iter().for_each(|figure| writer.push_reported(figure));
        Ok(finished(run, totals.requests))
    })
}

fn finished(run: ArrayRun, requests: u64) -> FinishedRun {
    let mut manifest = facts::manifest(&run);
    manifest.tool = Tool {
        name: "TensorRT-LLM benchmark_serving".to_string(),
        version: None,
        how_known: "by its keys; the file names no version".to_string(),
    };
    manifest.model = facts::text(&run.scalars, "model_id");
    manifest.output_tokens_source = TokenSource::ServerElseClient;
    manifest.prompt_tokens_source = TokenSource::ClientTokenizer;
    manifest.not_recorded = facts::absent_arrays(&run, &["input_lens", "output_lens", "ttfts", "itls"]);
    let always = ["send times", "request ids", "cached tokens", "preemptions", "finish reasons", "tokens per chunk"];
    manifest.not_recorded.extend(always.map(String::from));
    let fingerprint = facts::fingerprint(&run);
    FinishedRun {
        label: None,
        shape: facts::load_shape(&manifest.load, None),
        manifest,
        issues: run.issues,
        requests,
        fingerprint,
        part: None,
    }
}

fn figures(run: &ArrayRun) -> Vec<ReportedRow> {
    let latency = |stem: &str| -> Option<Named> {
        Some(match stem {
            "ttft" => named("ttft_ms", "ms", "first_chunk"),
            "tpot" => named("tpot_ms", "ms", "latency_per_later_token"),
            "itl" => named("itl_ms", "ms", "chunk_gaps"),
            "e2el" => named("e2e_ms", "ms", "recorded_latency"),
            _ => return None,
        })
    };
    let per_user = named("output_tokens_per_s_per_request", "tok/s", "recorded_latency");
    reported::rows(&run.scalars, latency, figure, |key, value| {
        (key == "user_throughput").then(|| reported::row(key, "mean", value, &per_user)).flatten()
    })
}

fn figure(key: &str) -> Option<Named> {
    Some(match key {
        "duration" => named("duration_s", "s", "client_stopwatch"),
        "completed" => named("requests_ok", "requests", "same"),
        "total_input_tokens" => named("prompt_tokens", "tokens", "same"),
        "total_output_tokens" => named("output_tokens", "tokens", "same"),
        "request_throughput" => named("requests_per_s", "req/s", "same"),
        "output_throughput" => named("output_tokens_per_s", "tok/s", "same"),
        "total_token_throughput" => named("total_tokens_per_s", "tok/s", "same"),
        "request_goodput:" | "request_goodput" => named("goodput_requests_per_s", "req/s", "thresholds_not_stored"),
        _ => return None,
    })
}
