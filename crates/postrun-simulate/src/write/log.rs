//! `server.log`: the start of the server and a line of statistics at each period in which something happened.

use super::stamp::log_stamp;
use super::{VERSION, server_wall_ns};
use crate::error::Result;
use crate::run::{Run, Sample};
use crate::stats::ratio;
use std::io::Write;

const API_PID: u32 = 101;
const ENGINE_PID: u32 = 147;

/// Writes the server's log.
pub fn server_log(run: &Run, mut out: impl Write) -> Result<()> {
    start(run, &mut out)?;
    let mut idle = false;
    for pair in run.log_ticks.windows(2) {
        let quiet = is_quiet(&pair[0], &pair[1]);
        // One line of zeros, then silence, as the server has it.
        if !(quiet && idle) {
            statistics(run, &pair[0], &pair[1], &mut out)?;
        }
        idle = quiet;
    }
    out.flush()?;
    Ok(())
}

fn is_quiet(before: &Sample, now: &Sample) -> bool {
    now.running == 0
        && now.waiting == 0
        && before.counters.generation_tokens == now.counters.generation_tokens
        && before.counters.computed_prompt_tokens == now.counters.computed_prompt_tokens
}

fn python_bool(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// Digits in groups of three, as `{:,}` prints them.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let head = digits.len() % 3;
    let mut parts: Vec<&str> = if head > 0 { vec![&digits[..head]] } else { Vec::new() };
    parts.extend((head..digits.len()).step_by(3).map(|i| &digits[i..i + 3]));
    parts.join(",")
}

fn start(run: &Run, out: &mut impl Write) -> Result<()> {
    let scenario = &run.scenario;
    let idle = (scenario.recording.idle_s * 1e9) as i64;
    let stamp = |before_s: i64| log_stamp(server_wall_ns(scenario, -idle - before_s * 1_000_000_000));
    let (server, kv) = (&scenario.server, &scenario.kv);
    let api = format!("(APIServer pid={API_PID}) INFO {}", stamp(40));
    writeln!(out, "{api} [api_utils.py:347]   █▄█▀ █     █     █     █  version {VERSION}")?;
    writeln!(out, "{api} [api_utils.py:286] non-default args: {{{}}}", arguments(run))?;
    writeln!(out, "{api} [model.py:2152] Using max model len {}", server.max_model_len)?;
    if server.chunked_prefill {
        writeln!(
            out,
            "{api} [scheduler.py:239] Chunked prefill is enabled with max_num_batched_tokens={}.",
            server.max_num_batched_tokens
        )?;
    }
    let engine = format!("(EngineCore pid={ENGINE_PID}) INFO {}", stamp(34));
    writeln!(
        out,
        "{engine} [core.py:133] Initializing a V1 LLM engine (v{VERSION}) with config: model='{}', dtype=torch.bfloat16, \
         max_seq_len={}, tensor_parallel_size=1, served_model_name={}, enable_prefix_caching={}, \
         enable_chunked_prefill={}",
        server.model,
        server.max_model_len,
        server.model,
        python_bool(scenario.prefix.caching),
        python_bool(server.chunked_prefill)
    )?;
    let capacity = u64::from(kv.block_size) * u64::from(kv.num_blocks);
    let engine = format!("(EngineCore pid={ENGINE_PID}) INFO {}", stamp(6));
    writeln!(
        out,
        "{engine} [kv_cache_utils.py:2327] GPU KV cache size: {} tokens, Maximum concurrency for {} tokens per request: \
         {:.2}x",
        grouped(capacity),
        grouped(u64::from(server.max_model_len)),
        capacity as f64 / f64::from(server.max_model_len)
    )?;
    writeln!(out, "{engine} [core.py:402] init engine (profile, create kv cache, warmup model) took 21.40 s")?;
    let api = format!("(APIServer pid={API_PID}) INFO {}", stamp(1));
    writeln!(out, "{api} [entry.py:140] Starting vLLM server on http://127.0.0.1:8000")?;
    writeln!(out, "INFO:     Started server process [{API_PID}]")?;
    writeln!(out, "INFO:     Waiting for application startup.")?;
    writeln!(out, "INFO:     Application startup complete.")?;
    Ok(())
}

