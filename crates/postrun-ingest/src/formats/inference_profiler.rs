//! inference-profiler: one line a request in `metrics.jsonl`, and the tool's own figures in `summary.json`.
//!
//! # Which files
//! `metrics.jsonl` of an output folder (recognised by `sent_at`, `first_token_at` and `inter_token_latencies`) and
//! `summary.json` (`profiler_version` beside `stages`). Both hold every stage of a sweep: each becomes a run, named after
//! its concurrency. The summary of a stage whose requests were read gives way to them and lends its figures, model and
//! duration. `timeline.json` and `config.json` repeat this and are not read; `system.jsonl` is of the client's machine
//! (inference_profiler_system). `findings.json` holds what the tool concluded from these figures by rules of its own: no
//! recording, so it is named as that and left alone.
//!
//! # Versions seen
//! 0.1.0.
//!
//! # How the figures are read
//! - Times are seconds of a monotonic clock; `scheduled_at` is when a request could have been sent. In a closed loop that is
//!   the start of the stage, so the wait behind it is the client's own limit.
//! - `inter_token_latencies` are gaps between chunks. e2e is first token plus gaps; `e2e_latency` runs on to the end of the
//!   stream and becomes that.
//! - Percentiles of the summary are linear, rates are over its own `duration_s`, failed requests are in none of them.
//!
//! # What is not recorded
//! Wall-clock times (only the second at which the summary's run started), request ids, cached tokens, preemptions, finish
//! reasons, tokens per chunk. Warm-up requests are not in the file.

use crate::bench::reported::{Named, named};
use crate::client::distribution::{figure, figures};
use crate::client::file;
use crate::client::layer::{Layer, Part};
use crate::client::manifest::{clock, duration_ns, facts, of_tool, settings, total};
use crate::client::object::Object;
use crate::client::run_rows::{ChunkTimes, RunRows, Totals};
use crate::client::value::{self, Judge};
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::Tree;
use crate::json::records::RecordError;
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{ClockKind, Doc, IssueCode, Manifest, ReportedRow, RequestRow, Status, TokenSource};
use std::collections::BTreeMap;

