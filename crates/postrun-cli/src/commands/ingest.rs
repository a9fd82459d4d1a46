//! `postrun ingest INPUT... [-o DIR]`.

use super::runs::{options_for, say_left_alone};
use crate::args::IngestArgs;
use crate::cleanup;
use crate::error::CliError;
use crate::output::{print_lines, say};
use crate::progress::Progress;
use postrun_ingest::{Input, Options, ingest};
use postrun_report::issue_text;
use postrun_schema::{Severity, Table, counted, partial_folder};
use std::path::PathBuf;

pub fn run(args: IngestArgs) -> Result<(), CliError> {
    let inputs: Vec<Input> = args.inputs.iter().map(|a| Input::from_arg(a)).collect();
    let target = match args.output {
        Some(dir) => dir,
        None => default_target(&inputs)?,
    };
    let options = options_for(args.format.as_deref(), &args.files)?;
    cleanup::on_signal(&partial_folder(&target));
    let progress = Progress::start(&inputs);
    let options = Options {
        label: args.label,
        replace: args.force,
        strict: args.strict,
        clock_offset_ns: args.clock_offset,
        progress: Some(progress.counter()),
        ..options
    };
    let outcome = ingest(&inputs, &target, &options)?;
    drop(progress);
    say_left_alone(&outcome);
    let mut text = String::new();
    for (dir, manifest) in outcome.datasets.iter().zip(&outcome.manifests) {
        let rows = |table: Table| manifest.tables.get(table.name()).map_or(0, |t| t.rows);
        let (requests, chunks) = (counted(rows(Table::Requests), "request"), counted(rows(Table::Chunks), "chunk"));
        text.push_str(&format!("{}: run {}, {requests}, {chunks}\n", dir.display(), manifest.label));
        for issue in manifest.issues.iter().filter(|i| i.severity != Severity::Info) {
            say(&format!("{}: {}", manifest.label, issue_text(issue)));
        }
    }
    print_lines(&text)
}

/// `result.json` becomes `result.postrun` in the current folder.
fn default_target(inputs: &[Input]) -> Result<PathBuf, CliError> {
    let name = inputs.first().and_then(|input| match input {
        Input::Path(path) => path.file_name().map(|n| n.to_string_lossy().into_owned()),
        Input::Stdin => None,
    });
    let name = name.ok_or_else(|| CliError::Argument("name the folder to write with -o DIR".to_string()))?;
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    let stem = name.strip_suffix(".json").or_else(|| name.strip_suffix(".jsonl")).unwrap_or(name);
    let stem: String = stem.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    Ok(PathBuf::from(format!("{stem}.postrun")))
}
