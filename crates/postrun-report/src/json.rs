//! The JSON report, schema `postrun.report/1`. Times are in milliseconds where the key says `_ms`, else in seconds.

use crate::json_server::{self, ServerKeys};
use crate::json_workload::{self, Workload};
use crate::markup::json_text;
use crate::report;
use postrun_analysis::{
    BucketResult, Evidence, MetricSummary, RunAnalysis, RunValue, ServerWindow, SteadyState, Summary, find_metric,
};
use postrun_diagnose::{Diagnosis, Finding};
use postrun_schema::{IssueCode, Severity, Unit};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::collections::BTreeMap;

/// Name and major version of the schema. Within a major version keys are only added.
pub const REPORT_SCHEMA: &str = "postrun.report/1";
/// The JSON Schema of the report.
pub const REPORT_JSON_SCHEMA: &str = include_str!("../schema/postrun.report-1.schema.json");

const MS_PER_NS: f64 = 1e-6;

/// The report of `runs` as JSON text that ends in a line break.
pub fn to_json(reports: &report::Reports) -> Result<String, serde_json::Error> {
    let report = Report {
        schema: REPORT_SCHEMA,
        postrun: env!("CARGO_PKG_VERSION"),
        runs: reports.runs.iter().map(run).collect(),
        sweep: reports.sweep.as_ref(),
    };
    json_text(&report)
}

/// Keys in the order given, not sorted.
pub(crate) struct Ordered<T>(pub Vec<(String, T)>);

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    postrun: &'static str,
    runs: Vec<Run<'a>>,
    sweep: Option<&'a Finding>,
}

#[derive(Serialize)]
struct Run<'a> {
    label: &'a str,
    tool: &'a str,
    tool_version: Option<&'a str>,
    tool_how_known: &'a str,
    model: Option<&'a str>,
    convention: Convention<'a>,
    server: &'a BTreeMap<String, String>,
    load: Load<'a>,
    sources: Vec<SourceFile<'a>>,
    window: Option<WindowS>,
    requests: Requests,
    failure_rate: Option<f64>,
    metrics: Ordered<Distribution>,
    throughput: Throughput,
    tokens_per_chunk: Option<f64>,
    workload: Option<Workload>,
    goodput: Option<Goodput>,
    steady: Option<Steady>,
    steady_unavailable: Option<&'a str>,
    buckets: Vec<Bucket>,
    timeline: Option<TimelineS>,
    #[serde(flatten)]
    server_side: ServerKeys<'a>,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
    evidence: &'a Evidence,
    reported: &'a [postrun_analysis::ReportedFigure],
    unavailable: &'a [postrun_analysis::Unavailable],
    data_quality: Vec<Quality<'a>>,
    not_recorded: &'a [String],
}

#[derive(Serialize)]
struct Convention<'a> {
    id: &'a str,
    title: &'a str,
    metrics: &'a [postrun_analysis::Defined],
}

#[derive(Serialize)]
struct Load<'a> {
    request_rate: Option<f64>,
    unbounded: bool,
    burstiness: Option<f64>,
    max_concurrency: Option<u32>,
    num_prompts: Option<u64>,
    dataset: Option<&'a str>,
    backend: Option<&'a str>,
    date: Option<&'a str>,
}

#[derive(Serialize)]
struct SourceFile<'a> {
    name: &'a str,
    format: &'a str,
    bytes: u64,
    sha256: &'a str,
    run_in_file: u32,
    records: u64,
    skipped: u64,
    aligned: Option<bool>,
}

#[derive(Serialize)]
struct WindowS {
    start_s: f64,
    end_s: f64,
}

#[derive(Serialize)]
struct Requests {
    total: Option<u64>,
    ok: Option<u64>,
    failed: Option<u64>,
    incomplete: Option<u64>,
    not_measured: Option<u64>,
}

/// One distribution; percentiles are keys `p50` … beside the rest.
struct Distribution {
    unit: &'static str,
    summary: Summary,
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let s = &self.summary;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("unit", self.unit)?;
        map.serialize_entry("count", &s.count)?;
        map.serialize_entry("mean", &s.mean)?;
        map.serialize_entry("std", &s.std)?;
        map.serialize_entry("min", &s.min)?;
        let key = |p: f64| format!("p{p}");
        for p in &s.percentiles {
            map.serialize_entry(&key(p.p), &p.value)?;
        }
        map.serialize_entry("max", &s.max)?;
        let interval = s.percentiles.iter().map(|p| (key(p.p), [p.low, p.high])).collect();
        map.serialize_entry("interval_95", &Ordered::<[Option<f64>; 2]>(interval))?;
        let few: Vec<String> = s.percentiles.iter().filter(|p| p.few_samples).map(|p| key(p.p)).collect();
        map.serialize_entry("few_samples", &few)?;
        map.end()
    }
}

