//! Words and figures of a comparison.

use crate::quantity::{bytes, number, percent, plain, signed_percent};
use crate::wording::metric_label;
use postrun_analysis::METRICS;
use postrun_diff::{Delta, DeltaScope, DeltaVerdict, Overall, Reason, RunDiff, Why};
use postrun_schema::Unit;

/// A latency moved where its statistic did by more than this share.
const MOVED: f64 = 0.02;
/// A part of a change is named from this share of it on.
const NOTABLE: f64 = 0.05;

/// A value of a metric: milliseconds for times, percent for shares.
pub(crate) fn value_text(metric: &str, v: f64) -> String {
    let unit = METRICS.iter().find(|m| m.id == metric).map_or(Unit::None, |m| m.unit);
    match unit {
        Unit::Nanoseconds => number(v / 1e6),
        Unit::Ratio if v < 0.0 => format!("-{}", percent(-v)),
        Unit::Ratio => percent(v),
        Unit::Bytes if v >= 0.0 => bytes(v as u64),
        Unit::Count | Unit::Requests => plain(v),
        _ => number(v),
    }
}

/// `P95`, `mean`, nothing for a value.
pub(crate) fn stat_text(stat: &str) -> String {
    match stat.strip_prefix('p').filter(|p| p.starts_with(|c: char| c.is_ascii_digit())) {
        Some(p) => format!("P{p}"),
        None if stat == "value" => String::new(),
        None => stat.to_string(),
    }
}

/// `0–127`, `≥ 1024` tokens.
pub(crate) fn scope_text(scope: DeltaScope) -> String {
    match scope {
        DeltaScope::All => "all".to_string(),
        DeltaScope::Bucket { lo, hi: Some(hi) } => format!("{lo}–{}", hi.saturating_sub(1)),
        DeltaScope::Bucket { lo, hi: None } => format!("≥ {lo}"),
    }
}

/// Where the change lies: in percent, else in the unit.
pub(crate) fn interval_text(d: &Delta) -> String {
    let shares = d.interval_share;
    let end = |share: Option<f64>, amount: Option<f64>, open: &str| match (share, amount) {
        (Some(share), _) => format!("{:+.1}", share * 100.0),
        (None, Some(amount)) => value_text(d.metric, amount),
        (None, None) => open.to_string(),
    };
    if d.interval == [None, None] && shares == [None, None] {
        return String::new();
    }
    let unit = if shares == [None, None] { "" } else { " %" };
    let low = end(shares[0], d.interval[0].filter(|_| unit.is_empty()), "?");
    let high = end(shares[1], d.interval[1].filter(|_| unit.is_empty()), "?");
    format!("{low} … {high}{unit}")
}

/// `TTFT P95 +310 ms (+42.0 %)`.
pub(crate) fn change_text(d: &Delta) -> String {
    let stat = stat_text(&d.stat);
    let name = [metric_label(d.metric), &stat].join(" ");
    let in_ms = METRICS.iter().any(|m| m.id == d.metric && m.unit == Unit::Nanoseconds);
    let sign = if d.change > 0.0 { "+" } else { "" };
    let unit = if in_ms { " ms" } else { "" };
    let share = d.change_share.map(|s| format!(" ({})", signed_percent(s))).unwrap_or_default();
    format!("{} {sign}{}{unit}{share}", name.trim_end(), value_text(d.metric, d.change))
}

/// Why no more is said of a change, where that can be said.
pub(crate) fn why_not(d: &Delta) -> Option<&'static str> {
    let unbounded = d.verdict == DeltaVerdict::Inconclusive && d.interval.contains(&None);
    d.reason.map(Reason::text).or_else(|| unbounded.then_some("the runs are too short to bound it"))
}

/// All of it in one sentence.
pub(crate) fn overall_text(d: &RunDiff) -> String {
    if !d.comparable.comparable() {
        return "Not comparable: the sides were asked different questions, so nothing is called better or worse."
            .to_string();
    }
    let counted = |v: DeltaVerdict| d.deltas.iter().filter(|x| x.verdict == v).count();
    let (worse, better, all) = (counted(DeltaVerdict::Worse), counted(DeltaVerdict::Better), d.deltas.len());
    match d.overall {
        Overall::Worse => format!("Worse: {worse} of {all} figures are worse beyond all noise, none is better."),
        Overall::Better => format!("Better: {better} of {all} figures are better beyond all noise, none is worse."),
        Overall::Mixed => format!("Mixed: of {all} figures {worse} are worse and {better} better, beyond all noise."),
        Overall::Same if d.same_recording => "Same: it is one recording.".to_string(),
        Overall::Same => {
            format!("Same: every figure of the whole run is shown to lie within {}.", percent(d.method.margin))
        }
        Overall::Inconclusive => {
            "Inconclusive: nothing is shown to be better or worse, nor all of it to be the same.".to_string()
        }
    }
}

/// A latency's change along its phases; nothing where it hardly moved.
pub(crate) fn latency_text(w: &Why) -> Option<String> {
    let change = w.candidate - w.base;
    if change.abs() < MOVED * w.base {
        return None;
    }
    let signed = |ns: f64| format!("{}{} ms", if ns > 0.0 { "+" } else { "" }, number(ns / 1e6));
    let mut parts: Vec<_> = w.parts.iter().filter(|p| p.change().abs() >= NOTABLE * change.abs()).collect();
    parts.sort_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
    let parts: Vec<String> =
        parts.iter().map(|p| format!("{} {}", p.phase.replace('_', " "), signed(p.change()))).collect();
    let stat = stat_text(w.stat);
    Some(format!("{} {stat} {}: {}", metric_label(w.metric), signed(change), parts.join(", ")))
}

/// What changed on the server meanwhile.
pub(crate) fn server_text(d: &RunDiff) -> Option<String> {
    if d.nothing_waits {
        let text = "Neither queueing nor preemptions nor KV cache usage changed: ";
        let moved = d.why.iter().any(|w| (w.candidate - w.base).abs() >= MOVED * w.base);
        return moved.then(|| format!("{text}what changed is how long the work itself takes."));
    }
    (!d.server_changes.is_empty()).then(|| format!("On the server: {}.", d.server_changes.join("; ")))
}
