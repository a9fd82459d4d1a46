//! `postrun report RUN --charts DIR`: every chart as files, SVG and PNG.

use crate::error::CliError;
use crate::output::{say, write_file};
use postrun_report::{Picture, Reports, Theme, pictures};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Writes what can be drawn below `dir`, a folder a run where there are several, and says what cannot.
pub fn write(reports: &Reports, dir: &Path) -> Result<(), CliError> {
    let several = reports.runs.len() > 1;
    let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut written = 0;
    let pictures = pictures(reports);
    for picture in &pictures {
        if let Some(why) = picture.missing() {
            missing.entry(why).or_default().push(picture.chart.id);
            continue;
        }
        let folder = match picture.run {
            Some(run) if several => dir.join(file_name(run)),
            _ => dir.to_path_buf(),
        };
        std::fs::create_dir_all(&folder).map_err(|source| written_to(&folder, source))?;
        write_forms(picture, &folder)?;
        written += 1;
    }
    for (why, charts) in missing {
        let mut charts = charts;
        charts.dedup();
        say(&format!("not drawn: {}: {why}", charts.join(", ")));
    }
    say(&format!("{written} charts written to {}", dir.display()));
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

/// A label as the name of a folder: what could leave it or steer a shell is replaced.
fn file_name(label: &str) -> PathBuf {
    let safe = |c: char| if c.is_alphanumeric() || "-_=+,@".contains(c) { c } else { '.' };
    let name: String = label.chars().map(safe).collect();
    PathBuf::from(format!("run={}", name.trim_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stay_inside_the_folder() {
        assert_eq!(file_name("../a/b c"), PathBuf::from("run=a.b.c"));
        assert_eq!(file_name("c16.run=0"), PathBuf::from("run=c16.run=0"));
    }
}
