//! Walks the chunks table request by request, reading one column in batches of a row group.
//!
//! Chunks lie sorted by request, and the requests table says how many each has, so `at_ns` alone is read (and `tokens`
//! where it holds anything). Memory follows the batch and the longest request, not the table.

use crate::error::AnalysisError;
use crate::frames::{polars_error, table};
use crate::requests::Requests;
use crate::window::Window;
use polars::prelude::*;
use postrun_schema::{Dataset, Table};
use std::ops::Range;
use std::sync::mpsc::sync_channel;

const BATCH_ROWS: u64 = 1 << 20;

/// Times, and tokens where recorded.
type Batch = (Int64Chunked, Vec<Option<u16>>);

/// The chunks of one ok, measured request.
pub(crate) struct RequestChunks<'a> {
    pub request: usize,
    pub sent_ns: Option<i64>,
    /// Since the send; rising.
    pub at_ns: &'a [i64],
    /// As recorded; empty where no chunk says.
    pub tokens: &'a [Option<u16>],
    /// Mean tokens of a chunk.
    pub mean_tokens: f64,
    /// Mean tokens of a chunk after the first; 0 where the output length is not known.
    pub later_tokens: f64,
}

impl RequestChunks<'_> {
    /// Chunks inside a window; all of them for `None`.
    pub(crate) fn within(&self, window: Option<Window>) -> Range<usize> {
        match (window, self.sent_ns) {
            (None, _) => 0..self.at_ns.len(),
            (Some(_), None) => 0..0,
            (Some(w), Some(sent)) => {
                let start = self.at_ns.partition_point(|at| sent + at < w.start_ns);
                start..self.at_ns.partition_point(|at| sent + at <= w.end_ns).max(start)
            }
        }
    }

    /// Calls `each` with every slot of `width` since `origin` that has chunks, and their range. Chunks before the origin
    /// are passed over.
    pub(crate) fn split_by_time(&self, origin: i64, width: i64, mut each: impl FnMut(usize, Range<usize>)) {
        let mut from = self.at_ns.partition_point(|at| *at < origin);
        while let Some(at) = self.at_ns.get(from) {
            let slot = (at - origin) / width;
            let next = origin + (slot + 1) * width;
            let rest = &self.at_ns[from..];
            let to = from + rest.iter().position(|at| *at >= next).unwrap_or(rest.len());
            each(slot as usize, from..to);
            from = to;
        }
    }

    /// Output tokens that these chunks carried.
    pub(crate) fn tokens_in(&self, range: Range<usize>) -> f64 {
        match self.tokens.get(range.clone()) {
            Some(recorded) if !self.tokens.is_empty() => {
                recorded.iter().map(|t| t.map_or(self.mean_tokens, f64::from)).sum()
            }
            _ => range.len() as f64 * self.mean_tokens,
        }
    }
}

/// The chunks table of one run.
pub(crate) struct ChunkScan<'a> {
    dataset: &'a Dataset,
    requests: &'a Requests,
    frame: LazyFrame,
    rows: u64,
    tokens_recorded: bool,
}

