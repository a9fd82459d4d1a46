//! A `vllm bench serve --save-detailed` result of any size, the same bytes for the same plan.
//!
//! Keys, their order and the look of numbers follow what the client of 0.31 and newer writes for the completions
//! backend: times are differences of `perf_counter` readings, so they carry 16 or 17 significant digits of which the
//! last few are noise, and a gap below 0.1 ms has an exponent.
//! Nothing is held in memory but three figures a request: each array is written by playing the load again from the
//! seed, and the run's totals by playing it twice before.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Bytes a gap takes in the file, separator included, as measured on 400 MB.
const BYTES_PER_GAP: f64 = 21.69;
/// Bytes a request takes beside its gaps, as measured on 400 MB.
const BYTES_PER_REQUEST: f64 = 133.5;
const ARRIVALS_PER_S: f64 = 24.0;
const MS: f64 = 1e6;
const S: u64 = 1_000_000_000;
/// Failed requests in 65,536.
const FAILURES: u64 = 66;

/// How much to write.
#[derive(Debug, Clone, Copy)]
pub enum Size {
    /// About this many bytes, within about 1 %.
    Bytes(u64),
    /// The first request to reach this many gaps of successful requests is the last.
    Gaps(u64),
    /// So many requests, all of the same output length.
    Requests {
        /// How many.
        count: u64,
        /// Output tokens of each.
        tokens: u32,
    },
}

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
    let summary = Summary::of(&load);
    let mut json = Json { out: BufWriter::with_capacity(1 << 20, File::create(path)?) };
    write_head(&mut json, plan, &summary)?;
    let all = || load.requests().take(summary.requests as usize);
    json.array("input_lens", all(), |json, r| write!(json.out, "{}", r.prompt))?;
    json.array("output_lens", all(), |json, r| write!(json.out, "{}", if r.ok() { r.output } else { 0 }))?;
    json.array("ttfts", all(), |json, r| json.float(r.ttft()))?;
    json.array("itls", all(), |json, r| json.list(r.gaps(), |json, gap| json.float(gap.s)))?;
    json.array("latencies", all(), |json, r| json.float(r.latency()))?;
    json.array("start_times", all(), |json, r| json.float(seconds(r.start_ns)))?;
    json.array("queue_times", all(), |json, r| json.float(seconds(r.start_ns) - seconds(r.start_ns - r.queue_ns)))?;
    json.array("generated_texts", all(), |json, r| json.text(&r))?;
    json.array("errors", all(), |json, r| write!(json.out, "\"{}\"", r.fate.error()))?;
    write_tail(&mut json, &summary)?;
    json.out.flush()?;
    Ok(Written { bytes: path.metadata()?.len(), requests: summary.requests, gaps: summary.itl.count })
}

fn write_head(json: &mut Json, plan: &Plan, summary: &Summary) -> io::Result<()> {
    let backend = plan.backend;
    write!(json.out, "{{\"date\": \"20260102-030405\", \"endpoint_type\": \"{backend}\", \"backend\": \"{backend}\"")?;
    write!(json.out, ", \"label\": null, \"model_id\": \"mock-model\", \"tokenizer_id\": \"tok\"")?;
    json.count("num_prompts", summary.requests)?;
    json.figure("request_rate", ARRIVALS_PER_S)?;
    json.figure("burstiness", 1.0)?;
    write!(json.out, ", \"max_concurrency\": null")?;
    let duration = seconds(summary.last_end_ns) - seconds(summary.first_start_ns);
    let (input, output) = (summary.input_tokens, summary.output_tokens);
    let completed = summary.ttft.len() as u64;
    json.figure("duration", duration)?;
    json.count("completed", completed)?;
    json.count("failed", summary.requests - completed)?;
    json.count("total_input_tokens", input)?;
    json.count("total_output_tokens", output)?;
    json.figure("request_throughput", completed as f64 / duration)?;
    write!(json.out, ", \"request_goodput\": null")?;
    json.figure("output_throughput", output as f64 / duration)?;
    json.figure("total_token_throughput", (input + output) as f64 / duration)
}

