//! Whether the truth of a run supports a cause: the bar that a label must pass.
//!
//! A labelled run must pass the bar of each of its causes, and a healthy run none. What passes without having been
//! injected is a consequence (a saturated server also queues): naming it is not wrong, but it is not the cause.

use crate::cause::{CAUSES, Cause};
use crate::run::Run;
use crate::scenario::Arrivals;
use crate::summary::Summary;

/// Whether the run truly shows this cause.
pub fn supports(cause: Cause, run: &Run, s: &Summary) -> bool {
    let load = &run.scenario.load;
    let closed = load.arrivals == Arrivals::Unbounded;
    match cause {
        Cause::LongPromptsRaiseTtft => {
            let grows = s.ttft_longest_over_shortest >= 3.0 && s.prompt_ttft_correlation >= 0.6;
            grows && s.ttft_longest_fifth_ms >= 150.0 && s.queue_share_of_ttft < 0.5
        }
        Cause::HighTpot => s.tpot_p50_ms >= 70.0,
        Cause::ItlJitter => {
            let held = s.held_mean_ms >= 0.3 * s.tpot_p50_ms;
            let noisy = run.scenario.step.noise_sigma >= 0.5;
            s.gap_p99_ms >= 3.0 * s.gap_p50_ms && (s.stall_share_of_gaps >= 0.08 || held || noisy)
        }
        Cause::LowThroughput => {
            let few = closed && s.mean_decodes < 4.0 && s.frontend_share < 0.8;
            let wants_more = closed && s.crowding < 5.0;
            few || (wants_more && s.cpu_share >= 0.6) || s.frontend_share >= 0.8
        }
        Cause::ThroughputAtLatencyCost => s.crowding >= 2.5 && s.mean_decodes >= 32.0 && s.cpu_share < 0.5,
        Cause::MemoryNearLimit => s.kv_high_share >= 0.4,
        Cause::FrequentPreemption => s.preemptions_per_request >= 0.15 && s.preemption_lost_share >= 0.03,
        Cause::HeavyTail => s.e2e_p99_ms >= 4.5 * s.e2e_p50_ms,
        Cause::QueueingDominatesTtft => s.queue_share_of_ttft >= 0.5 && s.queue_mean_ms >= 100.0,
        Cause::PrefillBlocksDecode => s.prefill_share_of_gaps >= 0.15 && s.gap_p99_ms >= 6.0 * s.gap_p50_ms,
        Cause::Saturated => !closed && s.queue_growth >= 1.6 && s.queue_last_quarter_ms >= 1000.0,
        Cause::FailuresDistortLatency => s.failed_share >= 0.02,
        Cause::WarmUpInTheNumbers => s.start_slowness >= 1.8,
        Cause::LoadGeneratorBound => {
            let reads_late = s.unread_mean_ms >= 0.5 * s.tpot_p50_ms.min(40.0);
            let waits = s.connection_wait_p50_ms >= 0.5 * s.ttft_p50_ms;
            s.send_late_p50_ms >= 50.0 || s.send_late_p95_ms >= 150.0 || reads_late || waits
        }
        Cause::PrefixCacheIneffective => {
            s.prefix_repeat_share >= 0.4 && s.prefix_hit_rate <= 0.3 * s.prefix_repeat_share
        }
        Cause::SpeculationOrChunkingDistortsItl => s.tokens_per_chunk >= 1.3,
        Cause::TooFewSamplesForP99 => s.ok < 100,
        Cause::LatencyNotSteady => {
            let changed = |ratio: f64, by: f64| ratio >= by || (ratio > 0.0 && ratio <= 1.0 / by);
            changed(s.tpot_late_over_early, 1.3) || changed(s.ttft_late_over_early, 2.0)
        }
    }
}

/// Causes that the truth supports although the scenario does not name them.
pub fn consequences(run: &Run, summary: &Summary) -> Vec<Cause> {
    let named = &run.scenario.causes;
    CAUSES.into_iter().filter(|c| !named.contains(c) && supports(*c, run, summary)).collect()
}
