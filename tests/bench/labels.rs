//! Recordings and what their README says they show.

use postrun_analysis::{RunAnalysis, StallClass};

/// What a diagnosis of a recording must say.
pub enum Case {
    /// One of these ranked first.
    First(&'static [&'static str]),
    /// Nothing that is critical.
    NothingCritical,
}

/// A folder of `../shared/recordings` and its label.
pub struct Recording {
    pub folder: &'static str,
    pub label: Case,
    /// Rules that must not find anything.
    pub clear: &'static [&'static str],
}

const fn healthy(folder: &'static str) -> Recording {
    Recording { folder, label: Case::NothingCritical, clear: &["frequent_preemption", "memory_near_limit"] }
}

const fn preempted(folder: &'static str) -> Recording {
    Recording { folder, label: Case::First(&["frequent_preemption"]), clear: &[] }
}

/// Those with a label. `small` has ten requests and is there for what must not be said of it.
pub const RECORDINGS: &[Recording] = &[
    healthy("vllm-server-cpu/healthy"),
    healthy("vllm-server-cpu/healthy-b"),
    healthy("vllm-server-cpu/healthy-c"),
    healthy("vllm-server-cpu/healthy-d"),
    Recording {
        folder: "vllm-server-cpu/kv-tight",
        label: Case::First(&["frequent_preemption", "memory_near_limit"]),
        clear: &[],
    },
    Recording {
        folder: "vllm-server-cpu/kv-preempt",
        label: Case::First(&["frequent_preemption", "memory_near_limit"]),
        clear: &[],
    },
    healthy("vllm-server-cpu/kv-room"),
    Recording {
        folder: "vllm-server-cpu/long-prompts",
        label: Case::First(&["long_prompts_raise_ttft"]),
        clear: &["queueing_dominates_ttft", "saturated"],
    },
    Recording {
        folder: "vllm-server-cpu/queue-bound",
        label: Case::First(&["saturated", "queueing_dominates_ttft"]),
        clear: &["frequent_preemption", "memory_near_limit"],
    },
    healthy("vllm-bench-serve/run_a"),
    preempted("vllm-bench-serve/run_b"),
    preempted("vllm-bench-serve/run_d_preemption_storm"),
    healthy("vllm-bench-serve/small"),
    healthy("sglang-bench-serving/run_a"),
    preempted("sglang-bench-serving/run_b"),
    preempted("sglang-bench-serving/run_d_preemption_storm"),
    healthy("sglang-bench-serving/small"),
];

/// Files of a recording that are read.
pub fn files(without: &[&str]) -> Vec<&'static str> {
    let mut names = vec!["result.json", "result.jsonl"];
    if !without.contains(&"server") {
        names.extend(["server.log", "metrics.prom", "metrics_timeline.prom.txt"]);
        if !without.contains(&"spans") {
            names.push("spans.otlp.jsonl");
        }
    }
    names
}

/// The figures that rules look at, on a line.
pub fn figures(run: &RunAnalysis) -> String {
    let mut out = Vec::new();
    for metric in ["ttft_ms", "tpot_ms", "itl_ms", "e2e_ms", "queue_ms", "server_ttft_ms", "prefill_ms"] {
        if let Some(s) = run.metric(metric) {
            let at = |stat: &str| s.stat(stat).unwrap_or(f64::NAN) / 1e6;
            let (mean, p50, p95, p99) = (at("mean"), at("p50"), at("p95"), at("p99"));
            out.push(format!("{metric} mean {mean:.1} p50 {p50:.1} p95 {p95:.1} p99 {p99:.1}"));
        }
    }
    if let Some(stalls) = &run.stalls {
        let class = |c: StallClass| format!("{} {:.1}s/{}", c.name(), stalls.total_ns(c) as f64 / 1e9, stalls.count(c));
        out.push(format!("stalls {}: {}", stalls.total, StallClass::ALL.map(class).join(", ")));
    }
    let server = &run.facts.server;
    out.push(format!("kv {:?} running {:?} waiting {:?}", server.kv_cache_usage, server.running, server.waiting));
    out.push(format!("hit rate {:?}", server.prefix_cache_hit_rate));
    out.push(format!("values {:?}", run.values.iter().map(|v| (v.metric, v.value)).collect::<Vec<_>>()));
    out.push(format!("{:#?}", run.evidence));
    out.join("\n    ")
}
