//! How often a diagnosis names the right cause: labelled runs of the simulator, then recordings with labels of their own.
//!
//! `cargo bench -p postrun-cli --bench diagnosis`. Each labelled run is simulated, written as the files that a real run
//! leaves behind, ingested, analysed and diagnosed; thresholds were set with the tuning runs in sight, never the held-out
//! ones. Then `../shared/recordings`, whose labels are in each folder's README, copied below. Asserts nothing.
//!
//! The primary of two causes is the one whose removal changes the figures most (`counterfactual.rs` of the simulator).
//!
//! `--without spans|server` leaves files out; `--only NAME` takes the runs whose name begins so, `--split tuning|held_out`
//! those of a split; `--show` prints their findings; `--keep DIR` keeps the datasets there and uses them again.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the tables are the output of a benchmark")]

mod frame;
mod labels;
mod score;

use frame::Outcome;
use labels::{Case, Recording};
use postrun_analysis::{Options, RunAnalysis, analyse};
use postrun_diagnose::{Diagnosis, RuleSet, diagnose};
use postrun_ingest::{Input, ingest};
use postrun_schema::Dataset;
use postrun_simulate::{LabelledScenario, Split, Summary, consequences, effects, scenarios, simulate, write};
use score::Judged;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

const SPLITS: [(Split, &str); 2] = [(Split::Tuning, "tuning"), (Split::HeldOut, "held_out")];

/// What was asked for.
#[derive(Default)]
struct Args {
    bench: bool,
    only: Option<String>,
    split: Option<Split>,
    show: bool,
    keep: Option<PathBuf>,
    without: Vec<String>,
}

fn main() -> ExitCode {
    frame::run("diagnosis", args(), |args| args.bench, measure)
}

