//! Which quantity has which colour: one table for all charts, so that what was learnt in one holds in the next.
//!
//! What is of one kind shares a colour: what waits is orange, in a queue or before its first token on the server; what
//! decodes is green, as a phase, as a rate or as tokens that came out. Percentiles of a quantity have its colour and
//! differ in strength.

use super::ink::Ink;
use postrun_analysis::StallClass;

pub(super) const TTFT: Ink = Ink::Blue;
pub(super) const ITL: Ink = Ink::Purple;
pub(super) const TPOT: Ink = DECODE;
pub(super) const E2E: Ink = Ink::Yellow;
/// Queue, requests waiting, requests sent.
pub(super) const QUEUE: Ink = Ink::Orange;
/// Prefill and prompts.
pub(super) const PREFILL: Ink = Ink::Sky;
/// Decode, requests running, what came out.
pub(super) const DECODE: Ink = Ink::Green;
pub(super) const PREEMPTION: Ink = Ink::Vermillion;
/// What all share: requests in flight, the KV cache, a pause of everyone, all objectives together.
pub(super) const WHOLE: Ink = Ink::Text;
/// The point to look at.
pub(super) const KNEE: Ink = Ink::Vermillion;

/// Percentiles drawn over time: which, their name, and the width of their line. The strongest is what most requests saw.
pub(super) const PERCENTILES: [(f64, &str, f64); 3] = [(50.0, "P50", 2.6), (95.0, "P95", 1.5), (99.0, "P99", 0.8)];

/// The colour of a metric; `None`: no chart but that of objectives shows it.
pub(super) fn of_metric(id: &str) -> Option<Ink> {
    Some(match id {
        "ttft_ms" => TTFT,
        "itl_ms" => ITL,
        "tpot_ms" => TPOT,
        "e2e_ms" => E2E,
        "queue_ms" => QUEUE,
        "prefill_ms" | "prompt_length" => PREFILL,
        "decode_ms" | "output_length" => DECODE,
        _ => return None,
    })
}

pub(super) fn of_pause(class: StallClass) -> Ink {
    match class {
        StallClass::Preemption => PREEMPTION,
        StallClass::PrefillInterference => PREFILL,
        StallClass::GlobalStall => WHOLE,
        StallClass::Jitter => Ink::Muted,
    }
}

/// The colours of several metrics in one plot: each its own, and where that is taken or there is none, one that is free.
pub(super) fn of_metrics<'a>(ids: impl Iterator<Item = &'a str> + Clone) -> Vec<Ink> {
    let mut out: Vec<Ink> = Vec::new();
    let owned: Vec<Ink> = ids.clone().filter_map(of_metric).collect();
    for id in ids {
        let own = of_metric(id).filter(|ink| !out.contains(ink));
        let free = || Ink::HUES.into_iter().find(|ink| !out.contains(ink) && !owned.contains(ink));
        out.push(own.or_else(free).unwrap_or(Ink::Muted));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrun_analysis::METRICS;

    #[test]
    fn colours_belong_to_metrics_that_there_are() {
        let ids = ["ttft_ms", "itl_ms", "tpot_ms", "e2e_ms", "queue_ms", "prefill_ms", "decode_ms", "prompt_length"];
        for id in ids {
            assert!(of_metric(id).is_some() && METRICS.iter().any(|m| m.id == id), "{id}");
        }
    }

    #[test]
    fn no_two_of_a_plot_are_alike() {
        let differ = |inks: &[Ink]| {
            let twice = (1..inks.len()).find(|i| inks[..*i].contains(&inks[*i]));
            assert_eq!(twice, None, "{inks:?}");
        };
        differ(&[TTFT, TPOT, E2E, ITL]);
        differ(&[QUEUE, PREFILL, DECODE, PREEMPTION, TTFT]);
        differ(&[DECODE, QUEUE, WHOLE, PREEMPTION, TTFT, ITL]);
        differ(&[&[ITL][..], &StallClass::ALL.map(of_pause)].concat());
        let objectives = ["tpot_ms", "decode_ms", "inference_ms", "ttft_ms", "e2e_ms", "client_queue_ms"];
        let inks = of_metrics(objectives.into_iter());
        differ(&inks);
        assert_eq!((inks[0], inks[3], inks[4]), (TPOT, TTFT, E2E));
    }
}
