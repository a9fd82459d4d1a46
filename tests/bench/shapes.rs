//! The same load as AIPerf and perf_analyzer write it: any size, the same bytes for the same seed.
//!
//! Both stand request by request, so that nothing is held: requests follow until the file is long enough. Real files have
//! their lines in the order in which requests end, these in the order in which they were sent.

use crate::generate::{Json, Written};
use crate::load::{Fate, Load, Request, Size};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

/// The clients' clock shows Unix time.
const UNIX_NS: u64 = 1_700_000_000_000_000_000;
const MS: f64 = 1e6;

/// What a client writes.
pub struct Shape {
    /// The peer that reads it.
    pub name: &'static str,
    /// In words.
    pub title: &'static str,
    /// Name of the file.
    pub file: &'static str,
    before: &'static str,
    between: &'static str,
    after: &'static str,
    request: fn(&mut Json, u64, &Request) -> io::Result<()>,
}

/// The clients that `ingest` is measured on beside `vllm bench serve`.
pub static SHAPES: [Shape; 2] = [
    Shape {
        name: "aiperf",
        title: "AIPerf records",
        file: "profile_export.jsonl",
        before: "",
        between: "\n",
        after: "\n",
        request: aiperf,
    },
    Shape {
        name: "perf_analyzer",
        title: "perf_analyzer profile export",
        file: "profile_export.json",
        before: concat!(
            r#"{"service_kind":"openai","endpoint":"v1/chat/completions","version":"2.0.0","#,
            r#""experiments":[{"experiment":{"mode":"request_rate","value":24.0},"requests":["#,
        ),
        between: ",",
        after: r#"],"window_boundaries":[]}]}"#,
        request: perf_analyzer,
    },
];

/// Writes requests to `path` until it holds about so many bytes.
pub fn write(path: &Path, shape: &Shape, seed: u64, bytes: u64) -> io::Result<Written> {
    let load = Load { seed, size: Size::Bytes(bytes) };
    let mut json = Json { out: BufWriter::with_capacity(1 << 20, File::create(path)?) };
    json.out.write_all(shape.before.as_bytes())?;
    let mut written = Written { bytes: 0, requests: 0, gaps: 0 };
    for (index, request) in (0..).zip(load.requests()) {
        if index > 0 {
            if json.out.stream_position()? >= bytes {
                break;
            }
            json.out.write_all(shape.between.as_bytes())?;
        }
        (shape.request)(&mut json, index, &request)?;
        written.requests += 1;
        written.gaps += if request.ok() { request.gaps().count() as u64 } else { 0 };
    }
    json.out.write_all(shape.after.as_bytes())?;
    json.out.flush()?;
    Ok(Written { bytes: path.metadata()?.len(), ..written })
}

/// When its last chunk came.
fn last_ns(request: &Request) -> u64 {
    request.gaps().last().map_or(request.first_ns(), |gap| gap.at_ns)
}

/// One of AIPerf's metrics.
fn metric(json: &mut Json, tag: &str, value: f64, unit: &str) -> io::Result<()> {
    write!(json.out, "\"{tag}\":{{\"value\":")?;
    json.float(value)?;
    write!(json.out, ",\"unit\":\"{unit}\"}},")
}

fn aiperf(json: &mut Json, index: u64, request: &Request) -> io::Result<()> {
    let (start, credit) = (UNIX_NS + request.start_ns, UNIX_NS + request.start_ns - request.queue_ns);
    let end = if request.ok() { UNIX_NS + last_ns(request) + 400_000 } else { start };
    write!(
        json.out,
        concat!(
            r#"{{"metadata":{{"session_num":{0},"x_request_id":"req-{0}","conversation_id":"session_{0:06}","turn_index":0,"#,
            r#""credit_issued_ns":{1},"request_start_ns":{2},"request_end_ns":{3},"worker_id":"worker_0","#,
            r#""benchmark_phase":"profiling","was_cancelled":false}},"metrics":{{"#,
        ),
        index, credit, start, end
    )?;
    if !request.ok() {
        let (code, kind) = match request.fate {
            Fate::Overloaded => (503, "Service Unavailable"),
            _ => (500, "Internal Server Error"),
        };
        write!(json.out, r#""error_isl":{{"value":{},"unit":"tokens"}}}},"#, request.prompt)?;
        return write!(json.out, r#""error":{{"code":{code},"type":"{kind}","message":"failed"}}}}"#);
    }
    let (ttft, latency) = (request.first_ns() - request.start_ns, last_ns(request) - request.start_ns);
    for (tag, tokens) in [
        ("input_sequence_length", request.prompt),
        ("usage_prompt_tokens", request.prompt),
        ("output_sequence_length", request.output),
        ("usage_completion_tokens", request.output),
    ] {
        write!(json.out, "\"{tag}\":{{\"value\":{tokens},\"unit\":\"tokens\"}},")?;
    }
    metric(json, "time_to_first_token", ttft as f64 / MS, "ms")?;
    metric(json, "http_req_waiting", (ttft - 500_000) as f64 / MS, "ms")?;
    metric(json, "http_req_receiving", (latency - ttft) as f64 / MS, "ms")?;
    write!(json.out, r#""inter_chunk_latency":{{"value":"#)?;
    json.list(request.gaps(), |json, gap| json.float(gap.ns as f64 / MS))?;
    write!(json.out, r#","unit":"ms"}},"request_latency":{{"value":"#)?;
    json.float(latency as f64 / MS)?;
    write!(json.out, r#","unit":"ms"}}}}}}"#)
}

fn perf_analyzer(json: &mut Json, _: u64, request: &Request) -> io::Result<()> {
    write!(
        json.out,
        concat!(
            r#"{{"timestamp":{},"request_inputs":{{"payload":"{{\"model\":\"mock-model\",\"stream\":true,\"max_tokens\":{},"#,
            r#"\"messages\":[]}}"}},"response_timestamps":"#,
        ),
        UNIX_NS + request.start_ns,
        request.output
    )?;
    let reads = || std::iter::once(request.first_ns()).chain(request.gaps().map(|gap| gap.at_ns));
    let end = last_ns(request) + 200_000;
    if !request.ok() {
        return write!(json.out, r#"[],"response_outputs":[]}}"#);
    }
    json.list(reads().chain([end, end + 50_000]), |json, at| write!(json.out, "{}", UNIX_NS + at))?;
    write!(json.out, r#","response_outputs":["#)?;
    for _ in reads() {
        json.out.write_all(
            concat!(
                r#"{"response":"data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,"#,
                r#"\"delta\":{\"content\":\" token\"}}]}\n\n"},"#,
            )
            .as_bytes(),
        )?;
    }
    write!(
        json.out,
        concat!(
            r#"{{"response":"data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":{},\"completion_tokens\":{}}}}}\n\n"}},"#,
            r#"{{"response":"data: [DONE]\n\n"}}]}}"#,
        ),
        request.prompt, request.output
    )
}
