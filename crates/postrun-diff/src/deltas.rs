//! Every figure of both sides with its change, interval and verdict.

use crate::comparable::Comparability;
use crate::figures::{Found, Key, figures, stretches};
use crate::noise::{Earlier, FIGURES};
use crate::paired::paired;
use crate::per_run::{Once, per_run};
use crate::result::{Delta, DeltaScope, EarlierRepeats, Method};
use crate::shift::DRAWN_PERCENTILES;
use crate::side::Side;
use crate::stats::compare::{Joint, Pair, compare};
use crate::stats::figure::{Figure, Scale};
use crate::stats::squares;
use crate::stats::student::student;
use crate::verdict::{DeltaVerdict, Reason};
use postrun_analysis::{Better, BucketEdges, METRICS};

/// Changes of at most 2 % are no difference that anyone notices.
pub const DEFAULT_MARGIN: f64 = 0.02;
/// Published pairs of equal runs differ by up to 22 %, recorded ones of a quiet machine by 17 %.
pub const DEFAULT_RUN_NOISE: f64 = 0.25;
/// With which probability the intervals of the whole run hold together, and those of the buckets.
const LEVELS: [f64; 2] = [0.97, 0.99];
/// The same for the count of preemptions.
pub(crate) const COUNT_LEVEL: f64 = 0.99;
/// Two-sided 95 % of a normal value.
const NORMAL: f64 = 1.96;
/// All together.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// What the user may set.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Equal within this share.
    pub margin: f64,
    /// Allowance for the noise between runs, as a share, with one run a side.
    pub run_noise: f64,
    /// Where that allowance comes from, in words.
    pub run_noise_from: String,
    /// Earlier repeats beside the base, where nothing else was asked for: what they show takes the place of a larger allowance.
    pub earlier: Option<Earlier>,
    /// Also how percentiles between the compared ones moved: for pictures.
    pub drawn: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        let run_noise_from = "the default: published pairs of equal runs differ by up to 22 %".to_string();
        Settings { margin: DEFAULT_MARGIN, run_noise: DEFAULT_RUN_NOISE, run_noise_from, earlier: None, drawn: false }
    }
}

/// One figure on both sides.
struct Row {
    key: Key,
    base: Vec<Found>,
    candidate: Vec<Found>,
}

/// What was decided, and how.
pub(crate) struct Decided {
    pub deltas: Vec<Delta>,
    /// Percentiles that are only drawn.
    pub drawn: Vec<Delta>,
    pub method: Method,
}

