//! What the client saw over time, as curves: requests in flight, and tokens received so far.

use arrow_array::{Array, Int64Array, RecordBatch, StringArray, UInt32Array};
use postrun_schema::{PendingRun, SchemaError, Table, column};

/// Cells of the token curve; long runs get wider cells, never more of them.
const MOST_CELLS: i64 = 1 << 22;
const FINEST_CELL_NS: i64 = 1_000_000;
/// A year: nothing later is a time of a run.
const CREDIBLE_NS: i64 = 31_536_000_000_000_000;

/// One request of the client, as far as joining and aligning need it. Times since the run's origin.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientRequest {
    pub request_id: Option<String>,
    pub sent_ns: Option<i64>,
    pub ttft_ns: Option<i64>,
    /// Last token since send.
    pub e2e_ns: Option<i64>,
    /// End of the stream since the origin.
    pub end_ns: Option<i64>,
    pub prompt_tokens: Option<u32>,
    pub output_tokens: Option<u32>,
    pub first_chunk_tokens: Option<u32>,
    pub chunks: u32,
    /// Moments after the first at which chunks came: those that came together count once.
    pub arrivals: u32,
}

/// The client's side of a run.
pub(crate) struct ClientTrace {
    pub requests: Vec<ClientRequest>,
    /// `tokens[i]`: tokens received up to the end of cell `i`, over all requests.
    tokens: Vec<f64>,
    cell_ns: i64,
    /// Rising times at which the number in flight changes, and the level from there on.
    levels: Vec<(i64, i32)>,
}

/// Whose chunk comes next in the chunks table, and which. Chunks lie sorted, and each request says how many it has: a
/// dataset for one command has no other keys.
#[derive(Default)]
struct Place {
    request: usize,
    index: u32,
    /// When the chunk before came.
    before_ns: i64,
}

/// Chunks came together where they lie closer than the usual gap of their request by this.
const TOGETHER: i64 = 10;

impl ClientTrace {
    pub(crate) fn read(run: &PendingRun) -> Result<ClientTrace, SchemaError> {
        let mut requests = Vec::new();
        let names = [
            "request_id",
            "sent_ns",
            "ttft_ns",
            "e2e_ns",
            "end_ns",
            "prompt_tokens",
            "output_tokens",
            "first_chunk_tokens",
            "chunks",
        ];
        run.read(Table::Requests, &names, |batch| {
            read_requests(&batch, &mut requests);
            Ok(())
        })?;
        let mut trace = ClientTrace { requests, tokens: Vec::new(), cell_ns: FINEST_CELL_NS, levels: Vec::new() };
        if let Some(end) = trace.end_ns() {
            trace.cell_ns = FINEST_CELL_NS.max(end / MOST_CELLS + 1);
            trace.tokens = vec![0.0; (end / trace.cell_ns) as usize + 2];
            let mut place = Place::default();
            run.read(Table::Chunks, &["at_ns"], |batch| {
                trace.add_chunks(&batch, &mut place);
                Ok(())
            })?;
            trace.add_requests_without_chunks();
            trace.sum_up();
            trace.levels = levels(&trace.requests);
        }
        Ok(trace)
    }

    /// Of a run without a client.
    pub(crate) fn none() -> ClientTrace {
        ClientTrace { requests: Vec::new(), tokens: Vec::new(), cell_ns: FINEST_CELL_NS, levels: Vec::new() }
    }

    /// Of requests whose chunks are not known one by one.
    #[cfg(test)]
    pub(crate) fn of(requests: Vec<ClientRequest>) -> ClientTrace {
        let mut trace = ClientTrace { levels: levels(&requests), requests, ..ClientTrace::none() };
        let end = trace.end_ns().unwrap_or(0);
        trace.tokens = vec![0.0; (end / trace.cell_ns) as usize + 2];
        trace.add_requests_without_chunks();
        trace.sum_up();
        trace
    }

    /// From tokens in each cell to tokens so far.
    fn sum_up(&mut self) {
        let mut sum = 0.0;
        for cell in &mut self.tokens {
            sum += *cell;
            *cell = sum;
        }
    }

