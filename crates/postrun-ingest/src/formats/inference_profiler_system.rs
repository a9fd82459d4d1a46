//! inference-profiler's `system.jsonl`: what the client's machine did during the run, and its devices.
//!
//! # Which files
//! `system.jsonl` of an output folder, a sample on a line, recognised by `cpu_percent`, `ram_percent` and `t`. It belongs to
//! the stages whose `metrics.jsonl` lies beside it.
//!
//! # Versions seen
//! 0.1.0. No recording at hand has a GPU; the members of `gpus` are those that its source writes.
//!
//! # How the figures are read
//! - `t` is of the same steady clock as the requests, so nothing has to be aligned: each stage has the samples of its time.
//! - The machine is the one that the client ran on, and the server's only where both ran on one. Its processors, memory
//!   and network are `host_cpu_utilization`, `host_memory_used_bytes`, `host_memory_utilization`,
//!   `host_network_sent_bytes_per_s` and `host_network_received_bytes_per_s`, its devices `gpu_utilization`,
//!   `gpu_memory_used_bytes` and `gpu_memory_total_bytes` with the label `gpu`.
//! - Percent become shares, GB (10⁹ bytes) and MB (10⁶) bytes. Rates are over the time since the sample before.
//!
//! # What is not recorded
//! Wall-clock times, what else ran on the machine, power, temperature.

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::server::json_lines;
use crate::server::recording::ServerSink;
use crate::text::stamp::StampClock;
use postrun_schema::{Doc, IssueCode, label_text};
use serde_json::{Map, Value};

