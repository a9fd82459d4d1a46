//! How often a comparison is wrong, and what it sees: pairs of simulated runs that are equal, and pairs of which one is slower.
//!
//! `cargo bench -p postrun-cli --bench diff`. Runs are simulated, written as the files that a real run leaves behind, ingested,
//! analysed, diagnosed and compared as the command does, with an allowance of 0 for noise between runs, since simulated runs
//! have none. *Equal* pairs differ in their random numbers alone: whatever is called better or worse there is false. *Shifted*
//! pairs have a candidate whose steps take 5, 10 or 20 % longer. With `--repeats`, three runs a side, each faster or slower as a
//! whole by a normal 5 %: the noise that no single run can see. Asserts nothing.
//!
//! `--pairs N` equal ones a scenario, of which `--shifted N` are shifted as well; `--from N` leaves out the first N, so that what was
//! set by some pairs is judged by others; `--only NAME` takes scenarios whose name begins so; `--show` names what was called better or worse.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the tables are the output of a benchmark")]

mod frame;

use frame::Outcome;
use postrun_analysis::{Options, analyse, samples, shared_edges};
use postrun_diagnose::{RuleSet, diagnose};
use postrun_diff::{DeltaVerdict, RunDiff, Settings, Side, SideRun, diff};
use postrun_ingest::{Input, ingest};
use postrun_schema::Dataset;
use postrun_simulate::{Scenario, StepCost, scenarios, simulate, write};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

/// Kinds of scenarios: ordinary ones, and those in which requests of one run depend on each other most.
const KINDS: [&str; 5] = ["healthy", "queueing_dominates_ttft", "saturated", "heavy_tail", "frequent_preemption"];
const SHIFTS: [f64; 3] = [1.05, 1.1, 1.2];
/// Spread of the speed of a machine from run to run.
const RUN_NOISE: f64 = 0.05;
/// Runs a side with `--repeats`.
const REPEATS: u64 = 3;

/// What was asked for.
struct Args {
    bench: bool,
    pairs: u64,
    from: u64,
    shifted: u64,
    only: Option<String>,
    show: bool,
    repeats: bool,
}

/// Counts over the pairs of a kind.
#[derive(Default, Clone)]
struct Tally {
    pairs: usize,
    false_pairs: usize,
    false_verdicts: usize,
    verdicts: usize,
    same: usize,
    not_comparable: usize,
    shifted: usize,
    seen: [usize; 3],
    seen_in_tpot: [usize; 3],
    wrong_direction: usize,
    wrong_same: usize,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.pairs += other.pairs;
        self.false_pairs += other.false_pairs;
        self.false_verdicts += other.false_verdicts;
        self.verdicts += other.verdicts;
        self.same += other.same;
        self.not_comparable += other.not_comparable;
        self.shifted += other.shifted;
        for i in 0..SHIFTS.len() {
            self.seen[i] += other.seen[i];
            self.seen_in_tpot[i] += other.seen_in_tpot[i];
        }
        self.wrong_direction += other.wrong_direction;
        self.wrong_same += other.wrong_same;
    }
}

fn main() -> ExitCode {
    frame::run("diff", args(), |args| args.bench, measure)
}

