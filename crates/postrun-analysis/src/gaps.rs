//! The chunks table: gaps between chunks in groups, and tokens over time, in two scans of one column.
//!
//! Chunks lie sorted by request, so the scan hands out one request's times at a time (`chunk_scan`). Pass one counts its
//! gaps where they belong (`gap_groups`): in the whole, a prompt-length bucket, the steady state, a window of the
//! timeline. Pass two looks up the percentiles (`order_stats`).

use crate::chunk_scan::{ChunkScan, RequestChunks};
use crate::convention::facts::Columns;
use crate::convention::recipe::Method;
use crate::convention::weighted::respread;
use crate::error::AnalysisError;
use crate::gap_groups::{Counters, Piece, Pieces};
use crate::gap_rule::{ByRule, GapRule};
use crate::in_flight::seconds_axis;
use crate::moments::gap;
use crate::order_stats::{Counter, count_gaps, see_gaps};
use crate::requests::Requests;
use crate::server::tracks::Tracks;
use crate::shape::GapBin;
use crate::stall::{StallFindings, StallScan};
use crate::summary::Summary;
use crate::window::Window;
use postrun_schema::{Dataset, IssueCode};
use std::ops::Range;

/// 512 bins an octave are enough for the windows of a timeline, of which there are many.
const COARSE: u32 = 3;
/// Values per token are counted in picoseconds, so that a fraction of a nanosecond is not lost.
const PS: f64 = 1000.0;
const NS_PER_PS: f64 = 1e-3;
const SECOND_NS: i64 = 1_000_000_000;

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
    /// Whether gaps are counted by window of the timeline too.
    pub gaps_over_time: bool,
    pub percentiles: &'a [f64],
    /// Samples of the server, for the judgement of long pauses.
    pub tracks: &'a Tracks,
    /// Which gaps count: first for every group, then rules that are asked for of the whole run alone.
    pub rules: &'a [GapRule],
    /// Where a rule needs more than the chunks.
    pub columns: &'a Columns,
    /// Whether the first gap of each request is wanted by itself.
    pub second_gaps: bool,
    /// Whether long pauses are judged.
    pub pauses: bool,
}

/// Distributions of one kind of gap.
#[derive(Default, Clone)]
pub(crate) struct GapSummaries {
    pub all: Option<Summary>,
    pub buckets: Vec<Option<Summary>>,
    pub steady: Option<Summary>,
}

impl GapSummaries {
    fn map(self, change: impl Fn(Summary) -> Summary) -> GapSummaries {
        GapSummaries {
            all: self.all.map(&change),
            buckets: self.buckets.into_iter().map(|bucket| bucket.map(&change)).collect(),
            steady: self.steady.map(&change),
        }
    }
}

/// What the chunks table says.
#[derive(Default)]
pub(crate) struct ChunkFacts {
    pub chunk: GapSummaries,
    pub token: GapSummaries,
    /// Gaps between chunks, in bins.
    pub gap_bins: Vec<GapBin>,
    pub windows: Vec<Option<Summary>>,
    pub window_tokens: Vec<f64>,
    pub peak_tokens_per_s: Option<f64>,
    pub peak_chunks_per_s: Option<u64>,
    /// Tokens inside the window, or all.
    pub tokens: f64,
    pub steady_tokens: f64,
    /// Long pauses, where they were to be judged.
    pub stalls: Option<StallFindings>,
    /// The gaps of the whole run by each rule of the plan.
    pub by_rule: Vec<(GapRule, Option<Summary>)>,
    /// Whether it is known how many tokens each chunk carried.
    pub tokens_known: bool,
    /// From the first chunk of a request to its second, by request.
    pub second_gaps: Vec<Option<i64>>,
}

