//! Figures of which a run has one value: levels and counts of the server, peaks.
//!
//! How they vary is not known from one value, so nothing is decided on them, with one exception: preemptions are counted over
//! time, and a count's spread can be estimated.

use crate::comparable::{Comparability, differ};
use crate::counts::{CountChange, preemption_change};
use crate::deltas::COUNT_LEVEL;
use crate::result::{Delta, DeltaScope};
use crate::side::Side;
use crate::verdict::{DeltaVerdict, Reason};
use postrun_analysis::{Compute, METRICS};

/// Numbers of requests that differ by more make counts another question.
const ANOTHER: f64 = 0.1;

/// What holds for all of them.
pub(crate) struct Once<'a> {
    /// One recording on both sides.
    pub same: bool,
    pub comparable: &'a Comparability,
    /// For noise between runs, as a share.
    pub allowance: f64,
}

/// Every figure of this kind that both sides have and that `seen` does not know.
pub(crate) fn per_run(base: &Side, candidate: &Side, seen: &dyn Fn(&str) -> bool, once: &Once) -> Vec<Delta> {
    let single = METRICS.iter().filter(|m| matches!(m.compute, Compute::PerRun(_)));
    let delta = |id: &'static str| {
        let (a, b) = (base.value(id)?, candidate.value(id)?);
        let mut delta = Delta {
            metric: id,
            stat: "value".to_string(),
            scope: DeltaScope::All,
            base: a,
            candidate: b,
            change: b - a,
            change_share: (a != 0.0).then(|| b / a - 1.0),
            interval: [None; 2],
            interval_share: [None; 2],
            within_runs_share: [None; 2],
            verdict: DeltaVerdict::Inconclusive,
            reason: Some(Reason::OneValueARun),
            counts: [base.runs.len() as u64, candidate.runs.len() as u64],
        };
        if once.same {
            (delta.interval, delta.interval_share) = ([Some(0.0); 2], [Some(0.0); 2]);
            delta.within_runs_share = [Some(0.0); 2];
            (delta.verdict, delta.reason) = (DeltaVerdict::Same, Some(Reason::SameRecording));
        } else if let Some(change) =
            preemption_change(base, candidate, COUNT_LEVEL).filter(|_| id == "preemption_total")
        {
            let alike = !differ(base.total() as f64, candidate.total() as f64, ANOTHER);
            count(&mut delta, change, once, alike);
        }
        Some(delta)
    };
    // What was only planned did not fail.
    let planned = base.is_workload() || candidate.is_workload();
    single.filter(|m| !(seen(m.id) || planned && m.id == "failure_rate")).filter_map(|m| delta(m.id)).collect()
}

fn count(delta: &mut Delta, c: CountChange, once: &Once, alike: bool) {
    let change = c.candidate - c.base;
    let allowed = c.base.max(c.candidate) * ((1.0 + once.allowance).sqrt() - 1.0);
    let outer = [change - c.reach - allowed, change + c.reach + allowed];
    let amount = |v: f64| (c.base + v).max(0.0).powi(2) - c.base * c.base;
    delta.interval = outer.map(|v| Some(amount(v)));
    let share = |v: f64| (c.base > 0.0).then(|| amount(v) / (c.base * c.base));
    delta.interval_share = outer.map(share);
    delta.within_runs_share = [change - c.reach, change + c.reach].map(share);
    let [low, high] = outer;
    (delta.verdict, delta.reason) = match () {
        () if low <= 0.0 && high >= 0.0 => {
            let beyond = change.abs() > c.reach;
            (DeltaVerdict::Inconclusive, Some(if beyond { Reason::RunNoise } else { Reason::WithinRun }))
        }
        () if !once.comparable.comparable() || !alike => (DeltaVerdict::Inconclusive, Some(Reason::NotComparable)),
        () if low > 0.0 => (DeltaVerdict::Worse, None),
        () if once.comparable.failures_differ => (DeltaVerdict::Inconclusive, Some(Reason::FailuresDiffer)),
        () => (DeltaVerdict::Better, None),
    };
}
