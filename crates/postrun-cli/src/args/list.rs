//! The arguments of `postrun list`.

use clap::{Args, ValueEnum};

/// What there are lists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListWhat {
    /// Formats that can be read
    Formats,
    /// Metrics that are computed
    Metrics,
    /// Rules of the diagnosis
    Rules,
    /// Charts that are drawn
    Charts,
    /// Scenarios that can be simulated, with the cause each was made to show
    Scenarios,
    /// Pages about percentiles, buckets, the steady state …
    Topics,
    /// Data-quality entries
    Quality,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  postrun list metrics")]
pub struct ListArgs {
    /// What to list
    #[arg(value_enum)]
    pub what: ListWhat,
}
