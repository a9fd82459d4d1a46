//! First requests against the rest: is start-up work in the figures?

use super::rank::{median, quantile};
use crate::requests::Requests;
use serde::Serialize;

const FEWEST: usize = 30;
/// The first requests looked at: one in fifty, three to ten.
const FIRST_SHARE: f64 = 0.02;

/// The first requests of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WarmUp {
    /// Requests looked at.
    pub first: u64,
    /// Their highest TTFT in milliseconds.
    pub first_ttft_ms: f64,
    /// Median TTFT of the rest.
    pub rest_ttft_ms: f64,
    /// P95 of TTFT of the rest.
    pub rest_ttft_p95_ms: f64,
    /// Their median TPOT; null where none has one.
    pub first_tpot_ms: Option<f64>,
    /// Median TPOT of the rest.
    pub rest_tpot_ms: Option<f64>,
    /// P99 of TTFT of all.
    pub ttft_p99_ms: f64,
    /// P99 of TTFT without those that were slow in a row from the start.
    pub ttft_p99_without_ms: f64,
    /// Requests from the start whose TTFT or TPOT lies above the P95 of the rest without a break.
    pub slow_in_a_row: u64,
}

pub(crate) fn of(r: &Requests) -> Option<WarmUp> {
    let mut order: Vec<usize> = (0..r.len()).filter(|i| r.counts(*i) && r.ttft_ns[*i].is_some()).collect();
    order.sort_by_key(|i| (r.sent_ns[*i], *i));
    if order.len() < FEWEST {
        return None;
    }
    let first = ((order.len() as f64 * FIRST_SHARE) as usize).clamp(3, 10);
    let ttft = |i: &usize| r.ttft_ns[*i].map(|ns| ns as f64 / 1e6);
    let tpots = r.metric("tpot_ms");
    let tpot = |i: &usize| tpots.map(|t| t[*i] / 1e6).filter(|v| v.is_finite());
    let (head, rest) = order.split_at(first);
    let values =
        |part: &[usize], get: &dyn Fn(&usize) -> Option<f64>| part.iter().filter_map(get).collect::<Vec<f64>>();
    let limit_ttft = quantile(&mut values(rest, &ttft), 0.95)?;
    let limit_tpot = quantile(&mut values(rest, &tpot), 0.95).unwrap_or(f64::INFINITY);
    let slow = |i: &&usize| ttft(i).is_some_and(|v| v > limit_ttft) || tpot(i).is_some_and(|v| v > limit_tpot);
    let slow_in_a_row = order.iter().take_while(slow).count();
    Some(WarmUp {
        first: first as u64,
        ttft_p99_ms: quantile(&mut values(&order, &ttft), 0.99)?,
        ttft_p99_without_ms: quantile(&mut values(order.get(slow_in_a_row..)?, &ttft), 0.99)?,
        first_ttft_ms: values(head, &ttft).into_iter().fold(0.0, f64::max),
        rest_ttft_ms: median(&mut values(rest, &ttft))?,
        rest_ttft_p95_ms: limit_ttft,
        first_tpot_ms: median(&mut values(head, &tpot)),
        rest_tpot_ms: median(&mut values(rest, &tpot)),
        slow_in_a_row: slow_in_a_row as u64,
    })
}
