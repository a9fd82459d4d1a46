//! The server's preemption counter and KV cache usage around a gap.
//!
//! When the counter moves differs: vLLM V1 counts with the victim's next token, at the end of the gap; other servers when
//! the victim is taken off. So both ends are looked at.

use super::StallClass;
use super::candidate::{ALONE, OTHERS, Pause};
use crate::server::tracks::Track;
use std::ops::RangeInclusive;

/// Clocks, scrapes and the server's own bookkeeping agree no better than this.
const LEAST_UNCERTAINTY_NS: i64 = 100_000_000;
/// Steps after its start in which a preemption may be counted.
const START_STEPS: f64 = 3.0;
/// If more of the counter than this lies in no gap, most preemptions are elsewhere and nothing can be handed out.
const UNEXPLAINED: f64 = 0.25;
const SHORT_MISSED: f64 = 0.75;
const SHORT_PACE: f64 = 0.3;
const SHORT_CONFIDENCE: f64 = 0.55;

/// Samples with clocks aligned to the client's.
pub(super) struct Scrapes<'a> {
    counter: Option<&'a [(i64, f64)]>,
    usage: Option<&'a [(i64, f64)]>,
    uncertainty_ns: i64,
    busy: f64,
}

impl<'a> Scrapes<'a> {
    pub(super) fn new(counter: Option<&'a Track>, usage: Option<&'a Track>, uncertainty_ns: i64) -> Scrapes<'a> {
        let usable = |track: Option<&'a Track>| {
            track.filter(|t| t.aligned && t.points.len() > 1).map(|track| track.points.as_slice())
        };
        let counter = usable(counter);
        let moved = counter.map_or(0, |points| points.windows(2).filter(|w| w[1].1 > w[0].1).count());
        Scrapes {
            counter,
            usage: usable(usage),
            uncertainty_ns: uncertainty_ns.max(LEAST_UNCERTAINTY_NS),
            busy: moved as f64 / counter.map_or(1, |points| points.len() - 1) as f64,
        }
    }

    /// Share of the counter's intervals in which it moved.
    pub(super) fn busy(&self) -> f64 {
        self.busy
    }

    /// What the counter gained around the start and the end of a gap; `None` if it was not sampled then.
    pub(super) fn increments(&self, pause: &Pause) -> Option<f64> {
        let points = covering(self.counter?, pause)?;
        let start = intervals(points, self.start(pause))?;
        let step = pause.step_ns as i64;
        let end = pause.gap.to_ns.saturating_sub(step).saturating_sub(self.uncertainty_ns)
            ..=pause.gap.to_ns.saturating_add(self.uncertainty_ns);
        let end = intervals(points, end)?;
        let gained = |j: usize| gain(points, j);
        let at_end: f64 = end.filter(|j| !start.contains(j)).map(gained).sum();
        Some(start.map(gained).sum::<f64>() + at_end)
    }

    /// Highest usage around the start of a gap.
    pub(super) fn usage(&self, pause: &Pause) -> Option<f64> {
        let points = covering(self.usage?, pause)?;
        let touched = intervals(points, self.start(pause))?;
        let around = points.get(touched.start().saturating_sub(1)..=*touched.end())?;
        around.iter().map(|p| p.1).reduce(f64::max)
    }

    /// When a counter that counts at the start of a gap may move.
    fn start(&self, pause: &Pause) -> RangeInclusive<i64> {
        let after = self.uncertainty_ns.saturating_add((START_STEPS * pause.step_ns) as i64);
        pause.gap.from_ns.saturating_sub(self.uncertainty_ns)..=pause.gap.from_ns.saturating_add(after)
    }

    /// Gives what the counter has and no gap explains to short pauses in which others made a step or two.
    pub(super) fn reconcile(&self, pauses: &mut [Pause]) {
        let Some(points) = self.counter else { return };
        let total: f64 = (1..points.len()).map(|j| gain(points, j)).sum();
        let by_end = |p: &Pause| interval(points, p.gap.to_ns);
        let by_start = |p: &Pause| interval(points, p.gap.from_ns.saturating_add(p.step_ns as i64));
        let (starts, ends) = (found(points, pauses, by_start), found(points, pauses, by_end));
        let explained = |found: &[f64]| found.iter().enumerate().map(|(j, n)| n.min(gain(points, j))).sum::<f64>();
        let ends_better = explained(&ends) >= explained(&starts);
        let used = if ends_better { ends } else { starts };
        let mut left: Vec<f64> = used.iter().enumerate().map(|(j, n)| (gain(points, j) - n).max(0.0)).collect();
        if total <= 0.0 || left.iter().sum::<f64>() > UNEXPLAINED * total {
            return;
        }
        let mut short: Vec<usize> = (0..pauses.len()).filter(|i| is_short(&pauses[*i])).collect();
        let order = |p: &Pause| (p.gap.from_ns, p.gap.request);
        short.sort_by(|a, b| {
            let (a, b) = (&pauses[*a], &pauses[*b]);
            b.missed().total_cmp(&a.missed()).then_with(|| order(a).cmp(&order(b)))
        });
        for i in short {
            let at = if ends_better { by_end(&pauses[i]) } else { by_start(&pauses[i]) };
            if let Some(free) = at.and_then(|j| left.get_mut(j)).filter(|free| **free >= 1.0) {
                *free -= 1.0;
                pauses[i].say(StallClass::Preemption, SHORT_CONFIDENCE, "a step missed, and the counter has one more");
            }
        }
    }
}

fn is_short(p: &Pause) -> bool {
    let missed = p.missed();
    p.verdict.is_none()
        && p.others >= OTHERS
        && (SHORT_MISSED..ALONE).contains(&missed)
        && p.pace >= SHORT_PACE
        && p.gap.burst == 0
}

/// Preemptions by interval of the counter.
fn found(points: &[(i64, f64)], pauses: &[Pause], at: impl Fn(&Pause) -> Option<usize>) -> Vec<f64> {
    let mut found = vec![0.0; points.len()];
    for pause in pauses.iter().filter(|p| p.is_preemption()) {
        if let Some(n) = at(pause).and_then(|j| found.get_mut(j)) {
            *n += 1.0;
        }
    }
    found
}

/// The samples, if they cover the gap.
fn covering<'a>(points: &'a [(i64, f64)], pause: &Pause) -> Option<&'a [(i64, f64)]> {
    let covered = points.first()?.0 <= pause.gap.from_ns && pause.gap.to_ns <= points.last()?.0;
    covered.then_some(points)
}

/// The sample that ends the interval around a moment.
fn interval(points: &[(i64, f64)], at_ns: i64) -> Option<usize> {
    Some(points.partition_point(|p| p.0 < at_ns)).filter(|j| (1..points.len()).contains(j))
}

/// The samples that end the intervals touched by a span.
fn intervals(points: &[(i64, f64)], span: RangeInclusive<i64>) -> Option<RangeInclusive<usize>> {
    let last = points.len().checked_sub(1).filter(|last| *last > 0)?;
    let first = points.partition_point(|p| p.0 < *span.start()).clamp(1, last);
    Some(first..=points.partition_point(|p| p.0 < *span.end()).clamp(first, last))
}

/// What the counter gained up to sample `j`.
fn gain(points: &[(i64, f64)], j: usize) -> f64 {
    match (j.checked_sub(1).and_then(|before| points.get(before)), points.get(j)) {
        (Some(before), Some(now)) => (now.1 - before.1).max(0.0),
        _ => 0.0,
    }
}
