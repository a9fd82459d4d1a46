//! Earlier repeats of the base in the folder where it lies: what they show of the noise between runs.

use super::runs;
use crate::args::DiffArgs;
use postrun_analysis::{Options, RunAnalysis, analyse};
use postrun_diff::{Earlier, earlier_repeats, may_have_earlier};
use postrun_ingest::ingest;
use postrun_schema::{Dataset, MANIFEST_FILE, natural_order};
use std::path::{Path, PathBuf};

/// Of more neighbours than this those are looked at whose names come next to the base's.
const MOST: usize = 24;
/// Larger recordings are not read, nor more than this in all.
const MOST_BYTES: u64 = 64 << 20;
/// A folder of more files and folders than this is no single recording.
const MOST_ENTRIES: usize = 256;

/// The repeats of `base` that lie beside it and were recorded before it; `None` of fewer than two. `runs` are what the two paths
/// hold.
pub fn repeats(
    (base, candidate): (&str, &str),
    runs: (&RunAnalysis, &RunAnalysis),
    args: &DiffArgs,
) -> Option<Earlier> {
    if !may_have_earlier(runs.0, runs.1) {
        return None;
    }
    let own = Path::new(base);
    let own_name = own.file_name()?.to_str()?;
    let folder = own.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p })?;
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let known = [real(own)?, real(Path::new(candidate))?];
    let mut neighbours: Vec<(String, PathBuf)> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|path| real(path).is_some_and(|p| !known.contains(&p)) && path.is_dir() == own.is_dir())
        .filter_map(|path| Some((path.file_name()?.to_str()?.to_string(), path)))
        .collect();
    neighbours.sort_by(|a, b| natural_order(&a.0, &b.0));
    // Runs are most often named in their order, so the latest come last before the base.
    let after = neighbours.partition_point(|(name, _)| natural_order(name, own_name).is_lt());
    let from = after.saturating_sub(MOST).min(neighbours.len().saturating_sub(MOST));
    let mut left = MOST_BYTES;
    let mut beside = Vec::new();
    for (name, path) in neighbours.into_iter().skip(from).take(MOST) {
        let Some(rest) = size(&path).and_then(|bytes| left.checked_sub(bytes)) else { continue };
        left = rest;
        beside.extend(read(&path, args).map(|run| (name, run)));
    }
    earlier_repeats(runs, &beside)
}

/// A line that says what two earlier repeats, too few to be used unasked, would make of the allowance for noise between runs;
/// `None` where it would not be smaller.
pub fn suggestion(base: &str, earlier: &Earlier, allowed: f64) -> Option<String> {
    let bound = earlier.noise.bound;
    if earlier.are_enough() || bound >= allowed {
        return None;
    }
    let folder = Path::new(base).parent()?;
    let paths = earlier.names.iter().map(|name| folder.join(name).display().to_string()).chain([base.to_string()]);
    let paths: Vec<String> = paths.map(|path| quoted(&path)).collect();
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    Some(format!(
        "{} earlier repeats lie beside the base (from three on they are used unasked): with them the allowance for noise between \
         runs would be {} instead of {}: --noise-from {}",
        earlier.names.len(),
        percent(bound),
        percent(allowed),
        paths.join(" ")
    ))
}

/// Bytes of a file, or of all files below a folder; `None` of what is no recording of usual size.
fn size(path: &Path) -> Option<u64> {
    let mut folders = vec![path.to_path_buf()];
    let (mut bytes, mut entries) = (0, 0);
    if !path.is_dir() {
        return std::fs::metadata(path).ok().map(|m| m.len());
    }
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).ok()? {
            let entry = entry.ok()?;
            let meta = entry.metadata().ok()?;
            entries += 1;
            if meta.is_dir() {
                folders.push(entry.path());
            }
            bytes += if meta.is_file() { meta.len() } else { 0 };
            if entries > MOST_ENTRIES || bytes > MOST_BYTES {
                return None;
            }
        }
    }
    Some(bytes)
}

/// The only run of a file, folder or dataset; `None` of anything else, in silence.
fn read(path: &Path, args: &DiffArgs) -> Option<RunAnalysis> {
    let options = Options { convention: args.convention, metrics_only: true, ..Options::default() };
    if path.join(MANIFEST_FILE).is_file() {
        return analyse(&Dataset::open(path).ok()?, &options).ok();
    }
    let scratch = runs::scratch_dir().ok()?;
    let reading = runs::options(&args.reading).ok()?;
    let reading = postrun_ingest::Options { scratch: true, ..reading };
    let input = postrun_ingest::Input::from_arg(path.to_str()?);
    let made = ingest(&[input], &scratch.path().join("run"), &reading).ok()?;
    match made.datasets.as_slice() {
        [one] => analyse(&Dataset::open_own(one).ok()?, &options).ok(),
        _ => None,
    }
}

/// As a shell takes it.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@%,".contains(c);
    if path.chars().all(plain) { path.to_string() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}
