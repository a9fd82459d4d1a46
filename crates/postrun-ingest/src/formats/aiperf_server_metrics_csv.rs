//! AIPerf's `server_metrics_export.csv`: statistics of the server's metrics over the run, without times.
//!
//! # Which files
//! The CSV that AIPerf writes beside `server_metrics_export.json`: lines with `#`, then a table for every type of metric
//! (`Endpoint,Type,Metric,Unit,…`). Beside the JSON of the same name it is left alone, as a summary that says less; beside
//! other files of the run its figures become what the client reported; alone it is a run without requests.
//!
//! # Versions seen
//! Schema 1.0 of AIPerf 0.13.0 (recorded).
//!
//! # How the figures are read
//! - A figure is called by its metric with its labels (`vllm:num_requests_running{engine=0,…}`), and keeps AIPerf's unit and
//!   four decimals. Columns that are no statistic are labels.
//! - `total` of a counter is its increase over the run; `pN_estimate` of a histogram is AIPerf's own interpolation.
//! - The cumulative buckets in the last column of a histogram are passed over.
//!
//! # What is not recorded
//! When anything was scraped: none of these figures can be computed again, and `postrun parity` lists each as such. The
//! model as a setting, and everything about single requests.

use super::aiperf_records::FAMILY;
use super::aiperf_server_metrics::AIPERF_SERVER_METRICS;
use crate::client::distribution::stat_name;
use crate::client::layer::{Layer, Part};
use crate::client::manifest::of_tool;
use crate::client::sheet::{self, Sheet, SheetRow};
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::Tree;
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{Doc, IssueCode, ReportedRow, label_text};

