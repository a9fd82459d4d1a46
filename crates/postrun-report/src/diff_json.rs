//! Comparisons and trends as JSON: `postrun.diff/1`, `postrun.trend/1`. Times are in milliseconds.

use crate::json::Ordered;
use crate::markup::json_text;
use postrun_analysis::METRICS;
use postrun_diff::{
    Breach, Delta, DeltaScope, DeltaVerdict, Difference, FindingChanges, Left, Method, Mix, MixCell, NotJudged,
    NotSplit, Order, Overall, Pairing, Reason, RunDiff, SideFacts, Trend, TrendPoint,
};
use postrun_schema::Unit;
use serde::Serialize;

/// Name and major version of the schema. Within a major version keys are only added.
pub const DIFF_SCHEMA: &str = "postrun.diff/1";
/// The JSON Schema of a comparison.
pub const DIFF_JSON_SCHEMA: &str = include_str!("../schema/postrun.diff-1.schema.json");
/// Name and major version of the schema of a trend.
pub const TREND_SCHEMA: &str = "postrun.trend/1";
/// The JSON Schema of a trend.
pub const TREND_JSON_SCHEMA: &str = include_str!("../schema/postrun.trend-1.schema.json");

#[derive(Serialize)]
struct Diff<'a> {
    schema: &'static str,
    postrun: &'static str,
    base: &'a SideFacts,
    candidate: &'a SideFacts,
    convention: &'static str,
    same_recording: bool,
    comparable: Comparable<'a>,
    paired: Option<&'a Pairing>,
    verdict: Overall,
    large_undecided: Vec<LargeS<'a>>,
    method: &'a Method,
    deltas: Vec<DeltaS<'a>>,
    mix: Ordered<MixS<'a>>,
    not_split: &'a [NotSplit],
    why: WhyS<'a>,
    findings: &'a FindingChanges,
    left_out: &'a [Left],
    distributions: Ordered<Quantiles>,
    limits: Limits<'a>,
}

#[derive(Serialize)]
struct Comparable<'a> {
    comparable: bool,
    failures_differ: bool,
    differences: &'a [Difference],
}

#[derive(Serialize)]
struct LargeS<'a> {
    metric: &'static str,
    stat: &'a str,
    change_pct: Option<f64>,
    reason: Option<Reason>,
}

#[derive(Serialize)]
struct DeltaS<'a> {
    metric: &'static str,
    stat: &'a str,
    scope: Scope,
    unit: &'static str,
    base: f64,
    candidate: f64,
    change: f64,
    change_pct: Option<f64>,
    interval: [Option<f64>; 2],
    interval_pct: [Option<f64>; 2],
    within_runs_pct: [Option<f64>; 2],
    verdict: DeltaVerdict,
    reason: Option<Reason>,
    counts: [u64; 2],
}

/// `"all"`, or the prompt lengths inside.
#[derive(Serialize)]
#[serde(untagged)]
enum Scope {
    All(&'static str),
    Bucket { lo: u32, hi: Option<u32> },
}

#[derive(Serialize)]
struct MixS<'a> {
    base: f64,
    candidate: f64,
    change: f64,
    workload: f64,
    system: f64,
    not_comparable: f64,
    common_share: &'a [f64; 2],
    paradox: bool,
    cells: Vec<CellS<'a>>,
}

#[derive(Serialize)]
struct CellS<'a> {
    prompt_lo: u32,
    prompt_hi: Option<u32>,
    output_lo: u32,
    share: &'a [f64; 2],
    mean: [Option<f64>; 2],
}

#[derive(Serialize)]
struct WhyS<'a> {
    latencies: Vec<LatencyS>,
    server: &'a [String],
    nothing_waits: bool,
}

#[derive(Serialize)]
struct LatencyS {
    metric: &'static str,
    stat: &'static str,
    base: f64,
    candidate: f64,
    change: f64,
    parts: Vec<PartS>,
}

#[derive(Serialize)]
struct PartS {
    phase: &'static str,
    base: f64,
    candidate: f64,
    change: f64,
}

#[derive(Serialize)]
struct Quantiles {
    base: Vec<f64>,
    candidate: Vec<f64>,
}

#[derive(Serialize)]
struct Limits<'a> {
    exceeded: &'a [Breach],
    not_judged: Vec<&'a str>,
    not_recorded: Vec<&'a str>,
}

/// From the unit of a metric to that of the JSON.
fn scale(metric: &str) -> f64 {
    let in_ns = METRICS.iter().any(|m| m.id == metric && m.unit == Unit::Nanoseconds);
    if in_ns { 1e-6 } else { 1.0 }
}