/// All deltas, and how they were decided. `same`: both sides are one recording; `pairs`: both sent the same requests.
pub(crate) fn deltas(
    sides: (&Side, &Side),
    edges: &BucketEdges,
    comparable: &Comparability,
    (same, pairs): (bool, bool),
    settings: &Settings,
) -> Decided {
    let (base, candidate) = sides;
    let n = stretches(base.runs.iter().chain(&candidate.runs).map(|r| r.samples.ok.len()));
    let drawn: &[f64] = if settings.drawn { &DRAWN_PERCENTILES } else { &[] };
    let mut rows = rows(base, candidate, (edges.0.len(), n), drawn);
    let single = base.runs.len() == 1 && candidate.runs.len() == 1;
    if let ([a], [b], true) = (base.runs.as_slice(), candidate.runs.as_slice(), pairs) {
        let of =
            |[base, candidate]: [Found; 2]| Row { key: base.key.clone(), base: vec![base], candidate: vec![candidate] };
        rows.extend(paired(a, b, n).into_iter().map(of));
        rows.sort_by_key(|r| (r.key.bucket, METRICS.iter().position(|m| m.id == r.key.metric)));
    }
    let ttft = rows.iter().find(|r| r.key.metric == "ttft_ms" && r.key.stat == "mean" && r.key.bucket.is_none());
    let ttft = ttft.map_or(0.0, |r| value(&r.base, scale(r)));
    let mut compared = Vec::new();
    let mut pair_of = Vec::new();
    for row in &rows {
        let side = |found: &[Found]| found.iter().map(|f| f.figure.clone().ok()).collect::<Option<Vec<Figure>>>();
        let pair = side(&row.base).zip(side(&row.candidate)).map(|(base, candidate)| Pair {
            scale: scale(row),
            base,
            candidate,
            tested: !row.key.drawn_alone(),
            family: usize::from(row.key.bucket.is_some()),
            sets_length: row.key.sets_length(),
            waits: row.key.waits(),
            own_course: row.key.own_course(),
        });
        pair_of.push(pair.is_some().then_some(compared.len()));
        compared.extend(pair);
    }
    let joint = compare(&compared, &LEVELS);
    let earlier = settings.earlier.as_ref().filter(|e| single && !same && e.are_enough());
    let narrower = earlier.filter(|e| e.noise.bound < settings.run_noise);
    let allowance = match narrower {
        Some(e) => e.noise.bound,
        None if single && !same => settings.run_noise,
        None => 0.0,
    };
    let judge = Judge { joint: &joint, pairs: &compared, comparable, same, allowance, margin: settings.margin, ttft };
    let (mut out, mut drawn) = (Vec::new(), Vec::new());
    for (row, at) in rows.iter().zip(&pair_of) {
        let into = if row.key.drawn_alone() { &mut drawn } else { &mut out };
        into.push(judge.delta(row, *at, edges));
    }
    let seen = |id: &str| rows.iter().any(|r| r.key.metric == id);
    out.extend(per_run(base, candidate, &seen, &Once { same, comparable, allowance }));
    let method = Method {
        confidence: CONFIDENCE,
        comparisons: compared.iter().filter(|p| p.tested).count() as u64,
        judged: out.iter().filter(|d| d.is_judged()).count() as u64,
        stretches: n as u64,
        block: joint.length as u64,
        blocks: n.checked_div(joint.length.max(1)).unwrap_or(0) as u64,
        margin: settings.margin,
        run_noise: allowance,
        run_noise_from: match (same, single) {
            (true, _) => "one recording on both sides".to_string(),
            (false, true) => match earlier {
                Some(e) if narrower.is_some() => format!("{} earlier repeats beside the base", e.names.len()),
                _ => settings.run_noise_from.clone(),
            },
            (false, false) => {
                format!("measured: {} runs against {}", base.runs.len(), candidate.runs.len())
            }
        },
        earlier_repeats: earlier.map(|e| EarlierRepeats {
            runs: e.names.clone(),
            spread: e.noise.spread,
            bound: e.noise.bound,
            used: narrower.is_some(),
            instead_of: settings.run_noise,
        }),
        run_spread: if same { None } else { run_spread(&rows) },
        runs: [base.runs.len() as u64, candidate.runs.len() as u64],
    };
    Decided { deltas: out, drawn, method }
}

fn rows(base: &Side, candidate: &Side, (buckets, stretches): (usize, usize), drawn: &[f64]) -> Vec<Row> {
    let all =
        |side: &Side| -> Vec<Vec<Found>> { side.runs.iter().map(|r| figures(r, buckets, stretches, drawn)).collect() };
    let (mut a, mut b) = (all(base), all(candidate));
    let keys: Vec<Key> = a.first().into_iter().flatten().map(|f| f.key.clone()).collect();
    let take = |runs: &mut Vec<Vec<Found>>, key: &Key| -> Option<Vec<Found>> {
        runs.iter_mut().map(|run| Some(run.swap_remove(run.iter().position(|f| f.key == *key)?))).collect()
    };
    let both = keys.into_iter().filter_map(|key| {
        let (base, candidate) = (take(&mut a, &key)?, take(&mut b, &key)?);
        Some(Row { key, base, candidate })
    });
    both.collect()
}

fn scale(row: &Row) -> Scale {
    let positive = row.base.iter().chain(&row.candidate).all(|f| f.value > 0.0);
    if positive && row.key.metric != "failure_rate" { Scale::Ratio } else { Scale::Difference }
}

/// The mean of the runs on the scale of comparison, back in the unit.
fn value(found: &[Found], scale: Scale) -> f64 {
    let mean = found.iter().map(|f| scale.of(f.value)).sum::<f64>() / found.len().max(1) as f64;
    if scale == Scale::Ratio { mean.exp() } else { mean }
}

