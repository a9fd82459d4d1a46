//! The command line. One clap definition is parser, help and completions.

use crate::diff_args::{DiffArgs, TrendArgs};
use crate::value::{self, SloArg};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use postrun_analysis::{BucketEdges, ClientConvention, Window};
use std::path::PathBuf;

/// Reads recorded LLM-inference benchmark runs and says what was slow, for whom, since when, and why.
#[derive(Debug, Parser)]
#[command(
    name = "postrun",
    version = concat!(env!("CARGO_PKG_VERSION"), env!("POSTRUN_COMMIT")),
    max_term_width = 100,
    after_help = "Examples:
  postrun demo                                  a recording to try it on
  postrun report result.json                    a report of a recorded run
  postrun report result.json server.log metrics.prom
                                                the same with the server's side
  postrun diagnose run/                         what is wrong, and what to try
  postrun diff before/ after/                   what changed, beyond noise
  postrun report sweep/ --format markdown -o sweep.md
  postrun ingest result.json -o run/            the run as Parquet, for notebooks
  postrun export run/ --to perfetto -o run.perfetto-trace
                                                the run as a timeline, for ui.perfetto.dev
  postrun inspect result.json                   what the file can tell, and what not
  postrun explain ttft                          how a figure is defined, by every client too
  postrun parity result.json                    the client's own figures, computed again

Exit codes: 0 done; 1 done, and --fail-on was met or a figure of parity differs for no known reason; 2 the input, an argument or the place to write is wrong (a full disk too); 3 an error of postrun itself; 130 interrupted."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show on a bundled recording what postrun does: dataset, HTML report, what to type next
    Demo(DemoArgs),
    /// Turn recorded files into a Parquet dataset
    Ingest(IngestArgs),
    /// Report on recorded runs: raw files, folders or datasets
    Report(ReportArgs),
    /// Say what is wrong with a run, on what evidence, how sure it is, and what to try
    Diagnose(DiagnoseArgs),
    /// Compute again every figure that the client stored, by the client's definitions, and compare
    Parity(ParityArgs),
    /// Write a run in the form of another tool: a timeline, a flat table, a benchmark report
    Export(ExportArgs),
    /// Compare two runs: is it really different, where, and is it the system or the workload
    Diff(DiffArgs),
    /// Follow many runs: where did a figure change, and stay changed
    Trend(TrendArgs),
    /// Say what a file is, what can be known from it, and what cannot
    Inspect(InspectArgs),
    /// Simulate a benchmark run with a known cause, for learning and for trying rules
    Simulate(SimulateArgs),
    /// List formats, metrics, rules, charts, topics or data-quality entries
    List(ListArgs),
    /// Explain a metric, a rule, a format, a topic or a data-quality entry
    Explain(ExplainArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

/// How raw files are read; the same wherever they can be named.
#[derive(Debug, Args)]
pub struct ReadingArgs {
    /// What the columns of a table of requests are (CSV, JSON or Parquet of your own load generator): a TOML file, see
    /// `postrun explain mapping`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub mapping: Option<PathBuf>,
    /// How many bytes of text one byte of a gzip or zstd file may stand for, beyond 256 MiB of text; more is taken for a
    /// decompression bomb and is an error
    #[arg(long, value_name = "TIMES", default_value_t = postrun_ingest::MOST_TIMES)]
    pub max_expansion: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun ingest result.json                    writes result.postrun/
  postrun ingest sweep/ -o campaign/            one run=<label> folder a run
  zstdcat r.json.zst | postrun ingest - -o run/
  postrun ingest r.json --format vllm_bench --label baseline
  postrun ingest mine.csv --mapping map.toml    a table of requests of your own")]
pub struct IngestArgs {
    /// Files or folders; `-` is standard input. Gzip and zstd are read as they are
    #[arg(required = true, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<String>,
    /// Folder to write, with its parents; must not exist [default: <name of the first input>.postrun]
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
    /// Name of the run
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
    /// Read the input as this format instead of recognising it (see `postrun list formats`)
    #[arg(long, visible_alias = "input-format", value_name = "FORMAT")]
    pub format: Option<String>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// What to add to the client's clock to get the server's, where you know it better than the recordings: `1.5s`,
    /// `-20ms`, or Unix seconds for a monotonic client clock
    #[arg(long, value_name = "OFFSET", value_parser = value::offset, allow_hyphen_values = true)]
    pub clock_offset: Option<i64>,
    /// Replace a dataset that is already there
    #[arg(long)]
    pub force: bool,
    /// Fail if any record cannot be read
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// Text for a terminal
    Table,
    /// Schema postrun.report/1
    Json,
    /// For a pull request or a wiki
    Markdown,
    /// One page with charts that opens offline
    Html,
    /// One row a figure
    Csv,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun report result.json
  postrun report a/result.json b/result.json --slo ttft=500ms,tpot=50ms
  postrun report run/ --buckets 0,128,512,2k,8k --percentiles 50,75,99
  postrun report result.json --window 30s..5m --format json
  postrun report mine.csv --mapping map.toml
  postrun report results/ -o report.html
  postrun report run/ --charts charts/")]
pub struct ReportArgs {
    /// Recorded files, folders or datasets; `-` is standard input
    #[arg(required = true, value_name = "RUN_OR_FILE", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<String>,
    /// Form of the report [default: by the ending of --output, else table]
    #[arg(long, value_enum)]
    pub format: Option<ReportFormat>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Write every chart to this folder as SVG and PNG, light and dark
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub charts: Option<PathBuf>,
    /// Objectives for goodput: `ttft=500ms,tpot=50ms,e2e=10s`; also queue, prefill, decode, inference,
    /// client_queue, e2e_per_output_token
    #[arg(long, value_name = "LIST", value_parser = value::slo)]
    pub slo: Option<SloArg>,
    /// Lower edges of the prompt-length buckets in tokens: `0,128,512,2k,8k` (k is 1024; a bucket from 0 is
    /// always there) [default: automatic]
    #[arg(long, value_name = "EDGES", value_parser = value::buckets)]
    pub buckets: Option<BucketEdges>,
    /// Thresholds and rules of your own for the diagnosis
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub rules: Option<PathBuf>,
    /// Percentiles to show: `50,90,99.9`
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = value::percentile)]
    pub percentiles: Vec<f64>,
    /// By whose definitions to compute the metrics: postrun, vllm, sglang, guidellm, aiperf, inference-perf, evalscope,
    /// llmperf, tensorrt-llm or mlperf (see `postrun explain conventions`)
    #[arg(long, value_name = "NAME", value_parser = value::convention, default_value = "postrun")]
    pub convention: &'static ClientConvention,
    /// Only this part of the run, since the first send: `30s..5m`, `70s..`
    #[arg(long, value_name = "FROM..TO", value_parser = value::window)]
    pub window: Option<Window>,
    /// What to add to the client's clock to get the server's, where you know it better than the recordings: `1.5s`,
    /// `-20ms`, or Unix seconds for a monotonic client clock
    #[arg(long, value_name = "OFFSET", value_parser = value::offset, allow_hyphen_values = true)]
    pub clock_offset: Option<i64>,
    /// Read raw files as this format instead of recognising it
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Fail if any record cannot be read
    #[arg(long)]
    pub strict: bool,
}

/// Form of a diagnosis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiagnosisFormat {
    /// Text for a terminal
    Table,
    /// Schema postrun.report/1
    Json,
    /// For a pull request or a wiki
    Markdown,
}

