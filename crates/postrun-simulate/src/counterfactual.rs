//! Which of several causes is the primary one: measured, not named.
//!
//! # Definition
//! The run is simulated again with one cause taken away ([`Scenario::without`]), from the same seed. The *effect* of the cause
//! is the largest absolute natural logarithm of the figure with it over the figure without it, among nine figures of the
//! recorded run: mean and P95 of TTFT, TPOT, ITL and e2e, and output tokens per second. The cause with the largest effect is the
//! primary one. Effects that differ by less than the logarithm of 1.05 are a tie: then either is.
//!
//! # Why so
//! - The primary cause is the one that is worth most to take away. Nothing else compares causes of different kinds:
//!   the order of names does not, nor how far each lies beyond a threshold of its own.
//! - The figures are those that a load generator prints and its user reads, as the client saw them, answered requests
//!   alone. A cause that only bends a figure counts as much as one that makes users wait: the figure was read either way.
//! - Ratios have no unit, so milliseconds and tokens per second compare; logarithms make a doubling and a halving equal.
//! - The largest, not the sum: figures depend on each other (e2e contains TTFT), and a sum would count one effect several times
//!   and favour causes that touch much over causes that ruin one thing.
//! - Mean and P95: the typical and the bad. P99 of the smaller runs is a single request.
//! - Taken away from the run with both, not added to one with none: whoever reads the diagnosis has the run with both.
//! - Five per cent are within what two recordings of the same thing differ by.

use crate::cause::Cause;
use crate::error::Result;
use crate::run::{RequestRecord, Run};
use crate::scenario::Scenario;
use crate::simulator::simulate;
use crate::stats::{mean, percentile, ratio, sorted};
use serde::Serialize;

/// What taking one cause away does to the figures of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effect {
    /// The cause that was taken away.
    pub cause: Cause,
    /// Natural logarithm of the figure with the cause over that without it, of the figure that changes most.
    pub log_ratio: f64,
    /// That figure.
    pub figure: &'static str,
}

/// Effects that differ by less are a tie: the logarithm of 1.05.
const TIE: f64 = 0.048_790_164_169_432;

const NS_PER_S: f64 = 1e9;

/// The effect of each cause that the scenario of `run` names, in the order in which it names them.
pub fn effects(run: &Run, ordinary: &Scenario) -> Result<Vec<Effect>> {
    let with = figures(run);
    let of = |cause: &Cause| {
        let without = figures(&simulate(&run.scenario.without(*cause, ordinary))?);
        Ok(largest(*cause, &with, &without))
    };
    run.scenario.causes.iter().map(of).collect()
}

/// The causes that count as primary, that with the largest effect first: one, or several that tie.
pub fn primary(effects: &[Effect]) -> Vec<Cause> {
    let mut by_size = effects.to_vec();
    by_size.sort_by(|a, b| b.log_ratio.abs().total_cmp(&a.log_ratio.abs()));
    let top = by_size.first().map_or(0.0, |e| e.log_ratio.abs());
    by_size.iter().filter(|e| top - e.log_ratio.abs() < TIE).map(|e| e.cause).collect()
}

type Figures = [(&'static str, f64); 9];

fn figures(run: &Run) -> Figures {
    let ok: Vec<&RequestRecord> = run.requests.iter().filter(|r| r.ok()).collect();
    let ttft = sorted(ok.iter().filter_map(|r| r.ttft_ns()).map(|t| t as f64));
    let tpot = sorted(ok.iter().filter_map(|r| r.tpot_ns()));
    let itl = sorted(ok.iter().flat_map(|r| r.gaps_ns()).map(|t| t as f64));
    let e2e = sorted(ok.iter().filter_map(|r| r.e2e_ns()).map(|t| t as f64));
    let tokens: f64 = ok.iter().map(|r| f64::from(r.generated_tokens)).sum();
    [
        ("mean TTFT", mean(&ttft)),
        ("P95 TTFT", percentile(&ttft, 95.0)),
        ("mean TPOT", mean(&tpot)),
        ("P95 TPOT", percentile(&tpot, 95.0)),
        ("mean ITL", mean(&itl)),
        ("P95 ITL", percentile(&itl, 95.0)),
        ("mean e2e", mean(&e2e)),
        ("P95 e2e", percentile(&e2e, 95.0)),
        ("output tokens/s", ratio(tokens * NS_PER_S, run.duration_ns as f64)),
    ]
}

/// A figure that either run lacks changes nothing.
fn largest(cause: Cause, with: &Figures, without: &Figures) -> Effect {
    let none = Effect { cause, log_ratio: 0.0, figure: with[0].0 };
    let both = with.iter().zip(without).filter(|((_, a), (_, b))| *a > 0.0 && *b > 0.0);
    both.fold(none, |most, ((figure, a), (_, b))| {
        let log_ratio = (a / b).ln();
        if log_ratio.abs() > most.log_ratio.abs() { Effect { cause, log_ratio, figure } } else { most }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::scenarios;

    fn effect(cause: Cause, log_ratio: f64) -> Effect {
        Effect { cause, log_ratio, figure: "mean TTFT" }
    }

    #[test]
    fn the_largest_change_counts_whatever_its_direction() {
        let base = [("mean TTFT", 100.0); 9];
        let mut slower = base;
        slower[3].1 = 150.0;
        slower[8] = ("output tokens/s", 40.0);
        let effect = largest(Cause::Saturated, &slower, &base);
        assert_eq!(effect.figure, "output tokens/s");
        assert!((effect.log_ratio - 0.4f64.ln()).abs() < 1e-12);
        // What one of the runs lacks is no change.
        slower[8].1 = 0.0;
        assert!((largest(Cause::Saturated, &slower, &base).log_ratio - 1.5f64.ln()).abs() < 1e-12);
        assert_eq!(largest(Cause::Saturated, &base, &base).log_ratio, 0.0);
    }

    #[test]
    fn effects_within_five_per_cent_tie() {
        let (queue, tail) = (Cause::QueueingDominatesTtft, Cause::HeavyTail);
        assert_eq!(primary(&[effect(queue, 0.5), effect(tail, -0.6)]), [tail]);
        assert_eq!(primary(&[effect(queue, -0.57), effect(tail, 0.6)]), [tail, queue]);
        assert_eq!(primary(&[effect(queue, 0.01), effect(tail, 0.0)]), [queue, tail]);
        assert_eq!(primary(&[]), []);
    }

    #[test]
    fn a_cause_that_is_not_there_has_no_effect() {
        let healthy = scenarios().into_iter().find(|l| l.causes.is_empty()).unwrap();
        let mut scenario = healthy.scenario.clone();
        scenario.causes = vec![Cause::WarmUpInTheNumbers, Cause::FailuresDistortLatency, Cause::MemoryNearLimit];
        let run = simulate(&scenario).unwrap();
        let effects = effects(&run, &healthy.ordinary).unwrap();
        assert_eq!(effects.len(), 3);
        assert!(effects.iter().all(|e| e.log_ratio == 0.0), "{effects:?}");
    }
}
