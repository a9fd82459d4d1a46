//! The arguments of `postrun report`.

use super::ReadingArgs;
use crate::value::{self, SloArg};
use clap::{Args, ValueEnum, ValueHint};
use postrun_analysis::{BucketEdges, ClientConvention, Window};
use std::path::PathBuf;

/// Form of a report.
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
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Fail if any record cannot be read
    #[arg(long)]
    pub strict: bool,
}
