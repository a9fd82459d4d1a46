//! Hugging Face inference-benchmarker's report: the figures of each step, summaries only.
//!
//! # Which files
//! The JSON that `inference-benchmarker` writes below `results/`: one object with `config` and `results`, an entry for the
//! warm-up, for the throughput test and for every rate, each of which becomes a run. Recognised by `results` beside a
//! `token_throughput_secs` or an `inter_token_latency_ms`.
//!
//! # Versions seen
//! 1.1 by its sources; no real file was at hand. Older ones store no percentiles but `…_avg`, `…_p90` and `…_p95`.
//!
//! # How the figures are read
//! - "Inter-token latency" is TPOT here: gaps of a request over its tokens less one, 0 where all came at once.
//! - Latency runs to the end of the stream, TTFT to any first chunk.
//! - The duration is from the start of the request that ended first to the end of the one that ended last. Rates count
//!   successful requests and divide by it.
//! - Output tokens are counted by the client, a chunk with text as its tokens.
//! - `max_vus` is the concurrency of the throughput test, and a limit where requests come at a rate; what would exceed it is
//!   not sent, so that the rate is not kept then.
//!
//! # What is not recorded
//! Everything about single requests, errors, requests that were cut at the end of a step.

use crate::bench::reported::named;
use crate::client::distribution::{figure, figures};
use crate::client::manifest::of_tool;
use crate::client::value::Judge;
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::{self, ONE_OBJECT, RecordError};
use crate::json::{JsonReader, Result, Tree, shorten};
use crate::sink::{Fingerprint, FinishedRun, RunSink};
use postrun_schema::{Doc, IssueCode, Issues, Manifest, ReportedRow, TokenSource};
use std::io::Read;

