//! The chunks table: gaps between chunks in groups, and tokens over time, in two scans of one column.
//!
//! Chunks lie sorted by request, and the requests table says how many each has, so `at_ns` alone is read (and
//! `tokens` where it holds anything). Batches are one row group; memory does not follow the table.

use crate::error::AnalysisError;
use crate::frames::{polars_error, table};
use crate::in_flight::{second, seconds_axis};
use crate::order_stats::{Counter, Selection};
use crate::requests::Requests;
use crate::summary::Summary;
use crate::window::Window;
use polars::prelude::*;
use postrun_schema::{Dataset, Table};

const BATCH_ROWS: u64 = 1 << 20;
/// 4096 bins an octave where few groups are counted …
const FINE: u32 = 12;
/// … and 512 for the windows of a timeline.
const COARSE: u32 = 9;
/// Values per token are counted in picoseconds, so that a fraction of a nanosecond is not lost.
const PS: f64 = 1000.0;
const NS_PER_PS: f64 = 1e-3;

/// What to count.
pub(crate) struct Plan<'a> {
    pub dataset: &'a Dataset,
    pub requests: &'a Requests,
    /// Bucket of each request.
    pub buckets: &'a [Option<u32>],
    pub n_buckets: usize,
    /// Only gaps and tokens inside it.
    pub window: Option<Window>,
    pub steady: Option<Window>,
    /// Origin, width and number of timeline windows.
    pub timeline: Option<(i64, i64, usize)>,
    pub percentiles: &'a [f64],
}

/// Distributions of one kind of gap.
#[derive(Default)]
pub(crate) struct GapSummaries {
    pub all: Option<Summary>,
    pub buckets: Vec<Option<Summary>>,
    pub steady: Option<Summary>,
}

/// What the chunks table says.
#[derive(Default)]
pub(crate) struct ChunkFacts {
    pub chunk: GapSummaries,
    pub token: GapSummaries,
    pub windows: Vec<Option<Summary>>,
    pub window_tokens: Vec<f64>,
    pub peak_tokens_per_s: Option<f64>,
    pub peak_chunks_per_s: Option<u64>,
    /// Tokens inside the window, or all.
    pub tokens: f64,
    pub steady_tokens: f64,
}

/// Reads the chunks table; `None` if the run has none.
pub(crate) fn read(plan: &Plan<'_>) -> Result<Option<ChunkFacts>, AnalysisError> {
    let Some(scan) = Scan::new(plan)? else { return Ok(None) };
    let mut facts = ChunkFacts::default();
    let per_token = scan.tokens_differ_from_chunks();
    let mut chunk = Counters::new(plan);
    let mut token = Counters::new(plan);
    let mut windows = vec![Counter::<COARSE>::new(); plan.timeline.map_or(0, |(_, _, n)| n)];
    let axis = seconds_axis(plan.requests);
    let mut seconds = vec![(0.0f64, 0u64); axis.map_or(0, |(_, n)| n)];
    facts.window_tokens = vec![0.0; windows.len()];

    scan.run(|seen| {
        if let Some(at) = seen.at_ns {
            if let Some(slot) = axis.and_then(|(origin, _)| seconds.get_mut(second(at, origin)?)) {
                slot.0 += seen.tokens;
                slot.1 += 1;
            }
            if let Some(sum) = plan.timeline_slot(at).and_then(|w| facts.window_tokens.get_mut(w)) {
                *sum += seen.tokens;
            }
            facts.steady_tokens += if seen.steady { seen.tokens } else { 0.0 };
        }
        if seen.inside {
            facts.tokens += seen.tokens;
        }
        let Some(gap) = seen.gap_ns else { return };
        if seen.inside || seen.steady {
            chunk.add(seen.bucket, seen.inside, seen.steady, gap, 1);
            if per_token {
                let (value, weight) = seen.per_token(gap);
                token.add(seen.bucket, seen.inside, seen.steady, value, weight);
            }
        }
        if let Some(counter) = seen.at_ns.and_then(|at| plan.timeline_slot(at)).and_then(|w| windows.get_mut(w)) {
            counter.add(gap, 1);
        }
    })?;
    facts.peak_tokens_per_s = seconds.iter().map(|s| s.0).reduce(f64::max).filter(|tokens| *tokens > 0.0);
    facts.peak_chunks_per_s = seconds.iter().map(|s| s.1).max().filter(|n| *n > 0);

    let mut chunk = chunk.plan(plan.percentiles);
    let mut token = token.plan(plan.percentiles);
    let mut windows: Vec<_> = windows.into_iter().map(|c| c.plan(&[50.0, 95.0, 99.0])).collect();
    scan.run(|seen| {
        let Some(gap) = seen.gap_ns else { return };
        if seen.inside || seen.steady {
            chunk.see(seen.bucket, seen.inside, seen.steady, gap, 1);
            if per_token {
                let (value, weight) = seen.per_token(gap);
                token.see(seen.bucket, seen.inside, seen.steady, value, weight);
            }
        }
        if let Some(selection) = seen.at_ns.and_then(|at| plan.timeline_slot(at)).and_then(|w| windows.get_mut(w)) {
            selection.see(gap, 1);
        }
    })?;
    facts.chunk = chunk.finish(1.0);
    facts.token = match per_token {
        true => token.finish(NS_PER_PS),
        false => facts.chunk.copy(),
    };
    facts.windows = windows.into_iter().map(|s| s.finish(1.0)).collect();
    Ok(Some(facts))
}

