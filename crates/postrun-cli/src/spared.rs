//! Files that were read: no result is written over them.
//!
//! A recording is made once. A report can be made again, so that one of an earlier call may be replaced.

use crate::error::CliError;
use postrun_ingest::Outcome;
use postrun_schema::{Dataset, MANIFEST_FILE, Table};
use same_file::is_same_file;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

static READ: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// This file was read.
pub fn file(path: &Path) {
    if let Ok(mut read) = READ.lock() {
        read.push(path.to_path_buf());
    }
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
    let read = READ.lock().map(|read| read.clone()).unwrap_or_default();
    match read.iter().any(|file| is_same_file(file, target).unwrap_or(false)) {
        true => Err(CliError::Argument(format!(
            "{} is one of the files read; it stays as it is: name another file with -o",
            target.display()
        ))),
        false => Ok(()),
    }
}
