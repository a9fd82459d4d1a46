//! AIPerf's `profile_export_aiperf.json`: the figures that the client computed of its own run.
//!
//! # Which files
//! One object with a member for every metric, `{"unit", "avg", "p50", …}`, beside `aiperf_version`, `input_config` and
//! `run_info`. Recognised by `aiperf_version`, or by `input_config` beside AIPerf's own metrics. Next to a
//! `profile_export.jsonl` of the same run (same folder, overlapping times) it gives way to it: its figures become what
//! the client reported, its settings and version fill the manifest. Alone it is a run without requests. The CSV holds the
//! same figures rounded: beside this file it is left alone (aiperf_summary_csv), unless its figures are others.
//!
//! # Versions seen
//! 0.13.0 with schema 1.4 (recorded); schema 1.0 to 1.5 and 0.1.1, which names no version, by their sources.
//!
//! # How the figures are read
//! - What AIPerf calls inter-token latency is TPOT here; its inter-chunk latency is ITL.
//! - Rates are over `end_time − start_time`, which is longer than `benchmark_duration`, first send to last token. The
//!   former becomes the duration of the run.
//! - Lengths and what is divided by them come from the client's tokenizer; `usage_*` is the server's.
//! - `adj_*` take failed requests as infinitely slow; `effective_*`, `active_*` and `*_in_flight` are weighted by
//!   time. They are kept under the tool's own names.
//!
//! # What is not recorded
//! Everything about single requests. Warm-up figures and device telemetry inside the file are passed over.

use super::aiperf_records::{FAMILY, beside};
use crate::bench::reported::{Named, named};
use crate::client::distribution::{figure, figures};
use crate::client::layer::{Layer, Part};
use crate::client::manifest::of_tool;
use crate::client::value::TEXT_BYTES;
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::{self, ONE_OBJECT, RecordError};
use crate::json::{JsonReader, Tree};
use crate::sink::{FinishedRun, RunSink};
use crate::text::stamp::CivilStamp;
use postrun_schema::{Doc, Load, Manifest, ReportedRow, TokenSource};
use std::io::Read;