/// Findings from which on a diagnosis fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Any warning or critical finding
    Warning,
    /// Any critical finding
    Critical,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun diagnose result.json server.log metrics.prom
  postrun diagnose run/ --format json
  postrun diagnose run/ --slo tpot=50ms --fail-on critical

Exit codes: 0 done; 1 done, and a finding met --fail-on; 2 the input or an argument is wrong; 3 an error of postrun.")]
pub struct DiagnoseArgs {
    /// Recorded files, folders or datasets; files that are named together are one run. `-` is standard input
    #[arg(required = true, value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<String>,
    /// Form of the diagnosis
    #[arg(long, value_enum, default_value = "table")]
    pub format: DiagnosisFormat,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Exit with 1 if there is a finding of this severity or graver
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<FailOn>,
    /// Thresholds and rules of your own
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub rules: Option<PathBuf>,
    /// Objectives, which rules judge by: `ttft=500ms,tpot=50ms,e2e=10s`
    #[arg(long, value_name = "LIST", value_parser = value::slo)]
    pub slo: Option<SloArg>,
    /// By whose definitions to compute the metrics: postrun, vllm, sglang, guidellm, aiperf, inference-perf, evalscope,
    /// llmperf, tensorrt-llm or mlperf (see `postrun explain conventions`)
    #[arg(long, value_name = "NAME", value_parser = value::convention, default_value = "postrun")]
    pub convention: &'static ClientConvention,
    /// What to add to the client's clock to get the server's
    #[arg(long, value_name = "OFFSET", value_parser = value::offset, allow_hyphen_values = true)]
    pub clock_offset: Option<i64>,
    /// Read raw files as this format instead of recognising it
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// Form of a parity list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ParityFormat {
    /// Text for a terminal
    Table,
    /// Schema postrun.parity/1
    Json,
    /// One row a figure
    Csv,
    /// For a pull request or a wiki
    Markdown,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun parity result.json
  postrun parity artifacts/ --format csv -o parity.csv

A figure agrees, differs for a reason that is named, or cannot be recomputed because a fact that it is made of was never recorded: that fact is named, and it counts as no agreement.

Exit codes: 0 done; 1 done, and a figure differs for no known reason; 2 the input or an argument is wrong; 3 an error of postrun.")]
pub struct ParityArgs {
    /// Recorded files, folders or datasets; `-` is standard input
    #[arg(required = true, value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<String>,
    /// Form of the list
    #[arg(long, value_enum, default_value = "table")]
    pub format: ParityFormat,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Read raw files as this format instead of recognising it
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun export run/ --to perfetto -o run.perfetto-trace
                                                open it at ui.perfetto.dev
  postrun export result.json server.log --to chrome-trace -o trace.json
  postrun export run/ --to csv > requests.csv
  postrun export sweep/ --to benchmark-report -o reports/

`postrun explain perfetto` (and so on) says what is in each.")]
pub struct ExportArgs {
    /// Recorded files, folders or datasets; files that are named together are one run. `-` is standard input
    #[arg(required = true, value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<String>,
    /// What to write
    #[arg(long, value_name = "TARGET", value_parser = value::export_target())]
    pub to: String,
    /// Write to this file instead of standard output (`-`); of several runs, to a folder: one file a run
    #[arg(short, long, value_name = "FILE_OR_DIR", value_hint = ValueHint::AnyPath)]
    pub output: Option<PathBuf>,
    /// What to add to the client's clock to get the server's, where you know it better than the recordings
    #[arg(long, value_name = "OFFSET", value_parser = value::offset, allow_hyphen_values = true)]
    pub clock_offset: Option<i64>,
    /// Read raw files as this format instead of recognising it
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Fail if any record cannot be read
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  postrun inspect result.json")]
pub struct InspectArgs {
    /// Recorded files, a folder or a dataset; `-` is standard input
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<String>,
    /// Read a raw file as this format instead of recognising it
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListWhat {
    /// Formats that can be read
    Formats,
    /// Metrics that are computed
    Metrics,
    /// Rules of the diagnosis
    Rules,
    /// Charts that are drawn
    Charts,
    /// Scenarios that can be simulated, with the cause each was made to show
    Scenarios,
    /// Pages about percentiles, buckets, the steady state …
    Topics,
    /// Data-quality entries
    Quality,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun simulate frequent_preemption-t1 -o storm/
  postrun diagnose storm/
  postrun simulate frequent_preemption-t1 --print > mine.json
  postrun simulate mine.json -o mine/ --seed 7

The folder gets what a real run leaves behind (result.json, server.log, metrics.prom, spans.otlp.jsonl) and truth.json.")]
pub struct SimulateArgs {
    /// A scenario of `postrun list scenarios`, or a JSON file of one
    #[arg(value_name = "NAME_OR_FILE", value_hint = ValueHint::FilePath)]
    pub scenario: String,
    /// Folder to write; must not exist
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present = "print")]
    pub output: Option<PathBuf>,
    /// Other random numbers
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print the scenario with all its values instead of simulating it
    #[arg(long)]
    pub print: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  postrun list metrics")]
pub struct ListArgs {
    /// What to list
    #[arg(value_enum)]
    pub what: ListWhat,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun explain ttft
  postrun explain vllm_bench
  postrun explain not_streamed")]
pub struct ExplainArgs {
    /// Id of a metric, a rule, a format, a topic or a data-quality entry (see `postrun list`)
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  postrun completions bash > ~/.local/share/bash-completion/completions/postrun")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun man man1/ && man ./man1/postrun.1")]
pub struct ManArgs {
    /// Folder to write `postrun.1` and a page a command to
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun demo
  postrun demo /tmp/tour")]
pub struct DemoArgs {
    /// Folder to write; must not exist
    #[arg(value_name = "DIR", default_value = "postrun-demo", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
}
