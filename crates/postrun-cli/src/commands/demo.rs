//! `postrun demo [DIR]`: the whole way on a bundled recording, from files to a page to send on.

use super::report;
use super::runs;
use crate::args::DemoArgs;
use crate::cleanup;
use crate::error::CliError;
use crate::output::{print_lines, write_file};
use crate::value;
use postrun_analysis::Options;
use postrun_diagnose::RuleSet;
use postrun_ingest::{Input, ingest};
use postrun_report::to_html;
use postrun_schema::partial_folder;
use std::path::Path;

/// A real run of a real vLLM server with too little KV cache: what its client and the server left.
const RECORDING: [(&str, &str); 4] = [
    ("result.json", include_str!("../../../../fixtures/server_side/kv_tight/input/result.json")),
    ("server.log", include_str!("../../../../fixtures/server_side/kv_tight/input/server.log")),
    ("metrics.prom", include_str!("../../../../fixtures/server_side/kv_tight/input/metrics.prom")),
    ("spans.otlp.jsonl", include_str!("../../../../fixtures/server_side/kv_tight/input/spans.otlp.jsonl")),
];
const OBJECTIVES: &str = "ttft=1s,tpot=50ms";

pub fn run(args: DemoArgs) -> Result<(), CliError> {
    let target = args.output;
    if target.exists() {
        let hint = format!("{} exists already; nothing was written. Name another folder", target.display());
        return Err(CliError::Argument(hint));
    }
    let partial = partial_folder(&target);
    cleanup::on_signal(&partial);
    let made = make(&partial).and_then(|verdict| {
        let failed = |source| CliError::Write { file: target.display().to_string(), source };
        std::fs::rename(&partial, &target).map(|()| verdict).map_err(failed)
    });
    if made.is_err() {
        // Nothing half-written stays.
        let _ = std::fs::remove_dir_all(&partial);
    }
    print_lines(&tour(&target, &made?))
}

/// Writes recording, dataset and page; the first finding.
fn make(dir: &Path) -> Result<String, CliError> {
    let recording = dir.join("recording");
    let failed = |source| CliError::Write { file: recording.display().to_string(), source };
    std::fs::create_dir_all(&recording).map_err(failed)?;
    for (name, text) in RECORDING {
        write_file(&recording.join(name), text)?;
    }
    let run = dir.join("run");
    let options = postrun_ingest::Options { label: Some("demo".to_string()), ..Default::default() };
    ingest(&[Input::Path(recording)], &run, &options)?;
    let opened =
        runs::open(&[run.display().to_string()], postrun_ingest::Options { strict: true, ..Default::default() })?;
    let objectives = value::slo(OBJECTIVES).map_err(CliError::Argument)?.0;
    let options = Options { objectives, shapes: true, ..Options::default() };
    let reports = report::reports(&opened, &options, &RuleSet::default())?;
    write_file(&dir.join("report.html"), to_html(&reports)?)?;
    let first = reports.runs.iter().flat_map(|r| r.diagnosis.findings.iter()).next();
    Ok(first.map(|f| f.summary.clone()).unwrap_or_default())
}

fn tour(target: &Path, verdict: &str) -> String {
    let at = |name: &str| -> String { target.join(name).display().to_string() };
    let (recording, run, page) = (at("recording"), at("run"), at("report.html"));
    format!(
        "{recording}: what a benchmark client and a vLLM server left of one run
{run}: the same as a dataset, in Parquet
{page}: its report; open it in a browser

What it says first: {verdict}.

Next:
  postrun diagnose {run}
  postrun report {recording} --slo {OBJECTIVES}
  postrun explain frequent_preemption
  postrun report YOUR_RESULT.json -o report.html
"
    )
}
