//! Names of runs, from the names of their files.

use super::candidate::Candidate;
use super::source::{Input, base_name};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// File names that say nothing: the folder's name is the run's.
const GENERIC_STEMS: &[&str] = &[
    "result",
    "results",
    "output",
    "benchmark",
    "benchmarks",
    "bench",
    "server",
    "metrics",
    "spans",
    "metrics_timeline",
    "log",
    "profile_export",
    "profile_export_aiperf",
    "profile_export_genai_perf",
    "per_request_lifecycle_metrics",
    "summary_lifecycle_metrics",
    "benchmark_data",
];
/// Folder names that say nothing either.
const GENERIC_FOLDERS: &[&str] =
    &["", ".", "..", "/", "input", "output", "out", "artifacts", "result", "results", "reports"];

/// `runs/kv-tight/result.json` is `kv-tight`, `runs/a.json.gz` is `a`.
pub(crate) fn of_file(path: &Path) -> String {
    let stem = stem(path);
    if !GENERIC_STEMS.contains(&stem.as_str()) {
        return stem;
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut folders = absolute.ancestors().skip(1).take(3).map(base_name);
    folders.find(|name| !GENERIC_FOLDERS.contains(&name.as_str())).unwrap_or(stem)
}

/// `a/b/run=0.json` below `a` is `b.run=0`, `a/b/result.json` is `b`.
pub(crate) fn below(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let folders = relative.parent().into_iter().flat_map(Path::components);
    let mut parts: Vec<String> = folders.map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
    let stem = stem(path);
    if GENERIC_STEMS.contains(&stem.as_str()) {
        parts.retain(|p| !GENERIC_FOLDERS.contains(&p.as_str()));
    } else {
        parts.push(stem);
    }
    if parts.is_empty() { of_file(path) } else { parts.join(".") }
}

/// The name without the endings that say how it is stored.
fn stem(path: &Path) -> String {
    let name = base_name(path);
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    let ending = |name: &str| {
        let known = [".json", ".jsonl", ".ndjson", ".txt", ".log", ".prom", ".otlp", ".csv", ".parquet", ".db"];
        known.iter().find_map(|ending| name.strip_suffix(ending)).filter(|s| !s.is_empty()).map(String::from)
    };
    // Two at most: `spans.otlp.jsonl`, `metrics.prom.txt`.
    let stem = ending(name).unwrap_or_else(|| name.to_string());
    ending(&stem).filter(|s| GENERIC_STEMS.contains(&s.as_str())).unwrap_or(stem)
}

/// Folders above a file that may tell it apart.
const DEEPEST: usize = 8;

/// Files of the same name in different folders are told apart by a folder.
pub(crate) fn tell_apart(candidates: &mut [Candidate]) {
    // Files of one folder under one label are parts of one run.
    let mut seen: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for c in candidates.iter() {
        if let Input::Path(path) = &c.input {
            let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
            seen.entry(c.label.clone()).or_default().insert(folder);
        }
    }
    for c in candidates {
        let Input::Path(path) = &c.input else { continue };
        let Some(folders) = seen.get(&c.label).filter(|folders| folders.len() > 1) else { continue };
        let name = |folder: &Path| Some(base_name(folder)).filter(|p| !GENERIC_FOLDERS.contains(&p.as_str()));
        let above = |up: usize| -> BTreeSet<String> {
            folders.iter().filter_map(|f| f.ancestors().nth(up).and_then(name)).collect()
        };
        // Folders of one name are told apart by the nearest ones above them that are all different.
        let up = match above(0).len() {
            1 => (1..DEEPEST).find(|up| above(*up).len() == folders.len()).unwrap_or(0),
            _ => 0,
        };
        let parent = path.parent().and_then(name);
        if let Some(folder) = parent.and(path.ancestors().nth(up + 1).and_then(name)) {
            c.label = format!("{folder}.{}", c.label);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_names_give_way_to_telling_ones() {
        let of = |path: &str| of_file(Path::new(path));
        assert_eq!(of("/runs/kv-tight/result.json"), "kv-tight");
        assert_eq!(of("/fixtures/long_prompts/input/result.json"), "long_prompts");
        assert_eq!(of("openai-1.5qps-model.json.gz"), "openai-1.5qps-model");
        let below = |path: &str| below(Path::new("/runs"), Path::new(path));
        assert_eq!(below("/runs/c4/run=0.json"), "c4.run=0");
        assert_eq!(below("/runs/c4/result.json"), "c4");
        assert_eq!(below("/runs/a.json"), "a");
        assert_eq!(below("/runs/result.json"), "runs");
    }
}
