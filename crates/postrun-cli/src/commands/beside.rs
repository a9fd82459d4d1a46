//! Earlier repeats of the base in the folder where it lies: `postrun diff` names them, and never uses them unasked.

use super::runs;
use crate::args::DiffArgs;
use postrun_analysis::{Options, RunAnalysis, analyse};
use postrun_diff::{is_earlier_repeat, noise_of_repeats};
use postrun_ingest::ingest;
use postrun_schema::{Dataset, MANIFEST_FILE};
use std::path::{Path, PathBuf};

/// Of more neighbours than this the first are looked at.
const MOST: usize = 24;
/// Larger recordings are not read for a suggestion, nor more than this in all.
const MOST_BYTES: u64 = 64 << 20;
/// A folder of more files and folders than this is no single recording.
const MOST_ENTRIES: usize = 256;
/// So many runs show how much they differ; the base is one of them.
const FEWEST: usize = 3;

/// A line that says which earlier repeats lie beside the base, and what they would change; `None` where too few do. `allowed` is
/// the noise between runs that was allowed for.
pub fn suggestion((base, candidate): (&str, &str), run: &RunAnalysis, allowed: f64, args: &DiffArgs) -> Option<String> {
    let own = Path::new(base);
    let folder = own.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p })?;
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let known = [real(own)?, real(Path::new(candidate))?];
    let mut neighbours: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.filter_map(|e| Some(e.ok()?.path())).collect();
    neighbours.retain(|path| real(path).is_some_and(|p| !known.contains(&p)) && path.is_dir() == own.is_dir());
    neighbours.sort();
    let mut left = MOST_BYTES;
    let mut repeats: Vec<(String, RunAnalysis)> = Vec::new();
    for path in neighbours.into_iter().take(MOST) {
        let Some(rest) = size(&path).and_then(|bytes| left.checked_sub(bytes)) else { continue };
        left = rest;
        let Some(found) = read(&path, args) else { continue };
        if is_earlier_repeat(run, &found) {
            repeats.push((quoted(&path.display().to_string()), found));
        }
    }
    let n = repeats.len();
    if n + 1 < FEWEST {
        return None;
    }
    let (mut names, mut runs): (Vec<String>, Vec<RunAnalysis>) = repeats.into_iter().unzip();
    names.push(quoted(base));
    runs.push(run.clone());
    let noise = noise_of_repeats(&runs)?;
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    Some(format!(
        "{n} earlier repeats lie beside the base: with them the allowance for noise between runs would be {} instead of {}: \
         --noise-from {}",
        percent(noise),
        percent(allowed),
        names.join(" ")
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
    let scratch = tempfile::Builder::new().prefix("postrun-").tempdir().ok()?;
    crate::cleanup::on_signal(scratch.path());
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
