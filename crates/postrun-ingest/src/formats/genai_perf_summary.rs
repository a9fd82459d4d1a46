//! GenAI-Perf's `profile_export_genai_perf.json`: the figures it computed of a perf_analyzer run.
//!
//! # Which files
//! One object with a member for every metric, `{"unit", "avg", "p50", …}`, beside `input_config`. Recognised by these and
//! by having none of AIPerf's own members. Next to the profile export it was made from (same folder) it gives way to it and
//! becomes what the client reported; alone it is a run without requests. The CSV holds the same, rounded.
//!
//! # Versions seen
//! 0.0.16 by its sources; no real file was at hand.
//!
//! # How the figures are read
//! - "Inter-token latency" is TPOT here, a mean for each request.
//! - Lengths are counted by the client's tokenizer on bare text.
//! - Rates are over last response − first send, and count requests that got no response.
//! - Its goodput pairs values of different requests where short ones are left out; it is kept and not compared.
//!
//! # What is not recorded
//! Everything about single requests; failures; times of day. Device telemetry and sessions inside are passed over.

use super::aiperf_summary::Summary;
use super::perf_analyzer::FAMILY;
use crate::client::layer::{Layer, Part};
use crate::client::manifest::of_tool;
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::{self, ONE_OBJECT, RecordError};
use crate::json::{JsonReader, Tree};
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{Doc, TokenSource};

pub(super) static GENAI_PERF_SUMMARY: Ingestor = Ingestor {
    id: "genai_perf_summary",
    title: "GenAI-Perf summary",
    doc: Doc::from_source(include_str!("genai_perf_summary.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

fn sniff(head: &Head) -> Sniff {
    let figures = head.has_any(&["request_throughput", "request_latency"]) && head.has_all(&["input_config"]);
    let of_aiperf =
        head.has_any(&["aiperf_version", "schema_version", "inter_chunk_latency", "benchmark_duration", "timeslices"]);
    match figures && !of_aiperf {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let file = source.name.clone();
    let mut text = source.take_reader();
    let mut reader = JsonReader::new(&mut text);
    let walked = records::walk(&file, ONE_OBJECT, &mut reader, |reader| {
        let mut summary = Summary::read(reader)?;
        if summary.figures.is_empty() {
            return Err(RecordError::NotARun("an object without any figure".to_string()));
        }
        for row in &mut summary.figures {
            if matches!(row.metric.as_str(), "requests_per_s" | "requests_ok") {
                row.convention = "all_exported_requests".into();
            }
        }
        commit(sink, summary).map_err(RecordError::Fatal)
    })?;
    drop(reader);
    sink.close(source, text, GENAI_PERF_SUMMARY.id, walked)
}

fn commit(sink: &mut RunSink<'_>, summary: Summary) -> Result<(), IngestError> {
    let mut manifest = of_tool("GenAI-Perf", None, "by the members of its summary, which names no version");
    let names = ["model_names", "model"].map(|key| summary.config.get(key));
    let model = names.into_iter().find_map(|value| value.elements().first().unwrap_or(value).text());
    manifest.model = model.map(String::from);
    let count = |metric: &str| summary.figures.iter().find(|row| row.metric == metric).and_then(|row| row.value);
    manifest.counted.completed = count("requests_ok").filter(|v| (0.0..1e15).contains(v)).map(|v| v as u64);
    let concurrency = summary.config.get("concurrency");
    manifest.load.max_concurrency = concurrency.count().filter(|c| *c > 0);
    manifest.load.request_rate = summary.config.get("request_rate").number().filter(|r| r.is_finite() && *r > 0.0);
    manifest.load.unbounded = manifest.load.request_rate.is_none() && *concurrency != Tree::Null;
    manifest.output_tokens_source = TokenSource::ClientTokenizer;
    manifest.prompt_tokens_source = TokenSource::ClientTokenizer;
    manifest.not_recorded = vec!["anything about single requests: a summary only".to_string()];
    let part = Part { reported: summary.figures, ..Part::of(FAMILY, Layer::Whole) };
    sink.commit_figures(FinishedRun::of_figures(manifest, part))
}
