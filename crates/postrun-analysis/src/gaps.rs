//! The chunks table: gaps between chunks in groups, and tokens over time, in two scans of one column.
//!
//! Chunks lie sorted by request, so the scan hands out one request's times at a time (`chunk_scan`). Pass one counts its
//! gaps in each group they belong to, pass two looks up the percentiles (`order_stats`). Groups are the prompt-length
//! buckets, which add up to the whole, the steady state, and the windows of the timeline.

use crate::chunk_scan::{ChunkScan, RequestChunks};
use crate::error::AnalysisError;
use crate::in_flight::seconds_axis;
use crate::order_stats::{Counter, Selection};
use crate::requests::Requests;
use crate::summary::Summary;
use crate::window::Window;
use postrun_schema::Dataset;
use std::ops::Range;

/// 4096 bins an octave where few groups are counted …
const FINE: u32 = 12;
/// … and 512 for the windows of a timeline.
const COARSE: u32 = 9;
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
    pub percentiles: &'a [f64],
}

/// Distributions of one kind of gap.
#[derive(Default, Clone)]
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
    let Some(scan) = ChunkScan::new(plan.dataset, plan.requests)? else { return Ok(None) };
    let per_token = scan.tokens_differ_from_chunks();
    let n_windows = plan.timeline.map_or(0, |(_, _, n)| n);
    let mut facts = ChunkFacts { window_tokens: vec![0.0; n_windows], ..ChunkFacts::default() };
    let mut rates = Rates::new(plan);
    let (mut chunk, mut token) = (Counters::new(plan), Counters::new(plan));
    let mut windows = vec![Counter::<COARSE>::new(); n_windows];
    let mut series = Series::default();
    scan.run(|chunks| {
        series.fill(plan, chunks, per_token);
        rates.add(plan, chunks, &series.windows, &mut facts);
        plan.groups(chunks, &series.windows, |group, range| match group {
            Group::Window(w) => windows[w].add_all(&series.gaps[range]),
            group => {
                chunk.counter(&group).add_all(&series.gaps[range.clone()]);
                if per_token {
                    series.tokens(range, |value, weight| token.counter(&group).add(value, weight));
                }
            }
        });
    })?;
    rates.finish(&mut facts);

    let (mut chunk, mut token) = (chunk.plan(plan.percentiles), token.plan(plan.percentiles));
    let mut windows: Vec<_> = windows.into_iter().map(|c| c.plan(&[50.0, 95.0, 99.0])).collect();
    scan.run(|chunks| {
        series.fill(plan, chunks, per_token);
        plan.groups(chunks, &series.windows, |group, range| match group {
            Group::Window(w) => windows[w].see_all(&series.gaps[range]),
            group => {
                chunk.selection(&group).see_all(&series.gaps[range.clone()]);
                if per_token {
                    series.tokens(range, |value, weight| token.selection(&group).see(value, weight));
                }
            }
        });
    })?;
    facts.chunk = chunk.finish(1.0);
    facts.token = if per_token { token.finish(NS_PER_PS) } else { facts.chunk.clone() };
    facts.windows = windows.into_iter().map(|s| s.finish(1.0)).collect();
    Ok(Some(facts))
}

/// Where a gap counts.
enum Group {
    Bucket(usize),
    Steady,
    Window(usize),
}

impl Plan<'_> {
    /// Calls `each` with every group that gaps of this request belong to, and their range. A gap belongs where its later
    /// chunk does.
    fn groups(
        &self,
        chunks: &RequestChunks<'_>,
        windows: &[(usize, Range<usize>)],
        mut each: impl FnMut(Group, Range<usize>),
    ) {
        let bucket = self.buckets[chunks.request].unwrap_or(0) as usize;
        each(Group::Bucket(bucket), gaps_of(chunks.within(self.window)));
        if self.steady.is_some() {
            each(Group::Steady, gaps_of(chunks.within(self.steady)));
        }
        windows.iter().for_each(|(window, range)| each(Group::Window(*window), gaps_of(range.clone())));
    }
}

