//! inference-perf's Prometheus reports: what the client asked of the server's metrics over a stage or the whole run.
//!
//! # Which files
//! `summary_prometheus_metrics.json` and `stage_N_prometheus_metrics.json`: the outer object of a lifecycle report
//! (`load_summary`, `successes`, `failures`), empty but for `successes`, which holds `queue_len`, `request_latency` and
//! others. Beside the lifecycle reports or the records of the same folder they belong to those runs, each stage to its
//! stage, and become what the client reported of them. Alone every stage is a run without requests, and the summary gives
//! way to the stages.
//!
//! # Versions seen
//! Those of the kubecon-na-2025 demo (real files); 0.2 to 0.6 and newer ones by their sources, which add metrics.
//!
//! # How the figures are read
//! - All are the server's own: they stand under names with `server_`, never beside the client's latencies.
//! - Means of histograms are rate of sums by rate of counts; percentiles are Prometheus' `histogram_quantile`, linear
//!   inside a bucket. Gauges are averaged over their scrapes. Seconds become milliseconds.
//! - Counts are increases as Prometheus extrapolates them, cut to whole numbers, as are the mean lengths.
//! - `num_preemptions_total.mean` and `num_requests_swapped.mean` are totals, whatever they are called.
//! - The window runs past the end of the stage, by the interval of the scrapes and two seconds; the summary's counts from
//!   the start of the program. Where its count is more than a fifth away from the client's, the figures are of other
//!   requests: they are called `other_window.…`, and stand beside none of the run.
//! - The client stores 0 where Prometheus had no answer. A 0 may be that; it is kept as it stands.
//!
//! # What is not recorded
//! When the queries were made and over how long, the scrapes that they were made of, buckets, the server, the model, and
//! everything about single requests: no figure of these can be computed again, and `postrun parity` lists each as such.

use super::inference_perf::FAMILY;
use super::inference_perf_summary::read_report;
use crate::bench::reported::{Named, named};
use crate::client::distribution::{figure, stat_name};
use crate::client::layer::{Layer, Part};
use crate::client::manifest::of_tool;
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::Tree;
use crate::sink::RunSink;
use postrun_schema::{Doc, Manifest, ReportedRow};

