//! How long a step takes.

use crate::rng::{Rng, Stream};
use crate::scenario::{Scenario, StepCost};

/// What a step computes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct StepWork {
    pub decodes: u32,
    /// Tokens of context that the decodes read.
    pub context: u64,
    pub prefills: u32,
    pub prefill_tokens: u64,
    /// Pairs of prompt token and token before it.
    pub pairs: f64,
    pub drafts: u32,
}

/// Nanoseconds of a step, by part.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct StepTime {
    pub total: i64,
    pub cpu: i64,
    /// What the step would have taken less without its prompt tokens.
    pub by_prefill: i64,
}

/// Microseconds of CPU, of decoding and of prompt work, without noise.
pub(crate) fn parts_us(cost: &StepCost, work: &StepWork) -> (f64, f64, f64) {
    let requests = f64::from(work.decodes + work.prefills);
    let cpu = cost.cpu_us + cost.cpu_us_per_request * requests;
    let decode = cost.gpu_us
        + cost.decode_us_per_request * f64::from(work.decodes)
        + cost.kv_read_ns_per_token * work.context as f64 / 1e3;
    let prefill =
        cost.prefill_us_per_token * work.prefill_tokens as f64 + cost.attention_ns_per_pair * work.pairs / 1e3;
    (cpu, decode, prefill)
}

/// Time of step number `step` that starts at `t`, with noise, warm-up and change; stalls come later.
pub(crate) fn step_time(scenario: &Scenario, work: &StepWork, t: i64, served: u32, step: u64) -> StepTime {
    let (cpu, mut decode, prefill) = parts_us(&scenario.step, work);
    if work.decodes > 0 {
        decode += f64::from(scenario.speculation.draft_tokens) * scenario.speculation.draft_us_per_token;
        decode += scenario.step.decode_us_per_request * f64::from(work.drafts);
    }
    let noise = Rng::new(scenario.seed, Stream::StepNoise, step).lognormal_mean_one(scenario.step.noise_sigma);
    let factor = noise * slowdown(scenario, t, served) * 1e3;
    StepTime {
        total: (((cpu + decode + prefill) * factor).round() as i64).max(1),
        cpu: (cpu * factor) as i64,
        by_prefill: (prefill * factor) as i64,
    }
}

fn slowdown(scenario: &Scenario, t: i64, served: u32) -> f64 {
    let seconds = t as f64 / 1e9;
    let warm = match &scenario.disturbances.warm_up {
        Some(w) if served < w.requests || seconds < w.seconds => w.factor,
        _ => 1.0,
    };
    let change = match &scenario.disturbances.change {
        Some(c) if seconds >= c.at_s && c.until_s.is_none_or(|until| seconds < until) => c.factor,
        _ => 1.0,
    };
    warm * change
}
