//! The load generator that cannot keep up, and requests that fail.

use super::List;
use super::machine::{H3, H20, Machine, T8, T14, T32};
use crate::cause::Cause;
use crate::lengths::Lengths;
use crate::scenario::{Scenario, Stalls};

pub(super) fn add(list: &mut List) {
    for n in 0..7 {
        let (machine, scenario) = bound(n);
        list.add(machine, &[Cause::LoadGeneratorBound], scenario);
    }
    for n in 0..6 {
        let (machine, scenario) = failing(n);
        list.add(machine, &[Cause::FailuresDistortLatency], scenario);
    }
}

/// A client that sends slowly, reads slowly, stands still, or has too few connections.
pub(super) fn bound(n: usize) -> (&'static Machine, Scenario) {
    let machine: &Machine = [&T8, &T14, &T8, &T32, &H3, &H20, &H20][n.min(6)];
    let mut scenario = machine.scenario(500, Lengths::uniform(60, 180), Lengths::uniform(60, 140)).poisson_for(6.0);
    let between_sends_us = 1e6 / scenario.load.rate_per_s;
    let between_chunks_us = between_sends_us / scenario.outputs.mean();
    match n {
        // Sending alone takes more time than there is.
        0 | 4 => scenario.client.send_cpu_us = between_sends_us * if n == 0 { 1.3 } else { 1.5 },
        // Reading does.
        1 | 5 => scenario.client.chunk_cpu_us = between_chunks_us * if n == 1 { 1.2 } else { 1.4 },
        2 => scenario.client.stalls = Stalls { per_s: 0.8, length_ms: 600.0, spread: 0.5 },
        3 => scenario.client.connections = Some(5),
        _ => scenario.client.stalls = Stalls { per_s: 0.5, length_ms: 900.0, spread: 0.4 },
    }
    (machine, scenario)
}

/// Errors at once, broken streams, time-outs of the slow, refusal of the long.
pub(super) fn failing(n: usize) -> (&'static Machine, Scenario) {
    let machine: &Machine = [&T8, &T14, &T32, &T8, &H3, &H20][n.min(5)];
    let mut scenario = machine.scenario(600, Lengths::uniform(80, 260), Lengths::uniform(60, 180)).poisson_for(5.0);
    let step_ms = (scenario.step.cpu_us + scenario.step.gpu_us) / 1e3;
    match n {
        0 => scenario.failures.http_500_share = 0.15,
        1 => scenario.failures.broken_stream_share = 0.12,
        2 => scenario.client.timeout_ms = Some((step_ms * 190.0).round()),
        3 => scenario.failures.refuse_prompts_over = Some(230),
        4 => {
            scenario.failures.http_500_share = 0.06;
            scenario.failures.broken_stream_share = 0.06;
        }
        _ => scenario.client.timeout_ms = Some((step_ms * 185.0).round()),
    }
    (machine, scenario)
}
