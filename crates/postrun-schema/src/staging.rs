//! Where runs are written before they are whole: `<target>.partial-<pid>`, renamed when complete, else removed.

use crate::dataset::is_dataset;
use crate::error::SchemaError;
use crate::manifest::MANIFEST_FILE;
use crate::table::Table;
use crate::writer::{DatasetWriter, Lifetime, PendingRun};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How often to try again where another process publishes at the same place.
const ATTEMPTS: usize = 100;

/// A folder beside the target that holds runs until they are published.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    dir: PathBuf,
    replace: bool,
    lifetime: Lifetime,
    next: u32,
}

/// Where this process writes `target` until it is complete.
pub fn partial_folder(target: &Path) -> PathBuf {
    let mut name = target.file_name().map(OsString::from).unwrap_or_else(|| OsString::from("dataset"));
    name.push(format!(".partial-{}", std::process::id()));
    target.with_file_name(name)
}

impl Staging {
    /// Prepares to write `target`. With `replace`, an existing dataset there is replaced when all is complete;
    /// anything else that exists is an error and stays untouched.
    pub fn create(target: &Path, replace: bool) -> Result<Staging, SchemaError> {
        if target.exists() && !replace {
            return Err(SchemaError::Exists { path: target.to_path_buf() });
        }
        if target.exists() && !is_replaceable(target) && target.exists() {
            return Err(SchemaError::Foreign { path: target.to_path_buf() });
        }
        let dir = partial_folder(target);
        if dir.exists() {
            std::fs::remove_dir_all(&dir).map_err(SchemaError::io(&dir))?;
        }
        std::fs::create_dir_all(&dir).map_err(SchemaError::io(&dir))?;
        Ok(Staging { target: target.to_path_buf(), dir, replace, lifetime: Lifetime::Kept, next: 0 })
    }

    /// The runs are for this process alone, which opens them with [`crate::Dataset::open_own`] and removes them: they are
    /// written in the least time, and for no other reader.
    pub fn for_own_use(mut self) -> Staging {
        self.lifetime = Lifetime::Scratch;
        self
    }

    /// A writer for one more run.
    pub fn writer(&mut self) -> Result<DatasetWriter, SchemaError> {
        let dir = self.dir.join(format!("{:06}", self.next));
        self.next += 1;
        DatasetWriter::create(&dir, self.lifetime)
    }

    /// A folder for what must lie on disk for a while; gone when the runs are published.
    pub fn scratch(&mut self) -> PathBuf {
        let dir = self.dir.join(format!("scratch-{:06}", self.next));
        self.next += 1;
        dir
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
        self.remove_rejected(&placed)?;
        self.move_to_target(&complete)?;
        let target = std::mem::take(&mut self.target);
        Ok(match single {
            true => vec![target],
            false => placed.iter().map(|name| target.join(name)).collect(),
        })
    }
}

impl Staging {
    /// Whatever came to lie at the target meanwhile is replaced only where that was asked for. Another process may
    /// publish there at the same moment: renaming onto a folder that is not empty fails, and is tried again.
    fn move_to_target(&self, complete: &Path) -> Result<(), SchemaError> {
        for _ in 0..ATTEMPTS {
            if self.target.exists() {
                if !self.replace {
                    return Err(SchemaError::Exists { path: self.target.clone() });
                }
                if !is_replaceable(&self.target) && self.target.exists() {
                    return Err(SchemaError::Foreign { path: self.target.clone() });
                }
                // Moved aside in one step: nobody sees half a dataset.
                let mut old = self.dir.clone().into_os_string();
                old.push(".replaced");
                if std::fs::rename(&self.target, &old).is_err() {
                    continue;
                }
                let _ = std::fs::remove_dir_all(&old);
            }
            match std::fs::rename(complete, &self.target) {
                Err(_) if self.target.exists() => {}
                result => return result.map_err(SchemaError::io(&self.target)),
            }
        }
        Err(SchemaError::Exists { path: self.target.clone() })
    }

    /// Removes what belongs to no published run: records that turned out unusable, runs read twice.
    fn remove_rejected(&self, placed: &[String]) -> Result<(), SchemaError> {
        for entry in std::fs::read_dir(&self.dir).map_err(SchemaError::io(&self.dir))? {
            let entry = entry.map_err(SchemaError::io(&self.dir))?;
            if !placed.iter().any(|name| entry.file_name() == name.as_str()) {
                std::fs::remove_dir_all(entry.path()).map_err(SchemaError::io(&entry.path()))?;
            }
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Best effort: whatever is left has no manifest at a place where a reader looks.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Empty, or nothing in it but what postrun wrote.
fn is_replaceable(target: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(target) else { return false };
    let paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.is_empty() || is_own_dataset(target, &paths) || paths.iter().all(|p| is_own_run(p))
}

fn is_own_run(path: &Path) -> bool {
    let named = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("run="));
    let entries = std::fs::read_dir(path).map(|d| d.flatten().map(|e| e.path()).collect::<Vec<_>>());
    named && entries.is_ok_and(|entries| is_own_dataset(path, &entries))
}

fn is_own_dataset(dir: &Path, entries: &[PathBuf]) -> bool {
    let known = |p: &PathBuf| {
        let name = p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        name == MANIFEST_FILE || Table::ALL.iter().any(|t| name == t.file_name())
    };
    is_dataset(dir) && entries.iter().all(known)
}

fn write_manifest(run: &PendingRun) -> Result<(), SchemaError> {
    let path = run.dir.join(MANIFEST_FILE);
    let mut text = serde_json::to_string_pretty(&run.manifest)
        .map_err(|e| SchemaError::BadManifest { path: path.clone(), message: e.to_string() })?;
    text.push('\n');
    let mut file = std::fs::File::create(&path).map_err(SchemaError::io(&path))?;
    file.write_all(text.as_bytes()).map_err(SchemaError::io(&path))?;
    match run.lifetime {
        Lifetime::Kept => file.sync_all().map_err(SchemaError::io(&path)),
        Lifetime::Scratch => Ok(()),
    }
}
