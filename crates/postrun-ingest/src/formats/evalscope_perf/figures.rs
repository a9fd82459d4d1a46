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
    let (stat, name, scale) = match key {
        "Test Duration (s)" => ("value", named("duration_s", "s", "last_response_to_4_decimals"), 1.0),
        "Success Requests" => ("value", named("requests_ok", "requests", "same"), 1.0),
        "Failed Requests" => ("value", named("requests_failed", "requests", "same"), 1.0),
        "Req Throughput (req/s)" => ("value", named("requests_per_s", "req/s", "rate_to_4_decimals"), 1.0),
        "Output Throughput (tok/s)" => ("value", named("output_tokens_per_s", "tok/s", "rate_to_4_decimals"), 1.0),
        "Total Throughput (tok/s)" => ("value", named("total_tokens_per_s", "tok/s", "rate_to_4_decimals"), 1.0),
        "Avg Latency (s)" => ("mean", named("e2e_ms", "ms", "recorded_latency_to_0.1_ms"), 1e3),
        "Avg TTFT (ms)" => ("mean", named("ttft_ms", "ms", "printed_to_2_decimals"), 1.0),
        "Avg TPOT (ms)" => ("mean", named("tpot_ms", "ms", "latency_per_later_token"), 1.0),
        "Avg ITL (ms)" => ("mean", named("itl_ms", "ms", "printed_to_2_decimals"), 1.0),
        "Avg Decoded Tok/Iter" | "Spec. Accept Rate" | "KV Cache Hit Rate (%)" => {
            ("value", named("", "", "guessed_by_client"), 1.0)
        }
        "Avg Input Tokens" | "Avg Output Tokens" => ("value", named("", "tokens", "not_computed_here"), 1.0),
        "Input Throughput (tok/s)" => ("value", named("", "tok/s", "not_computed_here"), 1.0),
        _ => return None,
    };
    figure(&name, stat, key, value, scale)
}

/// One row of the percentiles: a value of every quantity.
pub(super) fn percentiles(object: &Object) -> Vec<ReportedRow> {
    let Some(stat) = object.get("Percentiles").text().and_then(stat_name) else { return Vec::new() };
    let of = |(key, value): &(String, Tree)| {
        let (name, scale) = percentile_figure(key, &stat)?;
        let row = figure(&name, &stat, &format!("{key} {stat}"), value, scale)?;
        // A figure of the tool's own is told from its statistics.
        let metric = if name.metric.is_empty() { key.clone() } else { row.metric.clone() };
        Some(ReportedRow { metric, ..row })
    };
    object.members().iter().filter_map(of).collect()
}

fn percentile_figure(key: &str, stat: &str) -> Option<(Named, f64)> {
    let (name, unit) = key.strip_suffix(')')?.split_once(" (")?;
    let scale = if unit == "s" { 1e3 } else { 1.0 };
    // Smallest and largest are no matter of ranks.
    let is_ranked = stat.starts_with('p');
    let one_of = |ranked, otherwise| if is_ranked { ranked } else { otherwise };
    let rounded = match unit {
        "s" => "values_to_0.1_ms",
        _ => one_of("values_to_4_decimals", "printed_to_4_decimals"),
    };
    let latency = one_of("recorded_latency_values", "recorded_latency_to_0.1_ms");
    Some(match name {
        "TTFT" => (named("ttft_ms", "ms", rounded), scale),
        "ITL" => (named("itl_ms", "ms", rounded), scale),
        "TPOT" => {
            let convention = one_of("latency_per_later_token_values", "latency_per_later_token");
            (named("tpot_ms", "ms", convention), scale)
        }
        "Latency" => (named("e2e_ms", "ms", latency), scale),
        "Output" | "Total" | "Decode" => (named("", "tok/s", "not_computed_here"), 1.0),
        _ => return None,
    })
}