    /// Last moment of the run since its origin; `None` without points in time.
    pub(crate) fn end_ns(&self) -> Option<i64> {
        self.requests.iter().filter_map(|r| r.end_ns.or(r.last_ns())).filter(|ns| (0..CREDIBLE_NS).contains(ns)).max()
    }

    /// Usual time of an output token, which is a step of the engine or less.
    pub(crate) fn step_ns(&self) -> i64 {
        let step = |r: &ClientRequest| {
            Some(r.e2e_ns?.saturating_sub(r.ttft_ns?) / i64::from(r.output_tokens?.checked_sub(1)?).max(1))
        };
        let mut steps: Vec<i64> = self.requests.iter().filter_map(step).filter(|ns| *ns > 0).collect();
        steps.sort_unstable();
        steps.get(steps.len() / 2).copied().unwrap_or(0)
    }

    /// How long a token may have waited for others that came with it: none where each token came by itself.
    pub(crate) fn held_back_ns(&self) -> i64 {
        let held = |r: &ClientRequest| {
            let (arrivals, tokens) = (f64::from(r.arrivals), f64::from(r.output_tokens?.checked_sub(1)?));
            let lasted = r.e2e_ns?.saturating_sub(r.ttft_ns?) as f64;
            (arrivals > 0.0 && tokens > 0.0).then(|| (lasted / arrivals * (1.0 - arrivals / tokens).max(0.0)) as i64)
        };
        let mut all: Vec<i64> = self.requests.iter().filter_map(held).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or(0)
    }

    /// Tokens the client received in all.
    pub(crate) fn total_tokens(&self) -> f64 {
        self.tokens.last().copied().unwrap_or(0.0)
    }

    /// Tokens received until `at_ns`, linear inside a cell.
    pub(crate) fn tokens_until(&self, at_ns: i64) -> f64 {
        if at_ns <= 0 {
            return 0.0;
        }
        let cell = (at_ns / self.cell_ns) as usize;
        let Some(&until) = self.tokens.get(cell) else { return self.total_tokens() };
        let before = if cell == 0 { 0.0 } else { self.tokens[cell - 1] };
        before + (until - before) * (at_ns % self.cell_ns) as f64 / self.cell_ns as f64
    }

    /// The moment at which `tokens` had been received; `None` outside what was received.
    pub(crate) fn time_of(&self, tokens: f64) -> Option<i64> {
        if tokens <= 0.0 || tokens >= self.total_tokens() {
            return None;
        }
        let cell = self.tokens.partition_point(|sum| *sum < tokens);
        let before = if cell == 0 { 0.0 } else { self.tokens[cell - 1] };
        let share = (tokens - before) / (self.tokens.get(cell)? - before).max(1e-9);
        Some(cell as i64 * self.cell_ns + (share * self.cell_ns as f64) as i64)
    }

    /// Requests in flight at `at_ns`.
    pub(crate) fn in_flight(&self, at_ns: i64) -> i32 {
        match self.levels.partition_point(|(at, _)| *at <= at_ns) {
            0 => 0,
            n => self.levels[n - 1].1,
        }
    }

    fn add_chunks(&mut self, batch: &RecordBatch, place: &mut Place) {
        let Some(at_ns) = times(batch, "at_ns") else { return };
        for at in at_ns.values() {
            while self.requests.get(place.request).is_some_and(|r| r.chunks <= place.index) {
                *place = Place { request: place.request + 1, ..Place::default() };
            }
            let Some(r) = self.requests.get_mut(place.request) else { return };
            let tokens = if place.index == 0 { r.first_tokens() } else { r.tokens_of_later_chunk() };
            let gap = at.saturating_sub(place.before_ns);
            r.arrivals += u32::from(place.index > 0 && gap.saturating_mul(TOGETHER) >= r.usual_gap_ns());
            *place = Place { index: place.index + 1, before_ns: *at, ..*place };
            let Some(sent) = r.sent_ns else { continue };
            add(&mut self.tokens, self.cell_ns, sent.saturating_add(*at), tokens);
        }
    }

