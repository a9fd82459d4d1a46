//! A comparison for a person: the same question first, then the answer, then every figure.

use crate::diff_mix;
use crate::diff_words::{
    REPEATS, all_the_same, change_amount, change_text, in_points, interval_text, large_text, latency_text,
    narrowed_text, not_narrowed_text, nothing_measured, overall_text, percent_or_more, scope_text, server_text,
    stat_text, unjudged_reasons, unjudged_text, value_text,
};
use crate::quantity::percent;
use crate::section::{Grid, Section};
use crate::wording::metric_label;
use postrun_diff::{
    Breach, Changed, Delta, DeltaScope, DeltaVerdict, Difference, NotJudged, Overall, Reason, RunDiff, SideFacts,
    Weight,
};
use postrun_schema::{counted, grouped};

/// Figures that are always shown; others where something is said of them.
const SHOWN: [&str; 9] = [
    "ttft_ms",
    "tpot_ms",
    "itl_ms",
    "e2e_ms",
    "queue_ms",
    "requests_per_s",
    "output_tokens_per_s",
    "failure_rate",
    "preemption_total",
];
/// Marks behind a verdict, and what they mean.
const MARKS: [(&str, Reason); 8] = [
    ("¹", Reason::RunNoise),
    ("²", Reason::TooFewRequests),
    ("³", Reason::OneValueARun),
    ("⁴", Reason::Negligible),
    ("⁵", Reason::Drift),
    ("⁶", Reason::NotBounded),
    ("⁷", Reason::NoTimes),
    ("⁸", Reason::FailuresDiffer),
];
/// Figures of the buckets that are always shown.
const BY_BUCKET: [&str; 3] = ["ttft_ms", "tpot_ms", "e2e_ms"];

/// A part of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Question,
    Answer,
    Limits,
    Why,
    WholeRun,
    Buckets,
    Mix,
    Findings,
    LeftOut,
    Method,
}

/// Everything of a comparison; `breaches` of the limits that were set, and what could not be checked of them.
pub(crate) fn of_diff(d: &RunDiff, breaches: &[Breach], unchecked: &[NotJudged]) -> Vec<(Part, Section)> {
    let all = [
        (Part::Question, Some(question(d))),
        (Part::Answer, Some(answer(d))),
        (Part::Limits, limits(breaches, unchecked)),
        (Part::Why, why(d)),
        (Part::WholeRun, Some(whole_run(d))),
        (Part::Buckets, buckets(d)),
        (Part::Mix, diff_mix::section(d)),
        (Part::Findings, findings(d)),
        (Part::LeftOut, left_out(d)),
        (Part::Method, Some(method(d))),
    ];
    all.into_iter().filter_map(|(part, section)| Some((part, section?))).collect()
}

/// `a` or `a, b, c`.
fn labels(side: &SideFacts) -> String {
    side.labels.join(", ")
}

fn question(d: &RunDiff) -> Section {
    let mut s = Section::new(title(d));
    s.lines.extend(sides(d));
    let of = |weight: Weight| d.comparable.differences.iter().filter(move |x| x.weight == weight);
    if !d.comparable.comparable() {
        s.lines.push(sameness(d));
    }
    s.lines.extend(of(Weight::Blocks).map(|x| difference(weight_word(x.weight), x)));
    s.lines.extend(of(Weight::Warns).map(|x| difference(weight_word(x.weight), x)));
    if d.comparable.comparable() {
        s.lines.push(sameness(d));
    }
    s.lines.extend(of(Weight::Notes).map(|x| difference(weight_word(x.weight), x)));
    s
}

/// `before → after`.
pub(crate) fn title(d: &RunDiff) -> String {
    format!("{} → {}", labels(&d.base), labels(&d.candidate))
}