fn write_tail(json: &mut Json, summary: &Summary) -> io::Result<()> {
    json.figure("max_output_tokens_per_s", f64::from(summary.chunks_in_second.iter().copied().max().unwrap_or(0)))?;
    json.count("max_concurrent_requests", summary.most_at_once())?;
    json.figure("rtfx", 0.0)?;
    json.distribution("ttft", Spread::of(&summary.ttft))?;
    json.distribution("tpot", Spread::of(&summary.tpot))?;
    json.distribution("itl", summary.itl.spread)?;
    json.distribution("e2el", Spread::of(&summary.e2e))?;
    write!(json.out, "}}")
}

/// Writes as Python's `json.dump` does: separators `, ` and `: `, floats as their `repr`.
struct Json {
    out: BufWriter<File>,
}

impl Json {
    fn float(&mut self, value: f64) -> io::Result<()> {
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

    fn list<T>(
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

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }
}

/// As Python turns a clock's nanoseconds into seconds.
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Ok,
    Refused,
    Overloaded,
    /// Died in mid-stream: a first token and some gaps, no output length, no latency.
    Broken,
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

struct Load {
    seed: u64,
    size: Size,
}

impl Load {
    /// Requests in the order they are sent, without end.
    fn requests(&self) -> impl Iterator<Item = Request> {
        let mut clock_ns = 6_797_552_357_927;
        let mut arrivals = Random(self.seed);
        (0u64..).map(move |index| {
            clock_ns += arrivals.exponential(1e9 / ARRIVALS_PER_S) as u64;
            self.request(index, clock_ns)
        })
    }

    fn request(&self, index: u64, start_ns: u64) -> Request {
        let mut random = Random(Random(self.seed ^ index.wrapping_mul(0xd134_2543_de82_ef95)).next());
        let octaves = 9.0 * random.unit();
        let prompt = (16.0 * octaves.exp2()) as u32;
        let output = match self.size {
            Size::Requests { tokens, .. } => tokens,
            _ if random.below(200) == 0 => 1,
            _ => (20.0 + random.exponential(522.0)).min(4096.0) as u32,
        };
        let long = f64::from(prompt) / 8192.0;
        let ttft = 15.0 + 490.0 * long + 200.0 * long * long + random.exponential(20.0 + 80.0 * long);
        // The server is now more, now less busy; a long context makes every step a little slower.
        let busy = 0.5 + 0.5 * (index as f64 / 700.0).sin();
        let pace = 8.0 + 17.0 * (0.5 * busy + 0.2 * octaves / 9.0 + 0.3 * random.unit());
        let fate = match random.below(65_536) {
            n if index == 0 || n >= FAILURES => Fate::Ok,
            n if n < FAILURES / 3 => Fate::Refused,
            n if n < FAILURES * 2 / 3 => Fate::Overloaded,
            _ => Fate::Broken,
        };
        Request {
            prompt,
            output,
            start_ns,
            queue_ns: 60_000 + random.exponential(50_000.0) as u64,
            ttft_ns: (ttft * MS) as u64,
            pace_ns: pace * MS,
            fate,
            seed: random.next(),
        }
    }
}

struct Request {
    prompt: u32,
    output: u32,
    start_ns: u64,
    queue_ns: u64,
    ttft_ns: u64,
    pace_ns: f64,
    fate: Fate,
    seed: u64,
}

impl Request {
    fn ok(&self) -> bool {
        self.fate == Fate::Ok
    }

    fn first_ns(&self) -> u64 {
        self.start_ns + self.ttft_ns
    }

    fn ttft(&self) -> f64 {
        match self.fate {
            Fate::Ok | Fate::Broken => seconds(self.first_ns()) - seconds(self.start_ns),
            Fate::Refused | Fate::Overloaded => 0.0,
        }
    }

    fn latency(&self) -> f64 {
        if self.ok() { seconds(self.end_ns()) - seconds(self.start_ns) } else { 0.0 }
    }

    fn end_ns(&self) -> u64 {
        self.gaps().last().map_or(self.first_ns(), |gap| gap.at_ns)
    }

    fn gaps(&self) -> Gaps {
        let chunks = match self.fate {
            Fate::Ok => self.output,
            Fate::Broken => self.output / 2,
            Fate::Refused | Fate::Overloaded => 0,
        };
        let random = Random(self.seed);
        Gaps { random, left: chunks.saturating_sub(1), at_ns: self.first_ns(), pace_ns: self.pace_ns }
    }
}

struct Gap {
    ns: u64,
    /// As the client computes it.
    s: f64,
    at_ns: u64,
}

struct Gaps {
    random: Random,
    left: u32,
    at_ns: u64,
    pace_ns: f64,
}

impl Iterator for Gaps {
    type Item = Gap;

