//! The figures beside the database: `benchmark_summary.json` and `benchmark_percentile.json`.

use super::FAMILY;
use crate::bench::reported::{Named, named};
use crate::client::distribution::{figure, stat_name};
use crate::client::layer::{Layer, Part};
use crate::client::manifest::{duration_ns, facts, of_tool, total};
use crate::client::object::Object;
use crate::error::IngestError;
use crate::json::Tree;
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{Manifest, ReportedRow, TokenSource};

/// What is the same for every run of the tool.
pub(super) fn manifest() -> Manifest {
    let mut manifest = of_tool(FAMILY, None, "by its columns and keys; the files name no version");
    manifest.output_tokens_source = TokenSource::ServerElseClient;
    manifest.prompt_tokens_source = TokenSource::ServerElseClient;
    manifest.not_recorded = facts(&[
        "error texts",
        "wall-clock times",
        "cached tokens",
        "preemptions",
        "finish reasons",
        "tokens per chunk",
        "reasoning tokens, and so the time to the first answer token",
    ]);
    manifest
}

/// What both the database and the summary can tell.
pub(super) fn totals(requests: u64, ok: u64, duration_s: f64) -> String {
    format!("{requests} requests, {ok} ok, {duration_s:.4} s")
}

pub(super) fn summary(object: &Object, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let mut manifest = manifest();
    let number = |key: &str| object.get(key).number();
    manifest.load.max_concurrency = object.get("Concurrency").count().filter(|c| *c > 0);
    manifest.load.request_rate = number("Request Rate (req/s)").filter(|rate| *rate > 0.0);
    manifest.load.unbounded = number("Request Rate (req/s)").is_some_and(|rate| rate < 0.0);
    manifest.load.num_prompts = total(object.get("Total Requests"));
    manifest.duration_ns = number("Test Duration (s)").and_then(duration_ns);
    manifest.counted.completed = total(object.get("Success Requests"));
    manifest.counted.failed = total(object.get("Failed Requests"));
    let (requests, ok) = (manifest.load.num_prompts.unwrap_or(0), manifest.counted.completed.unwrap_or(0));
    let totals = number("Test Duration (s)").map(|seconds| totals(requests, ok, seconds)).unwrap_or_default();
    let reported = object.members().iter().filter_map(|(key, value)| summary_figure(key, value)).collect();
    let part = Part { totals, reported, ..Part::of(FAMILY, Layer::Whole) };
    sink.commit_figures(FinishedRun::of_figures(manifest, part))
}

fn summary_figure(key: &str, value: &Tree) -> Option<ReportedRow> {
    let rate = |metric, unit| ("value", named(metric, unit, "last_response_to_4_decimals"), 1.0);
    let mean = |metric, unit, convention| ("mean", named(metric, unit, convention), 1.0);
    let (stat, name, scale) = match key {
        "Test Duration (s)" => rate("duration_s", "s"),
        "Success Requests" => ("value", named("requests_ok", "requests", "same"), 1.0),
        "Failed Requests" => ("value", named("requests_failed", "requests", "same"), 1.0),
        "Req Throughput (req/s)" => rate("requests_per_s", "req/s"),
        "Output Throughput (tok/s)" => rate("output_tokens_per_s", "tok/s"),
        "Total Throughput (tok/s)" => rate("total_tokens_per_s", "tok/s"),
        "Avg Latency (s)" => ("mean", named("e2e_ms", "ms", "any_chunk_to_0.1_ms"), 1e3),
        "Avg TTFT (ms)" => mean("ttft_ms", "ms", "any_chunk_to_2_decimals"),
        "Avg TPOT (ms)" => mean("tpot_ms", "ms", "any_chunk_to_2_decimals"),
        "Avg ITL (ms)" => mean("itl_ms", "ms", "any_chunk_to_2_decimals"),
        "Avg Input Tokens" => mean("prompt_tokens", "tokens", "any_chunk_to_4_decimals"),
        "Avg Output Tokens" => mean("output_tokens", "tokens", "any_chunk_to_4_decimals"),
        "Avg Decoded Tok/Iter" => mean("tokens_per_step", "tokens", "any_chunk_to_4_decimals"),
        "Spec. Accept Rate" => ("value", named("speculative_acceptance", "", "any_chunk_to_4_decimals"), 1.0),
        "Input Throughput (tok/s)" => ("value", named("", "tok/s", "never_computed"), 1.0),
        "KV Cache Hit Rate (%)" => ("value", named("", "", "estimated_by_client"), 1.0),
        _ => return None,
    };
    figure(&name, stat, key, value, scale)
}

/// One row of the percentiles: a value of every quantity.
pub(super) fn percentiles(object: &Object) -> Vec<ReportedRow> {
    let Some(stat) = object.get("Percentiles").text().and_then(stat_name) else { return Vec::new() };
    let of = |(key, value): &(String, Tree)| {
        let (name, scale) = percentile_figure(key)?;
        figure(&name, &stat, &format!("{key} {stat}"), value, scale)
    };
    object.members().iter().filter_map(of).collect()
}

fn percentile_figure(key: &str) -> Option<(Named, f64)> {
    let of = |metric, unit| Some((named(metric, unit, "any_chunk_to_4_decimals"), 1.0));
    match key {
        "Input tokens" => return of("prompt_tokens", "tokens"),
        "Output tokens" => return of("output_tokens", "tokens"),
        _ => {}
    }
    let (name, unit) = key.strip_suffix(')')?.split_once(" (")?;
    let metric = match name {
        "TTFT" => "ttft_ms",
        "ITL" => "itl_ms",
        "TPOT" => "tpot_ms",
        "Latency" => "e2e_ms",
        "Output" => return of("output_tokens_per_s_per_request", "tok/s"),
        "Total" => return of("total_tokens_per_s_per_request", "tok/s"),
        "Decode" => return of("decode_tokens_per_s_per_request", "tok/s"),
        _ => return None,
    };
    match unit {
        "s" => Some((named(metric, "ms", "any_chunk_to_0.1_ms"), 1e3)),
        _ => of(metric, "ms"),
    }
}
