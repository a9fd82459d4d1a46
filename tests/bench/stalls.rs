//! How often long pauses are called what they were: precision and recall against recordings whose server kept the truth.
//!
//! `cargo bench -p postrun-cli --bench stalls`. Reads `../shared/recordings`: the recordings of `vllm bench serve` with a
//! `ground_truth.jsonl` beside the result, postrun being given the result alone; then those of a real server, of which
//! only the counter is known. Asserts nothing.
//!
//! What a pause was, by the server's record: `preemption`, if it covers more than half of a preemption of this request in
//! decode; else `prefill_interference`, if another request's prefill covers half of it or ends in it; else
//! `global_stall`, if the median of those in decode throughout got one chunk or none; else `jitter`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the tables are the output of a benchmark")]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

type Outcome<T> = Result<T, Box<dyn Error>>;

const CLASSES: [&str; 4] = ["preemption", "prefill_interference", "global_stall", "jitter"];
/// From here on postrun says it without "probably".
const CONFIDENT: f64 = 0.7;
/// Chunks closer together were read in one go.
const READ_AT_ONCE_S: f64 = 0.0003;
const COUNTER: &str = "vllm:num_preemptions_total";

fn main() -> ExitCode {
    if !env::args().any(|a| a == "--bench") {
        println!("nothing measured: run it by `cargo bench -p postrun-cli --bench stalls`");
        return ExitCode::SUCCESS;
    }
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    if !recordings.is_dir() {
        eprintln!("SKIPPED: ../shared is not here, so nothing was measured");
        return ExitCode::SUCCESS;
    }
    match measure(&recordings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(2)
        }
    }
}

fn measure(recordings: &Path) -> Outcome<()> {
    println!("tp/fp/fn of each class, precision (P) and recall (R); client's record alone\n");
    let mut pooled = Score::default();
    for folder in folders(&recordings.join("vllm-bench-serve"), "ground_truth.jsonl")? {
        let score = score(&folder)?;
        print_score(&name_of(&folder), &score);
        pooled.add(&score);
    }
    print_score("pooled", &pooled);
    println!("a real server: pauses called preemption beside its counter (one pause may hold several)");
    for folder in folders(&recordings.join("vllm-server-cpu"), "metrics.prom")? {
        let stalls = stalls(&folder.join("result.json"))?;
        let called: Vec<&Stall> = stalls.iter().filter(|s| s.class == CLASSES[0]).collect();
        let confident = called.iter().filter(|s| s.confidence >= CONFIDENT).count();
        let counted = counted(&fs::read_to_string(folder.join("metrics.prom"))?);
        let (name, n) = (name_of(&folder), called.len());
        println!("  {name:<24} called {n:>3}   from 0.7 on {confident:>3}   counter {counted:>3}");
    }
    Ok(())
}

