//! postrun beside what else would do the work: speed, memory and agreement. `README.md` in this folder says how to run
//! it and what it prints.
//!
//! Every contestant is a child process, started anew for each run and measured alone; none has to win. The exit code
//! is 1 when two contestants give different figures and 2 when something could not be run.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the tables are the output of a benchmark")]

mod beyond;
mod figures;
mod generate;
mod load;
mod measurements;
mod race;
mod shapes;
mod totals;

use generate::{Plan, Written};
use load::Size;
use race::{CPU, Contestant, Finished, MEMORY, MakeCommand, Pin, Rounds, Series, WALL};
use shapes::Shape;
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;
use std::{env, fs};

type Outcome<T> = Result<T, Box<dyn Error>>;

const POSTRUN: &str = env!("CARGO_BIN_EXE_postrun");
const PEERS: &str = include_str!("peers.py");
const MEASUREMENTS: [&str; 6] = ["ingest", "end-to-end", "startup", "quantiles", "diagnosis", MEMORY_ALONE];
/// Needs so much space and time that it is measured only where it is asked for by name.
const MEMORY_ALONE: &str = "memory";
const HELP: &str = "\
options (after `--`):
  --size-mb N         result file of ingest and end-to-end, in 10^6 bytes (400)
  --gaps-millions N   gaps of quantiles, in millions (50)
  --memory-gb N       result file of memory, in 10^9 bytes (4)
  --rounds N          counted rounds (3; startup has five times as many)
  --warmup N          rounds before them (1)
  --seed N            of the generated files (7)
  --only NAME         ingest, end-to-end, startup, quantiles, diagnosis or memory; may be repeated
                      (memory only where it is named)
  --keep              leave the generated files where they are";

fn main() -> ExitCode {
    let given: Vec<String> = env::args().skip(1).collect();
    // `cargo bench` says --bench; `cargo test --all-targets` does not and wants no gigabytes.
    if !given.iter().any(|a| a == "--bench") {
        println!("nothing measured: run it by `cargo bench`\n{HELP}");
        return ExitCode::SUCCESS;
    }
    match Options::parse(&given).and_then(|options| Bench::new(options)?.run()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(2)
        }
    }
}

struct Options {
    size_mb: f64,
    gaps_millions: f64,
    memory_gb: f64,
    rounds: Rounds,
    seed: u64,
    only: Vec<String>,
    keep: bool,
}

impl Options {
    fn parse(given: &[String]) -> Outcome<Options> {
        let mut options = Options {
            size_mb: 400.0,
            gaps_millions: 50.0,
            memory_gb: 4.0,
            rounds: Rounds { warmup: 1, counted: 3 },
            seed: 7,
            only: Vec::new(),
            keep: false,
        };
        let mut rest = given.iter();
        while let Some(name) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{name} needs a value"));
            match name.as_str() {
                "--bench" => {}
                "--keep" => options.keep = true,
                "--size-mb" => options.size_mb = number(name, value()?)?,
                "--gaps-millions" => options.gaps_millions = number(name, value()?)?,
                "--memory-gb" => options.memory_gb = number(name, value()?)?,
                "--rounds" => options.rounds.counted = number::<usize>(name, value()?)?.max(1),
                "--warmup" => options.rounds.warmup = number(name, value()?)?,
                "--seed" => options.seed = number(name, value()?)?,
                "--only" => options.only.push(value()?.clone()),
                other => return Err(format!("unknown option {other}\n{HELP}").into()),
            }
        }
        match options.only.iter().find(|name| !MEASUREMENTS.contains(&name.as_str())) {
            Some(name) => Err(format!("no measurement is called {name}\n{HELP}").into()),
            None => Ok(options),
        }
    }
}

fn number<T: std::str::FromStr<Err: std::fmt::Display>>(name: &str, text: &str) -> Outcome<T> {
    text.parse().map_err(|e| format!("{name} {text}: {e}").into())
}

struct Bench {
    options: Options,
    folder: PathBuf,
    /// The interpreter, or why there is none.
    python: Result<OsString, String>,
    one_core: Pin,
    agreed: bool,
}

