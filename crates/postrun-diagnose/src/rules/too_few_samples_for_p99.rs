//! There are too few samples for P99: it rests on one or two requests.
//!
//! # What it finds
//! How many requests were answered, and up to which percentile they carry.
//!
//! # Why it happens
//! Of a hundred requests one lies above P99. Run again, it is another one.
//!
//! # How it is decided
//! By the number of answered requests against a threshold. The report marks every percentile beyond which fewer than five
//! values are expected, and gives its interval.
//!
//! # What to try
//! More requests; until then, read P50 and P90.
//!
//! # When it is wrong
//! Where nobody looks at P99.

use crate::finding::{Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::RunView;
use postrun_analysis::{FEW_ABOVE, expected_beyond};
use postrun_schema::Doc;

pub(super) static TOO_FEW_SAMPLES_FOR_P99: Rule = Rule {
    id: "too_few_samples_for_p99",
    title: "There are too few samples for P99",
    doc: Doc::from_source(include_str!("too_few_samples_for_p99.rs")),
    thresholds: &[Threshold {
        key: "requests",
        default: 100.0,
        unit: "requests",
        why: "below, P99 lies between the two slowest requests",
    }],
    explained_by: &[],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    if v.run.requests.total == 0 {
        return Verdict::NotChecked(vec!["requests, or the client's count of them".to_string()]);
    }
    let (ok, limit) = (v.ok(), v.limit("requests"));
    let answered = Evidence::new("requests", "ok", ok, "requests").against(limit, "threshold");
    if ok >= limit {
        return Verdict::Clear(vec![answered]);
    }
    let answered_whole = ok.round() as u64;
    let carried = [99.0, 95.0, 90.0, 75.0, 50.0].into_iter().find(|p| expected_beyond(answered_whole, *p) >= FEW_ABOVE);
    let carries = carried.map_or("no percentile".to_string(), |p| format!("P{p:.0} at most"));
    let summary = match ok {
        0.0 => "no request was answered: the run has no percentile of any latency".to_string(),
        1.0 => format!("1 request was answered: every percentile is that one, and the run carries {carries}"),
        _ => format!("{ok:.0} requests were answered: P99 rests on the slowest of them, and the run carries {carries}"),
    };
    Finding::new(Severity::Info, summary, answered, v.advise(Measure::MoreRequests)).weighing(0.15).into()
}
