//! How much of a change is the workload, and how much the system.
//!
//! Requests of both sides fall into cells of prompt and output length (thirds of the output lengths of both). Of each cell,
//! its share of the requests and its mean are known on both sides. What the change of shares does to the mean of all is the
//! mix, what the change of means does is the system; each is weighted with the mean of both sides. A cell that one side lacks
//! shows nothing of how the system treats such requests there, so only the cells of both sides are split, their shares
//! counted among themselves; by how much all requests lie farther from these is the third part, not comparable. The three add up to
//! the change exactly. Where the cells of both hold less than half of a side's requests, nothing is split.

use crate::side::Side;
use postrun_analysis::BucketEdges;
use serde::Serialize;
use std::collections::BTreeMap;

/// Metrics whose means are split.
const SPLIT: [&str; 4] = ["ttft_ms", "tpot_ms", "e2e_ms", "queue_ms"];
/// Parts of the output lengths.
const PARTS: usize = 3;
/// A cell with fewer requests on a side shows no direction.
const FEWEST: f64 = 5.0;
/// Changes of a cell's mean smaller than this have no direction.
const FLAT: f64 = 0.02;
/// The cells of both sides must hold this share of either's requests.
const COMMON: f64 = 0.5;

/// The change of a mean, split.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// Metric id.
    pub metric: &'static str,
    /// Mean over the requests with known lengths, base and candidate.
    pub base: f64,
    /// Of the candidate.
    pub candidate: f64,
    /// What other shares of the lengths that both sides have did.
    pub workload: f64,
    /// What changed for equal lengths.
    pub system: f64,
    /// What requests of lengths did that one side alone has.
    pub not_comparable: f64,
    /// Share of requests in cells that both sides have, base and candidate.
    pub common_share: [f64; 2],
    /// In how many of the cells that both have it rose, fell.
    pub cells: Vec<MixCell>,
    /// True: all cells went one way, and the whole the other.
    pub paradox: bool,
}

/// A mean that is not split: too few requests have lengths that the other side has too.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotSplit {
    /// Metric id.
    pub metric: &'static str,
    /// Share of requests in cells that both sides have, base and candidate.
    pub common_share: [f64; 2],
}

/// Requests of like lengths.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MixCell {
    /// First prompt length inside.
    pub prompt_lo: u32,
    /// First prompt length beyond; null: open.
    pub prompt_hi: Option<u32>,
    /// First output length inside.
    pub output_lo: u32,
    /// Share of requests, base and candidate.
    pub share: [f64; 2],
    /// Mean, base and candidate; null: none.
    pub mean: [Option<f64>; 2],
}

#[derive(Default, Clone, Copy)]
struct Cell {
    n: f64,
    sum: f64,
}

/// The split of every mean that both sides have, and those that cannot be split.
pub(crate) fn mixes(base: &Side, candidate: &Side, edges: &BucketEdges) -> (Vec<Mix>, Vec<NotSplit>) {
    let mut outputs: Vec<u32> = base
        .runs
        .iter()
        .chain(&candidate.runs)
        .flat_map(|r| r.samples.output_tokens.iter().flatten().copied())
        .collect();
    outputs.sort_unstable();
    let mut output_edges: Vec<u32> =
        (1..PARTS).filter_map(|k| outputs.get(k * outputs.len() / PARTS).copied()).collect();
    output_edges.insert(0, 0);
    output_edges.dedup();
    let (mut split, mut left) = (Vec::new(), Vec::new());
    for metric in SPLIT {
        match mix(metric, (base, candidate), edges, &output_edges) {
            Some(Ok(mix)) => split.push(mix),
            Some(Err(not_split)) => left.push(not_split),
            None => {}
        }
    }
    (split, left)
}