pub(super) static AIPERF_SERVER_METRICS_CSV: Ingestor = Ingestor {
    id: "aiperf_server_metrics_csv",
    title: "AIPerf's record of the server's metrics as CSV",
    doc: Doc::from_source(include_str!("aiperf_server_metrics_csv.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

const HEADING: [&str; 4] = ["Endpoint", "Type", "Metric", "Unit"];

fn sniff(head: &Head) -> Sniff {
    let text = String::from_utf8_lossy(&head.bytes[..head.bytes.len().min(4096)]);
    let heading = HEADING.join(",") + ",";
    match text.lines().any(|line| line.starts_with(&heading)) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    sheet::read(source, sink, AIPERF_SERVER_METRICS_CSV.id, |sheet, sink| {
        let (figures, version) = figures(sheet);
        if figures.is_empty() {
            return Ok(());
        }
        let mut manifest = of_tool("AIPerf", version, "by the heading of its export of the server's metrics");
        let absent = "anything about single requests: figures of the server's metrics only";
        manifest.not_recorded = vec![absent.to_string()];
        let layer = Part::of(FAMILY, Layer::Supplement);
        let part = Part { reported: figures, copy_of: Some(AIPERF_SERVER_METRICS.id), ..layer };
        sink.commit_figures(FinishedRun::of_figures(manifest, part))
    })
}

fn figures(sheet: &mut Sheet) -> (Vec<ReportedRow>, Option<String>) {
    let (mut out, mut version) = (Vec::new(), None);
    let mut heading: Vec<String> = Vec::new();
    for row in std::mem::take(&mut sheet.rows) {
        if let Some(comment) = row.cell(0).strip_prefix('#') {
            let named = comment.trim().strip_prefix("aiperf_version:");
            version = version.or(named.map(|version| version.trim().to_string()));
        } else if row.cells.iter().zip(HEADING).all(|(cell, name)| cell == name) {
            heading = row.cells;
        } else if row.cells.len() != heading.len() {
            let what = format!("{} cells below {} names", row.cells.len(), heading.len());
            sheet.skip(IssueCode::BadRecord, row.line, &what);
        } else {
            add(&row, &heading, sheet, &mut out);
        }
    }
    (out, version)
}

/// All statistics of one metric with one set of labels.
fn add(row: &SheetRow, heading: &[String], sheet: &mut Sheet, out: &mut Vec<ReportedRow>) {
    let cells = || heading.iter().map(String::as_str).zip(row.cells.iter().map(String::as_str)).skip(HEADING.len());
    let is_label = |name: &str| !is_statistic(name) && !matches!(name, "Description" | "buckets");
    let own = cells().filter(|(name, value)| is_label(name) && !value.is_empty());
    let labels = label_text(own.chain(std::iter::once(("endpoint", row.cell(0))))).unwrap_or_default();
    let metric = format!("{}{{{labels}}}", row.cell(2));
    for (name, cell) in cells().filter(|(name, cell)| is_statistic(name) && !cell.is_empty()) {
        let Some(value) = Tree::Text(cell.to_string()).number() else {
            sheet.issue(IssueCode::WrongType, row.line, &format!("{name}: expected a number"));
            continue;
        };
        out.push(ReportedRow {
            metric: metric.clone(),
            stat: stat_name(name).unwrap_or_else(|| name.to_string()),
            value: Some(value),
            unit: unit(row.cell(3)),
            convention: "asked_of_the_server".into(),
            key: format!("{}.{name}", row.cell(2)),
        });
    }
}

/// Columns that hold a figure, whatever the type of the metric.
fn is_statistic(name: &str) -> bool {
    const OTHERS: &[&str] =
        &["total", "rate", "rate_avg", "rate_min", "rate_max", "rate_std", "count_rate", "sum_rate"];
    stat_name(name.strip_suffix("_estimate").unwrap_or(name)).is_some() || OTHERS.contains(&name)
}

fn unit(theirs: &str) -> &'static str {
    match theirs {
        "seconds" => "s",
        "milliseconds" => "ms",
        "tokens" => "tokens",
        "requests" => "requests",
        "percent" | "ratio" => "",
        "bytes" => "bytes",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::run_test::{mutate_at_random, read, read_files};

    const CSV: &str = "# AIPerf Server Metrics Export (CSV)\n# aiperf_version: 0.13.0\n#\n\
        Endpoint,Type,Metric,Unit,avg,min,max,p50,engine,Description\n\
        h:1,gauge,vllm:num_requests_running,requests,2.5,0.0,8.0,2.0,0,\"running, all\"\n\n\
        Endpoint,Type,Metric,Unit,total,rate,finished_reason,Description\n\
        h:1,counter,vllm:request_success,requests,9.0,0.3,stop,Count.\n\
        h:1,counter,vllm:request_success,requests,1.0,0.1,length,Count.\n\n\
        Endpoint,Type,Metric,Unit,count,sum,avg,p50_estimate,Description,buckets\n\
        h:1,histogram,vllm:e2e_request_latency_seconds,seconds,10,5.5,0.55,0.5,Latency.,0.5=5;+Inf=10\n";

    #[test]
    fn a_figure_has_its_labels_and_statistic() {
        let run = read(&AIPERF_SERVER_METRICS_CSV, "m.csv", CSV.as_bytes()).unwrap().remove(0);
        assert_eq!(run.manifest.tool.version.as_deref(), Some("0.13.0"));
        assert_eq!(run.reported().len(), 4 + 4 + 4);
        assert_eq!(run.figure("vllm:num_requests_running{endpoint=h:1,engine=0} mean"), 2.5);
        assert_eq!(run.figure("vllm:request_success{endpoint=h:1,finished_reason=length} total"), 1.0);
        assert_eq!(run.figure("vllm:e2e_request_latency_seconds{endpoint=h:1} p50_estimate"), 0.5);
    }

    #[test]
    fn beside_the_summary_it_is_of_the_same_run() {
        let summary = "Metric,avg,min,max,p50\nInter Chunk Latency (ms),1.00,1.00,1.00,1.00\n";
        let files = [("p_aiperf.csv", summary.as_bytes()), ("server_metrics_export.csv", CSV.as_bytes())];
        let runs = read_files(None, &files).unwrap();
        assert_eq!((runs.len(), runs[0].reported().len()), (1, 4 + 12));
    }

    #[test]
    fn damage_is_counted() {
        for cut in 0..CSV.len() {
            drop(read(&AIPERF_SERVER_METRICS_CSV, "m.csv", &CSV.as_bytes()[..cut]));
        }
        mutate_at_random(&AIPERF_SERVER_METRICS_CSV, "m.csv", CSV.as_bytes(), 60);
        let odd = CSV.replace("2.5,0.0", "x,0.0").replace("9.0,0.3,stop", "9.0,0.3");
        let run = read(&AIPERF_SERVER_METRICS_CSV, "m.csv", odd.as_bytes()).unwrap().remove(0);
        assert_eq!((run.issue(IssueCode::WrongType), run.issue(IssueCode::BadRecord)), (1, 1));
    }
}
