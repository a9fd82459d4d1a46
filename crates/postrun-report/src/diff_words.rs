//! Words and figures of a comparison.

use crate::quantity::{bytes, number, percent, plain, signed_percent};
use crate::wording::metric_label;
use postrun_analysis::METRICS;
use postrun_diff::{Delta, DeltaScope, DeltaVerdict, EarlierRepeats, Overall, Reason, RunDiff, Why};
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

/// Ends of intervals beyond so many percent bound nothing that anyone would believe.
const BEYOND_BELIEF_PCT: f64 = 1e5;

/// A relative change: `+12.3 %`, whole percents from 1000 on, `0` where there is none.
pub(crate) fn share_text(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0".to_string(),
        p if p.abs() >= 999.95 => format!("{p:+.0} %"),
        p if p > -100.0 && p < -99.95 => "<-99.9 %".to_string(),
        _ => signed_percent(share),
    }
}

/// The end of an interval in percent, without the sign.
fn end_text(share: f64) -> String {
    match share * 100.0 {
        p if p > BEYOND_BELIEF_PCT => format!(">+{BEYOND_BELIEF_PCT:.0}"),
        p if p >= 999.95 => format!("{p:+.0}"),
        p if p > -100.0 && p < -99.95 => "<-99.9".to_string(),
        p => format!("{p:+.1}"),
    }
}

/// A change of a share in percentage points, without the unit.
fn points(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0".to_string(),
        p if p.abs() < 0.05 => format!("{p:+.2}"),
        p => format!("{p:+.1}"),
    }
}

/// True of what is told in percentage points: percent of a percentage say little where failures are rare.
pub(crate) fn in_points(d: &Delta) -> bool {
    d.metric == "failure_rate"
}

/// The change itself: relative, or in the unit from 0 on; of failures in percentage points.
pub(crate) fn change_amount(d: &Delta) -> String {
    match d.change_share {
        _ if d.change == 0.0 => "0".to_string(),
        _ if in_points(d) => format!("{} pp", points(d.change)),
        Some(share) => share_text(share),
        None => format!("{}{}", if d.change > 0.0 { "+" } else { "" }, value_text(d.metric, d.change)),
    }
}

/// Where the change lies: in percent, else in the unit; of failures in percentage points.
pub(crate) fn interval_text(d: &Delta) -> String {
    let shares = d.interval_share;
    let end = |share: Option<f64>, amount: Option<f64>, open: &str| match (share, amount) {
        (Some(share), _) => end_text(share),
        (None, Some(amount)) => value_text(d.metric, amount),
        (None, None) => open.to_string(),
    };
    if d.interval == [None, None] && shares == [None, None] {
        return String::new();
    }
    if in_points(d) {
        let [low, high] = d.interval.map(|v| v.map_or("?".to_string(), points));
        return format!("{low} … {high} pp");
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
    if in_points(d) {
        return format!("{} {} percentage points", name.trim_end(), points(d.change));
    }
    let share = d.change_share.map(|s| format!(" ({})", share_text(s))).unwrap_or_default();
    format!("{} {sign}{}{unit}{share}", name.trim_end(), value_text(d.metric, d.change))
}

/// Why no more is said of a change.
pub(crate) fn why_not(d: &Delta) -> Option<&'static str> {
    d.reason.map(Reason::text)
}

/// What is judged though the sides are not comparable: that more requests failed.
pub(crate) fn all_the_same(d: &RunDiff) -> &'static str {
    let worse = d.deltas.iter().any(|x| x.metric == "failure_rate" && x.verdict == DeltaVerdict::Worse);
    if worse { ", but that more requests failed" } else { "" }
}

