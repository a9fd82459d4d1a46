//! LLMPerf (ray-project): one record a request, and a flat summary.
//!
//! # Which files
//! `<name>_individual_responses.json`, an array of requests (recognised by `ttft_s`, `end_to_end_latency_s` and
//! `number_output_tokens`), and `<name>_summary.json` (`results_ttft_s_…`). A summary whose records lie in the same folder
//! under the same name, or whose completed requests and extreme TTFTs are the same, gives way to them. Files of
//! llmperf-bench that hold several summaries under the keys of a sweep become one run each.
//!
//! # Versions seen
//! Summary version 2023-08-31, with the records of the public leaderboard and of llmperf-bench. Forks add keys; they are kept
//! as settings.
//!
//! # How the figures are read
//! - A record with an `error_code` failed, with zeros for times. Codes that a fork gives to finished requests (-100, too
//!   few tokens) count as failed too, as the tool's own means leave them out.
//! - `inter_token_latency_s` is the time to the last chunk over output tokens, TTFT included: no gap between tokens, so
//!   there is no ITL and no chunk; it is kept as the client's own (`client_itl_ns`). TPOT is postrun's, from e2e, TTFT and tokens.
//! - The rate of a request times its latency is the count of tokens that the client divided: what it counted while streaming
//!   (`counted_events`), which in the leaderboard's records is not the output length.
//! - Token counts are made with the Llama tokenizer whatever the model is.
//! - Standard deviations divide by n − 1; percentiles are linear. The duration is completed requests over their rate.
//!
//! # What is not recorded
//! Send times, so concurrency, arrival and any join with server files; chunk times; request ids, cached tokens,
//! preemptions, finish reasons; requests that ran into the time limit of the test.

use crate::bench::reported::{Named, named};
use crate::client::distribution::{figure, stat_name};
use crate::client::file;
use crate::client::layer::{Layer, Part};
use crate::client::manifest::{duration_ns, facts, of_tool, settings, total};
use crate::client::object::Object;
use crate::client::run_rows::{ChunkTimes, RunRows};
use crate::client::value::{self, Judge};
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::Tree;
use crate::json::records::RecordError;
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{Doc, Manifest, ReportedRow, RequestRow, Status, TokenSource};

