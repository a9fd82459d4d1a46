//! `postrun export RUN --to TARGET`: a run in the form of another tool.

use super::runs;
use crate::args::ExportArgs;
use crate::error::CliError;
use crate::output::{file_named, file_names, say, stream_file};
use crate::tame::Tame;
use postrun_export::{ExportError, Target, find_target};
use postrun_schema::Dataset;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;

pub fn run(args: ExportArgs) -> Result<(), CliError> {
    let unknown = || CliError::Argument(format!("no target is called {:?}", args.to));
    let target = find_target(&args.to).ok_or_else(unknown)?;
    let output = file_named(&args.output);
    if output.is_none() && target.binary && std::io::stdout().is_terminal() {
        let hint = format!("{} is not text; name a file with -o, or pipe it on", target.id);
        return Err(CliError::Argument(hint));
    }
    let reading = runs::options(&args.reading)?;
    let reading = postrun_ingest::Options { strict: args.strict, clock_offset_ns: args.clock_offset, ..reading };
    let opened = runs::open(&args.inputs, reading)?;
    match (opened.datasets.as_slice(), output) {
        ([dataset], None) => to_stdout(target, dataset),
        ([dataset], Some(path)) if !path.is_dir() => to_file(target, dataset, path),
        (datasets, Some(file)) if !file.is_dir() && file.extension().is_some_and(|e| e == target.ending) => {
            let n = datasets.len();
            let named = file.display();
            Err(CliError::Argument(format!("{n} runs do not go into the one file {named}; name a folder with -o")))
        }
        (datasets, Some(dir)) => to_folder(target, datasets, dir),
        (datasets, None) => {
            let n = datasets.len();
            Err(CliError::Argument(format!("{n} runs do not go into one output; name a folder with -o")))
        }
    }
}

fn to_stdout(target: &Target, dataset: &Dataset) -> Result<(), CliError> {
    let name = "standard output";
    // Locked it could not be handed to another thread; nobody else prints meanwhile.
    let stdout: Box<dyn Write + Send> = match std::io::stdout().is_terminal() {
        true => Box::new(Tame::new(std::io::stdout())),
        false => Box::new(std::io::stdout()),
    };
    let mut out = BufWriter::with_capacity(1 << 18, stdout);
    write(target, dataset, name, &mut out)?;
    out.flush().map_err(|source| CliError::Write { file: name.to_string(), source })
}

fn to_file(target: &Target, dataset: &Dataset, path: &Path) -> Result<(), CliError> {
    stream_file(path, |out| write(target, dataset, &path.display().to_string(), out))
}

/// One file a run, by its label.
fn to_folder(target: &Target, datasets: &[Dataset], dir: &Path) -> Result<(), CliError> {
    let made = !dir.exists();
    std::fs::create_dir_all(dir).map_err(|source| CliError::Write { file: dir.display().to_string(), source })?;
    let names = file_names(datasets.iter().map(|d| d.manifest().label.as_str()));
    let mut nothing = None;
    let mut written = 0;
    for (dataset, name) in datasets.iter().zip(names) {
        match to_file(target, dataset, &dir.join(format!("{name}.{}", target.ending))) {
            // One run of many that cannot be drawn does not keep the others from it.
            Err(error @ CliError::Export(ExportError::NothingToDraw { .. })) => {
                say(&format!("left out: {error}"));
                nothing = Some(error);
            }
            other => other.map(|()| written += 1)?,
        }
    }
    if made && written == 0 {
        let _ = std::fs::remove_dir(dir);
    }
    nothing.filter(|_| written == 0).map_or(Ok(()), Err)
}

/// Writes one run, and says what could not be part of it.
fn write(target: &Target, dataset: &Dataset, name: &str, out: &mut (dyn Write + Send)) -> Result<(), CliError> {
    let left_out = target.write(dataset, out).map_err(|error| match error {
        ExportError::Write(source) => CliError::Write { file: name.to_string(), source },
        ExportError::Schema(error) => error.into(),
        ExportError::Analysis(error) => error.into(),
        other => CliError::Export(other),
    })?;
    left_out.iter().for_each(|what| say(&format!("{}: {what}", dataset.manifest().label)));
    Ok(())
}
