//! `trtllm-bench`: its requests (`--request_json`) and its report (`--report_json`).

use super::TRTLLM_BENCH;
use crate::bench::reported::{Named, named};
use crate::client::distribution::{figure, figures};
use crate::client::file;
use crate::client::layer::{Layer, Part};
use crate::client::manifest::{clock, duration_ns, facts, of_tool, settings, total};
use crate::client::object::Object;
use crate::client::run_rows::{ChunkTimes, RunRows};
use crate::client::value::{self, Judge};
use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::Tree;
use crate::json::records::RecordError;
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{ClockKind, Manifest, ReportedRow, RequestRow, TokenSource};

/// The name under which requests and reports find each other.
const FAMILY: &str = "trtllm-bench";

#[derive(Default)]
struct State {
    rows: Option<RunRows>,
    /// Over all requests, for their mean.
    latency_ns: i64,
}

pub(super) fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    file::read(
        source,
        sink,
        TRTLLM_BENCH.id,
        State::default(),
        |state, reader, sink, place| {
            let object = Object::read(reader, None)?;
            if object.has("performance") {
                return report(&object, sink).map_err(RecordError::Fatal);
            }
            request(&object, state, sink, place)
        },
        |state, sink, file| {
            let Some(rows) = state.rows else { return Ok(()) };
            let mut manifest = manifest();
            manifest.load.num_prompts = Some(rows.len());
            let mean_ms = state.latency_ns as f64 / rows.len().max(1) as f64 / 1e6;
            let part = part(Layer::Requests, rows.len(), Some(mean_ms));
            let written = rows.finish(file, FAMILY)?;
            manifest.clocks.client = clock(ClockKind::Monotonic, written.origin_ns);
            written.commit(sink, manifest, String::new(), Some(part))
        },
    )
}

/// Neither file names the other: the number of requests and their mean latency tell that they are of one run.
fn part(layer: Layer, requests: u64, mean_ms: Option<f64>) -> Part {
    let totals = mean_ms.map(|mean| format!("{requests} requests, mean latency {mean:.3} ms")).unwrap_or_default();
    Part { key: format!("{layer:?}"), totals, ..Part::of(FAMILY, layer) }
}

fn request(
    object: &Object,
    state: &mut State,
    sink: &mut RunSink<'_>,
    place: &dyn Fn() -> String,
) -> Result<(), RecordError> {
    if !object.has("start_timestamp") {
        return Err(RecordError::NotARun("a record without start_timestamp".to_string()));
    }
    if state.rows.is_none() {
        state.rows = Some(RunRows::create(sink).map_err(RecordError::Fatal)?);
    }
    let Some(rows) = &mut state.rows else { return Ok(()) };
    let judge = &mut Judge { issues: &mut rows.issues, place };
    object.judge_keys(judge);
    let streamed = object.get("first_token_timestamp").integer() != Some(NOT_STREAMED);
    let first = if streamed { object.get("first_token_timestamp") } else { &Tree::Null };
    let mut point = |key: &str, value: &Tree| judge.point_ns(key, value);
    let sent_ns = point("start_timestamp", object.get("start_timestamp"));
    let first = point("first_token_timestamp", first);
    let end = point("end_timestamp", object.get("end_timestamp"));
    let mut since = |key: &str, at: Option<i64>| {
        let ns = at?.saturating_sub(sent_ns?);
        judge.plausible(key, ns)
    };
    let ttft_ns = since("first_token_timestamp", first);
    let e2e_ns = since("end_timestamp", end);
    state.latency_ns = state.latency_ns.saturating_add(e2e_ns.unwrap_or(0));
    let output = ["output_tokens", "num_total_output_tokens", "num_output_tokens"];
    let output = output.iter().find(|key| object.has(key)).copied().unwrap_or("output_tokens");
    let row = RequestRow {
        request_id: value::id(object.get("id")),
        sent_ns,
        ttft_ns,
        e2e_ns,
        streamed: Some(streamed),
        prompt_tokens: judge.count("num_input_tokens", object.get("num_input_tokens")),
        output_tokens: judge.count(output, object.get(output)),
        ..RequestRow::default()
    };
    rows.push(row, &ChunkTimes::default(), place).map_err(RecordError::Fatal)
}

/// Stands for the time of a first token where the run did not stream.
const NOT_STREAMED: i64 = -1;

