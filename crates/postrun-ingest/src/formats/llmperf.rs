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
//! - `inter_token_latency_s` is the whole latency over the chunks of one answer, TTFT included: no gap between tokens, so
//!   there is no ITL and no chunk. TPOT is postrun's, from e2e, TTFT and tokens.
//! - Token counts are made with the Llama tokenizer whatever the model is.
//! - Standard deviations divide by n − 1; percentiles are linear. The duration is completed requests over their rate.
//!
//! # What is not recorded
//! Send times, so concurrency, arrival and any join with server files; chunk times; request ids, cached tokens,
//! preemptions, finish reasons; requests that ran into the time limit of the test.

use crate::client::figures::{Figure, figure, in_seconds, of_its_own, row, statistic};
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

pub(super) static LLMPERF: Ingestor = Ingestor {
    id: "llmperf",
    title: "LLMPerf responses and summary",
    doc: Doc::from_source(include_str!("llmperf.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

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
    run: Option<ClientRun>,
    object: Object,
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
            state.object.read(reader, "")?;
            if state.object.has("end_to_end_latency_s") {
                return request(state, sink, place);
            }
            summaries(&state.object, &stem, sink, place)
        },
        |state, sink, file| {
            let Some(run) = state.run else { return Ok(()) };
            let mut manifest = manifest();
            manifest.load.num_prompts = Some(run.len() as u64);
            let part = part(&stem, totals(run.totals.ok, state.ttft), false);
            let (writer, finished) = run.finish(manifest, ClockKind::None, file, String::new())?;
            sink.commit_part(writer, finished, Some(part))
        },
    )
}

/// What the files of one run share: `<stem>_individual_responses.json` and `<stem>_summary.json`.
fn stem(name: &str) -> String {
    let name = name.split_once(".json").map_or(name, |(stem, _)| stem);
    let endings = ["_individual_responses", "_summary", "_results"];
    endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name).to_string()
}

fn part(stem: &str, totals: String, is_summary: bool) -> Part {
    Part { tool: LLMPERF.id, key: stem.to_string(), totals, is_summary }
}

fn totals(ok: u64, ttft: Option<(i64, i64)>) -> String {
    ttft.map(|(min, max)| format!("{ok} ok, TTFT from {min} to {max} ns")).unwrap_or_default()
}

fn request(state: &mut State, sink: &mut RunSink<'_>, place: &dyn Fn() -> String) -> Result<(), RecordError> {
    if state.run.is_none() {
        state.run = Some(ClientRun::new(sink.writer().map_err(RecordError::Fatal)?));
    }
    let (Some(run), object) = (&mut state.run, &state.object) else { return Ok(()) };
    let mut values = Values { issues: &mut run.issues, place };
    if let Some(key) = &object.duplicate_key {
        values.issue(IssueCode::DuplicateKey, key, || "the last one counts".to_string());
    }
    // 0 stands for a time that was not taken.
    let mut time = |key: &str| values.duration(key, object.get(key), Scale::Seconds).filter(|ns| *ns > 0);
    let (ttft_ns, e2e_ns) = (time("ttft_s"), time("end_to_end_latency_s"));
    let mut record = Record {
        ttft_ns,
        e2e_ns,
        prompt_tokens: values.count("number_input_tokens", object.get("number_input_tokens")),
        output_tokens: values.count("number_output_tokens", object.get("number_output_tokens")),
        ..Record::default()
    };
    if *object.get("error_code") != Tree::Null {
        let code = values.text("error_code", object.get("error_code")).unwrap_or_default();
        let message = object.get("error_msg").text().unwrap_or_default();
        record.fail(Some(format!("{code} {message}").trim().to_string()));
    }
    if let (Status::Ok, Some(ttft)) = (record.status, record.ttft_ns) {
        let (min, max) = state.ttft.unwrap_or((ttft, ttft));
        state.ttft = Some((min.min(ttft), max.max(ttft)));
    }
    run.push(record, place, None)?;
    Ok(())
}

fn manifest() -> Manifest {
    let mut manifest = blank("LLMPerf", "by its keys; the records name no version");
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
fn summaries(
    object: &Object,
    stem: &str,
    sink: &mut RunSink<'_>,
    place: &dyn Fn() -> String,
) -> Result<(), RecordError> {
    let is_summary = |members: &[(String, Tree)]| members.iter().any(|(key, _)| key.starts_with("results_"));
    if is_summary(object.members()) {
        return summary(object.members(), stem, sink, place).map_err(RecordError::Fatal);
    }
    let several = object.members().iter().filter(|(_, value)| is_summary(value.members()));
    let mut found = 0;
    for (_, one) in several.take(MOST_SUMMARIES) {
        summary(one.members(), "", sink, place).map_err(RecordError::Fatal)?;
        found += 1;
    }
    match found {
        0 => Err(RecordError::NotARun("neither requests nor results_ figures".to_string())),
        _ => Ok(()),
    }
}

fn summary(
    members: &[(String, Tree)],
    stem: &str,
    sink: &mut RunSink<'_>,
    place: &dyn Fn() -> String,
) -> Result<(), IngestError> {
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
    let part = part(stem, totals(completed, ttft), true);
    let shape = manifest.load.max_concurrency.map(|c| format!("c{c}")).unwrap_or_default();
    let mut run = ClientRun::new(sink.writer()?);
    run.reported(figures.iter().filter_map(|(key, value)| {
        let (stat, figure) = name(key)?;
        row(key, &stat, value, figure)
    }));
    let (writer, finished) = run.finish(manifest, ClockKind::None, &place(), shape)?;
    sink.commit_part(writer, finished, Some(part))
}

/// The statistic and the quantity of `results_ttft_s_quantiles_p50`.
fn name(key: &str) -> Option<(String, Figure)> {
    let body = key.strip_prefix("results_")?;
    let once = |figure| Some(("value".to_string(), figure));
    match body {
        "num_completed_requests" => return once(figure("requests_ok", "requests", "same")),
        "number_errors" => return once(figure("requests_failed", "requests", "same")),
        "error_rate" => return once(figure("failure_rate", "", "same")),
        "mean_output_throughput_token_per_s" => return once(figure("output_tokens_per_s", "tok/s", "same")),
        "num_completed_requests_per_min" => {
            return once(Figure { factor: 1.0 / 60.0, ..figure("requests_per_s", "req/s", "same") });
        }
        _ => {}
    }
    let (quantity, stat) = body.rsplit_once('_')?;
    let stat = statistic(stat)?;
    let quantity = quantity.strip_suffix("_quantiles").unwrap_or(quantity);
    let same = if stat == "std" { "sample_deviation" } else { "same" };
    let figure = match quantity {
        "ttft_s" => in_seconds("ttft_ms", same),
        "end_to_end_latency_s" => in_seconds("e2e_ms", same),
        "inter_token_latency_s" => in_seconds("e2e_per_output_token_ms", "latency_per_token"),
        "number_input_tokens" | "number_output_tokens" => of_its_own(quantity, "tokens"),
        "request_output_throughput_token_per_s" => of_its_own(quantity, "tok/s"),
        _ => return None,
    };
    Some((stat, figure))
}

#[cfg(test)]
mod tests;
