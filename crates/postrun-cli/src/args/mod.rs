//! The command line: a file a subcommand. One clap definition is parser, help and completions.

mod completions;
mod demo;
mod diagnose;
mod diff;
mod explain;
mod export;
mod ingest;
mod inspect;
mod list;
mod man;
mod parity;
mod report;
mod simulate;
mod trend;

pub use completions::CompletionsArgs;
pub use demo::DemoArgs;
pub use diagnose::{DiagnoseArgs, DiagnosisFormat, FailOn};
pub use diff::{DiffArgs, DiffFormat};
pub use explain::ExplainArgs;
pub use export::ExportArgs;
pub use ingest::IngestArgs;
pub use inspect::InspectArgs;
pub use list::{ListArgs, ListWhat};
pub use man::ManArgs;
pub use parity::{ParityArgs, ParityFormat};
pub use report::{ReportArgs, ReportFormat};
pub use simulate::SimulateArgs;
pub use trend::{TrendArgs, TrendFormat, TrendOrder};

use clap::{Args, Parser, Subcommand, ValueHint};
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
    /// List formats, metrics, rules, charts, scenarios, topics or data-quality entries
    List(ListArgs),
    /// Explain a metric, a rule, a format, a topic or a data-quality entry
    Explain(ExplainArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

/// How raw files are read, of every command that takes runs.
#[derive(Debug, Args)]
pub struct ReadingArgs {
    /// Read raw files as this format instead of recognising it
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<String>,
    #[command(flatten)]
    pub files: FileArgs,
}

/// How files are read, whatever format they are of.
#[derive(Debug, Args)]
pub struct FileArgs {
    /// What the columns of a table of requests are (CSV, JSON or Parquet of your own load generator): a TOML file, see
    /// `postrun explain mapping`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub mapping: Option<PathBuf>,
    /// How many bytes of text one byte of a gzip or zstd file may stand for, beyond 256 MiB of text; more is taken for a
    /// decompression bomb and is an error
    #[arg(long, value_name = "TIMES", default_value_t = postrun_ingest::MOST_TIMES)]
    pub max_expansion: u64,
}
