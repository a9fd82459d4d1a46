//! The figures beside the database: `benchmark_summary.json` and `benchmark_percentile.json`.

use super::part;
use crate::client::figures::{Figure, figure, of_its_own, row, statistic};
use crate::client::manifest::{blank, duration_ns, facts, total};
use crate::client::{ClientRun, Object};
use crate::error::IngestError;
use crate::sink::RunSink;
use postrun_schema::{ClockKind, Manifest, ReportedRow, TokenSource};

/// What is the same for every run of the tool.
pub(super) fn manifest() -> Manifest {
    let mut manifest = blank("evalscope perf", "by its columns and keys; the files name no version");
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

pub(super) fn summary(
    object: &Object,
    mut run: ClientRun,
    sink: &mut RunSink<'_>,
    place: &str,
) -> Result<(), IngestError> {
    let mut manifest = manifest();
    let number = |key: &str| object.get(key).number();
    manifest.load.max_concurrency = object.get("Concurrency").count().filter(|c| *c > 0);
    manifest.load.request_rate = number("Request Rate (req/s)").filter(|rate| *rate > 0.0);
    manifest.load.unbounded = number("Request Rate (req/s)").is_some_and(|rate| rate < 0.0);
    manifest.load.num_prompts = total(object.get("Total Requests"));
    manifest.duration_ns = number("Test Duration (s)").and_then(duration_ns);
    manifest.counted.completed = total(object.get("Success Requests"));
    manifest.counted.failed = total(object.get("Failed Requests"));
    run.reported(object.members().iter().filter_map(|(key, value)| {
        let (stat, figure) = summary_figure(key)?;
        row(key, stat, value, figure)
    }));
    let (requests, ok) = (manifest.load.num_prompts.unwrap_or(0), manifest.counted.completed.unwrap_or(0));
    let totals = number("Test Duration (s)").map(|seconds| totals(requests, ok, seconds));
    commit(run, manifest, totals.unwrap_or_default(), sink, place)
}

/// Hands over a run of figures.
pub(super) fn commit(
    run: ClientRun,
    manifest: Manifest,
    totals: String,
    sink: &mut RunSink<'_>,
    file: &str,
) -> Result<(), IngestError> {
    let (writer, finished) = run.finish(manifest, ClockKind::None, file, String::new())?;
    sink.commit_part(writer, finished, Some(part(totals, true)))
}

fn summary_figure(key: &str) -> Option<(&'static str, Figure)> {
    let times = |factor: f64, figure: Figure| Figure { factor, ..figure };
    Some(match key {
        "Test Duration (s)" => ("value", figure("duration_s", "s", "client_stopwatch")),
        "Success Requests" => ("value", figure("requests_ok", "requests", "same")),
        "Failed Requests" => ("value", figure("requests_failed", "requests", "same")),
        "Req Throughput (req/s)" => ("value", figure("requests_per_s", "req/s", "rounded")),
        "Output Throughput (tok/s)" => ("value", figure("output_tokens_per_s", "tok/s", "rounded")),
        "Total Throughput (tok/s)" => ("value", figure("total_tokens_per_s", "tok/s", "rounded")),
        "Avg Latency (s)" => ("mean", times(1e3, figure("e2e_ms", "ms", "recorded_latency"))),
        "Avg TTFT (ms)" => ("mean", figure("ttft_ms", "ms", "rounded")),
        "Avg TPOT (ms)" => ("mean", figure("tpot_ms", "ms", "latency_per_later_token")),
        "Avg ITL (ms)" => ("mean", figure("itl_ms", "ms", "rounded")),
        "Avg Decoded Tok/Iter" | "Spec. Accept Rate" | "KV Cache Hit Rate (%)" => {
            ("value", figure(key, "", "guessed_by_client"))
        }
        "Avg Input Tokens" | "Avg Output Tokens" => ("value", of_its_own(key, "tokens")),
        "Input Throughput (tok/s)" => ("value", of_its_own(key, "tok/s")),
        _ => return None,
    })
}

/// One row of the percentiles: a value of every quantity.
pub(super) fn percentiles(object: &Object) -> Vec<ReportedRow> {
    let Some(stat) = object.get("Percentiles").text().and_then(statistic) else { return Vec::new() };
    let of = |(key, value): &(String, crate::json::Tree)| {
        let figure = percentile_figure(key, &stat)?;
        row(&format!("{key} {stat}"), &stat, value, figure)
    };
    object.members().iter().filter_map(of).collect()
}

fn percentile_figure(key: &str, stat: &str) -> Option<Figure> {
    let (name, unit) = key.strip_suffix(')')?.split_once(" (")?;
    // Smallest and largest are no matter of ranks.
    let ranked = |otherwise| if stat.starts_with('p') { "nearest_rank" } else { otherwise };
    let factor = if unit == "s" { 1e3 } else { 1.0 };
    let time = |metric: &str, otherwise| Figure { factor, ..figure(metric, "ms", ranked(otherwise)) };
    Some(match name {
        "TTFT" => time("ttft_ms", "rounded"),
        "ITL" => time("itl_ms", "rounded"),
        "TPOT" => time("tpot_ms", "latency_per_later_token"),
        "Latency" => time("e2e_ms", "recorded_latency"),
        "Output" | "Total" | "Decode" => of_its_own(key, "tok/s"),
        _ => return None,
    })
}
