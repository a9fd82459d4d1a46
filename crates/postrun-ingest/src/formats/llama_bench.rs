//! llama-bench results (JSON, JSON lines, CSV, SQL, Markdown): how long the engine takes for a prompt and for a number of tokens.
//!
//! # Which files
//! What `llama-bench` prints, whatever its `-o`: `json`, `jsonl`, `csv`, `sql` or the table (`md`) that it prints where nothing is
//! asked for. One row a test, each of which becomes a run: `pp512` (a prompt), `tg128` (tokens), `pp512+tg128` (both, `-pg`),
//! `@d4096` behind it where there was context before. Recognised by `n_prompt`, `n_gen` and `avg_ns`, a Markdown table by its columns
//! from `model` to `test` and `t/s`. Other lines around rows (a log, the build) are passed over.
//!
//! # Versions seen
//! Build 5163 by its published examples, tables of older and newer ones; no real file was at hand. What other builds add is kept as a setting of the load.
//!
//! # How the figures are read
//! - Each entry of `samples_ns` is a repetition and becomes a request: of a prompt test its prefill, of a token test its
//!   decode, of one with both its end. CSV and SQL hold no samples, so nothing about single
//!   repetitions; a Markdown table holds two figures of each test, tokens a second and their spread, with two decimals.
//! - There is no server in it: no queue, no network, one sequence at a time. A token test starts without a prompt.
//! - `stddev_ns` divides by n − 1, postrun by n.
//!
//! # What is not recorded
//! When a repetition began, first tokens, gaps, failures. The warm-up is not in the file.

mod printed;

use crate::bench::reported::{Named, named};
use crate::client::file;
use crate::client::manifest::of_tool;
use crate::client::value::Judge;
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::{RecordError, Walked};
use crate::json::{Tree, shorten};
use crate::sink::{Fingerprint, FinishedRun, RunSink};
use crate::text::lines::Lines;
use postrun_schema::{Doc, IssueCode, Issues, Manifest, ReportedRow, RequestRow, TokenSource};
use printed::{Form, Table};
use std::path::Path;

