//! What AIPerf collected of the server's metrics during its run: each scrape, or one summary.
//!
//! # Which files
//! `server_metrics_export.jsonl`, one scrape of one endpoint on a line (written with
//! `--server-metrics-formats jsonl`), recognised by `timestamp_ns` beside `metrics`; and the summary
//! `server_metrics_export.json`, recognised by `metrics_phase` or `schema_version` beside `summary` and `metrics`. The
//! CSV holds less than the JSON summary and gives way to it (aiperf_server_metrics_csv); the Parquet form is not read.
//!
//! # Versions seen
//! Summary schema 1.1 of AIPerf 0.13.0. The lines were not seen in a recording of ours; their keys are those that
//! AIPerf documents: `endpoint_url`, `timestamp_ns`, `endpoint_latency_ns`, `metrics`.
//!
//! # How the figures are read
//! - Names and units are mapped as for `prometheus_text`; AIPerf cuts `_total` off the names of counters. The endpoint
//!   becomes the label `endpoint_url`. Histograms become `…_bucket` with `le`, `…_sum` and `…_count`.
//! - The summary holds no points in time. A counter or histogram becomes two points: 0 at the first and its increase at
//!   the last fetch of its endpoint (the times its rates are over), else at the start and end of its phase. Read the
//!   difference; the level is not the server's own.
//! - A gauge of the summary becomes two points only where its least and greatest value are the same. Else its mean and
//!   greatest value become facts (`running_avg`, `running_max`), where one endpoint alone has it and postrun has a name
//!   for it.
//! - Estimated percentiles of histograms are AIPerf's own and are not taken.
//!
//! # What is not recorded
//! In the summary: when anything happened. In both: what happened between scrapes, and single requests.

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::metric::exposition::RawSeries;
use crate::metric::series::SeriesTable;
use crate::server::json_lines;
use crate::server::recording::ServerSink;
use crate::text::stamp::StampClock;
use postrun_schema::{Doc, IssueCode, label_text};
use serde_json::{Map, Value};
use std::io::Read;

