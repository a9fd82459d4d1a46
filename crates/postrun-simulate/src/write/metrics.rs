//! `metrics.prom`: the server's `/metrics`, scraped at a fixed period, each scrape after a line with its time.
//!
//! `# TYPE` lines and the cache's configuration stand in the first scrape only. Histograms are left out.

use super::server_wall_ns;
use super::stamp::seconds;
use crate::error::Result;
use crate::run::{Run, Sample};
use std::io::Write;

/// Writes all scrapes.
pub fn metrics(run: &Run, mut out: impl Write) -> Result<()> {
    for (i, sample) in run.scrapes.iter().enumerate() {
        let wall = server_wall_ns(&run.scenario, sample.at_ns);
        writeln!(out, "# scrape_time {}", seconds(wall / 1_000_000 * 1_000_000))?;
        scrape(run, sample, i == 0, &mut out)?;
        if i == 0 {
            configuration(run, &mut out)?;
        }
    }
    out.flush()?;
    Ok(())
}

fn scrape(run: &Run, sample: &Sample, first: bool, out: &mut impl Write) -> Result<()> {
    let usage = f64::from(sample.used_blocks) / f64::from(run.scenario.kv.num_blocks);
    let c = &sample.counters;
    let mut rows = vec![
        ("num_requests_running", "gauge", f64::from(sample.running)),
        ("num_requests_waiting", "gauge", f64::from(sample.waiting)),
        ("kv_cache_usage_perc", "gauge", usage),
        ("prefix_cache_queries_total", "counter", c.prefix_queries as f64),
        ("prefix_cache_hits_total", "counter", c.prefix_hits as f64),
        ("num_preemptions_total", "counter", c.preemptions as f64),
        ("prompt_tokens_total", "counter", c.prompt_tokens as f64),
        ("generation_tokens_total", "counter", c.generation_tokens as f64),
    ];
    if run.scenario.speculation.draft_tokens > 0 {
        rows.push(("spec_decode_num_drafts_total", "counter", c.drafts as f64));
        rows.push(("spec_decode_num_draft_tokens_total", "counter", c.draft_tokens as f64));
        rows.push(("spec_decode_num_accepted_tokens_total", "counter", c.accepted_tokens as f64));
    }
    let model = &run.scenario.server.model;
    for (name, kind, value) in rows {
        if first {
            writeln!(out, "# TYPE vllm:{name} {kind}")?;
        }
        writeln!(out, "vllm:{name}{{engine=\"0\",model_name=\"{model}\"}} {value:?}")?;
    }
    if first {
        writeln!(out, "# TYPE vllm:request_success_total counter")?;
    }
    for (reason, count) in [("stop", 0), ("length", c.finished), ("abort", c.aborted), ("error", 0)] {
        let labels = format!("engine=\"0\",finished_reason=\"{reason}\",model_name=\"{model}\"");
        writeln!(out, "vllm:request_success_total{{{labels}}} {:?}", count as f64)?;
    }
    Ok(())
}

fn configuration(run: &Run, out: &mut impl Write) -> Result<()> {
    let kv = &run.scenario.kv;
    let caching = if run.scenario.prefix.caching { "True" } else { "False" };
    writeln!(out, "# TYPE vllm:cache_config_info gauge")?;
    writeln!(
        out,
        "vllm:cache_config_info{{block_size=\"{}\",cache_dtype=\"auto\",enable_prefix_caching=\"{caching}\",engine=\"0\",\
         gpu_memory_utilization=\"0.92\",kv_cache_size_tokens=\"{}\",num_gpu_blocks=\"{}\",num_gpu_blocks_override=\"{}\",\
         prefix_caching_hash_algo=\"sha256\"}} 1.0",
        kv.block_size,
        u64::from(kv.block_size) * u64::from(kv.num_blocks),
        kv.num_blocks,
        kv.num_blocks
    )?;
    Ok(())
}
