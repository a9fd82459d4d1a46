//! LMDeploy's benchmark tables: one row a run, summaries only.
//!
//! # Which files
//! What `benchmark/profile_restful_api.py` (a server) and `profile_throughput.py` or `profile_pipeline_api.py` (the engine
//! alone) append: a heading and a row a run, separated by commas, also where the name ends in `.jsonl`. Recognised by a
//! heading that has `mean_itl_ms` and `output_throughput`. Files of vLLM's or SGLang's client run against LMDeploy are
//! those clients' formats.
//!
//! # Versions seen
//! 0.16 by its sources; no real file was at hand. A heading in the middle of a file holds for the rows behind it.
//!
//! # How the figures are read
//! - Latencies are means in milliseconds; percentiles are printed, never stored. `-` and `inf` stand for no value.
//! - Output tokens of the backend `lmdeploy` (completions) are those asked for, so token rates are withheld.
//! - `profile_throughput.py` counts as completed only what reached its full length.
//! - Its TPOT divides by the tokens behind the first chunk; its latency ends with the last line of the stream.
//!
//! # What is not recorded
//! Everything about single requests, percentiles, failures, the model.

use crate::bench::reported::{Named, named};
use crate::client::manifest::of_tool;
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::Walked;
use crate::json::{number, shorten};
use crate::sink::{Fingerprint, FinishedRun, RunSink};
use crate::text::lines::Lines;
use postrun_schema::{Doc, IssueCode, Issues, Manifest, ReportedRow, TokenSource};

