//! `spans.otlp.jsonl`: the server's `llm_request` spans, one export request a line, as a collector's file exporter has it.

use super::server_wall_ns;
use crate::error::Result;
use crate::rng::{Rng, Stream};
use crate::run::{RequestRecord, Run};
use serde_json::{Value, json};
use std::io::Write;

/// Spans to one export request.
const BATCH: usize = 20;

/// Writes a span for every request that was served in full.
pub fn spans(run: &Run, mut out: impl Write) -> Result<()> {
    let mut finished: Vec<&RequestRecord> = run.requests.iter().filter(|r| r.ok()).collect();
    finished.sort_by_key(|r| (r.last_token_ns, r.request));
    for batch in finished.chunks(BATCH) {
        let spans: Vec<Value> = batch.iter().filter_map(|r| span(run, r)).collect();
        let service = json!({"key": "service.name", "value": {"stringValue": "vllm-server"}});
        let export = json!({"resourceSpans": [{
            "resource": {"attributes": [service]},
            "scopeSpans": [{"scope": {"name": "vllm.tracing.otel"}, "spans": spans}],
        }]});
        serde_json::to_writer(&mut out, &export)?;
        writeln!(out)?;
    }
    out.flush()?;
    Ok(())
}

fn span(run: &Run, record: &RequestRecord) -> Option<Value> {
    let scenario = &run.scenario;
    let mut ids = Rng::new(scenario.seed, Stream::Ids, 1 + u64::from(record.request));
    let run_id = Rng::new(scenario.seed, Stream::Ids, 0).next_u64() >> 32;
    let processing = (scenario.server.output_us * 1e3) as i64;
    let arrival = record.arrival_ns?;
    let end = record.last_token_ns? + processing;
    let s = |ns: i64| ns as f64 / 1e9;
    let double = |key: &str, ns: i64| json!({"key": format!("gen_ai.latency.{key}"), "value": {"doubleValue": s(ns)}});
    let count = |key: &str, n: u32| json!({"key": key, "value": {"intValue": n.to_string()}});
    let id = format!("cmpl-bench-{run_id:08x}-{}-0", record.request);
    Some(json!({
        "traceId": format!("{:016x}{:016x}", ids.next_u64(), ids.next_u64()),
        "spanId": format!("{:016x}", ids.next_u64()),
        "name": "llm_request",
        "kind": 2,
        "startTimeUnixNano": server_wall_ns(scenario, arrival).to_string(),
        "endTimeUnixNano": server_wall_ns(scenario, end).to_string(),
        "attributes": [
            double("time_to_first_token", record.first_token_ns? + processing - arrival),
            double("e2e", end - arrival),
            double("time_in_queue", record.queue_ns()?),
            count("gen_ai.usage.prompt_tokens", record.prompt_tokens),
            count("gen_ai.usage.completion_tokens", record.generated_tokens),
            double("time_in_model_prefill", record.prefill_ns()?),
            double("time_in_model_decode", record.decode_ns()?),
            double("time_in_model_inference", record.prefill_ns()? + record.decode_ns()?),
            json!({"key": "gen_ai.request.id", "value": {"stringValue": id}}),
            count("gen_ai.request.max_tokens", record.output_tokens),
        ],
        "status": {},
        "flags": 256,
    }))
}