pub(super) static LLAMA_BENCH: Ingestor = Ingestor {
    id: "llama_bench",
    title: "llama-bench results",
    doc: Doc::from_source(include_str!("llama_bench.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

const KEYS: [&str; 3] = ["n_prompt", "n_gen", "avg_ns"];
const TEXT_BYTES: usize = 400;

fn sniff(head: &Head) -> Sniff {
    let table = head.keys.is_empty() && Form::of(head.bytes).is_some();
    if head.has_all(&KEYS) || table { Sniff::Strong } else { Sniff::No }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let Some(form) = Form::of(&source.head) else {
        let record =
            |(): &mut (), reader: &mut file::Reader<'_>, sink: &mut RunSink<'_>, place: &dyn Fn() -> String| {
                Test(reader.tree(TEXT_BYTES)?).commit(sink, place)
            };
        return file::read(source, sink, LLAMA_BENCH.id, (), record, |(), _, _| Ok(()));
    };
    let file = source.name.clone();
    let mut text = source.take_reader();
    let walked = rows(form, &mut Lines::new(&mut text), &file, sink)?;
    sink.close(source, text, LLAMA_BENCH.id, walked)
}

/// The rows of a table, a line each.
fn rows<R: std::io::Read>(
    form: Form,
    lines: &mut Lines<R>,
    file: &str,
    sink: &mut RunSink<'_>,
) -> Result<Walked, IngestError> {
    let mut walked = Walked { issues: Issues::default(), skipped: 0, first_problem: None };
    let mut table = Table::of(form);
    while let Some(line) = lines.next().map_err(IngestError::io(file))? {
        let place = || format!("{file}: {}", line.place());
        let outcome = match table.row(&line.text, line.unfinished) {
            Ok(None) => Ok(()),
            Err(problem) => Err(problem),
            Ok(Some(test)) => match Test(test).commit(sink, &place) {
                Ok(()) => Ok(()),
                Err(RecordError::NotARun(what)) => Err((IssueCode::NotARun, what)),
                Err(RecordError::Fatal(e)) => return Err(e),
                Err(RecordError::Json(e)) => Err((IssueCode::BadRecord, e.to_string())),
            },
        };
        if let Err((code, example)) = outcome {
            walked.skipped += 1;
            walked.first_problem.get_or_insert_with(|| format!("{}: {example}", line.place()));
            walked.issues.add(code, place, || example);
        }
    }
    Ok(walked)
}

/// One test.
struct Test(Tree);

impl Test {
    fn commit(&self, sink: &mut RunSink<'_>, place: &dyn Fn() -> String) -> Result<(), RecordError> {
        let count = |key: &str| self.0.get(key).count();
        let (Some(prompt), Some(output)) = (count("n_prompt"), count("n_gen")) else {
            return Err(RecordError::NotARun("a test without n_prompt and n_gen".to_string()));
        };
        if prompt == 0 && output == 0 {
            return Err(RecordError::NotARun("a test of neither a prompt nor tokens".to_string()));
        }
        let mut issues = Issues::default();
        let mut writer = sink.writer().map_err(RecordError::Fatal)?;
        let mut requests = 0;
        for sample in self.0.get("samples_ns").elements() {
            let judge = &mut Judge { issues: &mut issues, place };
            let took = sample.integer().and_then(|ns| judge.plausible("samples_ns", ns)).filter(|ns| *ns > 0);
            if took.is_none() && sample.integer().is_none() {
                issues.add(IssueCode::WrongType, place, || "samples_ns: expected whole nanoseconds".to_string());
            }
            writer.push_request(repetition(prompt, output, took))?;
            requests += 1;
        }
        self.reported(prompt, output).into_iter().for_each(|row| writer.push_reported(row));
        let fingerprint = Some(Fingerprint { values: format!("llama_bench {:?}", self.0), requests: None });
        let manifest = self.manifest(requests);
        let shape = self.shape(prompt, output);
        sink.commit(writer, FinishedRun { manifest, issues, requests, label: None, shape, fingerprint, part: None })
            .map_err(RecordError::Fatal)
    }

    fn shape(&self, prompt: u32, output: u32) -> String {
        let parts = [(prompt, "pp"), (output, "tg")].into_iter().filter(|(n, _)| *n > 0);
        let name = parts.map(|(n, kind)| format!("{kind}{n}")).collect::<Vec<_>>().join("+");
        match self.0.get("n_depth").count().filter(|depth| *depth > 0) {
            Some(depth) => format!("{name}@d{depth}"),
            None => name,
        }
    }

    fn manifest(&self, requests: u64) -> Manifest {
        let build = self.0.get("build_number");
        let version = match build {
            Tree::Number(text) => Some(format!("b{text}")),
            _ => None,
        };
        let mut manifest = of_tool("llama-bench", version, "by the names of its results");
        let file = self.0.get("model_filename").text();
        let name = file.and_then(|file| Path::new(file).file_name()).map(|name| name.to_string_lossy().into_owned());
        manifest.model = name.or_else(|| self.0.get("model_type").text().map(String::from));
        manifest.load.max_concurrency = Some(1);
        manifest.load.backend = self.0.get("backends").text().map(String::from);
        manifest.load.date = self.0.get("test_time").text().map(String::from);
        manifest.load.date_is_start = true;
        for (key, value) in self.0.members() {
            let figure = key.ends_with("_ns") || key.ends_with("_ts");
            let told = ["model_filename", "backends", "test_time"].contains(&key.as_str());
            let shown = match value {
                Tree::Text(text) | Tree::Number(text) if !text.is_empty() => text.clone(),
                Tree::Bool(on) => on.to_string(),
                _ => continue,
            };
            if !figure && !told {
                manifest.load.other.insert(shorten(key.clone(), 60), shorten(shown, 200));
            }
        }
        manifest.prompt_tokens_source = TokenSource::Requested;
        manifest.output_tokens_source = TokenSource::Server;
        let absent = ["when repetitions began", "first tokens", "chunk times", "failures", "a server and its queue"];
        manifest.not_recorded = absent.map(String::from).to_vec();
        if requests == 0 {
            manifest.not_recorded.insert(0, "anything about single repetitions: means only".to_string());
        }
        manifest
    }

    fn reported(&self, prompt: u32, output: u32) -> Vec<ReportedRow> {
        let (time, rate): (Named, Named) = match (prompt, output) {
            (_, 0) => (named("prefill_ms", "ms", "same"), named("", "tok/s", "same")),
            (0, _) => (named("decode_ms", "ms", "same"), named("", "tok/s", "same")),
            _ => (named("e2e_ms", "ms", "same"), named("", "tok/s", "same")),
        };
        let mut rows = Vec::new();
        for (key, name, stat, scale) in [
            ("avg_ns", &time, "mean", 1e-6),
            ("stddev_ns", &Named { convention: "sample_spread", ..time }, "std", 1e-6),
            ("avg_ts", &rate, "mean", 1.0),
            ("stddev_ts", &rate, "value", 1.0),
        ] {
            rows.extend(crate::client::distribution::figure(name, stat, key, self.0.get(key), scale));
        }
        rows
    }
}

/// One repetition as a request; its time is that of what the test does.
fn repetition(prompt: u32, output: u32, took: Option<i64>) -> RequestRow {
    RequestRow {
        prompt_tokens: Some(prompt),
        output_tokens: Some(output),
        prefill_ns: took.filter(|_| output == 0),
        decode_ns: took.filter(|_| prompt == 0),
        e2e_ns: took.filter(|_| prompt > 0 && output > 0),
        streamed: Some(false),
        ..RequestRow::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::run_test::{cut_everywhere, mutate_at_random, read};

    const JSON: &[u8] = include_bytes!("../../../../fixtures/llama_bench/three_tests/input/tiny_q8.json");
    const CSV: &str = "build_commit,build_number,cpu_info,model_filename,n_prompt,n_gen,n_depth,test_time,avg_ns,stddev_ns,avg_ts,stddev_ts\n\
        \"abc\",\"5163\",\"a \"\"fast\"\" cpu, 8 cores\",\"m/tiny.gguf\",\"512\",\"0\",\"0\",\"2026-01-02T03:04:05Z\",\"70000000\",\"1000000\",\"7314.285714\",\"10\"\n\
        \"abc\",\"5163\",\"x\",\"m/tiny.gguf\",\"0\",\"0\",\"0\",\"\",\"1\",\"1\",\"1\",\"1\"\n\
        \"abc\",\"5163\"\n\
        \"abc\",\"5163\",\"x\",\"m/tiny.gguf\",\"0\",\"128\",\"4096\",\"\",\"1067431600\",\"3834831\",\"119.9\",\"0.43";

    #[test]
    fn a_test_is_a_run_and_a_sample_a_request() {
        let runs = read(&LLAMA_BENCH, "tiny_q8.json", JSON).unwrap();
        let labels: Vec<&str> = runs.iter().map(|r| r.manifest.label.as_str()).collect();
        assert_eq!(labels, ["tiny_q8-pp512", "tiny_q8-tg128@d4096", "tiny_q8-pp64+tg16"]);
        assert_eq!(runs[0].requests("prefill_ns"), ["70000000", "72000000", "71000000"]);
        assert_eq!(runs[1].requests("decode_ns"), ["1000000000", "1100000000"]);
        assert_eq!((runs[1].requests("prefill_ns")[0].as_str(), runs[1].requests("e2e_ns")[0].as_str()), ("-", "-"));
        assert_eq!(runs[2].requests("e2e_ns"), ["250000000", "-"]);
        assert_eq!(runs[2].issue(IssueCode::NegativeDuration), 1);
        assert_eq!((runs[0].figure("prefill_ms mean"), runs[1].figure("avg_ts mean")), (71.0, 122.0));
        assert_eq!(runs[0].figure("prefill_ms std"), 1.0);
        assert_eq!(
            (runs[0].manifest.model.as_deref(), runs[0].manifest.tool.version.as_deref()),
            (Some("tiny.gguf"), Some("b5163"))
        );
        assert_eq!(runs[0].manifest.load.other.get("n_threads").map(String::as_str), Some("8"));
    }

    #[test]
    fn a_table_holds_means_only() {
        let runs = read(&LLAMA_BENCH, "bench.csv", CSV.as_bytes()).unwrap();
        assert_eq!(runs.len(), 1, "the others are empty, short and cut");
        assert_eq!((runs[0].requests("status").len(), runs[0].figure("prefill_ms mean")), (0, 70.0));
        let counted = [IssueCode::NotARun, IssueCode::BadRecord, IssueCode::TruncatedRecord];
        assert_eq!(counted.map(|code| runs[0].issue(code)), [1, 1, 1]);
        assert_eq!(runs[0].manifest.load.other.get("cpu_info").map(String::as_str), Some("a \"fast\" cpu, 8 cores"));
        assert!(read(&LLAMA_BENCH, "none.csv", CSV.lines().next().unwrap().as_bytes()).is_err());
    }

    const SQL: &str = "CREATE TABLE IF NOT EXISTS llama_bench (\n  build_commit TEXT,\n  n_prompt INTEGER,\n  avg_ns INTEGER\n);\n\n\
        INSERT INTO llama_bench (build_number, model_filename, n_prompt, n_gen, n_depth, avg_ns, stddev_ns, avg_ts, stddev_ts) \
        VALUES ('5163', 'm/it's tiny.gguf', '512', '0', '0', '70000000', '1000000', '7314.285714', '10');\n\
        INSERT INTO llama_bench (build_number, n_prompt, n_gen, avg_ns) VALUES ('5163', '0', '128');\n\
        INSERT INTO llama_bench (build_number, n_prompt, n_gen, avg_ns) VALUES ('5163', '0', '12";

    #[test]
    fn statements_are_rows() {
        let run = &read(&LLAMA_BENCH, "bench.sql", SQL.as_bytes()).unwrap()[0];
        assert_eq!((run.manifest.label.as_str(), run.figure("prefill_ms mean")), ("bench.sql", 70.0));
        assert_eq!(run.manifest.model.as_deref(), Some("it's tiny.gguf"));
        assert_eq!((run.issue(IssueCode::BadRecord), run.issue(IssueCode::TruncatedRecord)), (1, 1));
    }

    const TABLE: &str = "ggml_cuda_init: found 1 device\n\
        | model                | size     | params | backend | ngl | test            | t/s              |\n\
        | -------------------- | -------: | -----: | ------- | --: | --------------: | ---------------: |\n\
        | llama 7B mostly Q4_0 | 3.56 GiB | 6.74 B | CUDA    |  -1 | pp 512          | 2368.80 ± 93.24  |\n\
        | llama 7B mostly Q4_0 | 3.56 GiB | 6.74 B | CUDA    |  -1 | pp64+tg16 @ d32 | 131.42 ± 0.59    |\n\
        | llama 7B mostly Q4_0 | 3.56 GiB | 6.74 B | CUDA    |  -1 | what 16         | 131.42 ± 0.59    |\n\
        | llama 7B mostly Q4_0 | 3.56 GiB | 6.74 B | CUDA    |\n\
        \nbuild: 8cf427ff (5163)\n";

    #[test]
    fn a_printed_table_holds_rates() {
        let runs = read(&LLAMA_BENCH, "bench.md", TABLE.as_bytes()).unwrap();
        let labels: Vec<&str> = runs.iter().map(|r| r.manifest.label.as_str()).collect();
        assert_eq!(labels, ["bench.md-pp512", "bench.md-pp64+tg16@d32"]);
        assert_eq!((runs[0].figure("avg_ts mean"), runs[0].figure("stddev_ts value")), (2368.8, 93.24));
        assert_eq!(runs[0].manifest.model.as_deref(), Some("llama 7B mostly Q4_0"));
        assert_eq!(runs[0].manifest.load.backend.as_deref(), Some("CUDA"));
        assert_eq!(runs[0].manifest.load.other.get("ngl").map(String::as_str), Some("-1"));
        assert_eq!((runs[0].issue(IssueCode::NotARun), runs[0].issue(IssueCode::BadRecord)), (1, 1));
    }

    #[test]
    fn damage_is_no_crash() {
        for (name, text) in [("cut.sql", SQL), ("cut.md", TABLE)] {
            cut_everywhere(&LLAMA_BENCH, name, text.as_bytes(), 11);
            mutate_at_random(&LLAMA_BENCH, name, text.as_bytes(), 100);
        }
        cut_everywhere(&LLAMA_BENCH, "cut.json", JSON, 7);
        mutate_at_random(&LLAMA_BENCH, "hurt.json", JSON, 100);
        mutate_at_random(&LLAMA_BENCH, "hurt.csv", CSV.as_bytes(), 100);
    }
}
