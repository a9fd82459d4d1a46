//! GuideLLM's `benchmarks.csv`: the figures of the JSON report once more, a row a benchmark.
//!
//! # Which files
//! The CSV of `guidellm benchmark`: four rows of heading (group, name with unit, statistic), then a row a benchmark, each of
//! which becomes a run (`c64`, `r4`). Recognised by its groups (`Run Info`, `Request Latency`, …). Beside the JSON report of
//! the same name, or of the same figures under any name, it is left alone, as a summary that says nothing more.
//!
//! # Versions seen
//! 0.8.1 (recorded). Those before 0.4 had a heading of another form, which is not read.
//!
//! # How the figures are read
//! - A group with its name is a metric of the JSON, and means what `postrun explain guidellm` says; one that is not known is
//!   kept under its own name. Numbers have all their digits.
//! - `Percentiles` is a list: the least value, the 0.1st, 1st, 5th, 10th, 25th, 75th, 90th, 95th and 99th percentile, and the
//!   greatest. The 50th is the column `Median`. A list of another length is counted and left out.
//! - Confidence intervals are passed over: they are no figures of the run.
//!
//! # What is not recorded
//! Single requests, the 99.9th percentile, counts, totals of tokens. Times are to the second.

use super::guidellm::{GUIDELLM, figures as names};
use crate::bench::reported::named;
use crate::client::distribution::figure;
use crate::client::layer::{Layer, Part};
use crate::client::manifest::{duration_ns, of_tool, total};
use crate::client::sheet::{self, Sheet, SheetRow};
use crate::client::value::TEXT_BYTES;
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::{JsonReader, Tree};
use crate::sink::{FinishedRun, RunSink};
use postrun_schema::{Doc, IssueCode, Load, Manifest, ReportedRow, TokenSource};

