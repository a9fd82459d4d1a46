//! Runs with two causes: a run made for the first, with the second added.

use super::List;
use super::machine::{H3, H20, Machine, T8, T14, T32};
use super::{decode, memory, numbers, prefill, queueing};
use crate::cause::Cause;
use crate::lengths::Lengths;
use crate::scenario::{Scenario, Stalls};

pub(super) fn add(list: &mut List) {
    prompts_and_memory(list);
    latency(list);
    misleading(list);
}

fn stalls(per_s: f64, length_ms: f64) -> Stalls {
    Stalls { per_s, length_ms, spread: 0.5 }
}

fn prompts_and_memory(list: &mut List) {
    for (n, interval) in [(0, 8), (5, 12)] {
        let (machine, mut scenario) = prefill::blocking(n);
        scenario.server.stream_interval = interval;
        list.add(machine, &[Cause::PrefillBlocksDecode, Cause::SpeculationOrChunkingDistortsItl], scenario);
    }
    for (n, share) in [(0, 0.1), (3, 0.08), (4, 0.12)] {
        let (machine, mut scenario) = prefill::forgetful(n);
        scenario.failures.http_500_share = share;
        list.add(machine, &[Cause::PrefixCacheIneffective, Cause::FailuresDistortLatency], scenario);
    }
    for (n, share) in [(0, 0.03), (2, 0.03), (5, 0.025)] {
        let (machine, mut scenario) = memory::overcommitted(n);
        scenario.outputs = Lengths::mixed(scenario.outputs, share, Lengths::uniform(1500, 1850));
        list.add(machine, &[Cause::FrequentPreemption, Cause::HeavyTail], scenario);
    }
    for (n, interval) in [(1, 6), (5, 9)] {
        let (machine, mut scenario) = memory::full(n);
        scenario.server.stream_interval = interval;
        list.add(machine, &[Cause::MemoryNearLimit, Cause::SpeculationOrChunkingDistortsItl], scenario);
    }
}

fn latency(list: &mut List) {
    for (n, factor, first) in [(0, 4.0, 30), (4, 3.5, 35)] {
        let (machine, scenario) = decode::slow(n);
        list.add(machine, &[Cause::HighTpot, Cause::WarmUpInTheNumbers], numbers::warm_up(scenario, factor, first));
    }
    for (n, timeout_s) in [(0, 16.0), (4, 9.0)] {
        let (machine, mut scenario) = queueing::saturated(n);
        scenario.client.timeout_ms = Some(timeout_s * 1e3);
        list.add(machine, &[Cause::Saturated, Cause::FailuresDistortLatency], scenario);
    }
    for (n, per_s, ms) in [(0, 2.5, 140.0), (5, 2.0, 170.0)] {
        let (machine, mut scenario) = queueing::tail(n);
        scenario.disturbances.server_stalls = stalls(per_s, ms);
        list.add(machine, &[Cause::HeavyTail, Cause::ItlJitter], scenario);
    }
}

fn misleading(list: &mut List) {
    let runs: [(&Machine, u32, usize, f64); 2] = [(&T14, 600, 2, 1.9), (&H3, 700, 3, 1.7)];
    for (machine, requests, n, factor) in runs {
        let mut scenario = numbers::change(numbers::ordinary(machine, requests, n), 0.5, factor);
        scenario.disturbances.server_stalls = stalls(2.5, 130.0);
        list.add(machine, &[Cause::LatencyNotSteady, Cause::ItlJitter], scenario);
    }
    for (n, requests) in [(0, 70), (5, 60)] {
        let (machine, mut scenario) = queueing::waiting(n);
        scenario.load.requests = requests;
        list.add(machine, &[Cause::QueueingDominatesTtft, Cause::TooFewSamplesForP99], scenario);
    }
    let runs: [(&Machine, u32); 2] = [(&T32, 30), (&H20, 40)];
    for (machine, first) in runs {
        let mut scenario: Scenario = numbers::warm_up(numbers::ordinary(machine, 400, 1), 5.0, first);
        scenario.failures.http_500_share = 0.1;
        list.add(machine, &[Cause::FailuresDistortLatency, Cause::WarmUpInTheNumbers], scenario);
    }
    let mut scenario = T8.scenario(500, Lengths::uniform(60, 180), Lengths::uniform(60, 140)).poisson_for(6.0);
    scenario.client.stalls = Stalls { per_s: 0.8, length_ms: 600.0, spread: 0.5 };
    scenario.failures.http_500_share = 0.08;
    list.add(&T8, &[Cause::LoadGeneratorBound, Cause::FailuresDistortLatency], scenario);
}