fn args() -> Outcome<Args> {
    let mut out = Args::default();
    let mut given = env::args().skip(1);
    while let Some(arg) = given.next() {
        let mut value = || given.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--bench" => out.bench = true,
            "--show" => out.show = true,
            "--only" => out.only = Some(value()?),
            "--split" => out.split = Some(split(&value()?)?),
            "--keep" => out.keep = Some(PathBuf::from(value()?)),
            "--without" => out.without.push(value()?),
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    Ok(out)
}

fn split(name: &str) -> Outcome<Split> {
    let found = SPLITS.iter().find(|(_, known)| *known == name);
    Ok(found.ok_or_else(|| format!("no split is called {name}"))?.0)
}

fn measure(args: &Args) -> Outcome<()> {
    let scratch = tempfile::tempdir()?;
    let base = args.keep.clone().unwrap_or_else(|| scratch.path().to_path_buf());
    let wanted = |name: &str| args.only.as_ref().is_none_or(|only| name.starts_with(only.as_str()));
    let mut judged = Vec::new();
    let of_split = |l: &LabelledScenario| args.split.is_none_or(|split| l.split == split);
    for labelled in scenarios().iter().filter(|l| wanted(&l.name) && of_split(l)) {
        let case = simulated(labelled, &base, args).map_err(|e| format!("{}: {e}", labelled.name))?;
        judged.push(case);
    }
    println!("simulated runs, without {:?}\n", args.without);
    for (split, name) in SPLITS {
        let of_split: Vec<&Judged> = judged.iter().filter(|j| j.split == Some(split)).collect();
        score::print(name, &of_split);
    }
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    if !recordings.is_dir() {
        eprintln!("SKIPPED: ../shared is not here, so no real recording was diagnosed");
        return Ok(());
    }
    println!("\nrecordings");
    let mut met = Vec::new();
    for recording in labels::RECORDINGS.iter().filter(|r| wanted(r.folder)) {
        met.extend(real(recording, &recordings, scratch.path(), args)?);
    }
    println!("{} of {} as labelled", met.iter().filter(|m| **m).count(), met.len());
    Ok(())
}

/// A labelled run through all of it.
fn simulated(labelled: &LabelledScenario, base: &Path, args: &Args) -> Outcome<Judged> {
    let folder = base.join(&labelled.name);
    let also = folder.join("consequences.txt");
    let variant = args.without.join("-");
    let dataset = folder.join(format!("dataset-{variant}"));
    let run = simulate(&labelled.scenario)?;
    let effects = if labelled.causes.len() > 1 { effects(&run, &labelled.ordinary)? } else { Vec::new() };
    if !folder.join("result.json").is_file() {
        fs::create_dir_all(&folder)?;
        let shown: Vec<&str> = consequences(&run, &Summary::of(&run)).iter().map(|c| c.id()).collect();
        fs::write(&also, shown.join(" "))?;
        write::folder(&run, &folder, true)?;
    }
    let leave = |part: &str| args.without.iter().any(|w| w == part);
    let files: Vec<PathBuf> = [
        ("result.json", false),
        ("server.log", leave("server")),
        ("metrics.prom", leave("server")),
        ("spans.otlp.jsonl", leave("server") || leave("spans")),
    ]
    .into_iter()
    .filter(|(_, left_out)| !left_out)
    .map(|(name, _)| folder.join(name))
    .collect();
    let run = analysed(&files, &dataset)?;
    let diagnosis = diagnose(&run, &RuleSet::default());
    if args.show {
        println!("{}: {}", labelled.name, labels::figures(&run));
        show(&labelled.name, &diagnosis);
    }
    let shown = fs::read_to_string(&also)?;
    if args.keep.is_none() {
        fs::remove_dir_all(&folder).ok();
    }
    Ok(Judged {
        name: labelled.name.clone(),
        causes: labelled.causes.iter().map(|c| c.id().to_string()).collect(),
        primary: score::primary(&labelled.causes, &effects),
        effects,
        also: shown.split(' ').map(String::from).collect(),
        split: Some(labelled.split),
        diagnosis,
    })
}

/// Ingests (where it was not yet) and analyses.
fn analysed(files: &[PathBuf], dataset: &Path) -> Outcome<RunAnalysis> {
    if !dataset.is_dir() {
        let inputs: Vec<Input> = files.iter().map(|f| Input::from_arg(&f.to_string_lossy())).collect();
        ingest(&inputs, dataset, &postrun_ingest::Options::default())?;
    }
    Ok(analyse(&Dataset::open(dataset)?, &Options::default())?)
}

/// A recording against its label; true if it is met, nothing if it is not here.
fn real(recording: &Recording, recordings: &Path, scratch: &Path, args: &Args) -> Outcome<Option<bool>> {
    let folder = recordings.join(recording.folder);
    let without: Vec<&str> = args.without.iter().map(String::as_str).collect();
    let names = labels::files(&without);
    let files: Vec<PathBuf> = names.iter().map(|n| folder.join(n)).filter(|f| f.is_file()).collect();
    if files.is_empty() {
        eprintln!("SKIPPED: {} is not here", recording.folder);
        return Ok(None);
    }
    let dataset = scratch.join(recording.folder.replace('/', "-"));
    let run = analysed(&files, &dataset).map_err(|e| format!("{}: {e}", recording.folder))?;
    let diagnosis = diagnose(&run, &RuleSet::default());
    let wrong = match &recording.label {
        Case::First(rules) => {
            (!rules.iter().any(|r| score::first(&diagnosis) == *r)).then(|| format!("{rules:?} first"))
        }
        Case::NothingCritical => score::criticals(&diagnosis).next().map(|r| format!("nothing critical, not {r}")),
    };
    let found: Vec<String> = diagnosis.findings.iter().map(|f| format!("{} ({:?})", f.rule, f.severity)).collect();
    let mark = if wrong.is_none() { "ok  " } else { "MISS" };
    println!("{mark} {:42} {}", recording.folder, found.join(", "));
    let stray = recording.clear.iter().filter(|rule| diagnosis.findings.iter().any(|f| f.rule == **rule));
    let stray: Vec<&&str> = stray.collect();
    if let Some(wanted) = &wrong {
        println!("     wanted: {wanted}");
    }
    if !stray.is_empty() {
        println!("     should be clear: {stray:?}");
    }
    if args.show {
        println!("{}: {}", recording.folder, labels::figures(&run));
        show(recording.folder, &diagnosis);
    }
    Ok(Some(wrong.is_none() && stray.is_empty()))
}

fn show(name: &str, diagnosis: &Diagnosis) {
    for f in &diagnosis.findings {
        println!("  {name}: {} {:?} w={:.2} c={:.2} <- {:?}", f.rule, f.severity, f.weight, f.confidence, f.caused_by);
        println!("      {}", f.summary);
        if let Some(effect) = &f.effect {
            println!("      {}", effect.text);
        }
        for e in &f.evidence {
            let against = e.compared_with.as_ref().map(|r| format!(" against {:.3} ({})", r.value, r.what));
            println!("      {} {} {:.3} {}{}", e.metric, e.stat, e.value, e.unit, against.unwrap_or_default());
        }
    }
    for c in &diagnosis.not_checked {
        println!("      not checked: {}: {:?}", c.rule, c.missing);
    }
}