pub(super) static GUIDELLM_CSV: Ingestor = Ingestor {
    id: "guidellm_csv",
    title: "GuideLLM report as CSV",
    doc: Doc::from_source(include_str!("guidellm_csv.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

fn sniff(head: &Head) -> Sniff {
    let first = head.bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    let holds = |word: &str| memchr::memmem::find(first, word.as_bytes()).is_some();
    match ["Run Info", "Request Counts", "Request Latency", "Time to First Token"].into_iter().all(holds) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

/// Rows of the heading.
const HEADING: usize = 3;
/// What the list called percentiles holds, under the names of the JSON.
const PERCENTILES: [&str; 11] = ["min", "p001", "p01", "p05", "p10", "p25", "p75", "p90", "p95", "p99", "max"];

/// Group, name of a column, and the metric of the JSON.
const METRICS: &[(&str, &str, &str)] = &[
    ("Request Latency", "Sec", "request_latency"),
    ("Streaming Iterations", "Count", "request_streaming_iterations_count"),
    ("Time to First Token", "ms", "time_to_first_token_ms"),
    ("Time to First Output Token", "ms", "time_to_first_output_token_ms"),
    ("Time per Output Token", "ms", "time_per_output_token_ms"),
    ("Inter Token Latency", "ms", "inter_token_latency_ms"),
    ("Server Throughput", "Requests/Sec", "requests_per_second"),
    ("Server Throughput", "Concurrency", "request_concurrency"),
    ("Token Metrics", "Input Tokens", "prompt_token_count"),
    ("Token Metrics", "Output Tokens", "output_token_count"),
    ("Token Metrics", "Total Tokens", "total_token_count"),
    ("Token Throughput", "Input Tokens/Sec", "prompt_tokens_per_second"),
    ("Token Throughput", "Output Tokens/Sec", "output_tokens_per_second"),
    ("Token Throughput", "Total Tokens/Sec", "tokens_per_second"),
    ("Token Streaming", "Output Tokens/Iter", "output_tokens_per_iteration"),
    ("Token Streaming", "Iter Tokens/Iter", "iter_tokens_per_iteration"),
    ("Text Tokens", "Input", "text.tokens.input"),
    ("Text Tokens", "Output", "text.tokens.output"),
    ("Text Tokens", "Total", "text.tokens.total"),
    ("Text Words", "Input", "text.words.input"),
    ("Text Words", "Output", "text.words.output"),
    ("Text Words", "Total", "text.words.total"),
    ("Text Characters", "Input", "text.characters.input"),
    ("Text Characters", "Output", "text.characters.output"),
    ("Text Characters", "Total", "text.characters.total"),
];

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    sheet::read(source, sink, GUIDELLM_CSV.id, |sheet, sink| {
        let mut rows = std::mem::take(&mut sheet.rows);
        if rows.len() < HEADING {
            return Ok(());
        }
        let benchmarks = rows.split_off(HEADING);
        let heading = Heading { rows };
        for row in benchmarks {
            if row.cells.len() != heading.columns() {
                let what = format!("{} cells below {} names", row.cells.len(), heading.columns());
                sheet.skip(IssueCode::BadRecord, row.line, &what);
                continue;
            }
            let benchmark = Benchmark { heading: &heading, row: &row };
            let figures = benchmark.figures(sheet);
            if figures.is_empty() {
                continue;
            }
            let manifest = benchmark.manifest();
            // Benchmarks of one file are several runs.
            let (key, copy_of) = (format!("line {}", row.line), Some(GUIDELLM.id));
            let part = Part { key, reported: figures, copy_of, ..Part::of("guidellm", Layer::Whole) };
            sink.commit_figures(FinishedRun::of_figures(manifest, part))?;
        }
        Ok(())
    })
}

/// Groups, names and statistics of the columns.
struct Heading {
    rows: Vec<SheetRow>,
}

impl Heading {
    fn columns(&self) -> usize {
        self.rows.first().map_or(0, |row| row.cells.len())
    }

    /// Group, name and statistic of a column.
    fn of(&self, column: usize) -> [&str; HEADING] {
        [0, 1, 2].map(|row| self.rows.get(row).map_or("", |row| row.cell(column)))
    }
}

/// One row below its heading.
struct Benchmark<'a> {
    heading: &'a Heading,
    row: &'a SheetRow,
}

impl Benchmark<'_> {
    /// The cell in the column of this group and name.
    fn cell(&self, group: &str, name: &str) -> &str {
        let is_it = |column: &usize| self.heading.of(*column)[..2] == [group, name];
        (0..self.row.cells.len()).find(is_it).map_or("", |column| self.row.cell(column))
    }

    fn number(&self, group: &str, name: &str) -> Tree {
        match self.cell(group, name) {
            "" => Tree::Null,
            text => Tree::Text(text.to_string()),
        }
    }

    fn figures(&self, sheet: &mut Sheet) -> Vec<ReportedRow> {
        let mut metrics: Vec<(String, Vec<(String, Tree)>)> = Vec::new();
        let mut out = Vec::new();
        for (column, cell) in self.row.cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            let [group, name, stat] = self.heading.of(column);
            let of_requests = name.strip_prefix("Successful ").unwrap_or(name);
            let known = METRICS.iter().find(|(g, n, _)| (*g, *n) == (group, of_requests)).map(|(.., metric)| *metric);
            let value = match stat {
                "Mean" => ("mean", Tree::Text(cell.clone())),
                "Median" => ("median", Tree::Text(cell.clone())),
                "Std Dev" => ("std_dev", Tree::Text(cell.clone())),
                "Percentiles" => ("percentiles", percentiles(cell)),
                "Sec" if group == "Scheduler Metrics" => {
                    let unknown = named("", "s", "not_computed_here");
                    out.extend(figure(&unknown, "mean", &format!("{group} {name}"), &Tree::Text(cell.clone()), 1.0));
                    continue;
                }
                _ => continue,
            };
            if !matches!(&value.1, Tree::Map(_)) && value.1.number().is_none() {
                sheet.issue(IssueCode::WrongType, self.row.line, &format!("{group} {name} {stat}: expected numbers"));
                continue;
            }
            let metric = known.map_or_else(|| format!("{group} {of_requests}"), String::from);
            let value = (value.0.to_string(), value.1);
            match metrics.iter_mut().find(|(known, _)| *known == metric) {
                Some((_, stats)) => stats.push(value),
                None => metrics.push((metric, vec![value])),
            }
        }
        for (metric, stats) in metrics {
            names::add(&metric, &Tree::Map(stats), &mut out);
        }
        let ended = [("successful", "Successful"), ("errored", "Errored"), ("incomplete", "Incomplete")];
        let totals = ended.map(|(key, name)| (key.to_string(), self.number("Request Counts", name)));
        names::totals(&Tree::Map(totals.to_vec()), &mut out);
        out
    }

    fn manifest(&self) -> Manifest {
        let about = object(self.cell("Runtime Info", "Metadata"));
        let version = about.get("guidellm_version").text().map(String::from);
        let mut manifest = of_tool("GuideLLM", version, "by the heading of its CSV");
        manifest.model = object(self.cell("Run Info", "Backend")).get("model").text().map(String::from);
        manifest.load = self.load();
        manifest.duration_ns = self.number("Timings", "Duration").number().and_then(duration_ns);
        manifest.counted.completed = total(&self.number("Request Counts", "Successful"));
        manifest.counted.failed = total(&self.number("Request Counts", "Errored"));
        manifest.output_tokens_source = TokenSource::ServerElseClient;
        manifest.prompt_tokens_source = TokenSource::ServerElseClient;
        manifest.not_recorded = vec!["anything about single requests: a summary only".to_string()];
        manifest
    }

    /// From `concurrent@64` or `poisson@4.5`.
    fn load(&self) -> Load {
        let strategy = self.cell("Benchmark", "Strategy");
        let (kind, of) = strategy.split_once('@').unwrap_or((strategy, ""));
        let number = of.parse().ok().filter(|v: &f64| (1e-9..1e9).contains(v));
        let closed = matches!(kind, "concurrent" | "throughput" | "synchronous");
        let mut load = Load {
            request_rate: number.filter(|_| !closed),
            unbounded: closed,
            burstiness: (kind == "poisson").then_some(1.0),
            max_concurrency: if kind == "synchronous" { Some(1) } else { number.filter(|_| closed).map(|n| n as u32) },
            ..Load::default()
        };
        if !kind.is_empty() {
            load.other.insert("strategy".to_string(), kind.to_string());
        }
        load
    }
}

