//! Runs contestants as child processes, in turn, and measures each child alone.

use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use wait4::{ResUse, Wait4};

/// A peer exits with this code when a package it needs is not installed.
const NOT_INSTALLED: i32 = 77;

/// Builds the command of one run; the folder is empty and gone after the run.
pub type MakeCommand<'a> = Box<dyn Fn(&Path) -> Command + 'a>;

/// Somebody who does the work.
pub struct Contestant<'a> {
    /// As printed.
    pub name: String,
    /// What to run, or why it cannot be.
    pub command: Result<MakeCommand<'a>, String>,
}

/// What one run of a child took.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// User and system time, seconds.
    pub cpu_s: f64,
    /// From just before the process is started until it is gone, seconds.
    pub wall_s: f64,
    /// Most memory it had at once, bytes.
    pub peak_rss: f64,
}

/// All counted runs of one contestant.
pub struct Series {
    /// As printed.
    pub name: String,
    /// In the order they were run, or why there are none.
    pub runs: Result<Vec<Usage>, String>,
    /// What its last run printed.
    pub stdout: Vec<u8>,
}

/// How many runs.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    /// Not counted.
    pub warmup: usize,
    /// Counted.
    pub counted: usize,
}

/// Where children run.
#[derive(Debug, Clone)]
pub enum Pin {
    /// On this core only.
    Core(u32),
    /// Anywhere, and why.
    Free(String),
}

impl Pin {
    /// The last core this process may use, if `taskset` is there.
    pub fn one_core() -> Pin {
        let taskset = Command::new("taskset").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let last = allowed.and_then(|list| list.trim().rsplit([',', '-']).next()?.parse().ok());
        match (taskset, last) {
            (Ok(_), Some(core)) => Pin::Core(core),
            (Err(_), _) => Pin::Free("there is no taskset".to_string()),
            (_, None) => Pin::Free("the allowed cores are not known".to_string()),
        }
    }

    /// For a heading.
    pub fn describe(&self) -> String {
        match self {
            Pin::Core(core) => format!("pinned to core {core}"),
            Pin::Free(why) => format!("not pinned: {why}"),
        }
    }

    fn apply(&self, command: &Command) -> Command {
        let mut pinned = match self {
            Pin::Core(core) => {
                let mut taskset = Command::new("taskset");
                taskset.arg("-c").arg(core.to_string()).arg(command.get_program());
                taskset
            }
            Pin::Free(_) => Command::new(command.get_program()),
        };
        pinned.args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => pinned.env(key, value),
                None => pinned.env_remove(key),
            };
        }
        pinned
    }
}

/// One finished child.
pub enum Finished {
    /// It succeeded.
    Done(Usage, Vec<u8>),
    /// It lacks a package.
    Skipped(String),
}

/// Runs all contestants in turn, A B A B; who cannot run is kept with the reason.
pub fn race(
    contestants: &[Contestant<'_>],
    rounds: Rounds,
    pin: &Pin,
    folder: &Path,
) -> Result<Vec<Series>, Box<dyn Error>> {
    let empty = |c: &Contestant<'_>| Series {
        name: c.name.clone(),
        runs: c.command.as_ref().map(|_| Vec::new()).map_err(String::clone),
        stdout: Vec::new(),
    };
    let mut all: Vec<Series> = contestants.iter().map(empty).collect();
    for round in 0..rounds.warmup + rounds.counted {
        for (contestant, series) in contestants.iter().zip(&mut all) {
            let (Ok(make), Ok(runs)) = (&contestant.command, &mut series.runs) else { continue };
            match measure(make, pin, folder).map_err(|e| format!("{}: {e}", contestant.name))? {
                Finished::Done(usage, stdout) => {
                    if round >= rounds.warmup {
                        runs.push(usage);
                    }
                    series.stdout = stdout;
                }
                Finished::Skipped(why) => series.runs = Err(why),
            }
        }
    }
    Ok(all)
}