pub(super) static LMDEPLOY: Ingestor = Ingestor {
    id: "lmdeploy",
    title: "LMDeploy benchmark table",
    doc: Doc::from_source(include_str!("lmdeploy.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

fn is_heading(line: &str) -> bool {
    let has = |name: &str| line.split(',').any(|cell| cell.trim() == name);
    has("mean_itl_ms") && has("output_throughput") && has("completed")
}

fn sniff(head: &Head) -> Sniff {
    let first = head.bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    match head.keys.is_empty() && is_heading(&String::from_utf8_lossy(first)) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let file = source.name.clone();
    let io = IngestError::io(&file);
    let mut text = source.take_reader();
    let mut lines = Lines::new(&mut text);
    let mut walked = Walked { issues: Issues::default(), skipped: 0, first_problem: None };
    let mut heading: Vec<String> = Vec::new();
    while let Some(line) = lines.next().map_err(&io)? {
        let row = line.text.trim();
        if row.is_empty() {
            continue;
        }
        if is_heading(row) {
            heading = row.split(',').map(|cell| cell.trim().to_string()).collect();
            continue;
        }
        let cells: Vec<&str> = row.split(',').map(str::trim).collect();
        let place = || format!("{file}: {}", line.place());
        let problem = match cells.len() == heading.len() {
            // A last number without the end of its line may lack digits.
            true if line.unfinished => Some((IssueCode::TruncatedRecord, "the file ends inside a row".to_string())),
            true => None,
            false => Some((IssueCode::BadRecord, format!("{} cells below {} names", cells.len(), heading.len()))),
        };
        let run = Row { cells: heading.iter().map(String::as_str).zip(cells).collect() };
        let problem = problem.or_else(|| match run.number("completed").is_some() && run.number("duration").is_some() {
            true => None,
            false => Some((IssueCode::NotARun, "a row without requests or duration".to_string())),
        });
        match problem {
            Some((code, example)) => {
                walked.skipped += 1;
                walked.first_problem.get_or_insert_with(|| format!("{}: {example}", line.place()));
                walked.issues.add(code, place, || example);
            }
            None => run.commit(sink, &place, row)?,
        }
    }
    drop(lines);
    sink.close(source, text, LMDEPLOY.id, walked)
}

/// One run.
struct Row<'a> {
    cells: Vec<(&'a str, &'a str)>,
}

impl Row<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.cells.iter().find(|(key, _)| *key == name).map(|(_, cell)| *cell).filter(|cell| !cell.is_empty())
    }

    /// A number that is one: not `-`, not `inf`, not negative.
    fn number(&self, name: &str) -> Option<f64> {
        self.any_number(name).filter(|value| value.is_finite() && *value >= 0.0)
    }

    fn any_number(&self, name: &str) -> Option<f64> {
        number(self.text(name)?.as_bytes())
    }

    fn count(&self, name: &str) -> Option<u64> {
        self.number(name).filter(|value| *value < 1e15).map(|value| value as u64)
    }

    /// The client stores what it asked for where the API sends no usage.
    fn output_is_requested(&self) -> bool {
        self.text("backend") == Some("lmdeploy") && self.text("bs").is_none()
    }

    fn commit(&self, sink: &mut RunSink<'_>, place: &dyn Fn() -> String, row: &str) -> Result<(), IngestError> {
        let mut writer = sink.writer()?;
        self.reported().into_iter().for_each(|figure| writer.push_reported(figure));
        let mut issues = Issues::default();
        if self.output_is_requested() {
            let example = || "backend lmdeploy stores the requested length".to_string();
            issues.add(IssueCode::OutputTokensRequested, place, example);
        }
        let seconds = self.number("duration").filter(|s| (1e-6..1e9).contains(s));
        if seconds.is_none() {
            let shown = self.text("duration").unwrap_or_default().to_string();
            issues.add(IssueCode::ImplausibleTime, place, || shorten(format!("duration {shown}"), 60));
        }
        let mut manifest = self.manifest();
        manifest.duration_ns = seconds.map(|s| (s * 1e9).round() as i64);
        let shape = match crate::bench::facts::load_shape(&manifest.load, None) {
            shape if shape.is_empty() && manifest.load.unbounded => "unbounded".to_string(),
            shape => shape,
        };
        let fingerprint = Some(Fingerprint { values: format!("lmdeploy {row}"), requests: None });
        let finished = FinishedRun { manifest, issues, requests: 0, label: None, shape, fingerprint, part: None };
        sink.commit(writer, finished)
    }

    fn manifest(&self) -> Manifest {
        let mut manifest = of_tool("LMDeploy", None, "by the heading of its table, which names no version");
        let rate = self.any_number("request_rate");
        let load = &mut manifest.load;
        load.request_rate = rate.filter(|r| r.is_finite() && *r > 0.0);
        load.max_concurrency = self.number("bs").filter(|n| (1.0..4e9).contains(n)).map(|n| n as u32);
        load.unbounded = rate == Some(f64::INFINITY) || (rate.is_none() && load.max_concurrency.is_some());
        load.num_prompts = self.count("num_prompts");
        load.dataset = self.text("dataset_name").map(|text| shorten(text.to_string(), 200));
        load.backend = self.text("backend").map(|text| shorten(text.to_string(), 200));
        for (key, cell) in &self.cells {
            if (key.starts_with("random_") || key.starts_with("sharegpt_")) && !cell.is_empty() {
                load.other.insert(shorten((*key).to_string(), 60), shorten((*cell).to_string(), 200));
            }
        }
        manifest.counted.completed = self.count("completed");
        manifest.counted.prompt_tokens = self.count("total_input_tokens");
        manifest.counted.output_tokens = self.count("total_output_tokens");
        manifest.prompt_tokens_source = TokenSource::ClientTokenizer;
        manifest.output_tokens_source = match self.output_is_requested() {
            true => TokenSource::Requested,
            false => TokenSource::Unknown,
        };
        manifest.not_recorded =
            ["anything about single requests: a summary only", "percentiles", "failures", "the model"]
                .map(String::from)
                .to_vec();
        manifest
    }

    fn reported(&self) -> Vec<ReportedRow> {
        let row = |(key, cell): &(&str, &str)| {
            let (name, stat) = figure(key)?;
            if cell.is_empty() {
                return None;
            }
            Some(ReportedRow {
                metric: name.metric.to_string(),
                stat: stat.to_string(),
                value: number(cell.as_bytes()),
                unit: name.unit,
                convention: name.convention.into(),
                key: (*key).to_string(),
            })
        };
        self.cells.iter().filter_map(row).collect()
    }
}

