//! `postrun completions SHELL`.

use crate::args::{Cli, CompletionsArgs};
use crate::error::CliError;
use crate::output::print;
use clap::CommandFactory;

pub fn run(args: CompletionsArgs) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "postrun", &mut script);
    print(&String::from_utf8_lossy(&script))
}
