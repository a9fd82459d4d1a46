//! Parses arguments, calls the crates in order, maps errors to exit codes.

mod args;
mod cleanup;
mod commands;
mod error;
mod exit;
mod output;
mod progress;
mod spared;
mod tame;
mod value;

use args::{Cli, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    cleanup::outlive_size_limits();
    exit::end_at_a_fault();
    postrun_schema::silence_caught();
    let result = match cli.command {
        Command::Ingest(args) => commands::ingest::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Diagnose(args) => return exit::diagnosed(commands::diagnose::run(args)),
        Command::Diff(args) => return exit::compared(commands::diff::run(args)),
        Command::Trend(args) => commands::trend::run(args),
        Command::Parity(args) => return exit::diagnosed(commands::parity::run(args)),
        Command::Inspect(args) => commands::inspect::run(args),
        Command::Export(args) => commands::export::run(args),
        Command::Simulate(args) => commands::simulate::run(args),
        Command::List(args) => commands::list::run(args),
        Command::Explain(args) => commands::explain::run(args),
        Command::Completions(args) => commands::completions::run(args),
        Command::Man(args) => commands::man::run(args),
        Command::Demo(args) => commands::demo::run(args),
    };
    exit::code(result)
}
