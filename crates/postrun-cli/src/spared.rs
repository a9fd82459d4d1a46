//! Files that were read: no result is written over them.
//!
//! A recording is made once. A report can be made again, so that one of an earlier call may be replaced.

use crate::error::CliError;
use postrun_ingest::Outcome;
use postrun_schema::{Dataset, MANIFEST_FILE, Table};
use same_file::{Handle, is_same_file};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

static READ: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static STANDARD_INPUT: AtomicBool = AtomicBool::new(false);

/// This file was read.
pub fn file(path: &Path) {
    if let Ok(mut read) = READ.lock() {
        read.push(path.to_path_buf());
    }
}

/// Standard input was read, which may be a file.
pub fn standard_input() {
    STANDARD_INPUT.store(true, Ordering::Relaxed);
}

/// The files of this dataset were read.
pub fn dataset(dataset: &Dataset) {
    file(&dataset.dir().join(MANIFEST_FILE));
    Table::ALL.iter().filter_map(|table| dataset.path(*table)).for_each(|path| file(&path));
}

/// The files that this ingest read, or could not.
pub fn recordings(outcome: &Outcome) {
    outcome.used.iter().for_each(|used| file(Path::new(&used.name)));
    outcome.not_used.iter().for_each(|left| file(Path::new(&left.name)));
}

/// An error where `target` is a file that was read.
pub fn refuse(target: &Path) -> Result<(), CliError> {
    // To look at a pipe is to wait for who is at its other end.
    let is_file = |path: &Path| path.metadata().is_ok_and(|meta| meta.is_file());
    if !is_file(target) {
        return Ok(());
    }
    let read = READ.lock().map(|read| read.clone()).unwrap_or_default();
    let standard_input = || Some(Handle::stdin().ok()? == Handle::from_path(target).ok()?);
    let was_read = read.iter().any(|file| is_file(file) && is_same_file(file, target).unwrap_or(false))
        || STANDARD_INPUT.load(Ordering::Relaxed) && standard_input() == Some(true);
    match was_read {
        true => Err(CliError::Argument(format!(
            "{} is one of the files read; it stays as it is: name another place for the result",
            target.display()
        ))),
        false => Ok(()),
    }
}
