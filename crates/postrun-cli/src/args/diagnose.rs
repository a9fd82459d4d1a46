//! The arguments of `postrun diagnose`.

use super::ReadingArgs;
use crate::value::{self, SloArg};
use clap::{Args, ValueEnum, ValueHint};
use postrun_analysis::ClientConvention;
use std::path::PathBuf;

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
    #[command(flatten)]
    pub reading: ReadingArgs,
}
