//! A Benchmark Report of llm-d (schema 0.2) as JSON, for the dashboards and comparisons that read it.
//!
//! # What is in it
//! Requests, latencies and throughput over the whole run (`results.request_performance.aggregate`), what the server had
//! running and waiting, its KV cache, prefix cache hits and preemptions (`results.observability`), and the load and the
//! server's settings as recorded (`scenario`). Latencies are in ms, of the measured requests that were answered.
//!
//! # Definitions
//! `time_to_first_token` is ttft_ms, `time_per_output_token` tpot_ms, `inter_token_latency` itl_per_token_ms,
//! `normalized_time_per_output_token` e2e_per_output_token_ms, `request_latency` e2e_ms. Rates are over the client's
//! duration. `preemptions` holds the run's total as its mean. What is not recorded is absent; where the schema demands a
//! text, it is `not recorded`. `run.uid` is a hash of the files that the run was read from: the same run has the same.

use crate::error::ExportError;
use crate::target::{Out, Target};
use chrono::{DateTime, SecondsFormat};
use postrun_analysis::{Lengths, Options, RunAnalysis, Summary, analyse, lengths};
use postrun_report::json_escaped;
use postrun_schema::{Dataset, Doc, HashingWriter, Manifest};
use serde_json::{Value, json};
use std::io::Write;

pub(super) static BENCHMARK_REPORT: Target = Target {
    id: "benchmark-report",
    ending: "json",
    binary: false,
    doc: Doc::from_source(include_str!("benchmark_report.rs")),
    write,
};

/// The revision whose fields are used; every later 0.2 reads it.
const VERSION: &str = "0.2";
const NOT_RECORDED: &str = "not recorded";
/// The name that results of the server refer to it by.
const SERVER: &str = "server";
/// Percentiles of the schema, with their keys.
const PERCENTILES: [(f64, &str); 11] = [
    (0.1, "p0p1"),
    (1.0, "p1"),
    (5.0, "p5"),
    (10.0, "p10"),
    (25.0, "p25"),
    (50.0, "p50"),
    (75.0, "p75"),
    (90.0, "p90"),
    (95.0, "p95"),
    (99.0, "p99"),
    (99.9, "p99p9"),
];

fn write(dataset: &Dataset, out: Out<'_>) -> Result<Vec<String>, ExportError> {
    let percentiles: Vec<f64> = PERCENTILES.iter().map(|p| p.0).collect();
    let run =
        analyse(dataset, &Options { percentiles: percentiles.clone(), metrics_only: true, ..Options::default() })?;
    let lengths = lengths(dataset, &percentiles)?;
    writeln!(out, "{}", json_escaped(&serde_json::to_string_pretty(&report(&run, &lengths)?)?))?;
    Ok(Vec::new())
}

fn report(run: &RunAnalysis, lengths: &Lengths) -> Result<Value, ExportError> {
    let server = server(&run.manifest)?;
    let aggregate = object([
        ("requests", Some(requests(run, lengths))),
        ("latency", some(latency(run))),
        ("throughput", some(throughput(run))),
    ]);
    // Figures of a server refer to it, so they need one that is described.
    let observed = some(observed(run)).filter(|_| server.is_some());
    let observed = observed.map(|o| json!({"components": [{"component_label": SERVER, "aggregate": o}]}));
    let scenario = object([("stack", server.map(|s| json!([s]))), ("load", load(&run.manifest, lengths))]);
    let results = object([("request_performance", Some(json!({"aggregate": aggregate}))), ("observability", observed)]);
    Ok(object([
        ("version", Some(json!(VERSION))),
        ("run", Some(about(run)?)),
        ("scenario", some(scenario)),
        ("results", Some(results)),
    ]))
}

/// An object of what is known.
fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    fields.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?))).collect()
}

/// Nothing instead of an empty object.
fn some(value: Value) -> Option<Value> {
    Some(value).filter(|v| v.as_object().is_none_or(|o| !o.is_empty()))
}

fn hash(parts: impl IntoIterator<Item = String>) -> Result<String, ExportError> {
    let mut hash = HashingWriter::new(std::io::sink());
    for part in parts {
        // Each part by itself: what ends one cannot begin the next.
        write!(hash, "{}:{part}", part.len())?;
    }
    Ok(hash.finish().2)
}

fn about(run: &RunAnalysis) -> Result<Value, ExportError> {
    let manifest = &run.manifest;
    let sources = manifest.sources.iter().flat_map(|s| [s.sha256.clone(), s.run_in_file.to_string()]);
    let uid = hash([manifest.label.clone()].into_iter().chain(sources))?;
    let stamp = |ns: i64| DateTime::from_timestamp_nanos(ns).to_rfc3339_opts(SecondsFormat::Nanos, true);
    let start = manifest.clocks.client.origin_unix_ns;
    let duration = run.facts.duration_s.filter(|s| s.is_finite() && *s >= 0.0);
    let end = start.zip(duration).map(|(start, s)| start.saturating_add((s * 1e9) as i64));
    let time = object([
        ("start", start.map(|ns| json!(stamp(ns)))),
        ("end", end.map(|ns| json!(stamp(ns)))),
        ("duration", duration.map(|s| json!(format!("PT{s}S")))),
    ]);
    Ok(object([("uid", Some(json!(uid))), ("time", some(time)), ("description", Some(json!(manifest.label)))]))
}

