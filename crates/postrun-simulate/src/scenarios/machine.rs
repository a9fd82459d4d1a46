//! Machines the labelled runs are on, and the rate that keeps one as busy as wanted.

use super::Split;
use crate::cost::{StepWork, parts_us};
use crate::lengths::Lengths;
use crate::scenario::{Arrivals, KvCache, Load, Scenario, Server, StepCost};

/// A model on a device.
pub(super) struct Machine {
    pub split: Split,
    model: &'static str,
    cpu_us: f64,
    gpu_us: f64,
    decode_us: f64,
    kv_ns: f64,
    prefill_us: f64,
    attention_ns: f64,
}

const fn machine(split: Split, model: &'static str, figures: [f64; 6]) -> Machine {
    let [cpu_us, gpu_us, decode_us, kv_ns, prefill_us, attention_ns] = figures;
    Machine { split, model, cpu_us, gpu_us, decode_us, kv_ns, prefill_us, attention_ns }
}

/// Steps of 10 ms.
pub(super) const T8: Machine = machine(Split::Tuning, "sim-8b", [1500.0, 8000.0, 40.0, 60.0, 60.0, 2.0]);
/// Steps of 18 ms.
pub(super) const T14: Machine = machine(Split::Tuning, "sim-14b", [1800.0, 15_000.0, 60.0, 90.0, 110.0, 3.0]);
/// Steps of 28 ms.
pub(super) const T32: Machine = machine(Split::Tuning, "sim-32b", [2000.0, 24_000.0, 80.0, 120.0, 180.0, 5.0]);
/// Steps of 6 ms.
pub(super) const H3: Machine = machine(Split::HeldOut, "sim-3b", [1000.0, 4500.0, 25.0, 35.0, 30.0, 1.0]);
/// Steps of 22 ms.
pub(super) const H20: Machine = machine(Split::HeldOut, "sim-20b", [1600.0, 19_000.0, 70.0, 70.0, 140.0, 4.0]);

impl Machine {
    /// A scenario on this machine without load.
    pub(super) fn scenario(&self, requests: u32, prompts: Lengths, outputs: Lengths) -> Scenario {
        Scenario {
            load: Load { requests, ..Load::default() },
            prompts,
            outputs,
            server: Server { model: self.model.to_string(), max_num_batched_tokens: 512, ..Server::default() },
            step: StepCost {
                cpu_us: self.cpu_us,
                gpu_us: self.gpu_us,
                decode_us_per_request: self.decode_us,
                kv_read_ns_per_token: self.kv_ns,
                prefill_us_per_token: self.prefill_us,
                attention_ns_per_pair: self.attention_ns,
                ..StepCost::default()
            },
            kv: KvCache { block_size: 16, num_blocks: 9000 },
            ..Scenario::default()
        }
    }

    /// A scenario on this machine with nothing injected.
    pub(super) fn ordinary(&self) -> Scenario {
        self.scenario(600, Lengths::uniform(80, 220), Lengths::uniform(80, 160))
    }
}

impl Scenario {
    /// Poisson arrivals at the rate that keeps so many requests decoding.
    pub(super) fn poisson_for(mut self, batch: f64) -> Scenario {
        self.load.arrivals = Arrivals::Poisson;
        self.load.rate_per_s = self.rate_for(batch);
        self
    }

    /// A closed loop of so many requests.
    pub(super) fn closed(mut self, concurrency: u32) -> Scenario {
        self.load.arrivals = Arrivals::Unbounded;
        self.load.max_concurrency = Some(concurrency);
        self
    }

    /// Rate at which `batch` requests decode at a time, two digits: batch = rate × output × step / (1 − rate × prefill).
    pub(super) fn rate_for(&self, batch: f64) -> f64 {
        let (prompt, output) =
            (self.prompts.mean() + self.prefix.share * f64::from(self.prefix.tokens), self.outputs.mean());
        let context = (batch * (prompt + output / 2.0)) as u64;
        let decode = StepWork { decodes: batch as u32, context, ..StepWork::default() };
        let (cpu, device, _) = parts_us(&self.step, &decode);
        let fixed = self.step.cpu_us + self.step.gpu_us;
        let tokens_per_step = 1.0 + f64::from(self.speculation.draft_tokens) * self.speculation.acceptance / 2.0;
        let prefill = self.step.prefill_us_per_token * prompt + self.step.attention_ns_per_pair * prompt * prompt / 2e3;
        let decoding = output / tokens_per_step * (cpu + device).max(fixed) / 1e6;
        let rate = batch / (decoding + batch * prefill / 1e6);
        let scale = 10f64.powi(1 - rate.log10().floor() as i32);
        (rate * scale).round() / scale
    }
}
