//! How servers and exporters call the quantities that postrun has a name for.
//!
//! Tables only: a family is a server or exporter, told by the first part of its metric names; a rule is one metric of it.
//! Names are compared without a trailing `_total`, since some tools cut it off.

use super::exposition::RawSeries;

const MEBIBYTE: f64 = 1_048_576.0;
const PERCENT: f64 = 0.01;

/// One metric of a family.
#[derive(Debug)]
pub(crate) struct Rule {
    source: &'static str,
    /// Canonical series; empty where the metric is only a fact.
    pub series: &'static str,
    /// Turns the source's unit into the canonical one.
    pub factor: f64,
    /// A label that tells this metric from another one of the same canonical series.
    pub mark: Option<(&'static str, &'static str)>,
    /// The rule holds only where this label has this value.
    only: Option<(&'static str, &'static str)>,
    /// The first value that is not zero is this fact.
    pub fact: Option<&'static str>,
}

const fn same(source: &'static str, series: &'static str) -> Rule {
    Rule { source, series, factor: 1.0, mark: None, only: None, fact: None }
}

impl Rule {
    const fn times(self, factor: f64) -> Rule {
        Rule { factor, ..self }
    }

    const fn marked(self, key: &'static str, value: &'static str) -> Rule {
        Rule { mark: Some((key, value)), ..self }
    }

    const fn only(self, key: &'static str, value: &'static str) -> Rule {
        Rule { only: Some((key, value)), ..self }
    }

    const fn fact(self, fact: &'static str) -> Rule {
        Rule { fact: Some(fact), ..self }
    }
}

/// A server or exporter.
#[derive(Debug)]
pub(crate) struct Family {
    prefixes: &'static [&'static str],
    /// Its name, where it is an inference server.
    pub server: Option<&'static str>,
    rules: &'static [Rule],
}

static FAMILIES: &[Family] = &[
    Family { prefixes: &["vllm:", "vllm_"], server: Some("vLLM"), rules: VLLM },
    Family { prefixes: &["sglang:", "sglang_"], server: Some("SGLang"), rules: SGLANG },
    Family { prefixes: &["tgi_", "tgi:"], server: Some("TGI"), rules: TGI },
    Family { prefixes: &["lmdeploy:", "lmdeploy_"], server: Some("LMDeploy"), rules: LMDEPLOY },
    Family { prefixes: &["trtllm_", "trtllm:"], server: Some("TensorRT-LLM"), rules: TRTLLM },
    Family { prefixes: &["nv_trt_llm_"], server: Some("TensorRT-LLM"), rules: TRITON_TRTLLM },
    Family { prefixes: &["llamacpp:", "llamacpp_"], server: Some("llama.cpp"), rules: LLAMA_CPP },
    Family { prefixes: &["nv_gpu_"], server: None, rules: TRITON_DEVICE },
    Family { prefixes: &["DCGM_FI_"], server: None, rules: DCGM },
    Family { prefixes: &["nvidia_smi_", "nvidia_gpu_"], server: None, rules: NVIDIA_SMI },
];

static VLLM: &[Rule] = &[
    same("num_requests_running", "running"),
    same("num_requests_waiting", "waiting"),
    same("num_requests_swapped", "swapped"),
    same("kv_cache_usage_perc", "kv_cache_usage"),
    same("gpu_cache_usage_perc", "kv_cache_usage"),
    same("gpu_prefix_cache_hit_rate", "prefix_cache_hit_rate"),
    same("avg_prompt_throughput_toks_per_s", "prompt_tokens_per_s"),
    same("avg_generation_throughput_toks_per_s", "output_tokens_per_s"),
    same("num_preemptions", "preemptions_total"),
    same("prompt_tokens", "prompt_tokens_total"),
    same("generation_tokens", "output_tokens_total"),
    same("prompt_tokens_cached", "cached_prompt_tokens_total"),
    same("prefix_cache_queries", "prefix_cache_queries_total"),
    same("prefix_cache_hits", "prefix_cache_hits_total"),
    same("gpu_prefix_cache_queries", "prefix_cache_queries_total"),
    same("gpu_prefix_cache_hits", "prefix_cache_hits_total"),
    same("request_success", "requests_finished_total"),
    same("request_success", "requests_aborted_total").only("finished_reason", "abort"),
    same("request_queue_time_seconds_sum", "queue_seconds_total"),
    same("request_queue_time_seconds_count", "queue_requests_total"),
    same("request_prefill_time_seconds_sum", "prefill_seconds_total"),
    same("request_prefill_time_seconds_count", "prefill_requests_total"),
];

static SGLANG: &[Rule] = &[
    same("num_running_reqs", "running"),
    same("num_queue_reqs", "waiting"),
    same("token_usage", "kv_cache_usage"),
    same("num_used_tokens", "kv_cache_used_tokens"),
    same("max_total_num_tokens", "kv_cache_capacity_tokens").fact("kv_cache_capacity_tokens"),
    same("cache_hit_rate", "prefix_cache_hit_rate"),
    same("gen_throughput", "output_tokens_per_s"),
    same("spec_accept_length", "spec_decode_acceptance_length"),
    same("num_retracted_requests", "preemptions_total"),
    same("prompt_tokens", "prompt_tokens_total"),
    same("generation_tokens", "output_tokens_total"),
    same("cached_tokens", "cached_prompt_tokens_total"),
    same("num_requests", "requests_finished_total"),
    same("num_aborted_requests", "requests_aborted_total"),
    same("queue_time_seconds_sum", "queue_seconds_total"),
    same("queue_time_seconds_count", "queue_requests_total"),
];

