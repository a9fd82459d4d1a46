//! The comparison of two sides as plain data.

use crate::comparable::{Comparability, comparability, of_one_recording};
use crate::deltas::{Decided, Settings, deltas};
use crate::figures::quantiles;
use crate::findings::{FindingChanges, changes};
use crate::mix::{Mix, NotSplit, mixes};
use crate::pairing::{Pairing, pairing, same_recording};
use crate::shift::{Shift, shifts};
use crate::side::Side;
use crate::verdict::{DeltaVerdict, Reason};
use crate::why::{Why, nothing_waits, server_changes, whys};
use postrun_analysis::{BucketEdges, ClientConvention, METRICS};
use serde::Serialize;

/// Metrics whose distributions are laid over each other.
const OVERLAID: [&str; 4] = ["ttft_ms", "tpot_ms", "e2e_ms", "queue_ms"];

/// Latencies of requests and tokens, of which something waits or works.
const LATENCIES: [&str; 4] = ["ttft_ms", "tpot_ms", "itl_ms", "e2e_ms"];

/// Which requests a delta is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeltaScope {
    /// The whole run.
    All,
    /// Prompts of a length.
    Bucket {
        /// First prompt length inside.
        lo: u32,
        /// First prompt length beyond; `None`: open.
        hi: Option<u32>,
    },
}

/// One figure on both sides. Values are in the metric's unit (nanoseconds for times).
#[derive(Debug, Clone, PartialEq)]
pub struct Delta {
    /// Metric id.
    pub metric: &'static str,
    /// `mean`, `p50`, `p90`, `p95`, `p99`, `value`; `paired`: the geometric mean over the pairs.
    pub stat: String,
    /// Which requests.
    pub scope: DeltaScope,
    /// Base; of repeats their mean (the geometric one, where the change is a ratio).
    pub base: f64,
    /// Candidate.
    pub candidate: f64,
    /// Candidate less base.
    pub change: f64,
    /// Change as a share of the base; `None` where that is 0.
    pub change_share: Option<f64>,
    /// Where the change lies, with the allowance for noise between runs; `None`: the runs are too short to bound it.
    pub interval: [Option<f64>; 2],
    /// The same as shares of the base.
    pub interval_share: [Option<f64>; 2],
    /// What the runs themselves show of it, as shares of the base: without the allowance for noise between runs.
    pub within_runs_share: [Option<f64>; 2],
    /// What is said of it.
    pub verdict: DeltaVerdict,
    /// Why it is not more; an inconclusive one always has a reason.
    pub reason: Option<Reason>,
    /// Values on each side.
    pub counts: [u64; 2],
}

impl Delta {
    /// True where it is decided, or known how far the change may be off on one side at least.
    pub fn is_judged(&self) -> bool {
        let bounded = self.interval.iter().chain(&self.interval_share).any(Option::is_some);
        self.verdict != DeltaVerdict::Inconclusive || bounded
    }
}

/// How the deltas were decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Method {
    /// All intervals hold together with this probability.
    pub confidence: f64,
    /// How many were corrected for.
    pub comparisons: u64,
    /// Figures of which something is decided, or of whose change at least one end is known.
    pub judged: u64,
    /// Stretches that each run was cut into.
    pub stretches: u64,
    /// Stretches in a block of the bootstrap.
    pub block: u64,
    /// Blocks in a run.
    pub blocks: u64,
    /// Equal within this share.
    pub margin: f64,
    /// Allowance for noise between runs, as a share; 0 where repeats show it.
    pub run_noise: f64,
    /// Where it comes from.
    pub run_noise_from: String,
    /// Earlier repeats beside the base that were looked at for it; `None`: too few, or something else was asked for.
    pub earlier_repeats: Option<EarlierRepeats>,
    /// How runs of one side spread, as a share: the largest over latencies and throughput; `None` of one run a side.
    pub run_spread: Option<f64>,
    /// Runs on each side.
    pub runs: [u64; 2],
}

