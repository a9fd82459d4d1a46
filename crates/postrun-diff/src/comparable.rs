//! Did both sides answer the same question? Said before any number.
//!
//! A difference of the workload (lengths, arrivals, concurrency) or of the way of counting makes every verdict
//! inconclusive: a change would be that of the question. Different failure rates let no improvement stand. What was
//! changed on purpose, as a rule (model, server, settings), and what only weakens the comparison is named and decides nothing.

use crate::side::{Side, SideRun};
use postrun_analysis::{RunAnalysis, Samples};
use postrun_schema::{IssueCode, Manifest};
use serde::Serialize;

/// Means of lengths and rates that differ by more are another workload.
const ANOTHER: f64 = 0.1;
/// So many standard errors are more than chance.
const BY_CHANCE: f64 = 3.0;
/// Rates asked for are exact.
const ANOTHER_RATE: f64 = 0.02;
/// Percentage points of failures that matter.
const FAILURES: f64 = 0.01;
/// Lengths of measurement that differ by more are named.
const DURATION: f64 = 1.5;

/// How much a difference matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Another question: no verdict on the whole run.
    Blocks,
    /// No improvement is claimed.
    Warns,
    /// Named.
    Notes,
}

/// One difference between the sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// `prompt_tokens`, `request_rate`, `failure_rate` …, or a setting of the server.
    pub what: String,
    /// How much it matters.
    pub weight: Weight,
    /// In the base.
    pub base: String,
    /// In the candidate.
    pub candidate: String,
    /// One sentence.
    pub text: String,
}

/// Whether the sides can be compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparability {
    /// The gravest first.
    pub differences: Vec<Difference>,
    /// Other shares of requests failed.
    pub failures_differ: bool,
}

impl Comparability {
    /// True where all that stands against verdicts is that a side has no answers: that more failed is one all the same.
    pub(crate) fn lacks_answers_alone(&self) -> bool {
        let mut blocks = self.differences.iter().filter(|d| d.weight == Weight::Blocks).peekable();
        blocks.peek().is_some() && blocks.all(|d| d.what == "answers")
    }

    /// True where verdicts can be given.
    pub fn comparable(&self) -> bool {
        !self.differences.iter().any(|d| d.weight == Weight::Blocks)
    }
}

/// Compares what was asked.
pub(crate) fn comparability(base: &Side, candidate: &Side) -> Comparability {
    let mut out = Comparability::default();
    let (Some(a), Some(b)) = (base.runs.first(), candidate.runs.first()) else { return out };
    let d = &mut out.differences;
    repeats(d, base, candidate);
    numbers(d, base, candidate);
    load(d, a, b);
    counting(d, &a.run, &b.run);
    setting(d, &a.run.manifest, &b.run.manifest);
    let (fa, fb) = (base.failure_rate(), candidate.failure_rate());
    out.failures_differ = (fa - fb).abs() > FAILURES;
    if out.failures_differ {
        let text = "latencies are those of other shares of the requests: no improvement is claimed".to_string();
        push(d, "failure_rate", Weight::Warns, (percent(fa), percent(fb)), text);
    }
    d.sort_by_key(|x| x.weight);
    out
}

/// Of one recording on both sides: no difference, and one note where it has no answers.
pub(crate) fn of_one_recording(side: &Side) -> Comparability {
    let mut out = Comparability::default();
    if side.ok() == 0 {
        let text = "no request was answered: of latencies nothing can be said".to_string();
        push(&mut out.differences, "answers", Weight::Notes, ("0".to_string(), "0".to_string()), text);
    }
    out
}

/// Repeats of one side that are none.
fn repeats(out: &mut Vec<Difference>, base: &Side, candidate: &Side) {
    for (side, who) in [(base, "base"), (candidate, "candidate")] {
        let Some((first, others)) = side.runs.split_first() else { continue };
        for other in others {
            let mut between = Vec::new();
            load(&mut between, first, other);
            counting(&mut between, &first.run, &other.run);
            for d in between.into_iter().filter(|d| d.weight == Weight::Blocks) {
                let (x, y) = (&first.run.manifest.label, &other.run.manifest.label);
                let text = format!("{x} and {y} are no repeats of the {who}: {}", d.text);
                push(out, "repeats", Weight::Blocks, (d.base, d.candidate), text);
            }
        }
    }
}

