//! Gaps of a recording without send times, where nothing says what others did meanwhile.
//!
//! What remains is the length of a gap and what came after it. Nothing here is said with more confidence than 0.6.

use super::StallClass::{Jitter, Preemption, PrefillInterference};
use super::activity::Progress;
use super::candidate::{Candidate, Pause};
use super::typical::{Histogram, Usual};

/// A gap that counts among the ordinary long ones has more typical gaps than this.
pub(super) const ORDINARY: f64 = 3.0;
/// With so many of them it is known how long they are.
const ENOUGH: f64 = 20.0;
/// That many times the ordinary long gap, or typical gaps, is out of the ordinary.
const OUT_OF_ORDER: f64 = 6.0;
const STEPS: f64 = 30.0;

/// What the gap probably was. `ordinary` counts the run's gaps beyond [`ORDINARY`] typical ones.
pub(super) fn judge(gap: Candidate, usual: &Usual, ordinary: &Histogram) -> Pause {
    let mut pause = Pause::with(gap, usual, Progress { steps: 0.0, others: 0.0 });
    let step = pause.step_ns;
    let length = gap.length_ns() as f64;
    let long = match ordinary.total >= ENOUGH {
        true => OUT_OF_ORDER * ordinary.quantile(0.5),
        false => STEPS * usual.step_ns,
    };
    let limit = long.max(STEPS * step).max(usual.prefill_ns * f64::from(gap.held));
    let (class, confidence, why) = if pause.late_by_itself() {
        (Jitter, 0.5, "late delivery: what was missing came at once after it")
    } else if length > limit {
        let sure = (0.4 + 0.1 * (length / limit).log2()).min(0.6);
        (Preemption, sure, "far above the long pauses of this run; without send times there is no other sign")
    } else {
        (PrefillInterference, 0.4, "a usual long pause of this run; without send times there is no other sign")
    };
    pause.say(class, confidence, why);
    pause
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_out_of_order_is_a_preemption() {
        let usual = Usual { step_ns: 10e6, ..Usual::default() };
        let mut ordinary = Histogram::new();
        (0..20).for_each(|_| ordinary.add(100e6, 1.0));
        let gap = |ms: i64, burst: u32| Candidate {
            request: 0,
            from_ns: 0,
            to_ns: ms * 1_000_000,
            burst,
            held: 0.0,
            merged: 0.0,
        };
        let said = |ms, burst| judge(gap(ms, burst), &usual, &ordinary).verdict.unwrap();
        let class = |ms, burst| said(ms, burst).class;
        assert_eq!(
            [class(100, 0), class(590, 0), class(650, 0)],
            [PrefillInterference, PrefillInterference, Preemption]
        );
        assert_eq!(class(650, 40), Jitter);
        assert!(said(1 << 40, 0).confidence <= 0.6);
    }
}