impl Plan<'_> {
    #[inline]
    fn timeline_slot(&self, at_ns: i64) -> Option<usize> {
        let (origin, width, _) = self.timeline?;
        usize::try_from((at_ns - origin).div_euclid(width)).ok()
    }
}

impl GapSummaries {
    fn copy(&self) -> GapSummaries {
        GapSummaries { all: self.all.clone(), buckets: self.buckets.clone(), steady: self.steady.clone() }
    }
}

/// One chunk as the scan sees it.
struct Seen {
    bucket: usize,
    /// In the measured scope.
    inside: bool,
    steady: bool,
    /// Since the first send, where send times are known.
    at_ns: Option<i64>,
    gap_ns: Option<u64>,
    tokens: f64,
    /// Tokens of this chunk if recorded, else the request's mean over its later chunks.
    gap_tokens: f64,
    tokens_known: bool,
}

impl Seen {
    /// The gap per token in picoseconds, and how often it counts.
    #[inline]
    fn per_token(&self, gap_ns: u64) -> (u64, u64) {
        if self.gap_tokens <= 0.0 {
            return (0, 0);
        }
        let ps = gap_ns as f64 * PS / self.gap_tokens;
        let weight = if self.tokens_known { self.gap_tokens as u64 } else { 1 };
        (ps.round().min(u64::MAX as f64) as u64, weight)
    }
}

struct Counters {
    buckets: Vec<Counter<FINE>>,
    steady: Counter<FINE>,
}

impl Counters {
    fn new(plan: &Plan<'_>) -> Counters {
        Counters { buckets: vec![Counter::new(); plan.n_buckets], steady: Counter::new() }
    }

    #[inline]
    fn add(&mut self, bucket: usize, inside: bool, steady: bool, value: u64, weight: u64) {
        if weight == 0 {
            return;
        }
        if inside {
            self.buckets[bucket].add(value, weight);
        }
        if steady {
            self.steady.add(value, weight);
        }
    }

    fn plan(self, percentiles: &[f64]) -> Selections {
        let mut all = Counter::new();
        self.buckets.iter().for_each(|c| all.merge(c));
        Selections {
            all: all.plan(percentiles),
            buckets: self.buckets.into_iter().map(|c| c.plan(percentiles)).collect(),
            steady: self.steady.plan(percentiles),
        }
    }
}

struct Selections {
    all: Selection<FINE>,
    buckets: Vec<Selection<FINE>>,
    steady: Selection<FINE>,
}

impl Selections {
    #[inline]
    fn see(&mut self, bucket: usize, inside: bool, steady: bool, value: u64, weight: u64) {
        if weight == 0 {
            return;
        }
        if inside {
            self.all.see(value, weight);
            self.buckets[bucket].see(value, weight);
        }
        if steady {
            self.steady.see(value, weight);
        }
    }

    fn finish(self, scale: f64) -> GapSummaries {
        GapSummaries {
            all: self.all.finish(scale),
            buckets: self.buckets.into_iter().map(|s| s.finish(scale)).collect(),
            steady: self.steady.finish(scale),
        }
    }
}

/// Walks the chunks of all ok, measured requests.
struct Scan<'a, 'b> {
    plan: &'b Plan<'a>,
    frame: LazyFrame,
    rows: u64,
    tokens_recorded: bool,
}

impl<'a, 'b> Scan<'a, 'b> {
    fn new(plan: &'b Plan<'a>) -> Result<Option<Scan<'a, 'b>>, AnalysisError> {
        let Some(frame) = table(plan.dataset, Table::Chunks)? else { return Ok(None) };
        let err = polars_error(plan.dataset);
        let rows = plan.dataset.rows(Table::Chunks);
        let expected: u64 = plan.requests.chunks.iter().flatten().map(|n| u64::from(*n)).sum();
        if rows != expected {
            let label = plan.dataset.manifest().label.clone();
            return Err(AnalysisError::ChunkCount { label, expected, found: rows });
        }
        let count = frame.clone().select([col("tokens").count().cast(DataType::UInt64)]).collect().map_err(&err)?;
        let known = count.column("tokens").and_then(|c| Ok(c.u64()?.get(0).unwrap_or(0))).map_err(&err)?;
        Ok(Some(Scan { plan, frame, rows, tokens_recorded: known > 0 }))
    }

