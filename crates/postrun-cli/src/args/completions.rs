//! The arguments of `postrun completions`.

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  postrun completions bash > ~/.local/share/bash-completion/completions/postrun")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}
