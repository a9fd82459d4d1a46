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
    /// Of latencies.
    pub percentile: u8,
    /// Latencies, and throughput where it is known, are the clients' own figures.
    pub reported: bool,
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
    /// The sweep's percentile of TTFT, in milliseconds.
    pub ttft_ms: Option<f64>,
    /// The sweep's percentile of the end-to-end time, in milliseconds.
    pub e2e_ms: Option<f64>,
}

/// The load of a run, where it has one of the kind.
type LoadOf = fn(&RunAnalysis) -> Option<f64>;

/// A finding about runs of rising load: the first step from which on throughput gains less than a tenth while P95 of TTFT
/// or e2e grows by half. `None` where there is no such step, or where the runs are no sweep: fewer than two different loads,
/// some by rate and some by concurrency, other models, or lengths that differ by half.
pub fn diagnose_sweep(runs: &[RunAnalysis], set: &RuleSet) -> Option<Finding> {
    let limit = |key: &str| {
        let found = RULE.thresholds.iter().find(|t| t.key == key);
        found.map_or(f64::NAN, |t| set.thresholds.get(RULE.id, t))
    };
    let Sweep { load: name, load_unit: unit, steps, .. } = sweep(runs.iter())?;
    for pair in steps.windows(2) {
        let [before, after] = pair else { continue };
        let gain = after.throughput / before.throughput - 1.0;
        let latencies = [("ttft_ms", before.ttft_ms, after.ttft_ms), ("e2e_ms", before.e2e_ms, after.e2e_ms)];
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

/// Percentiles that clients report, the one that postrun shows first.
const REPORTED: [u8; 4] = [95, 99, 90, 50];

/// Where the figures of a sweep come from.
#[derive(Debug, Clone, Copy)]
enum Figures {
    /// From the records.
    Computed,
    /// From the clients' summaries, which have this percentile.
    Reported(u8),
}

/// Runs by rising load; one a load, the first of those with the same. `None` where they are no sweep.
pub fn sweep<'a>(runs: impl Iterator<Item = &'a RunAnalysis>) -> Option<Sweep<'a>> {
    let runs: Vec<&RunAnalysis> = runs.collect();
    of_figures(&runs, Figures::Computed)
}

/// The same by what the clients reported, for runs of which only summaries are left: by the first percentile that two runs
/// have.
pub fn reported_sweep<'a>(runs: impl Iterator<Item = &'a RunAnalysis>) -> Option<Sweep<'a>> {
    let runs: Vec<&RunAnalysis> = runs.collect();
    let with_latency = |s: &Sweep<'_>| {
        [|s: &SweepStep<'_>| s.ttft_ms, |s: &SweepStep<'_>| s.e2e_ms]
            .iter()
            .any(|get| s.steps.iter().filter(|step| get(step).is_some()).count() >= 2)
    };
    REPORTED.into_iter().filter_map(|p| of_figures(&runs, Figures::Reported(p))).find(with_latency)
}

/// Whether the runs have rising loads at all, whatever is known of them.
pub fn has_loads<'a>(runs: impl Iterator<Item = &'a RunAnalysis>) -> bool {
    loads(&runs.collect::<Vec<_>>()).is_some()
}

/// Mean lengths of the runs of one test differ by no more than this factor.
const SAME_LENGTHS: f64 = 1.5;

/// True where runs may be one test at several loads: one model, and lengths that are alike. What a run does not record
/// speaks for neither.
fn one_test(runs: &[&RunAnalysis]) -> bool {
    let mut models = runs.iter().filter_map(|run| run.manifest.model.as_deref());
    let first = models.next();
    let alike = |metric: &str| {
        let means = || runs.iter().filter_map(|run| Some(run.metric(metric)?.mean)).filter(|mean| *mean > 0.0);
        let (least, most) = (means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max));
        most <= SAME_LENGTHS * least
    };
    models.all(|model| Some(model) == first) && alike("prompt_length") && alike("output_length")
}

/// What rises from run to run, its unit, and how to get it.
fn loads(runs: &[&RunAnalysis]) -> Option<(&'static str, &'static str, LoadOf)> {
    if !one_test(runs) {
        return None;
    }
    let rates = runs.iter().all(|r| r.manifest.load.request_rate.is_some());
    let limits = runs.iter().all(|r| r.manifest.load.max_concurrency.is_some());
    let of_rate: LoadOf = |r| r.manifest.load.request_rate;
    let of_limit: LoadOf = |r| r.manifest.load.max_concurrency.map(f64::from);
    let differ = |load: LoadOf| {
        let mut loads: Vec<f64> = runs.iter().filter_map(|run| load(run)).collect();
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        loads.len() >= 2
    };
    if rates && differ(of_rate) {
        Some(("request rate", "req/s", of_rate))
    } else if limits && differ(of_limit) {
        Some(("concurrency", "requests", of_limit))
    } else {
        None
    }
}

fn of_figures<'a>(runs: &[&'a RunAnalysis], figures: Figures) -> Option<Sweep<'a>> {
    let (name, unit, load) = loads(runs)?;
    let reported = |run: &RunAnalysis, metric: &str, stat: &str| {
        run.reported.iter().find(|f| f.metric == metric && f.stat == stat)?.reported.filter(|v| v.is_finite())
    };
    let latency = |run: &RunAnalysis, metric: &str| match figures {
        Figures::Computed => run.metric(metric)?.stat("p95").map(|ns| ns / 1e6),
        Figures::Reported(p) => reported(run, metric, &format!("p{p}")),
    };
    let rate = |run: &RunAnalysis, metric: &str| match figures {
        Figures::Computed => run.value(metric),
        Figures::Reported(_) => reported(run, metric, "value").or_else(|| run.value(metric)),
    };
    let tokens = runs.iter().all(|run| rate(run, "output_tokens_per_s").is_some());
    let throughput = if tokens { "output_tokens_per_s" } else { "requests_per_s" };
    let step = |run: &&'a RunAnalysis| {
        let run = *run;
        let throughput = rate(run, throughput).filter(|t| *t > 0.0)?;
        let load = load(run).filter(|l| l.is_finite())?;
        Some(SweepStep { run, load, throughput, ttft_ms: latency(run, "ttft_ms"), e2e_ms: latency(run, "e2e_ms") })
    };
    let mut steps: Vec<SweepStep<'_>> = runs.iter().filter_map(step).collect();
    steps.sort_by(|a, b| a.load.total_cmp(&b.load));
    steps.dedup_by(|later, first| later.load == first.load);
    let throughput_unit = if tokens { "output tokens/s" } else { "requests/s" };
    let (percentile, reported) = match figures {
        Figures::Computed => (95, false),
        Figures::Reported(p) => (p, true),
    };
    let sweep = Sweep { load: name, load_unit: unit, steps, throughput_unit, percentile, reported };
    (sweep.steps.len() >= 2).then_some(sweep)
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
    let loads = if before.load == 1.0 && unit == "requests" { "request" } else { unit };
    let summary = format!(
        "the knee lies at a {name} of {} {loads}: from there to {}, throughput changes by {} and P95 of {label} is {} as high",
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
