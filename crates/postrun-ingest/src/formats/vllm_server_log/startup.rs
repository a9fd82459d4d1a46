//! What vLLM says about itself while it starts: version, settings, sizes, durations.

use super::record::Record;
use crate::json::shorten;
use crate::server::recording::ServerSink;
use crate::text::number::{between, gib_as_bytes, number};
use crate::text::python::{dict_pairs, keyword_pairs, plain};

/// A sign that a server starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// The arguments, which a server prints once.
    Arguments,
    /// Name and version, or an engine that starts.
    Start,
    /// It answers from now on.
    Ready,
}

/// Settings taken from the engine's own line, which also lists what no one asked for: source name, name here.
const SETTINGS: [(&str, &str); 30] = [
    ("model", "model"),
    ("served_model_name", "served_model_name"),
    ("max_seq_len", "max_model_len"),
    ("max_model_len", "max_model_len"),
    ("max_num_seqs", "max_num_seqs"),
    ("max_num_batched_tokens", "max_num_batched_tokens"),
    ("dtype", "dtype"),
    ("kv_cache_dtype", "kv_cache_dtype"),
    ("quantization", "quantization"),
    ("load_format", "load_format"),
    ("tensor_parallel_size", "tensor_parallel_size"),
    ("pipeline_parallel_size", "pipeline_parallel_size"),
    ("data_parallel_size", "data_parallel_size"),
    ("enforce_eager", "enforce_eager"),
    ("enable_prefix_caching", "enable_prefix_caching"),
    ("enable_chunked_prefill", "enable_chunked_prefill"),
    ("chunked_prefill_enabled", "enable_chunked_prefill"),
    ("gpu_memory_utilization", "gpu_memory_utilization"),
    ("block_size", "block_size"),
    ("num_gpu_blocks_override", "num_gpu_blocks_override"),
    ("swap_space", "swap_space"),
    ("cpu_offload_gb", "cpu_offload_gb"),
    ("preemption_mode", "preemption_mode"),
    ("scheduling_policy", "scheduling_policy"),
    ("num_scheduler_steps", "num_scheduler_steps"),
    ("speculative_config", "speculative_config"),
    ("speculative_model", "speculative_model"),
    ("num_speculative_tokens", "num_speculative_tokens"),
    ("device_config", "device"),
    ("max_log_len", "max_log_len"),
];

/// Parts of names of arguments whose value is nobody's business.
const SECRET: [&str; 4] = ["api_key", "hf_token", "password", "secret"];
const LONGEST_VALUE: usize = 300;

/// Takes the facts of one record; tells whether it is a sign of a start.
pub(super) fn read(record: &Record<'_>, sink: &mut ServerSink) -> Option<Sign> {
    let message = record.message;
    if let Some(rest) = message.strip_prefix("non-default args: {") {
        for (key, value) in dict_pairs(rest) {
            if !SECRET.iter().any(|word| key.contains(word)) {
                setting(key, value, sink);
            }
        }
        return Some(Sign::Arguments);
    }
    if let Some(rest) = message.strip_prefix("args: Namespace(") {
        known_settings(rest, sink);
        return Some(Sign::Arguments);
    }
    if let Some(rest) = message.strip_prefix("Initializing a") {
        let (head, config) = rest.split_once(" with config: ").or_else(|| rest.split_once(" with config "))?;
        if !head.contains("LLM engine") {
            return None;
        }
        if let Some((_, version)) = head.split_once("(v") {
            sink.server("vLLM", version_in(version));
        }
        known_settings(config, sink);
        return Some(Sign::Start);
    }
    if let Some(version) = message.strip_prefix("vLLM API server version ") {
        sink.server("vLLM", version_in(version));
        return Some(Sign::Start);
    }
    if message.contains(['█', '▄', '▀']) {
        let (_, version) = message.split_once("  version ")?;
        sink.server("vLLM", version_in(version));
        return Some(Sign::Start);
    }
    if message.starts_with("Starting vLLM") && message.contains("server") {
        return Some(Sign::Ready);
    }
    sizes(message, sink);
    durations(message, sink);
    None
}

/// The engine of vLLM before its second generation: it reports every fiftieth preemption, the first one included.
pub(super) fn is_first_generation(record: &Record<'_>) -> bool {
    record.message.starts_with("Initializing a V0 LLM engine")
        || record.message.starts_with("Initializing an LLM engine") && record.source.ends_with("llm_engine.py")
}

fn version_in(text: &str) -> Option<String> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || ".+-_".contains(c))).unwrap_or(text.len());
    let version = text.get(..end)?.trim_end_matches('.');
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_string())
}