    /// Their tokens are spread evenly between first and last token, or stand at the end.
    fn add_requests_without_chunks(&mut self) {
        const STEPS: i64 = 64;
        for r in self.requests.iter().filter(|r| r.chunks == 0) {
            let (Some(last), Some(tokens)) = (r.last_ns(), r.output_tokens) else { continue };
            let first = r.sent_ns.zip(r.ttft_ns).map_or(last, |(sent, ttft)| sent.saturating_add(ttft)).min(last);
            for step in 0..STEPS {
                let at = first + (last - first) / STEPS * step;
                add(&mut self.tokens, self.cell_ns, at, f64::from(tokens) / STEPS as f64);
            }
        }
    }
}

impl ClientRequest {
    /// Last token since the origin.
    pub(crate) fn last_ns(&self) -> Option<i64> {
        self.sent_ns.zip(self.e2e_ns).map(|(sent, e2e)| sent.saturating_add(e2e))
    }

    /// Mean gap between its chunks.
    fn usual_gap_ns(&self) -> i64 {
        let lasted = self.e2e_ns.zip(self.ttft_ns).map_or(0, |(e2e, ttft)| e2e.saturating_sub(ttft));
        lasted / i64::from(self.chunks.saturating_sub(1)).max(1)
    }

    fn first_tokens(&self) -> f64 {
        f64::from(self.first_chunk_tokens.unwrap_or(1))
    }

    fn tokens_of_later_chunk(&self) -> f64 {
        match self.output_tokens {
            Some(out) if self.chunks > 1 => {
                (f64::from(out) - self.first_tokens()).max(0.0) / f64::from(self.chunks - 1)
            }
            _ => 1.0,
        }
    }
}

fn add(cells: &mut [f64], cell_ns: i64, at_ns: i64, tokens: f64) {
    if let Some(cell) = usize::try_from(at_ns / cell_ns).ok().and_then(|i| cells.get_mut(i)) {
        *cell += tokens;
    }
}

fn levels(requests: &[ClientRequest]) -> Vec<(i64, i32)> {
    let mut steps: Vec<(i64, i32)> = Vec::new();
    for r in requests {
        if let (Some(sent), Some(end)) = (r.sent_ns, r.end_ns.or(r.last_ns())) {
            steps.push((sent, 1));
            steps.push((end, -1));
        }
    }
    steps.sort_unstable();
    let mut level = 0;
    for (_, step) in &mut steps {
        level += *step;
        *step = level;
    }
    steps
}

fn times<'b>(batch: &'b RecordBatch, name: &str) -> Option<&'b Int64Array> {
    column(batch, name)
}

fn read_requests(batch: &RecordBatch, out: &mut Vec<ClientRequest>) {
    let time = |name: &str| times(batch, name);
    let count = |name: &str| column::<UInt32Array>(batch, name);
    let text = column::<StringArray>(batch, "request_id");
    let (sent, ttft, e2e, end) = (time("sent_ns"), time("ttft_ns"), time("e2e_ns"), time("end_ns"));
    let (prompt, output) = (count("prompt_tokens"), count("output_tokens"));
    let (first, chunks) = (count("first_chunk_tokens"), count("chunks"));
    for i in 0..batch.num_rows() {
        let ns = |column: Option<&Int64Array>| column.filter(|c| c.is_valid(i)).map(|c| c.value(i));
        let n = |column: Option<&UInt32Array>| column.filter(|c| c.is_valid(i)).map(|c| c.value(i));
        out.push(ClientRequest {
            request_id: text.filter(|c| c.is_valid(i)).map(|c| c.value(i).to_string()),
            sent_ns: ns(sent),
            ttft_ns: ns(ttft),
            e2e_ns: ns(e2e),
            end_ns: ns(end),
            prompt_tokens: n(prompt),
            output_tokens: n(output),
            first_chunk_tokens: n(first),
            chunks: n(chunks).unwrap_or(0),
            arrivals: 0,
        });
    }
}
