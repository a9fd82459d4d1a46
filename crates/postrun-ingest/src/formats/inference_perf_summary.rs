//! inference-perf's summary and stage reports: the figures that the client computed of its own run.
//!
//! # Which files
//! `summary_lifecycle_metrics.json` and `stage_N_lifecycle_metrics.json`: one object with `load_summary`, `successes` and
//! `failures`. Next to `per_request_lifecycle_metrics.json` both give way to it; without it every stage is a run (`stage2`)
//! and the summary, which pools them, gives way to the stages. Alone it is a run without requests. Reports by adapter
//! (`adapter_X_…`) are parts of these and left alone; reports of Prometheus figures, which have the same outer object and
//! no schedule, are read as inference_perf_prometheus.
//!
//! # Versions seen
//! 0.7.0 and those of the kubecon-na-2025 demo (real files); 0.2 to 0.6 by their sources.
//!
//! # How the figures are read
//! - Everything is in seconds. The client's latency runs to the end of the response.
//! - Rates are over the time from the first send to the last end, failed requests included.
//! - Its inter-token latency is over tokens, which share the time of their chunk; lengths are its tokenizer's.
//! - The rate that was asked for stands in the stage reports only.
//!
//! # What is not recorded
//! Everything about single requests; send times; the model; which versions wrote it.

use super::inference_perf::FAMILY;
use crate::bench::reported::{Named, named};
use crate::client::distribution::{figure, figures};
use crate::client::layer::{Layer, Part};
use crate::client::manifest::of_tool;
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::{self, ONE_OBJECT, RecordError};
use crate::json::{JsonReader, Tree};
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{Doc, Manifest, ReportedRow, TokenSource};

