//! The arguments of `postrun man`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun man man1/ && man ./man1/postrun.1")]
pub struct ManArgs {
    /// Folder to write `postrun.1` and a page a command to
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
}
