//! inference-profiler: one line a request in `metrics.jsonl`, and the tool's own figures in `summary.json`.
//!
//! # Which files
//! `metrics.jsonl` of an output folder (recognised by `sent_at`, `first_token_at` and `inter_token_latencies`) and
//! `summary.json` (`profiler_version` beside `stages`). Both hold every stage of a sweep: each becomes a run, named after
//! its concurrency. The summary of a stage whose requests were read gives way to them and lends its figures, model and
//! duration. `timeline.json`, `config.json` and `system.jsonl` repeat this or are of the client's machine: not read.
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

use crate::client::figures::{self, Figure, figure, in_seconds, of_its_own};
use crate::client::manifest::{blank, duration_ns, facts, settings, total};
use crate::client::{ClientRun, Object, Record, Scale, Values, file};
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::Tree;
use crate::json::records::RecordError;
use crate::sink::RunSink;
use crate::summary::Part;
use postrun_schema::{ClockKind, Doc, IssueCode, Manifest, Status, TokenSource};
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
const GAPS: &str = "inter_token_latencies";
/// Stages open at once; a file with more is none of this tool's.
const MOST_STAGES: usize = 64;

fn sniff(head: &Head) -> Sniff {
    match head.has_all(RECORD_KEYS) || head.has_all(SUMMARY_KEYS) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

/// Stage and concurrency.
type Stage = (u32, Option<u32>);

#[derive(Default)]
struct Stages {
    runs: BTreeMap<Stage, ClientRun>,
    object: Object,
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    file::read(
        source,
        sink,
        INFERENCE_PROFILER.id,
        Stages::default(),
        |stages, reader, sink, place| {
            stages.object.read(reader, GAPS)?;
            if stages.object.has("stages") {
                return summary(&stages.object, sink, place).map_err(RecordError::Fatal);
            }
            request(stages, sink, place)
        },
        |stages, sink, file| {
            for ((stage, concurrency), run) in stages.runs {
                let mut manifest = manifest(concurrency);
                manifest.load.num_prompts = Some(run.len() as u64);
                let part = part(stage, run.totals.ok, run.totals.prompt_tokens, run.totals.output_tokens, false);
                let (writer, finished) = run.finish(manifest, ClockKind::Monotonic, file, shape(stage, concurrency))?;
                sink.commit_part(writer, finished, Some(part))?;
            }
            Ok(())
        },
    )
}

fn request(stages: &mut Stages, sink: &mut RunSink<'_>, place: &dyn Fn() -> String) -> Result<(), RecordError> {
    let Stages { runs, object } = stages;
    if !object.has("sent_at") {
        return Err(RecordError::NotARun("a record without sent_at".to_string()));
    }
    let stage = (object.get("stage").count().unwrap_or(0), object.get("concurrency").count());
    if !runs.contains_key(&stage) {
        if runs.len() >= MOST_STAGES {
            return Err(RecordError::NotARun(format!("more than {MOST_STAGES} stages in one file")));
        }
        runs.insert(stage, ClientRun::new(sink.writer().map_err(RecordError::Fatal)?));
    }
    let Some(run) = runs.get_mut(&stage) else { return Ok(()) };
    let mut values = Values { issues: &mut run.issues, place };
    let (record, at_ns) = record(object, &mut values, stage.0);
    run.push(record, place, at_ns.as_deref())?;
    Ok(())
}

/// The request, and when its chunks came.
fn record(object: &Object, values: &mut Values<'_>, stage: u32) -> (Record, Option<Vec<i64>>) {
    if let Some(key) = &object.duplicate_key {
        values.issue(IssueCode::DuplicateKey, key, || "the last one counts".to_string());
    }
    let mut record = Record {
        stage: Some(stage),
        prompt_tokens: values.count("prompt_tokens", object.get("prompt_tokens")),
        output_tokens: values.count("output_tokens", object.get("output_tokens")),
        scheduled_at: values.point("scheduled_at", object.get("scheduled_at"), Scale::Seconds),
        sent_at: values.point("sent_at", object.get("sent_at"), Scale::Seconds),
        ttft_ns: values.duration("ttft", object.get("ttft"), Scale::Seconds).filter(|ns| *ns > 0),
        e2e_ns: values.duration("e2e_latency", object.get("e2e_latency"), Scale::Seconds),
        ..Record::default()
    };
    if *object.get("success") == Tree::Bool(false) {
        record.fail(values.text("error", object.get("error")));
    }
    if object.bad_gaps {
        values.issue(IssueCode::WrongType, GAPS, || "something that cannot be a gap; left out".to_string());
        return (record, None);
    }
    let Some(ttft) = record.ttft_ns else {
        if !object.gaps.is_empty() && record.status == Status::Ok {
            values.issue(IssueCode::GapsWithoutFirstToken, GAPS, || format!("{} gaps", object.gaps.len()));
        }
        return (record, None);
    };
    let mut at = ttft;
    let later = object.gaps.iter().map(|gap| {
        at = at.saturating_add(*gap);
        at
    });
    let at_ns: Vec<i64> = std::iter::once(ttft).chain(later).collect();
    record.stream_end_ns = record.e2e_ns;
    record.e2e_ns = at_ns.last().copied();
    (record, Some(at_ns))
}

fn manifest(concurrency: Option<u32>) -> Manifest {
    let mut manifest = blank("inference-profiler", "by its keys; the records name no version");
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

fn part(stage: u32, ok: u64, prompt: u64, output: u64, is_summary: bool) -> Part {
    let totals = format!("stage {stage}: {ok} ok, {prompt} prompt, {output} output tokens");
    Part { tool: INFERENCE_PROFILER.id, key: stage.to_string(), totals, is_summary }
}

/// Every stage of a summary.
fn summary(object: &Object, sink: &mut RunSink<'_>, place: &dyn Fn() -> String) -> Result<(), IngestError> {
    for stage in object.get("stages").elements() {
        let number = stage.get("stage").count().unwrap_or(0);
        let concurrency = stage.get("concurrency").count();
        let mut manifest = manifest(concurrency);
        let (tokens, requests) = (stage.get("tokens"), stage.get("requests"));
        manifest.model = object.get("model").text().map(String::from);
        manifest.tool.version = object.get("profiler_version").text().map(String::from);
        manifest.tool.how_known = "the summary names it".to_string();
        manifest.load.date = object.get("started_at").text().map(String::from);
        manifest.load.unbounded = object.get("arrival_mode").text() == Some("closed");
        manifest.load.num_prompts = total(requests.get("total"));
        settings(&mut manifest.load, object.members(), &["model", "profiler_version", "started_at"]);
        manifest.duration_ns = stage.get("duration_s").number().and_then(duration_ns);
        manifest.counted.completed = total(requests.get("succeeded"));
        manifest.counted.failed = total(requests.get("failed"));
        manifest.counted.prompt_tokens = total(tokens.get("prompt_total"));
        manifest.counted.output_tokens = total(tokens.get("output_total"));
        let counted = manifest.counted.clone();
        let count = |n: Option<u64>| n.unwrap_or(0);
        let (ok, prompt, output) =
            (count(counted.completed), count(counted.prompt_tokens), count(counted.output_tokens));
        let mut run = ClientRun::new(sink.writer()?);
        run.reported(figures::rows(stage, &name));
        let (writer, finished) = run.finish(manifest, ClockKind::None, &place(), shape(number, concurrency))?;
        sink.commit_part(writer, finished, Some(part(number, ok, prompt, output, true)))?;
    }
    Ok(())
}

fn name(path: &str, _stat: &str) -> Option<Figure> {
    Some(match path {
        "latency.ttft_s" => in_seconds("ttft_ms", "first_chunk"),
        "latency.inter_token_s" => in_seconds("itl_ms", "chunk_gaps"),
        "latency.e2e_s" => in_seconds("e2e_ms", "recorded_latency"),
        "duration_s" => figure("duration_s", "s", "client_stopwatch"),
        "requests.succeeded" => figure("requests_ok", "requests", "same"),
        "requests.failed" => figure("requests_failed", "requests", "same"),
        "requests.error_rate" => figure("failure_rate", "", "same"),
        "throughput.requests_per_s" => figure("requests_per_s", "req/s", "same"),
        "throughput.output_tokens_per_s" => figure("output_tokens_per_s", "tok/s", "same"),
        "throughput.total_tokens_per_s" => figure("total_tokens_per_s", "tok/s", "same"),
        "tokens.prompt_total" => figure("prompt_tokens", "tokens", "same"),
        "tokens.output_total" => figure("output_tokens", "tokens", "same"),
        _ if path.starts_with("tokens.") => of_its_own(path, "tokens"),
        _ if path.starts_with("estimates.") => figure(path, "", "guessed_by_client"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