impl Bench {
    fn new(options: Options) -> Outcome<Bench> {
        let folder = env::temp_dir().join(format!("postrun-bench-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|e| format!("could not create {}: {e}", folder.display()))?;
        fs::write(folder.join("peers.py"), PEERS)?;
        Ok(Bench { options, folder, python: interpreter(), one_core: Pin::one_core(), agreed: true })
    }

    fn run(&mut self) -> Outcome<bool> {
        let measurements =
            [Bench::ingest, Bench::end_to_end, Bench::startup, Bench::quantiles, Bench::diagnosis, Bench::memory];
        for (name, measure) in MEASUREMENTS.iter().zip(measurements) {
            let by_default = self.options.only.is_empty() && *name != MEMORY_ALONE;
            if by_default || self.options.only.iter().any(|only| only == name) {
                measure(self).map_err(|e| format!("{name}: {e}"))?;
            } else {
                println!("{name}: not asked for\n");
            }
        }
        if let Some(floor) = own_peak_rss_mb() {
            println!("A child's peak RSS cannot read below {floor:.1} MB, that of the benchmark that starts it.");
        }
        Ok(self.agreed)
    }

    /// The path of a generated result; made once.
    fn result(&self, name: &str, size: Size) -> Outcome<PathBuf> {
        let path = self.folder.join(name);
        if !path.exists() {
            let start = Instant::now();
            let plan = Plan { size, seed: self.options.seed, backend: "vllm" };
            let written = generate::write_result(&path, &plan)?;
            describe(name, &written, start);
        }
        Ok(path)
    }

    /// The path of a generated file in another client's shape; made once.
    fn shaped(&self, shape: &Shape, bytes: u64) -> Outcome<PathBuf> {
        let folder = self.folder.join(shape.name);
        fs::create_dir_all(&folder)?;
        let path = folder.join(shape.file);
        if !path.exists() {
            let start = Instant::now();
            let written = shapes::write(&path, shape, self.options.seed, bytes)?;
            describe(shape.file, &written, start);
        }
        Ok(path)
    }

    fn peer(&self, name: &str, args: Vec<OsString>) -> Contestant<'static> {
        let script = self.folder.join("peers.py");
        let make = |python: OsString| -> MakeCommand<'static> {
            Box::new(move |_| {
                let mut command = Command::new(&python);
                // A kernel chosen for another machine would slow numpy down.
                command.arg(&script).args(&args).env_remove("OPENBLAS_CORETYPE").env_remove("OPENBLAS_L2_SIZE");
                command
            })
        };
        Contestant { name: name.to_string(), command: self.python.clone().map(make) }
    }

    /// Runs something that is not measured; the inner error says why it cannot run.
    fn once(&self, contestant: Contestant<'_>) -> Outcome<Result<(), String>> {
        let make = match &contestant.command {
            Ok(make) => make,
            Err(why) => return Ok(Err(why.clone())),
        };
        let finished = race::measure(make, &Pin::Free(String::new()), &self.folder);
        match finished.map_err(|e| format!("{}: {e}", contestant.name))? {
            Finished::Done(..) => Ok(Ok(())),
            Finished::Skipped(why) => Ok(Err(why)),
        }
    }

    /// Prints the table, and whether the peers' figures are postrun's own.
    fn conclude(&mut self, all: &[Series]) -> Outcome<()> {
        print!("{}", race::table(all, &[CPU, WALL, MEMORY]));
        let (own, peers): (Vec<&Series>, Vec<&Series>) = all.iter().partition(|s| s.name.starts_with("postrun"));
        // Of postrun's own forms the last one is JSON, which has every digit.
        if let Some(postrun) = own.last() {
            let ours = figures::of_report(&postrun.stdout)?;
            for peer in peers.iter().filter(|peer| peer.runs.is_ok()) {
                let (theirs, versions) = figures::of_peer(&peer.stdout)?;
                let agreement = figures::compare(&ours, &theirs);
                self.agreed &= agreement.differ.is_empty();
                print!("{}", figures::describe(&agreement, &peer.name, &versions));
            }
        }
        println!();
        Ok(())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if self.options.keep {
            println!("kept: {}", self.folder.display());
        } else if let Err(e) = fs::remove_dir_all(&self.folder) {
            eprintln!("could not remove {}: {e}", self.folder.display());
        }
    }
}

/// Says what was generated since `start`.
fn describe(name: &str, written: &Written, start: Instant) {
    println!(
        "generated {name}: {:.1} MB, {} requests, {} gaps, in {:.1} s",
        written.bytes as f64 / 1e6,
        written.requests,
        written.gaps,
        start.elapsed().as_secs_f64()
    );
}

/// The interpreter behind `python3`: a launcher script before it would be measured too.
fn interpreter() -> Result<OsString, String> {
    let asked = env::var_os("POSTRUN_BENCH_PYTHON").unwrap_or_else(|| "python3".into());
    let name = asked.display().to_string();
    let output = Command::new(&asked).args(["-c", "import sys; print(sys.executable)"]).output();
    let output = output.map_err(|e| format!("{name} does not start: {e}"))?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_string();
    if output.status.success() && !path.is_empty() { Ok(path.into()) } else { Err(format!("{name} does not work")) }
}

fn own_peak_rss_mb() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<f64>().ok()? * 1024.0 / 1e6)
}
