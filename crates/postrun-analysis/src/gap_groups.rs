//! Which groups a gap counts in, and the counters that add up to them.
//!
//! A gap counts in the whole run, in its request's bucket, perhaps in the steady state, and in a window of the timeline.
//! A request is cut into pieces whose gaps share all of that; buckets are counted in halves, inside and outside of the
//! steady state. So each gap is counted once for the first three, whose counters are sums of halves.

use crate::chunk_scan::RequestChunks;
use crate::convention::recipe::Method;
use crate::gaps::{GapSummaries, Plan};
use crate::order_stats::{Counter, Selection};
use crate::shape::{self, GapBin};
use std::ops::Range;

/// All bins there are: see [`Counter`].
pub(crate) const FINE: u32 = 0;

/// Chunks of one request whose gaps belong together. A gap belongs where its later chunk does.
#[derive(Debug, PartialEq)]
pub(crate) struct Piece {
    /// The chunks between which the gaps lie.
    pub times: Range<usize>,
    /// The first chunk that belongs here, not only as the beginning of a gap.
    pub from: usize,
    /// Which of the [`Counters`], if any.
    pub cell: Option<usize>,
    /// Which window of the timeline, if any.
    pub window: Option<usize>,
}

impl Piece {
    /// The gaps, counted from 0 in the request.
    pub(crate) fn gaps(&self) -> Range<usize> {
        self.times.start..self.times.end.saturating_sub(1)
    }
}

/// The pieces of one request.
#[derive(Default)]
pub(crate) struct Pieces {
    pub pieces: Vec<Piece>,
    /// Its chunks by timeline window.
    pub windows: Vec<(usize, Range<usize>)>,
    borders: Vec<usize>,
}

impl Pieces {
    pub(crate) fn cut(&mut self, plan: &Plan<'_>, chunks: &RequestChunks<'_>) {
        self.windows.clear();
        if let (Some((origin, width, n)), Some(sent)) = (plan.timeline, chunks.sent_ns) {
            chunks.split_by_time(origin - sent, width, |window, range| {
                if window < n {
                    self.windows.push((window, range));
                }
            });
        }
        let scope = chunks.within(plan.window);
        let steady = plan.steady.map_or(0..0, |steady| chunks.within(Some(steady)));
        let bucket = plan.buckets[chunks.request].unwrap_or(0) as usize;
        self.borders.clear();
        self.borders.extend([0, chunks.at_ns.len(), scope.start, scope.end, steady.start, steady.end]);
        self.borders.extend(self.windows.iter().flat_map(|(_, range)| [range.start, range.end]));
        self.borders.sort_unstable();
        self.borders.dedup();
        self.pieces.clear();
        let mut windows = self.windows.iter().peekable();
        for (from, to) in self.borders.iter().zip(self.borders.iter().skip(1)) {
            while windows.next_if(|(_, range)| range.end <= *from).is_some() {}
            let window = windows.peek().filter(|(_, range)| range.contains(from)).map(|(window, _)| *window);
            let cell = cell(bucket, plan.n_buckets, scope.contains(from), steady.contains(from));
            self.pieces.push(Piece { times: from.saturating_sub(1)..*to, from: *from, cell, window });
        }
    }
}

impl Pieces {
    /// Where a chunk's own gap is counted.
    pub(crate) fn cell_of(&self, chunk: usize) -> Option<usize> {
        self.pieces.iter().find(|piece| (piece.from..piece.times.end).contains(&chunk))?.cell
    }
}

/// Where a gap is counted: two cells a bucket, and one for steady gaps outside the part that was asked for.
fn cell(bucket: usize, n_buckets: usize, in_scope: bool, in_steady: bool) -> Option<usize> {
    match (in_scope, in_steady) {
        (true, in_steady) => Some(2 * bucket + usize::from(in_steady)),
        (false, true) => Some(2 * n_buckets),
        (false, false) => None,
    }
}

/// The cells of each group: the whole, the steady state, then the buckets.
fn groups(n_buckets: usize) -> impl Iterator<Item = Vec<usize>> {
    let whole = (0..2 * n_buckets).collect();
    let steady = (0..n_buckets).map(|b| 2 * b + 1).chain([2 * n_buckets]).collect();
    [whole, steady].into_iter().chain((0..n_buckets).map(|b| vec![2 * b, 2 * b + 1]))
}