fn args() -> Outcome<Args> {
    let mut out = Args { bench: false, pairs: 4, from: 0, shifted: 1, only: None, show: false, repeats: false };
    let mut given = env::args().skip(1);
    while let Some(arg) = given.next() {
        let mut value = || given.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--bench" => out.bench = true,
            "--show" => out.show = true,
            "--repeats" => out.repeats = true,
            "--only" => out.only = Some(value()?),
            "--shifted" => out.shifted = value()?.parse()?,
            "--pairs" => out.pairs = value()?.parse()?,
            "--from" => out.from = value()?.parse()?,
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    Ok(out)
}

fn measure(args: &Args) -> Outcome<()> {
    let scratch = tempfile::tempdir()?;
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut blame: BTreeMap<String, usize> = BTreeMap::new();
    for labelled in scenarios() {
        let kind = KINDS.into_iter().find(|k| labelled.name.starts_with(&format!("{k}-")));
        let wanted = args.only.as_ref().is_none_or(|only| labelled.name.starts_with(only.as_str()));
        let Some(kind) = kind.filter(|_| wanted) else { continue };
        for pair in 0..args.pairs {
            // Far from the seeds that the scenarios have.
            let seed = labelled.scenario.seed * 10_000 + (args.from + pair) * 2 * REPEATS;
            let tally = tallies.entry(kind).or_default();
            let pair = Pair { name: &labelled.name, scenario: &labelled.scenario, seed, shifted: pair < args.shifted };
            pair.judge(args, scratch.path(), tally, &mut blame).map_err(|e| format!("{}: {e}", labelled.name))?;
        }
    }
    let what = if args.repeats {
        format!("{REPEATS} runs a side, each faster or slower by a normal {} %", RUN_NOISE * 100.0)
    } else {
        "one run a side".to_string()
    };
    println!("{what}; no allowance for noise between runs\n");
    println!("                                 equal pairs                            worse seen, of pairs slower by");
    println!("                                 with a false   false     shown  not       5 %        10 %        20 %");
    println!(
        "kind                      pairs  verdict        verdicts  same   compared  any TPOT   any TPOT   any TPOT"
    );
    let mut all = Tally::default();
    for (kind, tally) in &tallies {
        line(kind, tally);
        all.add(tally);
    }
    line("all", &all);
    println!(
        "\nshifted pairs of which something was called better: {}; in which P50 of TPOT was called the same: {}",
        all.wrong_direction, all.wrong_same
    );
    let mut worst: Vec<_> = blame.into_iter().collect();
    worst.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let worst: Vec<String> = worst.iter().take(12).map(|(name, n)| format!("{name} {n}")).collect();
    println!("falsely better or worse: {}", if worst.is_empty() { "nothing".to_string() } else { worst.join(", ") });
    Ok(())
}

fn line(kind: &str, t: &Tally) {
    let share = |n: usize, of: usize| 100.0 * n as f64 / of.max(1) as f64;
    let power: Vec<String> = (0..SHIFTS.len())
        .map(|i| format!("{:3.0} {:3.0} %", share(t.seen[i], t.shifted), share(t.seen_in_tpot[i], t.shifted)))
        .collect();
    println!(
        "{kind:25} {:5}  {:3} ({:4.1} %)  {:7.3} %  {:4.0} %  {:8}  {}",
        t.pairs,
        t.false_pairs,
        share(t.false_pairs, t.pairs),
        share(t.false_verdicts, t.verdicts),
        share(t.same, t.verdicts),
        t.not_comparable,
        power.join("  ")
    );
}

/// One base, an equal candidate, and slower ones.
struct Pair<'a> {
    name: &'a str,
    scenario: &'a Scenario,
    seed: u64,
    shifted: bool,
}

impl Pair<'_> {
    fn judge(
        &self,
        args: &Args,
        scratch: &Path,
        tally: &mut Tally,
        blame: &mut BTreeMap<String, usize>,
    ) -> Outcome<()> {
        let Pair { name, scenario, seed, shifted } = *self;
        let runs = if args.repeats { REPEATS } else { 1 };
        let make = |first: u64, factor: f64| -> Outcome<Vec<Dataset>> {
            let noise = |seed: u64| if args.repeats { (RUN_NOISE * normal(seed)).exp() } else { 1.0 };
            (first..first + runs).map(|seed| dataset(scenario, seed, factor * noise(seed), scratch)).collect()
        };
        let base = make(seed, 1.0)?;
        let equal = compared(&base, &make(seed + REPEATS, 1.0)?)?;
        tally.pairs += 1;
        tally.not_comparable += usize::from(!equal.comparable.comparable());
        let wrong: Vec<String> = decided(&equal, &[DeltaVerdict::Better, DeltaVerdict::Worse]);
        tally.false_pairs += usize::from(!wrong.is_empty());
        tally.false_verdicts += wrong.len();
        tally.verdicts += equal.deltas.len();
        tally.same += equal.deltas.iter().filter(|d| d.verdict == DeltaVerdict::Same).count();
        if args.show && !wrong.is_empty() {
            println!("{name} {seed}: {}; {:?}", wrong.join(", "), equal.method);
        }
        wrong.into_iter().for_each(|name| *blame.entry(name).or_default() += 1);
        if !shifted {
            return Ok(());
        }
        tally.shifted += 1;
        for (i, factor) in SHIFTS.into_iter().enumerate() {
            let shifted = compared(&base, &make(seed + REPEATS, factor)?)?;
            tally.seen[i] += usize::from(!decided(&shifted, &[DeltaVerdict::Worse]).is_empty());
            let tpot = shifted.deltas.iter().find(|d| d.metric == "tpot_ms" && d.stat == "p50").map(|d| d.verdict);
            tally.seen_in_tpot[i] += usize::from(tpot == Some(DeltaVerdict::Worse));
            tally.wrong_same += usize::from(tpot == Some(DeltaVerdict::Same));
            tally.wrong_direction += usize::from(!decided(&shifted, &[DeltaVerdict::Better]).is_empty());
        }
        Ok(())
    }
}