pub(super) static AIPERF_SUMMARY: Ingestor = Ingestor {
    id: "aiperf_summary",
    title: "AIPerf summary",
    doc: Doc::from_source(include_str!("aiperf_summary.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

fn sniff(head: &Head) -> Sniff {
    let metrics = head.has_any(&["request_latency", "request_throughput", "request_count"]);
    let versioned = head.has_all(&["schema_version", "aiperf_version"]);
    // 0.1.1 names no version; GenAI-Perf, whose file looks the same, has none of these.
    let older = head.has_all(&["input_config"]) && head.has_any(&["inter_chunk_latency", "benchmark_duration"]);
    match metrics && (versioned || older) && !head.has_any(&["timeslices"]) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

/// Members that are no figures of the measured requests, or have no bound.
const PASSED_OVER: &[&str] = &["telemetry_data", "warmup_metrics", "error_summary"];

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let file = source.name.clone();
    let mut text = source.take_reader();
    let mut reader = JsonReader::new(&mut text);
    let walked = records::walk(&file, ONE_OBJECT, &mut reader, |reader| {
        let summary = Summary::read(reader)?;
        if summary.figures.is_empty() {
            return Err(RecordError::NotARun("an object without any figure".to_string()));
        }
        summary.commit(sink).map_err(RecordError::Fatal)
    })?;
    drop(reader);
    sink.close(source, text, AIPERF_SUMMARY.id, walked)
}

/// The members of a summary.
#[derive(Default)]
pub(super) struct Summary {
    pub(super) figures: Vec<ReportedRow>,
    pub(super) config: Tree,
    /// Members with a plain value: versions, times, flags.
    plain: Vec<(String, Tree)>,
}

impl Summary {
    pub(super) fn read<R: Read>(reader: &mut JsonReader<R>) -> Result<Summary, RecordError> {
        let mut summary = Summary::default();
        reader.object(|reader, key| {
            if PASSED_OVER.contains(&key) {
                return reader.skip_value();
            }
            let value = reader.tree(TEXT_BYTES)?;
            match value {
                Tree::Map(_) if key == "input_config" => summary.config = value,
                Tree::Map(_) if value.get("unit").text().is_some() => add(key, &value, &mut summary.figures),
                Tree::Map(_) | Tree::List(_) => {}
                value => summary.plain.push((key.to_string(), value)),
            }
            Ok(())
        })?;
        Ok(summary)
    }

    fn plain(&self, key: &str) -> Option<&Tree> {
        self.plain.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.plain(key).and_then(Tree::text).map(String::from)
    }

    /// ISO times without a zone, which are UTC.
    fn unix_ns(&self, key: &str) -> Option<i64> {
        let text = self.text(key)?;
        let (stamp, _) = CivilStamp::parse(&text)?;
        Some(stamp.at_ns(stamp.year?))
    }

    fn commit(self, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
        let manifest = self.manifest();
        let window_unix_ns = self.unix_ns("start_time").zip(self.unix_ns("end_time"));
        let part = Part { window_unix_ns, reported: self.figures, ..Part::of(FAMILY, Layer::Whole) };
        sink.commit_figures(FinishedRun::of_figures(manifest, part))
    }

    fn manifest(&self) -> Manifest {
        let how = match self.plain("aiperf_version") {
            Some(_) => "aiperf_version in the summary",
            None => "the summary names no version, as those of 0.1",
        };
        let mut manifest = of_tool("AIPerf", self.text("aiperf_version"), how);
        let model = self.config.get("models").get("items").elements().first().map(|item| item.get("name"));
        let older = self.config.get("endpoint").get("model_names").elements().first();
        manifest.model = model.or(older).and_then(Tree::text).map(String::from);
        manifest.load = load(&self.config);
        manifest.load.date = self.text("start_time");
        manifest.load.date_is_start = true;
        let span = self.unix_ns("start_time").zip(self.unix_ns("end_time")).map(|(from, to)| to.saturating_sub(from));
        manifest.duration_ns = span.filter(|ns| *ns > 0);
        manifest.duration_from_unix_ns = manifest.duration_ns.and_then(|_| self.unix_ns("start_time"));
        count(&mut manifest, &self.figures);
        manifest
    }
}

/// What the figures of a summary count, by whose tokens.
pub(super) fn count(manifest: &mut Manifest, figures: &[ReportedRow]) {
    let counted = |metric: &str| {
        let figure = figures.iter().find(|row| row.metric == metric && row.stat == "value")?;
        figure.value.filter(|v| (0.0..1e15).contains(v)).map(|v| v as u64)
    };
    manifest.counted.completed = counted("requests_ok");
    manifest.counted.failed = counted("requests_failed");
    manifest.counted.prompt_tokens = counted("prompt_tokens");
    manifest.counted.output_tokens = counted("output_tokens");
    manifest.output_tokens_source = TokenSource::ClientTokenizer;
    manifest.prompt_tokens_source = TokenSource::ClientTokenizer;
    manifest.not_recorded = vec!["anything about single requests: a summary only".to_string()];
}

/// The load as `phases` (0.13) or `loadgen` (0.1) describe it.
fn load(config: &Tree) -> Load {
    let phases = config.get("phases").elements();
    let profiling = |phase: &&Tree| phase.get("kind").text() != Some("warmup");
    let phase = phases.iter().find(profiling).unwrap_or(config.get("loadgen"));
    let first = |keys: &[&str]| keys.iter().find_map(|key| phase.get(key).number());
    let rate = first(&["rate", "request_rate"]).filter(|r| *r > 0.0);
    let max_concurrency = first(&["concurrency"]).filter(|c| (1.0..4e9).contains(c)).map(|c| c as u32);
    let arrival = phase.get("type").text().or(phase.get("arrival_pattern").text());
    let mut load = Load {
        request_rate: rate,
        unbounded: rate.is_none() && max_concurrency.is_some(),
        burstiness: (arrival == Some("poisson")).then_some(1.0),
        max_concurrency,
        num_prompts: first(&["requests", "request_count"]).filter(|n| (0.0..1e15).contains(n)).map(|n| n as u64),
        dataset: config.get("datasets").elements().first().and_then(|d| d.get("type").text()).map(String::from),
        backend: config.get("endpoint").get("type").text().map(String::from),
        ..Load::default()
    };
    let settings = [
        ("arrival", arrival.map(String::from)),
        ("duration", first(&["duration"]).map(|s| s.to_string())),
        ("streaming", matches!(config.get("endpoint").get("streaming"), Tree::Bool(true)).then(|| "true".to_string())),
    ];
    load.other.extend(settings.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?))));
    load
}