    fn next(&mut self) -> Option<Gap> {
        self.left = self.left.checked_sub(1)?;
        // Four uniform numbers of 16 bits make a fair bell.
        let bits = self.random.next();
        let bell = [0, 16, 32, 48].map(|shift| (bits >> shift) & 0xffff).iter().sum::<u64>() as f64 / 65_535.0 - 2.0;
        let ns = match self.random.next() >> 48 {
            // Two chunks in one read.
            0..100 => 2_000.0 + self.random.exponential(30_000.0),
            // Another request's prefill came between.
            100..900 => self.pace_ns + (20.0 + self.random.exponential(60.0)) * MS,
            // Preempted.
            900..910 => self.pace_ns + (300.0 + self.random.exponential(400.0)) * MS,
            _ => self.pace_ns * (1.0 + 0.2 * bell),
        } as u64;
        let before = seconds(self.at_ns);
        self.at_ns += ns;
        Some(Gap { ns, s: seconds(self.at_ns) - before, at_ns: self.at_ns })
    }
}

/// Percentiles the client was asked for.
const PERCENTILES: [u32; 3] = [50, 90, 99];

#[derive(Debug, Clone, Copy, Default)]
struct Spread {
    mean: f64,
    std: f64,
    percentiles: [f64; 3],
}

impl Spread {
    fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len().max(1) as f64;
        let mean = sorted.iter().sum::<f64>() / n;
        let std = (sorted.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt();
        let at = |rank: u64| sorted.get(rank as usize).copied().unwrap_or_default();
        Spread { mean, std, percentiles: PERCENTILES.map(|p| interpolate(sorted.len() as u64, p, at)) }
    }
}

/// Ranks of percentile `p` and how far to go from the first to the second; linear, as numpy.
fn position(n: u64, p: u32) -> (u64, u64, f64) {
    let last = n.saturating_sub(1);
    let h = last as f64 * f64::from(p) / 100.0;
    (h as u64, (h as u64 + 1).min(last), h.fract())
}

fn interpolate(n: u64, p: u32, at: impl Fn(u64) -> f64) -> f64 {
    let (below, above, fraction) = position(n, p);
    at(below) + (at(above) - at(below)) * fraction
}

/// All gaps of the run, exactly, without keeping them: counted by 8 µs, then only those near a percentile are kept.
struct GapSummary {
    count: u64,
    sum: u128,
    squares: u128,
    bins: Vec<u32>,
    spread: Spread,
}

impl GapSummary {
    /// The last bin holds all beyond 2 s.
    const BINS: usize = 1 << 18;

    fn bin(ns: u64) -> usize {
        ((ns >> 13) as usize).min(Self::BINS - 1)
    }

    fn new() -> GapSummary {
        GapSummary { count: 0, sum: 0, squares: 0, bins: vec![0; Self::BINS], spread: Spread::default() }
    }

    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.sum += u128::from(ns);
        self.squares += u128::from(ns) * u128::from(ns);
        self.bins[Self::bin(ns)] += 1;
    }

    /// Settles the percentiles from a second look at the same gaps.
    fn settle(&mut self, again: impl Iterator<Item = u64>) {
        let n = self.count;
        let ranks = PERCENTILES.iter().flat_map(|p| [position(n, *p).0, position(n, *p).1]);
        // For each bin that holds a wanted rank: how many values lie below it, and its own values.
        let mut wanted: Vec<(usize, u64, Vec<u64>)> = Vec::new();
        for rank in ranks {
            let mut below = 0u64;
            let holds = |count: &u32| {
                below += u64::from(*count);
                below > rank
            };
            if let Some(bin) = self.bins.iter().position(holds)
                && !wanted.iter().any(|w| w.0 == bin)
            {
                wanted.push((bin, below - u64::from(self.bins[bin]), Vec::new()));
            }
        }
        for ns in again {
            let bin = Self::bin(ns);
            if let Some((_, _, values)) = wanted.iter_mut().find(|w| w.0 == bin) {
                values.push(ns);
            }
        }
        wanted.iter_mut().for_each(|w| w.2.sort_unstable());
        let at = |rank: u64| {
            let inside = |w: &(usize, u64, Vec<u64>)| w.2.get(rank.checked_sub(w.1)? as usize).copied();
            wanted.iter().find_map(inside).unwrap_or_default() as f64 / MS
        };
        let per = n.max(1) as f64;
        self.spread = Spread {
            mean: self.sum as f64 / per / MS,
            std: ((u128::from(n) * self.squares - self.sum * self.sum) as f64).sqrt() / per / MS,
            percentiles: PERCENTILES.map(|p| interpolate(n, p, at)),
        };
    }
}