/// Gaps that end in a range of chunks: the first chunk of a request ends none.
fn gaps_of(chunks: Range<usize>) -> Range<usize> {
    let end = chunks.end.saturating_sub(1);
    chunks.start.saturating_sub(1).min(end)..end
}

/// The gaps of one request.
#[derive(Default)]
struct Series {
    gaps: Vec<u64>,
    per_token: Vec<(u64, u64)>,
    /// Its chunks by timeline window.
    windows: Vec<(usize, Range<usize>)>,
}

impl Series {
    fn fill(&mut self, plan: &Plan<'_>, chunks: &RequestChunks<'_>, per_token: bool) {
        self.windows.clear();
        if let (Some((origin, width, n)), Some(sent)) = (plan.timeline, chunks.sent_ns) {
            chunks.split_by_time(origin - sent, width, |window, range| {
                if window < n {
                    self.windows.push((window, range));
                }
            });
        }
        self.gaps.clear();
        self.gaps.extend(chunks.at_ns.windows(2).map(|w| w[1].saturating_sub(w[0]).max(0) as u64));
        self.per_token.clear();
        if !per_token {
            return;
        }
        let value = |(k, gap): (usize, &u64)| {
            let recorded = chunks.tokens.get(k + 1).copied().flatten();
            let tokens = recorded.map_or(chunks.later_tokens, f64::from);
            let weight = recorded.map_or(u64::from(tokens > 0.0), u64::from);
            let ps = if weight > 0 { (*gap as f64 * PS / tokens).round() } else { 0.0 };
            (ps as u64, weight)
        };
        self.per_token.extend(self.gaps.iter().enumerate().map(value));
    }

    /// Values per token in `range`, each with the number of tokens it stands for.
    fn tokens(&self, range: Range<usize>, mut each: impl FnMut(u64, u64)) {
        self.per_token[range]
            .iter()
            .filter(|(_, weight)| *weight > 0)
            .for_each(|(value, weight)| each(*value, *weight));
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

struct Counters {
    buckets: Vec<Counter<FINE>>,
    steady: Counter<FINE>,
}

impl Counters {
    fn new(plan: &Plan<'_>) -> Counters {
        Counters { buckets: vec![Counter::new(); plan.n_buckets], steady: Counter::new() }
    }

    fn counter(&mut self, group: &Group) -> &mut Counter<FINE> {
        match group {
            Group::Bucket(b) => &mut self.buckets[*b],
            _ => &mut self.steady,
        }
    }

    fn plan(self, percentiles: &[f64]) -> Selections {
        let mut all = Counter::new();
        self.buckets.iter().for_each(|c| all.merge(c));
        let all = all.plan(percentiles);
        let mut buckets: Vec<_> = self.buckets.into_iter().map(|c| c.plan(percentiles)).collect();
        // The buckets add up to the whole: what it needs lies in theirs.
        buckets.iter_mut().for_each(|bucket| bucket.keep_also(&all));
        Selections { all, buckets, steady: self.steady.plan(percentiles) }
    }
}

struct Selections {
    all: Selection<FINE>,
    buckets: Vec<Selection<FINE>>,
    steady: Selection<FINE>,
}

impl Selections {
    fn selection(&mut self, group: &Group) -> &mut Selection<FINE> {
        match group {
            Group::Bucket(b) => &mut self.buckets[*b],
            _ => &mut self.steady,
        }
    }

    fn finish(mut self, scale: f64) -> GapSummaries {
        self.buckets.iter_mut().for_each(|bucket| self.all.take_from(bucket));
        GapSummaries {
            all: self.all.finish(scale),
            buckets: self.buckets.into_iter().map(|s| s.finish(scale)).collect(),
            steady: self.steady.finish(scale),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_belongs_to_its_later_chunk() {
        assert_eq!(gaps_of(0..4), 0..3);
        assert_eq!(gaps_of(2..4), 1..3);
        assert_eq!(gaps_of(0..1), 0..0);
        assert_eq!(gaps_of(0..0), 0..0);
        assert_eq!(gaps_of(4..4), 3..3);
    }
}
