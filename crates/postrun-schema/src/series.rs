//! Names of the series in the `samples` table that postrun understands, whatever server or exporter they came from.
//!
//! An ingestor maps its source's names to these; a series without a counterpart keeps its own name and is stored all the
//! same. Values are in the unit given here: shares are 0 to 1, never percent; memory is in bytes.

/// How values of several label sets (engines, devices) at one moment become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Across {
    /// Requests, tokens, bytes: they add up.
    Sum,
    /// Shares of equal parts: their mean.
    Mean,
}

/// Gauge or counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesKind {
    /// A level at one moment.
    Gauge,
    /// Rises only; a fall is a restart of the server.
    Counter,
}

/// A series that postrun understands.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    /// Its name in the `samples` table.
    pub name: &'static str,
    /// Gauge or counter.
    pub kind: SeriesKind,
    /// How label sets are put together.
    pub across: Across,
    /// What it is.
    pub doc: &'static str,
}

const fn gauge(name: &'static str, across: Across, doc: &'static str) -> Series {
    Series { name, kind: SeriesKind::Gauge, across, doc }
}

const fn counter(name: &'static str, doc: &'static str) -> Series {
    Series { name, kind: SeriesKind::Counter, across: Across::Sum, doc }
}

/// Every canonical series.
pub const SERIES: &[Series] = &[
    gauge("running", Across::Sum, "requests in the running batch"),
    gauge("waiting", Across::Sum, "requests in the server's queue, deferred ones included"),
    gauge("swapped", Across::Sum, "requests whose KV cache was moved to the host"),
    gauge("kv_cache_usage", Across::Mean, "share of the KV cache in use, 0 to 1"),
    gauge("kv_cache_used_tokens", Across::Sum, "tokens held in the KV cache"),
    gauge("kv_cache_capacity_tokens", Across::Sum, "tokens that fit the KV cache"),
    gauge(
        "prefix_cache_hit_rate",
        Across::Mean,
        "share of prompt tokens found in the prefix cache, as the server says",
    ),
    gauge("prompt_tokens_per_s", Across::Sum, "prompt tokens a second over the server's own interval"),
    gauge("output_tokens_per_s", Across::Sum, "output tokens a second over the server's own interval"),
    gauge("batch_prompt_tokens", Across::Sum, "prompt tokens computed in one step or batch"),
    gauge("batch_requests", Across::Sum, "requests in one step or batch"),
    gauge("iteration_ms", Across::Mean, "duration of one step of the engine in milliseconds"),
    gauge("gpu_memory_used_bytes", Across::Sum, "device memory in use"),
    gauge("gpu_memory_total_bytes", Across::Sum, "device memory there is"),
    gauge("gpu_utilization", Across::Mean, "share of time in which the device computed, 0 to 1"),
    gauge("gpu_power_watts", Across::Sum, "power drawn by the devices"),
    gauge("gpu_temperature_celsius", Across::Mean, "temperature of the devices"),
    gauge("host_cpu_utilization", Across::Mean, "share of the machine's processors in use, 0 to 1"),
    gauge("host_memory_utilization", Across::Mean, "share of the machine's memory that is not available, 0 to 1"),
    gauge("host_memory_used_bytes", Across::Sum, "memory of the machine in use"),
    gauge("host_network_sent_bytes_per_s", Across::Sum, "bytes a second that the machine sent"),
    gauge("host_network_received_bytes_per_s", Across::Sum, "bytes a second that the machine received"),
    gauge("spec_decode_acceptance_length", Across::Mean, "tokens accepted a step with speculative decoding"),
    counter("preemptions_total", "requests taken off the batch for want of KV cache (SGLang: retractions)"),
    counter("prompt_tokens_total", "prompt tokens processed"),
    counter("output_tokens_total", "tokens generated"),
    counter("cached_prompt_tokens_total", "prompt tokens served from the prefix cache"),
    counter("prefix_cache_queries_total", "prompt tokens looked up in the prefix cache"),
    counter("prefix_cache_hits_total", "prompt tokens found in the prefix cache"),
    counter("requests_finished_total", "requests that ended, whatever the reason"),
    counter(
        "queue_seconds_total",
        "seconds that requests waited in the queue before they were first scheduled, added up",
    ),
    counter("queue_requests_total", "requests in queue_seconds_total"),
    counter("prefill_seconds_total", "seconds from first schedule to first token, added up"),
    counter("prefill_requests_total", "requests in prefill_seconds_total"),
    counter("requests_aborted_total", "requests that the client or the server gave up"),
];

/// Above it a share is no share, perhaps a percentage. A little more than 1 comes from rounding and stays.
const LARGEST_SHARE: f64 = 1.5;
/// No server holds so many requests at once.
const MOST_AT_ONCE: f64 = 1e9;
/// 2 to the power of 53: beyond it a float does not tell a count from the next one, and no machine has counted so far.
const LARGEST_COUNT: f64 = 9_007_199_254_740_992.0;
/// Nothing that computes is so hot.
const HOTTEST_CELSIUS: f64 = 1000.0;

impl Series {
    /// What a value of this series can be. Anything else is a fault of the source, and no value.
    pub fn admits(&self, value: f64) -> bool {
        let range = match self.name {
            "kv_cache_usage" | "prefix_cache_hit_rate" | "gpu_utilization" => 0.0..=LARGEST_SHARE,
            "host_cpu_utilization" | "host_memory_utilization" => 0.0..=LARGEST_SHARE,
            "gpu_temperature_celsius" => -HOTTEST_CELSIUS..=HOTTEST_CELSIUS,
            "running" | "waiting" | "swapped" | "batch_requests" => 0.0..=MOST_AT_ONCE,
            _ => 0.0..=LARGEST_COUNT,
        };
        range.contains(&value)
    }
}

/// The canonical series of this name.
pub fn find_series(name: &str) -> Option<&'static Series> {
    SERIES.iter().find(|s| s.name == name)
}

/// The canonical text of a label set: `k=v` sorted by key, comma-separated; commas, equal signs and backslashes inside
/// are escaped by a backslash. `None` where there is no label.
pub fn label_text<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let mut pairs: Vec<(&str, &str)> = labels.into_iter().collect();
    pairs.sort_unstable();
    let mut out = String::new();
    for (key, value) in pairs {
        if !out.is_empty() {
            out.push(',');
        }
        for (text, end) in [(key, "="), (value, "")] {
            for c in text.chars() {
                if matches!(c, ',' | '=' | '\\') {
                    out.push('\\');
                }
                out.push(c);
            }
            out.push_str(end);
        }
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_not_admitted() {
        let admits = |name: &str, value| find_series(name).unwrap().admits(value);
        for series in SERIES {
            assert!(series.admits(0.0) && !series.admits(1e23) && !series.admits(f64::NAN), "{}", series.name);
        }
        assert!(admits("waiting", 40_000.0) && !admits("waiting", -1.0) && !admits("waiting", 1e10));
        assert!(admits("kv_cache_usage", 1.0) && !admits("kv_cache_usage", 97.0));
        assert!(admits("output_tokens_total", 1e13) && admits("gpu_temperature_celsius", -10.0));
    }

    #[test]
    fn labels_are_sorted_and_escaped() {
        assert_eq!(label_text([("b", "x,y"), ("a", "1")]).as_deref(), Some("a=1,b=x\\,y"));
        assert_eq!(label_text([]), None);
    }
}
