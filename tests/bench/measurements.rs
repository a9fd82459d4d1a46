//! What is measured: each a table, and where a peer gives figures, whether they are postrun's.

use crate::load::Size;
use crate::race::{self, CPU, Contestant, MEMORY, Pin, Rounds, WALL};
use crate::shapes::{SHAPES, Shape};
use crate::{Bench, Outcome, POSTRUN, beyond};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lower edges of the prompt-length buckets, in tokens; the last is open.
const EDGES: &str = "0,64,128,256,512,1024,2048,4096";
/// Requests of the measured diagnosis, and output tokens of each: 50 million tokens.
const DIAGNOSED: (u64, u32) = (100_000, 500);
/// What was asked for, in 10^6 bytes.
const MEMORY_ASKED_MB: f64 = 500.0;

impl Bench {
    /// Speed of reading, and whether memory follows the size of the file.
    pub(super) fn ingest(&mut self) -> Outcome<()> {
        let sizes = [self.options.size_mb, self.options.size_mb / 4.0];
        let mut contestants = Vec::new();
        let mut megabytes = Vec::new();
        for size in sizes {
            let file = self.result(&format!("{size}mb.json"), Size::Bytes((size * 1e6) as u64))?;
            megabytes.push(file.metadata()?.len() as f64 / 1e6);
            let make = move |scratch: &Path| {
                let mut command = Command::new(POSTRUN);
                command.arg("ingest").arg(&file).arg("-o").arg(scratch.join("dataset"));
                command
            };
            contestants.push(contestant(&format!("ingest of {size} MB"), make));
        }
        let pin = self.one_core.clone();
        println!("ingest, one core ({})", pin.describe());
        let all = race::race(&contestants, self.options.rounds, &pin, &self.folder)?;
        print!("{}", race::table(&all, &[CPU, WALL, MEMORY]));
        for (series, size) in all.iter().zip(megabytes) {
            let rate = |figure| series.median(figure).map_or(f64::NAN, |s| size / s);
            println!("  {}: {:.0} MB/s by the clock, {:.0} MB per CPU second", series.name, rate(WALL.1), rate(CPU.1));
        }
        println!();
        SHAPES.iter().try_for_each(|shape| self.ingest_of(shape))
    }

    /// The same of what other clients write, with figures that a peer takes from the same file.
    fn ingest_of(&mut self, shape: &Shape) -> Outcome<()> {
        let size = self.options.size_mb;
        let file = self.shaped(shape, (size * 1e6) as u64)?;
        println!("ingest, {} of {size} MB, one core ({})", shape.title, self.one_core.describe());
        let contestants = [
            contestant("postrun ingest", |scratch| {
                let mut command = Command::new(POSTRUN);
                command.arg("ingest").arg(&file).arg("-o").arg(scratch.join("dataset"));
                command
            }),
            contestant("postrun report, JSON", |_| report(&file)),
            self.peer(&format!("peers.py {}", shape.name), with_edges(vec![shape.name.into(), file.clone().into()])),
        ];
        let all = race::race(&contestants, self.options.rounds, &self.one_core, &self.folder)?;
        self.conclude(&all)
    }

    /// From the file to the figures, beside Python.
    pub(super) fn end_to_end(&mut self) -> Outcome<()> {
        let size = self.options.size_mb;
        let file = self.result(&format!("{size}mb.json"), Size::Bytes((size * 1e6) as u64))?;
        println!("end to end, file of {size} MB to figures, one core ({})", self.one_core.describe());
        let contestants = [
            contestant("postrun figures, CSV", |_| figures(&file)),
            contestant("postrun report", |_| table(&file)),
            contestant("postrun report, JSON", |_| report(&file)),
            self.peer("peers.py json", with_edges(vec!["json".into(), file.clone().into()])),
            self.peer("peers.py orjson", with_edges(vec!["orjson".into(), file.clone().into()])),
        ];
        let all = race::race(&contestants, self.options.rounds, &self.one_core, &self.folder)?;
        self.conclude(&all)
    }

    /// What a small run costs, nearly all of it starting up.
    pub(super) fn startup(&mut self) -> Outcome<()> {
        let file = self.result("small.json", Size::Requests { count: 1_000, tokens: 64 })?;
        println!("startup, report on 1,000 requests of 64 tokens (not pinned: the wait of a person is measured)");
        let contestants = [
            contestant("postrun report", |_| report(&file)),
            self.peer("peers.py json", with_edges(vec!["json".into(), file.clone().into()])),
        ];
        let rounds = Rounds { counted: self.options.rounds.counted * 5, ..self.options.rounds };
        let all = race::race(&contestants, rounds, &Pin::Free(String::new()), &self.folder)?;
        self.conclude(&all)
    }

