//! Where results go: standard output, or a file written aside and renamed.

use crate::cleanup;
use crate::error::CliError;
use crate::spared;
use crate::tame::Tame;
use postrun_report::{Look, printable, wrap};
use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Columns when nobody says otherwise.
const DEFAULT_WIDTH: u16 = 80;

/// Prints to standard output.
pub fn print(text: &str) -> Result<(), CliError> {
    let failed = |source| CliError::Write { file: "standard output".to_string(), source };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(failed)
}

/// Prints data to standard output: what was recorded in them cannot steer a terminal.
pub fn print_data(text: &str) -> Result<(), CliError> {
    if !std::io::stdout().is_terminal() {
        return print(text);
    }
    let failed = |source| CliError::Write { file: "standard output".to_string(), source };
    let mut out = Tame::new(std::io::stdout().lock());
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(failed)
}

/// Prints lines that name files and runs: what is in the names cannot steer the terminal.
pub fn print_lines(text: &str) -> Result<(), CliError> {
    print(&text.lines().map(|line| printable(line) + "\n").collect::<String>())
}

/// Says something about the work on standard error. What was recorded in it cannot steer the terminal.
pub fn say(text: &str) {
    // Nobody to tell if that fails.
    let _ = writeln!(std::io::stderr(), "{}", printable(text));
}

/// Prints a listing: wrapped for a terminal, one entry a line for a script.
pub fn print_listing(text: &str) -> Result<(), CliError> {
    if std::io::stdout().is_terminal() { print_wrapped(text) } else { print(text) }
}

/// Prints lines in the width of the terminal, each with its own indent.
pub fn print_wrapped(text: &str) -> Result<(), CliError> {
    let mut out = String::new();
    for line in text.lines().map(printable) {
        let body = line.trim_start_matches(' ');
        let indent = " ".repeat(line.len() - body.len());
        let mut wrapped = String::new();
        wrap(body, usize::from(width()).saturating_sub(indent.len()), &mut wrapped);
        wrapped.lines().for_each(|part| out.push_str(&format!("{}\n", format!("{indent}{part}").trim_end())));
    }
    print(&out)
}

/// The file that a result goes to; none: standard output, which `-` names too.
pub fn file_named(output: &Option<PathBuf>) -> Option<&Path> {
    output.as_deref().filter(|path| *path != Path::new("-"))
}

/// Hands out a result: to the file that is named, else by `show` to standard output.
pub fn deliver(output: &Option<PathBuf>, text: &str, show: fn(&str) -> Result<(), CliError>) -> Result<(), CliError> {
    file_named(output).map_or_else(|| show(text), |path| write_file(path, text))
}

/// How a table looks there: a file has neither bold nor colour.
pub fn look(output: &Option<PathBuf>) -> Look {
    Look { width: width(), styled: styled() && file_named(output).is_none() }
}

/// The text of a file of the user's, such as rules or limits, which no result is written over.
pub fn read_text(path: &Path) -> Result<String, CliError> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|source| CliError::Read { file: path.display().to_string(), source })?;
    spared::file(path);
    Ok(text)
}

/// Writes a file that is either complete or not there.
pub fn write_file(path: &Path, content: impl AsRef<[u8]>) -> Result<(), CliError> {
    let failed = |source| CliError::Write { file: path.display().to_string(), source };
    stream_file(path, |out| out.write_all(content.as_ref()).map_err(failed))
}

/// Streams a file that is either complete or not there.
pub fn stream_file<T>(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let failed = |source| CliError::Write { file: path.display().to_string(), source };
    spared::refuse(path)?;
    // A pipe or a device is written to, not replaced.
    if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        let mut out = BufWriter::new(File::options().write(true).open(path).map_err(failed)?);
        let done = write(&mut out)?;
        return out.flush().map_err(failed).map(|()| done);
    }
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let aside = path.with_file_name(format!(".{name}.partial-{}", std::process::id()));
    cleanup::on_signal(&aside);
    let mode = mode_to_keep(path).map_err(failed)?;
    // Made anew, so that nobody else's file or link is written through; a link at `path` itself is replaced.
    let _ = std::fs::remove_file(&aside);
    let file = File::create_new(&aside).map_err(failed)?;
    if let Some(mode) = mode {
        file.set_permissions(mode).map_err(failed)?;
    }
    let mut out = BufWriter::with_capacity(1 << 18, file);
    let written = write(&mut out).and_then(|done| {
        out.flush().and_then(|()| std::fs::rename(&aside, path)).map_err(failed)?;
        Ok(done)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&aside);
    }
    written
}

/// Who may read the file that is replaced. An error where it may not be written.
fn mode_to_keep(path: &Path) -> std::io::Result<Option<Permissions>> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_file() => File::options().append(true).open(path).map(|_| Some(meta.permissions())),
        Ok(_) => Ok(None),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Columns of the terminal; `COLUMNS` wins, a pipe gets 80.
pub fn width() -> u16 {
    let asked = std::env::var("COLUMNS").ok().and_then(|c| c.parse::<u16>().ok()).filter(|c| *c >= 40);
    let terminal = || std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten().map(|(w, _)| w.0);
    asked.or_else(terminal).unwrap_or(DEFAULT_WIDTH)
}

/// Bold and colour only on a terminal, and never with NO_COLOR.
pub fn styled() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    std::io::stdout().is_terminal() && !no_color
}

/// A label as a part of a file's name: what could leave the folder or steer a shell is replaced, and it is no longer than
/// file systems allow.
fn file_name(label: &str) -> String {
    const MOST_BYTES: usize = 200;
    let safe = |c: char| if c.is_alphanumeric() || "-_=+,@.".contains(c) { c } else { '.' };
    let mut name = String::new();
    for c in label.chars().map(safe) {
        if name.len() + c.len_utf8() > MOST_BYTES {
            break;
        }
        name.push(c);
    }
    let name = name.trim_matches('.');
    if name.is_empty() { "run".to_string() } else { name.to_string() }
}

/// Names of files for these labels, in their order: two labels never give one file.
pub fn file_names<'a>(labels: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut names = Vec::new();
    for own in labels.map(file_name) {
        let (mut name, mut n) = (own.clone(), 2);
        // Some file systems know no difference between great and small letters.
        while !taken.insert(name.to_lowercase()) {
            name = format!("{own}-{n}");
            n += 1;
        }
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stay_inside_the_folder() {
        assert_eq!(file_name("../a/b c"), "a.b.c");
        assert_eq!(file_name("c16.run=0"), "c16.run=0");
        assert_eq!(file_name(".."), "run");
        assert_eq!(file_name(&"é".repeat(300)).len(), 200);
        assert_eq!(file_names(["a/b", "a.b", "A.B", "c"].into_iter()), ["a.b", "a.b-2", "A.B-3", "c"]);
    }
}