/// Earlier repeats beside the base, which are looked at unasked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EarlierRepeats {
    /// Their names.
    pub runs: Vec<String>,
    /// How they and the base spread, as a share: the largest over latencies and throughput.
    pub spread: f64,
    /// By how much two runs may differ by that, as a share.
    pub bound: f64,
    /// True where that is the allowance; false where the one that would stand without them is no larger.
    pub used: bool,
    /// The allowance that would stand without them.
    pub instead_of: f64,
}

/// A metric that a side lacks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Left {
    /// Metric id.
    pub metric: &'static str,
    /// Which side lacks it: `base`, `candidate`, `both` of what another convention defines.
    pub lacks: &'static str,
    /// What is missing there.
    pub missing: String,
}

/// Two distributions at the same positions, 1 % to 99 %, in the metric's unit: for quantile–quantile, shift and CDF plots.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// Metric id.
    pub metric: &'static str,
    /// 99 quantiles of the base.
    pub base: Vec<f64>,
    /// 99 quantiles of the candidate.
    pub candidate: Vec<f64>,
}

/// All deltas in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Overall {
    /// Something is worse, nothing better.
    Worse,
    /// Something is better, nothing worse.
    Better,
    /// Both.
    Mixed,
    /// All shown to be equal.
    Same,
    /// Nothing shown.
    Inconclusive,
}

/// One side in a few words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideFacts {
    /// Labels of its runs.
    pub labels: Vec<String>,
    /// Requests measured.
    pub requests: u64,
    /// Of them answered.
    pub ok: u64,
    /// True of the trace of a workload, which nobody answered.
    #[serde(skip)]
    pub workload: bool,
    /// Length of the measurement, the mean of the runs.
    pub duration_s: Option<f64>,
}

/// The comparison of two sides.
#[derive(Debug, Clone)]
pub struct RunDiff {
    /// By whose definitions the metrics were computed.
    pub convention: &'static ClientConvention,
    /// The base.
    pub base: SideFacts,
    /// The candidate.
    pub candidate: SideFacts,
    /// One recording on both sides.
    pub same_recording: bool,
    /// Whether they answer the same question.
    pub comparable: Comparability,
    /// Whether both sent the same requests.
    pub paired: Option<Pairing>,
    /// All of it in one word.
    pub overall: Overall,
    /// How that was decided.
    pub method: Method,
    /// Whole run first, then buckets.
    pub deltas: Vec<Delta>,
    /// Means split into workload and system.
    pub mix: Vec<Mix>,
    /// Means that cannot be split: the lengths of the sides hardly overlap.
    pub not_split: Vec<NotSplit>,
    /// Latencies split along the phases.
    pub why: Vec<Why>,
    /// What changed on the server, as clauses.
    pub server_changes: Vec<String>,
    /// True where a latency is shown to have changed, and neither queue nor preemption nor memory moved.
    pub nothing_waits: bool,
    /// Findings against each other.
    pub findings: FindingChanges,
    /// Metrics that one side lacks, or under another convention both.
    pub left_out: Vec<Left>,
    /// Distributions of both.
    pub distributions: Vec<Distribution>,
    /// How the percentiles of the latencies moved.
    pub shifts: Vec<Shift>,
}

