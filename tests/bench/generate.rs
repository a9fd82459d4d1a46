//! A `vllm bench serve --save-detailed` result of any size, the same bytes for the same plan.
//!
//! Keys, their order and the look of numbers follow what the client of 0.31 and newer writes for the completions
//! backend: times are differences of `perf_counter` readings, so they carry 16 or 17 significant digits of which the
//! last few are noise, and a gap below 0.1 ms has an exponent.
//! Nothing is held in memory but three figures a request: each array is written by playing the load again from the
//! seed, and the run's totals by playing it twice before.

use crate::load::{ARRIVALS_PER_S, Fate, Load, Random, Request, Size, seconds};
use crate::totals::{PERCENTILES, Spread, Totals};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// What to write.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// How much.
    pub size: Size,
    /// Same seed, same file.
    pub seed: u64,
    /// Name of the backend, `vllm` for completions.
    pub backend: &'static str,
}

/// What was written.
#[derive(Debug, Clone, Copy)]
pub struct Written {
    /// Length of the file.
    pub bytes: u64,
    /// Requests, failed ones included.
    pub requests: u64,
    /// Gaps of the successful ones.
    pub gaps: u64,
}

/// Writes the result to `path`.
pub fn write_result(path: &Path, plan: &Plan) -> io::Result<Written> {
    let load = Load { seed: plan.seed, size: plan.size };
    let totals = Totals::of(&load);
    let mut json = Json { out: BufWriter::with_capacity(1 << 20, File::create(path)?) };
    write_head(&mut json, plan, &totals)?;
    let all = || load.requests().take(totals.requests as usize);
    json.array("input_lens", all(), |json, r| write!(json.out, "{}", r.prompt))?;
    json.array("output_lens", all(), |json, r| write!(json.out, "{}", if r.ok() { r.output } else { 0 }))?;
    json.array("ttfts", all(), |json, r| json.float(r.ttft()))?;
    json.array("itls", all(), |json, r| json.list(r.gaps(), |json, gap| json.float(gap.s)))?;
    json.array("latencies", all(), |json, r| json.float(r.latency()))?;
    json.array("start_times", all(), |json, r| json.float(seconds(r.start_ns)))?;
    json.array("queue_times", all(), |json, r| json.float(seconds(r.start_ns) - seconds(r.start_ns - r.queue_ns)))?;
    json.array("generated_texts", all(), |json, r| json.text(&r))?;
    json.array("errors", all(), |json, r| write!(json.out, "\"{}\"", r.fate.error()))?;
    write_tail(&mut json, &totals)?;
    json.out.flush()?;
    Ok(Written { bytes: path.metadata()?.len(), requests: totals.requests, gaps: totals.itl.count })
}

fn write_head(json: &mut Json, plan: &Plan, totals: &Totals) -> io::Result<()> {
    let backend = plan.backend;
    write!(json.out, "{{\"date\": \"20260102-030405\", \"endpoint_type\": \"{backend}\", \"backend\": \"{backend}\"")?;
    write!(json.out, ", \"label\": null, \"model_id\": \"mock-model\", \"tokenizer_id\": \"tok\"")?;
    json.count("num_prompts", totals.requests)?;
    json.figure("request_rate", ARRIVALS_PER_S)?;
    json.figure("burstiness", 1.0)?;
    write!(json.out, ", \"max_concurrency\": null")?;
    let duration = seconds(totals.last_end_ns) - seconds(totals.first_start_ns);
    let (input, output) = (totals.input_tokens, totals.output_tokens);
    let completed = totals.ttft.len() as u64;
    json.figure("duration", duration)?;
    json.count("completed", completed)?;
    json.count("failed", totals.requests - completed)?;
    json.count("total_input_tokens", input)?;
    json.count("total_output_tokens", output)?;
    json.figure("request_throughput", completed as f64 / duration)?;
    write!(json.out, ", \"request_goodput\": null")?;
    json.figure("output_throughput", output as f64 / duration)?;
    json.figure("total_token_throughput", (input + output) as f64 / duration)
}