/// How runs of one side spread: the standard deviation of logarithms, pooled over both sides, the largest over latencies and
/// throughput. `None` of one run a side.
fn run_spread(rows: &[Row]) -> Option<f64> {
    let followed = |r: &&Row| r.key.bucket.is_none() && FIGURES.contains(&(r.key.metric, r.key.stat.as_str()));
    let of = |row: &Row| {
        let values = |found: &[Found]| -> Vec<f64> { found.iter().map(|f| scale(row).of(f.value)).collect() };
        let (a, b) = (values(&row.base), values(&row.candidate));
        let freedom = (a.len() + b.len()).checked_sub(2).filter(|f| *f > 0)?;
        Some(((squares(&a) + squares(&b)) / freedom as f64).sqrt())
    };
    rows.iter().filter(followed).filter(|r| scale(r) == Scale::Ratio).filter_map(of).reduce(f64::max)
}

/// How far shares of failures may lie apart where no request failed, or all did: what is not seen among `n` requests may
/// still have a probability of 3 / n (with 95 %).
fn unseen(delta: &Delta) -> f64 {
    let all_alike = |share: f64| share == 0.0 || share == 1.0;
    match delta.metric {
        "failure_rate" if all_alike(delta.base) && all_alike(delta.candidate) => {
            delta.counts.iter().map(|n| 3.0 / (*n).max(1) as f64).fold(0.0, f64::max)
        }
        _ => 0.0,
    }
}

struct Judge<'a> {
    joint: &'a Joint,
    pairs: &'a [Pair],
    comparable: &'a Comparability,
    same: bool,
    allowance: f64,
    margin: f64,
    /// Mean TTFT of the base.
    ttft: f64,
}

