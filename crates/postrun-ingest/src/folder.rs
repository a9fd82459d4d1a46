//! The files of a folder, in natural order.

use crate::error::IngestError;
use postrun_schema::natural_order;
use std::path::{Path, PathBuf};

const MAX_DEPTH: usize = 8;
const MAX_FILES: usize = 10_000;

/// All plain files below `root`, in natural order of their paths. Hidden entries, datasets and unfinished ones are passed over.
pub(crate) fn files(root: &Path) -> Result<Vec<PathBuf>, IngestError> {
    let mut out = Vec::new();
    let mut open = vec![(root.to_path_buf(), 0)];
    while let Some((dir, depth)) = open.pop() {
        let io = IngestError::io(&dir.display().to_string());
        for entry in std::fs::read_dir(&dir).map_err(&io)? {
            let entry = entry.map_err(&io)?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if name.starts_with('.') || name.contains(".partial-") {
                continue;
            }
            // Links are followed to files, never to folders: a loop of links must end.
            let kind = entry.file_type().map_err(&io)?;
            if kind.is_dir() {
                if depth < MAX_DEPTH && !path.join("manifest.json").is_file() {
                    open.push((path, depth + 1));
                }
            } else if path.is_file() {
                out.push(path);
            }
            if out.len() > MAX_FILES {
                let many =
                    std::io::Error::other(format!("more than {MAX_FILES} files; name the recordings themselves"));
                return Err(io(many));
            }
        }
    }
    out.sort_by(|a, b| natural_order(&a.to_string_lossy(), &b.to_string_lossy()));
    Ok(out)
}

/// `a/b/result.json` below `a` becomes `b.result`.
pub(crate) fn label_below(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path).with_extension("");
    let parts: Vec<String> = relative.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
    parts.join(".")
}
