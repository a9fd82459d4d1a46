//! Throughput is low: the server could do more than it is given, or waits for its own CPU.
//!
//! # What it finds
//! Closed loops of very few requests; steps that take far longer than the device needs; a front end that holds requests
//! back.
//!
//! # Why it happens
//! A step for one request costs nearly as much as a step for many. Tokenizing, scheduling and sampling on the CPU leave the
//! devices idle between steps.
//!
//! # How it is decided
//! Three ways, each by itself enough. *Few*: the client keeps so few requests in flight that the server's batch is empty
//! room, with nobody waiting and room in the KV cache. *Host*: a step takes as long as computing very many prompt tokens;
//! devices do a few hundred in the time in which they read the weights once, so the rest is spent elsewhere. *Front end*: the
//! server's TTFT less queue and prefill, which is tokenizing and parsing, is most of TTFT.
//!
//! # What to try
//! More requests at once, larger batches, a client that sends without waiting, more tokenizing processes, profiling the host.
//!
//! # When it is wrong
//! A benchmark of the latency of single requests sends one at a time on purpose. A model whose decode reads far more than
//! its prefill computes (long contexts) looks bound by the host.

use crate::finding::{Effect, Evidence, Finding, Severity, Verdict};
use crate::measure::Measure;
use crate::rule::Rule;
use crate::thresholds::Threshold;
use crate::view::{RunView, percent_text, time_text};
use postrun_schema::{Doc, counted};

pub(super) static LOW_THROUGHPUT: Rule = Rule {
    id: "low_throughput",
    title: "Throughput is low",
    doc: Doc::from_source(include_str!("low_throughput.rs")),
    thresholds: &[
        Threshold {
            key: "few",
            default: 3.0,
            unit: "requests in flight",
            why: "engines serve dozens in a step that costs hardly more",
        },
        Threshold {
            key: "prompt_tokens_per_step",
            default: 350.0,
            unit: "prompt tokens",
            why: "devices compute 100 to 300 prompt tokens in the time of reading the weights once",
        },
        Threshold { key: "front_end", default: 0.5, unit: "share of TTFT", why: "half of the wait is not the device" },
        Threshold { key: "front_end_ms", default: 50.0, unit: "ms", why: "tokenizing a long prompt takes a few" },
    ],
    explained_by: &["high_tpot", "throughput_at_latency_cost", "load_generator_bound"],
    check,
};

fn check(v: &RunView<'_>) -> Verdict {
    let mut seen = Vec::new();
    for way in [front_end, few, host] {
        match way(v) {
            Verdict::Found(finding) => return Verdict::Found(finding),
            Verdict::Clear(evidence) => seen.extend(evidence),
            Verdict::NotChecked(_) => {}
        }
    }
    match seen.is_empty() {
        true => Verdict::NotChecked(vec!["send times, or chunk times with prompt lengths".to_string()]),
        false => Verdict::Clear(seen),
    }
}

fn unknown() -> Verdict {
    Verdict::NotChecked(Vec::new())
}

/// Nobody waits in the engine and the KV cache has room, as far as is known.
fn has_room(v: &RunView<'_>) -> bool {
    let server = &v.run.facts.server;
    let full = server.kv_cache_usage.as_ref().and_then(|kv| kv.max).is_some_and(|max| max >= 0.9);
    !full && server.waiting.and_then(|w| w.mean).is_none_or(|mean| mean < 0.5)
}

fn throughput(v: &RunView<'_>) -> Option<Evidence> {
    Some(Evidence::new("output_tokens_per_s", "value", v.run.value("output_tokens_per_s")?, "tokens/s"))
}

fn few(v: &RunView<'_>) -> Verdict {
    let (Some(limit), Some(level)) = (v.run.manifest.load.max_concurrency, v.run.value("mean_concurrency")) else {
        return unknown();
    };
    let in_flight = Evidence::new("mean_concurrency", "value", level, "requests").against(v.limit("few"), "threshold");
    if f64::from(limit) > v.limit("few") || !has_room(v) || v.ok() < 10.0 {
        return Verdict::Clear(vec![in_flight]);
    }
    let most = counted(u64::from(limit), "request");
    let summary = format!("the client keeps at most {most} in flight: the server could serve many more");
    let room = v.run.facts.server.kv_cache_usage.as_ref().and_then(|kv| kv.max);
    Finding::new(Severity::Warning, summary, in_flight, v.advise(Measure::RaiseConcurrency))
        .and_if(room.map(|max| Evidence::new("kv_cache_usage_max", "value", max, "share")))
        .and_if(throughput(v))
        .sure(if room.is_some() { 0.9 } else { 0.75 })
        .weighing(0.4)
        .try_also(v.advise_all([Measure::OpenLoop, Measure::SpeculativeDecoding]))
        .into()
}