fn figure(key: &str) -> Option<(Named, &'static str)> {
    let value = |name: Named| Some((name, "value"));
    let mean = |name: Named| Some((name, "mean"));
    match key {
        "completed" => value(named("requests_ok", "requests", "same")),
        "total_input_tokens" => value(named("prompt_tokens", "tokens", "same")),
        "total_output_tokens" => value(named("output_tokens", "tokens", "same")),
        "duration" => value(named("duration_s", "s", "client_stopwatch")),
        "request_throughput" => value(named("requests_per_s", "req/s", "printed_to_3_decimals")),
        "input_throughput" => value(named("prompt_tokens_per_s", "tok/s", "printed_to_3_decimals")),
        "output_throughput" => value(named("output_tokens_per_s", "tok/s", "printed_to_3_decimals")),
        "mean_e2e_latency_ms" => mean(named("e2e_ms", "ms", "to_stream_end")),
        "mean_ttft_ms" => mean(named("ttft_ms", "ms", "first_chunk")),
        "mean_tpot_ms" => mean(named("tpot_ms", "ms", "to_stream_end")),
        "mean_itl_ms" => mean(named("itl_ms", "ms", "chunk_gaps")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::run_test::{mutate_at_random, read};

    const TABLE: &str = "backend,bs,dataset_name,num_prompts,completed,total_input_tokens,total_output_tokens,duration,\
        request_throughput,input_throughput,output_throughput,mean_e2e_latency_ms,mean_ttft_ms,mean_tpot_ms,mean_itl_ms\n\
        turbomind,8,random,2,2,32,8,0.4,5.000,80.000,20.000,180.000,-,45.000,-\n\
        turbomind,16,random,2,x\n\
        backend,request_rate,completed,total_output_tokens,duration,output_throughput,mean_itl_ms\n\
        lmdeploy,inf,4,16,2.0,8.0,inf\n\
        lmdeploy-chat,2.5,4,16,2.0,8.0,3.25\n\
        lmdeploy,2.5,4,16,2.0,8.0,3.2";

    #[test]
    fn a_row_is_a_run_and_a_heading_holds_until_the_next() {
        let runs = read(&LMDEPLOY, "random.jsonl", TABLE.as_bytes()).unwrap();
        let labels: Vec<&str> = runs.iter().map(|r| r.manifest.label.as_str()).collect();
        assert_eq!(labels, ["random-c8", "random-unbounded", "random-r2.5"]);
        assert_eq!((runs[0].figure("e2e_ms mean"), runs[0].figure("requests_per_s value")), (180.0, 5.0));
        assert!(runs[0].reported().iter().all(|(name, value, _)| name != "ttft_ms mean" || value.is_nan()));
        assert_eq!(runs[0].manifest.duration_ns, Some(400_000_000));
        assert_eq!(runs[1].manifest.output_tokens_source, TokenSource::Requested);
        assert_eq!(runs[1].issue(IssueCode::OutputTokensRequested), 1);
        assert_eq!((runs[2].issue(IssueCode::BadRecord), runs[2].issue(IssueCode::TruncatedRecord)), (1, 1));
        assert!(read(&LMDEPLOY, "none.csv", TABLE.split_once('\n').unwrap().0.as_bytes()).is_err());
    }

    #[test]
    fn damage_is_no_crash() {
        mutate_at_random(&LMDEPLOY, "hurt.csv", TABLE.as_bytes(), 100);
        for cut in (1..TABLE.len()).step_by(7) {
            let found = read(&LMDEPLOY, "cut.csv", &TABLE.as_bytes()[..cut]).map_or(0, |runs| runs.len());
            assert!(found <= 3, "cut at {cut}");
        }
    }
}
