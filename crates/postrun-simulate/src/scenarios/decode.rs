//! Decoding: slow tokens, uneven tokens, several tokens a chunk, too little and too much at a time.

use super::List;
use super::machine::{H3, H20, Machine, T8, T14, T32};
use crate::cause::Cause;
use crate::lengths::Lengths;
use crate::scenario::{Arrivals, Ramp, Scenario, Speculation, Stalls};

pub(super) fn add(list: &mut List) {
    for n in 0..6 {
        let (machine, scenario) = slow(n);
        list.add(machine, &[Cause::HighTpot], scenario);
    }
    for n in 0..7 {
        let (machine, scenario) = uneven(n);
        list.add(machine, &[Cause::ItlJitter], scenario);
    }
    for n in 0..6 {
        let (machine, scenario) = several_tokens(n);
        list.add(machine, &[Cause::SpeculationOrChunkingDistortsItl], scenario);
    }
    for n in 0..7 {
        let (machine, scenario) = little(n);
        list.add(machine, &[Cause::LowThroughput], scenario);
    }
    for n in 0..6 {
        let (machine, scenario) = crowded(n);
        list.add(machine, &[Cause::ThroughputAtLatencyCost], scenario);
    }
}

/// Steps are long: a large model, or much context to read.
pub(super) fn slow(n: usize) -> (&'static Machine, Scenario) {
    let context = |tokens| Lengths::uniform(tokens, tokens + 400);
    let short = Lengths::uniform(80, 240);
    let (machine, requests, prompts, gpu_us, kv_ns, batch): (&Machine, u32, Lengths, f64, f64, f64) = match n {
        0 => (&T32, 400, short, 95_000.0, 120.0, 5.0),
        1 => (&T32, 350, short, 150_000.0, 200.0, 3.0),
        2 => (&T8, 400, context(3000), 8000.0, 2500.0, 10.0),
        3 => (&T14, 350, context(2500), 15_000.0, 3000.0, 10.0),
        4 => (&H20, 400, short, 120_000.0, 70.0, 4.0),
        _ => (&H3, 400, context(3600), 4500.0, 2200.0, 11.0),
    };
    let mut scenario = machine.scenario(requests, prompts, Lengths::uniform(80, 160));
    scenario.step.gpu_us = gpu_us;
    scenario.step.kv_read_ns_per_token = kv_ns;
    scenario.step.prefill_us_per_token = scenario.step.prefill_us_per_token.min(40.0);
    (machine, scenario.poisson_for(batch))
}

/// The server stalls, the network holds or buffers, or steps are uneven in themselves.
pub(super) fn uneven(n: usize) -> (&'static Machine, Scenario) {
    let machine: &Machine = [&T8, &T14, &T32, &T8, &H3, &H20, &H20][n.min(6)];
    let mut scenario = machine.scenario(500, Lengths::uniform(80, 220), Lengths::uniform(90, 170)).poisson_for(4.0);
    let stalls = |per_s, length_ms| Stalls { per_s, length_ms, spread: 0.5 };
    match n {
        0 => scenario.disturbances.server_stalls = stalls(2.0, 150.0),
        1 => scenario.network.flush_ms = 120.0,
        2 => scenario.step.noise_sigma = 0.9,
        3 => scenario.network.holds = stalls(1.5, 250.0),
        4 => scenario.disturbances.server_stalls = stalls(3.0, 90.0),
        5 => scenario.network.flush_ms = 90.0,
        _ => scenario.disturbances.server_stalls = stalls(1.2, 300.0),
    }
    (machine, scenario)
}

/// A chunk holds more than one token: speculation, or a stream interval.
pub(super) fn several_tokens(n: usize) -> (&'static Machine, Scenario) {
    let (machine, drafts, acceptance, interval): (&Machine, u32, f64, u32) = match n {
        0 => (&T8, 4, 0.7, 1),
        1 => (&T14, 0, 0.0, 8),
        2 => (&T32, 3, 0.8, 1),
        3 => (&T8, 0, 0.0, 16),
        4 => (&H20, 5, 0.65, 1),
        _ => (&H3, 0, 0.0, 10),
    };
    let mut scenario = machine.scenario(600, Lengths::uniform(80, 220), Lengths::uniform(100, 200));
    scenario.speculation = Speculation { draft_tokens: drafts, acceptance, ..Speculation::default() };
    scenario.server.stream_interval = interval;
    (machine, scenario.poisson_for(4.0))
}

/// One or two at a time; or CPU work between steps; or one thread that tokenizes.
pub(super) fn little(n: usize) -> (&'static Machine, Scenario) {
    let machine: &Machine = [&T8, &T14, &T8, &T14, &T32, &H3, &H20][n.min(6)];
    let scenario = |requests| machine.scenario(requests, Lengths::uniform(100, 300), Lengths::uniform(60, 120));
    let scenario = match n {
        0 => scenario(400).closed(1),
        1 => scenario(400).closed(2),
        2 | 5 => {
            let mut busy = scenario(600).closed(24);
            busy.step.cpu_us = if n == 2 { 22_000.0 } else { 14_000.0 };
            busy.step.cpu_us_per_request = if n == 2 { 350.0 } else { 250.0 };
            busy
        }
        3 => {
            let mut slow = scenario(500).closed(32);
            slow.server.tokenize_us_per_token = 1100.0;
            slow
        }
        4 => scenario(350).closed(1),
        _ => scenario(350).closed(2),
    };
    (machine, scenario)
}

/// So many at a time that every token waits for the others: a closed loop, or a rate that rises past the knee.
pub(super) fn crowded(n: usize) -> (&'static Machine, Scenario) {
    let (machine, requests, concurrency, decode_us): (&Machine, u32, u32, f64) = match n {
        0 => (&T8, 1200, 192, 160.0),
        1 => (&T14, 1000, 160, 260.0),
        2 => (&T32, 800, 144, 420.0),
        3 => (&T8, 1500, 150, 180.0),
        4 => (&H3, 1400, 224, 90.0),
        _ => (&H20, 1100, 130, 380.0),
    };
    let mut scenario = machine.scenario(requests, Lengths::uniform(60, 140), Lengths::uniform(80, 160));
    scenario.step.decode_us_per_request = decode_us;
    scenario.step.prefill_us_per_token = scenario.step.prefill_us_per_token.min(30.0);
    scenario.server.max_num_seqs = 256;
    scenario.kv.num_blocks = 12_000;
    if n % 2 == 1 {
        let end = scenario.rate_for(f64::from(concurrency)) as u32;
        scenario.load.arrivals = Arrivals::Poisson;
        scenario.load.ramp = Some(Ramp { start_per_s: end / 8 + 1, end_per_s: end });
        return (machine, scenario);
    }
    (machine, scenario.closed(concurrency))
}
