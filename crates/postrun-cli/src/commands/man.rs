//! `postrun man DIR`: a manual page for postrun and for each command.

use crate::args::{Cli, ManArgs};
use crate::error::CliError;
use crate::output::print_lines;
use clap::CommandFactory;

pub fn run(args: ManArgs) -> Result<(), CliError> {
    let dir = &args.output;
    let failed = |source| CliError::Write { file: dir.display().to_string(), source };
    std::fs::create_dir_all(dir).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), dir).map_err(failed)?;
    print_lines(&format!("manual pages written to {}\n", dir.display()))
}