/// All rows of one metric.
pub(super) fn add(key: &str, stats: &Tree, out: &mut Vec<ReportedRow>) {
    let unit = stats.get("unit").text().unwrap_or_default();
    if let Some(name) = latency(key) {
        let scale = match unit {
            "sec" | "s" => 1e3,
            _ => 1.0,
        };
        figures(&name, key, stats, scale, out);
    } else if let Some((name, scale)) = single(key) {
        out.extend(figure(&name, "value", key, stats.get("avg"), scale));
    } else if let Some(name) = of_requests(key) {
        figures(&name, key, stats, 1.0, out);
    } else if let Some(name) = over_time(key) {
        figures(&name, key, stats, 1.0, out);
    } else if let Some((name, scale)) = of_the_exchange(key, unit) {
        figures(&name, key, stats, scale, out);
    } else {
        figures(&named("", known_unit(unit), "not_computed_here"), key, stats, 1.0, out);
    }
}

fn latency(key: &str) -> Option<Named> {
    Some(match key {
        "time_to_first_token" => named("ttft_ms", "ms", "same"),
        "request_latency" => named("e2e_ms", "ms", "same"),
        "inter_token_latency" => named("tpot_ms", "ms", "client_tokenizer_outputs"),
        "inter_chunk_latency" => named("itl_ms", "ms", "chunk_gaps"),
        "credit_to_start_latency" => named("client_queue_ms", "ms", "all_requests_coarse_times"),
        _ => return None,
    })
}

/// Distributions over requests that are no latency of postrun's.
fn of_requests(key: &str) -> Option<Named> {
    Some(match key {
        "adj_request_latency" => named("e2e_ms", "ms", "failures_as_infinite"),
        "adj_time_to_first_token" => named("ttft_ms", "ms", "failures_as_infinite"),
        "adj_decode_duration" => named("client_decode_ms", "ms", "failures_as_infinite"),
        "adj_inter_token_latency" => named("tpot_ms", "ms", "failures_as_infinite_client_tokens"),
        "effective_latency" => named("e2e_ms", "ms", "from_schedule_coarse_times"),
        "time_to_first_output_token" => named("first_answer_token_ms", "ms", "same"),
        "output_token_count" => named("answer_tokens", "tokens", "client_tokenizer_outputs"),
        "decode_duration" => named("client_decode_ms", "ms", "same"),
        "time_to_second_token" => named("second_token_ms", "ms", "same"),
        "input_sequence_length" => named("prompt_tokens", "tokens", "client_tokenizer_prompts"),
        "output_sequence_length" => named("output_tokens", "tokens", "client_tokenizer_outputs"),
        "error_isl" => named("prompt_tokens", "tokens", "failed_requests"),
        "usage_prompt_tokens" => named("prompt_tokens", "tokens", "same"),
        "usage_completion_tokens" => named("output_tokens", "tokens", "same"),
        "usage_total_tokens" => named("total_tokens", "tokens", "same"),
        "output_token_throughput_per_user" => {
            named("decode_tokens_per_s_per_request", "tok/s", "client_tokenizer_outputs")
        }
        "e2e_output_token_throughput" => named("output_tokens_per_s_per_request", "tok/s", "client_tokenizer_outputs"),
        "prefill_throughput_per_user" | "prefill_throughput" => {
            named("prompt_tokens_per_s_per_request", "tok/s", "client_tokenizer_prompts")
        }
        "usage_prompt_tokens_diff_pct" => named("prompt_tokens_apart_percent", "%", "same"),
        "osl_mismatch_diff_pct" => named("requested_tokens_apart_percent", "%", "same"),
        "usage_completion_tokens_diff_pct" => named("output_tokens_apart_percent", "%", "same"),
        _ => return None,
    })
}