/// Runs one child to its end. Its output goes to files, so that it never waits for a reader.
pub fn measure(make: &MakeCommand<'_>, pin: &Pin, folder: &Path) -> Result<Finished, Box<dyn Error>> {
    let scratch = folder.join("run");
    fs::create_dir_all(&scratch)?;
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    let mut command = pin.apply(&make(&scratch));
    command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
    let start = Instant::now();
    let child = command.spawn().map_err(|e| format!("could not start {:?}: {e}", command.get_program()))?;
    let used = reap(child)?;
    let wall_s = start.elapsed().as_secs_f64();
    fs::remove_dir_all(&scratch)?;
    if used.status.success() {
        let cpu_s = (used.rusage.utime + used.rusage.stime).as_secs_f64();
        return Ok(Finished::Done(Usage { cpu_s, wall_s, peak_rss: used.rusage.maxrss as f64 }, fs::read(&out)?));
    }
    let said = last_lines(&err)?;
    match used.status.code() {
        Some(NOT_INSTALLED) => Ok(Finished::Skipped(said)),
        _ => Err(format!("{}: {said}", used.status).into()),
    }
}

/// Waits for one child. The 0.1 line of `wait4` borrows it, the 0.2 line takes it.
fn reap(#[allow(unused_mut)] mut child: Child) -> io::Result<ResUse> {
    child.wait4()
}

fn last_lines(path: &PathBuf) -> io::Result<String> {
    let text = String::from_utf8_lossy(&fs::read(path)?).trim().to_string();
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(5)..].join("\n"))
}

impl Series {
    /// The median of one figure of its runs.
    pub fn median(&self, figure: fn(&Usage) -> f64) -> Option<f64> {
        let values = self.sorted(figure)?;
        let half = values.len() / 2;
        Some(if values.len() % 2 == 1 { values[half] } else { (values[half - 1] + values[half]) / 2.0 })
    }

    /// Median and, where there are several runs, the range.
    fn cell(&self, figure: fn(&Usage) -> f64, digits: usize) -> String {
        match (self.median(figure), self.sorted(figure).as_deref()) {
            (Some(median), Some([low, .., high])) => format!("{median:.digits$} [{low:.digits$}, {high:.digits$}]"),
            (Some(median), _) => format!("{median:.digits$}"),
            (None, _) => String::new(),
        }
    }

    fn sorted(&self, figure: fn(&Usage) -> f64) -> Option<Vec<f64>> {
        let mut values: Vec<f64> = self.runs.as_ref().ok()?.iter().map(figure).collect();
        values.sort_unstable_by(f64::total_cmp);
        (!values.is_empty()).then_some(values)
    }
}

/// A column: heading, figure, digits behind the point.
pub type Column = (&'static str, fn(&Usage) -> f64, usize);

/// Processor time.
pub const CPU: Column = ("CPU s", |u| u.cpu_s, 3);
/// Elapsed time.
pub const WALL: Column = ("wall s", |u| u.wall_s, 3);
/// Peak memory, in 10^6 bytes.
pub const MEMORY: Column = ("peak RSS MB", |u| u.peak_rss / 1e6, 1);

/// Medians with their range, then the first contestant relative to each of the others.
pub fn table(all: &[Series], columns: &[Column]) -> String {
    let mut rows = vec![[String::new()].into_iter().chain(columns.iter().map(|c| c.0.to_string())).collect()];
    for series in all {
        let mut row = vec![series.name.clone()];
        match &series.runs {
            Ok(_) => row.extend(columns.iter().map(|c| series.cell(c.1, c.2))),
            Err(why) => row.push(format!("skipped: {why}")),
        }
        rows.push(row);
    }
    if let Some((first, others)) = all.split_first() {
        for other in others.iter().filter(|s| s.runs.is_ok()) {
            let ratio = |c: &Column| Some(format!("{:.3}x", first.median(c.1)? / other.median(c.1)?));
            let mut row = vec![format!("{} / {}", first.name, other.name)];
            row.extend(columns.iter().map(|c| ratio(c).unwrap_or_default()));
            rows.push(row);
        }
    }
    aligned(&rows, columns.len() + 1)
}

/// Columns two spaces apart; a row with fewer cells is a remark and widens nothing but its first column.
fn aligned(rows: &[Vec<String>], columns: usize) -> String {
    let mut widths = vec![0; columns];
    for row in rows {
        let counted = if row.len() == columns { columns } else { 1 };
        for (width, cell) in widths.iter_mut().zip(&row[..counted]) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}", width = *width));
        format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
