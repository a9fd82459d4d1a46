//! Runs in which nothing is wrong: different machines, lengths, loads and sizes.

use super::List;
use super::machine::{H3, H20, Machine, T8, T14, T32};
use crate::lengths::Lengths;
use crate::scenario::{Arrivals, Prefix};

pub(super) fn add(list: &mut List) {
    let chat = || (Lengths::uniform(80, 260), Lengths::uniform(60, 180));
    let question = || (Lengths::lognormal(120.0, 0.4, 400), Lengths::lognormal(100.0, 0.4, 400));
    let short = || (Lengths::constant(128), Lengths::constant(64));
    let even = || (Lengths::uniform(200, 300), Lengths::constant(128));
    let answer = || (Lengths::lognormal(90.0, 0.3, 300), Lengths::uniform(90, 150));
    let brief = || (Lengths::uniform(60, 180), Lengths::lognormal(80.0, 0.35, 250));

    let open: [(&Machine, u32, (Lengths, Lengths), f64); 16] = [
        (&T8, 600, chat(), 4.0),
        (&T8, 1500, short(), 8.0),
        (&T8, 800, question(), 12.0),
        (&T8, 400, even(), 6.0),
        (&T14, 600, chat(), 5.0),
        (&T14, 1000, short(), 10.0),
        (&T14, 350, question(), 3.0),
        (&T14, 500, even(), 8.0),
        (&T32, 500, chat(), 4.0),
        (&T32, 700, short(), 9.0),
        (&T32, 320, question(), 6.0),
        (&H3, 1200, answer(), 7.0),
        (&H3, 500, brief(), 3.0),
        (&H20, 600, answer(), 5.0),
        (&H20, 400, brief(), 9.0),
        (&H20, 900, brief(), 14.0),
    ];
    for (i, (machine, requests, (prompts, outputs), batch)) in open.into_iter().enumerate() {
        let mut scenario = machine.scenario(requests, prompts, outputs).poisson_for(batch);
        if i % 4 == 3 {
            scenario.load.arrivals = Arrivals::Constant;
        }
        list.add(machine, &[], scenario);
    }
    closed(list);
    cached(list);
}

/// Closed loops well below what the machine can run at a time.
fn closed(list: &mut List) {
    for (machine, requests, concurrency) in
        [(&T8, 800, 12), (&T14, 600, 8), (&T32, 500, 6), (&H3, 1000, 10), (&H20, 450, 7)]
    {
        let scenario = machine.scenario(requests, Lengths::uniform(60, 200), Lengths::uniform(80, 160));
        list.add(machine, &[], scenario.closed(concurrency));
    }
}

/// A common system prompt that the prefix cache finds.
fn cached(list: &mut List) {
    for (machine, requests, tokens, batch) in [(&T8, 600, 512, 5.0), (&T14, 500, 768, 4.0), (&H20, 500, 640, 6.0)] {
        let mut scenario = machine.scenario(requests, Lengths::uniform(60, 160), Lengths::uniform(60, 140));
        scenario = scenario.poisson_for(batch);
        scenario.prefix = Prefix { caching: true, share: 1.0, groups: 2, tokens };
        list.add(machine, &[], scenario);
    }
}
