//! Counts of events over a run: preemptions.
//!
//! Events come in bursts, so they vary more than independent ones would: by the dispersion, the variance of sums over blocks of
//! the timeline beside their mean (at least 1; 1 is Poisson's). On the scale of square roots the standard error of a count is half
//! the root of the dispersion, even of a count of 0 (Anscombe 1948).

use crate::side::{Side, SideRun};
use crate::stats::block;
use crate::stats::joint::{critical, spread};

/// Fewer windows of the timeline show no dispersion.
const FEWEST: usize = 8;

/// A change of square roots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CountChange {
    /// Roots of the counts.
    pub base: f64,
    pub candidate: f64,
    /// How far the difference may be off.
    pub reach: f64,
}

/// Preemptions by window of the timeline; `None` without the server's counter.
fn preemptions(run: &SideRun) -> Option<Vec<f64>> {
    let windows = &run.run.timeline.as_ref()?.windows;
    let known: Option<Vec<f64>> = windows.iter().map(|w| w.server.preemptions).collect();
    known.filter(|v| v.len() >= FEWEST)
}

/// The change of preemptions between two runs, with probability `level`.
pub(crate) fn preemption_change(base: &Side, candidate: &Side, level: f64) -> Option<CountChange> {
    let ([a], [b]) = (base.runs.as_slice(), candidate.runs.as_slice()) else { return None };
    change(
        (&preemptions(a)?, base.value("preemption_total")?),
        (&preemptions(b)?, candidate.value("preemption_total")?),
        level,
    )
}

fn change(base: (&[f64], f64), candidate: (&[f64], f64), level: f64) -> Option<CountChange> {
    let stretches = base.0.len().min(candidate.0.len());
    let by_stretch = |windows: &[f64]| {
        let mut out = vec![0.0; stretches];
        windows.iter().enumerate().for_each(|(i, v)| out[i * stretches / windows.len()] += v);
        out
    };
    let (a, b) = (by_stretch(base.0), by_stretch(candidate.0));
    let length = block::at_least(block::block_length(&a).max(block::block_length(&b)).round() as usize, stretches);
    let all = base.1 + candidate.1;
    if all <= 0.0 {
        return None;
    }
    let dispersion = ((spread(&a, length).powi(2) + spread(&b, length).powi(2)) / all).max(1.0);
    let difference: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
    let width = critical(&[difference], &[0], &[level], length).first().copied()?;
    Some(CountChange {
        base: base.1.max(0.0).sqrt(),
        candidate: candidate.1.max(0.0).sqrt(),
        reach: width * (dispersion / 2.0).sqrt(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_less_sure_than_single_events() {
        let none = [0.0; 40];
        let even = [1.0; 40];
        let mut bursts = [0.0; 40];
        bursts[10] = 20.0;
        bursts[30] = 20.0;
        let of = |v: &[f64]| change((v, 40.0), (&none, 0.0), 0.99).unwrap();
        assert!(of(&even).base > of(&even).reach, "{:?}", of(&even));
        assert!(of(&bursts).base < of(&bursts).reach, "{:?}", of(&bursts));
        assert_eq!(change((&none, 0.0), (&none, 0.0), 0.99), None);
    }
}