/// The statistics of a distribution, times `scale`.
fn statistics(summary: &Summary, units: &str, scale: f64) -> Value {
    let mut out = json!({
        "units": units,
        "mean": summary.mean * scale,
        "stddev": summary.std * scale,
        "min": summary.min * scale,
        "max": summary.max * scale,
    });
    for (p, key) in PERCENTILES {
        if let Some(found) = summary.percentile(p) {
            out[key] = json!(found.value * scale);
        }
    }
    out
}

fn requests(run: &RunAnalysis, lengths: &Lengths) -> Value {
    let known = run.counts_requests();
    let length = |summary: &Option<Summary>| summary.as_ref().map(|s| statistics(s, "count", 1.0));
    object([
        ("total", known.then(|| json!(run.requests.total))),
        ("failures", known.then(|| json!(run.requests.failed))),
        ("incomplete", known.then(|| json!(run.requests.incomplete))),
        ("input_length", length(&lengths.prompt)),
        ("output_length", length(&lengths.output)),
    ])
}

fn latency(run: &RunAnalysis) -> Value {
    let of = |metric: &str, units: &str| run.metric(metric).map(|s| statistics(s, units, 1e-6));
    object([
        ("time_to_first_token", of("ttft_ms", "ms")),
        ("normalized_time_per_output_token", of("e2e_per_output_token_ms", "ms/token")),
        ("time_per_output_token", of("tpot_ms", "ms/token")),
        ("inter_token_latency", of("itl_per_token_ms", "ms/token")),
        ("request_latency", of("e2e_ms", "ms")),
    ])
}

fn mean(value: Option<f64>, units: &str) -> Option<Value> {
    Some(json!({"units": units, "mean": value?}))
}

fn throughput(run: &RunAnalysis) -> Value {
    object([
        ("input_token_rate", mean(run.value("prompt_tokens_per_s"), "tokens/s")),
        ("output_token_rate", mean(run.value("output_tokens_per_s"), "tokens/s")),
        ("total_token_rate", mean(run.value("total_tokens_per_s"), "tokens/s")),
        ("request_rate", mean(run.value("requests_per_s"), "queries/s")),
    ])
}

fn observed(run: &RunAnalysis) -> Value {
    let server = &run.facts.server;
    let level = |mean_of: Option<f64>, max: Option<f64>, units: &str| {
        let mut value = mean(mean_of, units)?;
        if let Some(max) = max {
            value["max"] = json!(max);
        }
        Some(value)
    };
    let count = |l: &Option<postrun_analysis::Level>| level(l.and_then(|l| l.mean), l.map(|l| l.max), "count");
    let kv = server.kv_cache_usage.as_ref();
    object([
        ("kv_cache_usage", level(kv.and_then(|k| k.mean), kv.and_then(|k| k.max), "fraction")),
        ("cache_hit_rate", mean(server.prefix_cache_hit_rate, "fraction")),
        ("gpu_utilization", mean(server.gpu_utilization, "fraction")),
        ("running_requests", count(&server.running)),
        ("waiting_requests", count(&server.waiting)),
        ("preemptions", mean(server.preemption.as_ref().and_then(|p| p.total), "count")),
    ])
}

/// The server as recorded; nothing where nothing of it is.
fn server(manifest: &Manifest) -> Result<Option<Value>, ExportError> {
    let facts = &manifest.server;
    if facts.is_empty() && manifest.model.is_none() {
        return Ok(None);
    }
    let text = |key: &str| facts.get(key).map_or(NOT_RECORDED, String::as_str);
    let model = manifest.model.as_ref().map(|name| json!({"name": name}));
    let standardized = object([
        ("kind", Some(json!("generic"))),
        ("tool", Some(json!(text("name")))),
        ("tool_version", Some(json!(text("version")))),
        ("model", model),
    ]);
    let id = hash(facts.iter().flat_map(|(k, v)| [k.clone(), v.clone()]).chain(manifest.model.clone()))?;
    Ok(Some(json!({
        "metadata": {"label": SERVER, "cfg_id": id},
        "standardized": standardized,
        "native": {"config": facts},
    })))
}

/// The load as recorded. The schema wants to know how long prompts were.
fn load(manifest: &Manifest, lengths: &Lengths) -> Option<Value> {
    let prompt = lengths.prompt.as_ref()?;
    let load = &manifest.load;
    let length = |s: &Summary| {
        let fixed = s.min == s.max;
        let bounds = |v: f64| (v >= 1.0).then(|| json!(v as u64));
        object([
            ("distribution", Some(json!(if fixed { "fixed" } else { "other" }))),
            ("value", Some(json!(s.mean))),
            ("min", bounds(s.min)),
            ("max", bounds(s.max)),
        ])
    };
    let standardized = object([
        ("tool", Some(json!(manifest.tool.name))),
        ("tool_version", Some(json!(manifest.tool.version.as_deref().unwrap_or(NOT_RECORDED)))),
        ("source", Some(json!("unknown"))),
        ("input_seq_len", Some(length(prompt))),
        ("rate_qps", load.request_rate.filter(|r| r.is_finite() && *r > 0.0).map(|r| json!(r))),
        ("concurrency", load.max_concurrency.filter(|c| *c >= 1).map(|c| json!(c))),
    ]);
    Some(json!({"metadata": {}, "standardized": standardized, "native": {"config": load}}))
}
