//! The client's own figures: counts, peaks, means and percentiles over successful requests.

use crate::run::{RequestRecord, Run};
use crate::stats::{deviation, mean, percentile, sorted};

/// Counts over successful requests.
pub(super) struct Figures {
    pub completed: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

impl Figures {
    pub(super) fn of(run: &Run) -> Figures {
        let ok = || run.requests.iter().filter(|r| r.ok());
        Figures {
            completed: ok().count() as u64,
            input_tokens: ok().map(|r| u64::from(r.prompt_tokens)).sum(),
            output_tokens: ok().map(|r| u64::from(r.generated_tokens)).sum(),
        }
    }
}

/// Every figure as `"key": value`.
pub(super) fn stat_lines(run: &Run, figures: &Figures) -> Vec<String> {
    let (chunks, requests) = peaks(run);
    let mut lines = vec![
        format!("\"max_output_tokens_per_s\": {chunks:?}"),
        format!("\"max_concurrent_requests\": {requests}"),
        "\"rtfx\": 0.0".to_string(),
    ];
    if figures.completed > 0 {
        let ok = || run.requests.iter().filter(|r| r.ok());
        let ms = |ns: i64| ns as f64 / 1e6;
        lines.extend(stats("ttft", ok().filter_map(|r| r.ttft_ns()).map(ms)));
        lines.extend(stats("tpot", ok().filter_map(|r| r.tpot_ns()).map(|ns| ns / 1e6)));
        lines.extend(stats("itl", ok().flat_map(|r| r.gaps_ns().map(ms).collect::<Vec<_>>())));
        lines.extend(stats("e2el", ok().filter_map(|r| r.e2e_ns()).map(ms)));
    }
    lines.extend(speculation(run));
    lines
}

fn stats(stem: &str, values: impl Iterator<Item = f64>) -> Vec<String> {
    let values = sorted(values);
    let mut lines = vec![
        format!("\"mean_{stem}_ms\": {:?}", mean(&values)),
        format!("\"median_{stem}_ms\": {:?}", percentile(&values, 50.0)),
        format!("\"std_{stem}_ms\": {:?}", deviation(&values)),
    ];
    for p in [50, 90, 95, 99] {
        lines.push(format!("\"p{p}_{stem}_ms\": {:?}", percentile(&values, f64::from(p))));
    }
    lines
}

/// Most chunks in one second, and most requests that touch one second, counted from the first send.
fn peaks(run: &Run) -> (f64, u64) {
    let ok = || run.requests.iter().filter(|r| r.ok() && !r.chunks.is_empty());
    let Some(zero) = ok().map(|r| r.sent_ns).min() else { return (0.0, 0) };
    let last = ok().map(end).max().unwrap_or(zero);
    let second = |t: i64| ((t - zero) / 1_000_000_000).max(0) as usize;
    let mut chunks = vec![0u64; second(last) + 2];
    let mut requests = vec![0u64; second(last) + 2];
    for record in ok() {
        record.chunks.iter().for_each(|(t, _)| chunks[second(*t)] += 1);
        requests[second(record.sent_ns)..=second(end(record))].iter_mut().for_each(|n| *n += 1);
    }
    let most = |counts: &[u64]| counts.iter().copied().max().unwrap_or(0);
    (most(&chunks) as f64, most(&requests))
}

fn end(record: &RequestRecord) -> i64 {
    record.chunks.last().map_or(record.sent_ns, |(t, _)| *t)
}

fn speculation(run: &Run) -> Vec<String> {
    let c = &run.counters;
    if c.drafts == 0 {
        return Vec::new();
    }
    vec![
        format!("\"spec_decode_acceptance_rate\": {:?}", 100.0 * c.accepted_tokens as f64 / c.draft_tokens as f64),
        format!("\"spec_decode_acceptance_length\": {:?}", 1.0 + c.accepted_tokens as f64 / c.drafts as f64),
        format!("\"spec_decode_num_drafts\": {}", c.drafts),
        format!("\"spec_decode_draft_tokens\": {}", c.draft_tokens),
        format!("\"spec_decode_accepted_tokens\": {}", c.accepted_tokens),
    ]
}
