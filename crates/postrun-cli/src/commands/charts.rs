//! `postrun report RUN --charts DIR` and `postrun diff BASE CANDIDATE --charts DIR`: every chart as files, SVG and PNG.

use crate::error::CliError;
use crate::output::{file_names, say, write_file};
use postrun_report::{Picture, Reports, Theme, pictures};
use postrun_schema::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// An error where `dir` is there and no folder, before anything is computed.
pub fn check(dir: &Path) -> Result<(), CliError> {
    match std::fs::metadata(dir) {
        Ok(meta) if !meta.is_dir() => Err(CliError::Argument(format!(
            "--charts needs a folder, and {} is none; name a folder, which is made where it is not there",
            dir.display()
        ))),
        _ => Ok(()),
    }
}

/// Writes what can be drawn below `dir`, a folder a run where there are several, and says what cannot.
pub fn write(reports: &Reports, dir: &Path) -> Result<(), CliError> {
    let several = reports.runs.len() > 1;
    let labels = || reports.runs.iter().map(|r| r.run.manifest.label.as_str());
    let folders: BTreeMap<&str, String> = labels().zip(file_names(labels())).collect();
    let folder = |picture: &Picture<'_>| match picture.run.and_then(|run| folders.get(run)) {
        Some(name) if several => dir.join(format!("run={name}")),
        _ => dir.to_path_buf(),
    };
    write_all(&pictures(reports), dir, folder)
}

/// The same of a comparison, in one folder.
pub fn write_comparison(pictures: &[Picture<'_>], dir: &Path) -> Result<(), CliError> {
    write_all(pictures, dir, |_| dir.to_path_buf())
}

fn write_all(pictures: &[Picture<'_>], dir: &Path, folder: impl Fn(&Picture<'_>) -> PathBuf) -> Result<(), CliError> {
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut written = 0;
    for picture in pictures {
        if let Some(why) = picture.missing() {
            missing.entry(why).or_default().insert(picture.chart.id);
            continue;
        }
        let folder = folder(picture);
        std::fs::create_dir_all(&folder).map_err(|source| written_to(&folder, source))?;
        write_forms(picture, &folder)?;
        written += 1;
    }
    for (why, charts) in missing {
        let charts: Vec<&str> = charts.into_iter().collect();
        say(&format!("not drawn: {}: {why}", charts.join(", ")));
    }
    say(&format!("{} written to {}", counted(written, "chart"), dir.display()));
    Ok(())
}

fn write_forms(picture: &Picture<'_>, folder: &Path) -> Result<(), CliError> {
    let path = |ending: &str| folder.join(format!("{}{ending}", picture.chart.id));
    if let Some(svg) = picture.svg() {
        write_file(&path(".svg"), svg?)?;
    }
    for (theme, ending) in [(Theme::Light, ".png"), (Theme::Dark, "-dark.png")] {
        if let Some(png) = picture.png(theme) {
            write_file(&path(ending), png?)?;
        }
    }
    Ok(())
}

fn written_to(path: &Path, source: std::io::Error) -> CliError {
    CliError::Write { file: path.display().to_string(), source }
}
