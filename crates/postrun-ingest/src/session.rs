//! One ingest: from what the user named to published datasets.

use crate::detect::recognise;
use crate::error::IngestError;
use crate::folder;
use crate::ingestor::{Ingestor, Sniff};
use crate::sink::{Collected, RunSink, sanitize, settle};
use crate::source::{Input, Source, base_name};
use postrun_schema::{IssueCode, Staging};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// How to ingest.
#[derive(Default, Clone)]
pub struct Options {
    /// Force this format instead of recognising it.
    pub format: Option<&'static Ingestor>,
    /// Name of the run; only where there is one.
    pub label: Option<String>,
    /// Replace an existing dataset at the target.
    pub replace: bool,
    /// Fail if any record could not be read.
    pub strict: bool,
    /// Counts the bytes read, for a progress bar.
    pub progress: Option<Arc<AtomicU64>>,
}

/// A file that was read.
#[derive(Debug, Clone)]
pub struct UsedFile {
    /// As named.
    pub name: String,
    /// Ingestor.
    pub format: &'static str,
    /// Runs found in it.
    pub runs: usize,
}

/// A file in a folder that was not read.
#[derive(Debug, Clone)]
pub struct LeftAlone {
    /// As named.
    pub name: String,
    /// Why.
    pub why: String,
}

/// What an ingest did.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Dataset folders, in order.
    pub datasets: Vec<PathBuf>,
    /// Files read.
    pub used: Vec<UsedFile>,
    /// Files of folders left alone.
    pub left_alone: Vec<LeftAlone>,
}

/// A file to read.
struct Candidate {
    input: Input,
    label: String,
    /// Named by the user, so that not knowing it is an error.
    named: bool,
}

/// Reads `inputs` and publishes their runs at `target`: the dataset itself for one run, `run=<label>` folders for
/// several. On any error nothing is left at the target.
pub fn ingest(inputs: &[Input], target: &Path, options: &Options) -> Result<Outcome, IngestError> {
    let candidates = candidates(inputs)?;
    let mut staging = Staging::create(target, options.replace)?;
    let mut collected: Vec<Collected> = Vec::new();
    let (mut used, mut left_alone, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for candidate in &candidates {
        let mut source = match Source::open(&candidate.input, options.progress.clone()) {
            Err(IngestError::Empty { file }) if !candidate.named => {
                left_alone.push(LeftAlone { name: file, why: "empty".to_string() });
                continue;
            }
            opened => opened?,
        };
        let ingestor = match options.format {
            Some(forced) => forced,
            None => match recognise(&source) {
                Ok((ingestor, fit)) if candidate.named || fit == Sniff::Strong => ingestor,
                Ok((ingestor, _)) => {
                    let why = format!("perhaps {}: name it with --format {}", ingestor.title, ingestor.id);
                    left_alone.push(LeftAlone { name: source.name, why });
                    continue;
                }
                Err(_) if !candidate.named => {
                    left_alone.push(LeftAlone { name: source.name, why: "no known format".to_string() });
                    continue;
                }
                Err(e) => return Err(e),
            },
        };
        let file = files.len();
        files.push(source.name.clone());
        let started = collected.len();
        let mut sink = RunSink {
            staging: &mut staging,
            collected: &mut collected,
            file,
            default_label: candidate.label.clone(),
            started,
        };
        match (ingestor.ingest)(&mut source, &mut sink) {
            Err(IngestError::NothingUsable { problem, .. }) if !candidate.named => {
                left_alone.push(LeftAlone { name: source.name, why: problem });
                continue;
            }
            result => result?,
        }
        used.push(UsedFile { name: source.name, format: ingestor.id, runs: collected.len() - started });
    }
    if collected.is_empty() {
        return Err(nothing_found(inputs, &left_alone));
    }
    if options.strict {
        refuse_losses(&collected, &files)?;
    }
    let mut settled = settle(&staging, collected, &files)?;
    settled.duplicates.dedup();
    for name in settled.duplicates {
        left_alone.push(LeftAlone { name, why: "holds runs already read from another file".to_string() });
    }
    if let Some(label) = &options.label {
        match settled.runs.as_mut_slice() {
            [run] => run.manifest.label = sanitize(label),
            runs => return Err(IngestError::LabelForMany { runs: runs.len() }),
        }
    }
    let datasets = staging.publish(settled.runs)?;
    Ok(Outcome { datasets, used, left_alone })
}

fn candidates(inputs: &[Input]) -> Result<Vec<Candidate>, IngestError> {
    let mut out = Vec::new();
    for input in inputs {
        match input {
            Input::Path(root) if root.is_dir() => {
                for path in folder::files(root)? {
                    let label = folder::label_below(root, &path);
                    out.push(Candidate { input: Input::Path(path), label, named: false });
                }
            }
            Input::Path(path) => {
                let label = stem(path);
                out.push(Candidate { input: input.clone(), label, named: true });
            }
            Input::Stdin => out.push(Candidate { input: Input::Stdin, label: "stdin".to_string(), named: true }),
        }
    }
    tell_apart(&mut out);
    Ok(out)
}

/// `result.json.gz` becomes `result`.
fn stem(path: &Path) -> String {
    let name = base_name(path);
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
    stem.to_string()
}

/// Files of the same name in different folders are told apart by their folder.
fn tell_apart(candidates: &mut [Candidate]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for c in candidates.iter() {
        *seen.entry(c.label.clone()).or_default() += 1;
    }
    for c in candidates {
        let Input::Path(path) = &c.input else { continue };
        let parent = path.parent().map(base_name).filter(|p| !p.is_empty() && p != "." && p != "..");
        if let (Some(true), Some(parent)) = (seen.get(&c.label).map(|n| *n > 1), parent) {
            c.label = format!("{parent}.{}", c.label);
        }
    }
}

fn nothing_found(inputs: &[Input], left_alone: &[LeftAlone]) -> IngestError {
    let folder = inputs.iter().map(|i| match i {
        Input::Path(p) => p.display().to_string(),
        Input::Stdin => "-".to_string(),
    });
    let named: Vec<String> = left_alone.iter().take(5).map(|l| format!("{}: {}", l.name, l.why)).collect();
    let more = if left_alone.len() > 5 { "; …" } else { "" };
    IngestError::NothingInFolder {
        folder: folder.collect::<Vec<_>>().join(", "),
        looked_at: left_alone.len(),
        named: if named.is_empty() { String::new() } else { format!(": {}{more}", named.join("; ")) },
    }
}

fn refuse_losses(collected: &[Collected], files: &[String]) -> Result<(), IngestError> {
    for item in collected {
        for issue in item.issues.clone().into_sorted(item.requests) {
            if matches!(issue.code, IssueCode::TruncatedRecord | IssueCode::BadRecord | IssueCode::NotARun) {
                return Err(IngestError::Strict {
                    file: files.get(item.file).cloned().unwrap_or_default(),
                    count: issue.count,
                    example: issue.example,
                    at: issue.at,
                });
            }
        }
    }
    Ok(())
}
