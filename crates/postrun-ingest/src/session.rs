//! One ingest: from what the user named to published datasets.

use crate::client::layer;
use crate::detect::recognise;
use crate::error::IngestError;
use crate::ingestor::{Ingestor, Reads, Sniff};
use crate::input::candidate::{Candidate, LeftAlone};
use crate::input::folder;
use crate::input::label;
use crate::input::source::{Input, Source, Watch};
use crate::mapping::Mapping;
use crate::server::merge;
use crate::server::recording::{Located, ServerSink};
use crate::sink::{self, Collected, RunSink, sanitize, settle};
use postrun_schema::{IssueCode, Manifest, Staging};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// How to ingest.
#[derive(Default, Clone)]
pub struct Options {
    /// Force this format instead of recognising it.
    pub format: Option<&'static Ingestor>,
    /// Which columns of a table of requests hold what.
    pub mapping: Option<Arc<Mapping>>,
    /// How many bytes of text one byte of a compressed file may stand for; `None`: [`crate::MOST_TIMES`].
    pub max_expansion: Option<u64>,
    /// Name of the run; only where there is one.
    pub label: Option<String>,
    /// Replace an existing dataset at the target.
    pub replace: bool,
    /// The datasets are for this process alone and gone when it ends: written in the least time, to be opened by
    /// `Dataset::open_own`.
    pub scratch: bool,
    /// Nothing will show the SHA-256 of the sources of these scratch datasets: they go without. Others always have it.
    pub without_hashes: bool,
    /// Fail if any record could not be read.
    pub strict: bool,
    /// Server clock minus client clock in nanoseconds, where the user knows it better than the recordings tell.
    pub clock_offset_ns: Option<i64>,
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

/// What an ingest did.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Dataset folders, in order.
    pub datasets: Vec<PathBuf>,
    /// What stands in each.
    pub manifests: Vec<Manifest>,
    /// Files read.
    pub used: Vec<UsedFile>,
    /// Files of folders left alone.
    pub left_alone: Vec<LeftAlone>,
    /// Files that the user named and that hold nothing usable.
    pub not_used: Vec<LeftAlone>,
}

/// Reads `inputs` and publishes their runs at `target`: the dataset itself for one run, `run=<label>` folders for
/// several. On any error nothing is left at the target.
pub fn ingest(inputs: &[Input], target: &Path, options: &Options) -> Result<Outcome, IngestError> {
    let (candidates, mut left_alone) = candidates(inputs)?;
    let staging = Staging::create(target, options.replace)?;
    let mut staging = if options.scratch { staging.for_own_use() } else { staging };
    let mut collected: Vec<Collected> = Vec::new();
    let mut recordings: Vec<Located> = Vec::new();
    let (mut used, mut files) = (Vec::new(), Vec::new());
    let mut unusable: Vec<(LeftAlone, IngestError)> = Vec::new();
    for candidate in &candidates {
        let started = collected.len();
        let mut reading = Reading {
            staging: &mut staging,
            collected: &mut collected,
            recordings: &mut recordings,
            options,
            file: files.len(),
        };
        match reading.read(candidate) {
            Ok(file) => {
                files.push(file.name.clone());
                used.push(file);
            }
            // One broken file is not worth the others, but somebody meant it: said loudly, and counted.
            Err(e) if candidate.named && e.is_of_the_content() && !options.strict => {
                collected.truncate(started);
                unusable.push((LeftAlone { name: candidate.name(), why: e.reason() }, e));
            }
            // The target is ours to get right; a file of a folder is not worth the others.
            Err(e) if candidate.named || matches!(e, IngestError::Schema(_)) => return Err(e),
            // A recording that cannot be read is a loss; a file that is none is not.
            Err(e) if options.strict && e.is_a_loss() => return Err(e),
            Err(e) => {
                collected.truncate(started);
                left_alone.push(LeftAlone { name: candidate.name(), why: e.reason() });
            }
        }
    }
    if collected.is_empty() && recordings.is_empty() {
        let first = unusable.into_iter().next().map(|(_, e)| e);
        return Err(first.unwrap_or_else(|| nothing_found(inputs, &left_alone)));
    }
    let not_used: Vec<LeftAlone> = unusable.into_iter().map(|(file, _)| file).collect();
    let layered = layer::settle(collected, &used)?;
    left_alone.extend(layered.left_alone);
    let mut settled = settle(layered.kept, &files);
    settled.kept.iter_mut().for_each(Collected::count_missing);
    settled.duplicates.dedup();
    for name in settled.duplicates {
        left_alone.push(LeftAlone { name, why: "holds runs already read from another file".to_string() });
    }
    left_alone.extend(merge::place(&mut settled.kept, recordings, &mut staging, options.clock_offset_ns)?);
    for file in &not_used {
        for run in &mut settled.kept {
            run.issues.add(IssueCode::FileNotUsed, || file.name.clone(), || file.why.clone());
        }
    }
    if options.strict {
        refuse_losses(&settled.kept)?;
    }
    let mut runs = sink::close(settled.kept, inputs);
    if let Some(label) = &options.label {
        match runs.as_mut_slice() {
            [run] => run.manifest.label = sanitize(label),
            runs => return Err(IngestError::LabelForMany { runs: runs.len() }),
        }
    }
    let manifests = runs.iter().map(|run| run.manifest.clone()).collect();
    let datasets = staging.publish(runs)?;
    Ok(Outcome { datasets, manifests, used, left_alone, not_used })
}