/// Reads the chunks table; `None` if the run has none.
pub(crate) fn read(plan: &Plan<'_>) -> Result<Option<ChunkFacts>, AnalysisError> {
    let Some(scan) = ChunkScan::new(plan.dataset, plan.requests)? else { return Ok(None) };
    let rule = plan.rules.first().copied().unwrap_or_default();
    let per_token = scan.tokens_differ_from_chunks() || rule != GapRule::default();
    let n_windows = plan.timeline.map_or(0, |(_, _, n)| n);
    let mut facts = ChunkFacts { window_tokens: vec![0.0; n_windows], ..ChunkFacts::default() };
    facts.tokens_known = scan.tokens_are_known();
    facts.second_gaps = vec![None; if plan.second_gaps { plan.requests.len() } else { 0 }];
    let mut by_rule: Vec<ByRule> = plan.rules.iter().skip(1).map(|rule| ByRule::new(*rule)).collect();
    let mut rates = Rates::new(plan);
    let (mut chunk, mut token) = (Counters::new(plan), Counters::new(plan));
    let mut windows = vec![Counter::<COARSE>::new(); if plan.gaps_over_time { n_windows } else { 0 }];
    let (mut cut, mut values) = (Pieces::default(), TokenValues::default());
    let manifest = plan.dataset.manifest();
    let smoothed = manifest.issues.iter().any(|i| i.code == IssueCode::SmoothedGaps);
    let mut stalls = plan.pauses.then(|| StallScan::new(plan.requests, smoothed, plan.window));
    scan.run(|chunks| {
        cut.cut(plan, chunks);
        stalls.iter_mut().for_each(|scan| scan.first(chunks));
        rates.add(plan, chunks, &cut.windows, &mut facts);
        if let ([first, second, ..], Some(slot)) = (chunks.at_ns, facts.second_gaps.get_mut(chunks.request)) {
            *slot = Some(second - first);
        }
        by_rule.iter_mut().for_each(|by_rule| by_rule.first(plan, chunks));
        rule.extra(plan.columns.first_byte(chunks.request), chunks, |at, gap, times| {
            if let Some(counter) = cut.cell_of(at).and_then(|cell| chunk.cell(cell)) {
                counter.add(gap, times);
            }
        });
        for piece in &cut.pieces {
            let cell = piece.cell.and_then(|cell| chunk.cell(cell));
            let window = piece.window.and_then(|w| windows.get_mut(w));
            count_gaps(&chunks.at_ns[piece.times.clone()], cell, window);
        }
        if per_token {
            values.fill(chunks);
            values.each(&cut.pieces, |cell, value, weight| {
                token.cell(cell).into_iter().for_each(|counter| counter.add(value, weight));
            });
        }
    })?;
    rates.finish(&mut facts);
    stalls.iter_mut().for_each(StallScan::between);

    facts.gap_bins = chunk.bins();
    by_rule.iter_mut().for_each(|by_rule| by_rule.between(plan));
    let (mut chunk, mut token) =
        (chunk.plan(plan.percentiles, rule.method()), token.plan(plan.percentiles, Method::Linear));
    let mut windows: Vec<_> = windows.into_iter().map(|c| c.plan(&[50.0, 95.0, 99.0], Method::Linear)).collect();
    scan.run(|chunks| {
        cut.cut(plan, chunks);
        stalls.iter_mut().for_each(|scan| scan.second(chunks));
        by_rule.iter_mut().for_each(|by_rule| by_rule.second(plan, chunks));
        rule.extra(plan.columns.first_byte(chunks.request), chunks, |at, gap, times| {
            if let Some(selection) = cut.cell_of(at).and_then(|cell| chunk.cell(cell)) {
                selection.see(gap, times);
            }
        });
        for piece in &cut.pieces {
            let cell = piece.cell.and_then(|cell| chunk.cell(cell));
            let window = piece.window.and_then(|w| windows.get_mut(w));
            see_gaps(&chunks.at_ns[piece.times.clone()], cell, window);
        }
        if per_token {
            values.fill(chunks);
            values.each(&cut.pieces, |cell, value, weight| {
                token.cell(cell).into_iter().for_each(|selection| selection.see(value, weight));
            });
        }
    })?;
    let uncertainty = manifest.clocks.server.as_ref().and_then(|c| c.offset_uncertainty_ns).unwrap_or(0);
    let track = |name: &str| plan.tracks.get(name).filter(|t| t.aligned);
    let judged = |scan: StallScan| scan.finish(track("preemptions_total"), track("kv_cache_usage"), uncertainty);
    facts.stalls = stalls.map(judged);
    facts.chunk = chunk.finish(1.0);
    facts.token = if per_token { token.finish(NS_PER_PS) } else { facts.chunk.clone() };
    facts.chunk = facts.chunk.map(|summary| respread(summary, &rule.0));
    facts.by_rule = by_rule.into_iter().map(ByRule::finish).collect();
    facts.by_rule.push((rule, facts.chunk.all.clone()));
    facts.windows = windows.into_iter().map(|s| s.finish(1.0)).collect();
    Ok(Some(facts))
}