#[derive(Serialize)]
struct Throughput {
    duration_s: Option<f64>,
    duration_from: Option<&'static str>,
    requests_per_s: Option<f64>,
    output_tokens_per_s: Option<f64>,
    prompt_tokens_per_s: Option<f64>,
    total_tokens_per_s: Option<f64>,
    peak_output_tokens_per_s: Option<f64>,
    peak_chunks_per_s: Option<f64>,
    mean_concurrency: Option<f64>,
    peak_concurrency: Option<f64>,
    peak_requests_in_1s: Option<f64>,
}

#[derive(Serialize)]
struct Goodput {
    objectives: Vec<ObjectiveS>,
    good: Option<u64>,
    share: Option<f64>,
    requests_per_s: Option<f64>,
}

#[derive(Serialize)]
struct ObjectiveS {
    metric: &'static str,
    at_most_ms: f64,
}

#[derive(Serialize)]
struct Steady {
    start_s: f64,
    end_s: f64,
    duration_s: f64,
    ramp_share: f64,
    drain_share: f64,
    requests: u64,
    mean_concurrency: Option<f64>,
    tokens_per_chunk: Option<f64>,
    requests_per_s: Option<f64>,
    output_tokens_per_s: Option<f64>,
    prompt_tokens_per_s: Option<f64>,
    total_tokens_per_s: Option<f64>,
    metrics: Ordered<Distribution>,
}

#[derive(Serialize)]
struct Bucket {
    lo: Option<u32>,
    hi: Option<u32>,
    requests: u64,
    ok: u64,
    failed: u64,
    metrics: Ordered<Distribution>,
}

#[derive(Serialize)]
struct TimelineS {
    width_s: f64,
    windows: Vec<TimelineWindowS>,
}

#[derive(Serialize)]
struct TimelineWindowS {
    start_s: f64,
    sent: u64,
    ended: Option<u64>,
    output_tokens_per_s: Option<f64>,
    mean_concurrency: Option<f64>,
    ttft_ms: Option<Distribution>,
    itl_ms: Option<Distribution>,
    #[serde(flatten)]
    server: ServerWindow,
}

#[derive(Serialize)]
struct Quality<'a> {
    code: IssueCode,
    severity: Severity,
    count: u64,
    message: &'static str,
    example: &'a str,
    at: &'a str,
}

fn run(report: &report::Report) -> Run<'_> {
    let a = &report.run;
    let m = &a.manifest;
    let known = |n: u64| a.counts_requests().then_some(n);
    Run {
        label: &m.label,
        tool: &m.tool.name,
        tool_version: m.tool.version.as_deref(),
        tool_how_known: &m.tool.how_known,
        model: m.model.as_deref(),
        convention: Convention { id: a.convention.id, title: a.convention.title, metrics: a.convention.metrics },
        server: &m.server,
        load: Load {
            request_rate: m.load.request_rate,
            unbounded: m.load.unbounded,
            burstiness: m.load.burstiness,
            max_concurrency: m.load.max_concurrency,
            num_prompts: m.load.num_prompts,
            dataset: m.load.dataset.as_deref(),
            backend: m.load.backend.as_deref(),
            date: m.load.date.as_deref(),
        },
        sources: m.sources.iter().map(source).collect(),
        window: a.window.map(|w| WindowS { start_s: w.start_ns as f64 / 1e9, end_s: w.end_ns as f64 / 1e9 }),
        requests: Requests {
            total: known(a.requests.total),
            ok: known(a.requests.ok),
            failed: known(a.requests.failed),
            incomplete: known(a.requests.incomplete),
            not_measured: known(a.requests.not_measured),
        },
        failure_rate: a.value("failure_rate"),
        metrics: distributions(&a.metrics),
        throughput: throughput(a),
        tokens_per_chunk: a.value("tokens_per_chunk"),
        workload: json_workload::of_run(a),
        goodput: goodput(a),
        steady: a.steady.as_ref().ok().map(steady),
        steady_unavailable: a.steady.as_ref().err().map(String::as_str),
        buckets: a.buckets.iter().map(bucket).collect(),
        timeline: a.timeline.as_ref().map(timeline),
        server_side: json_server::keys(a),
        diagnosis: &report.diagnosis,
        evidence: &a.evidence,
        reported: &a.reported,
        unavailable: &a.unavailable,
        data_quality: m.issues.iter().map(quality).collect(),
        not_recorded: &m.not_recorded,
    }
}

