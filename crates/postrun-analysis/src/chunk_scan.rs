//! Walks the chunks table request by request, reading one column in small batches.
//!
//! Chunks lie sorted by request, and the requests table says how many each has, so `at_ns` alone is read (and `tokens`
//! where it holds anything). Memory follows the batch and the longest request, not the table.

use crate::error::AnalysisError;
use crate::requests::Requests;
use crate::window::Window;
use postrun_schema::{ChunkBatch, ChunkReader, Dataset, Table, is_single_processor};
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

/// Batches that may wait to be walked.
const BATCHES_AHEAD: usize = 4;

type Read = Result<ChunkBatch, AnalysisError>;

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
            // In steps that double: slots hold few chunks or many.
            let mut step = 1;
            while self.at_ns.get(from + step).is_some_and(|at| *at < next) {
                step *= 2;
            }
            let rest = &self.at_ns[from..self.at_ns.len().min(from + step)];
            let to = from + rest.partition_point(|at| *at < next).max(1);
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
    tokens_recorded: bool,
}

impl<'a> ChunkScan<'a> {
    /// `None` if the run has no chunks.
    pub(crate) fn new(dataset: &'a Dataset, requests: &'a Requests) -> Result<Option<ChunkScan<'a>>, AnalysisError> {
        let Some(reader) = ChunkReader::open(dataset)? else { return Ok(None) };
        let found = dataset.rows(Table::Chunks);
        let expected: u64 = requests.chunks.iter().flatten().map(|n| u64::from(*n)).sum();
        if found != expected {
            let label = dataset.manifest().label.clone();
            return Err(AnalysisError::ChunkCount { label, expected, found });
        }
        Ok(Some(ChunkScan { dataset, requests, tokens_recorded: reader.tokens_recorded()? }))
    }

    /// False when every chunk carries exactly one token, so that gaps per token are the gaps.
    pub(crate) fn tokens_differ_from_chunks(&self) -> bool {
        let r = self.requests;
        self.tokens_recorded || (0..r.len()).any(|i| r.counts(i) && r.chunks[i] != r.output_tokens[i])
    }

    /// True where it is known how many tokens each chunk carried.
    pub(crate) fn tokens_are_known(&self) -> bool {
        self.tokens_recorded || !self.tokens_differ_from_chunks()
    }

    /// Calls `each` with every request that counts and has chunks, in order. The next batches are read meanwhile, where there
    /// is a processor for that.
    pub(crate) fn run(&self, mut each: impl FnMut(&RequestChunks<'_>)) -> Result<(), AnalysisError> {
        if is_single_processor() {
            return self.run_inline(&mut each);
        }
        std::thread::scope(|scope| {
            let (sender, batches) = sync_channel(BATCHES_AHEAD);
            let (back, used) = channel();
            scope.spawn(move || {
                if let Err(e) = self.read(&sender, &used) {
                    // Nobody listens where the walk has failed already.
                    let _ = sender.send(Err(e));
                }
            });
            let mut walk = Walk::new(self);
            for batch in batches {
                let batch = batch?;
                walk.step(&batch, &mut each);
                // The reader may have ended; then the buffer is of no more use.
                let _ = back.send(batch);
            }
            Ok(())
        })
    }

    fn run_inline(&self, each: &mut impl FnMut(&RequestChunks<'_>)) -> Result<(), AnalysisError> {
        let Some(mut reader) = self.reader()? else { return Ok(()) };
        let (mut batch, mut walk) = (ChunkBatch::default(), Walk::new(self));
        while self.read_batch(&mut reader, &mut batch)? {
            walk.step(&batch, each);
        }
        Ok(())
    }

    fn reader(&self) -> Result<Option<ChunkReader>, AnalysisError> {
        let reader = ChunkReader::open(self.dataset)?;
        Ok(reader.map(|reader| reader.with_tokens(self.tokens_recorded)))
    }

    /// False at the end.
    fn read_batch(&self, reader: &mut ChunkReader, batch: &mut ChunkBatch) -> Result<bool, AnalysisError> {
        if !reader.read(batch)? {
            return Ok(false);
        }
        if batch.nulls > 0 {
            let label = self.dataset.manifest().label.clone();
            return Err(AnalysisError::NullChunks { label, nulls: batch.nulls });
        }
        Ok(true)
    }

    /// Sends every batch, in buffers that come back when they are walked.
    fn read(&self, sender: &SyncSender<Read>, used: &Receiver<ChunkBatch>) -> Result<(), AnalysisError> {
        let Some(mut reader) = self.reader()? else { return Ok(()) };
        let mut batch = ChunkBatch::default();
        while self.read_batch(&mut reader, &mut batch)? {
            if sender.send(Ok(batch)).is_err() {
                break;
            }
            batch = used.try_recv().unwrap_or_default();
        }
        Ok(())
    }

    fn hand_out(&self, i: usize, at_ns: &[i64], tokens: &[Option<u16>], each: &mut impl FnMut(&RequestChunks<'_>)) {
        let r = self.requests;
        // Of a stream whose first token is at no known time, the later ones are neither.
        let nowhere = r.ttft_ns[i].is_none() && r.streamed[i] == Some(true);
        if !r.counts(i) || nowhere {
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

/// Where a walk over the batches is.
struct Walk<'s, 'a> {
    scan: &'s ChunkScan<'a>,
    /// The request that comes next, and how many chunks it has.
    current: Option<(usize, usize)>,
    /// What it has of the batches before, where it lies across their border.
    held_at: Vec<i64>,
    held_tokens: Vec<Option<u16>>,
}

impl<'s, 'a> Walk<'s, 'a> {
    fn new(scan: &'s ChunkScan<'a>) -> Walk<'s, 'a> {
        let mut walk = Walk { scan, current: None, held_at: Vec::new(), held_tokens: Vec::new() };
        walk.current = walk.with_chunks(0);
        walk
    }

    /// The first request with chunks from `request` on.
    fn with_chunks(&self, request: usize) -> Option<(usize, usize)> {
        let chunks = self.scan.requests.chunks.iter().enumerate().skip(request);
        chunks.filter_map(|(i, n)| Some((i, n.filter(|n| *n > 0)? as usize))).next()
    }

    fn step(&mut self, batch: &ChunkBatch, each: &mut impl FnMut(&RequestChunks<'_>)) {
        let (at_ns, tokens) = (&batch.at_ns, &batch.tokens);
        let mut start = 0;
        while let Some((i, n)) = self.current {
            let end = (start + n - self.held_at.len()).min(at_ns.len());
            let part = tokens.get(start..end).unwrap_or_default();
            if self.held_at.is_empty() && end - start == n {
                self.scan.hand_out(i, &at_ns[start..end], part, each);
            } else {
                self.held_at.extend_from_slice(&at_ns[start..end]);
                self.held_tokens.extend_from_slice(part);
                if self.held_at.len() < n {
                    break;
                }
                self.scan.hand_out(i, &self.held_at, &self.held_tokens, each);
                self.held_at.clear();
                self.held_tokens.clear();
            }
            start = end;
            self.current = self.with_chunks(i + 1);
        }
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
