//! MLPerf LoadGen: the detail log and the summary of a performance run.
//!
//! # Which files
//! `mlperf_log_detail.txt` (lines `:::MLLOG {…}` of the namespace `mlperf::logging`) and `mlperf_log_summary.txt` (headed
//! *MLPerf Results Summary*), with any prefix. Both are the tool's own figures; the summary of a run whose detail log is
//! there too gives way to it. Accuracy runs measure no speed and are refused with that reason. `mlperf_log_trace.json` and
//! `mlperf_log_accuracy.json` are not read.
//!
//! # Versions seen
//! 5.1.0. TPOT is called `Time to Output Token` or `Time per Output Token`.
//!
//! # How the figures are read
//! - Latency and TTFT count from the moment a query was scheduled, so a late client counts; TPOT is
//!   (latency − TTFT) / (tokens − 1). Percentiles are element floor(n·p). Nanoseconds, whatever the key's name.
//! - A sample is a request. Completed is what was generated, as the log of a valid run names nothing else;
//!   `num_errors` counts errors of the log, not of requests, and is kept as a setting.
//! - `result_token_throughput` is not a rate of any unit (1e-8); it is kept under its own name.
//!
//! # What is not recorded
//! Requests: there are no rows, so nothing is computed again. No model (the SUT's name is none), no token counts but as a
//! rate, no wall clock of single requests; Offline runs have no first token.

use crate::bench::reported::named;
use crate::client::distribution::figure;
use crate::client::layer::{Layer, Part};
use crate::client::manifest::{facts, of_tool, settings, total};
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::Walked;
use crate::json::{JsonReader, Tree, shorten};
use crate::sink::{FinishedRun, RunSink};
use crate::text::lines::Lines;
use postrun_schema::{Doc, IssueCode, Issues, ReportedRow};
use std::collections::BTreeMap;