fn arguments(run: &Run) -> String {
    let scenario = &run.scenario;
    let server = &scenario.server;
    let mut args = vec![
        format!("'model_tag': '{}'", server.model),
        format!("'model': '{}'", server.model),
        format!("'max_model_len': {}", server.max_model_len),
        format!("'block_size': {}", scenario.kv.block_size),
        format!("'enable_prefix_caching': {}", python_bool(scenario.prefix.caching)),
        format!("'num_gpu_blocks_override': {}", scenario.kv.num_blocks),
        format!("'max_num_batched_tokens': {}", server.max_num_batched_tokens),
        format!("'max_num_seqs': {}", server.max_num_seqs),
        format!("'enable_chunked_prefill': {}", python_bool(server.chunked_prefill)),
    ];
    if server.stream_interval > 1 {
        args.push(format!("'stream_interval': {}", server.stream_interval));
    }
    if scenario.speculation.draft_tokens > 0 {
        let drafts = scenario.speculation.draft_tokens;
        args.push(format!("'speculative_config': {{'method': 'eagle', 'num_speculative_tokens': {drafts}}}"));
    }
    args.join(", ")
}

fn statistics(run: &Run, before: &Sample, now: &Sample, out: &mut impl Write) -> Result<()> {
    let scenario = &run.scenario;
    let stamp = log_stamp(server_wall_ns(scenario, now.at_ns));
    let prefix = format!("(APIServer pid={API_PID}) INFO {stamp}");
    let period = scenario.recording.log_s;
    let (b, n) = (&before.counters, &now.counters);
    let per_s = |before: u64, now: u64| (now - before) as f64 / period;
    write!(
        out,
        "{prefix} [loggers.py:335] Engine 000: Avg prompt throughput: {:.1} tokens/s, Avg generation throughput: {:.1} \
         tokens/s, Running: {} reqs, Waiting: {} reqs, GPU KV cache usage: {:.1}%",
        per_s(b.computed_prompt_tokens, n.computed_prompt_tokens),
        per_s(b.generation_tokens, n.generation_tokens),
        now.running,
        now.waiting,
        100.0 * f64::from(now.used_blocks) / f64::from(scenario.kv.num_blocks)
    )?;
    if scenario.prefix.caching {
        write!(out, ", Prefix cache hit rate: {:.1}%", 100.0 * hit_rate(run, now))?;
    }
    writeln!(out)?;
    if n.drafts > b.drafts {
        let (drafts, drafted) = (n.drafts - b.drafts, n.draft_tokens - b.draft_tokens);
        let accepted = n.accepted_tokens - b.accepted_tokens;
        writeln!(
            out,
            "{prefix} [metrics.py:101] SpecDecoding metrics: Mean acceptance length: {:.2}, Accepted throughput: {:.2} \
             tokens/s, Drafted throughput: {:.2} tokens/s, Accepted: {accepted} tokens, Drafted: {drafted} tokens, Avg \
             Draft acceptance rate: {:.1}%",
            1.0 + accepted as f64 / drafts as f64,
            accepted as f64 / period,
            drafted as f64 / period,
            100.0 * accepted as f64 / drafted as f64
        )?;
    }
    Ok(())
}

/// Over the last two minutes, about the thousand recent requests of the server's own window.
fn hit_rate(run: &Run, now: &Sample) -> f64 {
    let since = now.at_ns - 120_000_000_000;
    let base = run.log_ticks.iter().find(|s| s.at_ns >= since).map(|s| s.counters).unwrap_or_default();
    let hits = now.counters.prefix_hits - base.prefix_hits;
    ratio(hits as f64, (now.counters.prefix_queries - base.prefix_queries) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_in_groups() {
        assert_eq!(grouped(3840), "3,840");
        assert_eq!(grouped(120), "120");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
