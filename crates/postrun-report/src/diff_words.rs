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

/// Why no more is said of a change.
pub(crate) fn why_not(d: &Delta) -> Option<&'static str> {
    d.reason.map(Reason::text)
}

/// All of it in one sentence.
pub(crate) fn overall_text(d: &RunDiff) -> String {
    if !d.comparable.comparable() {
        return "Not comparable: the sides were asked different questions, so nothing is called better or worse."
            .to_string();
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
        Overall::Inconclusive if !d.large_undecided().is_empty() => {
            "Inconclusive: a change is very large, and still not shown to be more than what these runs may do by chance."
                .to_string()
        }
        Overall::Inconclusive => {
            "Inconclusive: nothing is shown to be better or worse, nor all of it to be the same.".to_string()
        }
    }
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
        change_text(x).replacen('(', &format!("({times}, "), 1)
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
        Some(Reason::RunNoise) => format!("it lies inside the allowance for noise between runs; {repeats}"),
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

/// How many figures could not be judged, by reason; nothing where all were.
pub(crate) fn unjudged_text(d: &RunDiff) -> Option<String> {
    let mut reasons: Vec<(Reason, usize)> = Vec::new();
    for reason in d.deltas.iter().filter(|x| !x.is_judged()).filter_map(|x| x.reason) {
        match reasons.iter_mut().find(|(r, _)| *r == reason) {
            Some((_, n)) => *n += 1,
            None => reasons.push((reason, 1)),
        }
    }
    reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let named: Vec<String> = reasons.iter().map(|(r, n)| format!("{n} {}", unjudged_word(*r))).collect();
    let all = d.deltas.len();
    (!named.is_empty())
        .then(|| format!("{} of {all} figures can be judged; not: {}.", d.method.judged, named.join(", ")))
}

fn unjudged_word(reason: Reason) -> &'static str {
    match reason {
        Reason::TooFewRequests => "of too few requests",
        Reason::OneValueARun => "of which a run has one value",
        Reason::Drift => "that drift within the runs",
        Reason::NotBounded => "that the runs are too short to bound",
        Reason::NoTimes => "without send times",
        Reason::NotInEveryRun => "that not every run has",
        Reason::Negligible => "next to nothing beside TTFT",
        other => other.text(),
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
    let parts: Vec<String> = parts.iter().map(|p| format!("{} {}", phase_text(p.phase), signed(p.change()))).collect();
    let stat = stat_text(w.stat);
    let of = if w.stat == "mean" { "" } else { " (split as the requests around it, others on each side)" };
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
        let text = "Neither queueing nor preemptions nor KV cache usage changed: ";
        let moved = d.why.iter().any(|w| (w.candidate - w.base).abs() >= MOVED * w.base);
        return moved.then(|| format!("{text}what changed is how long the work itself takes."));
    }
    (!d.server_changes.is_empty()).then(|| format!("On the server: {}.", d.server_changes.join("; ")))
}
