//! The files of a folder, in natural order.

use super::candidate::LeftAlone;
use crate::error::IngestError;
use crate::limits::{DEEPEST_FOLDER, MOST_FILES};
use postrun_schema::{MANIFEST_FILE, find_datasets, is_dataset, natural_path_order};
use std::path::{Path, PathBuf};

/// A dataset, or the manifest of one.
pub(crate) fn is_of_dataset(path: &Path) -> bool {
    let is_manifest = path.file_name().is_some_and(|name| name == MANIFEST_FILE);
    is_dataset(path) || (is_manifest && path.parent().is_some_and(is_dataset))
}

/// Datasets of several runs, each in a folder of its own.
pub(crate) fn holds_datasets(path: &Path) -> bool {
    path.is_dir() && find_datasets(path).is_ok_and(|found| found.iter().any(|dir| is_dataset(dir)))
}

/// All plain files below `root`, in natural order of their paths, and what was passed over with the reason. Hidden
/// entries are passed over in silence.
pub(crate) fn files(root: &Path) -> Result<(Vec<PathBuf>, Vec<LeftAlone>), IngestError> {
    let mut out = Vec::new();
    let mut passed = Vec::new();
    let mut open = vec![(root.to_path_buf(), 0)];
    while let Some((dir, depth)) = open.pop() {
        let io = IngestError::io(&dir.display().to_string());
        for entry in std::fs::read_dir(&dir).map_err(&io)? {
            let entry = entry.map_err(&io)?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if name.starts_with('.') {
                continue;
            }
            let mut pass =
                |why: &str| passed.push(LeftAlone { name: path.display().to_string(), why: why.to_string() });
            // Links are followed to files, never to folders: a loop of links must end.
            let kind = entry.file_type().map_err(&io)?;
            if kind.is_dir() {
                if is_dataset(&path) {
                    pass("a postrun dataset: name it itself");
                } else if name.contains(".partial-") {
                    pass("left by an ingest that did not finish");
                } else if depth >= DEEPEST_FOLDER {
                    pass("too deep");
                } else {
                    open.push((path, depth + 1));
                }
            } else if path.is_file() {
                out.push(path);
            } else {
                pass(match (kind.is_symlink(), path.is_dir()) {
                    (true, true) => "a link to a folder, which is not followed",
                    (true, false) if !path.exists() => "a link to nothing",
                    _ => "neither a file nor a folder",
                });
            }
            if out.len() > MOST_FILES {
                let many =
                    std::io::Error::other(format!("more than {MOST_FILES} files; name the recordings themselves"));
                return Err(io(many));
            }
        }
    }
    out.sort_by(|a, b| natural_path_order(a, b));
    Ok((out, passed))
}
