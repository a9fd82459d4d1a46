//! Figures that mislead: a warm-up in them, too few requests, a change in the middle.

use super::List;
use super::machine::{H3, H20, Machine, T8, T14, T32};
use crate::cause::Cause;
use crate::lengths::Lengths;
use crate::scenario::{Change, Scenario, WarmUp};

pub(super) fn add(list: &mut List) {
    for n in 0..6 {
        let machine: &Machine = [&T8, &T14, &T32, &T14, &H3, &H20][n];
        let scenario =
            warm_up(ordinary(machine, 500, n), [5.0, 4.0, 6.0, 8.0, 7.0, 4.5][n], [40, 50, 35, 30, 60, 45][n]);
        list.add(machine, &[Cause::WarmUpInTheNumbers], scenario);
    }
    for n in 0..7 {
        let machine: &Machine = [&T8, &T14, &T32, &T8, &T14, &H3, &H20][n];
        let scenario = ordinary(machine, [24, 40, 60, 32, 80, 50, 36][n], n);
        list.add(machine, &[Cause::TooFewSamplesForP99], scenario);
    }
    for n in 0..6 {
        let machine: &Machine = [&T8, &T14, &T32, &T8, &H3, &H20][n];
        let at = [0.5, 0.45, 0.55, 0.5, 0.48, 0.52][n];
        let scenario = change(ordinary(machine, 600, n), at, [1.8, 1.6, 2.0, 2.4, 2.2, 1.7][n]);
        list.add(machine, &[Cause::LatencyNotSteady], scenario);
    }
}

/// A run with nothing wrong in it.
pub(super) fn ordinary(machine: &Machine, requests: u32, n: usize) -> Scenario {
    let low = 70 + 10 * n as u32;
    machine
        .scenario(requests, Lengths::uniform(low, 2 * low), Lengths::uniform(90, 170))
        .poisson_for(3.0 + n as f64 * 0.5)
}

/// The first requests meet steps longer by a factor.
pub(super) fn warm_up(mut scenario: Scenario, factor: f64, requests: u32) -> Scenario {
    scenario.disturbances.warm_up = Some(WarmUp { requests, seconds: 0.0, factor });
    scenario
}

/// From a share of the run on, steps are longer by a factor.
pub(super) fn change(mut scenario: Scenario, share: f64, factor: f64) -> Scenario {
    let seconds = f64::from(scenario.load.requests) / scenario.load.rate_per_s;
    scenario.disturbances.change = Some(Change { at_s: (seconds * share).round(), until_s: None, factor });
    scenario
}