    /// Exact percentiles of all gaps, overall and by bucket, beside DuckDB.
    pub(super) fn quantiles(&mut self) -> Outcome<()> {
        let millions = self.options.gaps_millions;
        let file = self.result("gaps.json", Size::Gaps((millions * 1e6) as u64))?;
        let dataset = self.folder.join("dataset");
        self.ingested(&file, &dataset)?;
        let tables = tables_of(&dataset)?;
        let gaps = self.folder.join("gaps.parquet");
        let prepare = vec!["duckdb-prepare".into(), tables.clone().into(), gaps.clone().into()];
        let prepared = self.once(self.peer("peers.py duckdb-prepare", with_edges(prepare)))?;
        let cores = std::thread::available_parallelism()?.get();
        let everywhere = Pin::Free(format!("{cores} cores"));
        for (threads, pin) in [(1, self.one_core.clone()), (cores, everywhere)] {
            let place = if threads == 1 { "one core" } else { "all cores" };
            println!("quantiles of {millions} million gaps, {place} ({}; DuckDB threads: {threads})", pin.describe());
            let query = vec!["duckdb".into(), gaps.clone().into(), "--threads".into(), threads.to_string().into()];
            let mut duckdb = self.peer("peers.py duckdb", query);
            if let Err(why) = &prepared {
                duckdb.command = Err(why.clone());
            }
            let contestants = [
                contestant("postrun figures, CSV", |_| figures(&tables)),
                contestant("postrun report, JSON", |_| report(&tables)),
                duckdb,
            ];
            let all = race::race(&contestants, self.options.rounds, &pin, &self.folder)?;
            self.conclude(&all)?;
            if cores == 1 {
                break;
            }
        }
        println!("  postrun reports every metric of the run; DuckDB starts from a table of gaps made beforehand.\n");
        Ok(())
    }

    /// What a diagnosis of many requests takes beyond its metrics.
    pub(super) fn diagnosis(&mut self) -> Outcome<()> {
        let (count, tokens) = DIAGNOSED;
        let file = self.result("diagnosis.json", Size::Requests { count, tokens })?;
        let dataset = self.folder.join("diagnosed");
        self.ingested(&file, &dataset)?;
        println!("diagnosis of {count} requests of {tokens} tokens, in this process, on all cores");
        beyond::measure(&dataset, self.options.rounds)
    }

    /// Makes a dataset of a result, which is then removed unless all is kept; not measured.
    pub(super) fn ingested(&self, file: &Path, dataset: &Path) -> Outcome<()> {
        self.once(contestant("postrun ingest", |_| {
            let mut command = Command::new(POSTRUN);
            command.arg("ingest").arg(file).arg("-o").arg(dataset);
            command
        }))?
        .map_err(|why| format!("postrun ingest: {why}"))?;
        if !self.options.keep {
            fs::remove_file(file)?;
        }
        Ok(())
    }

    /// Peak memory on a file of gigabytes, once each: the figure hardly varies.
    pub(super) fn memory(&mut self) -> Outcome<()> {
        let gb = self.options.memory_gb;
        let file = self.result(&format!("{gb}gb.json"), Size::Bytes((gb * 1e9) as u64))?;
        let bytes = file.metadata()?.len() as f64;
        println!("memory, file of {:.2} GB (not pinned)", bytes / 1e9);
        let ingest = |scratch: &Path| {
            let mut command = Command::new(POSTRUN);
            command.arg("ingest").arg(&file).arg("-o").arg(scratch.join("dataset"));
            command
        };
        let contestants = [
            contestant("postrun ingest", ingest),
            contestant("postrun report", |_| {
                let mut command = report(&file);
                command.env("TMPDIR", &self.folder);
                command
            }),
        ];
        let once = Rounds { warmup: 0, counted: 1 };
        let all = race::race(&contestants, once, &Pin::Free(String::new()), &self.folder)?;
        for series in &all {
            // Alone: there is nothing to compare.
            print!("{}", race::table(std::slice::from_ref(series), &[CPU, WALL, MEMORY]));
            let peak_mb = series.median(MEMORY.1).unwrap_or(f64::NAN);
            let verdict = if peak_mb <= MEMORY_ASKED_MB { "within" } else { "BEYOND" };
            println!("  {}: {peak_mb:.0} MB, {verdict} the {MEMORY_ASKED_MB:.0} MB asked for", series.name);
        }
        println!();
        Ok(())
    }
}

fn contestant<'a>(name: &str, make: impl Fn(&Path) -> Command + 'a) -> Contestant<'a> {
    Contestant { name: name.to_string(), command: Ok(Box::new(make)) }
}

/// The figures alone, as the peers compute them: nothing is diagnosed.
fn figures(what: &Path) -> Command {
    let mut command = Command::new(POSTRUN);
    command.arg("report").arg(what).args(["--format", "csv", "--buckets", EDGES]);
    command
}

/// What a person types.
fn table(what: &Path) -> Command {
    let mut command = Command::new(POSTRUN);
    command.arg("report").arg(what).args(["--buckets", EDGES]);
    command
}

fn report(what: &Path) -> Command {
    let mut command = Command::new(POSTRUN);
    command.arg("report").arg(what).args(["--format", "json", "--buckets", EDGES]);
    command
}

fn with_edges(mut args: Vec<OsString>) -> Vec<OsString> {
    args.extend(["--edges".into(), EDGES.into()]);
    args
}

/// The folder of the tables: the dataset itself, or the only run in it.
fn tables_of(dataset: &Path) -> Outcome<PathBuf> {
    let inside = fs::read_dir(dataset)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut candidates = [dataset.to_path_buf()].into_iter().chain(inside);
    let found = candidates.find(|folder| folder.join("chunks.parquet").is_file());
    found.ok_or_else(|| format!("there is no chunks.parquet in {}", dataset.display()).into())
}