pub(super) static MLPERF_LOADGEN: Ingestor = Ingestor {
    id: "mlperf_loadgen",
    title: "MLPerf LoadGen logs",
    doc: Doc::from_source(include_str!("mlperf_loadgen.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

/// The name under which detail log and summary find each other.
const FAMILY: &str = "MLPerf LoadGen";
const LINE: &str = ":::MLLOG ";
const TITLE: &[u8] = b"MLPerf Results Summary";
/// Keys kept of one log; a real one has about a hundred.
const MOST_KEYS: usize = 4096;
const KEPT_TEXT_BYTES: usize = 200;

fn sniff(head: &Head) -> Sniff {
    let start = head.bytes.get(..4096).unwrap_or(head.bytes);
    let names = |text: &[u8]| memchr::memmem::find(start, text).is_some();
    let detail = start.trim_ascii_start().starts_with(LINE.as_bytes()) && names(b"mlperf::logging");
    let summary = start.trim_ascii_start().starts_with(b"====") && names(TITLE);
    if detail || summary { Sniff::Strong } else { Sniff::No }
}

/// What a log says, by key.
type Facts = BTreeMap<String, Tree>;

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let file = source.name.clone();
    let mut walked = Walked { issues: Issues::default(), skipped: 0, first_problem: None };
    let is_detail = source.head.trim_ascii_start().starts_with(LINE.as_bytes());
    let mut text = source.take_reader();
    let mut facts = Facts::new();
    let mut lines = Lines::new(&mut text);
    while let Some(line) = lines.next().map_err(IngestError::io(&file))? {
        let place = || format!("{file}: {}", line.place());
        let read = match is_detail {
            true if line.text.trim().is_empty() => None,
            true => Some(detail_line(&line.text)),
            false => summary_line(&line.text).map(Ok),
        };
        match read {
            // A number at the very end may have lost digits.
            Some(_) if line.unfinished && !is_detail => {
                skip(&mut walked, IssueCode::TruncatedRecord, place, &line.text)
            }
            Some(Ok((key, value))) if facts.len() < MOST_KEYS => drop(facts.insert(key, value)),
            Some(Ok(_)) | None => {}
            Some(Err(())) if line.unfinished => skip(&mut walked, IssueCode::TruncatedRecord, place, &line.text),
            Some(Err(())) => skip(&mut walked, IssueCode::BadRecord, place, &line.text),
        }
    }
    drop(lines);
    let accuracy = facts.get("effective_test_mode").and_then(Tree::text).is_some_and(|mode| mode.contains("Accuracy"));
    if !facts.keys().any(|key| key.starts_with("result_") && key.contains("latency")) {
        let reason = if accuracy { "an accuracy run, which measures no speed" } else { "no results in it" };
        walked.first_problem = Some(walked.first_problem.take().unwrap_or_else(|| reason.to_string()));
    } else {
        commit(&facts, &source.base_name, is_detail, sink, &file)?;
    }
    sink.close(source, text, MLPERF_LOADGEN.id, walked)
}

fn skip(walked: &mut Walked, code: IssueCode, place: impl Fn() -> String, text: &str) {
    walked.skipped += 1;
    walked.issues.add(code, &place, || shorten(text.to_string(), 60));
    walked.first_problem.get_or_insert_with(|| format!("{} is no line of the log", place()));
}

/// `:::MLLOG {"key": …, "value": …}`.
fn detail_line(line: &str) -> Result<(String, Tree), ()> {
    let json = line.trim().strip_prefix(LINE).ok_or(())?;
    let record = JsonReader::new(json.as_bytes()).tree(KEPT_TEXT_BYTES).map_err(|_| ())?;
    let key = record.get("key").text().ok_or(())?;
    Ok((key.to_string(), record.get("value").clone()))
}

/// `99.00 percentile latency (ns)   : 4206275150`, under the key that the detail log has for it.
fn summary_line(line: &str) -> Option<(String, Tree)> {
    let (label, value) = line.rsplit_once(':')?;
    let (label, value) = (label.trim(), value.trim());
    let quantity = |label: &str| match label {
        "latency (ns)" => Some("latency"),
        "first token latency (ns)" | "first token percentile latency (ns)" => Some("first_token"),
        "time to output token (ns)" | "time per output token (ns)" => Some("output_token"),
        _ => None,
    };
    let lower = label.to_lowercase();
    let key = match lower.as_str() {
        "scenario" => "effective_scenario".to_string(),
        "mode" => "effective_test_mode".to_string(),
        "sut name" => "sut_name".to_string(),
        "result is" => "result_validity".to_string(),
        "target_qps" => "effective_target_qps".to_string(),
        "completed samples per second" => "result_completed_samples_per_sec".to_string(),
        "scheduled samples per second" => "result_scheduled_samples_per_sec".to_string(),
        "samples per second" => "result_samples_per_second".to_string(),
        "completed tokens per second" => "result_completed_tokens_per_second".to_string(),
        "tokens per second" => "result_tokens_per_second".to_string(),
        "qps w/o loadgen overhead" => "result_qps_without_loadgen_overhead".to_string(),
        _ => {
            let (stat, rest) = lower.split_once(' ')?;
            // The headline has `90.0th percentile`, the table `90.00 percentile`.
            let rest = rest.strip_prefix("percentile ").unwrap_or(rest);
            let quantity = quantity(rest)?;
            let stat = stat.trim_end_matches("th");
            match stat.parse::<f64>() {
                Ok(p) => key_of(quantity, &format!("{p:.2}_percentile")),
                Err(_) => key_of(quantity, stat),
            }
        }
    };
    let value = match value.parse::<f64>() {
        Ok(_) => Tree::Number(value.to_string()),
        Err(_) => Tree::Text(shorten(value.to_string(), KEPT_TEXT_BYTES)),
    };
    Some((key, value))
}

/// The detail log's key.
fn key_of(quantity: &str, stat: &str) -> String {
    match (quantity, stat.ends_with("_percentile")) {
        ("first_token", _) => format!("result_first_token_{stat}_latency_ns"),
        ("output_token", true) => format!("result_time_per_output_token_{stat}_ns"),
        ("output_token", false) => format!("result_time_to_output_token_{stat}"),
        _ => format!("result_{stat}_latency_ns"),
    }
}

fn commit(
    facts_of: &Facts,
    name: &str,
    is_detail: bool,
    sink: &mut RunSink<'_>,
    file: &str,
) -> Result<(), IngestError> {
    const NOTHING: &Tree = &Tree::Null;
    let get = |key: &str| facts_of.get(key).unwrap_or(NOTHING);
    let text = |key: &str| get(key).text().map(String::from);
    let scenario = text("effective_scenario").unwrap_or_default();
    let mut manifest = of_tool("MLPerf LoadGen", text("loadgen_version"), "the log names it");
    let kept = |key: &str| key.starts_with("effective_") || key.starts_with("requested_server_t");
    let kept_too = ["result_validity", "early_stopping_met", "num_errors", "power_begin", "power_end", "sut_name"];
    let list: Vec<(String, Tree)> = facts_of.clone().into_iter().collect();
    let list: Vec<_> = list.into_iter().filter(|(key, _)| kept(key) || kept_too.contains(&key.as_str())).collect();
    settings(&mut manifest.load, &list, &[]);
    let rate = get("effective_target_qps").number().filter(|rate| *rate > 0.0);
    manifest.load.request_rate = rate.filter(|_| scenario == "Server");
    manifest.load.unbounded = scenario == "Offline";
    manifest.load.max_concurrency = (scenario == "SingleStream").then_some(1);
    manifest.load.dataset = text("qsl_name");
    manifest.load.backend = Some(scenario.clone()).filter(|s| !s.is_empty());
    manifest.load.date = text("test_datetime");
    manifest.load.date_is_start = true;
    let samples = total(get("generated_query_count")).zip(total(get("generated_samples_per_query")));
    manifest.load.num_prompts = samples.and_then(|(queries, each)| queries.checked_mul(each));
    manifest.counted.completed = manifest.load.num_prompts;
    manifest.not_recorded = facts(&["requests", "send times", "chunk times per request", "model", "token counts"]);
    let mut issues = Issues::default();
    if get("result_time_to_output_token_min").number().is_some_and(|ns| ns < 0.0) {
        let example = || "TPOT of an answer of no or one token".to_string();
        issues.add(IssueCode::NegativeDuration, || format!("{file}: result_time_to_output_token_min"), example);
    }
    let range = (get("result_min_latency_ns").integer(), get("result_max_latency_ns").integer());
    let totals = match range {
        (Some(min), Some(max)) => format!("latency from {min} to {max} ns"),
        _ => String::new(),
    };
    let key = name.replace("detail", "").replace("summary", "");
    let layer = if is_detail { Layer::Whole } else { Layer::Supplement };
    let reported = facts_of.iter().filter_map(|(key, value)| reported(key, value)).collect();
    let part = Part { key, totals, reported, ..Part::of(FAMILY, layer) };
    sink.commit_figures(FinishedRun { issues, ..FinishedRun::of_figures(manifest, part) })
}

/// The row of a key of the detail log.
fn reported(key: &str, value: &Tree) -> Option<ReportedRow> {
    let once = |metric, unit, convention| figure(&named(metric, unit, convention), "value", key, value, 1.0);
    match key {
        "result_completed_samples_per_sec" | "result_samples_per_second" | "result_qps_without_loadgen_overhead" => {
            return once("requests_per_s", "req/s", "same");
        }
        "result_completed_tokens_per_second" | "result_tokens_per_second" => {
            return once("output_tokens_per_s", "tok/s", "same");
        }
        "result_scheduled_samples_per_sec"
        | "result_qps_with_loadgen_overhead"
        | "result_overlatency_query_count"
        | "result_token_throughput"
        | "result_token_throughput_with_loadgen_overhead" => return once("", "", "same"),
        _ => {}
    }
    let body = key.strip_prefix("result_")?;
    let (metric, stat) = if let Some(rest) = body.strip_prefix("first_token_") {
        ("ttft_ms", rest.strip_suffix("_latency_ns")?)
    } else if let Some(rest) = body.strip_prefix("time_per_output_token_") {
        ("tpot_ms", rest.strip_suffix("_ns")?)
    } else if let Some(rest) = body.strip_prefix("time_to_output_token_") {
        ("tpot_ms", rest)
    } else {
        ("e2e_ms", body.strip_suffix("_latency_ns")?)
    };
    let (stat, convention) = match stat.strip_suffix("_percentile") {
        Some(p) => (format!("p{}", p.parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p))?), "floor_index"),
        None if matches!(stat, "min" | "max" | "mean") => (stat.to_string(), "same"),
        None => return None,
    };
    figure(&named(metric, "ms", convention), &stat, key, value, 1e-6)
}

#[cfg(test)]
mod tests;