fn host(v: &RunView<'_>) -> Verdict {
    let (Some(drivers), Some(gap)) = (&v.run.evidence.ttft, v.stat("itl_per_token_ms", "p50")) else {
        return unknown();
    };
    let varied = drivers.longest_fifth_tokens >= 1.5 * drivers.shortest_fifth_tokens;
    let per_token = drivers.ms_per_1k_tokens / 1e3;
    let alone = v.run.evidence.crowding.as_ref().map_or(gap, |c| gap.min(c.alone_gap_ms.max(gap / c.factor.max(1.0))));
    if per_token <= 0.0 || drivers.rho_fitted < 0.5 || !varied || gap <= 0.5 {
        return unknown();
    }
    let tokens = alone / per_token;
    let step = Evidence::new("step_in_prompt_tokens", "value", tokens, "prompt tokens").of(drivers.requests);
    let step = step.against(v.limit("prompt_tokens_per_step"), "threshold");
    let many = v.run.value("mean_concurrency").is_some_and(|n| n > 96.0);
    if tokens < v.limit("prompt_tokens_per_step") || many || !has_room(v) {
        return Verdict::Clear(vec![step]);
    }
    let needed = v.limit("prompt_tokens_per_step") * per_token;
    let summary = format!(
        "a step takes {}, the time of computing {tokens:.0} prompt tokens: the device does not need that long, the host does",
        time_text(alone)
    );
    let share = (1.0 - needed / alone).clamp(0.0, 1.0);
    let text = format!("at least {} of each step is not the device's work", percent_text(share));
    let amount = alone - needed;
    let busy = v.run.facts.server.gpu_utilization;
    Finding::new(Severity::Warning, summary, step, v.advise(Measure::ProfileHost))
        .and(Evidence::new("ttft_per_1k_prompt_tokens", "slope", drivers.ms_per_1k_tokens, "ms").of(drivers.requests))
        .and_if(busy.map(|share| Evidence::new("gpu_utilization", "mean", share, "share")))
        .and_if(throughput(v))
        .sure(if busy.is_some_and(|share| share < 0.6) { 0.9 } else { 0.55 })
        .with_effect(Effect { metric: "tpot_ms", amount, unit: "ms", share: Some(share), text })
        .weighing(0.5)
        .try_also(v.advise_all([Measure::AsyncScheduling, Measure::LessLogging, Measure::RaiseConcurrency]))
        .into()
}

fn front_end(v: &RunView<'_>) -> Verdict {
    let Some((o, front_ms)) = v.run.evidence.outside.as_ref().and_then(|o| Some((o, o.front_end_ms?))) else {
        return unknown();
    };
    let share = front_ms / o.ttft_ms.max(1e-9);
    let front = Evidence::new("front_end_ms", "p50", front_ms, "ms").against(o.ttft_ms, "P50 of TTFT").of(o.requests);
    if share < v.limit("front_end") || front_ms < v.limit("front_end_ms") {
        return Verdict::Clear(vec![front]);
    }
    let summary = format!(
        "requests spend {} in the server's front end before the engine has them: tokenizing holds them back",
        time_text(front_ms)
    );
    let text = format!("the front end is {} of TTFT at the median", percent_text(share));
    let engine = o.mean_in_engine.map(|n| Evidence::new("running_and_waiting", "mean", n, "requests"));
    Finding::new(Severity::Warning, summary, front, v.advise(Measure::ProfileHost))
        .and_if(engine.map(|e| e.against(o.mean_in_flight, "in flight at the client")))
        .and_if(throughput(v))
        .sure(0.9)
        .with_effect(Effect { metric: "ttft_ms", amount: front_ms, unit: "ms", share: Some(share.min(1.0)), text })
        .weighing(0.8 * share.min(1.0))
        .try_also(v.advise_all([Measure::LessLogging, Measure::AsyncScheduling, Measure::ScaleOut]))
        .into()
}
