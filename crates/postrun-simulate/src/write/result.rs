//! `result.json`: what `vllm bench serve --save-result --save-detailed` of 0.33 writes, but for the generated texts.

use super::result_figures::{Figures, stat_lines};
use super::stamp::{iso, result_date, seconds};
use super::{client_ns, server_wall_ns};
use crate::error::Result;
use crate::run::{RequestRecord, Run};
use crate::scenario::{Arrivals, Scenario};
use crate::workload::rate_at;
use std::io::Write;

/// Writes the client's result.
pub fn result(run: &Run, mut out: impl Write) -> Result<()> {
    let figures = Figures::of(run);
    let mut fields = head(run)?;
    fields.extend(totals(run, &figures));
    write!(out, "{{{}", fields.join(", "))?;
    arrays(run, &mut out)?;
    for line in stat_lines(run, &figures) {
        write!(out, ", {line}")?;
    }
    writeln!(out, "}}")?;
    out.flush()?;
    Ok(())
}

fn text(value: &str) -> Result<String> {
    Ok(serde_json::to_string(value)?)
}

/// The setting: what the client was told.
fn head(run: &Run) -> Result<Vec<String>> {
    let scenario = &run.scenario;
    let load = &scenario.load;
    // The true date: the client's own wall clock is right.
    let saved = (scenario.clocks.start_unix_s * 1e9) as i64 + run.duration_ns + 900_000_000;
    let model = text(&scenario.server.model)?;
    let unbounded = load.arrivals == Arrivals::Unbounded || load.ramp.is_some();
    let rate = if unbounded { "\"inf\"".to_string() } else { format!("{:?}", load.rate_per_s) };
    let burstiness = match load.arrivals {
        Arrivals::Gamma => load.burstiness,
        // The client has no even spacing; a huge shape comes to the same.
        Arrivals::Constant => 1e6,
        Arrivals::Unbounded | Arrivals::Poisson => 1.0,
    };
    let limit = load.max_concurrency.map_or("null".to_string(), |n| n.to_string());
    let mut fields = vec![
        format!("\"date\": \"{}\"", result_date(saved)),
        "\"endpoint_type\": \"openai\"".to_string(),
        "\"backend\": \"openai\"".to_string(),
        format!("\"label\": {}", text(&scenario.name)?),
        format!("\"model_id\": {model}"),
        format!("\"tokenizer_id\": {model}"),
        format!("\"num_prompts\": {}", load.requests),
        format!("\"request_rate\": {rate}"),
        format!("\"burstiness\": {burstiness:?}"),
        format!("\"max_concurrency\": {limit}"),
    ];
    if let Some(ramp) = &load.ramp {
        fields.push("\"ramp_up_strategy\": \"linear\"".to_string());
        fields.push(format!("\"ramp_up_start_rps\": {}", ramp.start_per_s));
        fields.push(format!("\"ramp_up_end_rps\": {}", ramp.end_per_s));
        fields.push(format!("\"rps_change_events\": [{}]", rate_changes(run).join(", ")));
    }
    Ok(fields)
}

/// An entry for each whole rate reached, with the client's wall time.
fn rate_changes(run: &Run) -> Vec<String> {
    let scenario = &run.scenario;
    let mut changes = Vec::new();
    let mut last = None;
    for record in &run.requests {
        let rate = rate_at(&scenario.load, record.request as usize) as u64;
        if last != Some(rate) {
            last = Some(rate);
            let at = (scenario.clocks.start_unix_s * 1e9) as i64 + record.due_ns;
            changes.push(format!("{{\"rps\": {rate}, \"timestamp\": \"{}\"}}", iso(at)));
        }
    }
    changes
}

fn totals(run: &Run, figures: &Figures) -> Vec<String> {
    let duration = run.duration_ns as f64 / 1e9;
    let rate = |count: f64| format!("{:?}", if duration > 0.0 { count / duration } else { 0.0 });
    let (input, output) = (figures.input_tokens as f64, figures.output_tokens as f64);
    vec![
        format!("\"duration\": {}", seconds(run.duration_ns)),
        format!("\"completed\": {}", figures.completed),
        format!("\"failed\": {}", run.requests.len() as u64 - figures.completed),
        format!("\"total_input_tokens\": {}", figures.input_tokens),
        format!("\"total_output_tokens\": {}", figures.output_tokens),
        format!("\"request_throughput\": {}", rate(figures.completed as f64)),
        "\"request_goodput\": null".to_string(),
        format!("\"output_throughput\": {}", rate(output)),
        format!("\"total_token_throughput\": {}", rate(input + output)),
    ]
}

fn arrays(run: &Run, out: &mut impl Write) -> Result<()> {
    let scenario = &run.scenario;
    let send_cpu = (scenario.client.send_cpu_us * 1e3) as i64;
    let ok_or_0 = |r: &RequestRecord, value: u32| if r.ok() { value } else { 0 };
    array(run, "input_lens", out, |r| r.prompt_tokens.to_string())?;
    array(run, "output_lens", out, |r| ok_or_0(r, r.generated_tokens).to_string())?;
    array(run, "ttfts", out, |r| seconds(r.ttft_ns().unwrap_or(0)))?;
    array(run, "itls", out, |r| {
        let gaps: Vec<String> = r.gaps_ns().map(seconds).collect();
        format!("[{}]", gaps.join(", "))
    })?;
    array(run, "start_times", out, |r| seconds(client_ns(scenario, r.sent_ns)))?;
    array(run, "latencies", out, |r| seconds(r.e2e_ns().filter(|_| r.ok()).unwrap_or(0)))?;
    array(run, "queue_times", out, |r| seconds((r.sent_ns - r.entered_ns - send_cpu).max(0)))?;
    array(run, "errors", out, |r| serde_json::Value::from(r.error.as_deref().unwrap_or("")).to_string())
}

fn array(run: &Run, key: &str, out: &mut impl Write, item: impl Fn(&RequestRecord) -> String) -> Result<()> {
    write!(out, ", \"{key}\": [")?;
    for (i, record) in run.requests.iter().enumerate() {
        write!(out, "{}{}", if i > 0 { ", " } else { "" }, item(record))?;
    }
    write!(out, "]")?;
    Ok(())
}

/// Difference of the server's wall clock and the client's monotonic one, nanoseconds.
pub(super) fn clock_offset_ns(scenario: &Scenario) -> i64 {
    server_wall_ns(scenario, 0) - client_ns(scenario, 0)
}
