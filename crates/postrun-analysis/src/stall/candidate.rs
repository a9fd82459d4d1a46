//! Gaps long enough to ask what they were, and what was measured of each.

use super::activity::{Progress, StepClock};
use super::smoothed::Arrivals;
use super::typical::{CATCH_UP, Usual, merged_tokens};
use super::{Stall, StallClass, Trigger};
use crate::requests::Requests;

/// A gap is looked at when it is longer than so many steps: fewer cannot be told from a chunk of several tokens …
const STEPS: f64 = 3.0;
/// … and longer than what a busy client adds by itself.
const FLOOR_NS: f64 = 10e6;
/// Gaps that are judged; of more, the longest.
pub(super) const MOST: usize = 200_000;
/// Share of a step that is cut off both ends of a gap.
pub(super) const GUARD: f64 = 0.5;
/// So many late chunks at once are a late delivery, not a resumed decode.
const SURELY_LATE: u32 = 3;
/// From this share of the lost steps on, what came back at once was only delivered late.
const CAUGHT_UP: f64 = 0.5;
const CAUGHT_UP_OF_STEPS: f64 = 0.25;
/// So many others must decode for their progress to say anything.
pub(super) const OTHERS: f64 = 0.75;
/// From so many steps of others on, only this request paused: a chunk of three tokens looks like two missed steps.
pub(super) const ALONE: f64 = 2.5;
/// Others that made less than so many steps paused too.
pub(super) const TOGETHER: f64 = 1.5;
/// From so many missed steps on, the count is sure however slowly others ran.
const SURELY_ALONE: f64 = 6.0;
/// Others that made less than this share of the steps there was time for hardly went on.
pub(super) const SLOW_PACE: f64 = 0.4;

/// The shortest gap of a request that is looked at.
pub(super) fn limit_ns(step_ns: f64, bin_ns: i64) -> i64 {
    // A gap that covers few bins shows no progress of others even where there was some.
    (STEPS * step_ns).max(FLOOR_NS).max(4.0 * bin_ns as f64) as i64
}

/// A long gap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub request: u32,
    /// Since the run's origin; since the request's first chunk where send times are missing.
    pub from_ns: i64,
    pub to_ns: i64,
    /// Chunks that came right after it, faster than steps do.
    pub burst: u32,
    /// Tokens that the request held in the KV cache.
    pub held: f32,
    /// Tokens that the request got in one chunk with another, beyond what is usual; 0 where each chunk's are known.
    pub merged: f32,
}

impl Candidate {
    pub(super) fn length_ns(&self) -> i64 {
        self.to_ns.saturating_sub(self.from_ns)
    }

    /// Gap `k` of a request that was sent at `sent_ns`.
    pub(super) fn new(
        requests: &Requests,
        arrivals: &Arrivals<'_>,
        k: usize,
        sent_ns: i64,
        usual: &Usual,
    ) -> Candidate {
        let i = arrivals.request;
        let fast = (CATCH_UP * usual.step(i)) as i64;
        let following = (k + 1..).map_while(|next| arrivals.gap(next));
        let late = following.take_while(|gap| *gap < fast).count().min(u32::MAX as usize) as u32;
        let prompt = requests.prompt_tokens.get(i).copied().flatten().unwrap_or(0);
        let chunks = arrivals.at_ns.len();
        let output = requests.output_tokens.get(i).copied().flatten().map_or(chunks as f64, f64::from);
        let excess = merged_tokens(requests, i) - 2.0 * usual.merged * output;
        let at = |k: usize| sent_ns.saturating_add(arrivals.at_ns.get(k).copied().unwrap_or(0));
        Candidate {
            request: i as u32,
            from_ns: at(k),
            to_ns: at(k + 1),
            burst: late.saturating_add(arrivals.extra_tokens(k + 1)),
            held: (f64::from(prompt) + output * (k + 1) as f64 / chunks as f64) as f32,
            merged: if arrivals.sizes_known() { 0.0 } else { excess.max(0.0) as f32 },
        }
    }
}

/// The longest candidates.
#[derive(Default)]
pub(super) struct Longest {
    kept: Vec<Candidate>,
    /// What is no longer than this has no place any more.
    floor_ns: i64,
}

impl Longest {
    pub(super) fn add(&mut self, candidate: Candidate) {
        if candidate.length_ns() <= self.floor_ns {
            return;
        }
        self.kept.push(candidate);
        if self.kept.len() >= 2 * MOST {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.kept.len() > MOST {
            let order = |c: &Candidate| (std::cmp::Reverse(c.length_ns()), c.from_ns, c.request);
            let (_, last, _) = self.kept.select_nth_unstable_by_key(MOST - 1, order);
            self.floor_ns = last.length_ns();
            self.kept.truncate(MOST);
        }
    }

    /// In the order of their ends: what is looked up for neighbours lies close together.
    pub(super) fn finish(mut self) -> Vec<Candidate> {
        self.cut();
        self.kept.sort_unstable_by_key(|c| (c.to_ns, c.from_ns, c.request));
        self.kept
    }
}

/// What a gap is said to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Verdict {
    pub class: StallClass,
    pub confidence: f64,
    pub why: &'static str,
}

