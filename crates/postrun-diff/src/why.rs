//! Where a change of latency comes from: its parts along the phases of a request, and what changed on the server.
//!
//! TTFT is queue + prefill + the rest: network, tokenising, the client. Its mean splits exactly. A percentile is split as the
//! requests around it are (between the percentiles 2.5 below and above): each part is the percentile times the share that the
//! phase has in the time of these requests. So the parts add up to the percentile, and none is below 0 unless the
//! server's phases are longer than what the client saw. Those requests are others on each side: a part may fall while all rises.

use crate::findings::FindingChanges;
use crate::side::{Side, SideRun};
use serde::Serialize;

/// Half the width of the band of requests around a percentile.
const BAND: f64 = 2.5;
/// Fewer requests in the band say nothing.
const FEWEST: usize = 3;
/// A change of a part smaller than this share of the latency is none.
const FLAT: f64 = 0.05;

/// A part of a change, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Part {
    /// `queue`, `prefill`, `decode`, `first_token`, `rest`.
    pub phase: &'static str,
    /// Base.
    pub base: f64,
    /// Candidate.
    pub candidate: f64,
}

impl Part {
    /// Candidate less base.
    pub fn change(&self) -> f64 {
        self.candidate - self.base
    }
}

/// The parts of the change of one statistic of one latency.
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// Metric id.
    pub metric: &'static str,
    /// `mean` or `p95`.
    pub stat: &'static str,
    /// Base, in nanoseconds.
    pub base: f64,
    /// Candidate.
    pub candidate: f64,
    /// They add up to the change.
    pub parts: Vec<Part>,
}

/// Every split that both sides have the columns for.
pub(crate) fn whys(base: &Side, candidate: &Side) -> Vec<Why> {
    let mut out = Vec::new();
    for (metric, phases) in [
        ("ttft_ms", &[("queue", "queue_ms"), ("prefill", "prefill_ms")][..]),
        ("e2e_ms", &[("first_token", "ttft_ms")][..]),
    ] {
        for stat in ["mean", "p95"] {
            out.extend(why(metric, stat, phases, base, candidate));
        }
    }
    out
}

fn column<'a>(run: &'a SideRun, id: &str) -> Option<&'a [f64]> {
    run.samples.metrics.iter().find(|(name, _)| *name == id).map(|(_, c)| c.as_slice())
}