fn cells(metric: &str, side: &Side, output_edges: &[u32]) -> Option<BTreeMap<(usize, usize), Cell>> {
    let mut out: BTreeMap<(usize, usize), Cell> = BTreeMap::new();
    for run in &side.runs {
        let s = &run.samples;
        let (_, column) = s.metrics.iter().find(|(id, _)| *id == metric)?;
        // A mean that a convention weighs is not that of the requests.
        if s.weights.iter().any(|(id, _)| *id == metric) {
            return None;
        }
        for (i, value) in column.iter().enumerate().filter(|(_, v)| v.is_finite()) {
            let (Some(bucket), Some(output)) = (s.bucket[i], s.output_tokens[i]) else { continue };
            let part = output_edges.partition_point(|e| *e <= output).max(1) - 1;
            let cell = out.entry((bucket, part)).or_default();
            cell.n += 1.0;
            cell.sum += value;
        }
    }
    (!out.is_empty()).then_some(out)
}

fn sum<'a>(cells: impl Iterator<Item = &'a Cell>) -> Cell {
    cells.fold(Cell::default(), |sum, c| Cell { n: sum.n + c.n, sum: sum.sum + c.sum })
}

fn mix(
    metric: &'static str,
    sides: (&Side, &Side),
    edges: &BucketEdges,
    output_edges: &[u32],
) -> Option<Result<Mix, NotSplit>> {
    let (a, b) = (cells(metric, sides.0, output_edges)?, cells(metric, sides.1, output_edges)?);
    let (all_a, all_b) = (sum(a.values()), sum(b.values()));
    let both = |(key, cell)| Some((cell, *b.get(key)?));
    let common: Vec<(&Cell, Cell)> = a.iter().filter_map(both).collect();
    let (common_a, common_b) = (sum(common.iter().map(|(x, _)| *x)), sum(common.iter().map(|(_, y)| y)));
    let common_share = [common_a.n / all_a.n, common_b.n / all_b.n];
    if common_share.iter().any(|share| *share < COMMON) {
        return Some(Err(NotSplit { metric, common_share }));
    }
    let (mut workload, mut system) = (0.0, 0.0);
    let (mut rose, mut fell) = (0, 0);
    for (x, y) in &common {
        let (share_a, share_b) = (x.n / common_a.n, y.n / common_b.n);
        let (mean_a, mean_b) = (x.sum / x.n, y.sum / y.n);
        workload += (share_b - share_a) * (mean_a + mean_b) / 2.0;
        system += (mean_b - mean_a) * (share_a + share_b) / 2.0;
        if x.n >= FEWEST && y.n >= FEWEST {
            rose += usize::from(mean_b > mean_a * (1.0 + FLAT));
            fell += usize::from(mean_b < mean_a * (1.0 - FLAT));
        }
    }
    let keys: std::collections::BTreeSet<&(usize, usize)> = a.keys().chain(b.keys()).collect();
    let list = keys.into_iter().map(|key| {
        let of = |cells: &BTreeMap<(usize, usize), Cell>| cells.get(key).copied().unwrap_or_default();
        let (x, y) = (of(&a), of(&b));
        let mean = |c: Cell| (c.n > 0.0).then(|| c.sum / c.n);
        MixCell {
            prompt_lo: edges.0.get(key.0).copied().unwrap_or(0),
            prompt_hi: edges.0.get(key.0 + 1).copied(),
            output_lo: output_edges.get(key.1).copied().unwrap_or(0),
            share: [x.n / all_a.n, y.n / all_b.n],
            mean: [mean(x), mean(y)],
        }
    });
    let cells = list.collect();
    let (base, candidate) = (all_a.sum / all_a.n, all_b.sum / all_b.n);
    // Nothing lies outside where both sides have every cell: then no rounding either.
    let beyond = |all: Cell, inside: Cell| if all.n > inside.n { all.sum / all.n - inside.sum / inside.n } else { 0.0 };
    let not_comparable = beyond(all_b, common_b) - beyond(all_a, common_a);
    let up = candidate > base * (1.0 + FLAT);
    let down = candidate < base * (1.0 - FLAT);
    let paradox = (up && rose == 0 && fell > 1) || (down && fell == 0 && rose > 1);
    Some(Ok(Mix { metric, base, candidate, workload, system, not_comparable, common_share, cells, paradox }))
}