/// Curves over the measured phase, of which the client stores statistics; the active ones leave idle time out.
fn over_time(key: &str) -> Option<Named> {
    let (curve, definition) = match key.strip_prefix("active_") {
        Some(curve) => (curve, "weighted_by_busy_time"),
        None => (key.strip_prefix("effective_").unwrap_or(key), "weighted_by_time"),
    };
    let (metric, unit) = match curve {
        "concurrency" => ("concurrency_over_time", "requests"),
        "prefill_concurrency" => ("prefill_concurrency_over_time", "requests"),
        "decode_concurrency" => ("decode_concurrency_over_time", "requests"),
        "prefill_throughput" => ("prefill_tokens_per_s_over_time", "tok/s"),
        "decode_throughput" => ("decode_tokens_per_s_over_time", "tok/s"),
        "total_throughput" => ("total_tokens_per_s_over_time", "tok/s"),
        "prefill_throughput_per_user" => ("prefill_tokens_per_s_per_request_over_time", "tok/s"),
        "decode_throughput_per_user" => ("decode_tokens_per_s_per_request_over_time", "tok/s"),
        "tokens_in_flight" => ("tokens_in_flight_over_time", "tokens"),
        _ => return None,
    };
    Some(named(metric, unit, definition))
}

/// Phases of the HTTP exchange, and what turns a value into the unit of its name.
fn of_the_exchange(key: &str, unit: &str) -> Option<(Named, f64)> {
    let name = beside::number_of(key)?;
    let unit_of_name = match name {
        name if name.ends_with("_ms") => "ms",
        name if name.ends_with("_bytes") => "bytes",
        "http_connection_reused" => "ratio",
        _ => "count",
    };
    Some((named(name, unit_of_name, "same"), beside::scale(name, unit)?))
}

/// Metrics with one value a run, and what turns it into postrun's unit.
fn single(key: &str) -> Option<(Named, f64)> {
    Some(match key {
        "request_count" => (named("requests_ok", "requests", "same"), 1.0),
        "error_request_count" => (named("requests_failed", "requests", "cancelled_are_failed"), 1.0),
        "request_error_rate" => (named("failure_rate", "", "cancelled_are_failed"), 0.01),
        "benchmark_duration" => (named("duration_s", "s", "last_token"), 1.0),
        "completed_request_count" => (named("requests_total", "requests", "same"), 1.0),
        "total_output_tokens" => (named("answer_tokens", "tokens", "client_tokenizer_outputs"), 1.0),
        "total_usage_total_tokens" => (named("total_tokens", "tokens", "same"), 1.0),
        "total_error_isl" => (named("prompt_tokens", "tokens", "failed_requests"), 1.0),
        "request_throughput" => (named("requests_per_s", "req/s", "same"), 1.0),
        "output_token_throughput" => (named("output_tokens_per_s", "tok/s", "client_tokenizer_outputs"), 1.0),
        "input_token_throughput" => (named("prompt_tokens_per_s", "tok/s", "client_tokenizer_prompts"), 1.0),
        "total_token_throughput" => (named("total_tokens_per_s", "tok/s", "client_tokenizer_prompts"), 1.0),
        "total_isl" => (named("prompt_tokens", "tokens", "client_tokenizer_prompts"), 1.0),
        "total_osl" => (named("output_tokens", "tokens", "client_tokenizer_outputs"), 1.0),
        "total_usage_prompt_tokens" => (named("prompt_tokens", "tokens", "same"), 1.0),
        "total_usage_completion_tokens" => (named("output_tokens", "tokens", "same"), 1.0),
        "context_overflow_count" => (named("context_overflows", "requests", "all_requests"), 1.0),
        "osl_mismatch_count" => (named("requested_mismatches", "requests", "by_default_threshold"), 1.0),
        "usage_discrepancy_count" => (named("usage_discrepancies", "requests", "by_default_threshold"), 1.0),
        "goodput" => (named("goodput_requests_per_s", "req/s", "thresholds_not_stored"), 1.0),
        _ => return None,
    })
}

fn known_unit(unit: &str) -> &'static str {
    const UNITS: &[&str] = &[
        "ms",
        "sec",
        "tokens",
        "requests",
        "tokens/sec",
        "tokens/sec/user",
        "requests/sec",
        "%",
        "count",
        "KB",
        "ratio",
    ];
    UNITS.iter().find(|known| **known == unit).copied().unwrap_or("")
}
