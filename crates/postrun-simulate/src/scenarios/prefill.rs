//! Prompts: long ones raise TTFT, long ones hold up decodes, repeated ones that the cache does not find.

use super::List;
use super::machine::{H3, H20, Machine, T8, T14, T32};
use crate::cause::Cause;
use crate::lengths::Lengths;
use crate::scenario::{KvCache, Prefix, Scenario};

pub(super) fn add(list: &mut List) {
    let wide = |median, max| Lengths::lognormal(median, 1.0, max);
    let long: [(&Machine, u32, Lengths, f64); 6] = [
        (&T8, 500, wide(900.0, 7000), 1.2),
        (&T8, 500, Lengths::uniform(100, 6000), 1.0),
        (&T14, 500, wide(700.0, 5000), 1.0),
        (&T32, 500, Lengths::uniform(100, 3000), 0.8),
        (&H3, 600, wide(1500.0, 7500), 1.0),
        (&H20, 500, Lengths::uniform(150, 4000), 0.7),
    ];
    for (machine, requests, prompts, batch) in long {
        let scenario = machine.scenario(requests, prompts, Lengths::uniform(60, 120)).poisson_for(batch);
        list.add(machine, &[Cause::LongPromptsRaiseTtft], scenario);
    }
    for n in 0..6 {
        let (machine, scenario) = blocking(n);
        list.add(machine, &[Cause::PrefillBlocksDecode], scenario);
    }
    for n in 0..6 {
        let (machine, scenario) = forgetful(n);
        list.add(machine, &[Cause::PrefixCacheIneffective], scenario);
    }
}

/// Long prompts among short ones: computed whole (even numbers), or in chunks as large as they are.
pub(super) fn blocking(n: usize) -> (&'static Machine, Scenario) {
    let short = Lengths::uniform(80, 250);
    let (machine, requests, share, long, batch): (&Machine, u32, f64, Lengths, f64) = match n {
        0 => (&T8, 600, 0.12, Lengths::uniform(2500, 5000), 6.0),
        1 => (&T8, 600, 0.15, Lengths::constant(4000), 5.0),
        2 => (&T14, 500, 0.10, Lengths::uniform(2000, 4000), 5.0),
        3 => (&T32, 400, 0.12, Lengths::uniform(1500, 3000), 4.0),
        4 => (&H3, 700, 0.14, Lengths::uniform(4000, 7000), 6.0),
        _ => (&H20, 450, 0.11, Lengths::uniform(2200, 4500), 4.0),
    };
    let prompts = Lengths::mixed(short, share, long);
    let mut scenario = machine.scenario(requests, prompts, Lengths::uniform(100, 200)).poisson_for(batch);
    scenario.server.chunked_prefill = n % 2 == 1;
    scenario.server.max_num_batched_tokens = 8192;
    (machine, scenario)
}

/// More different prefixes than the cache has room for.
pub(super) fn forgetful(n: usize) -> (&'static Machine, Scenario) {
    let (machine, requests, groups, tokens, blocks, batch): (&Machine, u32, u32, u32, u32, f64) = match n {
        0 => (&T8, 600, 60, 1600, 1200, 2.5),
        1 => (&T8, 600, 80, 1200, 1000, 3.0),
        2 => (&T14, 500, 50, 1024, 900, 2.0),
        3 => (&T32, 500, 64, 960, 900, 2.0),
        4 => (&H3, 700, 90, 2000, 1500, 2.5),
        _ => (&H20, 500, 70, 1120, 1000, 2.0),
    };
    let mut scenario = machine.scenario(requests, Lengths::uniform(60, 160), Lengths::uniform(60, 120));
    scenario.prefix = Prefix { caching: true, share: 0.95, groups, tokens };
    scenario.kv = KvCache { block_size: 16, num_blocks: blocks };
    scenario = scenario.poisson_for(batch);
    (machine, scenario)
}