    /// False when every chunk carries exactly one token, so that gaps per token are the gaps.
    fn tokens_differ_from_chunks(&self) -> bool {
        let r = self.plan.requests;
        self.tokens_recorded || (0..r.len()).any(|i| r.counts(i) && r.chunks[i] != r.output_tokens[i])
    }

    fn run(&self, mut each: impl FnMut(&Seen)) -> Result<(), AnalysisError> {
        let err = polars_error(self.plan.dataset);
        let mut walk = Walk::new(self.plan);
        let columns: Vec<Expr> = match self.tokens_recorded {
            true => vec![col("at_ns"), col("tokens").cast(DataType::UInt16)],
            false => vec![col("at_ns")],
        };
        let mut from = 0;
        while from < self.rows {
            let take = BATCH_ROWS.min(self.rows - from);
            let batch = self.frame.clone().select(columns.clone()).slice(from as i64, take as IdxSize);
            let df = batch.collect().map_err(&err)?;
            let at = df.column("at_ns").and_then(|c| c.i64()).map_err(&err)?;
            if at.null_count() > 0 {
                let label = self.plan.dataset.manifest().label.clone();
                return Err(AnalysisError::NullChunks { label, nulls: at.null_count() as u64 });
            }
            if self.tokens_recorded {
                let tokens = df.column("tokens").and_then(|c| c.u16()).map_err(&err)?;
                at.iter().zip(tokens.iter()).for_each(|(at, tokens)| walk.step(at.unwrap_or(0), tokens, &mut each));
            } else {
                for part in at.downcast_iter() {
                    part.values().iter().for_each(|at| walk.step(*at, None, &mut each));
                }
            }
            from += take;
        }
        Ok(())
    }
}

/// Where in the requests the scan is.
struct Walk<'a, 'b> {
    plan: &'b Plan<'a>,
    request: usize,
    left: u32,
    counts: bool,
    sent: Option<i64>,
    previous: Option<i64>,
    mean_tokens: f64,
    later_tokens: f64,
    seen: Seen,
}

impl<'a, 'b> Walk<'a, 'b> {
    fn new(plan: &'b Plan<'a>) -> Self {
        let seen = Seen {
            bucket: 0,
            inside: false,
            steady: false,
            at_ns: None,
            gap_ns: None,
            tokens: 0.0,
            gap_tokens: 1.0,
            tokens_known: false,
        };
        let mut walk = Walk {
            plan,
            request: 0,
            left: 0,
            counts: false,
            sent: None,
            previous: None,
            mean_tokens: 0.0,
            later_tokens: 1.0,
            seen,
        };
        walk.enter(0);
        walk
    }

    /// Goes to the first request from `from` on that has chunks.
    fn enter(&mut self, from: usize) {
        let r = self.plan.requests;
        let next = (from..r.len()).find(|i| r.chunks[*i].is_some_and(|n| n > 0));
        self.request = next.unwrap_or(r.len());
        self.previous = None;
        let Some(i) = next else { return };
        let chunks = r.chunks[i].unwrap_or(0);
        self.left = chunks;
        self.counts = r.counts(i);
        self.sent = r.sent_ns[i];
        self.seen.bucket = self.plan.buckets[i].unwrap_or(0) as usize;
        let out = r.output_tokens[i].map_or(0.0, f64::from);
        self.mean_tokens = out / f64::from(chunks);
        // 0: not known, so that its gaps count as chunks and not as tokens.
        self.later_tokens = if chunks > 1 && out > 1.0 { (out - 1.0) / f64::from(chunks - 1) } else { 0.0 };
    }

    #[inline]
    fn step(&mut self, at: i64, tokens: Option<u16>, each: &mut impl FnMut(&Seen)) {
        if self.left == 0 {
            self.enter(self.request + 1);
        }
        self.left = self.left.saturating_sub(1);
        if self.counts {
            let seen = &mut self.seen;
            seen.at_ns = self.sent.map(|sent| sent.saturating_add(at));
            seen.gap_ns = self.previous.and_then(|before| u64::try_from(at.saturating_sub(before)).ok());
            seen.tokens_known = tokens.is_some();
            (seen.tokens, seen.gap_tokens) = match tokens {
                Some(n) => (f64::from(n), f64::from(n)),
                None => (self.mean_tokens, self.later_tokens),
            };
            let within = |w: Window| seen.at_ns.is_some_and(|at| w.contains(at));
            seen.inside = self.plan.window.is_none_or(within);
            seen.steady = self.plan.steady.is_some_and(within);
            each(seen);
        }
        self.previous = Some(at);
    }
}
