//! What TTFT depends on: the prompt's length, the load at the moment of sending, or the server's queue.

use super::rank::{line, median, spearman};
use crate::in_flight::InFlight;
use crate::requests::Requests;
use serde::Serialize;

/// With fewer requests nothing can be told apart.
const FEWEST: usize = 10;

/// How TTFT comes about. Times in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TtftDrivers {
    /// Requests with all the values.
    pub requests: u64,
    /// The fitted quantity: `prefill_ms` where the server recorded it, else `ttft_ms` of the requests sent at low load.
    pub fitted: &'static str,
    /// What a prompt of no length would take.
    pub base_ms: f64,
    /// What a thousand prompt tokens add.
    pub ms_per_1k_tokens: f64,
    /// Share of the sum of all TTFTs that prompt length explains: slope times tokens.
    pub prompt_share: f64,
    /// Share of the sum of all TTFTs that was queueing: recorded, else what exceeds the fit.
    pub queue_share: f64,
    /// The queue share was recorded by the server.
    pub queue_recorded: bool,
    /// Rank correlation of TTFT and prompt tokens.
    pub rho_prompt: f64,
    /// Rank correlation of TTFT and requests in flight at the send; null without send times.
    pub rho_load: Option<f64>,
    /// Rank correlation of the fitted quantity and prompt tokens.
    pub rho_fitted: f64,
    /// Median TTFT of the fifth with the longest prompts.
    pub longest_fifth_ms: f64,
    /// Median TTFT of the fifth with the shortest prompts.
    pub shortest_fifth_ms: f64,
    /// Median prompt of the longest fifth.
    pub longest_fifth_tokens: f64,
    /// Median prompt of the shortest fifth.
    pub shortest_fifth_tokens: f64,
}

/// One request.
struct Row {
    prompt: f64,
    ttft: f64,
    in_flight: Option<f64>,
    queue: f64,
    prefill: f64,
}

pub(crate) fn of(r: &Requests, f: &InFlight) -> Option<TtftDrivers> {
    let rows = rows(r, f)?;
    let prompts: Vec<f64> = rows.iter().map(|r| r.prompt).collect();
    let ttfts: Vec<f64> = rows.iter().map(|r| r.ttft).collect();
    let recorded = rows.iter().filter(|r| r.prefill.is_finite() && r.queue.is_finite()).count() * 10 >= rows.len() * 9;
    let points: Vec<(f64, f64)> = match recorded {
        true => rows.iter().filter(|r| r.prefill.is_finite()).map(|r| (r.prompt, r.prefill)).collect(),
        false => at_low_load(&rows),
    };
    let fit = line(&points);
    let (base, slope) = fit.map_or((median(&mut ttfts.clone())?, 0.0), |l| (l.base, l.slope));
    let all: f64 = ttfts.iter().sum();
    let explained: f64 = rows.iter().map(|r| (slope.max(0.0) * r.prompt).min(r.ttft)).sum();
    let queued: f64 = match recorded {
        true => rows.iter().map(|r| r.queue).filter(|q| q.is_finite()).sum(),
        false => rows.iter().map(|r| (r.ttft - base - slope.max(0.0) * r.prompt).max(0.0)).sum(),
    };
    let loads: Option<Vec<f64>> = rows.iter().map(|r| r.in_flight).collect();
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let (short, long) = fifths(&rows);
    Some(TtftDrivers {
        requests: rows.len() as u64,
        fitted: if recorded { "prefill_ms" } else { "ttft_ms" },
        base_ms: base,
        ms_per_1k_tokens: slope * 1000.0,
        prompt_share: if all > 0.0 { explained / all } else { 0.0 },
        queue_share: if all > 0.0 { (queued / all).min(1.0) } else { 0.0 },
        queue_recorded: recorded,
        rho_prompt: spearman(&prompts, &ttfts),
        rho_load: loads.map(|loads| spearman(&loads, &ttfts)),
        rho_fitted: spearman(&x, &y),
        longest_fifth_ms: long.1,
        shortest_fifth_ms: short.1,
        longest_fifth_tokens: long.0,
        shortest_fifth_tokens: short.0,
    })
}

fn rows(r: &Requests, f: &InFlight) -> Option<Vec<Row>> {
    let none = Vec::new();
    let (queue, prefill) = (r.metric("queue_ms").unwrap_or(&none), r.metric("prefill_ms").unwrap_or(&none));
    let ms = |list: &[f64], i: usize| list.get(i).map_or(f64::NAN, |ns| ns / 1e6);
    let row = |i: usize| {
        Some(Row {
            prompt: f64::from(r.prompt_tokens[i]?),
            ttft: r.ttft_ns[i]? as f64 / 1e6,
            in_flight: r.sent_ns[i].map(|at| f.level(at) as f64),
            queue: ms(queue, i),
            prefill: ms(prefill, i),
        })
    };
    let rows: Vec<Row> = (0..r.len()).filter(|i| r.counts(*i)).filter_map(row).collect();
    (rows.len() >= FEWEST).then_some(rows)
}

/// Prompt and TTFT of the third that was sent while fewest others were in flight.
fn at_low_load(rows: &[Row]) -> Vec<(f64, f64)> {
    let mut loads: Vec<f64> = rows.iter().filter_map(|r| r.in_flight).collect();
    let limit = super::rank::quantile(&mut loads, 1.0 / 3.0);
    let low = |r: &&Row| limit.is_none_or(|limit| r.in_flight.is_some_and(|n| n <= limit));
    rows.iter().filter(low).map(|r| (r.prompt, r.ttft)).collect()
}

/// Median prompt and TTFT of the fifths with the shortest and the longest prompts.
fn fifths(rows: &[Row]) -> ((f64, f64), (f64, f64)) {
    let mut order: Vec<&Row> = rows.iter().collect();
    order.sort_by(|a, b| a.prompt.total_cmp(&b.prompt));
    let n = (order.len() / 5).max(1);
    let middle = |part: &[&Row]| {
        let of =
            |get: &dyn Fn(&Row) -> f64| median(&mut part.iter().map(|r| get(r)).collect::<Vec<_>>()).unwrap_or(0.0);
        (of(&|r| r.prompt), of(&|r| r.ttft))
    };
    (middle(&order[..n]), middle(&order[order.len() - n..]))
}