fn manifest() -> Manifest {
    let mut manifest = of_tool("trtllm-bench", None, "by its keys; the requests name no version");
    manifest.output_tokens_source = TokenSource::Server;
    manifest.prompt_tokens_source = TokenSource::Server;
    manifest.not_recorded = facts(&[
        "wall-clock times",
        "chunk times per request",
        "cached tokens",
        "preemptions",
        "finish reasons",
        "reasoning tokens, and so the time to the first answer token",
    ]);
    manifest
}

fn report(object: &Object, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let (engine, world) = (object.get("engine"), object.get("world_info"));
    let (requests, performance) = (object.get("request_info"), object.get("performance"));
    let mut manifest = manifest();
    manifest.model = engine.get("model").text().map(String::from);
    manifest.tool.version = engine.get("version").text().map(String::from);
    manifest.tool.how_known = "the report names it".to_string();
    manifest.load.backend = engine.get("backend").text().map(String::from);
    manifest.load.num_prompts = total(requests.get("num_requests"));
    manifest.counted.completed = manifest.load.num_prompts;
    // Paths are private; the rate is none.
    settings(&mut manifest.load, engine.members(), &["model", "version", "backend", "model_path", "engine_dir"]);
    settings(&mut manifest.load, world.members(), &["issue_rate"]);
    manifest.duration_ns = performance.get("total_latency_ms").number().and_then(|ms| duration_ns(ms / 1e3));
    let mean_ms = performance.get("avg_request_latency_ms").number();
    let mut part = part(Layer::Whole, manifest.load.num_prompts.unwrap_or(0), mean_ms);
    part.reported = reported(object);
    sink.commit_figures(FinishedRun::of_figures(manifest, part))
}

const SINGLE: &[(&str, &str, Named, f64)] = &[
    ("performance.total_latency_ms", "value", named("duration_s", "s", "client_stopwatch"), 1e-3),
    ("performance.avg_request_latency_ms", "mean", named("e2e_ms", "ms", "same"), 1.0),
    ("performance.request_throughput_req_s", "value", named("requests_per_s", "req/s", "same"), 1.0),
    ("performance.system_output_throughput_tok_s", "value", named("output_tokens_per_s", "tok/s", "same"), 1.0),
    ("performance.system_total_throughput_tok_s", "value", named("total_tokens_per_s", "tok/s", "same"), 1.0),
    (
        "performance.output_throughput_per_user_tok_s",
        "mean",
        named("output_tokens_per_s_per_request", "tok/s", "same"),
        1.0,
    ),
    ("performance.output_throughput_per_gpu_tok_s", "value", named("", "tok/s", "devices_not_kept"), 1.0),
    ("streaming_metrics.avg_ttft_ms", "mean", named("ttft_ms", "ms", "same"), 1.0),
    ("streaming_metrics.avg_tpot_ms", "mean", named("tpot_ms", "ms", "same"), 1.0),
    (
        "streaming_metrics.token_output_speed_tok_s",
        "mean",
        named("decode_tokens_per_s_per_request", "tok/s", "same"),
        1.0,
    ),
];

const DISTRIBUTIONS: &[(&str, Named)] = &[
    ("performance.request_latency_percentiles_ms", named("e2e_ms", "ms", "floor_index")),
    ("streaming_metrics.ttft_percentiles", named("ttft_ms", "ms", "floor_index")),
    ("streaming_metrics.tpot_percentiles", named("tpot_ms", "ms", "floor_index")),
    ("streaming_metrics.gen_tps_percentiles", named("decode_tokens_per_s_per_request", "tok/s", "floor_index")),
];

fn reported(object: &Object) -> Vec<ReportedRow> {
    let at = |path: &str| {
        let (group, key) = path.split_once('.').unwrap_or((path, ""));
        object.get(group).get(key)
    };
    let single = |(path, stat, name, scale): &(&str, &str, Named, f64)| figure(name, stat, path, at(path), *scale);
    let mut out: Vec<ReportedRow> = SINGLE.iter().filter_map(single).collect();
    for (path, name) in DISTRIBUTIONS {
        let mut rows = Vec::new();
        figures(name, path, at(path), 1.0, &mut rows);
        // Their means stand above already.
        rows.retain(|row| row.stat != "mean");
        out.append(&mut rows);
    }
    out
}