pub(super) static AIPERF_SERVER_METRICS: Ingestor = Ingestor {
    id: "aiperf_server_metrics",
    title: "AIPerf's record of the server's metrics",
    doc: Doc::from_source(include_str!("aiperf_server_metrics.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

/// A summary is some tens of kilobytes for each endpoint; a larger text is none.
const LARGEST_SUMMARY: u64 = 64 << 20;

fn sniff(head: &Head) -> Sniff {
    let lines = head.has_all(&["timestamp_ns", "metrics"]) && !head.has_any(&["metadata", "telemetry_data"]);
    let summary = head.has_all(&["summary", "metrics"]) && head.has_any(&["metrics_phase", "schema_version"]);
    let holds = |word: &str| memchr::memmem::find(head.bytes, word.as_bytes()).is_some();
    match () {
        () if lines && head.has_any(&["endpoint_url", "endpoint_latency_ns"]) => Sniff::Strong,
        () if summary && holds("\"phase_time_ranges\"") => Sniff::Strong,
        () if lines || summary && head.has_any(&["metrics_phase"]) => Sniff::Weak,
        () => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    let io = IngestError::io(&source.name);
    let head = Head::new(&source.base_name, &source.head);
    let is_summary = head.has_any(&["summary", "metrics_phase"]);
    sink.clock(StampClock::Unix, 1);
    if is_summary {
        let mut reader = source.take_reader();
        let mut text = Vec::new();
        reader.by_ref().take(LARGEST_SUMMARY).read_to_end(&mut text).map_err(&io)?;
        std::io::copy(&mut reader, &mut std::io::sink()).map_err(&io)?;
        return summary(&text, sink);
    }
    let mut series = SeriesTable::default();
    json_lines::read(source, sink, |scrape, sink, place| write_scrape(scrape, &mut series, sink, place))
}

type Object = Map<String, Value>;

fn write_scrape(
    scrape: &Object,
    series: &mut SeriesTable,
    sink: &mut ServerSink,
    place: &dyn Fn() -> String,
) -> Result<(), IngestError> {
    let Some(metrics) = scrape.get("metrics").and_then(Value::as_object) else {
        sink.skip(IssueCode::BadRecord, place, || "a line without metrics".to_string());
        return Ok(());
    };
    let Some(at_ns) = scrape.get("timestamp_ns").and_then(Value::as_i64).filter(|at| *at > 0) else {
        sink.skip(IssueCode::NoSampleTime, place, || "a line without timestamp_ns".to_string());
        return Ok(());
    };
    let endpoint = scrape.get("endpoint_url").and_then(Value::as_str);
    let objects = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    for (name, list) in metrics {
        for one in objects(list).iter().filter_map(Value::as_object) {
            let labels = labels(one, endpoint);
            let mut write = |suffix: &str, label: Option<(&str, &str)>, value: Option<&Value>| match value {
                Some(value) => write_value(series, sink, name, suffix, &labels, label, at_ns, value, place),
                None => Ok(()),
            };
            write("", None, one.get("value"))?;
            write("_sum", None, one.get("sum"))?;
            write("_count", None, one.get("count"))?;
            for (key, suffix, label) in
                [("histogram", "_bucket", "le"), ("buckets", "_bucket", "le"), ("quantiles", "", "quantile")]
            {
                for (bound, value) in one.get(key).and_then(Value::as_object).into_iter().flatten() {
                    write(suffix, Some((label, bound)), Some(value))?;
                }
            }
        }
    }
    Ok(())
}

fn labels(one: &Object, endpoint: Option<&str>) -> Vec<(String, String)> {
    let own = one.get("labels").and_then(Value::as_object).into_iter().flatten();
    let own = own.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_string())));
    own.chain(endpoint.map(|url| ("endpoint_url".to_string(), url.to_string()))).collect()
}

/// Finds the entry of a series, by its name and labels.
fn entry(
    series: &mut SeriesTable,
    sink: &mut ServerSink,
    name: &str,
    labels: &[(String, String)],
    label: Option<(&str, &str)>,
) -> Option<usize> {
    let pairs = labels.iter().map(|(k, v)| (k.as_str(), v.as_str())).chain(label);
    let key = format!("{name}{{{}", label_text(pairs.clone()).unwrap_or_default());
    let owned = pairs.map(|(k, v)| (k.to_string(), v.to_string())).collect();
    series.entry(&key, sink, || Some(RawSeries { name: name.to_string(), labels: owned }))
}

#[allow(clippy::too_many_arguments)]
fn write_value(
    series: &mut SeriesTable,
    sink: &mut ServerSink,
    name: &str,
    suffix: &str,
    labels: &[(String, String)],
    label: Option<(&str, &str)>,
    at_ns: i64,
    value: &Value,
    place: &dyn Fn() -> String,
) -> Result<(), IngestError> {
    if value.is_null() {
        return Ok(());
    }
    let Some(value) = value.as_f64() else {
        sink.issue(IssueCode::WrongType, place, || format!("{name}{suffix} is {value}"));
        return Ok(());
    };
    match entry(series, sink, &format!("{name}{suffix}"), labels, label) {
        Some(id) => series.write(id, at_ns, value, sink, place),
        None => Ok(()),
    }
}

/// Reads the summary: its windows, then each series.
fn summary(text: &[u8], sink: &mut ServerSink) -> Result<(), IngestError> {
    let whole: Value = match serde_json::from_slice(text) {
        Ok(whole) => whole,
        Err(e) => {
            let code = if e.is_eof() { IssueCode::TruncatedRecord } else { IssueCode::BadRecord };
            sink.skip(code, || format!("line {}, column {}", e.line(), e.column()), || e.to_string());
            return Ok(());
        }
    };
    if let Some(version) = whole.get("aiperf_version").and_then(Value::as_str) {
        sink.fact("aiperf_version", version);
    }
    let mut table = SeriesTable::default();
    for (name, metric) in whole.get("metrics").and_then(Value::as_object).into_iter().flatten() {
        let kind = metric.get("type").and_then(Value::as_str).unwrap_or_default();
        let list = metric.get("series").and_then(Value::as_array);
        let all: Vec<&Object> = list.into_iter().flatten().filter_map(Value::as_object).collect();
        for one in &all {
            let endpoint = one.get("endpoint_url").and_then(Value::as_str);
            let labels = labels(one, endpoint);
            // Older schemas have the statistics beside the labels.
            let stats = one.get("stats").and_then(Value::as_object).unwrap_or(one);
            if kind == "gauge" && stats.get("min") != stats.get("max") {
                if all.len() == 1 {
                    gauge_facts(name, &labels, stats, sink);
                }
                continue;
            }
            let place = || format!("metric {name}");
            let Some((from_ns, to_ns)) = window(&whole, endpoint) else {
                sink.skip(IssueCode::NoSampleTime, place, || "no time of a first and last fetch".to_string());
                continue;
            };
            for (suffix, bound, value) in end_values(kind, one, stats) {
                let label = bound.as_deref().map(|bound| ("le", bound));
                let start = if kind == "gauge" { value } else { 0.0 };
                let Some(id) = entry(&mut table, sink, &format!("{name}{suffix}"), &labels, label) else { continue };
                table.write(id, from_ns, start, sink, &place)?;
                table.write(id, to_ns, value, sink, &place)?;
            }
        }
    }
    Ok(())
}

/// What a series has at the end of its window: suffix of the name, `le`, value.
fn end_values(kind: &str, one: &Object, stats: &Object) -> Vec<(&'static str, Option<String>, f64)> {
    let stat = |key: &str, suffix| stats.get(key).and_then(Value::as_f64).map(|v| (suffix, None, v));
    match kind {
        "counter" => stat("total", "").into_iter().collect(),
        "gauge" => stat("max", "").into_iter().collect(),
        "histogram" => {
            let buckets = one.get("buckets").and_then(Value::as_object).into_iter().flatten();
            let buckets = buckets.filter_map(|(le, v)| Some(("_bucket", Some(le.clone()), v.as_f64()?)));
            buckets.chain(stat("sum", "_sum")).chain(stat("count", "_count")).collect()
        }
        "summary" => stat("sum", "_sum").into_iter().chain(stat("count", "_count")).collect(),
        _ => Vec::new(),
    }
}

/// First and last fetch of an endpoint, else start and end of the phase.
fn window(whole: &Value, endpoint: Option<&str>) -> Option<(i64, i64)> {
    let summary = whole.get("summary")?;
    let pair = |object: Option<&Value>, from: &str, to: &str| {
        let object = object?;
        let (from, to) = (object.get(from)?.as_i64()?, object.get(to)?.as_i64()?);
        (0 < from && from < to).then_some((from, to))
    };
    let fetches = summary.get("endpoint_info").and_then(|info| info.get(endpoint?));
    let phase = whole.get("metrics_phase").and_then(Value::as_str).unwrap_or("profiling");
    let range = summary.get("phase_time_ranges").and_then(|ranges| ranges.get(phase));
    pair(fetches, "first_fetch_ns", "last_fetch_ns").or_else(|| pair(range, "start_ns", "end_ns"))
}

fn gauge_facts(name: &str, labels: &[(String, String)], stats: &Object, sink: &mut ServerSink) {
    let raw = RawSeries { name: name.to_string(), labels: labels.to_vec() };
    let Some(rule) = crate::metric::names::family(name).and_then(|f| f.rules_for(&raw).next()) else { return };
    for stat in ["avg", "max"] {
        if let Some(value) = stats.get(stat).and_then(Value::as_f64).filter(|_| !rule.series.is_empty()) {
            sink.fact(&format!("{}_{stat}", rule.series), format!("{}", value * rule.factor));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::reading_test::{Sample, read, samples, shared, sniff};

    const LINES: &str = concat!(
        r#"{"endpoint_url":"http://a/metrics","timestamp_ns":1700000000000000001,"endpoint_latency_ns":5,"metrics":{"#,
        r#""vllm:num_preemptions":[{"labels":{"engine":"0"},"value":2.0}],"#,
        r#""vllm:e2e_request_latency_seconds":[{"histogram":{"0.5":1.0,"+Inf":3.0},"sum":4.5,"count":3.0}]}}"#,
        "\n",
    );
    const SUMMARY: &str = r#"{"schema_version":"1.1","aiperf_version":"0.13.0","summary":{"endpoint_info":{"http://a/metrics":
        {"first_fetch_ns":1700000000000000001,"last_fetch_ns":1700000060000000002}},
        "phase_time_ranges":{"profiling":{"start_ns":1700000010000000000,"end_ns":1700000050000000000}}},
        "metrics_phase":"profiling","metrics":{
        "vllm:prompt_tokens":{"type":"counter","series":[{"endpoint_url":"http://a/metrics","stats":{"total":600.0,"rate":10.0}}]},
        "vllm:request_success":{"type":"counter","series":[{"endpoint_url":"http://b","labels":{"finished_reason":"stop"},"stats":{"total":7.0}}]},
        "vllm:num_requests_running":{"type":"gauge","series":[{"stats":{"avg":2.5,"min":0.0,"max":8.0}}]},
        "vllm:num_requests_waiting":{"type":"gauge","series":[{"stats":{"avg":1.0,"min":1.0,"max":1.0}}]},
        "x_seconds":{"type":"histogram","series":[{"stats":{"count":3,"sum":1.5,"p50_estimate":0.4},"buckets":{"0.5":2,"+Inf":3}}]}}}"#;

    fn all(text: &str) -> (crate::server::recording::Recording, Vec<Sample>) {
        let (mut recording, _dir) = read(&AIPERF_SERVER_METRICS, "m", text.as_bytes()).unwrap();
        let samples = samples(&mut recording);
        (recording, samples)
    }

    fn short(samples: &[Sample]) -> Vec<(i64, &str, &str, f64)> {
        samples.iter().map(|s| (s.0, s.1.as_str(), s.2.as_deref().unwrap_or(""), s.3)).collect()
    }

    #[test]
    fn a_scrape_on_a_line() {
        let at = 1_700_000_000_000_000_001;
        let url = "endpoint_url=http://a/metrics";
        let (_, samples) = all(LINES);
        let expected = [
            (at, "vllm:e2e_request_latency_seconds_sum", url, 4.5),
            (at, "vllm:e2e_request_latency_seconds_count", url, 3.0),
            (at, "vllm:e2e_request_latency_seconds_bucket", "endpoint_url=http://a/metrics,le=+Inf", 3.0),
            (at, "vllm:e2e_request_latency_seconds_bucket", "endpoint_url=http://a/metrics,le=0.5", 1.0),
            (at, "preemptions_total", "endpoint_url=http://a/metrics,engine=0", 2.0),
        ];
        assert_eq!(short(&samples), expected);
        let damaged = format!("{LINES}{{\"timestamp_ns\":1}}\n{{\"metrics\":{{}}}}\n[]\nx\n{{\"a");
        let (recording, samples) = all(&damaged);
        assert_eq!(samples.len(), 5);
        assert_eq!(recording.issues.count(IssueCode::BadRecord), 3);
        assert_eq!(recording.issues.count(IssueCode::NoSampleTime), 1);
        assert_eq!(recording.issues.count(IssueCode::TruncatedRecord), 1);
    }

    #[test]
    fn increases_and_steady_gauges_of_a_summary() {
        let (recording, samples) = all(SUMMARY);
        let got = short(&samples);
        let url = "endpoint_url=http://a/metrics";
        let (first, last) = (1_700_000_000_000_000_001, 1_700_000_060_000_000_002);
        let (start, end) = (1_700_000_010_000_000_000, 1_700_000_050_000_000_000);
        for expected in [
            (first, "prompt_tokens_total", url, 0.0),
            (last, "prompt_tokens_total", url, 600.0),
            (start, "requests_finished_total", "endpoint_url=http://b,finished_reason=stop", 0.0),
            (end, "requests_finished_total", "endpoint_url=http://b,finished_reason=stop", 7.0),
            (start, "waiting", "", 1.0),
            (end, "waiting", "", 1.0),
            (end, "x_seconds_bucket", "le=0.5", 2.0),
            (end, "x_seconds_count", "", 3.0),
        ] {
            assert!(got.contains(&expected), "{expected:?}");
        }
        assert_eq!(got.len(), 14);
        let fact = |key: &str| recording.facts.get(key).map(String::as_str);
        assert_eq!(
            (fact("running_avg"), fact("running_max"), fact("aiperf_version")),
            (Some("2.5"), Some("8"), Some("0.13.0"))
        );
    }

    #[test]
    fn cuts_and_flips_invent_nothing() {
        for text in [LINES, SUMMARY] {
            let (_, whole) = all(text);
            for end in 0..text.len() {
                if let Ok((mut recording, _dir)) = read(&AIPERF_SERVER_METRICS, "m", &text.as_bytes()[..end]) {
                    assert!(samples(&mut recording).iter().all(|s| whole.contains(s)), "{end}");
                }
                let mut flipped = text.as_bytes().to_vec();
                flipped[end] = [0u8, b'"', b'{', 0xff][end % 4];
                let _ = read(&AIPERF_SERVER_METRICS, "m", &flipped);
            }
        }
    }

    #[test]
    fn recorded_summaries() {
        for (run, preempted, tokens) in [("run_a", 0.0, 13_920.0), ("run_b", 155.0, 14_016.0), ("small", 0.0, 608.0)] {
            let path = shared(&format!("recordings/aiperf/{run}/artifacts/server_metrics_export.json"));
            let Some(text) = path.map(|path| std::fs::read_to_string(path).unwrap()) else { return };
            assert_eq!(sniff(&AIPERF_SERVER_METRICS, "m", text.as_bytes()), Sniff::Strong);
            let (recording, samples) = all(&text);
            assert!(recording.issues.is_empty());
            let last = |series: &str| samples.iter().rfind(|s| s.1 == series).map(|s| s.3);
            assert_eq!(last("output_tokens_total"), Some(tokens));
            assert_eq!(last("preemptions_total"), Some(preempted));
        }
    }
}
