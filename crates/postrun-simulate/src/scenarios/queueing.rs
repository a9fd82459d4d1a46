//! Waiting: queues that come and go, queues that grow, and the few requests that make the tail.

use super::List;
use super::machine::{H3, H20, Machine, T8, T14, T32};
use crate::cause::Cause;
use crate::lengths::Lengths;
use crate::scenario::{Arrivals, Scenario};

pub(super) fn add(list: &mut List) {
    for n in 0..6 {
        let (machine, scenario) = waiting(n);
        list.add(machine, &[Cause::QueueingDominatesTtft], scenario);
    }
    for n in 0..6 {
        let (machine, scenario) = saturated(n);
        list.add(machine, &[Cause::Saturated], scenario);
    }
    for n in 0..6 {
        let (machine, scenario) = tail(n);
        list.add(machine, &[Cause::HeavyTail], scenario);
    }
}

/// A batch limit below a closed loop's concurrency, or bursts onto a small batch.
pub(super) fn waiting(n: usize) -> (&'static Machine, Scenario) {
    let machine: &Machine = [&T8, &T14, &T32, &T8, &H3, &H20][n.min(5)];
    let mut scenario = machine.scenario(600, Lengths::uniform(80, 220), Lengths::uniform(60, 140));
    let closed = |mut s: Scenario, seqs: u32, concurrency: u32| {
        s.server.max_num_seqs = seqs;
        s.closed(concurrency)
    };
    let bursts = |s: &mut Scenario, seqs: u32, share: f64, burstiness: f64| {
        s.server.max_num_seqs = seqs;
        s.load.rate_per_s = s.rate_for(f64::from(seqs) * share);
        s.load.arrivals = Arrivals::Gamma;
        s.load.burstiness = burstiness;
    };
    match n {
        0 => scenario = closed(scenario, 16, 40),
        1 => bursts(&mut scenario, 8, 0.65, 0.15),
        2 => scenario = closed(scenario, 8, 20),
        3 => bursts(&mut scenario, 10, 0.6, 0.1),
        4 => scenario = closed(scenario, 12, 36),
        _ => bursts(&mut scenario, 7, 0.6, 0.12),
    }
    (machine, scenario)
}

/// Half as much again arrives as can be served.
pub(super) fn saturated(n: usize) -> (&'static Machine, Scenario) {
    let (machine, requests, seqs, excess): (&Machine, u32, u32, f64) = match n {
        0 => (&T8, 800, 16, 1.35),
        1 => (&T14, 700, 24, 1.5),
        2 => (&T32, 500, 12, 1.4),
        3 => (&T8, 900, 32, 1.8),
        4 => (&H3, 900, 20, 1.6),
        _ => (&H20, 600, 14, 1.3),
    };
    let mut scenario = machine.scenario(requests, Lengths::uniform(80, 220), Lengths::uniform(80, 160));
    scenario.server.max_num_seqs = seqs;
    let rate = scenario.rate_for(f64::from(seqs)) * excess;
    scenario.load.rate_per_s = (rate * 10.0).round() / 10.0;
    (machine, scenario)
}

/// A few outputs many times as long as the others.
pub(super) fn tail(n: usize) -> (&'static Machine, Scenario) {
    let (machine, share, long, batch): (&Machine, f64, Lengths, f64) = match n {
        0 => (&T8, 0.04, Lengths::uniform(1200, 2400), 5.0),
        1 => (&T14, 0.03, Lengths::uniform(1000, 1800), 5.0),
        2 => (&T32, 0.04, Lengths::constant(1100), 4.0),
        3 => (&T8, 0.06, Lengths::lognormal(1500.0, 0.4, 4000), 6.0),
        4 => (&H3, 0.035, Lengths::uniform(1600, 3000), 6.0),
        _ => (&H20, 0.05, Lengths::uniform(900, 1700), 4.0),
    };
    let outputs = Lengths::mixed(Lengths::uniform(60, 130), share, long);
    (machine, machine.scenario(600, Lengths::uniform(80, 220), outputs).poisson_for(batch))
}