/// A JSON object in a cell; null where it is none.
fn object(cell: &str) -> Tree {
    JsonReader::new(cell.as_bytes()).tree(TEXT_BYTES).unwrap_or_default()
}

/// A list in a cell by the names of its elements; null where it is no list of as many.
fn percentiles(cell: &str) -> Tree {
    let list = object(cell);
    let values = list.elements();
    if values.len() != PERCENTILES.len() || values.iter().any(|value| value.number().is_none()) {
        return Tree::Null;
    }
    Tree::Map(PERCENTILES.iter().map(|name| (*name).to_string()).zip(values.iter().cloned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::run_test::{mutate_at_random, read, read_files};

    const CSV: &str = concat!(
        "Run Info,Benchmark,Timings,Request Counts,Request Counts,Request Latency,Request Latency,Time to First Token,Time to First Token,Scheduler Metrics\n",
        "Backend,Strategy,Duration,Successful,Errored,Successful Sec,Successful Sec,Successful ms,Successful ms,Request Time Avg\n",
        ",,Sec,,,Mean,Percentiles,Mean,Std Dev,Sec\n",
        "\"{\"\"model\"\": \"\"m\"\"}\",concurrent@8,4.0,20,1,1.5,\"[0.5, 0.75, 1, 1, 1, 1.25, 2, 3, 3, 3.5, 4]\",80.5,2.0,1.5\n",
        "\"{\"\"model\"\": \"\"m\"\"}\",poisson@2.5,8.0,20,0,1.0,\"[1, 2]\",70.5,x,1.5\n",
    );

    #[test]
    fn a_row_is_a_benchmark() {
        let runs = read(&GUIDELLM_CSV, "benchmarks.csv", CSV.as_bytes()).unwrap();
        let [first, second] = runs.as_slice() else { panic!("{} runs", runs.len()) };
        assert!(first.manifest.label.ends_with("-c8") && second.manifest.label.ends_with("-r2.5"));
        let e2e: Vec<(String, f64)> = first.reported().into_iter().map(|(name, value, _)| (name, value)).collect();
        for (stat, value) in [
            ("mean", 1500.0),
            ("min", 500.0),
            ("p0.1", 750.0),
            ("p10", 1000.0),
            ("p25", 1250.0),
            ("p75", 2000.0),
            ("p99", 3500.0),
            ("max", 4000.0),
        ] {
            assert!(e2e.contains(&(format!("e2e_ms {stat}"), value)), "{stat} in {e2e:?}");
        }
        assert!(e2e.iter().all(|(name, _)| name != "e2e_ms p50" && name != "e2e_ms p99.9"), "{e2e:?}");
        assert_eq!((first.figure("ttft_ms mean"), first.figure("requests_failed value")), (80.5, 1.0));
        assert_eq!(first.figure("Scheduler Metrics Request Time Avg mean"), 1.5);
        assert_eq!((first.manifest.model.as_deref(), first.manifest.duration_ns), (Some("m"), Some(4_000_000_000)));
        // A list of another length, and what is no number.
        assert_eq!(second.issue(IssueCode::WrongType), 2);
        assert!(second.reported().iter().all(|(name, ..)| name != "e2e_ms p50" && name != "ttft_ms std"));
    }

    /// A benchmark of the JSON report, of the figures in `CSV`'s first row with more of their statistics.
    fn report(ttft_ms: f64) -> String {
        format!(
            "{{\"metadata\":{{\"version\":2,\"guidellm_version\":\"0.8.1\"}},\"benchmarks\":[{{\"type_\":\"generative_benchmark\",\
             \"config\":{{\"strategy\":{{\"type_\":\"concurrent\",\"streams\":8}},\"backend\":{{\"model\":\"m\"}}}},\
             \"requests\":{{\"successful\":[],\"errored\":[],\"incomplete\":[]}},\"metrics\":{{\
             \"request_totals\":{{\"successful\":20,\"errored\":1,\"incomplete\":0}},\
             \"request_latency\":{{\"successful\":{{\"mean\":1.5,\"median\":1.75,\"min\":0.5,\"max\":4.0,\"percentiles\":\
             {{\"p001\":0.75,\"p01\":1.0,\"p05\":1.0,\"p10\":1.0,\"p25\":1.25,\"p50\":1.75,\"p75\":2.0,\"p90\":3.0,\"p95\":3.0,\
             \"p99\":3.5,\"p999\":3.75}}}}}},\
             \"time_to_first_token_ms\":{{\"successful\":{{\"mean\":{ttft_ms},\"std_dev\":2.0}}}}}}}}]}}"
        )
    }

    #[test]
    fn beside_the_report_it_is_known_by_its_figures() {
        let sheet: String = CSV.split_inclusive('\n').take(4).collect();
        let together = |csv: &str, json: &str| {
            let files = [("benchmarks.json", json.as_bytes()), ("renamed.csv", csv.as_bytes())];
            read_files(None, &files).unwrap().len()
        };
        assert_eq!(together(&sheet, &report(80.5)), 1);
        assert_eq!(together(&sheet, &report(81.5)), 1, "nearly all are the same");
        let other = sheet.replace("1, 1, 1, 1.25, 2, 3, 3, 3.5, 4]", "2, 2, 2, 2.25, 3, 4, 4, 4.5, 5]");
        assert_eq!(together(&other, &report(80.5)), 2);
    }

    #[test]
    fn damage_is_no_panic() {
        for cut in 0..CSV.len() {
            drop(read(&GUIDELLM_CSV, "b.csv", &CSV.as_bytes()[..cut]));
        }
        mutate_at_random(&GUIDELLM_CSV, "b.csv", CSV.as_bytes(), 60);
    }
}
