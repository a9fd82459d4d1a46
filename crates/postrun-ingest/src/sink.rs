//! Where ingestors put finished runs: labels, duplicates and sources are settled here, the same for every format.

use crate::bench::facts::load_shape;
use crate::client::layer::Part;
use crate::error::IngestError;
use crate::input::source::{Input, Source};
use crate::json::records::Walked;
use crate::json::shorten;
use crate::mapping::Mapping;
use postrun_schema::{DatasetWriter, IssueCode, Issues, Manifest, PendingRun, SourceFile, Staging};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run that is complete but not published.
pub(crate) struct Collected {
    pub run: PendingRun,
    pub issues: Issues,
    /// Name wanted for it; the user's `--label` and clashes can change it.
    pub label: String,
    /// What tells this run from the others of its file, `c64` or `r4`.
    pub shape: String,
    pub requests: u64,
    pub file: usize,
    /// The folder its file lies in.
    pub group: PathBuf,
    /// Equal fingerprints are the same run read twice.
    pub fingerprint: Option<Fingerprint>,
    /// Set where other files of its folder may tell the same run coarser or finer.
    pub part: Option<Part>,
}

impl Collected {
    /// Says so where the client counted more requests than there are records: the duration that it measured is then not
    /// that of these records.
    pub(crate) fn count_missing(&mut self) {
        let (here, manifest) = (self.run.measured, &mut self.run.manifest);
        let Some(counted) = manifest.counted.requests() else { return };
        // A sample says of itself that it is one.
        if self.requests == 0 || counted <= here || self.issues.count(IssueCode::SampledRequests) > 0 {
            return;
        }
        manifest.duration_ns = None;
        let place = || manifest.source_names();
        let example =
            || format!("the client counted {}, the records are {here}", postrun_schema::counted(counted, "request"));
        self.issues.add_many(IssueCode::MissingRecords, counted - here, place, example);
    }
}

/// What tells whether two readings are of the same run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// All run-level values.
    pub values: String,
    /// A sum over the per-request times, where there are any.
    pub requests: Option<i64>,
}

impl Fingerprint {
    /// A summary and the records it sums up are the same run.
    fn same_run(&self, other: &Fingerprint) -> bool {
        let same_rows = self.requests.is_none() || other.requests.is_none() || self.requests == other.requests;
        self.values == other.values && same_rows
    }
}

/// What an ingestor knows of a run when it is done.
pub(crate) struct FinishedRun {
    /// Everything but tables, sources and issues.
    pub manifest: Manifest,
    pub issues: Issues,
    pub requests: u64,
    /// The client's own name for the run.
    pub label: Option<String>,
    pub shape: String,
    pub fingerprint: Option<Fingerprint>,
    pub part: Option<Part>,
}

impl FinishedRun {
    /// A run of which only the client's figures are known, those of `part`.
    pub(crate) fn of_figures(manifest: Manifest, part: Part) -> FinishedRun {
        let values = format!("{} {:?} {} {:?}", part.family, part.layer, part.key, part.reported);
        FinishedRun {
            shape: load_shape(&manifest.load, None),
            manifest,
            issues: Issues::default(),
            requests: 0,
            label: None,
            fingerprint: Some(Fingerprint { values, requests: None }),
            part: Some(part),
        }
    }
}

/// Collects the runs of one file.
pub struct RunSink<'a> {
    pub(crate) staging: &'a mut Staging,
    pub(crate) collected: &'a mut Vec<Collected>,
    pub(crate) file: usize,
    pub(crate) group: PathBuf,
    pub(crate) default_label: String,
    pub(crate) started: usize,
    /// What the user says of the columns of tables.
    pub(crate) mapping: Option<Arc<Mapping>>,
}

