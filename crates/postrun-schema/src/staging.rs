//! Where runs are written before they are whole: `<target>.partial-<process>`, renamed when complete, else removed.
//!
//! Who writes there holds a lock on a file in it. So the next one tells what a killed process left from what another one is
//! at, which may be in another container and have the same number.

use crate::dataset::is_dataset;
use crate::error::SchemaError;
use crate::exchange::exchange;
use crate::manifest::MANIFEST_FILE;
use crate::table::Table;
use crate::writer::{DatasetWriter, Lifetime, PendingRun};
use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// How often to try again where another process publishes at the same place, and how long to wait between.
const ATTEMPTS: usize = 500;
const PAUSE: Duration = Duration::from_millis(2);

/// A folder beside the target that holds runs until they are published.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    dir: PathBuf,
    /// Dropped after all else is removed.
    _lock: Option<File>,
    replace: bool,
    lifetime: Lifetime,
    next: u32,
}

/// Held as long as somebody writes beside it.
const LOCK_FILE: &str = ".lock";
/// What is published, of what was written: neither records that turned out unusable nor runs read twice.
const COMPLETE: &str = "complete";

/// Where this process, and no other, writes `target` until it is complete.
pub fn partial_folder(target: &Path) -> PathBuf {
    // Processes in two containers may have one number: what is random tells them apart.
    static PROCESS: LazyLock<String> = LazyLock::new(|| {
        let random = RandomState::new().build_hasher().finish() as u32;
        format!("{}-{random:08x}", std::process::id())
    });
    let target = behind_link(target);
    let mut name = before_process(&target);
    name.push(PROCESS.as_str());
    target.with_file_name(name)
}

/// What the names of all partial folders of `target` begin with.
fn before_process(target: &Path) -> OsString {
    let mut name = target.file_name().map(OsString::from).unwrap_or_else(|| OsString::from("dataset"));
    name.push(".partial-");
    name
}

/// Removes what processes left beside `target` that were killed: the lock of each is free.
fn remove_abandoned(target: &Path) {
    let beside = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let before = before_process(target);
    for entry in std::fs::read_dir(beside).into_iter().flatten().flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(before.as_encoded_bytes()) {
            continue;
        }
        // One without the file is being made.
        let Ok(lock) = File::options().read(true).write(true).open(entry.path().join(LOCK_FILE)) else { continue };
        if lock.try_lock().is_ok() {
            remove_staged(&entry.path());
        }
    }
}

/// Removes a partial folder, the lock last: who is killed meanwhile leaves it to the next one.
fn remove_staged(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name() != LOCK_FILE {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let _ = std::fs::remove_dir_all(dir);
}

impl Staging {
    /// Prepares to write `target`. With `replace`, an existing dataset there is replaced when all is complete;
    /// anything else that exists is an error and stays untouched.
    pub fn create(target: &Path, replace: bool) -> Result<Staging, SchemaError> {
        admit(target, replace)?;
        let target = behind_link(target);
        let dir = partial_folder(&target);
        remove_abandoned(&target);
        if let Some(parent) = dir.parent() {
            std::fs::create_dir_all(parent).map_err(SchemaError::io(parent))?;
        }
        // Made anew, so that nobody else's folder or link is written through.
        std::fs::create_dir(&dir).map_err(SchemaError::io(&dir))?;
        let mut staging = Staging { target, dir, _lock: None, replace, lifetime: Lifetime::Kept, next: 0 };
        let (path, making) = (staging.dir.join(LOCK_FILE), staging.dir.join("lock"));
        let lock = File::create_new(&making).map_err(SchemaError::io(&making))?;
        // A file system without locks has nobody who looks for them. It gets its name when it is held.
        let _ = lock.try_lock();
        std::fs::rename(&making, &path).map_err(SchemaError::io(&path))?;
        staging._lock = Some(lock);
        Ok(staging)
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
        let complete = self.dir.join(COMPLETE);
        std::fs::create_dir(&complete).map_err(SchemaError::io(&complete))?;
        let mut placed = Vec::new();
        for run in runs {
            write_manifest(&run)?;
            let name = format!("run={}", run.manifest.label);
            let place = complete.join(&name);
            std::fs::rename(&run.dir, &place).map_err(SchemaError::io(&place))?;
            placed.push(name);
        }
        let complete = match (single, placed.first()) {
            (true, Some(name)) => complete.join(name),
            _ => complete,
        };
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
    /// publish there at the same moment: both steps are renames, which happen or fail whole, and are tried again.
    fn move_to_target(&self, complete: &Path) -> Result<(), SchemaError> {
        let mut failed = None;
        for _ in 0..ATTEMPTS {
            let put = match admit(&self.target, self.replace)? {
                // Dropping the staging removes the old dataset, which now lies in it.
                Standing::Replaceable => exchange(complete, &self.target),
                Standing::Free => std::fs::rename(complete, &self.target),
            };
            match put {
                Ok(()) => return Ok(()),
                // Somebody was quicker; what they put there may be gone again already.
                Err(e) if is_passing(&e) || self.target.exists() => failed = Some(e),
                Err(e) => return Err(SchemaError::io(&self.target)(e)),
            }
            std::thread::sleep(PAUSE);
        }
        Err(match failed {
            Some(e) => SchemaError::io(&self.target)(e),
            None => SchemaError::Exists { path: self.target.clone() },
        })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Best effort: whatever is left has no manifest at a place where a reader looks.
        remove_staged(&self.dir);
    }
}

/// What lies where a dataset is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nothing.
    Free,
    /// What may be replaced.
    Replaceable,
}

/// Whether a dataset may be put at `target`. A folder that another process moves away while it is looked at seems to
/// lack parts, so a verdict counts only where the same folder lies there before and after.
fn admit(target: &Path, replace: bool) -> Result<Standing, SchemaError> {
    loop {
        let Some(seen) = identity(target)? else { return Ok(Standing::Free) };
        if !replace {
            return Err(SchemaError::Exists { path: target.to_path_buf() });
        }
        if is_replaceable(target) {
            return Ok(Standing::Replaceable);
        }
        if identity(target)?.is_some_and(|now| now == seen) {
            return Err(SchemaError::Foreign { path: target.to_path_buf() });
        }
    }
}

/// What tells the folder at a place from another one there. The handle keeps it from being given to a new folder.
fn identity(place: &Path) -> Result<Option<same_file::Handle>, SchemaError> {
    match same_file::Handle::from_path(place) {
        Ok(handle) => Ok(Some(handle)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && !place.is_symlink() => Ok(None),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let why = "a link to a place that does not exist; remove it or choose another folder";
            Err(SchemaError::io(place)(std::io::Error::other(why)))
        }
        Err(e) => Err(SchemaError::io(place)(e)),
    }
}

/// What may be over in a moment: the place is taken, or what was to be exchanged is gone.
fn is_passing(e: &std::io::Error) -> bool {
    use std::io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotFound};
    matches!(e.kind(), DirectoryNotEmpty | AlreadyExists | NotFound)
}