/// The gaps of one request by the token, in picoseconds, each with the number of tokens it stands for.
#[derive(Default)]
struct TokenValues(Vec<(u64, u64)>);

impl TokenValues {
    fn fill(&mut self, chunks: &RequestChunks<'_>) {
        let gaps = chunks.at_ns.windows(2).map(|w| gap(w[0], w[1]));
        self.0.clear();
        self.0.extend(gaps.enumerate().map(|(k, gap)| {
            let recorded = chunks.tokens.get(k + 1).copied().flatten();
            let tokens = recorded.map_or(chunks.later_tokens, f64::from);
            let weight = recorded.map_or(u64::from(tokens > 0.0), u64::from);
            let ps = if weight > 0 { (gap as f64 * PS / tokens).round() } else { 0.0 };
            (ps as u64, weight)
        }));
    }

    /// Calls `each` with every value, its cell and its weight.
    fn each(&self, pieces: &[Piece], mut each: impl FnMut(usize, u64, u64)) {
        for piece in pieces {
            let Some(cell) = piece.cell else { continue };
            let values = self.0[piece.gaps()].iter().filter(|(_, weight)| *weight > 0);
            values.for_each(|(value, weight)| each(cell, *value, *weight));
        }
    }
}

/// Tokens and chunks over time.
struct Rates {
    axis: Option<(i64, usize)>,
    seconds: Vec<(f64, u64)>,
}

impl Rates {
    fn new(plan: &Plan<'_>) -> Rates {
        let axis = seconds_axis(plan.requests);
        Rates { axis, seconds: vec![(0.0, 0); axis.map_or(0, |(_, n)| n)] }
    }

    fn add(
        &mut self,
        plan: &Plan<'_>,
        chunks: &RequestChunks<'_>,
        windows: &[(usize, Range<usize>)],
        facts: &mut ChunkFacts,
    ) {
        facts.tokens += chunks.tokens_in(chunks.within(plan.window));
        if plan.steady.is_some() {
            facts.steady_tokens += chunks.tokens_in(chunks.within(plan.steady));
        }
        let Some(sent) = chunks.sent_ns else { return };
        if let Some((origin, _)) = self.axis {
            chunks.split_by_time(origin - sent, SECOND_NS, |second, range| {
                if let Some(slot) = self.seconds.get_mut(second) {
                    slot.0 += chunks.tokens_in(range.clone());
                    slot.1 += range.len() as u64;
                }
            });
        }
        for (window, range) in windows {
            facts.window_tokens[*window] += chunks.tokens_in(range.clone());
        }
    }

    fn finish(self, facts: &mut ChunkFacts) {
        facts.peak_tokens_per_s = self.seconds.iter().map(|s| s.0).reduce(f64::max).filter(|tokens| *tokens > 0.0);
        facts.peak_chunks_per_s = self.seconds.iter().map(|s| s.1).max().filter(|n| *n > 0);
    }
}