impl Judge<'_> {
    fn delta(&self, row: &Row, at: Option<usize>, edges: &BucketEdges) -> Delta {
        let scale = scale(row);
        let (base, candidate) = (value(&row.base, scale), value(&row.candidate, scale));
        let count = |found: &[Found]| found.iter().map(|f| f.count).sum();
        let bucket =
            |b: usize| DeltaScope::Bucket { lo: edges.0.get(b).copied().unwrap_or(0), hi: edges.0.get(b + 1).copied() };
        let mut delta = Delta {
            metric: row.key.metric,
            stat: row.key.stat.clone(),
            scope: row.key.bucket.map_or(DeltaScope::All, bucket),
            base,
            candidate,
            change: candidate - base,
            change_share: (base != 0.0).then(|| candidate / base - 1.0),
            interval: [None, None],
            interval_share: [None, None],
            within_runs_share: [None, None],
            verdict: DeltaVerdict::Inconclusive,
            reason: None,
            counts: [count(&row.base), count(&row.candidate)],
        };
        if self.same {
            delta.interval = [Some(0.0), Some(0.0)];
            (delta.interval_share, delta.within_runs_share) = (delta.interval, delta.interval);
            delta.verdict = DeltaVerdict::Same;
            delta.reason = Some(Reason::SameRecording);
            return delta;
        }
        let found = at.and_then(|at| Some((self.joint.changes.get(at)?, self.pairs.get(at)?)));
        let Some((change, pair)) = found else {
            let why = row.base.iter().chain(&row.candidate).find_map(|f| f.figure.as_ref().err().copied());
            delta.reason = why.or(Some(Reason::NotInEveryRun));
            return delta;
        };
        let between = self.between_runs(pair);
        let least = between.max(unseen(&delta));
        let low = change.low.min(change.change - least);
        let high = change.high.max(change.change + least);
        let allowed = if scale == Scale::Ratio { self.allowance.ln_1p() } else { self.allowance * base.abs() };
        let margin = match scale {
            Scale::Ratio => self.margin.ln_1p(),
            // Shares are equal within percentage points.
            Scale::Difference if row.key.metric == "failure_rate" => self.margin,
            Scale::Difference => self.margin * base.abs(),
        };
        let (wide_low, wide_high) = (low - allowed, high + allowed);
        let share = |v: f64| match scale {
            Scale::Ratio => Some(v.exp_m1()),
            Scale::Difference => (base != 0.0).then(|| v / base),
        };
        let amount = |v: f64| if scale == Scale::Ratio { base * v.exp_m1() } else { v };
        // What cannot be below 0, nor a share above 1, cannot change by more than that.
        let possible = |v: f64| match scale {
            Scale::Difference if v.is_finite() && row.key.metric == "failure_rate" => v.clamp(-base, 1.0 - base),
            Scale::Difference if v.is_finite() => v.max(-base),
            _ => v,
        };
        delta.interval = [wide_low, wide_high].map(|v| Some(amount(possible(v))).filter(|v| v.is_finite()));
        let shares = |low: f64, high: f64| {
            [low, high]
                .map(|v| share(possible(v)).filter(|v| v.is_finite() && (*v > -1.0 || scale == Scale::Difference)))
        };
        delta.interval_share = shares(wide_low, wide_high);
        delta.within_runs_share = shares(low, high);
        if wide_low.is_infinite() {
            delta.interval[0] = None;
        }
        if row.key.beside_ttft() {
            let nothing = self.margin * self.ttft;
            let inside = |v: f64| amount(v).abs() <= nothing;
            if inside(wide_low) && inside(wide_high) {
                let comparable = self.comparable.comparable();
                let verdict = if comparable { DeltaVerdict::Same } else { DeltaVerdict::Inconclusive };
                (delta.verdict, delta.reason) = (verdict, Some(Reason::Negligible));
                return delta;
            }
            if delta.change.abs() <= nothing {
                (delta.verdict, delta.reason) = (DeltaVerdict::Inconclusive, Some(Reason::Negligible));
                return delta;
            }
        }
        let (inner, outer) = ((low, high), (wide_low, wide_high));
        (delta.verdict, delta.reason) = self.verdict(&row.key, change.drifts, inner, outer, margin);
        delta
    }

    /// How far the noise between runs reaches, where repeats show it: Student's two-sample interval over runs, made wider by
    /// as much as the other comparisons widen the interval inside a run.
    fn between_runs(&self, pair: &Pair) -> f64 {
        let (a, b) = (pair.base.len(), pair.candidate.len());
        let Some(freedom) = (a + b).checked_sub(2).filter(|f| *f > 0) else { return 0.0 };
        let values = |runs: &[Figure]| -> Vec<f64> { runs.iter().map(|f| pair.scale.of(f.value)).collect() };
        let variance = (squares(&values(&pair.base)) + squares(&values(&pair.candidate))) / freedom as f64;
        let many = self.joint.critical.get(pair.family).copied().unwrap_or(NORMAL) / NORMAL;
        (variance * (1.0 / a as f64 + 1.0 / b as f64)).sqrt() * student(freedom) * many.max(1.0)
    }

    fn verdict(
        &self,
        key: &Key,
        drifts: bool,
        inner: (f64, f64),
        (low, high): (f64, f64),
        margin: f64,
    ) -> (DeltaVerdict, Option<Reason>) {
        let inconclusive = |why| (DeltaVerdict::Inconclusive, Some(why));
        let of_failures = key.metric == "failure_rate" && self.comparable.lacks_answers_alone();
        let judged = self.comparable.comparable() || of_failures;
        if low >= -margin && high <= margin {
            return if judged { (DeltaVerdict::Same, None) } else { inconclusive(Reason::NotComparable) };
        }
        if low <= 0.0 && high >= 0.0 {
            return inconclusive(match () {
                () if inner.0 > 0.0 || inner.1 < 0.0 => Reason::RunNoise,
                () if drifts => Reason::Drift,
                () if low.is_infinite() || high.is_infinite() => Reason::NotBounded,
                () => Reason::WithinRun,
            });
        }
        if !judged {
            return inconclusive(Reason::NotComparable);
        }
        match (key.better(), low > 0.0) {
            (Better::Neither, _) => (DeltaVerdict::Different, None),
            (Better::Lower, true) | (Better::Higher, false) => (DeltaVerdict::Worse, None),
            _ if self.comparable.failures_differ => inconclusive(Reason::FailuresDiffer),
            _ => (DeltaVerdict::Better, None),
        }
    }
}