pub(super) static INFERENCE_PERF_SUMMARY: Ingestor = Ingestor {
    id: "inference_perf_summary",
    title: "inference-perf summary or stage report",
    doc: Doc::from_source(include_str!("inference_perf_summary.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

fn sniff(head: &Head) -> Sniff {
    let holds = |word: &str| memchr::memmem::find(head.bytes, word.as_bytes()).is_some();
    let report = head.has_all(&["load_summary", "successes", "failures"]) && holds("\"schedule_delay\"");
    match report && !head.name.starts_with("adapter_") {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    read_report(source, sink, INFERENCE_PERF_SUMMARY.id, "lifecycle", |report, stage| {
        let part = Part { reported: reported(report), ..Part::of(FAMILY, stage.map_or(Layer::Whole, Layer::Stage)) };
        (manifest(report, stage), part)
    })
}

/// Reads a report of one stage or of the whole, whose file is called after its `kind`, into the run that `of` makes of it.
pub(super) fn read_report(
    source: &mut Source,
    sink: &mut RunSink<'_>,
    format: &'static str,
    kind: &str,
    of: impl Fn(&Tree, Option<u32>) -> (Manifest, Part),
) -> Result<(), IngestError> {
    let (file, stage) = (source.name.clone(), stage_of(&source.base_name));
    let mut text = source.take_reader();
    let mut reader = JsonReader::new(&mut text);
    let walked = records::walk(&file, ONE_OBJECT, &mut reader, |reader| {
        let (manifest, part) = of(&reader.tree(200)?, stage);
        if part.reported.is_empty() {
            return Err(RecordError::NotARun("an object without any figure".to_string()));
        }
        let label =
            stage.map(|n| sink.default_label.replace(&format!("stage_{n}_{kind}_metrics"), &format!("stage{n}")));
        let run = FinishedRun { label, ..FinishedRun::of_figures(manifest, part) };
        sink.commit_figures(run).map_err(RecordError::Fatal)
    })?;
    drop(reader);
    sink.close(source, text, format, walked)
}

/// `stage_2_lifecycle_metrics.json` is stage 2, also with a prefix before it.
fn stage_of(name: &str) -> Option<u32> {
    let (_, rest) = name.rsplit_once("stage_")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn manifest(report: &Tree, stage: Option<u32>) -> Manifest {
    let mut manifest = of_tool("inference-perf", None, "by the members of its report, which names no version");
    let load = report.get("load_summary");
    let positive = |tree: &Tree| tree.number().filter(|v| v.is_finite() && *v > 0.0 && *v < 4e9);
    manifest.load.request_rate = positive(load.get("requested_rate"));
    manifest.load.max_concurrency = positive(load.get("concurrency")).map(|c| c as u32);
    manifest.load.unbounded = manifest.load.request_rate.is_none() && manifest.load.max_concurrency.is_some();
    manifest.load.num_prompts = load.get("count").count().map(u64::from);
    if let Some(stage) = stage {
        manifest.load.other.insert("stage".to_string(), stage.to_string());
    }
    let seconds = positive(report.get("benchmark_time_seconds")).filter(|s| *s >= 1e-6);
    manifest.duration_ns = seconds.map(|s| (s * 1e9).round() as i64);
    manifest.counted.completed = report.get("successes").get("count").count().map(u64::from);
    manifest.counted.failed = report.get("failures").get("count").count().map(u64::from);
    manifest.output_tokens_source = TokenSource::ClientTokenizer;
    manifest.prompt_tokens_source = TokenSource::ClientTokenizer;
    manifest.not_recorded = vec!["anything about single requests: a summary only".to_string()];
    manifest
}

fn reported(report: &Tree) -> Vec<ReportedRow> {
    let mut out = Vec::new();
    let successes = report.get("successes");
    let counts = [
        ("successes.count", named("requests_ok", "requests", "same"), successes.get("count")),
        ("failures.count", named("requests_failed", "requests", "same"), report.get("failures").get("count")),
        ("benchmark_time_seconds", named("duration_s", "s", "last_response"), report.get("benchmark_time_seconds")),
    ];
    for (key, name, value) in counts {
        out.extend(figure(&name, "value", key, value, 1.0));
    }
    for (key, stats) in successes.get("latency").members() {
        let (name, scale) = latency(key);
        figures(&name, key, stats, scale, &mut out);
    }
    for (key, value) in successes.get("throughput").members() {
        out.extend(figure(&throughput(key), "value", key, value, 1.0));
    }
    for (key, name) in [
        ("prompt_len", named("prompt_tokens", "tokens", "client_tokenizer_prompts")),
        ("prompt_tokens", named("prompt_tokens", "tokens", "client_tokenizer_prompts")),
        ("output_len", named("output_tokens", "tokens", "client_tokenizer_outputs")),
        ("output_tokens", named("output_tokens", "tokens", "client_tokenizer_outputs")),
    ] {
        figures(&name, key, successes.get(key), 1.0, &mut out);
    }
    let delay = report.get("load_summary").get("schedule_delay");
    figures(&named("", "s", "schedule_not_stored"), "schedule_delay", delay, 1.0, &mut out);
    for (key, name) in [
        ("send_duration", named("send_span_s", "s", "all_requests")),
        ("achieved_rate", named("sends_per_s", "req/s", "all_requests")),
        ("requested_rate", named("requested_per_s", "req/s", "a_setting")),
    ] {
        out.extend(figure(&name, "value", key, report.get("load_summary").get(key), 1.0));
    }
    out
}

fn latency(key: &str) -> (Named, f64) {
    match key {
        "request_latency" => (named("e2e_ms", "ms", "to_stream_end"), 1e3),
        "normalized_time_per_output_token" => {
            (named("e2e_per_output_token_ms", "ms", "client_lengths_to_stream_end"), 1e3)
        }
        "time_per_output_token" => (named("tpot_ms", "ms", "per_token_after_first"), 1e3),
        "time_to_first_token" => (named("ttft_ms", "ms", "same"), 1e3),
        "inter_token_latency" => (named("itl_ms", "ms", "tokens_share_chunk_time"), 1e3),
        _ => (named("", "s", "not_computed_here"), 1.0),
    }
}

fn throughput(key: &str) -> Named {
    match key {
        "requests_per_sec" => named("requests_per_s", "req/s", "same"),
        "input_tokens_per_sec" => named("prompt_tokens_per_s", "tok/s", "client_tokenizer_prompts"),
        "output_tokens_per_sec" => named("output_tokens_per_s", "tok/s", "client_tokenizer_outputs"),
        "total_tokens_per_sec" => named("total_tokens_per_s", "tok/s", "client_tokenizer_prompts"),
        "images_per_sec" => named("images_per_s", "1/s", "same"),
        "videos_per_sec" => named("videos_per_s", "1/s", "same"),
        "audios_per_sec" => named("audios_per_s", "1/s", "same"),
        _ => named("", "", "not_computed_here"),
    }
}
