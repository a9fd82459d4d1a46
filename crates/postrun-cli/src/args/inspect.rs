//! The arguments of `postrun inspect`.

use super::ReadingArgs;
use clap::{Args, ValueHint};

#[derive(Debug, Args)]
#[command(after_help = "Example:
  postrun inspect result.json")]
pub struct InspectArgs {
    /// Recorded files, a folder or a dataset; `-` is standard input
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<String>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}
