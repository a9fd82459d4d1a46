//! What AIPerf collected of the devices during its run: power, memory, load and temperature of each GPU.
//!
//! # Which files
//! `gpu_telemetry_export.jsonl`, one scrape of one device on a line, recognised by `telemetry_data` beside
//! `timestamp_ns`.
//!
//! # Versions seen
//! The keys that AIPerf documents up to schema 1.5, which puts `nvidia_` before the names of the figures; none of the
//! recordings at hand has a GPU, so the file in the fixtures was written by hand after them.
//!
//! # How the figures are read
//! - Memory is in gigabytes (10⁹ bytes), utilization in percent, power in watts: these become `gpu_memory_used_bytes`,
//!   `gpu_utilization`, `gpu_power_watts` and `gpu_temperature_celsius`. All other figures keep AIPerf's name and unit.
//! - A device is told by the labels `gpu` (its index), `uuid` and `host` (its host, else where it was asked).
//! - null is no value. The time is the collector's clock, in Unix nanoseconds.
//!
//! # What is not recorded
//! Which process used the device; anything between two scrapes.

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::metric::exposition::RawSeries;
use crate::metric::series::SeriesTable;
use crate::server::json_lines;
use crate::server::recording::ServerSink;
use crate::text::stamp::StampClock;
use postrun_schema::{Doc, IssueCode};
use serde_json::{Map, Value};

pub(super) static AIPERF_GPU_TELEMETRY: Ingestor = Ingestor {
    id: "aiperf_gpu_telemetry",
    title: "AIPerf's record of the devices",
    doc: Doc::from_source(include_str!("aiperf_gpu_telemetry.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

fn sniff(head: &Head) -> Sniff {
    let ours = head.has_all(&["timestamp_ns", "telemetry_data"]);
    if ours { Sniff::Strong } else { Sniff::No }
}

/// AIPerf's name, the canonical series, and the factor to its unit.
const FIGURES: &[(&str, &str, f64)] = &[
    ("gpu_memory_used", "gpu_memory_used_bytes", 1e9),
    ("gpu_memory_total", "gpu_memory_total_bytes", 1e9),
    ("gpu_utilization", "gpu_utilization", 0.01),
    ("gpu_power_usage", "gpu_power_watts", 1.0),
    ("power_usage", "gpu_power_watts", 1.0),
    ("gpu_temperature", "gpu_temperature_celsius", 1.0),
];

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    let mut series = SeriesTable::default();
    sink.clock(StampClock::Unix, 1);
    json_lines::read(source, sink, |scrape, sink, place| write_scrape(scrape, &mut series, sink, place))
}

fn write_scrape(
    scrape: &Map<String, Value>,
    series: &mut SeriesTable,
    sink: &mut ServerSink,
    place: &dyn Fn() -> String,
) -> Result<(), IngestError> {
    let Some(figures) = scrape.get("telemetry_data").and_then(Value::as_object) else {
        sink.skip(IssueCode::BadRecord, place, || "a line without telemetry_data".to_string());
        return Ok(());
    };
    let Some(at_ns) = scrape.get("timestamp_ns").and_then(Value::as_i64).filter(|at| *at > 0) else {
        sink.skip(IssueCode::NoSampleTime, place, || "a line without timestamp_ns".to_string());
        return Ok(());
    };
    let text = |key: &str| scrape.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
    if let Some(model) = text("gpu_model_name") {
        sink.fact("gpu_model", model);
    }
    let index = scrape.get("gpu_index").and_then(Value::as_i64).map(|i| i.to_string());
    let host = text("hostname").or_else(|| text("dcgm_url"));
    let known = [("gpu", index.as_deref()), ("uuid", text("gpu_uuid")), ("host", host)];
    let labels: Vec<(String, String)> =
        known.iter().filter_map(|(k, v)| Some((k.to_string(), v.as_ref()?.to_string()))).collect();
    for (name, value) in figures {
        let Some(value) = value.as_f64() else {
            if !value.is_null() {
                sink.issue(IssueCode::WrongType, place, || format!("{name} is {value}"));
            }
            continue;
        };
        let bare = name.strip_prefix("nvidia_").unwrap_or(name);
        let bare = if bare == name || bare.starts_with("gpu_") { bare.to_string() } else { format!("gpu_{bare}") };
        let figure = FIGURES.iter().find(|(theirs, _, _)| *theirs == bare);
        let (ours, factor) = figure.map_or((name.as_str(), 1.0), |(_, ours, factor)| (ours, *factor));
        let key = format!("{name}{labels:?}");
        let describe = || Some(RawSeries { name: ours.to_string(), labels: labels.clone() });
        if let Some(id) = series.entry(&key, sink, describe) {
            series.write(id, at_ns, value * factor, sink, place)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::reading_test::{read, samples, sniff};

    const LINES: &str = concat!(
        r#"{"timestamp_ns":1700000000000000001,"dcgm_url":"pynvml://localhost","gpu_index":0,"gpu_uuid":"GPU-x","#,
        r#""gpu_model_name":"X1","telemetry_data":{"gpu_memory_used":40.5,"gpu_utilization":87.0,"xid_errors":null}}"#,
        "\n",
        r#"{"timestamp_ns":1700000000333000002,"hostname":"h","gpu_index":1,"gpu_uuid":"GPU-y","#,
        r#""telemetry_data":{"nvidia_power_usage":300.5,"energy_consumption":1.25}}"#,
        "\n"
    );

    #[test]
    fn figures_in_our_units() {
        let (mut recording, _dir) = read(&AIPERF_GPU_TELEMETRY, "g", LINES.as_bytes()).unwrap();
        let all = samples(&mut recording);
        let got: Vec<(i64, &str, f64)> = all.iter().map(|s| (s.0, s.1.as_str(), s.3)).collect();
        let (first, second) = (1_700_000_000_000_000_001, 1_700_000_000_333_000_002);
        let expected = [
            (first, "gpu_memory_used_bytes", 40.5e9),
            (first, "gpu_utilization", 0.87),
            (second, "energy_consumption", 1.25),
            (second, "gpu_power_watts", 300.5),
        ];
        assert_eq!(got.len(), expected.len());
        for (got, want) in got.iter().zip(expected) {
            assert_eq!((got.0, got.1), (want.0, want.1));
            assert!((got.2 - want.2).abs() < 1e-9 * want.2, "{got:?}");
        }
        assert_eq!(all[0].2.as_deref(), Some("gpu=0,host=pynvml://localhost,uuid=GPU-x"));
        assert_eq!(recording.facts.get("gpu_model").map(String::as_str), Some("X1"));
        assert_eq!(sniff(&AIPERF_GPU_TELEMETRY, "g", LINES.as_bytes()), Sniff::Strong);
    }

    #[test]
    fn cuts_and_flips_invent_nothing() {
        let (mut recording, _dir) = read(&AIPERF_GPU_TELEMETRY, "g", LINES.as_bytes()).unwrap();
        let whole = samples(&mut recording);
        for end in 0..LINES.len() {
            if let Ok((mut recording, _dir)) = read(&AIPERF_GPU_TELEMETRY, "g", &LINES.as_bytes()[..end]) {
                assert!(samples(&mut recording).iter().all(|s| whole.contains(s)), "{end}");
            }
            let mut text = LINES.as_bytes().to_vec();
            text[end] = 0xff;
            let _ = read(&AIPERF_GPU_TELEMETRY, "g", &text);
        }
    }
}
