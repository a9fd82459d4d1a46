//! The arguments of `postrun trend`.

use super::ReadingArgs;
use crate::value;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// Form of a trend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TrendFormat {
    /// Text for a terminal
    Table,
    /// Schema postrun.trend/1
    Json,
    /// For a pull request or a wiki
    Markdown,
}

/// What orders the runs of a trend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TrendOrder {
    /// When their client saved them
    Time,
    /// Their labels, numbers in them by size
    Label,
    /// As they are named
    Given,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun trend nightly/
  postrun trend run-1/ run-2/ run-3/ --by given --format json")]
pub struct TrendArgs {
    /// Runs: recorded files, folders or datasets, three or more
    #[arg(required = true, value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<String>,
    /// What orders them [default: time where every run has one, else label]
    #[arg(long, value_enum)]
    pub by: Option<TrendOrder>,
    /// Form of the trend
    #[arg(long, value_enum, default_value = "table")]
    pub format: TrendFormat,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Allowance for the noise between runs, in percent, where runs are too few to show it
    #[arg(long, value_name = "PCT", value_parser = value::percent, default_value = "25", allow_hyphen_values = true)]
    pub run_noise: f64,
    #[command(flatten)]
    pub reading: ReadingArgs,
}