/// All of it in one sentence.
pub(crate) fn overall_text(d: &RunDiff) -> String {
    if d.base.workload || d.candidate.workload {
        return "Nothing to judge: the trace of a workload says what was asked, not how it was answered.".to_string();
    }
    if !d.comparable.comparable() {
        return format!(
            "Not comparable: the sides were asked different questions, so nothing is called better or worse{}.",
            all_the_same(d)
        );
    }
    let counted = |v: DeltaVerdict| d.deltas.iter().filter(|x| x.verdict == v).count();
    let (worse, better, all) = (counted(DeltaVerdict::Worse), counted(DeltaVerdict::Better), d.method.judged);
    let of = |n: usize| {
        let figures = if all == 1 { "figure that can be judged" } else { "figures that can be judged" };
        format!("{n} of {all} {figures} {}", if n == 1 { "is" } else { "are" })
    };
    match d.overall {
        Overall::Worse => format!("Worse: {} worse beyond all noise, none is better.", of(worse)),
        Overall::Better => format!("Better: {} better beyond all noise, none is worse.", of(better)),
        Overall::Mixed => format!("Mixed: {} worse and {better} better, beyond all noise.", of(worse)),
        Overall::Same if d.same_recording && d.base.ok == 0 => {
            "Same: it is one recording, in which no request was answered.".to_string()
        }
        Overall::Same if d.same_recording => "Same: it is one recording.".to_string(),
        Overall::Same => {
            format!("Same: every figure of the whole run is shown to lie within {}.", percent(d.method.margin))
        }
        Overall::Inconclusive if nothing_measured(d) => {
            "Nothing to compare: no latency and no rate of single requests is recorded on both sides (a summary has none)."
                .to_string()
        }
        Overall::Inconclusive if !d.large_undecided().is_empty() => {
            "Inconclusive: a change is very large, and still not shown to be more than what these runs may do by chance."
                .to_string()
        }
        Overall::Inconclusive => {
            "Inconclusive: nothing is shown to be better or worse, nor all of it to be the same.".to_string()
        }
    }
}

/// True where the sides share no figure of single requests.
pub(crate) fn nothing_measured(d: &RunDiff) -> bool {
    d.deltas
        .iter()
        .all(|x| !x.is_judged() && (x.reason == Some(Reason::OneValueARun) || x.reason == Some(Reason::NoTimes)))
}

/// What would decide what one run a side cannot.
pub(crate) const REPEATS: &str = "(--base A1 A2 A3 --candidate B1 B2 B3)";

/// Very large changes of which nothing is shown, and why.
pub(crate) fn large_text(d: &RunDiff) -> Option<String> {
    const NAMED: usize = 3;
    let large = d.large_undecided();
    let reason = large.first()?.reason;
    let named = |x: &&Delta| {
        let times = x.change_share.map(|s| format!("{} times", times_text(1.0 + s))).unwrap_or_default();
        let text = change_text(x);
        match text.rfind('(') {
            Some(at) => format!("{}({times}, {}", &text[..at], &text[at + 1..]),
            None => text,
        }
    };
    let named: Vec<String> = large.iter().take(NAMED).map(named).collect();
    let blocks = d.method.blocks;
    let single = d.method.runs == [1, 1];
    let repeats = if single {
        format!("three repeats a side would decide it {REPEATS}")
    } else {
        "more repeats would decide it".to_string()
    };
    let why = match reason {
        Some(Reason::Drift) => {
            format!(
                "such latencies drift over a run, and its {blocks} independent blocks are too few to exclude drift; {repeats}"
            )
        }
        Some(Reason::NotBounded) => {
            format!("{blocks} independent blocks are too few to bound it; a longer run or {repeats}")
        }
        Some(Reason::TooFewRequests) => "fewer than 20 requests decide nothing; send more".to_string(),
        Some(Reason::RunNoise) => {
            format!("chance within a run and the noise between runs may together explain it; {repeats}")
        }
        _ => format!("requests of one run differ by as much; a longer run or {repeats}"),
    };
    Some(format!("Very large, and not decided: {}: {why}.", named.join("; ")))
}

/// `11`, `3.1`, `0.08`: how many times as much.
fn times_text(times: f64) -> String {
    match times {
        t if t >= 9.95 => format!("{t:.0}"),
        t if t >= 1.0 => format!("{t:.1}"),
        t => format!("{t:.2}"),
    }
}

/// How many figures have no interval, by reason; nothing where all have one.
pub(crate) fn unjudged_reasons(d: &RunDiff) -> Option<String> {
    let mut reasons: Vec<(Reason, usize)> = Vec::new();
    for reason in d.deltas.iter().filter(|x| !x.is_judged()).filter_map(|x| x.reason) {
        match reasons.iter_mut().find(|(r, _)| *r == reason) {
            Some((_, n)) => *n += 1,
            None => reasons.push((reason, 1)),
        }
    }
    reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let named: Vec<String> = reasons.iter().map(|(r, n)| format!("{n} {}", unjudged_word(*r))).collect();
    (!named.is_empty()).then(|| named.join(", "))
}

