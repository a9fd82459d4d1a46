//! The arguments of `postrun simulate`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

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
