//! The arguments of `postrun diff`.

use super::ReadingArgs;
use crate::value;
use clap::{Args, ValueEnum, ValueHint};
use postrun_analysis::{BucketEdges, ClientConvention};
use postrun_diff::Limit;
use std::path::PathBuf;

/// Form of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// Text for a terminal
    Table,
    /// Schema postrun.diff/1
    Json,
    /// For a pull request or a wiki
    Markdown,
    /// One page with charts that opens offline
    Html,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun diff before/ after/
  postrun diff --base a1/ a2/ a3/ --candidate b1/ b2/ b3/
  postrun diff before/ after/ -o diff.html
  postrun diff before/ after/ --charts charts/
  postrun diff aiperf/ guidellm/ --convention aiperf
  postrun diff before/ after/ --fail-on 'regression:p95.ttft>5'
  postrun diff before/ after/ --budget postrun.toml --strict --format markdown -o summary.md

Exit codes: 0 done; 1 a regression met --fail-on, or a limit of the budget is exceeded; 2 the input
or an argument is wrong, or a limit is on a figure that is not recorded (the comparison is printed
all the same); 3 nothing was decided and --strict was given (or an error of postrun itself, said on
standard error).")]
pub struct DiffArgs {
    /// The two runs: recorded files, folders or datasets
    #[arg(value_names = ["BASE", "CANDIDATE"], num_args = 2, required_unless_present = "base",
          conflicts_with_all = ["base", "candidate"], value_hint = ValueHint::AnyPath)]
    pub runs: Vec<String>,
    /// Repeats of the base; each is one run, or a folder of several
    #[arg(long, value_name = "RUN", num_args = 1.., requires = "candidate", value_hint = ValueHint::AnyPath)]
    pub base: Vec<String>,
    /// Repeats of the candidate
    #[arg(long, value_name = "RUN", num_args = 1.., requires = "base", value_hint = ValueHint::AnyPath)]
    pub candidate: Vec<String>,
    /// Form of the comparison [default: by the ending of --output, else table]
    #[arg(long, value_enum)]
    pub format: Option<DiffFormat>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Write every chart of the comparison to this folder as SVG and PNG, light and dark
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub charts: Option<PathBuf>,
    /// Exit with 1 on a regression: `regression`, `regression:ttft>5` (more than 5 %), `regression:p95.ttft>5`; may be
    /// given several times
    #[arg(long, value_name = "WHAT", value_parser = Limit::regression)]
    pub fail_on: Vec<Limit>,
    /// Limits that the candidate must keep, in a file (see `postrun explain budget_file`)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub budget: Option<PathBuf>,
    /// Exit with 3 if nothing could be decided
    #[arg(long)]
    pub strict: bool,
    /// Equal within this many percent [default: 2]
    #[arg(long, value_name = "PCT", value_parser = value::percent, allow_hyphen_values = true)]
    pub margin: Option<f64>,
    /// Allowance for the noise between runs, in percent, where there is one run a side [default: 25, or less where three
    /// earlier repeats beside BASE show it]
    #[arg(long, value_name = "PCT", value_parser = value::percent, allow_hyphen_values = true)]
    pub run_noise: Option<f64>,
    /// Take that allowance from earlier repeats of one configuration, three or more
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with = "run_noise", value_hint = ValueHint::AnyPath)]
    pub noise_from: Vec<String>,
    /// Lower edges of the prompt-length buckets in tokens: `0,128,512,2k,8k` [default: automatic]
    #[arg(long, value_name = "EDGES", value_parser = value::buckets)]
    pub buckets: Option<BucketEdges>,
    /// By whose definitions to compute the metrics of both sides: postrun, vllm, sglang, guidellm, aiperf, inference-perf,
    /// evalscope, llmperf, tensorrt-llm or mlperf (see `postrun explain conventions`)
    #[arg(long, value_name = "NAME", value_parser = value::convention, default_value = "postrun")]
    pub convention: &'static ClientConvention,
    /// Thresholds and rules of your own for the diagnoses
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub rules: Option<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}
