//! What the server's side says, for a person: clocks, preemption, KV cache, queue, memory.

use crate::quantity::{bytes, number, percent, plain, seconds};
use crate::section::{Grid, Section};
use crate::wording::cell;
use postrun_analysis::{RunAnalysis, ServerFacts};
use postrun_schema::counted;

/// Settings worth a line where they are known.
const SETTINGS: [(&str, &str); 8] = [
    ("max_num_seqs", "max-num-seqs"),
    ("max_num_batched_tokens", "max-num-batched-tokens"),
    ("max_model_len", "max-model-len"),
    ("kv_cache_capacity_tokens", "KV cache tokens"),
    ("block_size", "block size"),
    ("gpu_memory_utilization", "gpu-memory-utilization"),
    ("enable_chunked_prefill", "chunked prefill"),
    ("enable_prefix_caching", "prefix caching"),
];

/// `None` where no recording of the server's side was read.
pub(crate) fn of_run(a: &RunAnalysis) -> Option<Section> {
    let s = &a.facts.server;
    a.manifest.clocks.server.as_ref()?;
    let mut section = Section::new("The server's side");
    section.lines.extend(server(a));
    section.lines.extend(clock(s));
    section.lines.extend(unaligned(a));
    section.lines.extend(preemption(s));
    section.table = table(s);
    section.notes.extend(kv_note(s));
    Some(section)
}

fn server(a: &RunAnalysis) -> Option<String> {
    let facts = &a.manifest.server;
    let name = facts.get("name").map(|n| [n.as_str(), facts.get("version").map_or("", String::as_str)].join(" "));
    let settings = SETTINGS.iter().filter_map(|(key, label)| Some(format!("{label} {}", facts.get(*key)?)));
    let parts: Vec<String> = name.map(|n| n.trim().to_string()).into_iter().chain(settings).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn clock(s: &ServerFacts) -> Option<String> {
    let c = s.clock.as_ref()?;
    Some(match c.uncertainty_ms {
        Some(uncertainty) => {
            let drift = c.drift_ppm.map(|ppm| format!(", drift {} ppm", number(ppm))).unwrap_or_default();
            format!("clocks: aligned to ±{} ms{drift} ({})", number(uncertainty), c.how)
        }
        None => format!("clocks: {}", c.how),
    })
}

/// Files that could not be placed beside others that could.
fn unaligned(a: &RunAnalysis) -> Option<String> {
    a.facts.server.clock.as_ref()?.uncertainty_ms?;
    let apart = a.manifest.sources.iter().filter(|source| source.aligned == Some(false));
    let names: Vec<&str> = apart.map(|source| source.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("not aligned: {}; figures from it are over the whole file", names.join(", ")))
}

fn preemption(s: &ServerFacts) -> Option<String> {
    let p = s.preemption.as_ref()?;
    if p.total == Some(0.0) {
        return Some(format!("preemption: none ({})", p.source));
    }
    let mut parts = vec![match p.total {
        Some(total) => counted(total.round() as u64, "preemption"),
        None => "number of preemptions not recorded".to_string(),
    }];
    parts.extend(p.requests_hit.map(|n| format!("{} hit", counted(n, "request"))));
    parts.extend(p.requests_hit_at_least.map(|n| format!("at least {} hit", counted(n, "request"))));
    parts.extend(p.prefill_s.map(|t| format!("{} lost in prefill", seconds(t))));
    parts.extend(p.decode_s.map(|t| format!("{} lost in decode", seconds(t))));
    Some(format!("preemption: {} ({})", parts.join(", "), p.source))
}

fn table(s: &ServerFacts) -> Option<Grid> {
    let mut grid = Grid::new(&["", "mean", "highest", "at 90 % or more"]);
    grid.text_columns = vec![0];
    for (id, name, level) in
        [("running_mean", "Running requests", s.running), ("waiting_mean", "Waiting requests", s.waiting)]
    {
        if let Some(level) = level {
            grid.push_about(id, vec![name.to_string(), cell(level.mean.map(number)), plain(level.max), String::new()]);
        }
    }
    if let Some(kv) = &s.kv_cache_usage {
        let name = if kv.source == "recorded" { "KV cache usage" } else { "KV cache usage, rebuilt" };
        let share = |v: Option<f64>| cell(v.map(percent));
        let cells =
            [name.to_string(), share(kv.mean), share(kv.max), format!("{} of the run", share(kv.share_over_90))];
        grid.push_about("kv_cache_usage_max", cells.to_vec());
    }
    let single = [
        ("queue_share", "Queue share of TTFT", s.queue_share_of_ttft.map(percent)),
        ("prefix_cache_hit_rate", "Prefix cache hit rate", s.prefix_cache_hit_rate.map(percent)),
        ("batch_size_seen", "Batch size seen by tokens", s.batch_size_seen.map(number)),
        ("gpu_utilization", "Device utilization", s.gpu_utilization.map(percent)),
    ];
    for (id, name, value) in single {
        if let Some(value) = value {
            grid.push_about(id, vec![name.to_string(), value, String::new(), String::new()]);
        }
    }
    if let Some(peak) = s.gpu_memory_peak_bytes {
        let total = s.gpu_memory_total_bytes.map(|t| format!("of {}", bytes(t as u64))).unwrap_or_default();
        grid.push(vec!["Device memory".to_string(), String::new(), bytes(peak as u64), total]);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

fn kv_note(s: &ServerFacts) -> Option<String> {
    let kv = s.kv_tokens.as_ref()?;
    let of = kv.capacity_tokens.map(|c| format!(" of {}", plain(c))).unwrap_or_default();
    let names: Vec<String> =
        kv.holders.iter().take(3).map(|h| format!("{} ({})", h.request, plain(h.tokens))).collect();
    Some(format!(
        "Requests in flight would hold at most {}{of} tokens of KV cache, {} after the first send; most of it requests {}.",
        plain(kv.peak_tokens),
        seconds(kv.peak_at_s),
        names.join(", ")
    ))
}
