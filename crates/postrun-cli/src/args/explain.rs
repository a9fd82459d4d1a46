//! The arguments of `postrun explain`.

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  postrun explain ttft
  postrun explain vllm_bench
  postrun explain not_streamed")]
pub struct ExplainArgs {
    /// Id of a metric, a rule, a format, a topic or a data-quality entry (see `postrun list`)
    #[arg(value_name = "NAME")]
    pub name: String,
}
