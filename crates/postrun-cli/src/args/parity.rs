//! The arguments of `postrun parity`.

use super::ReadingArgs;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

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
    #[command(flatten)]
    pub reading: ReadingArgs,
}
