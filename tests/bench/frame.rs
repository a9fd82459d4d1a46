//! What every benchmark begins and ends with.

use std::error::Error;
use std::process::ExitCode;

/// Why a benchmark could not be run.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Runs `measure` with the arguments that were given, where `cargo bench` asks for it: `cargo test` starts benchmarks too.
/// Exit code 2 where the arguments are wrong or something could not be measured.
pub fn run<A>(
    name: &str,
    args: Outcome<A>,
    asked: impl Fn(&A) -> bool,
    measure: impl FnOnce(&A) -> Outcome<()>,
) -> ExitCode {
    let done = args.and_then(|args| match asked(&args) {
        true => measure(&args),
        false => {
            println!("nothing measured: run it by `cargo bench -p postrun-cli --bench {name}`");
            Ok(())
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(2)
        }
    }
}