static TGI: &[Rule] = &[
    same("batch_current_size", "running"),
    same("queue_size", "waiting"),
    same("request_input_length_sum", "prompt_tokens_total"),
    same("request_generated_tokens_sum", "output_tokens_total"),
    same("request_queue_duration_sum", "queue_seconds_total"),
    same("request_queue_duration_count", "queue_requests_total"),
    same("request_success", "requests_finished_total").marked("finished_reason", "success"),
    same("request_failure", "requests_finished_total").marked("finished_reason", "failure"),
];

static LMDEPLOY: &[Rule] = &[
    same("num_requests_running", "running"),
    same("num_requests_waiting", "waiting"),
    same("num_api_requests_waiting", "waiting").marked("queue", "api"),
    same("gpu_cache_usage_perc", "kv_cache_usage"),
    same("prefix_cache_hit_rate", "prefix_cache_hit_rate"),
    same("spec_decode_mean_accept_length", "spec_decode_acceptance_length"),
    same("prompt_tokens", "prompt_tokens_total"),
    same("generation_tokens", "output_tokens_total"),
    same("cached_tokens", "cached_prompt_tokens_total"),
    same("request_success", "requests_finished_total"),
];

static TRTLLM: &[Rule] = &[
    same("num_requests_running", "running"),
    same("num_requests_waiting", "waiting"),
    same("kv_cache_utilization", "kv_cache_usage"),
    same("kv_cache_hit_rate", "prefix_cache_hit_rate"),
    same("request_success", "requests_finished_total"),
];

static TRITON_TRTLLM: &[Rule] = &[
    same("request_metrics", "running").only("request_type", "scheduled"),
    same("request_metrics", "waiting").only("request_type", "waiting"),
    same("kv_cache_block_metrics", "kv_cache_usage").only("kv_cache_block_type", "fraction"),
    same("kv_cache_block_metrics", "").only("kv_cache_block_type", "max").fact("num_gpu_blocks"),
    same("kv_cache_block_metrics", "").only("kv_cache_block_type", "tokens_per").fact("block_size"),
];

static LLAMA_CPP: &[Rule] = &[
    same("requests_processing", "running"),
    same("requests_deferred", "waiting"),
    same("kv_cache_usage_ratio", "kv_cache_usage"),
    same("kv_cache_tokens", "kv_cache_used_tokens"),
    same("prompt_tokens_seconds", "prompt_tokens_per_s"),
    same("predicted_tokens_seconds", "output_tokens_per_s"),
    same("prompt_tokens", "prompt_tokens_total"),
    same("tokens_predicted", "output_tokens_total"),
];

static TRITON_DEVICE: &[Rule] = &[
    same("utilization", "gpu_utilization"),
    same("memory_used_bytes", "gpu_memory_used_bytes"),
    same("memory_total_bytes", "gpu_memory_total_bytes"),
    same("power_usage", "gpu_power_watts"),
];

static DCGM: &[Rule] = &[
    same("DEV_FB_USED", "gpu_memory_used_bytes").times(MEBIBYTE),
    same("DEV_FB_TOTAL", "gpu_memory_total_bytes").times(MEBIBYTE),
    same("DEV_GPU_UTIL", "gpu_utilization").times(PERCENT),
    same("DEV_POWER_USAGE", "gpu_power_watts"),
    same("DEV_GPU_TEMP", "gpu_temperature_celsius"),
];

static NVIDIA_SMI: &[Rule] = &[
    same("utilization_gpu_ratio", "gpu_utilization"),
    same("duty_cycle", "gpu_utilization").times(PERCENT),
    same("memory_used_bytes", "gpu_memory_used_bytes"),
    same("memory_total_bytes", "gpu_memory_total_bytes"),
    same("power_draw_watts", "gpu_power_watts"),
    same("temperature_gpu", "gpu_temperature_celsius"),
];

/// The family a metric is of, if it is a known one.
pub(crate) fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|f| f.prefixes.iter().any(|p| name.starts_with(p)))
}

impl Family {
    /// The rules that hold for a series; none: the series keeps its own name.
    pub(crate) fn rules_for(&'static self, series: &RawSeries) -> impl Iterator<Item = &'static Rule> {
        let bare = self.prefixes.iter().find_map(|p| series.name.strip_prefix(p)).unwrap_or_default();
        let bare = bare.strip_suffix("_total").unwrap_or(bare);
        let holds = move |rule: &&'static Rule| {
            rule.source == bare && rule.only.is_none_or(|(key, value)| series.label(key) == Some(value))
        };
        let rules: Vec<&'static Rule> = self.rules.iter().filter(holds).collect();
        rules.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_names_a_canonical_series_or_a_fact() {
        for rule in FAMILIES.iter().flat_map(|f| f.rules) {
            let known = postrun_schema::find_series(rule.series).is_some();
            assert!(known || (rule.series.is_empty() && rule.fact.is_some()), "{rule:?}");
            assert!(!rule.source.ends_with("_total"), "{rule:?}");
        }
    }
}