/// What each side is, and by whose definitions both are measured.
pub(crate) fn sides(d: &RunDiff) -> Vec<String> {
    let mut out: Vec<String> = [("base", &d.base), ("candidate", &d.candidate)]
        .map(|(name, side)| {
            let runs = if side.labels.len() > 1 { format!("{} runs, ", side.labels.len()) } else { String::new() };
            let ok = if side.workload { "never sent".to_string() } else { format!("{} ok", grouped(side.ok)) };
            format!("{name}: {} ({runs}{}, {ok})", labels(side), counted(side.requests, "request"))
        })
        .to_vec();
    if d.convention.is_another() {
        out.push(format!("metrics by the definitions of {}", d.convention.title));
    }
    out.extend(narrowed_text(d));
    out
}

/// Whether both sides answer the same question.
pub(crate) fn sameness(d: &RunDiff) -> String {
    match &d.paired {
        _ if d.same_recording => "Both sides are the same recording.".to_string(),
        _ if !d.comparable.comparable() => {
            format!("NOT THE SAME QUESTION: no verdict is given on what follows{}.", all_the_same(d))
        }
        Some(p) => format!(
            "The same question: both sent the same {} in the same order (by {}), so they are compared in pairs.",
            counted(p.requests, "request"),
            p.by
        ),
        None if nothing_measured(d) => "The same question, as far as it is recorded.".to_string(),
        None => "The same question: lengths, arrivals and concurrency agree.".to_string(),
    }
}

/// How much a difference matters, in a word.
pub(crate) fn weight_word(weight: Weight) -> &'static str {
    match weight {
        Weight::Blocks => "different",
        Weight::Warns => "warning",
        Weight::Notes => "noted",
    }
}

fn difference(how: &str, d: &Difference) -> String {
    format!("  {how:<10} {}: {} → {} ({})", d.what, d.base, d.candidate, d.text)
}

fn answer(d: &RunDiff) -> Section {
    let mut s = Section::new("Answer");
    s.lines.push(overall_text(d));
    let decided = |v: DeltaVerdict| d.deltas.iter().filter(move |x| x.verdict == v && x.scope == DeltaScope::All);
    for (verdict, name) in [(DeltaVerdict::Worse, "worse"), (DeltaVerdict::Better, "better")] {
        let mut largest: Vec<&Delta> = decided(verdict).filter(|x| SHOWN.contains(&x.metric)).collect();
        let size = |x: &Delta| x.change_share.map_or(f64::INFINITY, f64::abs);
        largest.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let named: Vec<String> = largest.iter().take(3).map(|x| change_text(x)).collect();
        if !named.is_empty() {
            s.lines.push(format!("  {name:<10} {}", named.join("; ")));
        }
    }
    let large = large_text(d);
    s.lines.extend(large.clone());
    let hidden = d.deltas.iter().filter(|x| x.reason == Some(Reason::RunNoise)).count();
    if !d.comparable.comparable() {
        return s;
    }
    if hidden > 0 {
        let moved = if hidden == 1 { "figure moved" } else { "figures moved" };
        let noise = match d.method.run_noise {
            0.0 => "and the noise between the repeats".to_string(),
            share => format!("and the noise between runs ({})", percent(share)),
        };
        let decide = if d.method.runs == [1, 1] {
            format!("Three repeats a side decide it {REPEATS}")
        } else {
            "More repeats decide it".to_string()
        };
        s.lines.push(format!(
            "{hidden} {moved} by more than chance within a run explains, but not by more than chance {noise} together. {decide}."
        ));
    } else if d.overall == Overall::Inconclusive && large.is_none() && !nothing_measured(d) {
        s.lines.push("A longer run, or three repeats a side, would narrow the intervals.".to_string());
    }
    s
}

fn limits(breaches: &[Breach], unchecked: &[NotJudged]) -> Option<Section> {
    if breaches.is_empty() && unchecked.is_empty() {
        return None;
    }
    let mut s = Section::new("Limits");
    s.lines.extend(breaches.iter().map(|b| format!("  exceeded   {}", b.text)));
    s.lines.extend(unchecked.iter().map(|u| format!("  not judged {}", u.text)));
    Some(s)
}