/// The reading of one file.
struct Reading<'a> {
    staging: &'a mut Staging,
    collected: &'a mut Vec<Collected>,
    recordings: &'a mut Vec<Located>,
    options: &'a Options,
    file: usize,
}

impl Reading<'_> {
    fn read(&mut self, candidate: &Candidate) -> Result<UsedFile, IngestError> {
        let size_alone = self.options.scratch && self.options.without_hashes;
        let watch = Watch { progress: self.options.progress.clone(), size_alone };
        let mut source = Source::open(&candidate.input, watch)?;
        if let Some(times) = self.options.max_expansion {
            source.allow_expansion(times);
        }
        let (started, before) = (self.collected.len(), self.recordings.len());
        let read = self.read_source(candidate, &mut source);
        let mut found = Vec::new();
        if let Some(what) = source.change() {
            found.push((IssueCode::FileChanged, source.name.clone(), what));
        }
        if let Some(damage) = source.damage() {
            found.push((IssueCode::DamagedFile, format!("{}: {}", source.name, damage.place()), damage.what.clone()));
        }
        let issues = self.collected[started..].iter_mut().map(|run| &mut run.issues);
        for issues in issues.chain(self.recordings[before..].iter_mut().map(|l| &mut l.recording.issues)) {
            for (code, at, what) in &found {
                issues.add(*code, || at.clone(), || what.clone());
            }
        }
        let Some(damage) = source.damage() else { return read };
        read.map_err(|e| match e {
            IngestError::NothingUsable { file, format, problem } => {
                let problem = format!("damaged at {} ({}); {problem}", damage.place(), damage.what);
                IngestError::NothingUsable { file, format, problem }
            }
            other => other,
        })
    }

    fn read_source(&mut self, candidate: &Candidate, source: &mut Source) -> Result<UsedFile, IngestError> {
        let ingestor = match self.options.format {
            Some(forced) => forced,
            None => match recognise(source, &candidate.input, self.options.mapping.as_deref(), candidate.named)? {
                (ingestor, fit) if candidate.named || fit >= Sniff::Plain => ingestor,
                (ingestor, _) => {
                    return Err(IngestError::Perhaps { file: source.name.clone(), format: ingestor.id });
                }
            },
        };
        let started = self.collected.len();
        match ingestor.reads {
            Reads::Runs(ingest) => {
                let mut sink = RunSink {
                    staging: self.staging,
                    collected: self.collected,
                    file: self.file,
                    group: candidate.group.clone(),
                    default_label: candidate.label.clone(),
                    started,
                    mapping: self.options.mapping.clone(),
                };
                ingest(source, &mut sink)?;
            }
            Reads::Server(ingest) => {
                let mut sink = ServerSink::create(source, ingestor.id, &self.staging.scratch())?;
                ingest(source, &mut sink)?;
                let (group, label) = (candidate.group.clone(), candidate.label.clone());
                self.recordings.push(Located { recording: sink.close(source)?, file: self.file, group, label });
            }
        }
        Ok(UsedFile { name: source.name.clone(), format: ingestor.id, runs: self.collected.len() - started })
    }
}

