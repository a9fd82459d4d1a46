//! AIPerf's `profile_export_aiperf.csv`: the figures of the JSON summary once more, to two decimals.
//!
//! # Which files
//! The CSV that `aiperf profile` writes beside its JSON: a table whose heading is `Metric,avg,min,max,…`, below it one
//! with `Metric,Value`. Beside the JSON summary of the same name it is left alone, as a summary that says nothing more;
//! beside the records of the run it becomes what the client reported of them; alone it is a run without requests.
//!
//! # Versions seen
//! 0.13.0 (recorded).
//!
//! # How the figures are read
//! - Metrics have the titles of the console, with their unit in brackets. They are turned back into the tags of the JSON
//!   and mean what `postrun explain aiperf_summary` says; a title that is not known is kept as it stands.
//! - Two decimals are all there is: figures agree with the records within half of the last one.
//!
//! # What is not recorded
//! Everything about single requests, the version, settings, model, and when the run was: `benchmark_duration` is first send
//! to last token and not the time that its rates are over.

use super::aiperf_records::FAMILY;
use super::aiperf_summary::{AIPERF_SUMMARY, add, count};
use crate::client::layer::{Layer, Part};
use crate::client::manifest::of_tool;
use crate::client::sheet::{self, Sheet};
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::Tree;
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{Doc, IssueCode, ReportedRow};