/// The folders in `top` that have a file called `with`, in order.
fn folders(top: &Path, with: &str) -> Outcome<Vec<PathBuf>> {
    let entries = fs::read_dir(top).map_err(|e| format!("could not list {}: {e}", top.display()))?;
    let mut found: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    found.retain(|folder| folder.join(with).is_file() && folder.join("result.json").is_file());
    found.sort();
    Ok(found)
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A pause as postrun lists it.
struct Stall {
    request: usize,
    at_s: f64,
    length_s: f64,
    class: String,
    confidence: f64,
}

fn stalls(result: &Path) -> Outcome<Vec<Stall>> {
    let output =
        Command::new(env!("CARGO_BIN_EXE_postrun")).arg("report").arg(result).args(["--format", "json"]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let run = &report["runs"][0];
    let rows = run["stalls"].as_array().ok_or_else(|| format!("no stalls in the report of {}", result.display()))?;
    if let Some(total) = run["stalls_total"].as_u64().filter(|total| *total > rows.len() as u64) {
        println!("  (the longest {} of {total} pauses are listed; the others are not scored)", rows.len());
    }
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    let stall = |row: &Value| Stall {
        request: row["request"].as_u64().unwrap_or(u64::MAX) as usize,
        at_s: number(row, "at_s"),
        length_s: number(row, "length_ms") / 1e3,
        class: row["class"].as_str().unwrap_or_default().to_string(),
        confidence: number(row, "confidence"),
    };
    Ok(rows.iter().map(stall).collect())
}

/// Times in seconds on the client's clock.
#[derive(Default)]
struct Request {
    /// Chunks; empty if it failed.
    chunks: Vec<f64>,
    step: f64,
    server_id: String,
    /// Preemptions in decode.
    preempted: Vec<(f64, f64)>,
}

struct Truth {
    requests: Vec<Request>,
    /// Prefills of all requests, with the server's id.
    prefills: Vec<(f64, f64, String)>,
    first_send: f64,
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().map(|a| a.iter().filter_map(Value::as_f64).collect()).unwrap_or_default()
}

/// Type 7, as everywhere.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let h = values.len().saturating_sub(1) as f64 * share;
    let at = |i: usize| values.get(i).or(values.last()).copied().unwrap_or(0.0);
    at(h as usize) + (at(h as usize + 1) - at(h as usize)) * h.fract()
}

impl Truth {
    fn read(folder: &Path) -> Outcome<Truth> {
        // Python writes NaN, which JSON does not know.
        let result: Value =
            serde_json::from_str(&fs::read_to_string(folder.join("result.json"))?.replace("NaN", "null"))?;
        let (starts, ttfts) = (floats(&result["start_times"]), floats(&result["ttfts"]));
        let mut requests: Vec<Request> = Vec::new();
        for (i, (start, ttft)) in starts.iter().zip(&ttfts).enumerate() {
            let mut request = Request::default();
            if result["errors"][i].as_str().is_none_or(str::is_empty) && result["output_lens"][i].as_u64() > Some(0) {
                let gaps = floats(&result["itls"][i]);
                request.chunks.push(start + ttft);
                request.chunks.extend(gaps.iter().scan(start + ttft, |at, gap| {
                    *at += gap;
                    Some(*at)
                }));
                let mut steps: Vec<f64> = gaps.into_iter().filter(|gap| *gap > READ_AT_ONCE_S).collect();
                request.step = quantile(&mut steps, 0.5);
            }
            requests.push(request);
        }
        let first_send = starts.iter().copied().fold(f64::INFINITY, f64::min);
        let mut truth = Truth { requests, prefills: Vec::new(), first_send };
        truth.add_server(&fs::read_to_string(folder.join("ground_truth.jsonl"))?)?;
        Ok(truth)
    }

    fn add_server(&mut self, lines: &str) -> Outcome<()> {
        let rows: Vec<Value> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let index = |row: &Value| row["client_request_id"].as_str()?.rsplit('-').next()?.parse::<usize>().ok();
        let client_first = |row: &Value| self.requests.get(index(row)?)?.chunks.first().copied();
        let offset = |row: &Value| Some(row["first_token"].as_f64()? - client_first(row)?);
        let offset = quantile(&mut rows.iter().filter_map(offset).collect::<Vec<f64>>(), 0.5);
        for row in &rows {
            let id = row["server_request_id"].as_str().unwrap_or_default().to_string();
            let (off, on) = (floats(&row["preempted_at"]), floats(&row["resumed_at"]));
            if let Some(scheduled) = row["scheduled"].as_f64() {
                let mut ends = [off.clone(), floats(&row["prefill_done_at"])].concat();
                ends.sort_by(f64::total_cmp);
                for start in on.iter().copied().chain([scheduled]) {
                    let end = ends.iter().find(|end| **end > start);
                    self.prefills.extend(end.map(|end| (start - offset, end - offset, id.clone())));
                }
            }
            if let (Some(request), Some(first)) =
                (index(row).and_then(|i| self.requests.get_mut(i)), row["first_token"].as_f64())
            {
                request.server_id = id;
                let in_decode = off.iter().zip(&on).filter(|(off, _)| **off >= first);
                request.preempted = in_decode.map(|(off, on)| (off - offset, on - offset)).collect();
            }
        }
        Ok(())
    }

    /// What a pause was, and which preemptions of its request it covers.
    fn label(&self, stall: &Stall) -> (&'static str, Vec<usize>) {
        let Some(request) = self.requests.get(stall.request) else { return (CLASSES[3], Vec::new()) };
        let (a, b) = (stall.at_s + self.first_send, stall.at_s + self.first_send + stall.length_s);
        let covers = |(off, on): &(f64, f64)| on.min(b) - off.max(a) > 0.5 * (on - off);
        let hit: Vec<usize> = (0..request.preempted.len()).filter(|i| covers(&request.preempted[*i])).collect();
        if !hit.is_empty() {
            return (CLASSES[0], hit);
        }
        let held_up = self.prefills.iter().filter(|p| p.2 != request.server_id).any(|(start, end, _)| {
            end.min(b) - start.max(a) >= 0.5 * (b - a)
                || (*end > a + 0.3 * request.step && *end <= b + 0.5 * request.step)
        });
        if held_up {
            return (CLASSES[1], hit);
        }
        let (from, to) = (a + 0.5 * request.step, b - 0.5 * request.step);
        let throughout = |r: &&Request| {
            r.server_id != request.server_id
                && r.chunks.first().is_some_and(|t| *t <= a)
                && r.chunks.last().is_some_and(|t| *t >= b)
        };
        let got = |r: &Request| {
            let before = |t: f64| r.chunks.partition_point(|at| *at < t) as f64;
            before(to) - before(from)
        };
        let mut others: Vec<f64> = self.requests.iter().filter(throughout).map(got).collect();
        let paused = !others.is_empty() && quantile(&mut others, 0.5) <= 1.0;
        (if paused { CLASSES[2] } else { CLASSES[3] }, hit)
    }
}

#[derive(Default)]
struct Score {
    /// By what it was and what it was called; `""` was not called anything.
    table: BTreeMap<(&'static str, String), u64>,
    /// Pauses called preemption with confidence that were none.
    wrongly_confident: u64,
}

impl Score {
    fn add(&mut self, other: &Score) {
        other.table.iter().for_each(|(key, n)| *self.table.entry(key.clone()).or_default() += n);
        self.wrongly_confident += other.wrongly_confident;
    }
}

fn score(folder: &Path) -> Outcome<Score> {
    let truth = Truth::read(folder)?;
    let mut score = Score::default();
    let mut covered = BTreeSet::new();
    for stall in stalls(&folder.join("result.json"))? {
        let (was, hit) = truth.label(&stall);
        covered.extend(hit.into_iter().map(|i| (stall.request, i)));
        let confident = stall.class == CLASSES[0] && stall.confidence >= CONFIDENT;
        score.wrongly_confident += u64::from(confident && was != CLASSES[0]);
        *score.table.entry((was, stall.class)).or_default() += 1;
    }
    // A preemption that no pause covers was missed altogether.
    let all: usize = truth.requests.iter().map(|r| r.preempted.len()).sum();
    score.table.insert((CLASSES[0], String::new()), (all - covered.len()) as u64);
    Ok(score)
}

fn print_score(name: &str, score: &Score) {
    let count = |of: &dyn Fn(&str, &str) -> bool| -> u64 {
        score.table.iter().filter(|((was, called), _)| of(was, called)).map(|(_, n)| n).sum()
    };
    let share =
        |part: u64, all: u64| if all == 0 { "    -".into() } else { format!("{:.3}", part as f64 / all as f64) };
    println!("{name} (preemptions called wrongly with confidence: {})", score.wrongly_confident);
    for class in CLASSES {
        let tp = count(&|was, called| was == class && called == class);
        let fp = count(&|was, called| was != class && called == class);
        let missed = count(&|was, called| was == class && called != class);
        let (p, r) = (share(tp, tp + fp), share(tp, tp + missed));
        println!("  {class:<22} {:>14}   P {p}  R {r}", format!("{tp}/{fp}/{missed}"));
    }
    println!();
}

/// What a counter gained from its first to its last sample.
fn counted(samples: &str) -> f64 {
    let value = |line: &str| line.starts_with(COUNTER).then(|| line.rsplit(' ').next()?.parse::<f64>().ok()).flatten();
    let mut values = samples.lines().filter_map(value);
    let first = values.next().unwrap_or(0.0);
    values.next_back().unwrap_or(first) - first
}