pub(super) static LLMPERF: Ingestor = Ingestor {
    id: "llmperf",
    title: "LLMPerf responses and summary",
    doc: Doc::from_source(include_str!("llmperf.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

/// The name under which records and summaries find each other.
const FAMILY: &str = "LLMPerf";
const RECORD_KEYS: &[&str] = &["ttft_s", "end_to_end_latency_s", "number_output_tokens"];
/// Summaries of a sweep stand below keys of their own, so the text is looked at instead.
const SUMMARY_KEY: &[u8] = b"\"results_ttft_s_";
/// A file with more summaries is none of this tool's.
const MOST_SUMMARIES: usize = 256;

fn sniff(head: &Head) -> Sniff {
    let is_object = !head.keys.is_empty();
    match head.has_all(RECORD_KEYS) || (is_object && memchr::memmem::find(head.bytes, SUMMARY_KEY).is_some()) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

/// Requests read so far.
#[derive(Default)]
struct State {
    rows: Option<RunRows>,
    /// Shortest and longest TTFT of the successes.
    ttft: Option<(i64, i64)>,
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let stem = stem(&source.base_name);
    file::read(
        source,
        sink,
        LLMPERF.id,
        State::default(),
        |state, reader, sink, place| {
            let object = Object::read(reader, None)?;
            if object.has("end_to_end_latency_s") {
                return request(&object, state, sink, place);
            }
            summaries(&object, &stem, sink)
        },
        |state, sink, file| {
            let Some(rows) = state.rows else { return Ok(()) };
            let mut manifest = manifest();
            manifest.load.num_prompts = Some(rows.len());
            let part = part(Layer::Requests, &stem, totals(rows.totals.ok, state.ttft));
            rows.finish(file, FAMILY)?.commit(sink, manifest, String::new(), Some(part))
        },
    )
}

/// What the files of one run share: `<stem>_individual_responses.json` and `<stem>_summary.json`.
fn stem(name: &str) -> String {
    let name = name.split_once(".json").map_or(name, |(stem, _)| stem);
    let endings = ["_individual_responses", "_summary", "_results"];
    endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name).to_string()
}

fn part(layer: Layer, stem: &str, totals: String) -> Part {
    Part { key: stem.to_string(), totals, ..Part::of(FAMILY, layer) }
}

fn totals(ok: u64, ttft: Option<(i64, i64)>) -> String {
    ttft.map(|(min, max)| format!("{ok} ok, TTFT from {min} to {max} ns")).unwrap_or_default()
}

fn request(
    object: &Object,
    state: &mut State,
    sink: &mut RunSink<'_>,
    place: &dyn Fn() -> String,
) -> Result<(), RecordError> {
    if state.rows.is_none() {
        state.rows = Some(RunRows::create(sink).map_err(RecordError::Fatal)?);
    }
    let Some(rows) = &mut state.rows else { return Ok(()) };
    let judge = &mut Judge { issues: &mut rows.issues, place };
    object.judge_keys(judge);
    // 0 stands for a time that was not taken.
    let mut time = |key: &str| judge.duration(key, object.get(key), 1).filter(|ns| *ns > 0);
    let (ttft_ns, e2e_ns) = (time("ttft_s"), time("end_to_end_latency_s"));
    let client_itl_ns = time("inter_token_latency_s");
    let rate = object.get("request_output_throughput_token_per_s").number();
    let error = error(object);
    let row = RequestRow {
        status: if error.is_some() { Status::Error } else { Status::Ok },
        error,
        ttft_ns,
        e2e_ns,
        prompt_tokens: judge.count("number_input_tokens", object.get("number_input_tokens")),
        output_tokens: judge.count("number_output_tokens", object.get("number_output_tokens")),
        counted_events: rate.zip(e2e_ns).and_then(|(rate, ns)| value::undivided(rate * ns as f64 / 1e9)),
        client_itl_ns,
        ..RequestRow::default()
    };
    if let (Status::Ok, Some(ttft)) = (row.status, row.ttft_ns) {
        let (min, max) = state.ttft.unwrap_or((ttft, ttft));
        state.ttft = Some((min.min(ttft), max.max(ttft)));
    }
    rows.push(row, &ChunkTimes::default(), place).map_err(RecordError::Fatal)
}

/// What went wrong, if anything did.
fn error(object: &Object) -> Option<String> {
    let code = match object.get("error_code") {
        Tree::Null => return None,
        Tree::Text(code) | Tree::Number(code) => code.as_str(),
        _ => "",
    };
    let message = object.get("error_msg").text().unwrap_or_default();
    Some(value::text(&Tree::Text(format!("{code} {message}").trim().to_string())).unwrap_or_default())
}

fn manifest() -> Manifest {
    let mut manifest = of_tool("LLMPerf", None, "by its keys; the records name no version");
    manifest.output_tokens_source = TokenSource::ClientTokenizer;
    manifest.prompt_tokens_source = TokenSource::ClientTokenizer;
    manifest.not_recorded = facts(&[
        "send times",
        "wall-clock times",
        "chunk times per request",
        "request ids",
        "cached tokens",
        "preemptions",
        "finish reasons",
        "reasoning tokens, and so the time to the first answer token",
    ]);
    manifest
}

/// One summary, or those of a sweep.
fn summaries(object: &Object, stem: &str, sink: &mut RunSink<'_>) -> Result<(), RecordError> {
    let is_summary = |members: &[(String, Tree)]| members.iter().any(|(key, _)| key.starts_with("results_"));
    if is_summary(object.members()) {
        return summary(object.members(), stem, sink).map_err(RecordError::Fatal);
    }
    let several = object.members().iter().filter(|(_, value)| is_summary(value.members()));
    let mut found = 0;
    for (_, one) in several.take(MOST_SUMMARIES) {
        summary(one.members(), "", sink).map_err(RecordError::Fatal)?;
        found += 1;
    }
    match found {
        0 => Err(RecordError::NotARun("neither requests nor results_ figures".to_string())),
        _ => Ok(()),
    }
}

fn summary(members: &[(String, Tree)], stem: &str, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    const NOTHING: &Tree = &Tree::Null;
    let get = |name: &str| members.iter().find(|(key, _)| key == name).map_or(NOTHING, |(_, value)| value);
    let mut manifest = manifest();
    manifest.model = get("model").text().map(String::from);
    manifest.tool.version = get("version").text().map(String::from);
    manifest.tool.how_known = "the summary's version".to_string();
    let (figures, others): (Vec<_>, Vec<_>) = members.iter().cloned().partition(|(key, _)| key.starts_with("results_"));
    settings(&mut manifest.load, &others, &["model", "version", "name", "num_concurrent_requests"]);
    manifest.load.max_concurrency = get("num_concurrent_requests").count().filter(|n| *n > 0);
    manifest.load.unbounded = true;
    manifest.load.num_prompts = total(get("results_num_requests_started"));
    manifest.counted.completed = total(get("results_num_completed_requests"));
    manifest.counted.failed = total(get("results_number_errors"));
    let rate = get("results_num_completed_requests_per_min").number().filter(|rate| *rate > 0.0);
    let completed = manifest.counted.completed.unwrap_or(0);
    manifest.duration_ns = rate.and_then(|rate| duration_ns(completed as f64 * 60.0 / rate));
    let time = |key: &str| get(key).seconds_ns();
    let ttft = time("results_ttft_s_min").zip(time("results_ttft_s_max"));
    let mut part = part(Layer::Whole, stem, totals(completed, ttft));
    part.reported = figures.iter().filter_map(|(key, value)| reported(key, value)).collect();
    sink.commit_figures(FinishedRun::of_figures(manifest, part))
}

/// The row of `results_ttft_s_quantiles_p50` and its like.
fn reported(key: &str, value: &Tree) -> Option<ReportedRow> {
    let body = key.strip_prefix("results_")?;
    let once = |name: Named, scale: f64| figure(&name, "value", key, value, scale);
    match body {
        "num_completed_requests" => return once(named("requests_ok", "requests", "same"), 1.0),
        "number_errors" => return once(named("requests_failed", "requests", "same"), 1.0),
        "error_rate" => return once(named("failure_rate", "", "same"), 1.0),
        "mean_output_throughput_token_per_s" => return once(named("output_tokens_per_s", "tok/s", "same"), 1.0),
        "num_completed_requests_per_min" => return once(named("requests_per_s", "req/s", "same"), 1.0 / 60.0),
        _ => {}
    }
    let (quantity, stat) = body.rsplit_once('_')?;
    let stat = stat_name(stat)?;
    let quantity = quantity.strip_suffix("_quantiles").unwrap_or(quantity);
    let (name, scale) = match quantity {
        "ttft_s" => (named("ttft_ms", "ms", "sample_spread"), 1e3),
        "end_to_end_latency_s" => (named("e2e_ms", "ms", "sample_spread"), 1e3),
        "inter_token_latency_s" => (named("itl_ms", "ms", "gaps_with_ttft"), 1e3),
        "number_input_tokens" => (named("prompt_tokens", "tokens", "sample_spread"), 1.0),
        "number_output_tokens" => (named("output_tokens", "tokens", "sample_spread"), 1.0),
        "request_output_throughput_token_per_s" => {
            (named("output_tokens_per_s_per_request", "tok/s", "tokens_counted_while_streaming"), 1.0)
        }
        _ => return None,
    };
    figure(&name, &stat, key, value, scale)
}

#[cfg(test)]
mod tests;
