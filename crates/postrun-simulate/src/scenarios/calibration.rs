//! A scenario in the setting of a recorded run, to see how close the model comes.
//!
//! The recording: vLLM 0.32.0 on two cores, 30 blocks of 128 tokens, at most 16 requests at a time, 60 requests at 3 a
//! second, prompts of 64 to 192 tokens, outputs of 90 to 250. The cost of a step is read off its token gaps (18.5 ms
//! and 0.6 ms per running request), that of prompts and of the frontend off its request spans. What then comes out
//! (preemptions, queue, tail) is the model's. The recorded arrivals and lengths are one draw of many, so the recording
//! is compared with the range over seeds.
//!
//! | | recorded | simulated, median of 40 seeds (5 to 95 %) |
//! | --- | --- | --- |
//! | preemptions | 31 | 32 (21 to 38) |
//! | duration | 30.9 s | 29.0 (26.9 to 30.8) |
//! | TTFT P50 | 723 ms | 947 (103 to 2719) |
//! | TTFT P99 | 5760 ms | 4396 (2579 to 6279) |
//! | queue, mean | 1253 ms | 1274 (530 to 2463) |
//! | TPOT P50 | 28.4 ms | 28.8 (27.8 to 29.8) |
//! | gap P50, P99 | 25.6, 92.9 ms | 25.5, 85.8 (75.0 to 93.5) |
//! | e2e P50 | 6445 ms | 6643 (5472 to 7833) |

use crate::lengths::Lengths;
use crate::scenario::{Arrivals, KvCache, Load, Scenario, Server, StepCost};

/// The setting of the recorded run with too little KV cache.
pub fn calibration(seed: u64) -> Scenario {
    Scenario {
        name: "calibration".to_string(),
        seed,
        load: Load { requests: 60, arrivals: Arrivals::Poisson, rate_per_s: 3.0, ..Load::default() },
        prompts: Lengths::uniform(64, 192),
        outputs: Lengths::uniform(97, 268),
        server: Server {
            model: "tiny-llama".to_string(),
            max_num_seqs: 16,
            max_num_batched_tokens: 2048,
            max_model_len: 2048,
            frontend_us: 20_000.0,
            output_us: 300.0,
            ..Server::default()
        },
        step: StepCost {
            cpu_us: 2500.0,
            cpu_us_per_request: 100.0,
            gpu_us: 16_000.0,
            decode_us_per_request: 450.0,
            kv_read_ns_per_token: 250.0,
            prefill_us_per_token: 170.0,
            attention_ns_per_pair: 20.0,
            noise_sigma: 0.2,
        },
        kv: KvCache { block_size: 128, num_blocks: 30 },
        ..Scenario::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::simulate;
    use crate::summary::Summary;

    type Of = fn(&(Summary, f64)) -> f64;

    /// Recorded value, and its place in the range over seeds.
    #[test]
    fn the_recording_lies_within_the_range_over_seeds() {
        let runs: Vec<(Summary, f64)> = (0..40)
            .map(|seed| simulate(&calibration(seed)).unwrap())
            .map(|run| (Summary::of(&run), run.preemptions.len() as f64))
            .collect();
        let recorded: [(&str, f64, Of); 9] = [
            ("preemptions", 31.0, |r| r.1),
            ("duration s", 30.9, |r| r.0.duration_s),
            ("TTFT P50 ms", 723.0, |r| r.0.ttft_p50_ms),
            ("TTFT P99 ms", 5760.0, |r| r.0.ttft_p99_ms),
            ("queue mean ms", 1253.0, |r| r.0.queue_mean_ms),
            ("TPOT P50 ms", 28.4, |r| r.0.tpot_p50_ms),
            ("gap P50 ms", 25.6, |r| r.0.gap_p50_ms),
            ("gap P99 ms", 92.9, |r| r.0.gap_p99_ms),
            ("e2e P50 ms", 6445.0, |r| r.0.e2e_p50_ms),
        ];
        for (name, value, of) in recorded {
            let range = crate::stats::sorted(runs.iter().map(of));
            let at = |p| crate::stats::percentile(&range, p);
            let line =
                format!("{name}: recorded {value}, simulated {:.1} ({:.1} to {:.1})", at(50.0), at(5.0), at(95.0));
            assert!((at(0.0)..=at(100.0)).contains(&value), "{line}");
        }
    }
}