/// Where `target` lies: a link stays a link, and what it leads to is written.
fn behind_link(target: &Path) -> PathBuf {
    let real = || std::fs::canonicalize(target).ok();
    target.is_symlink().then(real).flatten().unwrap_or_else(|| target.to_path_buf())
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
    let mut file = File::create(&path).map_err(SchemaError::io(&path))?;
    file.write_all(text.as_bytes()).map_err(SchemaError::io(&path))?;
    match run.lifetime {
        Lifetime::Kept => file.sync_all().map_err(SchemaError::io(&path)),
        Lifetime::Scratch => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that passes for a dataset.
    fn dataset(dir: &Path) {
        std::fs::create_dir_all(dir).unwrap();
        let manifest = format!("{{\"schema\":\"{}\"}}", crate::manifest::SCHEMA);
        std::fs::write(dir.join(MANIFEST_FILE), manifest).unwrap();
        Table::ALL.iter().for_each(|table| std::fs::write(dir.join(table.file_name()), "").unwrap());
    }

    #[test]
    fn all_who_publish_at_one_place_succeed() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let (root, target) = (dir.path(), target.clone());
                scope.spawn(move || {
                    for round in 0..200 {
                        let own = root.join(format!("out.partial-{writer}-{round}"));
                        dataset(&own);
                        let lifetime = Lifetime::Kept;
                        let staging = Staging {
                            target: target.clone(),
                            dir: own.clone(),
                            _lock: None,
                            replace: true,
                            lifetime,
                            next: 0,
                        };
                        staging.move_to_target(&own).unwrap();
                    }
                });
            }
        });
        assert!(is_replaceable(&target));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside the target");
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_another_writes_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        let folder = |process: &str| dir.path().join(format!("out.partial-{process}"));
        for process in ["1-dead", "1-alive", "1-beginning"] {
            std::fs::create_dir(folder(process)).unwrap();
        }
        std::fs::write(folder("1-dead").join(LOCK_FILE), "").unwrap();
        let held = File::create(folder("1-alive").join(LOCK_FILE)).unwrap();
        held.try_lock().unwrap();
        let staging = Staging::create(&target, false).unwrap();
        let left = |process: &str| folder(process).exists();
        assert_eq!([left("1-dead"), left("1-alive"), left("1-beginning")], [false, true, true]);
        assert!(staging.dir.exists() && staging.dir != folder(&std::process::id().to_string()));
    }

    #[test]
    fn what_others_keep_at_the_place_stays() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        assert_eq!(admit(&target, false).unwrap(), Standing::Free);
        dataset(&target);
        assert_eq!(admit(&target, true).unwrap(), Standing::Replaceable);
        assert!(matches!(admit(&target, false), Err(SchemaError::Exists { .. })));
        std::fs::write(target.join("notes.txt"), "mine").unwrap();
        assert!(matches!(admit(&target, true), Err(SchemaError::Foreign { .. })));
    }
}
