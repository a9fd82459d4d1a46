//! Gaps in which only this request paused: was it preempted?
//!
//! A preempted request is taken off the batch while others go on; it comes back when there is room, has its prompt and
//! answer computed again, and goes on one step at a time. So each sign is weighed: steps that others made, room in the
//! KV cache, others preempted at that time, time enough to compute it again, and the server's own counter. Where the
//! counter is silent, a pause that the run's own unevenness explains is none.

use super::StallClass;
use super::activity::Held;
use super::candidate::{ALONE, GUARD, Pause};
use super::noise::Noise;
use super::scrapes::Scrapes;
use super::typical::Usual;

/// Steps missed: from no sign to a sure one.
const MISSED: (f64, f64) = (1.0, 5.0);
/// Tokens in flight, of the run's most.
const HELD: (f64, f64) = (0.6, 0.9);
/// KV cache usage as the server sampled it.
const USAGE: (f64, f64) = (0.80, 0.95);
/// Others preempted within this time speak for it; two are enough.
const NEIGHBOURS_NS: i64 = 10_000_000_000;
const NEIGHBOURS: usize = 2;
/// Weights: missed steps alone stay below [`SAID`].
const WEIGHTS: (f64, f64, f64) = (0.45, 0.30, 0.25);
/// Half of the time that the prompt would need: the prefix cache may have kept the rest.
const COMPUTED_AGAIN: f64 = 0.5;
/// What speaks against it leaves this much.
const DOUBTED: f64 = 0.4;
/// What the counter leaves that did not move …
const VETOED: f64 = 0.1;
/// … and how much of the doubt remains when it did. A counter that always moves says less.
const CONFIRMED: (f64, f64) = (0.4, 0.6);
/// Share of a pause's doubt with a twin: another request's with the same start and end.
const TWIN: f64 = 0.5;
/// From here on it is called a preemption.
const SAID: f64 = 0.5;

/// Judges every individual pause. `pauses` lie in any order.
pub(super) fn judge(pauses: &mut [Pause], mut held: Held, scrapes: &Scrapes<'_>, usual: &Usual, noise: Noise) {
    let mut alone: Vec<Alone> = Vec::new();
    for (at, pause) in pauses.iter().enumerate().filter(|(_, pause)| pause.individual()) {
        let uneven = scrapes.increments(pause).is_none() && noise.explains(pause);
        let gap = &pause.gap;
        alone.push(Alone { from_ns: gap.from_ns, to_ns: gap.to_ns, request: gap.request, at, uneven });
        held.free(gap.from_ns, gap.to_ns, f64::from(gap.held));
    }
    alone.sort_unstable_by_key(|a| (a.from_ns, a.request));
    let held = held.finish();
    for (at, own) in alone.iter().enumerate() {
        let near = Neighbourhood { alone: &alone, at, own };
        let Some(pause) = pauses.get_mut(own.at) else { continue };
        let fullness = match scrapes.usage(pause) {
            Some(usage) => ramp(usage, USAGE),
            None => ramp(held.at(pause.gap.from_ns), HELD),
        };
        let victims = near.victims() as f64 / NEIGHBOURS as f64;
        let (w_missed, w_full, w_victims) = WEIGHTS;
        let mut sure = ramp(pause.missed(), MISSED) * (w_missed + w_full * fullness + w_victims * victims);
        sure *= doubts(pause, usual);
        let counted = scrapes.increments(pause);
        if near.twin(GUARD * usual.step_ns) && fullness < TWIN && counted.is_none_or(|n| n <= 0.0) {
            sure *= TWIN;
        }
        match counted {
            Some(n) if n > 0.0 => sure = 1.0 - (1.0 - sure) * (CONFIRMED.0 + CONFIRMED.1 * scrapes.busy()),
            Some(_) => sure *= VETOED,
            None if own.uneven => sure *= DOUBTED,
            None => {}
        }
        if sure >= SAID {
            pause.say(StallClass::Preemption, sure, "others went on meanwhile");
        } else if own.uneven {
            pause.say(
                StallClass::Jitter,
                1.0 - sure,
                "others went on, but the run is so uneven that such pauses are to be expected",
            );
        } else {
            pause.say(StallClass::Jitter, 1.0 - sure, "others went on, but little else speaks for a preemption");
        }
    }
}

/// What speaks against a preemption.
fn doubts(pause: &Pause, usual: &Usual) -> f64 {
    let mut left = 1.0;
    let again = COMPUTED_AGAIN * usual.prefill_ns * f64::from(pause.gap.held);
    if (pause.gap.length_ns() as f64) < again + pause.step_ns {
        left *= DOUBTED;
    }
    // The missed steps may all sit in one chunk, if the request has more such tokens than others.
    if pause.missed() - f64::from(pause.gap.merged) < ALONE.max(0.5 * pause.missed()) {
        left *= DOUBTED;
    }
    left
}

/// An individual pause, and its place among all.
struct Alone {
    from_ns: i64,
    to_ns: i64,
    request: u32,
    at: usize,
    /// No counter speaks of it, and the run's unevenness explains it: it speaks for no other.
    uneven: bool,
}

/// Individual pauses in the order of their starts, seen from one of them.
struct Neighbourhood<'a> {
    alone: &'a [Alone],
    at: usize,
    own: &'a Alone,
}

impl Neighbourhood<'_> {
    /// Those of other requests that start within `reach_ns`, from the nearest on, first before and then after.
    fn around(&self, reach_ns: i64) -> impl Iterator<Item = &Alone> {
        let near = move |a: &&Alone| a.from_ns.abs_diff(self.own.from_ns) <= reach_ns.unsigned_abs();
        let (before, after) = self.alone.split_at(self.at.min(self.alone.len()));
        let both = before.iter().rev().take_while(near).chain(after.iter().take_while(near));
        both.filter(|a| a.request != self.own.request)
    }

    /// Other requests that paused by themselves at about the same time, as far as they count.
    fn victims(&self) -> usize {
        let mut seen = self.around(NEIGHBOURS_NS).filter(|a| !a.uneven).map(|a| a.request);
        let Some(first) = seen.next() else { return 0 };
        if seen.any(|request| request != first) { NEIGHBOURS } else { 1 }
    }

    /// Another request paused from the same to the same moment: a stalled replica among several looks like that.
    fn twin(&self, reach_ns: f64) -> bool {
        self.around(reach_ns as i64).any(|a| (a.to_ns.abs_diff(self.own.to_ns) as f64) <= reach_ns)
    }
}

fn ramp(value: f64, (low, high): (f64, f64)) -> f64 {
    ((value - low) / (high - low)).clamp(0.0, 1.0)
}