/// Pass one: a counter for each cell.
pub(crate) struct Counters {
    cells: Vec<Counter<FINE>>,
    n_buckets: usize,
}

impl Counters {
    pub(crate) fn new(plan: &Plan<'_>) -> Counters {
        Counters { cells: vec![Counter::new(); 2 * plan.n_buckets + 1], n_buckets: plan.n_buckets }
    }

    pub(crate) fn cell(&mut self, cell: usize) -> Option<&mut Counter<FINE>> {
        self.cells.get_mut(cell)
    }

    /// All gaps of the part that was asked for, in bins that can be drawn.
    pub(crate) fn bins(&self) -> Vec<GapBin> {
        let mut all = Counter::<FINE>::new();
        self.cells.iter().take(2 * self.n_buckets).for_each(|cell| all.merge(cell));
        shape::of_counts(all.counts())
    }

    pub(crate) fn plan(self, percentiles: &[f64], method: Method) -> Selections {
        let mut cells: Vec<Selection<FINE>> = self.cells.iter().map(|_| Selection::new()).collect();
        let mut selections = Vec::new();
        for group in groups(self.n_buckets) {
            let mut counter = Counter::new();
            group.iter().for_each(|cell| counter.merge(&self.cells[*cell]));
            let selection = counter.plan(percentiles, method);
            group.iter().for_each(|cell| cells[*cell].keep_also(&selection));
            selections.push((group, selection));
        }
        Selections { cells, groups: selections }
    }
}

/// Pass two: what each cell must keep for the groups that it is part of.
pub(crate) struct Selections {
    cells: Vec<Selection<FINE>>,
    groups: Vec<(Vec<usize>, Selection<FINE>)>,
}

impl Selections {
    pub(crate) fn cell(&mut self, cell: usize) -> Option<&mut Selection<FINE>> {
        self.cells.get_mut(cell)
    }

    pub(crate) fn finish(mut self, scale: f64) -> GapSummaries {
        let mut summaries = self.groups.into_iter().map(|(group, mut selection)| {
            group.iter().for_each(|cell| selection.take_from(&mut self.cells[*cell]));
            selection.finish(scale)
        });
        let (all, steady) = (summaries.next().flatten(), summaries.next().flatten());
        GapSummaries { all, steady, buckets: summaries.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convention::facts::Columns;
    use crate::gap_rule::GapRule;
    use crate::requests::Requests;
    use crate::server::tracks::Tracks;
    use crate::window::Window;

    #[test]
    fn a_gap_belongs_to_its_later_chunk() {
        let dir = tempfile::tempdir().unwrap();
        let dataset = crate::frames::tests::two_requests(&dir.path().join("two"));
        let plan = Plan {
            dataset: &dataset,
            requests: &Requests::default(),
            buckets: &[Some(3)],
            n_buckets: 5,
            window: Some(Window { start_ns: 120, end_ns: 150 }),
            steady: Some(Window { start_ns: 140, end_ns: 160 }),
            timeline: Some((115, 30, 2)),
            gaps_over_time: true,
            percentiles: &[],
            tracks: &Tracks::default(),
            rules: &[GapRule::default()],
            columns: &Columns::default(),
            second_gaps: false,
            pauses: false,
        };
        let at_ns = [10, 20, 30, 40, 50, 60, 90];
        let chunks = RequestChunks {
            request: 0,
            sent_ns: Some(100),
            at_ns: &at_ns,
            tokens: &[],
            mean_tokens: 1.0,
            later_tokens: 1.0,
        };
        let mut pieces = Pieces::default();
        pieces.cut(&plan, &chunks);
        let got: Vec<_> = pieces.pieces.iter().map(|p| (p.gaps(), p.cell, p.window)).collect();
        let expected = [
            (0..0, None, None),        // at 110: the first chunk ends no gap
            (0..2, Some(6), Some(0)),  // at 120 and 130: in scope, not steady
            (2..3, Some(7), Some(0)),  // at 140: in scope and steady
            (3..4, Some(7), Some(1)),  // at 150
            (4..5, Some(10), Some(1)), // at 160: steady, out of scope
            (5..6, None, None),        // at 190: beyond the timeline
        ];
        assert_eq!(got, expected);
    }
}