/// Compares two sides, whose runs were analysed with prompt-length buckets at `edges`.
pub fn diff(base: &Side, candidate: &Side, edges: &BucketEdges, settings: &Settings) -> RunDiff {
    let firsts = base.runs.first().zip(candidate.runs.first());
    let one_each = base.runs.len() == 1 && candidate.runs.len() == 1;
    let same = one_each && firsts.is_some_and(|(a, b)| same_recording(a, b));
    let comparable = if same { of_one_recording(base) } else { comparability(base, candidate) };
    let paired = firsts.filter(|_| one_each).and_then(|(a, b)| pairing(a, b));
    let known = (same, paired.is_some());
    let Decided { deltas, drawn, method } = deltas((base, candidate), edges, &comparable, known, settings);
    let why = whys(base, candidate);
    let findings = changes(base, candidate);
    let (mix, not_split) = mixes(base, candidate, edges);
    let latency_changed = deltas.iter().any(|d| {
        let shown = matches!(d.verdict, DeltaVerdict::Worse | DeltaVerdict::Better);
        shown && d.scope == DeltaScope::All && LATENCIES.contains(&d.metric)
    });
    RunDiff {
        convention: firsts.map(|(a, _)| a.run.convention).unwrap_or_default(),
        base: facts(base),
        candidate: facts(candidate),
        same_recording: same,
        paired,
        overall: if same { Overall::Same } else { overall(&deltas) },
        shifts: shifts(&deltas, &drawn, method.runs),
        method,
        deltas,
        mix,
        not_split,
        server_changes: server_changes(base, candidate),
        nothing_waits: latency_changed && nothing_waits(base, candidate, &why, &findings),
        why,
        findings,
        left_out: left_out(base, candidate),
        distributions: OVERLAID.iter().filter_map(|m| distribution(m, base, candidate)).collect(),
        comparable,
    }
}

fn facts(side: &Side) -> SideFacts {
    SideFacts {
        labels: side.runs.iter().map(|r| r.run.manifest.label.clone()).collect(),
        requests: side.total(),
        ok: side.ok(),
        workload: side.is_workload(),
        duration_s: side.mean(|r| r.run.facts.duration_s),
    }
}

fn overall(deltas: &[Delta]) -> Overall {
    let any = |v: DeltaVerdict| deltas.iter().any(|d| d.verdict == v);
    let judged = |d: &&Delta| !matches!(d.reason, Some(Reason::OneValueARun | Reason::TooFewRequests));
    let mut all = deltas.iter().filter(|d| d.scope == DeltaScope::All).filter(judged).peekable();
    match (any(DeltaVerdict::Worse), any(DeltaVerdict::Better)) {
        (true, true) => Overall::Mixed,
        (true, false) => Overall::Worse,
        (false, true) => Overall::Better,
        (false, false) if all.peek().is_some() && all.all(|d| d.verdict == DeltaVerdict::Same) => Overall::Same,
        (false, false) => Overall::Inconclusive,
    }
}

/// Metrics of one side only, by name; and those that the convention defines and both lack a fact for.
fn left_out(base: &Side, candidate: &Side) -> Vec<Left> {
    let has = |side: &Side, id: &str| side.runs.iter().all(|r| r.run.metric(id).is_some() || r.run.value(id).is_some());
    let missing = |side: &Side, id: &str| {
        let unavailable = side.runs.iter().flat_map(|r| &r.run.unavailable).find(|u| u.metric == id);
        unavailable.map_or_else(|| "no value".to_string(), |u| u.missing.clone())
    };
    let convention = base.runs.first().map(|r| r.run.convention).filter(|c| c.is_another());
    let defined = |id: &str| convention.is_some_and(|c| c.defined(id).is_some());
    let left = METRICS.iter().filter_map(|m| match (has(base, m.id), has(candidate, m.id)) {
        (true, false) => Some(Left { metric: m.id, lacks: "candidate", missing: missing(candidate, m.id) }),
        (false, true) => Some(Left { metric: m.id, lacks: "base", missing: missing(base, m.id) }),
        (false, false) if defined(m.id) => Some(Left { metric: m.id, lacks: "both", missing: missing(base, m.id) }),
        _ => None,
    });
    left.collect()
}

/// Quantiles of both, the mean of the repeats at each.
fn distribution(metric: &'static str, base: &Side, candidate: &Side) -> Option<Distribution> {
    let of = |side: &Side| -> Option<Vec<f64>> {
        let all: Vec<Vec<f64>> = side.runs.iter().map(|r| quantiles(&r.samples, metric)).collect::<Option<_>>()?;
        let n = all.len() as f64;
        let first = all.first()?;
        Some((0..first.len()).map(|q| all.iter().map(|run| run[q]).sum::<f64>() / n).collect())
    };
    Some(Distribution { metric, base: of(base)?, candidate: of(candidate)? })
}
