//! Where runs are written before they are whole: `<target>.partial-<pid>`, renamed when complete, else removed.

use crate::dataset::is_dataset_or_campaign;
use crate::error::SchemaError;
use crate::manifest::MANIFEST_FILE;
use crate::writer::{DatasetWriter, PendingRun};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder beside the target that holds runs until they are published.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    dir: PathBuf,
    next: u32,
}

impl Staging {
    /// Prepares to write `target`. With `replace`, an existing dataset there is replaced when all is complete;
    /// anything else that exists is an error and stays untouched.
    pub fn create(target: &Path, replace: bool) -> Result<Staging, SchemaError> {
        if target.exists() && !(replace && is_replaceable(target)) {
            return Err(SchemaError::Exists { path: target.to_path_buf() });
        }
        let mut name = target.file_name().map(OsString::from).unwrap_or_else(|| OsString::from("dataset"));
        name.push(format!(".partial-{}", std::process::id()));
        let dir = target.with_file_name(name);
        if dir.exists() {
            std::fs::remove_dir_all(&dir).map_err(SchemaError::io(&dir))?;
        }
        std::fs::create_dir_all(&dir).map_err(SchemaError::io(&dir))?;
        Ok(Staging { target: target.to_path_buf(), dir, next: 0 })
    }

    /// A writer for one more run.
    pub fn writer(&mut self) -> Result<DatasetWriter, SchemaError> {
        let dir = self.dir.join(format!("{:06}", self.next));
        self.next += 1;
        DatasetWriter::create(&dir)
    }

    /// Removes a run that turned out unusable.
    pub fn discard(&self, run: PendingRun) -> Result<(), SchemaError> {
        std::fs::remove_dir_all(&run.dir).map_err(SchemaError::io(&run.dir))
    }

    /// Writes the manifests and renames: one run becomes the target itself, several become `run=<label>` inside it.
    /// Returns the dataset folders in order. Labels must be unique and usable as folder names.
    pub fn publish(mut self, runs: Vec<PendingRun>) -> Result<Vec<PathBuf>, SchemaError> {
        let single = runs.len() == 1;
        let mut placed = Vec::new();
        for run in runs {
            write_manifest(&run)?;
            let name = format!("run={}", run.manifest.label);
            let place = self.dir.join(&name);
            std::fs::rename(&run.dir, &place).map_err(SchemaError::io(&place))?;
            placed.push(name);
        }
        let complete = match (single, placed.first()) {
            (true, Some(name)) => self.dir.join(name),
            _ => self.dir.clone(),
        };
        if self.target.exists() {
            std::fs::remove_dir_all(&self.target).map_err(SchemaError::io(&self.target))?;
        }
        std::fs::rename(&complete, &self.target).map_err(SchemaError::io(&self.target))?;
        let target = std::mem::take(&mut self.target);
        Ok(match single {
            true => vec![target],
            false => placed.iter().map(|name| target.join(name)).collect(),
        })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Best effort: whatever is left has no manifest at a place where a reader looks.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn is_replaceable(target: &Path) -> bool {
    let empty = std::fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
    empty || is_dataset_or_campaign(target)
}

fn write_manifest(run: &PendingRun) -> Result<(), SchemaError> {
    let path = run.dir.join(MANIFEST_FILE);
    let mut text = serde_json::to_string_pretty(&run.manifest)
        .map_err(|e| SchemaError::BadManifest { path: path.clone(), message: e.to_string() })?;
    text.push('\n');
    let mut file = std::fs::File::create(&path).map_err(SchemaError::io(&path))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(SchemaError::io(&path))
}