pub(super) static AIPERF_SUMMARY_CSV: Ingestor = Ingestor {
    id: "aiperf_summary_csv",
    title: "AIPerf summary as CSV",
    doc: Doc::from_source(include_str!("aiperf_summary_csv.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

/// Half of the last decimal.
const ROUNDING: f64 = 0.005;

fn sniff(head: &Head) -> Sniff {
    let text = String::from_utf8_lossy(&head.bytes[..head.bytes.len().min(4096)]);
    let heading = text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default();
    let names: Vec<&str> = heading.split(',').map(str::trim).collect();
    let table = names.first() == Some(&"Metric") && ["avg", "min", "max", "p50"].iter().all(|s| names.contains(s));
    // GenAI-Perf's CSV has the same heading, and no metric of these.
    let own = ["Inter Chunk Latency", "Credit-to-Start", "HTTP ", "Effective ", "Time to First Output Token"];
    match table && own.iter().any(|word| text.contains(word)) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    sheet::read(source, sink, AIPERF_SUMMARY_CSV.id, |sheet, sink| {
        let figures = figures(sheet);
        if figures.is_empty() {
            return Ok(());
        }
        let mut manifest = of_tool("AIPerf", None, "by the titles of its summary, which names no version");
        count(&mut manifest, &figures);
        let layer = Part::of(FAMILY, Layer::Whole);
        let part = Part { reported: figures, copy_of: Some(AIPERF_SUMMARY.id), ..layer };
        sink.commit_figures(FinishedRun::of_figures(manifest, part))
    })
}

/// The rows of both tables, each figure with its rounding.
fn figures(sheet: &mut Sheet) -> Vec<ReportedRow> {
    let mut out = Vec::new();
    let mut heading: Vec<String> = Vec::new();
    for row in std::mem::take(&mut sheet.rows) {
        if row.cell(0) == "Metric" {
            heading = row.cells;
            continue;
        }
        if row.cells.len() != heading.len() {
            let what = format!("{} cells below {} names", row.cells.len(), heading.len());
            sheet.skip(IssueCode::BadRecord, row.line, &what);
            continue;
        }
        let (tag, unit) = tag_and_unit(row.cell(0));
        let mut stats = vec![("unit".to_string(), Tree::Text(unit))];
        for (name, cell) in heading.iter().zip(&row.cells).skip(1).filter(|(_, cell)| !cell.is_empty()) {
            let value = Tree::Text(cell.clone());
            if value.number().is_none() {
                sheet.issue(IssueCode::WrongType, row.line, &format!("{name}: expected a number"));
                continue;
            }
            let stat = if name == "Value" { "avg" } else { name };
            stats.push((stat.to_string(), value));
        }
        rows(&tag, &stats, &mut out);
    }
    out
}

/// The rows of one metric. What one makes in the unit of a row is what its rounding is multiplied by.
fn rows(tag: &str, stats: &[(String, Tree)], out: &mut Vec<ReportedRow>) {
    let ones = stats.iter().map(|(stat, value)| match value {
        _ if stat == "unit" => (stat.clone(), value.clone()),
        _ => (stat.clone(), Tree::Text("1".to_string())),
    });
    let (mut figures, mut scales) = (Vec::new(), Vec::new());
    add(tag, &Tree::Map(ones.collect()), &mut scales);
    add(tag, &Tree::Map(stats.to_vec()), &mut figures);
    for (row, scale) in figures.into_iter().zip(scales) {
        let rounding = ROUNDING * scale.value.unwrap_or(1.0).abs();
        let definition = over_the_phase(tag).unwrap_or(&row.convention);
        out.push(ReportedRow { convention: format!("{definition}@{rounding}").into(), ..row });
    }
}

/// Rates over a time that stands in the JSON alone.
fn over_the_phase(tag: &str) -> Option<&'static str> {
    match tag {
        "request_throughput" => Some("over_the_measured_phase"),
        "output_token_throughput" | "input_token_throughput" | "total_token_throughput" => {
            Some("client_lengths_over_the_measured_phase")
        }
        _ => None,
    }
}

/// `Time to First Token (ms)` is `time_to_first_token` in `ms`.
fn tag_and_unit(title: &str) -> (String, String) {
    // Brackets that are part of a title.
    let title = title.replace(" (Success + Error)", "").replace(" (CO-aware)", "").replace(" (TTFB)", "");
    let title = title.replace(" (excl. conn)", "");
    let (name, unit) = match title.rsplit_once(" (").filter(|(_, unit)| unit.ends_with(')')) {
        Some((name, unit)) => (name, unit.trim_end_matches(')')),
        None => (title.as_str(), ""),
    };
    let known = TITLES.iter().find(|(theirs, _)| *theirs == name).map(|(_, tag)| (*tag).to_string());
    let tag = known.unwrap_or_else(|| match name.strip_prefix("HTTP ") {
        Some(phase) => format!("http_req_{}", snake(phase)),
        None => snake(name),
    });
    (tag, unit.to_string())
}

fn snake(name: &str) -> String {
    name.to_lowercase().replace([' ', '-'], "_")
}

/// Titles that are not their tag in words.
const TITLES: &[(&str, &str)] = &[
    ("Completed Requests", "completed_request_count"),
    ("HTTP Total Time", "http_req_total"),
    ("OSL Mismatch Diff %", "osl_mismatch_diff_pct"),
    ("Request Errors", "error_request_count"),
    ("Error Request Count", "error_request_count"),
    ("Total Input Sequence Length", "total_isl"),
    ("Total Output Sequence Length", "total_osl"),
    ("Total Error Input Sequence Length", "total_error_isl"),
    ("Usage Completion Diff %", "usage_completion_tokens_diff_pct"),
    ("Usage Prompt Diff %", "usage_prompt_tokens_diff_pct"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::run_test::{mutate_at_random, read, read_files};

    const CSV: &str = "Metric,avg,min,max,sum,p50,std\n\
        Inter Token Latency (ms),8.30,6.87,9.92,83.00,7.80,1.14\n\
        HTTP Data Received (KB),13.45,10.54,21.07,134.50,10.95,3.92\n\
        Effective Concurrency,3.34,0.00,4.00,,4.00,1.09\n\nMetric,Value\n\
        Completed Requests (Success + Error),10.00\nRequest Count,10.00\nRequest Error Rate (%),5.00\n";

    #[test]
    fn titles_become_metrics_with_their_rounding() {
        let run = read(&AIPERF_SUMMARY_CSV, "profile_export_aiperf.csv", CSV.as_bytes()).unwrap().remove(0);
        let rows = run.reported();
        let of = |name: &str| rows.iter().find(|(n, ..)| n == name).map(|(_, v, c)| (*v, c.as_str()));
        assert_eq!(of("tpot_ms mean"), Some((8.3, "client_tokenizer_outputs@0.005")));
        assert_eq!(of("http_received_bytes p50"), Some((10.95 * 1024.0, "same@5.12")));
        assert_eq!(of("concurrency_over_time max"), Some((4.0, "weighted_by_time@0.005")));
        assert_eq!(of("requests_total value"), Some((10.0, "same@0.005")));
        assert_eq!(of("failure_rate value"), Some((0.05, "cancelled_are_failed@0.00005")));
        assert_eq!(of("concurrency_over_time sum"), None);
        assert_eq!(run.manifest.counted.completed, Some(10));
    }

    #[test]
    fn beside_its_json_it_adds_nothing() {
        let json =
            br#"{"schema_version":"1.4","aiperf_version":"0.13.0","request_count":{"unit":"requests","avg":10.0}}"#;
        let files: [(&str, &[u8]); 2] = [("p_aiperf.csv", CSV.as_bytes()), ("p_aiperf.json", json)];
        let runs = read_files(None, &files).unwrap();
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0].reported().len(), 1);
        // Of another name it is another run.
        let files: [(&str, &[u8]); 2] = [("q_aiperf.csv", CSV.as_bytes()), ("p_aiperf.json", json)];
        assert_eq!(read_files(None, &files).unwrap().len(), 2);
    }

    #[test]
    fn damage_is_counted() {
        for cut in 0..CSV.len() {
            drop(read(&AIPERF_SUMMARY_CSV, "p.csv", &CSV.as_bytes()[..cut]));
        }
        mutate_at_random(&AIPERF_SUMMARY_CSV, "p.csv", CSV.as_bytes(), 60);
        let odd = CSV.replace("8.30", "soon").replace("Request Count,10.00", "Request Count");
        let run = read(&AIPERF_SUMMARY_CSV, "p.csv", odd.as_bytes()).unwrap().remove(0);
        assert_eq!((run.issue(IssueCode::WrongType), run.issue(IssueCode::BadRecord)), (1, 1));
    }
}