/// A candidate, what was measured of it, and in the end what it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pause {
    pub gap: Candidate,
    pub step_ns: f64,
    /// Steps that others made meanwhile.
    pub steps: f64,
    pub others: f64,
    /// Steps that others made, of those there was time for.
    pub pace: f64,
    /// The missing tokens came all at once after it.
    pub late: bool,
    pub verdict: Option<Verdict>,
    /// Whose prefill it was, where that is known.
    pub held_up_by: Option<Trigger>,
}

impl Pause {
    pub(super) fn measure(gap: Candidate, usual: &Usual, clock: &StepClock) -> Pause {
        let guard = (GUARD * usual.step(gap.request as usize)) as i64;
        Pause::with(gap, usual, clock.progress(gap.from_ns, gap.to_ns, guard))
    }

    pub(super) fn with(gap: Candidate, usual: &Usual, seen: Progress) -> Pause {
        let step_ns = usual.step(gap.request as usize);
        let lost = (gap.length_ns() as f64 / step_ns - 1.0).max(1.0);
        let burst = f64::from(gap.burst);
        let many = burst >= f64::from(SURELY_LATE) + 2.0 * usual.catch_up;
        let missed = if seen.steps >= ALONE { lost.min(seen.steps) } else { lost };
        let late = many && (seen.steps < ALONE || burst >= CAUGHT_UP_OF_STEPS * seen.steps)
            || gap.burst >= 2 && burst >= CAUGHT_UP * missed;
        Pause {
            gap,
            step_ns,
            steps: seen.steps,
            others: seen.others,
            pace: seen.steps / lost,
            late,
            verdict: None,
            held_up_by: None,
        }
    }

    /// Steps missed that were not delivered late.
    pub(super) fn missed(&self) -> f64 {
        self.steps - f64::from(self.gap.burst)
    }

    /// True if the chunks that followed show a late delivery, whatever others did.
    pub(super) fn late_by_itself(&self) -> bool {
        let (steps, burst) = (self.gap.length_ns() as f64 / self.step_ns, f64::from(self.gap.burst));
        self.gap.burst >= SURELY_LATE && burst >= CAUGHT_UP_OF_STEPS * steps
            || self.gap.burst >= 2 && burst >= CAUGHT_UP * (steps - 1.0).max(1.0)
    }

    pub(super) fn guard_ns(&self) -> i64 {
        (GUARD * self.step_ns) as i64
    }

    /// True if others made steps at hardly less than their pace.
    pub(super) fn others_went_on(&self) -> bool {
        !self.late && self.others >= OTHERS && self.steps >= TOGETHER && self.pace >= SLOW_PACE
    }

    /// True if others went on and this request did not.
    pub(super) fn individual(&self) -> bool {
        let missed = self.missed();
        let sure = missed >= SURELY_ALONE || self.pace >= SLOW_PACE;
        !self.late && self.others >= OTHERS && missed >= ALONE && sure
    }

    pub(super) fn is_preemption(&self) -> bool {
        self.verdict.is_some_and(|v| v.class == StallClass::Preemption)
    }

    /// As it is given to others; nothing before it is judged.
    pub(super) fn to_stall(self, timed: bool) -> Option<Stall> {
        let verdict = self.verdict?;
        Some(Stall {
            request: self.gap.request,
            at_ns: timed.then_some(self.gap.from_ns),
            length_ns: self.gap.length_ns(),
            class: verdict.class,
            confidence: verdict.confidence,
            why: verdict.why,
            held_up_by: self.held_up_by,
        })
    }

    pub(super) fn say(&mut self, class: StallClass, confidence: f64, why: &'static str) {
        self.verdict = Some(Verdict { class, confidence: confidence.clamp(0.0, 1.0), why });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_are_kept() {
        let mut longest = Longest::default();
        for i in 0..(3 * MOST as i64) {
            let from_ns = i * 1000;
            let gap = Candidate { request: 0, from_ns, to_ns: from_ns + 1 + i % 500, burst: 0, held: 0.0, merged: 0.0 };
            longest.add(gap);
        }
        let kept = longest.finish();
        assert_eq!(kept.len(), MOST);
        // 1,200 of each length: the longest 166 lengths, and a part of the next.
        assert_eq!(kept.iter().map(Candidate::length_ns).min(), Some(334));
        assert!(kept.windows(2).all(|w| w[0].to_ns <= w[1].to_ns));
    }
}
