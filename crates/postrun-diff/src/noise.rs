//! How much runs of one configuration differ, from earlier repeats of it.

use crate::comparable::{differ, measured};
use crate::stats::squares;
use crate::stats::student::spread_above;
use postrun_analysis::RunAnalysis;
use postrun_schema::{Manifest, SourceFile};
use std::collections::BTreeMap;

/// Figures whose noise is looked at.
pub(crate) const FIGURES: [(&str, &str); 5] =
    [("ttft_ms", "p50"), ("ttft_ms", "p95"), ("tpot_ms", "p50"), ("e2e_ms", "p95"), ("output_tokens_per_s", "value")];
/// Fewer repeats say nothing of their spread.
const FEWEST: usize = 3;
/// So many earlier repeats beside the base are used unasked. With the base they are four runs: of three, chance alone makes one
/// spread in 400 look 20 times too small, and the bound is 12 times the spread.
const FEWEST_BESIDE: usize = 3;
/// Recordings whose figures agree within this share are copies of one: repeats differ by a hundred times as much.
const SAME_FIGURES: f64 = 1e-4;
/// Two-sided 95 % of a normal value.
const NORMAL: f64 = 1.96;

/// What repeats of one configuration show of the noise between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// How they spread: the standard deviation of logarithms, the largest over latencies and throughput.
    pub spread: f64,
    /// By how much two runs may differ, as a share.
    pub bound: f64,
}

/// By how much two runs of one configuration may differ, from the figure whose repeats differ most. The spread is taken at its upper
/// 95 % confidence bound (χ²), times 1.96 √2 for two runs. (Student's t instead would hold for these figures alone; a comparison
/// has a hundred others, whose noise may be larger.) `None` from fewer than three repeats.
pub fn noise_of_repeats(runs: &[&RunAnalysis]) -> Option<Noise> {
    let of = |(metric, stat): &(&str, &str)| {
        let values: Option<Vec<f64>> = runs.iter().map(|r| r.figure(metric, stat).filter(|v| *v > 0.0)).collect();
        noise(&values?)
    };
    FIGURES.iter().filter_map(of).reduce(|a, b| if b.spread > a.spread { b } else { a })
}

/// Earlier repeats that lie beside the base.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier {
    /// Their names.
    pub names: Vec<String>,
    /// What they and the base show.
    pub noise: Noise,
}

impl Earlier {
    /// True of so many that they are used unasked.
    pub fn are_enough(&self) -> bool {
        self.names.len() >= FEWEST_BESIDE
    }
}

/// True where earlier repeats of the base can be told from what belongs to the candidate: both say when they were recorded, the base
/// before the candidate, and by other files.
pub fn may_have_earlier(base: &RunAnalysis, candidate: &RunAnalysis) -> bool {
    is_earlier(&base.manifest, &candidate.manifest) && !is_one_run(base, candidate)
}

/// Which of the runs beside the base are earlier repeats of it, and what they show together with it: a run of another build that
/// passes for a repeat makes that larger. Copies count once, and what is a copy of a side does not. `None` of fewer than two.
pub fn earlier_repeats(
    (base, candidate): (&RunAnalysis, &RunAnalysis),
    beside: &[(String, RunAnalysis)],
) -> Option<Earlier> {
    let mut found: Vec<(&str, &RunAnalysis)> = Vec::new();
    for (name, run) in beside.iter().filter(|(_, run)| is_earlier_repeat(base, run)) {
        let known = [base, candidate].into_iter().chain(found.iter().map(|(_, run)| *run));
        if !known.into_iter().any(|other| is_one_run(other, run)) {
            found.push((name, run));
        }
    }
    let runs: Vec<&RunAnalysis> = found.iter().map(|(_, run)| *run).chain([base]).collect();
    let noise = noise_of_repeats(&runs)?;
    Some(Earlier { names: found.iter().map(|(name, _)| name.to_string()).collect(), noise })
}

/// True of copies of one recording: the same file of the client, the same time, or the same figures, as of a file that was
/// converted, packed or rounded.
fn is_one_run(a: &RunAnalysis, b: &RunAnalysis) -> bool {
    let mut files = a.manifest.sources.iter().filter(|s| s.aligned.is_none() && !s.sha256.is_empty());
    let same = |x: &SourceFile, y: &SourceFile| x.sha256 == y.sha256 && x.run_in_file == y.run_in_file;
    let same_file = files.any(|x| b.manifest.sources.iter().any(|y| same(x, y)));
    let same_time = match (unix(&a.manifest), unix(&b.manifest)) {
        (Some(x), Some(y)) => x == y,
        _ => a.manifest.load.date.is_some() && a.manifest.load.date == b.manifest.load.date,
    };
    let both: Vec<(f64, f64)> = FIGURES.iter().filter_map(|(m, s)| Some((a.figure(m, s)?, b.figure(m, s)?))).collect();
    let same_figures = !both.is_empty() && both.into_iter().all(|(x, y)| !differ(x, y, SAME_FIGURES));
    same_file || same_time || same_figures
}