/// The statistic, and its parts by phase: means, of a percentile in the proportions of the requests around it.
fn means(run: &SideRun, metric: &str, stat: &str, phases: &[(&'static str, &str)]) -> Option<(f64, Vec<f64>)> {
    let whole = column(run, metric)?;
    let columns: Vec<&[f64]> = phases.iter().map(|(_, id)| column(run, id)).collect::<Option<_>>()?;
    let known = |i: &usize| whole[*i].is_finite() && columns.iter().all(|c| c[*i].is_finite());
    let mut rows: Vec<usize> = (0..whole.len()).filter(known).collect();
    let mut value = run.run.metric(metric)?.stat(stat)?;
    if stat == "mean" {
        // Over the requests of which all parts are known.
        value = rows.iter().map(|i| whole[*i]).sum::<f64>() / rows.len() as f64;
    } else {
        let p: f64 = stat.strip_prefix('p')?.parse().ok()?;
        rows.sort_by(|a, b| whole[*a].total_cmp(&whole[*b]));
        let at = |p: f64| (rows.len() as f64 * p / 100.0) as usize;
        rows = rows.get(at(p - BAND)..rows.len().min(at(p + BAND) + 1))?.to_vec();
    }
    if rows.len() < FEWEST {
        return None;
    }
    let sum = |c: &[f64]| rows.iter().map(|i| c[*i]).sum::<f64>();
    let all = sum(whole);
    (all > 0.0).then(|| (value, columns.iter().map(|c| value * sum(c) / all).collect()))
}

fn why(
    metric: &'static str,
    stat: &'static str,
    phases: &[(&'static str, &str)],
    base: &Side,
    candidate: &Side,
) -> Option<Why> {
    let of = |side: &Side| -> Option<(f64, Vec<f64>)> {
        let all: Vec<(f64, Vec<f64>)> =
            side.runs.iter().map(|r| means(r, metric, stat, phases)).collect::<Option<_>>()?;
        let n = all.len() as f64;
        let parts = (0..phases.len()).map(|k| all.iter().map(|(_, p)| p[k]).sum::<f64>() / n).collect();
        Some((all.iter().map(|(v, _)| v).sum::<f64>() / n, parts))
    };
    let ((a, parts_a), (b, parts_b)) = (of(base)?, of(candidate)?);
    let mut parts: Vec<Part> = phases
        .iter()
        .zip(parts_a.iter().zip(&parts_b))
        .map(|((phase, _), (base, candidate))| Part { phase, base: *base, candidate: *candidate })
        .collect();
    let rest = |v: f64, parts: &[f64]| v - parts.iter().sum::<f64>();
    let phase = if metric == "e2e_ms" { "decode" } else { "rest" };
    parts.push(Part { phase, base: rest(a, &parts_a), candidate: rest(b, &parts_b) });
    Some(Why { metric, stat, base: a, candidate: b, parts })
}

/// A count, of which the mean of repeats is seldom whole.
fn count_text(v: f64) -> String {
    if v.fract() == 0.0 { format!("{v:.0}") } else { format!("{v:.2}") }
}

/// What changed on the server, as sentences that follow "since".
pub(crate) fn server_changes(base: &Side, candidate: &Side) -> Vec<String> {
    let mut out = Vec::new();
    let both = |id: &str| Some((base.value(id)?, candidate.value(id)?));
    let moved = |a: f64, b: f64, by: f64| (a - b).abs() > by * a.abs().max(b.abs()) && a != b;
    if let Some((a, b)) = both("preemption_total").filter(|(a, b)| moved(*a, *b, 0.2)) {
        let verb = if b > a { "rose" } else { "fell" };
        out.push(format!("preemptions {verb} from {} to {}", count_text(a), count_text(b)));
    }
    if let Some((a, b)) = both("kv_cache_usage_max").filter(|(a, b)| moved(*a, *b, 0.1)) {
        let verb = if b > a { "rose" } else { "fell" };
        out.push(format!("the peak of KV cache usage {verb} from {:.0} % to {:.0} %", a * 100.0, b * 100.0));
    }
    if let Some((a, b)) = both("waiting_mean").filter(|(a, b)| (a - b).abs() > 0.5) {
        out.push(format!("{b:.1} requests waited on average instead of {a:.1}"));
    }
    if let Some((a, b)) = both("batch_size_seen").filter(|(a, b)| moved(*a, *b, 0.2)) {
        out.push(format!("a token shared its step with {b:.1} requests instead of {a:.1}"));
    }
    out
}

/// True where nothing of queue, preemption and memory moved, and no finding that requests wait is new or gone: then it is how
/// long a step takes.
pub(crate) fn nothing_waits(base: &Side, candidate: &Side, whys: &[Why], findings: &FindingChanges) -> bool {
    let quiet = |id: &str, by: f64| match (base.value(id), candidate.value(id)) {
        (Some(a), Some(b)) => Some((a - b).abs() <= by),
        _ => None,
    };
    let checks = [quiet("preemption_total", 0.5), quiet("kv_cache_usage_max", 0.3), quiet("waiting_mean", 0.5)];
    let queue = whys.iter().find(|w| w.metric == "ttft_ms" && w.stat == "mean");
    let queue_moved = queue.and_then(|w| Some((w, w.parts.iter().find(|p| p.phase == "queue")?)));
    let queue_quiet =
        queue_moved.map(|(w, q)| q.change().abs() <= (FLAT * w.base).max(0.25 * (w.candidate - w.base).abs()));
    let known: Vec<bool> = checks.into_iter().chain([queue_quiet]).flatten().collect();
    known.len() >= 2 && known.iter().all(|k| *k) && !findings.of_waiting()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_counts_is_not_rounded_to_a_count() {
        assert_eq!([0.0, 748.0, 2.0 / 3.0].map(count_text), ["0", "748", "0.67"]);
    }
}
