//! The arguments of `postrun export`.

use super::ReadingArgs;
use crate::value;
use clap::{Args, ValueHint};
use std::path::PathBuf;

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
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Fail if any record cannot be read
    #[arg(long)]
    pub strict: bool,
}