/// What the client would print, over successful requests, in ms.
struct Summary {
    requests: u64,
    input_tokens: u64,
    output_tokens: u64,
    first_start_ns: u64,
    last_end_ns: u64,
    ttft: Vec<f64>,
    tpot: Vec<f64>,
    e2e: Vec<f64>,
    itl: GapSummary,
    chunks_in_second: Vec<u32>,
    /// Requests that came minus requests that had gone, by second.
    change_in_second: Vec<i64>,
}

impl Summary {
    fn of(load: &Load) -> Summary {
        let mut summary = Summary {
            requests: 0,
            input_tokens: 0,
            output_tokens: 0,
            first_start_ns: 0,
            last_end_ns: 0,
            ttft: Vec::new(),
            tpot: Vec::new(),
            e2e: Vec::new(),
            itl: GapSummary::new(),
            chunks_in_second: Vec::new(),
            change_in_second: Vec::new(),
        };
        for request in load.requests() {
            if summary.reached(load.size) {
                break;
            }
            if summary.requests == 0 {
                summary.first_start_ns = request.start_ns;
            }
            summary.requests += 1;
            if request.ok() {
                summary.add(&request);
            }
        }
        let again = load.requests().take(summary.requests as usize).filter(Request::ok);
        summary.itl.settle(again.flat_map(|r| r.gaps()).map(|gap| gap.ns));
        summary
    }

    fn reached(&self, size: Size) -> bool {
        match size {
            Size::Bytes(bytes) => {
                let written = self.itl.count as f64 * BYTES_PER_GAP + self.requests as f64 * BYTES_PER_REQUEST;
                self.requests > 0 && written >= bytes as f64
            }
            Size::Gaps(gaps) => self.requests > 0 && self.itl.count >= gaps,
            Size::Requests { count, .. } => self.requests >= count,
        }
    }

    fn add(&mut self, request: &Request) {
        let mut end_ns = request.first_ns();
        self.chunk_at(end_ns);
        for gap in request.gaps() {
            self.itl.add(gap.ns);
            self.chunk_at(gap.at_ns);
            end_ns = gap.at_ns;
        }
        let (ttft, latency) = (request.ttft(), seconds(end_ns) - seconds(request.start_ns));
        self.ttft.push(ttft * 1e3);
        self.e2e.push(latency * 1e3);
        if request.output > 1 {
            self.tpot.push((latency - ttft) * 1e3 / f64::from(request.output - 1));
        }
        self.input_tokens += u64::from(request.prompt);
        self.output_tokens += u64::from(request.output);
        self.last_end_ns = self.last_end_ns.max(end_ns);
        let (came, gone) = (self.second(request.start_ns), self.second(end_ns) + 1);
        if self.change_in_second.len() <= gone {
            self.change_in_second.resize(gone + 64, 0);
        }
        self.change_in_second[came] += 1;
        self.change_in_second[gone] -= 1;
    }

    fn second(&self, ns: u64) -> usize {
        ((ns - self.first_start_ns) / S) as usize
    }

    fn chunk_at(&mut self, ns: u64) {
        let second = self.second(ns);
        if self.chunks_in_second.len() <= second {
            self.chunks_in_second.resize(second + 64, 0);
        }
        self.chunks_in_second[second] += 1;
    }

    fn most_at_once(&self) -> u64 {
        let now = self.change_in_second.iter().scan(0, |now, change| {
            *now += change;
            Some(*now)
        });
        now.max().unwrap_or(0).max(0) as u64
    }
}
