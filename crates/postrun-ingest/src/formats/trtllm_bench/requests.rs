//! `trtllm-bench`: its requests (`--request_json`) and its report (`--report_json`).

use super::TRTLLM_BENCH;
use crate::client::figures::{self, Figure, figure, of_its_own};
use crate::client::manifest::{blank, duration_ns, facts, settings, total};
use crate::client::{ClientRun, Object, Record, Scale, Values, file};
use crate::error::IngestError;
use crate::input::source::Source;
use crate::json::Tree;
use crate::json::records::RecordError;
use crate::sink::RunSink;
use crate::summary::Part;
use postrun_schema::{ClockKind, IssueCode, Manifest, TokenSource};

#[derive(Default)]
struct State {
    run: Option<ClientRun>,
    object: Object,
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
            state.object.read(reader, "")?;
            if state.object.has("performance") {
                return report(&state.object, sink, place).map_err(RecordError::Fatal);
            }
            request(state, sink, place)
        },
        |state, sink, file| {
            let Some(run) = state.run else { return Ok(()) };
            let mut manifest = manifest();
            manifest.load.num_prompts = Some(run.len() as u64);
            let mean_ms = state.latency_ns as f64 / run.len().max(1) as f64 / 1e6;
            let part = part("requests", run.len() as u64, Some(mean_ms), false);
            let (writer, finished) = run.finish(manifest, ClockKind::Monotonic, file, String::new())?;
            sink.commit_part(writer, finished, Some(part))
        },
    )
}

/// Neither file names the other: the number of requests and their mean latency tell that they are of one run.
fn part(key: &str, requests: u64, mean_ms: Option<f64>, is_summary: bool) -> Part {
    let totals = mean_ms.map(|mean| format!("{requests} requests, mean latency {mean:.3} ms")).unwrap_or_default();
    Part { tool: TRTLLM_BENCH.id, key: key.to_string(), totals, is_summary }
}

fn request(state: &mut State, sink: &mut RunSink<'_>, place: &dyn Fn() -> String) -> Result<(), RecordError> {
    let State { run, object, latency_ns } = state;
    if !object.has("start_timestamp") {
        return Err(RecordError::NotARun("a record without start_timestamp".to_string()));
    }
    if run.is_none() {
        *run = Some(ClientRun::new(sink.writer().map_err(RecordError::Fatal)?));
    }
    let Some(run) = run else { return Ok(()) };
    let mut values = Values { issues: &mut run.issues, place };
    if let Some(key) = &object.duplicate_key {
        values.issue(IssueCode::DuplicateKey, key, || "the last one counts".to_string());
    }
    let mut point = |key: &str| values.point(key, object.get(key), Scale::Nanos);
    let (sent_at, first, end) = (point("start_timestamp"), point("first_token_timestamp"), point("end_timestamp"));
    let mut since = |key: &str, at: Option<i64>| {
        let ns = at?.saturating_sub(sent_at?);
        values.plausible(key, ns)
    };
    let streamed = first.is_some_and(|at| at > 0);
    let ttft_ns = since("first_token_timestamp", first.filter(|_| streamed));
    let e2e_ns = since("end_timestamp", end);
    *latency_ns = latency_ns.saturating_add(e2e_ns.unwrap_or(0));
    let output = ["output_tokens", "num_total_output_tokens", "num_output_tokens"];
    let output = output.iter().find(|key| object.has(key)).copied().unwrap_or("output_tokens");
    let mut record = Record {
        sent_at,
        ttft_ns,
        e2e_ns,
        streamed: Some(streamed),
        prompt_tokens: values.count("num_input_tokens", object.get("num_input_tokens")),
        output_tokens: values.count(output, object.get(output)),
        ..Record::default()
    };
    if let Some(id) = values.text("id", object.get("id")) {
        record.texts().request_id = Some(id);
    }
    run.push(record, place, None)?;
    Ok(())
}

fn manifest() -> Manifest {
    let mut manifest = blank("trtllm-bench", "by its keys; the requests name no version");
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

fn report(object: &Object, sink: &mut RunSink<'_>, place: &dyn Fn() -> String) -> Result<(), IngestError> {
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
    let part = part("report", manifest.load.num_prompts.unwrap_or(0), mean_ms, true);
    let mut run = ClientRun::new(sink.writer()?);
    let tree = Tree::Map(object.members().to_vec());
    run.reported(figures::rows(&tree, &name).into_iter().map(|mut row| {
        if MEANS.iter().any(|key| row.key.ends_with(key)) {
            row.stat = "mean".to_string();
        }
        row
    }));
    let (writer, finished) = run.finish(manifest, ClockKind::None, &place(), String::new())?;
    sink.commit_part(writer, finished, Some(part))
}

/// Keys that are means without saying so in their last word.
const MEANS: &[&str] = &["avg_request_latency_ms", "avg_ttft_ms", "avg_tpot_ms"];

fn name(path: &str, stat: &str) -> Option<Figure> {
    let ranked = if stat.starts_with('p') { "rank_down" } else { "same" };
    Some(match path {
        "performance.total_latency_ms" => Figure { factor: 1e-3, ..figure("duration_s", "s", "client_stopwatch") },
        "performance.avg_request_latency_ms" => figure("e2e_ms", "ms", "same"),
        "performance.request_latency_percentiles_ms" if stat != "mean" => figure("e2e_ms", "ms", ranked),
        "performance.request_throughput_req_s" => figure("requests_per_s", "req/s", "same"),
        "performance.system_output_throughput_tok_s" => figure("output_tokens_per_s", "tok/s", "same"),
        "performance.system_total_throughput_tok_s" => figure("total_tokens_per_s", "tok/s", "same"),
        "streaming_metrics.avg_ttft_ms" => figure("ttft_ms", "ms", "same"),
        "streaming_metrics.avg_tpot_ms" => figure("tpot_ms", "ms", "same"),
        "streaming_metrics.ttft_percentiles" if stat != "mean" => figure("ttft_ms", "ms", ranked),
        "streaming_metrics.tpot_percentiles" if stat != "mean" => figure("tpot_ms", "ms", ranked),
        "performance.output_throughput_per_user_tok_s"
        | "performance.output_throughput_per_gpu_tok_s"
        | "streaming_metrics.token_output_speed_tok_s"
        | "streaming_metrics.gen_tps_percentiles" => of_its_own(path, "tok/s"),
        _ => return None,
    })
}
