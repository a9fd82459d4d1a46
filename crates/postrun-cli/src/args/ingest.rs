//! The arguments of `postrun ingest`.

use super::FileArgs;
use crate::value;
use clap::{Args, ValueHint};
use std::path::PathBuf;

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
    pub files: FileArgs,
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