/// A comparison as JSON text that ends in a line break.
pub fn diff_to_json(d: &RunDiff, breaches: &[Breach], unchecked: &[NotJudged]) -> Result<String, serde_json::Error> {
    let limits = |which: &dyn Fn(&NotJudged) -> bool| -> Vec<&str> {
        unchecked.iter().filter(|u| which(u)).map(|u| u.text.as_str()).collect()
    };
    let quantiles = |x: &postrun_diff::Distribution| {
        let by = scale(x.metric);
        let all = |values: &[f64]| values.iter().map(|v| v * by).collect();
        (x.metric.to_string(), Quantiles { base: all(&x.base), candidate: all(&x.candidate) })
    };
    let out = Diff {
        schema: DIFF_SCHEMA,
        postrun: env!("CARGO_PKG_VERSION"),
        base: &d.base,
        candidate: &d.candidate,
        convention: d.convention.id,
        same_recording: d.same_recording,
        comparable: Comparable {
            comparable: d.comparable.comparable(),
            failures_differ: d.comparable.failures_differ,
            differences: &d.comparable.differences,
        },
        paired: d.paired.as_ref(),
        verdict: d.overall,
        large_undecided: d.large_undecided().into_iter().map(large).collect(),
        method: &d.method,
        deltas: d.deltas.iter().map(delta).collect(),
        mix: Ordered(d.mix.iter().map(|m| (m.metric.to_string(), mix(m))).collect()),
        not_split: &d.not_split,
        why: WhyS {
            latencies: d.why.iter().map(latency).collect(),
            server: &d.server_changes,
            nothing_waits: d.nothing_waits,
        },
        findings: &d.findings,
        left_out: &d.left_out,
        distributions: Ordered(d.distributions.iter().map(quantiles).collect()),
        limits: Limits { exceeded: breaches, not_judged: limits(&|_| true), not_recorded: limits(&|u| !u.recorded) },
    };
    json_text(&out)
}

fn large(d: &Delta) -> LargeS<'_> {
    let change_pct = d.change_share.map(|s| s * 100.0);
    LargeS { metric: d.metric, stat: &d.stat, change_pct, reason: d.reason }
}

fn delta(d: &Delta) -> DeltaS<'_> {
    let by = scale(d.metric);
    DeltaS {
        metric: d.metric,
        stat: &d.stat,
        scope: match d.scope {
            DeltaScope::All => Scope::All("all"),
            DeltaScope::Bucket { lo, hi } => Scope::Bucket { lo, hi },
        },
        unit: if by == 1.0 { "" } else { "ms" },
        base: d.base * by,
        candidate: d.candidate * by,
        change: d.change * by,
        change_pct: d.change_share.map(|s| s * 100.0),
        interval: d.interval.map(|v| v.map(|v| v * by)),
        interval_pct: d.interval_share.map(|v| v.map(|v| v * 100.0)),
        within_runs_pct: d.within_runs_share.map(|v| v.map(|v| v * 100.0)),
        verdict: d.verdict,
        reason: d.reason,
        counts: d.counts,
    }
}

fn mix(m: &Mix) -> MixS<'_> {
    let by = scale(m.metric);
    MixS {
        base: m.base * by,
        candidate: m.candidate * by,
        change: (m.candidate - m.base) * by,
        workload: m.workload * by,
        system: m.system * by,
        not_comparable: m.not_comparable * by,
        common_share: &m.common_share,
        paradox: m.paradox,
        cells: m.cells.iter().map(|c| cell(c, by)).collect(),
    }
}

fn cell(c: &MixCell, by: f64) -> CellS<'_> {
    CellS {
        prompt_lo: c.prompt_lo,
        prompt_hi: c.prompt_hi,
        output_lo: c.output_lo,
        share: &c.share,
        mean: c.mean.map(|v| v.map(|v| v * by)),
    }
}

fn latency(w: &postrun_diff::Why) -> LatencyS {
    let by = scale(w.metric);
    let part = |p: &postrun_diff::Part| PartS {
        phase: p.phase,
        base: p.base * by,
        candidate: p.candidate * by,
        change: p.change() * by,
    };
    LatencyS {
        metric: w.metric,
        stat: w.stat,
        base: w.base * by,
        candidate: w.candidate * by,
        change: (w.candidate - w.base) * by,
        parts: w.parts.iter().map(part).collect(),
    }
}

#[derive(Serialize)]
struct TrendS<'a> {
    schema: &'static str,
    postrun: &'static str,
    runs: &'a [String],
    ordered_by: Order,
    series: Vec<SeriesS<'a>>,
}

#[derive(Serialize)]
struct SeriesS<'a> {
    metric: &'static str,
    stat: &'static str,
    unit: &'static str,
    values: Vec<Option<f64>>,
    changes: &'a [TrendPoint],
}

/// A trend as JSON text that ends in a line break.
pub fn trend_to_json(t: &Trend) -> Result<String, serde_json::Error> {
    let series = t.series.iter().map(|s| {
        let by = scale(s.metric);
        SeriesS {
            metric: s.metric,
            stat: s.stat,
            unit: if by == 1.0 { "" } else { "ms" },
            values: s.values.iter().map(|v| v.map(|v| v * by)).collect(),
            changes: &s.changes,
        }
    });
    let out = TrendS {
        schema: TREND_SCHEMA,
        postrun: env!("CARGO_PKG_VERSION"),
        runs: &t.runs,
        ordered_by: t.ordered_by,
        series: series.collect(),
    };
    json_text(&out)
}