fn source(s: &postrun_schema::SourceFile) -> SourceFile<'_> {
    SourceFile {
        name: &s.name,
        format: &s.format,
        bytes: s.bytes,
        sha256: &s.sha256,
        run_in_file: s.run_in_file,
        records: s.records,
        skipped: s.skipped,
        aligned: s.aligned,
    }
}

fn distribution(id: &str, summary: &Summary) -> Distribution {
    match find_metric(id).map(|m| m.unit) {
        Some(Unit::Nanoseconds) => Distribution { unit: "ms", summary: summary.scaled(MS_PER_NS) },
        Some(Unit::Tokens) => Distribution { unit: "tokens", summary: summary.clone() },
        _ => Distribution { unit: "", summary: summary.clone() },
    }
}

fn distributions(metrics: &[MetricSummary]) -> Ordered<Distribution> {
    Ordered(metrics.iter().map(|m| (m.metric.to_string(), distribution(m.metric, &m.summary))).collect())
}

fn throughput(a: &RunAnalysis) -> Throughput {
    Throughput {
        duration_s: a.facts.duration_s,
        duration_from: match (a.window.is_some(), a.duration_is_clients) {
            (_, None) => None,
            (true, _) => Some("window"),
            (false, Some(true)) => Some("client"),
            (false, Some(false)) => Some("first_send_to_last_token"),
        },
        requests_per_s: a.value("requests_per_s"),
        output_tokens_per_s: a.value("output_tokens_per_s"),
        prompt_tokens_per_s: a.value("prompt_tokens_per_s"),
        total_tokens_per_s: a.value("total_tokens_per_s"),
        peak_output_tokens_per_s: a.value("peak_output_tokens_per_s"),
        peak_chunks_per_s: a.value("peak_chunks_per_s"),
        mean_concurrency: a.value("mean_concurrency"),
        peak_concurrency: a.value("peak_concurrency"),
        peak_requests_in_1s: a.value("peak_requests_in_1s"),
    }
}

fn goodput(a: &RunAnalysis) -> Option<Goodput> {
    let objectives: Vec<ObjectiveS> =
        a.objectives.iter().map(|o| ObjectiveS { metric: o.metric, at_most_ms: o.at_most_ns * MS_PER_NS }).collect();
    (!objectives.is_empty()).then(|| Goodput {
        objectives,
        good: a.facts.good,
        share: a.facts.good.filter(|_| a.requests.total > 0).map(|g| g as f64 / a.requests.total as f64),
        requests_per_s: a.value("goodput_requests_per_s"),
    })
}

fn steady(s: &SteadyState) -> Steady {
    let value = |id: &str| s.values.iter().find(|v: &&RunValue| v.metric == id).map(|v| v.value);
    Steady {
        start_s: s.window.start_ns as f64 / 1e9,
        end_s: s.window.end_ns as f64 / 1e9,
        duration_s: s.window.seconds(),
        ramp_share: s.ramp_share,
        drain_share: s.drain_share,
        requests: s.requests,
        mean_concurrency: value("mean_concurrency"),
        tokens_per_chunk: value("tokens_per_chunk"),
        requests_per_s: value("requests_per_s"),
        output_tokens_per_s: value("output_tokens_per_s"),
        prompt_tokens_per_s: value("prompt_tokens_per_s"),
        total_tokens_per_s: value("total_tokens_per_s"),
        metrics: distributions(&s.metrics),
    }
}

fn bucket(b: &BucketResult) -> Bucket {
    Bucket { lo: b.lo, hi: b.hi, requests: b.requests, ok: b.ok, failed: b.failed, metrics: distributions(&b.metrics) }
}

fn timeline(t: &postrun_analysis::Timeline) -> TimelineS {
    let window = |w: &postrun_analysis::TimelineWindow| TimelineWindowS {
        start_s: w.start_s,
        sent: w.sent,
        ended: w.ended,
        output_tokens_per_s: w.output_tokens_per_s,
        mean_concurrency: w.mean_concurrency,
        ttft_ms: w.ttft.as_ref().map(|s| distribution("ttft_ms", s)),
        itl_ms: w.itl.as_ref().map(|s| distribution("itl_ms", s)),
        server: w.server,
    };
    TimelineS { width_s: t.width_s, windows: t.windows.iter().map(window).collect() }
}

fn quality(issue: &postrun_schema::Issue) -> Quality<'_> {
    Quality {
        code: issue.code,
        severity: issue.severity,
        count: issue.count,
        message: issue.code.meaning(),
        example: &issue.example,
        at: &issue.at,
    }
}