impl RunSink<'_> {
    pub(crate) fn writer(&mut self) -> Result<DatasetWriter, IngestError> {
        Ok(self.staging.writer()?)
    }

    /// Takes a finished run.
    pub(crate) fn commit(&mut self, writer: DatasetWriter, finished: FinishedRun) -> Result<(), IngestError> {
        let run = writer.finish(finished.manifest)?;
        self.collected.push(Collected {
            run,
            issues: finished.issues,
            label: sanitize(finished.label.as_deref().unwrap_or(&self.default_label)),
            // A name that the client gave tells its runs apart already.
            shape: if finished.label.is_some() { String::new() } else { sanitize(&finished.shape) },
            requests: finished.requests,
            file: self.file,
            group: self.group.clone(),
            fingerprint: finished.fingerprint,
            part: finished.part,
        });
        Ok(())
    }

    /// Takes a run of figures alone.
    pub(crate) fn commit_figures(&mut self, finished: FinishedRun) -> Result<(), IngestError> {
        let mut writer = self.writer()?;
        let reported = finished.part.iter().flat_map(|part| &part.reported);
        reported.for_each(|row| writer.push_reported(row.clone()));
        self.commit(writer, finished)
    }

    /// Completes the runs of this file once it was read to its end.
    pub(crate) fn close(
        &mut self,
        source: &Source,
        rest: impl std::io::Read,
        format: &'static str,
        walked: Walked,
    ) -> Result<(), IngestError> {
        if self.collected.len() == self.started {
            let problem = walked.first_problem.unwrap_or_else(|| "no run in it".to_string());
            return Err(IngestError::NothingUsable { file: source.name.clone(), format, problem });
        }
        let (bytes, sha256) = source.size_and_hash(rest)?;
        let several = self.collected.len() - self.started > 1;
        for (position, item) in self.collected[self.started..].iter_mut().enumerate() {
            item.issues.extend(walked.issues.clone());
            if several && !item.shape.is_empty() {
                item.label = format!("{}-{}", item.label, item.shape);
            }
            item.run.manifest.sources.push(SourceFile {
                name: source.base_name.clone(),
                bytes,
                sha256: sha256.clone(),
                format: format.to_string(),
                run_in_file: position as u32,
                records: item.requests,
                skipped: walked.skipped,
                aligned: None,
            });
        }
        Ok(())
    }
}

/// Leaves out runs that were read twice.
pub(crate) fn settle(collected: Vec<Collected>, files: &[String]) -> Settled {
    let mut kept: Vec<Collected> = Vec::new();
    let mut duplicates = Vec::new();
    for item in collected {
        let same = |other: &Collected| match (&item.fingerprint, &other.fingerprint) {
            (Some(a), Some(b)) => a.same_run(b),
            _ => false,
        };
        let twin = kept.iter_mut().find(|other| other.file != item.file && same(other));
        match twin {
            Some(twin) => {
                // The reading with per-request rows is the one to keep.
                let (stays, goes) = match item.requests > twin.requests {
                    true => {
                        let old = std::mem::replace(twin, item);
                        (twin, old)
                    }
                    false => (twin, item),
                };
                let other = files.get(goes.file).cloned().unwrap_or_default();
                stays.issues.add(IssueCode::DuplicateRun, || other.clone(), || "same run, read before".to_string());
                duplicates.push(other);
            }
            None => kept.push(item),
        }
    }
    Settled { kept, duplicates }
}

/// Gives every run a label of its own and closes the manifests. A manifest names files as they lie in the folder that was
/// given: nobody it is sent to needs to know where that lies.
pub(crate) fn close(kept: Vec<Collected>, inputs: &[Input]) -> Vec<PendingRun> {
    let folders = folders_of(inputs);
    let mut taken = BTreeSet::new();
    let mut runs = Vec::new();
    for mut item in kept {
        let mut label = item.label.clone();
        let mut n = 2;
        while !taken.insert(label.to_lowercase()) {
            label = format!("{}-{n}", item.label);
            n += 1;
        }
        item.run.manifest.label = label;
        item.run.manifest.issues = item.issues.into_sorted(item.requests);
        for issue in &mut item.run.manifest.issues {
            if let Some(inside) = folders.iter().find_map(|folder| issue.at.strip_prefix(folder.as_str())) {
                issue.at = inside.to_string();
            }
        }
        runs.push(item.run);
    }
    runs
}

/// The folders given, and those of the files given, each with its closing slash; inner ones before those around them.
fn folders_of(inputs: &[Input]) -> Vec<String> {
    let folder = |input: &Input| match input {
        Input::Path(path) if path.is_dir() => Some(path.clone()),
        Input::Path(path) => path.parent().map(Path::to_path_buf),
        Input::Stdin => None,
    };
    let with_slash = |folder: PathBuf| folder.join("").display().to_string();
    let mut folders: Vec<String> = inputs.iter().filter_map(folder).map(with_slash).filter(|f| !f.is_empty()).collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
    folders
}

/// The runs that are not there twice.
pub(crate) struct Settled {
    pub kept: Vec<Collected>,
    /// Files that held a run already read from another file.
    pub duplicates: Vec<String>,
}

/// Folder names may have 255 bytes; `run=` and a number still have to fit.
const LABEL_BYTES: usize = 200;

/// A label that is a good folder name everywhere: at most 200 bytes of letters, digits and `._=-+,@`.
pub(crate) fn sanitize(label: &str) -> String {
    let cleaned: String =
        label.chars().map(|c| if c.is_alphanumeric() || "._=-+,@".contains(c) { c } else { '_' }).collect();
    // No hidden folders, no command-line flags, no spreadsheet formulas.
    let cleaned =
        shorten(cleaned.trim_start_matches(['.', '=', '-', '+', '@']).trim_end_matches('.').to_string(), LABEL_BYTES);
    if cleaned.is_empty() { "run".to_string() } else { cleaned }
}
