//! The arguments of `postrun demo`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun demo
  postrun demo /tmp/tour")]
pub struct DemoArgs {
    /// Folder to write; must not exist
    #[arg(value_name = "DIR", default_value = "postrun-demo", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
}