pub(super) static INFERENCE_PROFILER: Ingestor = Ingestor {
    id: "inference_profiler",
    title: "inference-profiler metrics and summary",
    doc: Doc::from_source(include_str!("inference_profiler.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

const RECORD_KEYS: &[&str] = &["sent_at", "first_token_at", "inter_token_latencies"];
const SUMMARY_KEYS: &[&str] = &["profiler_version", "stages"];
/// The name under which requests and summaries find each other.
const FAMILY: &str = "inference-profiler";
const GAPS: &str = "inter_token_latencies";
/// Stages open at once; a file with more is none of this tool's.
const MOST_STAGES: usize = 64;

fn sniff(head: &Head) -> Sniff {
    match head.has_all(RECORD_KEYS) || head.has_all(SUMMARY_KEYS) || holds_findings(head) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

/// A list of conclusions, which is empty where the tool drew none.
fn holds_findings(head: &Head) -> bool {
    let empty = head.name == "findings.json" && head.bytes.trim_ascii() == b"[]";
    empty || head.has_all(&["severity", "title", "detail", "evidence"])
}

/// Stage and concurrency.
type Stage = (u32, Option<u32>);

type Stages = BTreeMap<Stage, RunRows>;

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    if holds_findings(&Head::new(&source.base_name, &source.head)) {
        let problem = "what the client concluded by its own rules, and no recording".to_string();
        return Err(IngestError::NothingUsable { file: source.name.clone(), format: INFERENCE_PROFILER.id, problem });
    }
    file::read(
        source,
        sink,
        INFERENCE_PROFILER.id,
        Stages::new(),
        |stages, reader, sink, place| {
            let object = Object::read(reader, Some(GAPS))?;
            if object.has("stages") {
                return summary(&object, sink).map_err(RecordError::Fatal);
            }
            request(&object, stages, sink, place)
        },
        |stages, sink, file| {
            for ((stage, concurrency), rows) in stages {
                let mut manifest = manifest(concurrency);
                manifest.load.num_prompts = Some(rows.len());
                let part = part(Layer::Requests, stage, &rows.totals, Vec::new());
                let shape = shape(stage, concurrency);
                let written = rows.finish(file, &format!("{FAMILY} {shape}"))?;
                manifest.clocks.client = clock(ClockKind::Monotonic, written.origin_ns);
                written.commit(sink, manifest, shape, Some(part))?;
            }
            Ok(())
        },
    )
}

fn request(
    object: &Object,
    stages: &mut Stages,
    sink: &mut RunSink<'_>,
    place: &dyn Fn() -> String,
) -> Result<(), RecordError> {
    if !object.has("sent_at") {
        return Err(RecordError::NotARun("a record without sent_at".to_string()));
    }
    let stage = (object.get("stage").count().unwrap_or(0), object.get("concurrency").count());
    if !stages.contains_key(&stage) {
        if stages.len() >= MOST_STAGES {
            return Err(RecordError::NotARun(format!("more than {MOST_STAGES} stages in one file")));
        }
        stages.insert(stage, RunRows::create(sink).map_err(RecordError::Fatal)?);
    }
    let Some(rows) = stages.get_mut(&stage) else { return Ok(()) };
    let (row, chunks) = row(object, &mut Judge { issues: &mut rows.issues, place }, stage.0);
    rows.push(row, &chunks, place).map_err(RecordError::Fatal)
}

/// The request, and when its chunks came.
fn row(object: &Object, judge: &mut Judge<'_>, stage: u32) -> (RequestRow, ChunkTimes) {
    object.judge_keys(judge);
    let failed = *object.get("success") == Tree::Bool(false);
    let mut row = RequestRow {
        stage: Some(stage),
        status: if failed { Status::Error } else { Status::Ok },
        error: value::text(object.get("error")).filter(|_| failed),
        prompt_tokens: judge.count("prompt_tokens", object.get("prompt_tokens")),
        output_tokens: judge.count("output_tokens", object.get("output_tokens")),
        scheduled_send_ns: judge.point("scheduled_at", object.get("scheduled_at")),
        sent_ns: judge.point("sent_at", object.get("sent_at")),
        ttft_ns: judge.duration("ttft", object.get("ttft"), 1).filter(|ns| *ns > 0),
        e2e_ns: judge.duration("e2e_latency", object.get("e2e_latency"), 1),
        ..RequestRow::default()
    };
    let gaps = object.gaps.as_deref().unwrap_or_default();
    let Some(ttft) = row.ttft_ns else {
        if !gaps.is_empty() && !failed {
            judge.bad(IssueCode::GapsWithoutFirstToken, GAPS, format!("{} gaps", gaps.len()));
        }
        return (row, ChunkTimes::default());
    };
    let Some(chunks) = ChunkTimes::after(ttft, gaps, 1, GAPS, judge) else { return (row, ChunkTimes::default()) };
    row.stream_end_ns = row.e2e_ns;
    row.e2e_ns = chunks.at_ns.last().copied();
    (row, chunks)
}

fn manifest(concurrency: Option<u32>) -> Manifest {
    let mut manifest = of_tool("inference-profiler", None, "by its keys; the records name no version");
    manifest.load.max_concurrency = concurrency;
    manifest.output_tokens_source = TokenSource::ServerElseClient;
    manifest.prompt_tokens_source = TokenSource::ServerElseClient;
    manifest.not_recorded = facts(&[
        "wall-clock times",
        "request ids",
        "cached tokens",
        "preemptions",
        "finish reasons",
        "tokens per chunk",
        "reasoning tokens, and so the time to the first answer token",
    ]);
    manifest
}

fn shape(stage: u32, concurrency: Option<u32>) -> String {
    concurrency.map_or_else(|| format!("stage{stage}"), |c| format!("c{c}"))
}

fn part(layer: Layer, stage: u32, of: &Totals, reported: Vec<ReportedRow>) -> Part {
    let Totals { ok, prompt_tokens, output_tokens } = of;
    let totals = format!("stage {stage}: {ok} ok, {prompt_tokens} prompt, {output_tokens} output tokens");
    Part { key: stage.to_string(), totals, reported, ..Part::of(FAMILY, layer) }
}

/// Every stage of a summary.
fn summary(object: &Object, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    for stage in object.get("stages").elements() {
        let number = stage.get("stage").count().unwrap_or(0);
        let concurrency = stage.get("concurrency").count();
        let mut manifest = manifest(concurrency);
        let (tokens, requests) = (stage.get("tokens"), stage.get("requests"));
        manifest.model = object.get("model").text().map(String::from);
        manifest.tool.version = object.get("profiler_version").text().map(String::from);
        manifest.tool.how_known = "the summary names it".to_string();
        manifest.load.date = object.get("started_at").text().map(String::from);
        manifest.load.date_is_start = true;
        manifest.load.unbounded = object.get("arrival_mode").text() == Some("closed");
        manifest.load.num_prompts = total(requests.get("total"));
        settings(&mut manifest.load, object.members(), &["model", "profiler_version", "started_at"]);
        manifest.duration_ns = stage.get("duration_s").number().and_then(duration_ns);
        manifest.counted.completed = total(requests.get("succeeded"));
        manifest.counted.failed = total(requests.get("failed"));
        manifest.counted.prompt_tokens = total(tokens.get("prompt_total"));
        manifest.counted.output_tokens = total(tokens.get("output_total"));
        let count = |n: Option<u64>| n.unwrap_or(0);
        let totals = Totals {
            ok: count(manifest.counted.completed),
            prompt_tokens: count(manifest.counted.prompt_tokens),
            output_tokens: count(manifest.counted.output_tokens),
        };
        let part = part(Layer::Whole, number, &totals, reported(stage));
        let shape = shape(number, concurrency);
        sink.commit_figures(FinishedRun { shape, ..FinishedRun::of_figures(manifest, part) })?;
    }
    Ok(())
}

const LATENCIES: &[(&str, Named)] = &[
    ("latency.ttft_s", named("ttft_ms", "ms", "first_chunk")),
    ("latency.inter_token_s", named("itl_ms", "ms", "chunk_gaps")),
    ("latency.e2e_s", named("e2e_ms", "ms", "recorded_latency")),
];

/// Without a unit to turn.
const OTHERS: &[(&str, Named)] = &[(
    "tokens.per_request_decode_tokens_per_s",
    named("decode_tokens_per_s_per_request", "tok/s", "latency_per_later_token"),
)];

/// Means and extremes that stand by themselves: path, statistic, and what turns them into postrun's unit.
const STATISTICS: &[(&str, &str, Named, f64)] = &[
    ("tokens.prompt_mean", "mean", named("prompt_tokens", "tokens", "same"), 1.0),
    ("tokens.output_mean", "mean", named("output_tokens", "tokens", "same"), 1.0),
    ("tokens.output_min", "min", named("output_tokens", "tokens", "same"), 1.0),
    ("tokens.output_max", "max", named("output_tokens", "tokens", "same"), 1.0),
    ("estimates.prefill_time_estimate_s", "mean", named("estimated_prefill_ms", "ms", "lowest_ttft_by_length"), 1e3),
    ("estimates.scheduler_wait_estimate_s", "mean", named("estimated_wait_ms", "ms", "lowest_ttft_by_length"), 1e3),
    ("estimates.scheduler_wait_p99_estimate_s", "p99", named("estimated_wait_ms", "ms", "lowest_ttft_by_length"), 1e3),
    ("estimates.peak_inflight", "max", named("sampled_concurrency", "requests", "sampled_in_steps"), 1.0),
    ("estimates.batch_utilization_estimate", "value", named("sampled_concurrency_share", "", "sampled_in_steps"), 1.0),
    ("estimates.decode_time_mean_estimate_s", "mean", named("client_decode_ms", "ms", "recorded_latency"), 1e3),
];

const SINGLE: &[(&str, Named)] = &[
    ("duration_s", named("duration_s", "s", "client_stopwatch")),
    ("requests.succeeded", named("requests_ok", "requests", "same")),
    ("requests.failed", named("requests_failed", "requests", "same")),
    ("requests.error_rate", named("failure_rate", "", "same")),
    ("throughput.requests_per_s", named("requests_per_s", "req/s", "same")),
    ("throughput.output_tokens_per_s", named("output_tokens_per_s", "tok/s", "same")),
    ("throughput.total_tokens_per_s", named("total_tokens_per_s", "tok/s", "same")),
    ("tokens.prompt_total", named("prompt_tokens", "tokens", "same")),
    ("tokens.output_total", named("output_tokens", "tokens", "same")),
];

fn reported(stage: &Tree) -> Vec<ReportedRow> {
    let at = |path: &str| path.split('.').fold(stage, |tree, key| tree.get(key));
    let mut out = Vec::new();
    for (path, name) in LATENCIES {
        figures(name, path, at(path), 1e3, &mut out);
    }
    for (path, name) in OTHERS {
        figures(name, path, at(path), 1.0, &mut out);
    }
    out.extend(SINGLE.iter().filter_map(|(path, name)| figure(name, "value", path, at(path), 1.0)));
    out.extend(STATISTICS.iter().filter_map(|(path, stat, name, scale)| figure(name, stat, path, at(path), *scale)));
    let is_known = |path: &str| STATISTICS.iter().any(|(known, ..)| *known == path);
    for (key, value) in stage.get("estimates").members() {
        let path = format!("estimates.{key}");
        if !is_known(&path) {
            out.extend(figure(&named("", "", "estimated_by_client"), "value", &path, value, 1.0));
        }
    }
    out
}

#[cfg(test)]
mod tests;