fn candidates(inputs: &[Input]) -> Result<(Vec<Candidate>, Vec<LeftAlone>), IngestError> {
    let mut out = Vec::new();
    let mut left_alone = Vec::new();
    for input in inputs {
        match input {
            Input::Path(path) if folder::is_of_dataset(path) => return Err(is_dataset(path)),
            Input::Path(root) if root.is_dir() => {
                let (paths, passed) = folder::files(root)?;
                left_alone.extend(passed);
                for path in paths {
                    let label = label::below(root, &path);
                    let group = path.parent().map(Path::to_path_buf).unwrap_or_default();
                    out.push(Candidate { input: Input::Path(path), label, group, named: false });
                }
            }
            Input::Path(path) => {
                let label = label::of_file(path);
                out.push(Candidate { input: input.clone(), label, group: PathBuf::new(), named: true });
            }
            Input::Stdin => out.push(Candidate {
                input: Input::Stdin,
                label: "stdin".to_string(),
                group: PathBuf::new(),
                named: true,
            }),
        }
    }
    left_alone.extend(once(&mut out));
    label::tell_apart(&mut out);
    Ok((out, left_alone))
}

/// A file that was named twice, by itself and with its folder or through a link, is one file: that of its folder, where
/// the others of its run lie.
fn once(candidates: &mut Vec<Candidate>) -> Vec<LeftAlone> {
    let mut kept: Vec<Candidate> = Vec::new();
    let mut places: HashMap<PathBuf, usize> = HashMap::new();
    let mut left_alone = Vec::new();
    for candidate in candidates.drain(..) {
        let real = match &candidate.input {
            Input::Path(path) => std::fs::canonicalize(path).ok(),
            Input::Stdin => None,
        };
        let known = real.as_ref().and_then(|real| places.get(real)).and_then(|at| kept.get_mut(*at));
        let Some(known) = known else {
            places.extend(real.map(|real| (real, kept.len())));
            kept.push(candidate);
            continue;
        };
        let named = known.named || candidate.named;
        let goes = match known.group.as_os_str().is_empty() && !candidate.group.as_os_str().is_empty() {
            true => std::mem::replace(known, candidate),
            false => candidate,
        };
        known.named = named;
        let (name, stays) = (goes.name(), known.name());
        let why = match name == stays {
            true => "named twice, and read once".to_string(),
            false => format!("the same file as {stays}, and read once"),
        };
        left_alone.push(LeftAlone { name, why });
    }
    *candidates = kept;
    left_alone
}

fn is_dataset(path: &Path) -> IngestError {
    IngestError::IsDataset { place: path.display().to_string() }
}

fn nothing_found(inputs: &[Input], left_alone: &[LeftAlone]) -> IngestError {
    let all_runs = |input: &&Input| matches!(input, Input::Path(path) if folder::holds_datasets(path));
    if let Some(Input::Path(path)) = inputs.iter().find(all_runs) {
        return is_dataset(path);
    }
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

fn refuse_losses(collected: &[Collected]) -> Result<(), IngestError> {
    for item in collected {
        for issue in item.issues.clone().into_sorted(item.requests) {
            if is_a_loss(issue.code) {
                return Err(IngestError::Strict { count: issue.count, example: issue.example, at: issue.at });
            }
        }
    }
    Ok(())
}

/// Records are missing that the file held or should hold.
fn is_a_loss(code: IssueCode) -> bool {
    use IssueCode::{BadRecord, DamagedFile, MissingRecords, NotARun, TruncatedRecord};
    matches!(code, TruncatedRecord | BadRecord | NotARun | DamagedFile | MissingRecords)
}