fn write_tail(json: &mut Json, totals: &Totals) -> io::Result<()> {
    json.figure("max_output_tokens_per_s", f64::from(totals.most_chunks_in_second()))?;
    json.count("max_concurrent_requests", totals.most_at_once())?;
    json.figure("rtfx", 0.0)?;
    json.distribution("ttft", Spread::of(&totals.ttft))?;
    json.distribution("tpot", Spread::of(&totals.tpot))?;
    json.distribution("itl", totals.itl.spread)?;
    json.distribution("e2el", Spread::of(&totals.e2e))?;
    write!(json.out, "}}")
}

/// Writes as Python's `json.dump` does: separators `, ` and `: `, floats as their `repr`.
pub struct Json {
    /// Where it goes.
    pub out: BufWriter<File>,
}

impl Json {
    /// One number.
    pub fn float(&mut self, value: f64) -> io::Result<()> {
        if value != 0.0 && value.abs() < 1e-4 {
            // Rust has 5.2e-5 where Python has 5.2e-05.
            let text = format!("{value:e}");
            let (digits, exponent) = text.split_once("e-").unwrap_or((&text, "0"));
            return write!(self.out, "{digits}e-{exponent:0>2}");
        }
        write!(self.out, "{value:?}")
    }

    fn figure(&mut self, key: &str, value: f64) -> io::Result<()> {
        write!(self.out, ", \"{key}\": ")?;
        self.float(value)
    }

    fn count(&mut self, key: &str, value: u64) -> io::Result<()> {
        write!(self.out, ", \"{key}\": {value}")
    }

    /// A list, item by item.
    pub fn list<T>(
        &mut self,
        items: impl Iterator<Item = T>,
        mut write: impl FnMut(&mut Json, T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.out.write_all(b"[")?;
        for (i, item) in items.enumerate() {
            if i > 0 {
                self.out.write_all(b", ")?;
            }
            write(self, item)?;
        }
        self.out.write_all(b"]")
    }

    fn array<T>(
        &mut self,
        key: &str,
        items: impl Iterator<Item = T>,
        write: impl FnMut(&mut Json, T) -> io::Result<()>,
    ) -> io::Result<()> {
        write!(self.out, ", \"{key}\": ")?;
        self.list(items, write)
    }

    fn text(&mut self, request: &Request) -> io::Result<()> {
        // As they stand inside a JSON string.
        const WORDS: [&str; 8] =
            [" token", " the", " caf\\u00e9", " of", "\\n\\n", " \\\"quoted\\\"", " batch", " 0.5 ms,"];
        self.out.write_all(b"\"")?;
        if request.ok() {
            let mut random = Random(request.seed);
            for _ in 0..3 + random.below(6) {
                self.out.write_all(WORDS[random.below(8) as usize].as_bytes())?;
            }
        }
        self.out.write_all(b"\"")
    }

    fn distribution(&mut self, metric: &str, spread: Spread) -> io::Result<()> {
        self.figure(&format!("mean_{metric}_ms"), spread.mean)?;
        self.figure(&format!("median_{metric}_ms"), spread.percentiles[0])?;
        self.figure(&format!("std_{metric}_ms"), spread.std)?;
        for (p, value) in PERCENTILES.iter().zip(spread.percentiles) {
            self.figure(&format!("p{p}_{metric}_ms"), value)?;
        }
        Ok(())
    }
}

impl Fate {
    /// Inside a JSON string.
    fn error(self) -> &'static str {
        match self {
            Fate::Ok => "",
            Fate::Refused => "Internal Server Error",
            Fate::Overloaded => "Service Unavailable",
            Fate::Broken => concat!(
                "Traceback (most recent call last):\\n  File \\\"endpoint_request_func.py\\\", line 211, in ",
                "async_request_openai_completions\\n    async for chunk_bytes in response.content.iter_any():\\n",
                "aiohttp.client_exceptions.ClientPayloadError: Response payload is not completed\\n",
            ),
        }
    }
}
