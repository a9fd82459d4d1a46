//! `postrun simulate NAME_OR_FILE -o DIR`: a run with a known cause.

use crate::args::SimulateArgs;
use crate::cleanup;
use crate::error::CliError;
use crate::output::{print_lines, read_text};
use postrun_schema::{counted, did_you_mean, partial_folder};
use postrun_simulate::{Scenario, scenarios, simulate, write};
use std::path::Path;

pub fn run(args: SimulateArgs) -> Result<(), CliError> {
    let mut scenario = find(&args.scenario)?;
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    let Some(target) = args.output.filter(|_| !args.print) else {
        return print_lines(&(scenario.to_json()? + "\n"));
    };
    if target.exists() {
        return Err(CliError::Argument(format!("{} exists already; nothing was written", target.display())));
    }
    let run = simulate(&scenario)?;
    let partial = partial_folder(&target);
    cleanup::on_signal(&partial);
    let error = |source| CliError::Write { file: partial.display().to_string(), source };
    let made = std::fs::create_dir_all(&partial).map_err(error);
    let written =
        made.and_then(|()| Ok(write::folder(&run, &partial, true)?)).and_then(|()| publish(&partial, &target));
    if written.is_err() {
        // Nothing half-written stays.
        let _ = std::fs::remove_dir_all(&partial);
    }
    written?;
    let causes: Vec<&str> = scenario.causes.iter().map(|c| c.id()).collect();
    let shows = if causes.is_empty() { "nothing wrong".to_string() } else { causes.join(", ") };
    print_lines(&format!(
        "{}: {}; made to show: {shows}\n",
        target.display(),
        counted(run.requests.len() as u64, "request")
    ))
}

fn publish(partial: &Path, target: &Path) -> Result<(), CliError> {
    let error = |source| CliError::Write { file: target.display().to_string(), source };
    std::fs::rename(partial, target).map_err(error)
}

fn find(name: &str) -> Result<Scenario, CliError> {
    if let Some(found) = scenarios().into_iter().find(|s| s.name == name) {
        return Ok(found.scenario);
    }
    if !Path::new(name).is_file() {
        let near = did_you_mean(name, scenarios().into_iter().map(|s| s.name));
        let hint = "`postrun list scenarios` names them; a file of one is read too";
        return Err(CliError::Argument(format!("no scenario and no file is called {name:?}{near} ({hint})")));
    }
    Scenario::from_json(&read_text(Path::new(name))?).map_err(|e| CliError::Argument(format!("{name}: {e}")))
}
