//! Settings in an SGLang server's log: what it was asked for at its start, and what it settled on.

use crate::json::Tree;
use crate::server::recording::ServerSink;
use crate::text::python;

/// A line about settings.
pub(crate) enum Setting<'a> {
    /// The printed arguments: a server starts.
    Arguments(&'a str),
    /// It takes requests.
    Ready,
    /// Tokens that its KV cache was given room for.
    Allocated(&'a str),
    /// What the scheduler settled on.
    Effective(&'a str),
}

/// Which setting a message is about.
pub(crate) fn setting(message: &str) -> Option<Setting<'_>> {
    if let Some(arguments) = message.strip_prefix("server_args=") {
        return Some(Setting::Arguments(arguments));
    }
    match message {
        _ if message.starts_with("The server is fired up and ready to roll") => Some(Setting::Ready),
        _ if message.starts_with("KV Cache is allocated.") => Some(Setting::Allocated(field(message, "#tokens:"))),
        _ if message.starts_with(CAPACITY) => Some(Setting::Effective(message)),
        _ => None,
    }
}

const CAPACITY: &str = "max_total_num_tokens=";
/// What the scheduler settled on, which can differ from what was asked for.
const EFFECTIVE: [(&str, &str); 4] = [
    ("max_running_requests=", "max_num_seqs"),
    ("context_len=", "max_model_len"),
    ("chunked_prefill_size=", "chunked_prefill_size"),
    ("max_prefill_tokens=", "max_prefill_tokens"),
];

/// Facts that several lines tell, and of which the better line counts, wherever it stands.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    capacity: Option<String>,
    allocated: Option<String>,
    most_running: Option<String>,
}

impl Settled {
    /// Takes the printed arguments; false where they do not parse.
    pub(crate) fn arguments(&mut self, sink: &mut ServerSink, text: &str) -> bool {
        let parsed = python::parse(text);
        if let Some((arguments, _)) = &parsed {
            let most = argument_facts(sink, arguments);
            self.most_running = self.most_running.take().or(most);
        }
        parsed.is_some()
    }

    pub(crate) fn allocated(&mut self, tokens: &str) {
        self.allocated = self.allocated.take().or(whole(tokens));
    }

    /// Takes the scheduler's line; its capacity in tokens.
    pub(crate) fn effective(&mut self, sink: &mut ServerSink, message: &str) -> Option<f64> {
        let capacity = whole(field(message, CAPACITY));
        let tokens = capacity.as_deref().and_then(|text| text.parse().ok());
        self.capacity = self.capacity.take().or(capacity);
        for (key, fact) in EFFECTIVE {
            if let Some(value) = whole(field(message, key)) {
                sink.fact(fact, value);
            }
        }
        tokens
    }

    pub(crate) fn close(self, sink: &mut ServerSink) {
        if let Some(tokens) = self.capacity.or(self.allocated) {
            sink.fact("kv_cache_capacity_tokens", tokens);
        }
        if let Some(count) = self.most_running {
            sink.fact("max_num_seqs", count);
        }
    }
}

/// The text behind `key`, up to the next comma.
fn field<'a>(message: &'a str, key: &str) -> &'a str {
    message.split_once(key).map_or("", |(_, rest)| rest.split(',').next().unwrap_or_default().trim())
}

fn whole(text: &str) -> Option<String> {
    text.parse::<i64>().ok().map(|value| value.to_string())
}

/// Settings that say how the server was run; the hundreds of others are defaults.
const KEPT: &[(&str, &str)] = &[
    ("model_path", "model"),
    ("served_model_name", "served_model_name"),
    ("page_size", "block_size"),
    ("tp_size", "tp_size"),
    ("dp_size", "dp_size"),
    ("pp_size", "pp_size"),
    ("ep_size", "ep_size"),
    ("mem_fraction_static", "mem_fraction_static"),
    ("max_prefill_tokens", "max_prefill_tokens"),
    ("schedule_policy", "schedule_policy"),
    ("schedule_conservativeness", "schedule_conservativeness"),
    ("decode_log_interval", "decode_log_interval"),
    ("stream_interval", "stream_interval"),
    ("dtype", "dtype"),
    ("kv_cache_dtype", "kv_cache_dtype"),
    ("quantization", "quantization"),
    ("attention_backend", "attention_backend"),
    ("speculative_algorithm", "speculative_algorithm"),
    ("disaggregation_mode", "disaggregation_mode"),
    ("enable_mixed_chunk", "enable_mixed_chunk"),
    ("disable_cuda_graph", "disable_cuda_graph"),
    ("disable_overlap_schedule", "disable_overlap_schedule"),
];

/// Writes the settings as facts; returns the limit of running requests, which the scheduler may lower.
fn argument_facts(sink: &mut ServerSink, arguments: &Tree) -> Option<String> {
    for (key, fact) in KEPT {
        let value = match arguments.get(key) {
            Tree::Text(text) | Tree::Number(text) => text.clone(),
            Tree::Bool(value) => value.to_string(),
            _ => continue,
        };
        sink.fact(fact, value);
    }
    if let Some(size) = arguments.get("chunked_prefill_size").integer() {
        sink.fact("enable_chunked_prefill", (size > 0).to_string());
        sink.fact("chunked_prefill_size", size.to_string());
    }
    if let Tree::Bool(disabled) = arguments.get("disable_radix_cache") {
        sink.fact("enable_prefix_caching", (!disabled).to_string());
    }
    arguments.get("max_running_requests").integer().map(|count| count.to_string())
}