fn push(out: &mut Vec<Difference>, what: &str, weight: Weight, (base, candidate): (String, String), text: String) {
    out.push(Difference { what: what.to_string(), weight, base, candidate, text });
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// One digit after the point where there is need for it.
fn short(v: f64) -> String {
    if v.fract().abs() < 0.05 { format!("{v:.0}") } else { format!("{v:.1}") }
}

/// True where `a` and `b` differ by more than this share of the larger.
pub(crate) fn differ(a: f64, b: f64, by: f64) -> bool {
    (a - b).abs() > by * a.abs().max(b.abs())
}

/// Mean, and standard error of the mean, of what all runs of a side recorded of their answered requests.
fn mean_of(side: &Side, column: impl Fn(&Samples) -> &Vec<Option<u32>>) -> Option<(f64, f64)> {
    let answered = |s: &Samples| -> Vec<f64> {
        column(s).iter().zip(&s.ok).filter(|(_, ok)| **ok).filter_map(|(v, _)| v.map(f64::from)).collect()
    };
    let values: Vec<f64> = side.runs.iter().flat_map(|r| answered(&r.samples)).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    (n > 0.0).then_some((mean, (variance / n).sqrt()))
}

fn numbers(out: &mut Vec<Difference>, base: &Side, candidate: &Side) {
    type Column = fn(&Samples) -> &Vec<Option<u32>>;
    let lengths: [(&str, &str, Column); 2] = [
        ("prompt_tokens", "prompts are of another length", |s| &s.prompt_tokens),
        ("output_tokens", "answers are of another length", |s| &s.output_tokens),
    ];
    for (what, text, column) in lengths {
        let (Some((a, error_a)), Some((b, error_b))) = (mean_of(base, column), mean_of(candidate, column)) else {
            continue;
        };
        // Lengths drawn anew for each run differ a little.
        if differ(a, b, ANOTHER) && (a - b).abs() > BY_CHANCE * error_a.hypot(error_b) {
            let words = (format!("mean {}", short(a)), format!("mean {}", short(b)));
            push(out, what, Weight::Blocks, words, text.to_string());
        }
    }
    for (side, who) in [(base, "base"), (candidate, "candidate")] {
        if side.ok() == 0 {
            let text = format!("no request of the {who} was answered");
            push(out, "answers", Weight::Blocks, (base.ok().to_string(), candidate.ok().to_string()), text);
        }
    }
    let seconds = |side: &Side| side.mean(|r| r.run.facts.duration_s);
    if let (Some(a), Some(b)) = (seconds(base), seconds(candidate))
        && a.max(b) > DURATION * a.min(b)
    {
        let words = (format!("{} s", short(a)), format!("{} s", short(b)));
        let text = "one measurement lasted longer: a warm-up weighs less in it, a growing queue more".to_string();
        push(out, "duration", Weight::Notes, words, text);
    }
    let counts = |side: &Side| side.total() / side.runs.len().max(1) as u64;
    let (a, b) = (counts(base), counts(candidate));
    let single = base.runs.len() == 1 && candidate.runs.len() == 1;
    if differ(a as f64, b as f64, ANOTHER) {
        push(
            out,
            "requests",
            Weight::Notes,
            (a.to_string(), b.to_string()),
            format!("one side sent more requests{}", if single { "" } else { " a run" }),
        );
    }
}

fn load(out: &mut Vec<Difference>, a: &SideRun, b: &SideRun) {
    let (x, y) = (&a.run.manifest.load, &b.run.manifest.load);
    let rate = |r: &SideRun| {
        let load = &r.run.manifest.load;
        match load.request_rate {
            Some(rate) => format!("{} {}/s", short(rate), if rate == 1.0 { "request" } else { "requests" }),
            None if load.unbounded => "as fast as allowed".to_string(),
            None => "not recorded".to_string(),
        }
    };
    let another = match (x.request_rate, y.request_rate) {
        (Some(p), Some(q)) => differ(p, q, ANOTHER_RATE),
        (None, None) => x.unbounded != y.unbounded,
        _ => x.unbounded || y.unbounded,
    };
    if another {
        push(out, "request_rate", Weight::Blocks, (rate(a), rate(b)), "requests arrive at another rate".to_string());
    }
    if x.max_concurrency != y.max_concurrency {
        let limit = |v: Option<u32>| v.map_or_else(|| "no limit".to_string(), |v| format!("at most {v}"));
        let words = (limit(x.max_concurrency), limit(y.max_concurrency));
        push(out, "max_concurrency", Weight::Blocks, words, "the client kept another number in flight".to_string());
    }
    if let (Some(p), Some(q)) = (x.burstiness, y.burstiness)
        && differ(p, q, ANOTHER_RATE)
    {
        push(out, "burstiness", Weight::Blocks, (short(p), short(q)), "arrivals are of another shape".to_string());
    }
    if x.request_rate.is_none() && y.request_rate.is_none() && !x.unbounded && !y.unbounded {
        let growth = |r: &SideRun| r.run.evidence.growth.as_ref().map(|g| g.arrivals_per_s);
        let arrivals = |r: &SideRun| growth(r).or_else(|| r.run.value("arrivals_per_s"));
        if let (Some(p), Some(q)) = (arrivals(a), arrivals(b))
            && differ(p, q, ANOTHER)
        {
            let words = (format!("{}/s", short(p)), format!("{}/s", short(q)));
            push(out, "arrivals", Weight::Notes, words, "requests came at another rate".to_string());
        }
    }
    let warm = |r: &SideRun| r.diagnosis.findings.iter().any(|f| f.rule == "warm_up_in_the_numbers");
    if warm(a) != warm(b) {
        let word = |w: bool| if w { "in the figures" } else { "not in the figures" }.to_string();
        let text = "the first requests of one side are start-up work".to_string();
        push(out, "warm_up", Weight::Notes, (word(warm(a)), word(warm(b))), text);
    }
    let window = |r: &SideRun| r.run.window.is_some();
    if window(a) != window(b) {
        let word = |w: bool| if w { "a part" } else { "the whole run" }.to_string();
        push(out, "window", Weight::Blocks, (word(window(a)), word(window(b))), "other parts of the runs".to_string());
    }
}

/// What counts as first token, and who counted tokens.
fn counting(out: &mut Vec<Difference>, a: &RunAnalysis, b: &RunAnalysis) {
    let (convention, a, b) = (a.convention, &a.manifest, &b.manifest);
    let has = |m: &Manifest, code: IssueCode| m.issues.iter().any(|i| i.code == code);
    let codes = [
        (IssueCode::RoleOnlyFirstChunk, "first_token", "one side takes a chunk without a token for the first token"),
        (IssueCode::OutputTokensRequested, "output_count", "one side knows only how many tokens were asked for"),
        (IssueCode::SmoothedGaps, "gaps", "the client of one side spread gaps over tokens"),
        (IssueCode::NotStreamed, "streaming", "one side did not stream its answers"),
    ];
    for (code, what, text) in codes {
        if has(a, code) != has(b, code) {
            let word = |m: &Manifest| if has(m, code) { "yes" } else { "no" }.to_string();
            push(out, what, Weight::Blocks, (word(a), word(b)), text.to_string());
        }
    }
    let lost = |m: &Manifest| {
        let losses: Vec<&str> = m.issues.iter().filter_map(|i| i.code.loss()).collect();
        if losses.is_empty() { "yes".to_string() } else { format!("no: {}", losses.join("; ")) }
    };
    if lost(a) != lost(b) {
        let text = "a recording is not whole: what is compared is what is there".to_string();
        push(out, "whole", Weight::Notes, (lost(a), lost(b)), text);
    }
    if a.tool.name != b.tool.name {
        let whose = convention.title;
        let text = format!(
            "two clients: both are held to the definitions of {whose}; see `postrun explain ttft` for what differs"
        );
        push(out, "tool", Weight::Notes, (a.tool.name.clone(), b.tool.name.clone()), text);
    }
    if a.output_tokens_source != b.output_tokens_source {
        let word = |m: &Manifest| m.output_tokens_source.text().to_string();
        let text = "tokens were counted by different parties".to_string();
        push(out, "token_source", Weight::Notes, (word(a), word(b)), text);
    }
}

/// What is most often changed on purpose.
fn setting(out: &mut Vec<Difference>, a: &Manifest, b: &Manifest) {
    if let (Some(x), Some(y)) = (&a.model, &b.model)
        && x != y
    {
        push(out, "model", Weight::Notes, (x.clone(), y.clone()), "another model".to_string());
    }
    let both = a.server.iter().filter_map(|(key, x)| Some((key, x, b.server.get(key)?)));
    for (key, x, y) in both.filter(|(key, x, y)| x != y && !measured(key)) {
        push(out, key, Weight::Notes, (x.clone(), y.clone()), "of the server".to_string());
    }
}

/// What a server's log counts or times is no setting.
pub(crate) fn measured(key: &str) -> bool {
    key.starts_with("http_") || key.ends_with("_s")
}