/// Mean lengths of repeats differ by no more than this share.
const SAME_LENGTHS: f64 = 0.02;
/// Nor do shares of failed requests by more.
const SAME_FAILURES: f64 = 0.01;

/// True where `other` repeats `base` and was recorded before it: the same client, model, server settings, load, number of
/// requests and lengths, and both say when they were recorded.
fn is_earlier_repeat(base: &RunAnalysis, other: &RunAnalysis) -> bool {
    let (a, b) = (&base.manifest, &other.manifest);
    let load = |m: &Manifest| {
        let l = m.load.clone();
        (l.request_rate, l.unbounded, l.burstiness, l.max_concurrency, l.num_prompts, l.dataset, l.backend)
    };
    let settings = |m: &Manifest| -> BTreeMap<String, String> {
        m.server.iter().filter(|(key, _)| !measured(key)).map(|(k, v)| (k.clone(), v.clone())).collect()
    };
    let client = |m: &Manifest| (m.tool.name.clone(), m.tool.version.clone(), m.model.clone(), m.output_tokens_source);
    let length = |id: &str| match (base.metric(id), other.metric(id)) {
        (Some(x), Some(y)) => !differ(x.mean, y.mean, SAME_LENGTHS),
        _ => false,
    };
    let failed = |r: &RunAnalysis| r.requests.failed as f64 / r.requests.total.max(1) as f64;
    client(a) == client(b)
        && settings(a) == settings(b)
        && load(a) == load(b)
        && base.requests.total == other.requests.total
        && (failed(base) - failed(other)).abs() <= SAME_FAILURES
        && ["prompt_length", "output_length"].into_iter().all(length)
        && is_earlier(b, a)
}

/// By Unix time, else by dates that are written alike; false where neither is known of both.
fn is_earlier(first: &Manifest, second: &Manifest) -> bool {
    let shape = |date: &str| -> String { date.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect() };
    match (unix(first), unix(second), &first.load.date, &second.load.date) {
        (Some(a), Some(b), ..) => a < b,
        (_, _, Some(a), Some(b)) => shape(a) == shape(b) && a < b,
        _ => false,
    }
}

fn unix(m: &Manifest) -> Option<i64> {
    m.duration_from_unix_ns.or(m.clocks.client.origin_unix_ns)
}

fn noise(values: &[f64]) -> Option<Noise> {
    let n = values.len();
    if n < FEWEST {
        return None;
    }
    let logarithms: Vec<f64> = values.iter().map(|v| v.ln()).collect();
    let spread = (squares(&logarithms) / (n - 1) as f64).sqrt();
    let bound = (NORMAL * std::f64::consts::SQRT_2 * spread * spread_above(n - 1)).exp_m1();
    Some(Noise { spread, bound: bound.min(f64::MAX) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_show_their_noise() {
        assert_eq!(noise(&[10.0, 11.0]), None);
        assert_eq!(noise(&[10.0; 4]), Some(Noise { spread: 0.0, bound: 0.0 }));
        // Logarithms -0.1, 0, 0.1: their spread is 0.1, and χ² of 2 degrees of freedom lies below 0.1026 with 5 %.
        let found = noise(&[(-0.1f64).exp(), 1.0, 0.1f64.exp()]).unwrap();
        let bound = (1.96 * 2f64.sqrt() * 0.1 * (2.0f64 / 0.102_587).sqrt()).exp_m1();
        assert!((found.spread - 0.1).abs() < 1e-12 && (found.bound / bound - 1.0).abs() < 1e-3, "{found:?} {bound}");
        // More runs of the same spread bound it better.
        let eight: Vec<f64> = (0..8).map(|i| if i % 2 == 0 { 0.0935f64.exp() } else { (-0.0935f64).exp() }).collect();
        let more = noise(&eight).unwrap();
        assert!((more.spread - 0.1).abs() < 1e-3 && more.bound < 0.5 * found.bound, "{more:?}");
    }
}