fn decided(diff: &RunDiff, verdicts: &[DeltaVerdict]) -> Vec<String> {
    let named = diff.deltas.iter().filter(|d| verdicts.contains(&d.verdict));
    named.map(|d| format!("{} {} {:?}", d.metric, d.stat, d.scope)).collect()
}

/// A standard normal value that depends on the seed alone: the sum of twelve even ones, less six.
fn normal(seed: u64) -> f64 {
    let mut state = seed;
    let mut even = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    even();
    (0..12).map(|_| even()).sum::<f64>() - 6.0
}

/// Every part of a step takes `factor` times as long.
fn slower(step: &StepCost, factor: f64) -> StepCost {
    StepCost {
        cpu_us: step.cpu_us * factor,
        cpu_us_per_request: step.cpu_us_per_request * factor,
        gpu_us: step.gpu_us * factor,
        decode_us_per_request: step.decode_us_per_request * factor,
        kv_read_ns_per_token: step.kv_read_ns_per_token * factor,
        prefill_us_per_token: step.prefill_us_per_token * factor,
        attention_ns_per_pair: step.attention_ns_per_pair * factor,
        ..step.clone()
    }
}

/// A simulated run as a dataset, by way of its files.
fn dataset(scenario: &Scenario, seed: u64, factor: f64, scratch: &Path) -> Outcome<Dataset> {
    let mut scenario = scenario.clone();
    scenario.seed = seed;
    scenario.step = slower(&scenario.step, factor);
    let folder = scratch.join("run");
    let target = scratch.join(format!("dataset-{seed}-{factor}"));
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    write::folder(&simulate(&scenario)?, &folder, true)?;
    let files = ["result.json", "server.log", "metrics.prom", "spans.otlp.jsonl"].map(|name| folder.join(name));
    let inputs: Vec<Input> = files.iter().map(|f| Input::from_arg(&f.to_string_lossy())).collect();
    let options = postrun_ingest::Options { scratch: true, ..postrun_ingest::Options::default() };
    if target.is_dir() {
        fs::remove_dir_all(&target)?;
    }
    ingest(&inputs, &target, &options)?;
    Ok(Dataset::open_own(&target)?)
}

fn compared(base: &[Dataset], candidate: &[Dataset]) -> Outcome<RunDiff> {
    let edges = shared_edges(&base.iter().chain(candidate).collect::<Vec<_>>())?;
    let options = Options { buckets: Some(edges.clone()), ..Options::default() };
    let side = |datasets: &[Dataset]| -> Outcome<Side> {
        let one = |d: &Dataset| -> Outcome<SideRun> {
            let run = analyse(d, &options)?;
            Ok(SideRun { samples: samples(d, &run, &edges)?, diagnosis: diagnose(&run, &RuleSet::default()), run })
        };
        Ok(Side { runs: datasets.iter().map(one).collect::<Outcome<_>>()? })
    };
    let settings = Settings { run_noise: 0.0, ..Settings::default() };
    Ok(diff(&side(base)?, &side(candidate)?, &edges, &settings))
}