fn known_settings(text: &str, sink: &mut ServerSink) {
    for (key, value) in keyword_pairs(text) {
        if SETTINGS.iter().any(|(name, _)| *name == key) {
            setting(key, value, sink);
        }
    }
}

fn setting(key: &str, value: &str, sink: &mut ServerSink) {
    let name = SETTINGS.iter().find(|(source, _)| *source == key).map_or(key, |(_, name)| name);
    if let Some(value) = plain(value) {
        let value = value.strip_prefix("torch.").map(String::from).unwrap_or(value);
        sink.fact(name, shorten(value, LONGEST_VALUE));
    }
}

fn sizes(message: &str, sink: &mut ServerSink) {
    if let Some((_, rest)) = message.split_once(" KV cache size: ")
        && let Some(tokens) = between(rest, "", " tokens")
    {
        sink.fact("kv_cache_capacity_tokens", tokens);
    }
    if let Some((_, rest)) = message.split_once("Maximum concurrency for ")
        && let Some(times) = between(rest, " tokens per request: ", "x")
    {
        sink.fact("max_concurrency_of_longest", times);
    }
    if let Some(rest) = message.strip_prefix("# ")
        && let Some((device, count)) = rest.split_once(" blocks: ")
    {
        // The number ends the message in some versions: whole, as the line is.
        if let Some((count, _)) = number(count).filter(|_| !device.contains(' ')) {
            sink.fact("num_gpu_blocks", count);
        }
        if let Some(cpu) = rest.split_once("# CPU blocks: ").and_then(|(_, n)| number(n)) {
            sink.fact("num_cpu_blocks", cpu.0);
        }
    }
    if let Some(rest) = message.strip_prefix("Overriding num_gpu_blocks=") {
        if let Some(measured) = between(rest, "", " with num_gpu_blocks_override=") {
            sink.fact("num_gpu_blocks_measured", measured);
        }
        if let Some((count, _)) = rest.split_once("override=").and_then(|(_, n)| number(n)) {
            sink.fact("num_gpu_blocks", count.clone());
            sink.fact("num_gpu_blocks_override", count);
        }
    }
    if let Some((_, count)) = message.split_once("cache_config_info with initialization after num_gpu_blocks is: ")
        && let Some((count, _)) = number(count)
    {
        sink.fact("num_gpu_blocks", count);
    }
    let bytes = [
        ("Available KV cache memory: ", "", "kv_cache_memory_bytes"),
        ("Explicitly set (", "", "kv_cache_memory_bytes"),
        ("Graph capturing finished in ", "took ", "graph_memory_bytes"),
        ("Model loading took ", "", "model_memory_bytes"),
        ("Loading model weights took ", "", "model_memory_bytes"),
    ];
    for (start, then, fact) in bytes {
        let Some(rest) = message.strip_prefix(start) else { continue };
        let Some(value) = rest.find(then).and_then(|at| rest.get(at + then.len()..)).and_then(number) else { continue };
        // Old versions write GB for the same 2^30 bytes; the CPU worker writes its share of the memory it saw.
        if [" GiB", " GB", "/"].iter().any(|unit| value.1.starts_with(unit))
            && let Some(bytes) = gib_as_bytes(&value.0)
        {
            sink.fact(fact, bytes);
        }
    }
}

fn durations(message: &str, sink: &mut ServerSink) {
    let seconds = [
        ("Model loading took ", " and ", "model_loading_s"),
        ("Loading weights took ", "", "weights_loading_s"),
        ("torch.compile took ", "", "torch_compile_s"),
        ("torch.compile takes ", "", "torch_compile_s"),
        ("Dynamo bytecode transform time: ", "", "dynamo_transform_s"),
        ("Initial profiling/warmup run took ", "", "warmup_run_s"),
        ("Graph capturing finished in ", "", "graph_capturing_s"),
        ("init engine ", "took ", "init_engine_s"),
    ];
    for (start, then, fact) in seconds {
        let Some(rest) = message.strip_prefix(start) else { continue };
        let value = rest.find(then).and_then(|at| number(rest.get(at + then.len()..)?));
        if let Some((value, _)) = value.filter(|(_, unit)| unit.starts_with(" s")) {
            sink.fact(fact, value);
        }
    }
    if let Some((length, _)) = message.strip_prefix("Using max model len ").and_then(number) {
        sink.fact("max_model_len", length);
    }
    if let Some(rest) = message.strip_prefix("Chunked prefill is enabled") {
        sink.fact("enable_chunked_prefill", "true");
        if let Some(tokens) = between(rest, "max_num_batched_tokens=", ".") {
            sink.fact("max_num_batched_tokens", tokens);
        }
    }
    if let Some(size) = between(message, "Setting attention block size to ", " tokens") {
        sink.fact("block_size", size);
    }
}
