//! Failed requests against answered ones: are they like the others, or the longest, or all from one moment?

use super::rank::median;
use crate::requests::{Outcome, Requests};
use serde::Serialize;

/// Failed requests, which are in no latency.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failures {
    /// Requests of the measurement.
    pub requests: u64,
    /// Of them failed.
    pub failed: u64,
    /// Failed over all.
    pub share: f64,
    /// Median prompt of the failed ones; null where not recorded.
    pub failed_prompt_tokens: Option<f64>,
    /// Median prompt of the answered ones.
    pub ok_prompt_tokens: Option<f64>,
    /// Largest share of the failed requests that was sent within one tenth of the run; null without send times, or
    /// where all were sent at once.
    pub in_one_tenth: Option<f64>,
    /// The first of them.
    pub named: Vec<u32>,
}

const NAMED: usize = 5;

pub(crate) fn of(r: &Requests) -> Option<Failures> {
    let measured: Vec<usize> = (0..r.len()).filter(|i| r.measured[*i]).collect();
    let failed: Vec<usize> = measured.iter().copied().filter(|i| r.status[*i] == Outcome::Failed).collect();
    if measured.is_empty() {
        return None;
    }
    let prompts = |outcome: Outcome| {
        let of = measured.iter().filter(|i| r.status[**i] == outcome);
        median(&mut of.filter_map(|i| r.prompt_tokens[*i].map(f64::from)).collect::<Vec<_>>())
    };
    Some(Failures {
        requests: measured.len() as u64,
        failed: failed.len() as u64,
        share: failed.len() as f64 / measured.len() as f64,
        failed_prompt_tokens: prompts(Outcome::Failed),
        ok_prompt_tokens: prompts(Outcome::Ok),
        in_one_tenth: in_one_tenth(r, &measured, &failed),
        named: failed.iter().take(NAMED).map(|i| *i as u32).collect(),
    })
}

fn in_one_tenth(r: &Requests, measured: &[usize], failed: &[usize]) -> Option<f64> {
    let sends = |part: &[usize]| {
        let mut sends: Vec<i64> = part.iter().filter_map(|i| r.sent_ns[*i]).collect();
        sends.sort_unstable();
        sends
    };
    let (all, own) = (sends(measured), sends(failed));
    // A run that was sent at once has no tenths.
    let width = Some(all.last()?.saturating_sub(*all.first()?)).filter(|length| *length > 0)? / 10;
    let within =
        |from: i64| own.partition_point(|at| *at <= from.saturating_add(width)) - own.partition_point(|at| *at < from);
    let most = own.iter().map(|from| within(*from)).max()?;
    Some(most as f64 / own.len() as f64)
}