fn why(d: &RunDiff) -> Option<Section> {
    let undecided = d.comparable.comparable() && d.overall == Overall::Inconclusive;
    let title =
        if undecided { "Where the difference lies (not shown to be more than noise)" } else { "Where it comes from" };
    let mut s = Section::new(title);
    s.lines.extend(d.why.iter().filter_map(latency_text));
    if d.method.runs != [1, 1] && !s.lines.is_empty() {
        s.lines.push(
            "These are arithmetic means of the repeats, which add up; those of the table are geometric.".to_string(),
        );
    }
    s.lines.extend(server_text(d));
    (!s.lines.is_empty() && !d.same_recording).then_some(s)
}

/// A verdict in a word.
pub(crate) fn verdict_word(v: DeltaVerdict) -> &'static str {
    match v {
        DeltaVerdict::Better => "better",
        DeltaVerdict::Worse => "worse",
        DeltaVerdict::Different => "different",
        DeltaVerdict::Same => "same",
        DeltaVerdict::Inconclusive => "inconclusive",
    }
}

fn verdict_text(d: &Delta) -> String {
    let word = verdict_word(d.verdict);
    let mark = MARKS.iter().find(|(_, reason)| d.reason == Some(*reason)).map_or("", |(mark, _)| mark);
    format!("{word}{mark}")
}

fn grid() -> Grid {
    let mut grid = Grid::new(&["", "", "base", "candidate", "change", "95 % interval", "verdict"]);
    grid.text_columns = vec![0, 1, 6];
    grid.drop_order = vec![2];
    grid
}

/// Base, candidate, change and interval of a figure.
pub(crate) fn amounts(d: &Delta) -> [String; 4] {
    [value_text(d.metric, d.base), value_text(d.metric, d.candidate), change_amount(d), interval_text(d)]
}

fn row(d: &Delta, label: &str) -> Vec<String> {
    let names = [label.to_string(), stat_text(&d.stat)];
    names.into_iter().chain(amounts(d)).chain([verdict_text(d)]).collect()
}

fn table<'a>(title: &str, shown: impl Iterator<Item = &'a Delta>, label: impl Fn(&Delta) -> String) -> Section {
    let mut s = Section::new(title);
    let mut grid = grid();
    let mut before = String::new();
    let mut reasons = Vec::new();
    let (mut open, mut points) = (false, false);
    for d in shown {
        let name = label(d);
        grid.push(row(d, if name == before { "" } else { &name }));
        before = name;
        points |= in_points(d) && amounts(d)[2..].iter().any(|cell| cell.ends_with(" pp"));
        open |= interval_text(d).contains('?');
        reasons.extend(d.reason);
    }
    if points {
        s.notes.push("pp percentage points".to_string());
    }
    if open && !reasons.contains(&Reason::NotBounded) {
        s.notes.push("? the runs are too short to bound this end".to_string());
    }
    s.table = Some(grid);
    for (mark, reason) in MARKS {
        if reasons.contains(&reason) {
            s.notes.push(format!("{mark} {}", reason.text()));
        }
    }
    s
}

fn decided(d: &Delta) -> bool {
    matches!(d.verdict, DeltaVerdict::Better | DeltaVerdict::Worse | DeltaVerdict::Different)
}

/// True for a figure that the short tables have: one that is always shown, or of which something is said.
pub(crate) fn chosen(d: &Delta) -> bool {
    decided(d)
        || match d.scope {
            DeltaScope::All => SHOWN.contains(&d.metric),
            DeltaScope::Bucket { .. } => BY_BUCKET.contains(&d.metric) && d.stat == "p50",
        }
}

