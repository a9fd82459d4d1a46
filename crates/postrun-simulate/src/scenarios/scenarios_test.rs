//! Every labelled run shows what its label says, and healthy ones show nothing.

use super::*;
use crate::evidence::{consequences, supports};
use crate::simulator::simulate;
use crate::summary::Summary;
use std::collections::BTreeSet;

#[test]
fn the_library_is_as_large_as_promised() {
    let all = scenarios();
    let count = |f: &dyn Fn(&LabelledScenario) -> bool| all.iter().filter(|l| f(l)).count();
    assert!(all.len() >= 120, "{}", all.len());
    assert!(count(&|l| l.causes.is_empty()) >= 20);
    assert!(count(&|l| l.causes.len() == 2) >= 15);
    let held_out = count(&|l| l.split == Split::HeldOut) as f64 / all.len() as f64;
    assert!((0.28..0.40).contains(&held_out), "{held_out}");
    assert_eq!(all.iter().map(|l| &l.name).collect::<BTreeSet<_>>().len(), all.len());
    for cause in crate::cause::CAUSES {
        for split in [Split::Tuning, Split::HeldOut] {
            assert!(count(&|l| l.split == split && l.causes.first() == Some(&cause)) >= 2, "{cause} {split:?}");
        }
    }
}

#[test]
fn labels_hold_by_the_truth() {
    let mut wrong = Vec::new();
    for labelled in scenarios() {
        let run = simulate(&labelled.scenario).unwrap();
        let summary = Summary::of(&run);
        let missing: Vec<_> = labelled.causes.iter().filter(|c| !supports(**c, &run, &summary)).collect();
        let extra = consequences(&run, &summary);
        let few = summary.requests < 320 && !labelled.causes.contains(&Cause::TooFewSamplesForP99);
        if !missing.is_empty() || few || (labelled.causes.is_empty() && !extra.is_empty()) {
            wrong.push(format!("{}: not shown {missing:?}, shown {extra:?}", labelled.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn causes_that_are_taken_away_are_gone() {
    let mut still = Vec::new();
    for labelled in scenarios().iter().filter(|l| !l.causes.is_empty()) {
        let without = |s: Scenario, cause: &Cause| s.without(*cause, &labelled.ordinary);
        let scenario = labelled.causes.iter().fold(labelled.scenario.clone(), without);
        assert!(scenario.causes.is_empty());
        let run = simulate(&scenario).unwrap();
        let summary = Summary::of(&run);
        let shown = labelled.causes.iter().filter(|c| supports(**c, &run, &summary));
        still.extend(shown.map(|c| format!("{} still shows {c}", labelled.name)));
    }
    assert!(still.is_empty(), "{}", still.join("\n"));
}

#[test]
fn taking_a_cause_away_leaves_the_requests_that_are_not_the_cause() {
    let lengths = |s: &Scenario| {
        let run = simulate(s).unwrap();
        run.requests.iter().map(|r| (r.due_ns, r.prompt_tokens, r.output_tokens)).collect::<Vec<_>>()
    };
    let all = scenarios();
    let one = |name: &str| all.iter().find(|l| l.name == name).unwrap();
    let stalled = one("heavy_tail+itl_jitter-t1");
    let with = lengths(&stalled.scenario);
    assert_eq!(with, lengths(&stalled.scenario.without(Cause::ItlJitter, &stalled.ordinary)));
    let short = lengths(&stalled.scenario.without(Cause::HeavyTail, &stalled.ordinary));
    let changed = with.iter().zip(&short).filter(|(a, b)| a != b).count();
    assert!((1..with.len() / 10).contains(&changed), "{changed}");
}

/// The run of this name, and the same with one thing changed.
fn against(name: &str, change: impl FnOnce(&mut Scenario)) -> (Summary, Summary) {
    let mut scenario = scenarios().into_iter().find(|l| l.name == name).unwrap().scenario;
    let as_is = Summary::of(&simulate(&scenario).unwrap());
    change(&mut scenario);
    (as_is, Summary::of(&simulate(&scenario).unwrap()))
}

#[test]
fn more_kv_cache_ends_preemption() {
    for n in ["t1", "t4", "t5", "h1", "h3"] {
        let (small, large) = against(&format!("frequent_preemption-{n}"), |s| s.kv.num_blocks *= 4);
        assert_eq!(large.preemptions_per_request, 0.0);
        assert!(large.e2e_p50_ms < 0.8 * small.e2e_p50_ms, "{n}: {} {}", small.e2e_p50_ms, large.e2e_p50_ms);
    }
}

#[test]
fn a_larger_prefix_cache_would_find_the_prompts() {
    for n in ["t1", "t3", "h1", "h2"] {
        let (small, large) = against(&format!("prefix_cache_ineffective-{n}"), |s| s.kv.num_blocks *= 12);
        assert!(large.prefix_hit_rate > 0.6 && large.ttft_p50_ms < 0.5 * small.ttft_p50_ms, "{n}");
    }
}

#[test]
fn half_the_concurrency_gives_nearly_the_same_throughput() {
    for n in ["t1", "t3", "h1"] {
        let halve = |s: &mut Scenario| s.load.max_concurrency = s.load.max_concurrency.map(|c| c / 2);
        let (full, half) = against(&format!("throughput_at_latency_cost-{n}"), halve);
        assert!(half.output_tokens_per_s > 0.75 * full.output_tokens_per_s, "{n}");
        assert!(half.tpot_p50_ms < 0.7 * full.tpot_p50_ms, "{n}");
    }
}

#[test]
fn more_concurrency_or_less_cpu_work_raises_a_low_throughput() {
    for n in ["t1", "t2", "t5", "h2"] {
        let (one, many) = against(&format!("low_throughput-{n}"), |s| s.load.max_concurrency = Some(16));
        assert!(many.output_tokens_per_s > 3.0 * one.output_tokens_per_s, "{n}");
    }
    for n in ["t3", "h1"] {
        let lighter = |s: &mut Scenario| (s.step.cpu_us, s.step.cpu_us_per_request) = (1000.0, 8.0);
        let (busy, light) = against(&format!("low_throughput-{n}"), lighter);
        assert!(light.output_tokens_per_s > 2.0 * busy.output_tokens_per_s, "{n}");
    }
}
