//! A sweep: the same test at rising load, and the knee from which on more load costs latency and brings nothing.

use crate::finding::{Effect, Evidence, Finding, Severity};
use crate::measure::{Measure, Server};
use crate::rule_set::RuleSet;
use crate::rules::throughput_at_latency_cost::THROUGHPUT_AT_LATENCY_COST as RULE;
use crate::view::{percent_text, time_text, times_text};
use postrun_analysis::RunAnalysis;

/// Runs of one test by rising load.
#[derive(Debug, Clone)]
pub struct Sweep<'a> {
    /// What rises: `request rate` or `concurrency`.
    pub load: &'static str,
    /// Unit of the load.
    pub load_unit: &'static str,
    /// One a load.
    pub steps: Vec<SweepStep<'a>>,
    /// Unit of the throughput.
    pub throughput_unit: &'static str,
}

/// What is compared from run to run.
#[derive(Debug, Clone, Copy)]
pub struct SweepStep<'a> {
    /// The run.
    pub run: &'a RunAnalysis,
    /// Its load.
    pub load: f64,
    /// Output tokens a second, or requests a second where tokens are not known.
    pub throughput: f64,
    /// P95 of TTFT, in milliseconds.
    pub ttft_p95_ms: Option<f64>,
    /// P95 of the end-to-end time, in milliseconds.
    pub e2e_p95_ms: Option<f64>,
}

/// The load of a run, where it has one of the kind.
type LoadOf<'a> = &'a dyn Fn(&RunAnalysis) -> Option<f64>;

/// A finding about runs of rising load: the first step from which on throughput gains less than a tenth while P95 of TTFT
/// or e2e grows by half. `None` where there is no such step, or where the runs are no sweep: fewer than two different loads,
/// or some by rate and some by concurrency.
pub fn diagnose_sweep(runs: &[RunAnalysis], set: &RuleSet) -> Option<Finding> {
    let limit = |key: &str| {
        let found = RULE.thresholds.iter().find(|t| t.key == key);
        found.map_or(f64::NAN, |t| set.thresholds.get(RULE.id, t))
    };
    let Sweep { load: name, load_unit: unit, steps, .. } = sweep(runs.iter())?;
    for pair in steps.windows(2) {
        let [before, after] = pair else { continue };
        let gain = after.throughput / before.throughput - 1.0;
        let latencies =
            [("ttft_ms", before.ttft_p95_ms, after.ttft_p95_ms), ("e2e_ms", before.e2e_p95_ms, after.e2e_p95_ms)];
        let grown = latencies.into_iter().filter_map(|(metric, before, after)| {
            let (before, after) = before.zip(after).filter(|(before, _)| *before > 0.0)?;
            Some((metric, before, after, after / before - 1.0))
        });
        let worst = grown.max_by(|a, b| a.3.total_cmp(&b.3));
        let Some((metric, low, high, growth)) = worst.filter(|w| gain < limit("gain") && w.3 >= limit("growth")) else {
            continue;
        };
        return Some(finding((name, unit), (before, after), gain, (metric, low, high, growth)));
    }
    None
}

/// Runs by rising load; one a load, the first of those with the same. `None` where they are no sweep.
pub fn sweep<'a>(runs: impl Iterator<Item = &'a RunAnalysis>) -> Option<Sweep<'a>> {
    let runs: Vec<&RunAnalysis> = runs.collect();
    let rates = runs.iter().all(|r| r.manifest.load.request_rate.is_some());
    let limits = runs.iter().all(|r| r.manifest.load.max_concurrency.is_some());
    let of_rate = |r: &RunAnalysis| r.manifest.load.request_rate;
    let of_limit = |r: &RunAnalysis| r.manifest.load.max_concurrency.map(f64::from);
    let differ = |load: &dyn Fn(&RunAnalysis) -> Option<f64>| {
        let mut loads: Vec<f64> = runs.iter().filter_map(|run| load(run)).collect();
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        loads.len() >= 2
    };
    let (name, unit, load): (_, _, LoadOf<'_>) = if rates && differ(&of_rate) {
        ("request rate", "req/s", &of_rate)
    } else if limits && differ(&of_limit) {
        ("concurrency", "requests", &of_limit)
    } else {
        return None;
    };
    let p95 = |run: &RunAnalysis, metric: &str| run.metric(metric)?.stat("p95").map(|ns| ns / 1e6);
    let step = |run: &&'a RunAnalysis| {
        let run = *run;
        let throughput = run_throughput(run).filter(|t| *t > 0.0)?;
        let load = load(run).filter(|l| l.is_finite())?;
        Some(SweepStep { run, load, throughput, ttft_p95_ms: p95(run, "ttft_ms"), e2e_p95_ms: p95(run, "e2e_ms") })
    };
    let mut steps: Vec<SweepStep<'_>> = runs.iter().filter_map(step).collect();
    steps.sort_by(|a, b| a.load.total_cmp(&b.load));
    steps.dedup_by(|later, first| later.load == first.load);
    let tokens = steps.iter().all(|s| s.run.value("output_tokens_per_s").is_some());
    let throughput_unit = if tokens { "output tokens/s" } else { "requests/s" };
    (steps.len() >= 2).then_some(Sweep { load: name, load_unit: unit, steps, throughput_unit })
}

fn run_throughput(run: &RunAnalysis) -> Option<f64> {
    run.value("output_tokens_per_s").or_else(|| run.value("requests_per_s"))
}

fn finding(
    (name, unit): (&str, &'static str),
    (before, after): (&SweepStep<'_>, &SweepStep<'_>),
    gain: f64,
    (metric, low, high, growth): (&'static str, f64, f64, f64),
) -> Finding {
    let manifest = &after.run.manifest;
    let server = Server::named(manifest.server.get("name").map(String::as_str), &manifest.tool.name);
    let label = metric.trim_end_matches("_ms").to_uppercase();
    let summary = format!(
        "the knee lies at a {name} of {} {unit}: from there to {}, throughput changes by {} and P95 of {label} is {} as high",
        before.load,
        after.load,
        signed(gain),
        times_text(growth + 1.0)
    );
    let text = format!("beyond the knee P95 of {label} rises from {} to {}", time_text(low), time_text(high));
    let by_rate = unit == "req/s";
    let first = if by_rate { Measure::LowerRate } else { Measure::LowerConcurrency };
    let throughput = Evidence::new("output_tokens_per_s", "value", after.throughput, "tokens/s");
    let mut out = Finding::new(
        Severity::Warning,
        summary,
        throughput.against(before.throughput, &before.run.manifest.label),
        first.on(server),
    )
    .and(Evidence::new(metric, "p95", high, "ms").against(low, &before.run.manifest.label))
    .and(Evidence::new("load", "value", after.load, unit).against(before.load, &before.run.manifest.label))
    .with_effect(Effect { metric, amount: high - low, unit: "ms", share: None, text })
    .scoped(format!("{} against {}", manifest.label, before.run.manifest.label))
    .sure(0.85)
    .weighing(0.7)
    .try_also(
        [Measure::BoundQueue, Measure::SplitOnlineOffline, Measure::BucketByLength, Measure::ScaleOut]
            .map(|m| m.on(server)),
    );
    out.rule = RULE.id.to_string();
    out
}

fn signed(gain: f64) -> String {
    format!("{}{}", if gain < 0.0 { "-" } else { "+" }, percent_text(gain.abs()))
}