fn whole_run(d: &RunDiff) -> Section {
    let all = || d.deltas.iter().filter(|x| x.scope == DeltaScope::All);
    let shown = |x: &&Delta| chosen(x) || d.base.workload;
    let mut s = table("The whole run, latencies in ms", all().filter(shown), |x| metric_label(x.metric).to_string());
    if d.method.runs != [1, 1] && all().any(|x| x.change_share.is_some()) {
        let text = "Values: of repeats the geometric mean of the runs (the arithmetic one where a run has 0, and of failures and counts).";
        s.notes.push(text.to_string());
    }
    let hidden = all().filter(|x| !shown(x)).count();
    if hidden > 0 {
        let more = if hidden == 1 { "figure is" } else { "figures are" };
        let nothing = if d.comparable.comparable() { "; of none a change is shown" } else { "" };
        s.notes.push(format!("{hidden} more {more} in the JSON{nothing}."));
    }
    s
}

fn buckets(d: &RunDiff) -> Option<Section> {
    let all = || d.deltas.iter().filter(|x| x.scope != DeltaScope::All);
    let shown = |x: &&Delta| chosen(x);
    let label = |x: &Delta| format!("{}, {}", scope_text(x.scope), metric_label(x.metric));
    let s = table("By prompt length (in tokens), latencies in ms", all().filter(shown), label);
    s.table.as_ref().is_some_and(|t| !t.rows.is_empty()).then_some(s)
}

fn findings(d: &RunDiff) -> Option<Section> {
    let mut s = Section::new("Findings");
    let f = &d.findings;
    for (how, list) in [("new", &f.new), ("worse", &f.worse), ("milder", &f.milder), ("gone", &f.gone)] {
        s.lines.extend(list.iter().map(|c: &Changed| format!("  {how:<7} {}: {}", c.rule, c.summary)));
    }
    if d.method.runs != [1, 1] {
        let [a, b] = [&d.base, &d.candidate].map(|side| side.labels.first().map_or("", String::as_str));
        s.notes.push(format!("Of repeats the first run of each side speaks: {a} and {b}."));
    }
    (!s.lines.is_empty()).then_some(s)
}

fn left_out(d: &RunDiff) -> Option<Section> {
    let mut s = Section::new("Left out");
    for (who, lack) in [("base", "the base lacks"), ("candidate", "the candidate lacks"), ("both", "both sides lack")] {
        let ids: Vec<&str> = d.left_out.iter().filter(|l| l.lacks == who).map(|l| l.metric).collect();
        if !ids.is_empty() {
            s.lines.push(format!("{lack}: {}", ids.join(", ")));
        }
    }
    (!s.lines.is_empty()).then_some(s)
}

fn method(d: &RunDiff) -> Section {
    let m = &d.method;
    let mut s = Section::new("How it was decided");
    if d.same_recording {
        s.lines.push("Nothing to decide.".to_string());
        return s;
    }
    if m.comparisons == 0 {
        let why = unjudged_reasons(d).map(|reasons| format!(" ({reasons})")).unwrap_or_default();
        s.lines.push(format!("No figure has an interval, so nothing is decided{why}. See `postrun explain diff`."));
        return s;
    }
    let comparisons = match m.comparisons {
        1 => "1 comparison, whose interval holds".to_string(),
        n => format!("{}, whose intervals hold together", counted(n, "comparison")),
    };
    let noise = match m.run_spread {
        Some(spread) => format!(
            "{}, which spread by up to {}; the intervals hold it, and nothing is added",
            m.run_noise_from,
            percent_or_more(spread)
        ),
        None => format!("{} ({})", percent(m.run_noise), m.run_noise_from),
    };
    s.lines.push(format!(
        "{comparisons} with {}; same: within {}; noise between runs: {noise}. See `postrun explain diff`.",
        percent(m.confidence),
        percent(m.margin)
    ));
    s.lines.extend(not_narrowed_text(d));
    s.lines.extend(unjudged_text(d));
    s.lines.push(format!(
        "Block bootstrap over time: {} of a run in {} of {}.",
        counted(m.stretches, "stretch"),
        counted(m.blocks, "block"),
        m.block
    ));
    s
}