pub(super) static INFERENCE_BENCHMARKER: Ingestor = Ingestor {
    id: "inference_benchmarker",
    title: "inference-benchmarker report",
    doc: Doc::from_source(include_str!("inference_benchmarker.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

const TEXT_BYTES: usize = 400;

fn sniff(head: &Head) -> Sniff {
    let has = |key: &[u8]| memchr::memmem::find(head.bytes, key).is_some();
    let ours = has(b"\"token_throughput_secs\"") || has(b"\"inter_token_latency_ms\"");
    match head.keys.contains("results") && ours && has(b"\"executor_type\"") {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> std::result::Result<(), IngestError> {
    let file = source.name.clone();
    let mut text = source.take_reader();
    let mut reader = JsonReader::new(&mut text);
    let walked = records::walk(&file, ONE_OBJECT, &mut reader, |reader| {
        let mut report = Report::default();
        let read = report.read(reader, &file);
        // What was read before the file broke are runs all the same.
        let found = report.steps.len();
        for step in &report.steps {
            step.commit(&report, sink).map_err(RecordError::Fatal)?;
        }
        read?;
        match found {
            0 => Err(RecordError::NotARun("a report without results".to_string())),
            _ => Ok(()),
        }
    })?;
    drop(reader);
    sink.close(source, text, INFERENCE_BENCHMARKER.id, walked)
}

/// A report has some dozen steps.
const MOST_STEPS: usize = 10_000;

#[derive(Default)]
struct Report {
    config: Tree,
    started: Tree,
    steps: Vec<Step>,
}

/// One entry of `results`.
struct Step {
    entry: Tree,
    place: String,
}

impl Report {
    fn read<R: Read>(&mut self, reader: &mut JsonReader<R>, file: &str) -> Result<()> {
        reader.object(|reader, key| match key {
            "config" => reader.tree(TEXT_BYTES).map(|config| self.config = config),
            "start_time" => reader.tree(64).map(|started| self.started = started),
            "results" if reader.peek()? == Some(b'[') => {
                let each = |reader: &mut JsonReader<R>| {
                    let place = format!("{file}: byte {}", reader.offset());
                    let entry = reader.tree(TEXT_BYTES)?;
                    if !entry.members().is_empty() && self.steps.len() < MOST_STEPS {
                        self.steps.push(Step { entry, place });
                    }
                    Ok(())
                };
                reader.array(each).map(drop)
            }
            _ => reader.skip_value(),
        })
    }
}

impl Step {
    fn commit(&self, report: &Report, sink: &mut RunSink<'_>) -> std::result::Result<(), IngestError> {
        let mut writer = sink.writer()?;
        self.reported().into_iter().for_each(|row| writer.push_reported(row));
        let mut issues = Issues::default();
        let place = || self.place.clone();
        let judge = &mut Judge { issues: &mut issues, place: &place };
        let duration = judge.duration("duration_ms", self.entry.get("duration_ms"), 1_000).filter(|ns| *ns > 0);
        let failed = self.count("failed_requests");
        if let Some(n) = failed.filter(|n| *n > 0) {
            issues.add_many(IssueCode::FailedRequests, n, place, || format!("{n} failed, no text kept"));
        }
        let mut manifest = self.manifest(report);
        manifest.duration_ns = duration;
        manifest.counted.failed = failed;
        let shape = self.entry.get("id").text().unwrap_or("step").to_string();
        let fingerprint =
            Some(Fingerprint { values: format!("inference_benchmarker {:?}", self.entry), requests: None });
        sink.commit(writer, FinishedRun { manifest, issues, requests: 0, label: None, shape, fingerprint, part: None })
    }

    fn count(&self, key: &str) -> Option<u64> {
        self.entry.get(key).integer().and_then(|n| u64::try_from(n).ok())
    }

    fn manifest(&self, report: &Report) -> Manifest {
        let mut manifest =
            of_tool("inference-benchmarker", None, "by the members of its report, which names no version");
        let names = ["model_name", "model", "tokenizer"].map(|key| report.config.get(key).text());
        manifest.model = names.into_iter().flatten().find(|name| !name.is_empty()).map(String::from);
        let config = self.entry.get("config");
        let rate = config.get("rate").number().filter(|rate| rate.is_finite() && *rate > 0.0);
        let load = &mut manifest.load;
        load.request_rate = rate;
        load.max_concurrency = config.get("max_vus").count().filter(|n| *n > 0);
        load.unbounded = rate.is_none() && load.max_concurrency.is_some();
        load.date = report.started.text().map(String::from);
        load.date_is_start = true;
        for (key, value) in [("id", self.entry.get("id")), ("executor_type", self.entry.get("executor_type"))] {
            if let Some(text) = value.text() {
                load.other.insert(key.to_string(), shorten(text.to_string(), 200));
            }
        }
        if let Tree::Number(seconds) = config.get("duration_secs") {
            load.other.insert("duration_secs".to_string(), shorten(seconds.clone(), 40));
        }
        manifest.counted.completed = self.count("successful_requests");
        manifest.counted.prompt_tokens = self.count("total_tokens_sent");
        manifest.counted.output_tokens = self.count("total_tokens");
        manifest.prompt_tokens_source = TokenSource::ClientTokenizer;
        manifest.output_tokens_source = TokenSource::ClientTokenizer;
        let absent = ["anything about single requests: a summary only", "texts of errors", "gaps between chunks"];
        manifest.not_recorded = absent.map(String::from).to_vec();
        manifest
    }

    fn reported(&self) -> Vec<ReportedRow> {
        let mut rows = Vec::new();
        for (key, name) in [
            ("time_to_first_token_ms", named("ttft_ms", "ms", "first_chunk")),
            ("inter_token_latency_ms", named("tpot_ms", "ms", "to_stream_end")),
            ("e2e_latency_ms", named("e2e_ms", "ms", "to_stream_end")),
        ] {
            figures(&name, key, self.entry.get(key), 1.0, &mut rows);
            for (end, stat) in [("avg", "mean"), ("p90", "p90"), ("p95", "p95")] {
                let older = format!("{key}_{end}");
                rows.extend(figure(&name, stat, &older, self.entry.get(&older), 1.0));
            }
        }
        for (key, name, scale) in [
            ("successful_requests", named("requests_ok", "requests", "same"), 1.0),
            ("failed_requests", named("requests_failed", "requests", "same"), 1.0),
            ("total_tokens", named("output_tokens", "tokens", "same"), 1.0),
            ("total_tokens_sent", named("prompt_tokens", "tokens", "same"), 1.0),
            ("duration_ms", named("duration_s", "s", "client_stopwatch"), 1e-3),
            ("request_rate", named("requests_per_s", "req/s", "same"), 1.0),
            ("token_throughput_secs", named("output_tokens_per_s", "tok/s", "same"), 1.0),
        ] {
            rows.extend(figure(&name, "value", key, self.entry.get(key), scale));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::run_test::{mutate_at_random, read};

    const FIXTURE: &[u8] = include_bytes!("../../../../fixtures/inference_benchmarker/three_steps/input/report.json");

    #[test]
    fn a_step_is_a_run() {
        let runs = read(&INFERENCE_BENCHMARKER, "report.json", FIXTURE).unwrap();
        let labels: Vec<&str> = runs.iter().map(|r| r.manifest.label.as_str()).collect();
        assert_eq!(labels, ["report-warmup", "report-throughput", "report-constant@2.50req_s"]);
        let rate = &runs[2];
        assert_eq!(
            (rate.figure("ttft_ms p50"), rate.figure("tpot_ms mean"), rate.figure("e2e_ms p99")),
            (41.5, 9.25, 700.0)
        );
        assert_eq!((rate.manifest.load.request_rate, rate.manifest.load.max_concurrency), (Some(2.5), Some(64)));
        assert_eq!((runs[1].manifest.load.unbounded, rate.manifest.load.unbounded), (true, false));
        assert_eq!(rate.manifest.duration_ns, Some(20_000_000_000));
        assert_eq!((rate.manifest.counted.completed, rate.issue(IssueCode::FailedRequests)), (Some(48), 2));
        assert_eq!(rate.manifest.model.as_deref(), Some("tiny"));
        let older = br#"{"results":[{"id":"a","executor_type":"ConstantVUs","time_to_first_token_ms_avg":20,"duration_ms":-4}]}"#;
        let runs = read(&INFERENCE_BENCHMARKER, "older.json", older).unwrap();
        assert_eq!((runs[0].figure("ttft_ms mean"), runs[0].issue(IssueCode::NegativeDuration)), (20.0, 1));
    }

    #[test]
    fn damage_is_no_crash() {
        mutate_at_random(&INFERENCE_BENCHMARKER, "hurt.json", FIXTURE, 150);
        for cut in (1..FIXTURE.len()).step_by(9) {
            let found = read(&INFERENCE_BENCHMARKER, "cut.json", &FIXTURE[..cut]).map_or(0, |runs| runs.len());
            assert!(found <= 3, "cut at {cut}");
        }
        assert!(read(&INFERENCE_BENCHMARKER, "none.json", b"{\"results\":[]}").is_err());
    }
}