/// How many figures have an interval, and why the others have none; nothing where all have one.
pub(crate) fn unjudged_text(d: &RunDiff) -> Option<String> {
    let (judged, all) = (d.method.judged, d.deltas.len());
    unjudged_reasons(d).map(|reasons| format!("{judged} of {all} figures have an interval. The others: {reasons}."))
}

fn unjudged_word(reason: Reason) -> &'static str {
    match reason {
        Reason::TooFewRequests => "with too few requests",
        Reason::OneValueARun => "of which a run has one value",
        Reason::Drift => "drifting within the runs",
        Reason::NotBounded => "not bounded by runs as short as these",
        Reason::NoTimes => "without times of single requests",
        Reason::NotInEveryRun => "not in every run",
        Reason::Negligible => "next to nothing beside TTFT",
        other => other.text(),
    }
}

/// At most so many repeats are named.
const NAMED_REPEATS: usize = 6;

/// `3 earlier repeats beside the base (a1, a2, a3)`.
fn repeats_text(e: &EarlierRepeats) -> String {
    let more = match e.runs.len().saturating_sub(NAMED_REPEATS) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let named: Vec<&str> = e.runs.iter().take(NAMED_REPEATS).map(String::as_str).collect();
    format!("{} earlier repeats beside the base ({}{more})", e.runs.len(), named.join(", "))
}

/// That the allowance for noise between runs was taken from earlier repeats, unasked; nothing where it was not.
pub(crate) fn narrowed_text(d: &RunDiff) -> Option<String> {
    let e = d.method.earlier_repeats.as_ref().filter(|e| e.used)?;
    Some(format!(
        "noise between runs: {} allowed instead of {}, as {} show: with the base they vary by {} (--run-noise {} takes no notice of them).",
        percent(e.bound),
        percent(e.instead_of),
        repeats_text(e),
        percent(e.spread),
        plain(e.instead_of * 100.0)
    ))
}

/// That earlier repeats were looked at and left the allowance as it was.
pub(crate) fn not_narrowed_text(d: &RunDiff) -> Option<String> {
    let e = d.method.earlier_repeats.as_ref().filter(|e| !e.used)?;
    let bound = if e.bound < 10.0 { percent_or_more(e.bound) } else { "more than 1000 %".to_string() };
    Some(format!(
        "{} vary with the base by {}: so few bound the noise between runs at {bound}, so {} stay allowed.",
        repeats_text(e),
        percent_or_more(e.spread),
        percent(e.instead_of)
    ))
}

/// A share that may be above 1.
pub(crate) fn percent_or_more(share: f64) -> String {
    if share > 1.0 { format!("{:.0} %", share * 100.0) } else { percent(share) }
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
    let parts: Vec<String> = parts.iter().map(|p| format!("{} {}", phase_text(p.phase), signed(p.change()))).collect();
    let stat = stat_text(w.stat);
    let of = if w.stat == "mean" { "" } else { " (as of the requests next to it on each side)" };
    let below = w.parts.iter().any(|p| p.base < -0.01 * w.base || p.candidate < -0.01 * w.candidate);
    let below = if below { " (below 0: the server's phases are longer than what the client saw)" } else { "" };
    Some(format!("{} {stat} {}{of}: {}{below}", metric_label(w.metric), signed(change), parts.join(", ")))
}

/// A part of a latency.
pub(crate) fn phase_text(phase: &str) -> String {
    match phase {
        "rest" => "the rest (network, tokenising, client)".to_string(),
        phase => phase.replace('_', " "),
    }
}

/// What changed on the server meanwhile.
pub(crate) fn server_text(d: &RunDiff) -> Option<String> {
    if d.nothing_waits {
        let text = "Neither queueing nor preemptions nor KV cache usage changed: what differs is how long the work itself takes.";
        return Some(text.to_string());
    }
    (!d.server_changes.is_empty()).then(|| format!("On the server: {}.", d.server_changes.join("; ")))
}
