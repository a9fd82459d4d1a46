//! From what the user named to opened datasets: datasets as they are, raw files ingested on the fly.

use crate::args::{FileArgs, ReadingArgs};
use crate::cleanup;
use crate::error::CliError;
use crate::output::{read_text, say};
use crate::progress::Progress;
use crate::spared;
use postrun_ingest::{
    INGESTORS, IngestError, Ingestor, Input, LeftAlone, Mapping, Options, Outcome, find_ingestor, ingest,
};
use postrun_schema::{Dataset, MANIFEST_FILE, counted, did_you_mean, find_datasets};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Opened runs, and the folder that holds those made on the fly. Dropping it removes them.
pub struct Runs {
    pub datasets: Vec<Dataset>,
    /// What the ingest did, where there was one.
    pub outcome: Option<Outcome>,
    _scratch: Option<TempDir>,
}

/// How the user wants raw files read.
pub fn options(reading: &ReadingArgs) -> Result<Options, CliError> {
    options_for(reading.input_format.as_deref(), &reading.files)
}

/// The same where `format` has another name.
pub fn options_for(format: Option<&str>, files: &FileArgs) -> Result<Options, CliError> {
    let mapping = files.mapping.as_deref().map(mapping).transpose()?;
    Ok(Options {
        format: format.map(format_named).transpose()?,
        mapping,
        max_expansion: Some(files.max_expansion),
        ..Options::default()
    })
}

fn mapping(path: &Path) -> Result<Arc<Mapping>, CliError> {
    Ok(Arc::new(Mapping::from_toml(&path.display().to_string(), &read_text(path)?)?))
}

/// Opens everything the user named; raw files are ingested with these options.
pub fn open(args: &[String], options: Options) -> Result<Runs, CliError> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut raw: Vec<Input> = Vec::new();
    let mut raw_at = 0;
    for arg in args {
        let input = Input::from_arg(arg);
        let found = match &input {
            Input::Path(path) if path.is_dir() => find_datasets(path)?,
            Input::Path(path) if path.file_name().is_some_and(|n| n == MANIFEST_FILE) => {
                vec![path.parent().unwrap_or(Path::new(".")).to_path_buf()]
            }
            _ => Vec::new(),
        };
        if found.is_empty() {
            if raw.is_empty() {
                raw_at = folders.len();
            }
            raw.push(input);
        } else {
            folders.extend(found);
        }
    }
    let mut scratch = None;
    let mut outcome = None;
    let mut datasets = folders.iter().map(|f| Dataset::open(f)).collect::<Result<Vec<_>, _>>()?;
    datasets.iter().for_each(spared::dataset);
    if !raw.is_empty() {
        let dir = scratch_dir()?;
        raw.iter().for_each(|input| match input {
            Input::Path(path) => spared::file(path),
            Input::Stdin => spared::standard_input(),
        });
        let made = ingest_all(&raw, &dir.path().join("runs"), options)?;
        spared::recordings(&made);
        let own = made.datasets.iter().map(|f| Dataset::open_own(f)).collect::<Result<Vec<_>, _>>()?;
        datasets.splice(raw_at..raw_at, own);
        (scratch, outcome) = (Some(dir), Some(made));
    }
    Ok(Runs { datasets, outcome, _scratch: scratch })
}

/// The format that the user named.
pub fn format_named(id: &str) -> Result<&'static Ingestor, CliError> {
    find_ingestor(id).map_err(|error| match error {
        IngestError::UnknownFormat { name, known } => {
            let hint = did_you_mean(&name, INGESTORS.iter().map(|i| i.id));
            CliError::Argument(format!("unknown format {name:?}{hint} (known: {known})"))
        }
        other => other.into(),
    })
}

/// A folder for what is made on the fly. Dropping it, or a signal, removes it.
pub fn scratch_dir() -> Result<TempDir, CliError> {
    let made = tempfile::Builder::new().prefix("postrun-").tempdir();
    let made = made.inspect(|dir| cleanup::on_signal(dir.path()));
    made.map_err(|source| CliError::Write { file: std::env::temp_dir().display().to_string(), source })
}

fn ingest_all(raw: &[Input], target: &Path, options: Options) -> Result<Outcome, CliError> {
    let progress = Progress::start(raw);
    let options = Options { scratch: true, progress: Some(progress.counter()), ..options };
    let outcome = ingest(raw, target, &options)?;
    drop(progress);
    say_left_alone(&outcome);
    Ok(outcome)
}

/// Names the files that were not read: those that the user named first, each with a warning; of a folder those that
/// might have been meant one by one, the others together.
pub fn say_left_alone(outcome: &Outcome) {
    const NAMED: usize = 8;
    for file in &outcome.not_used {
        say(&format!("warning: {} holds nothing usable ({}); the figures are without it", file.name, file.why));
    }
    let (unknown, notable): (Vec<&LeftAlone>, Vec<&LeftAlone>) =
        outcome.left_alone.iter().partition(|left| left.why == "no known format");
    for left in notable.iter().take(NAMED) {
        say(&format!("left alone: {} ({})", left.name, left.why));
    }
    if notable.len() > NAMED {
        say(&format!("left alone: {} more", notable.len() - NAMED));
    }
    if !unknown.is_empty() {
        let base = |name: &str| Path::new(name).file_name().map(|n| n.to_string_lossy().into_owned());
        let mut names: Vec<String> = unknown.iter().filter_map(|left| base(&left.name)).collect();
        names.sort();
        names.dedup();
        let more = if names.len() > NAMED { ", …" } else { "" };
        names.truncate(NAMED);
        let files = counted(unknown.len() as u64, "file");
        say(&format!("left alone: {files} of no known format: {}{more}", names.join(", ")));
    }
}