impl<'a> ChunkScan<'a> {
    /// `None` if the run has no chunks.
    pub(crate) fn new(dataset: &'a Dataset, requests: &'a Requests) -> Result<Option<ChunkScan<'a>>, AnalysisError> {
        let Some(frame) = table(dataset, Table::Chunks)? else { return Ok(None) };
        let err = polars_error(dataset);
        let rows = dataset.rows(Table::Chunks);
        let expected: u64 = requests.chunks.iter().flatten().map(|n| u64::from(*n)).sum();
        if rows != expected {
            let label = dataset.manifest().label.clone();
            return Err(AnalysisError::ChunkCount { label, expected, found: rows });
        }
        let count = frame.clone().select([col("tokens").count().cast(DataType::UInt64)]).collect().map_err(&err)?;
        let known = count.column("tokens").and_then(|c| Ok(c.u64()?.get(0).unwrap_or(0))).map_err(&err)?;
        Ok(Some(ChunkScan { dataset, requests, frame, rows, tokens_recorded: known > 0 }))
    }

    /// False when every chunk carries exactly one token, so that gaps per token are the gaps.
    pub(crate) fn tokens_differ_from_chunks(&self) -> bool {
        let r = self.requests;
        self.tokens_recorded || (0..r.len()).any(|i| r.counts(i) && r.chunks[i] != r.output_tokens[i])
    }

    /// Calls `each` with every request that counts and has chunks, in order. The next batch is read meanwhile.
    pub(crate) fn run(&self, mut each: impl FnMut(&RequestChunks<'_>)) -> Result<(), AnalysisError> {
        std::thread::scope(|scope| {
            let (sender, batches) = sync_channel(1);
            scope.spawn(move || {
                let mut from = 0;
                while from < self.rows {
                    let take = BATCH_ROWS.min(self.rows - from);
                    let batch = self.batch(from, take);
                    let failed = batch.is_err();
                    if sender.send(batch).is_err() || failed {
                        return;
                    }
                    from += take;
                }
            });
            self.walk(batches.into_iter(), &mut each)
        })
    }

    fn walk(
        &self,
        batches: impl Iterator<Item = Result<Batch, AnalysisError>>,
        each: &mut impl FnMut(&RequestChunks<'_>),
    ) -> Result<(), AnalysisError> {
        let mut with_chunks = (0..self.requests.len())
            .filter_map(|i| self.requests.chunks[i].filter(|n| *n > 0).map(|n| (i, n as usize)));
        let mut current = with_chunks.next();
        // What a request has of the batches before, where it lies across their border.
        let (mut held_at, mut held_tokens): (Vec<i64>, Vec<Option<u16>>) = (Vec::new(), Vec::new());
        for batch in batches {
            let (at_ns, tokens) = batch?;
            let at_ns = at_ns.cont_slice().map_err(polars_error(self.dataset))?;
            let mut start = 0;
            while let Some((i, n)) = current {
                let end = (start + n - held_at.len()).min(at_ns.len());
                let part = tokens.get(start..end).unwrap_or_default();
                if held_at.is_empty() && end - start == n {
                    self.hand_out(i, &at_ns[start..end], part, each);
                } else {
                    held_at.extend_from_slice(&at_ns[start..end]);
                    held_tokens.extend_from_slice(part);
                    if held_at.len() < n {
                        break;
                    }
                    self.hand_out(i, &held_at, &held_tokens, each);
                    held_at.clear();
                    held_tokens.clear();
                }
                start = end;
                current = with_chunks.next();
            }
        }
        Ok(())
    }

    fn batch(&self, from: u64, take: u64) -> Result<Batch, AnalysisError> {
        let err = polars_error(self.dataset);
        let columns: Vec<Expr> = match self.tokens_recorded {
            true => vec![col("at_ns"), col("tokens").cast(DataType::UInt16)],
            false => vec![col("at_ns")],
        };
        let frame = self.frame.clone().select(columns).slice(from as i64, take as IdxSize);
        let df = frame.collect().map_err(&err)?;
        let at_ns = df.column("at_ns").and_then(|c| Ok(c.i64()?.rechunk().into_owned())).map_err(&err)?;
        if at_ns.null_count() > 0 {
            let label = self.dataset.manifest().label.clone();
            return Err(AnalysisError::NullChunks { label, nulls: at_ns.null_count() as u64 });
        }
        let tokens = match self.tokens_recorded {
            true => df.column("tokens").and_then(|c| Ok(c.u16()?.iter().collect())).map_err(&err)?,
            false => Vec::new(),
        };
        Ok((at_ns, tokens))
    }

    fn hand_out(&self, i: usize, at_ns: &[i64], tokens: &[Option<u16>], each: &mut impl FnMut(&RequestChunks<'_>)) {
        let r = self.requests;
        if !r.counts(i) {
            return;
        }
        let (chunks, out) = (at_ns.len() as f64, r.output_tokens[i].map_or(0.0, f64::from));
        let later_tokens = if chunks > 1.0 && out > 1.0 { (out - 1.0) / (chunks - 1.0) } else { 0.0 };
        each(&RequestChunks {
            request: i,
            sent_ns: r.sent_ns[i],
            at_ns,
            tokens,
            mean_tokens: out / chunks,
            later_tokens,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(at_ns: &[i64]) -> RequestChunks<'_> {
        RequestChunks { request: 0, sent_ns: Some(100), at_ns, tokens: &[], mean_tokens: 2.0, later_tokens: 2.0 }
    }

    #[test]
    fn windows_are_closed_and_slots_half_open() {
        let c = chunks(&[10, 20, 30, 40]);
        assert_eq!(c.within(Some(Window { start_ns: 120, end_ns: 130 })), 1..3);
        assert_eq!(c.within(Some(Window { start_ns: 500, end_ns: 600 })), 4..4);
        assert_eq!(c.within(None), 0..4);
        let mut seen = Vec::new();
        c.split_by_time(15, 15, |slot, range| seen.push((slot, range)));
        assert_eq!(seen, [(0, 1..2), (1, 2..4)]);
        assert_eq!(c.tokens_in(1..3), 4.0);
    }
}