pub(super) static INFERENCE_PROFILER_SYSTEM: Ingestor = Ingestor {
    id: "inference_profiler_system",
    title: "inference-profiler's record of the client's machine",
    doc: Doc::from_source(include_str!("inference_profiler_system.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

fn sniff(head: &Head) -> Sniff {
    match head.has_all(&["t", "cpu_percent", "ram_percent", "net_sent_mb_s"]) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

/// The tool's name, the series, and what turns a value into its unit.
const MACHINE: &[(&str, &str, f64)] = &[
    ("cpu_percent", "host_cpu_utilization", 0.01),
    ("ram_percent", "host_memory_utilization", 0.01),
    ("ram_used_gb", "host_memory_used_bytes", 1e9),
    ("net_sent_mb_s", "host_network_sent_bytes_per_s", 1e6),
    ("net_recv_mb_s", "host_network_received_bytes_per_s", 1e6),
];

const DEVICE: &[(&str, &str, f64)] = &[
    ("util_percent", "gpu_utilization", 0.01),
    ("mem_used_gb", "gpu_memory_used_bytes", 1e9),
    ("mem_total_gb", "gpu_memory_total_bytes", 1e9),
];

/// Seconds of a steady clock: 292 years fit.
const LATEST_S: f64 = 9e9;

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    sink.clock(StampClock::Client(super::inference_profiler::INFERENCE_PROFILER.id), 1);
    json_lines::read(source, sink, write)
}

fn write(sample: &Map<String, Value>, sink: &mut ServerSink, place: &dyn Fn() -> String) -> Result<(), IngestError> {
    let at = sample.get("t").and_then(Value::as_f64).filter(|t| t.abs() < LATEST_S);
    let Some(at_ns) = at.map(|t| (t * 1e9).round() as i64) else {
        sink.skip(IssueCode::NoSampleTime, place, || "a line without t".to_string());
        return Ok(());
    };
    values(sample, MACHINE, None, at_ns, sink, place)?;
    for device in sample.get("gpus").and_then(Value::as_array).into_iter().flatten() {
        let Some(device) = device.as_object() else {
            sink.issue(IssueCode::WrongType, place, || "a device that is no object".to_string());
            continue;
        };
        let index = device.get("index").and_then(Value::as_f64).map(|i| format!("{i:.0}"));
        let labels = label_text(index.as_deref().map(|i| ("gpu", i)));
        values(device, DEVICE, labels.as_deref(), at_ns, sink, place)?;
    }
    Ok(())
}

fn values(
    members: &Map<String, Value>,
    names: &[(&str, &str, f64)],
    labels: Option<&str>,
    at_ns: i64,
    sink: &mut ServerSink,
    place: &dyn Fn() -> String,
) -> Result<(), IngestError> {
    for (key, series, factor) in names {
        match members.get(*key) {
            None | Some(Value::Null) => {}
            Some(value) => match value.as_f64() {
                Some(number) => sink.sample(at_ns, series, labels, number * factor)?,
                None => sink.issue(IssueCode::WrongType, place, || format!("{key} is {value}")),
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::run_test;
    use crate::formats::reading_test::{read, samples, sniff};

    const LINES: &str = concat!(
        r#"{"t": 100.25, "cpu_percent": 50.0, "ram_percent": 25.0, "ram_used_gb": 2.5, "net_sent_mb_s": 0.5, "net_recv_mb_s": 1.5, "gpus": []}"#,
        "\n",
        r#"{"t": 100.75, "cpu_percent": 100.0, "ram_percent": null, "gpus": [{"index": 1.0, "util_percent": 75.0, "mem_used_gb": 10.5}]}"#,
        "\n"
    );

    #[test]
    fn percent_are_shares_and_gigabytes_bytes() {
        let (mut recording, _dir) = read(&INFERENCE_PROFILER_SYSTEM, "system.jsonl", LINES.as_bytes()).unwrap();
        let all = samples(&mut recording);
        let got: Vec<_> = all.iter().map(|s| (s.0, s.1.as_str(), s.2.as_deref(), s.3)).collect();
        let (first, second) = (100_250_000_000, 100_750_000_000);
        let expected = [
            (first, "host_cpu_utilization", None, 0.5),
            (first, "host_memory_utilization", None, 0.25),
            (first, "host_memory_used_bytes", None, 2.5e9),
            (first, "host_network_sent_bytes_per_s", None, 0.5e6),
            (first, "host_network_received_bytes_per_s", None, 1.5e6),
            (second, "host_cpu_utilization", None, 1.0),
            (second, "gpu_utilization", Some("gpu=1"), 0.75),
            (second, "gpu_memory_used_bytes", Some("gpu=1"), 10.5e9),
        ];
        assert_eq!(got, expected);
        assert_eq!(sniff(&INFERENCE_PROFILER_SYSTEM, "s", LINES.as_bytes()), Sniff::Strong);
    }

    #[test]
    fn what_cannot_be_is_counted() {
        let odd = "{\"t\": 1e12, \"cpu_percent\": 1}\n{\"t\": 1, \"cpu_percent\": \"x\"}\n{\"t\": 2, \"cpu_percent\": 5000}\n";
        let (mut recording, _dir) = read(&INFERENCE_PROFILER_SYSTEM, "s", odd.as_bytes()).unwrap();
        assert!(samples(&mut recording).is_empty());
        let count = |code| recording.issues.count(code);
        let counts = [IssueCode::NoSampleTime, IssueCode::WrongType, IssueCode::OutOfRange].map(count);
        assert_eq!(counts, [1, 1, 1]);
        for end in 0..LINES.len() {
            drop(read(&INFERENCE_PROFILER_SYSTEM, "s", &LINES.as_bytes()[..end]));
        }
    }

    /// Two stages by one clock: each has the samples of its own time, to the nanosecond.
    #[test]
    fn each_stage_has_the_samples_of_its_time() {
        let record = |stage: u32, sent: f64| {
            format!(
                r#"{{"index": 0, "stage": {stage}, "concurrency": {}, "sent_at": {sent}, "first_token_at": {}, "completed_at": {}, "ttft": 0.1, "e2e_latency": 0.5, "inter_token_latencies": [0.4], "prompt_tokens": 5, "output_tokens": 2, "success": true}}"#,
                stage + 1,
                sent + 0.1,
                sent + 0.5
            )
        };
        let requests = format!("{}\n{}\n", record(0, 100.0), record(1, 160.0));
        let sample = |t: f64| format!(r#"{{"t": {t}, "cpu_percent": 50.0, "ram_percent": 1.0, "net_sent_mb_s": 0.0}}"#);
        let system = format!("{}\n{}\n{}\n", sample(100.25), sample(130.0), sample(160.25));
        let files = [("metrics.jsonl", requests.as_bytes()), ("system.jsonl", system.as_bytes())];
        let runs = run_test::read_files(None, &files).unwrap();
        assert_eq!(runs.len(), 2);
        for run in &runs {
            let server = run.manifest.clocks.server.as_ref().unwrap();
            assert_eq!((server.offset_ns, server.offset_uncertainty_ns), (Some(0), Some(0)), "{}", server.how);
            assert!(run.manifest.sources.iter().any(|s| s.format == "inference_profiler_system"));
        }
        // Of another machine or another day.
        let elsewhere = format!("{}\n", sample(90_000.0));
        let files = [("metrics.jsonl", requests.as_bytes()), ("system.jsonl", elsewhere.as_bytes())];
        let runs = run_test::read_files(None, &files).unwrap();
        assert!(runs.iter().all(|run| run.manifest.clocks.server.is_none()));
    }
}
