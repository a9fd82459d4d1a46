//! Exit codes. They are part of the interface: a script may rely on them.

use crate::cleanup;
use crate::error::CliError;
use crate::output::say;
use postrun_analysis::AnalysisError;
use postrun_export::ExportError;
use postrun_ingest::IngestError;
use postrun_schema::SchemaError;
use std::process::ExitCode;

/// Done.
pub const DONE: u8 = 0;
/// Done, and a finding or a regression met `--fail-on`, or a figure of the client differs without a known reason.
pub const FINDING: u8 = 1;
/// The user's input is wrong: a file that cannot be read or is not what it should be, a bad argument, a place that cannot
/// be written (full, read-only, forbidden, taken).
pub const BAD_INPUT: u8 = 2;
/// Our fault. An interrupt ends with 128 and the number of the signal, as shells have it (`cleanup.rs`).
pub const INTERNAL: u8 = 3;
/// A comparison decided nothing and `--strict` was given.
pub const UNDECIDED: u8 = 3;

/// From now on a panic says one line, removes what is half written and ends the process. It is our fault, or nothing could be
/// started any more (threads, memory); then unwinding might wait for what never comes.
pub fn end_at_a_fault() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let what = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("of an unknown kind");
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        say(&format!("postrun: a fault of postrun itself or of its surroundings: {what}{place}; please report it"));
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            usual(panic);
        }
        cleanup::remove_unfinished();
        std::process::exit(i32::from(INTERNAL));
    }));
}

/// The code of a diagnosis or of a parity list; true: what it looks for was found.
pub fn diagnosed(result: Result<bool, CliError>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::from(FINDING),
        other => code(other.map(drop)),
    }
}

/// What a comparison came to, for a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// No limit is exceeded.
    Kept,
    /// A limit is exceeded.
    Exceeded,
    /// A limit is on a figure that is not recorded: it guards nothing.
    Broken,
    /// Nothing was decided, and `--strict` was given.
    Undecided,
}

/// The code of a comparison.
pub fn compared(result: Result<Compared, CliError>) -> ExitCode {
    match result {
        Ok(Compared::Exceeded) => ExitCode::from(FINDING),
        Ok(Compared::Broken) => ExitCode::from(BAD_INPUT),
        Ok(Compared::Undecided) => ExitCode::from(UNDECIDED),
        other => code(other.map(drop)),
    }
}

/// Prints the error, if any, and gives the code. A reader that closed our output early is no error.
pub fn code(result: Result<(), CliError>) -> ExitCode {
    cleanup::give_way();
    let error = match result {
        Ok(()) => return ExitCode::from(DONE),
        Err(CliError::Write { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            return ExitCode::from(DONE);
        }
        Err(error) => error,
    };
    say(&format!("postrun: {error}"));
    ExitCode::from(match error {
        CliError::Json(_)
        | CliError::Export(ExportError::Batch(_))
        | CliError::Chart(_)
        | CliError::Analysis(AnalysisError::Polars { .. })
        | CliError::Schema(SchemaError::Arrow(_) | SchemaError::Thread)
        | CliError::Ingest(IngestError::Schema(SchemaError::Arrow(_) | SchemaError::Thread)) => INTERNAL,
        _ => BAD_INPUT,
    })
}