pub(super) static INFERENCE_PERF_PROMETHEUS: Ingestor = Ingestor {
    id: "inference_perf_prometheus",
    title: "inference-perf Prometheus report",
    doc: Doc::from_source(include_str!("inference_perf_prometheus.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

fn sniff(head: &Head) -> Sniff {
    let holds = |word: &str| memchr::memmem::find(head.bytes, word.as_bytes()).is_some();
    let outer = head.has_all(&["load_summary", "successes", "failures"]);
    match outer && holds("\"queue_len\"") && !holds("\"schedule_delay\"") {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    read_report(source, sink, INFERENCE_PERF_PROMETHEUS.id, "prometheus", |report, stage| {
        let layer = stage.map_or(Layer::ServerWhole, Layer::ServerStage);
        (manifest(stage), Part { reported: reported(report.get("successes")), ..Part::of(FAMILY, layer) })
    })
}

fn manifest(stage: Option<u32>) -> Manifest {
    let mut manifest = of_tool("inference-perf", None, "by the members of its report, which names no version");
    if let Some(stage) = stage {
        manifest.load.other.insert("stage".to_string(), stage.to_string());
    }
    manifest.not_recorded = vec!["anything about single requests: figures of the server's metrics only".to_string()];
    manifest
}

/// Every number of the report, the server's own.
fn reported(successes: &Tree) -> Vec<ReportedRow> {
    let mut out = Vec::new();
    for (key, value) in successes.members() {
        let (name, scale) = of(key);
        if value.members().is_empty() {
            out.extend(figure(&name, "value", key, value, scale));
        }
        for (stat, value) in value.members() {
            let path = format!("{key}.{stat}");
            match (key.as_str(), stat.as_str()) {
                ("prompt_len", "rate") => out.extend(figure(&PROMPT_RATE, "value", &path, value, 1.0)),
                ("output_len", "rate") => out.extend(figure(&OUTPUT_RATE, "value", &path, value, 1.0)),
                // Called a mean, and a total.
                ("num_preemptions_total" | "num_requests_swapped", "mean") => {
                    out.extend(figure(&name, "value", &path, value, scale));
                }
                (_, stat) => {
                    let stat = stat_name(stat).unwrap_or_else(|| stat.to_string());
                    let row = figure(&name, &stat, &path, value, scale);
                    let own = |row: ReportedRow| match name.metric {
                        "" => ReportedRow { metric: format!("server_{key}"), ..row },
                        _ => row,
                    };
                    out.extend(row.map(own));
                }
            }
        }
    }
    out
}

/// The definition of all of them.
const ASKED: &str = "asked_of_prometheus";
const PROMPT_RATE: Named = named("server_prompt_tokens_per_s", "tok/s", ASKED);
const OUTPUT_RATE: Named = named("server_output_tokens_per_s", "tok/s", ASKED);

/// What a member is called here, and what turns it into the unit of that name.
fn of(key: &str) -> (Named, f64) {
    let (metric, unit, scale) = match key {
        "count" => ("server_requests", "requests", 1.0),
        "rate" => ("server_requests_per_s", "req/s", 1.0),
        "prompt_len" => ("server_prompt_tokens", "tokens", 1.0),
        "output_len" => ("server_output_tokens", "tokens", 1.0),
        "queue_len" => ("server_waiting", "requests", 1.0),
        "num_requests_running" => ("server_running", "requests", 1.0),
        "num_requests_swapped" => ("server_swapped", "requests", 1.0),
        "num_preemptions_total" => ("server_preemptions", "count", 1.0),
        "request_latency" => ("server_e2e_ms", "ms", 1e3),
        "time_to_first_token" => ("server_ttft_ms", "ms", 1e3),
        "time_per_output_token" => ("server_tpot_ms", "ms", 1e3),
        "inter_token_latency" => ("server_itl_ms", "ms", 1e3),
        "request_queue_time" => ("server_queue_ms", "ms", 1e3),
        "request_prefill_time" => ("server_prefill_ms", "ms", 1e3),
        "request_decode_time" => ("server_decode_ms", "ms", 1e3),
        "request_inference_time" => ("server_inference_ms", "ms", 1e3),
        "prefix_cache_hit_percent" => ("server_prefix_cache_hit_percent", "%", 1.0),
        _ => ("", "", 1.0),
    };
    (named(metric, unit, ASKED), scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::run_test::{cut_everywhere, mutate_at_random, read, read_files};
    use postrun_schema::IssueCode;

    const REPORT: &str = r#"{"load_summary": {}, "successes": {"count": 40, "rate": 2.5,
        "prompt_len": {"mean": 100, "rate": 250.0}, "queue_len": {"mean": 3},
        "request_latency": {"mean": 1.5, "median": 1.25, "p99": 4.0}, "num_preemptions_total": {"mean": 7},
        "kv_cache_usage_percentage": {"mean": 0.5}}, "failures": {}}"#;
    const LIFECYCLE: &str = r#"{"load_summary": {"count": 40, "schedule_delay": {"mean": 0.001}, "requested_rate": 2.0},
        "successes": {"count": 40, "latency": {"request_latency": {"mean": 1.6}}}, "failures": {"count": 0}}"#;

    #[test]
    fn figures_under_the_servers_names() {
        let run =
            read(&INFERENCE_PERF_PROMETHEUS, "summary_prometheus_metrics.json", REPORT.as_bytes()).unwrap().remove(0);
        let found: Vec<(String, f64)> = run.reported().into_iter().map(|(name, value, _)| (name, value)).collect();
        let expected = [
            ("server_requests value", 40.0),
            ("server_requests_per_s value", 2.5),
            ("server_prompt_tokens mean", 100.0),
            ("server_prompt_tokens_per_s value", 250.0),
            ("server_waiting mean", 3.0),
            ("server_e2e_ms mean", 1500.0),
            ("server_e2e_ms p50", 1250.0),
            ("server_e2e_ms p99", 4000.0),
            ("server_preemptions value", 7.0),
            ("server_kv_cache_usage_percentage mean", 0.5),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name.to_string(), value)));
        assert!(run.reported().iter().all(|(_, _, definition)| definition == ASKED));
    }

    #[test]
    fn a_stage_goes_to_its_stage_and_nothing_counts_twice() {
        let files = [
            ("stage_0_lifecycle_metrics.json", LIFECYCLE),
            ("stage_1_lifecycle_metrics.json", LIFECYCLE),
            ("stage_1_prometheus_metrics.json", REPORT),
            ("summary_prometheus_metrics.json", REPORT),
        ];
        let runs = read_files(None, &files.map(|(name, text)| (name, text.as_bytes()))).unwrap();
        let labels: Vec<&str> = runs.iter().map(|run| run.manifest.label.as_str()).collect();
        assert_eq!(labels, ["stage0", "stage1"]);
        let of_server = |i: usize| runs[i].reported().iter().filter(|(name, ..)| name.starts_with("server_")).count();
        assert_eq!((of_server(0), of_server(1)), (0, 10));
    }

    #[test]
    fn without_stages_of_the_client_the_servers_keep_their_numbers() {
        let summary = ("summary_lifecycle_metrics.json", LIFECYCLE.as_bytes());
        let stage = ("stage_2_prometheus_metrics.json", REPORT.as_bytes());
        let runs = read_files(None, &[stage, summary]).unwrap();
        assert_eq!(runs.len(), 1);
        let names: Vec<String> = runs[0].reported().into_iter().map(|(name, ..)| name).collect();
        assert!(names.contains(&"stage_2.server_waiting mean".to_string()), "{names:?}");
        let alone = read_files(None, &[stage, ("summary_prometheus_metrics.json", REPORT.as_bytes())]).unwrap();
        assert_eq!(alone.iter().map(|run| run.manifest.label.as_str()).collect::<Vec<_>>(), ["stage2"]);
    }

    #[test]
    fn figures_over_other_requests_are_not_those_of_the_run() {
        let stage = ("stage_1_lifecycle_metrics.json", LIFECYCLE.as_bytes());
        let read_with = |count: &str| {
            let report = REPORT.replace("\"count\": 40", count);
            read_files(None, &[stage, ("stage_1_prometheus_metrics.json", report.as_bytes())]).unwrap().remove(0)
        };
        let names = |run: &crate::client::run_test::ReadRun| -> Vec<String> {
            run.reported()
                .into_iter()
                .map(|(name, ..)| name)
                .filter(|name| name.contains("server_e2e_ms mean"))
                .collect()
        };
        let (own, others) = (read_with("\"count\": 44"), read_with("\"count\": 937"));
        assert_eq!(
            (own.issue(IssueCode::ServerCountedOthers), names(&own)),
            (0, vec!["server_e2e_ms mean".to_string()])
        );
        assert_eq!(others.issue(IssueCode::ServerCountedOthers), 1);
        assert_eq!(names(&others), ["other_window.server_e2e_ms mean"]);
    }

    #[test]
    fn damage_is_no_panic() {
        cut_everywhere(&INFERENCE_PERF_PROMETHEUS, "summary_prometheus_metrics.json", REPORT.as_bytes(), 7);
        mutate_at_random(&INFERENCE_PERF_PROMETHEUS, "summary_prometheus_metrics.json", REPORT.as_bytes(), 60);
    }
}
