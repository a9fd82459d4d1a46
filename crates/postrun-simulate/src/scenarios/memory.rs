//! The KV cache: nearly full, or so small that requests are preempted.

use super::List;
use super::machine::{H3, H20, Machine, T8, T14, T32};
use crate::cause::Cause;
use crate::lengths::Lengths;
use crate::scenario::{KvCache, PreemptionMode, Scenario};

pub(super) fn add(list: &mut List) {
    for n in 0..6 {
        let (machine, scenario) = full(n);
        list.add(machine, &[Cause::MemoryNearLimit], scenario);
    }
    for n in 0..8 {
        let (machine, scenario) = overcommitted(n);
        list.add(machine, &[Cause::FrequentPreemption], scenario);
    }
}

/// A closed loop whose contexts just fit.
pub(super) fn full(n: usize) -> (&'static Machine, Scenario) {
    let (machine, requests, prompt, output, concurrency): (&Machine, u32, u32, u32, u32) = match n {
        0 => (&T8, 500, 900, 150, 16),
        1 => (&T14, 400, 1200, 160, 12),
        2 => (&T32, 350, 700, 110, 10),
        3 => (&T8, 600, 640, 100, 24),
        4 => (&H3, 700, 1500, 200, 14),
        _ => (&H20, 400, 1000, 140, 11),
    };
    let mut scenario = machine.scenario(requests, Lengths::uniform(prompt, prompt + 40), Lengths::constant(output));
    scenario.step.prefill_us_per_token = scenario.step.prefill_us_per_token.min(20.0);
    let each = (prompt + 40 + output).div_ceil(16);
    scenario.kv = KvCache { block_size: 16, num_blocks: each * concurrency };
    scenario.server.max_model_len = 2048;
    (machine, scenario.closed(concurrency))
}

/// Short prompts that are let in, long outputs that then find no room. One copies blocks out instead of computing again,
/// one lets long prompts in by their first chunk.
pub(super) fn overcommitted(n: usize) -> (&'static Machine, Scenario) {
    let (machine, requests, prompt, output, blocks, concurrency): (&Machine, u32, u32, u32, u32, u32) = match n {
        0 => (&T8, 500, 128, 260, 240, 20),
        1 => (&T14, 400, 100, 300, 200, 16),
        2 => (&T32, 350, 160, 240, 210, 14),
        3 => (&T8, 500, 120, 280, 260, 24),
        4 => (&T14, 400, 900, 120, 420, 12),
        5 => (&H3, 600, 140, 330, 300, 22),
        6 => (&H20, 400, 110, 270, 190, 15),
        _ => (&H3, 500, 1100, 140, 560, 14),
    };
    let outputs = Lengths::uniform(output / 2, output + output / 2);
    let mut scenario = machine.scenario(requests, Lengths::uniform(prompt / 2, prompt + prompt / 2), outputs);
    scenario.kv = KvCache { block_size: 16, num_blocks: blocks };
    scenario.server.max_model_len = 2048;
    match n {
        3 => scenario.server.preemption = PreemptionMode::Swap,
        4 | 7 => scenario.server.lazy_admission = true,
        _ => {}
    }
    (machine, scenario.closed(concurrency))
}
