//! The rows of one run as its records come in: each is judged, its chunks are written, and it waits for the first send.

use super::extras::Extras;
use super::first_token::{FirstTokens, withhold};
use super::judge::judge;
use super::layer::Part;
use super::row_spool::RowSpool;
use super::sends::Sends;
use super::value::Judge;
use crate::error::IngestError;
use crate::json::Seconds;
use crate::sink::{Fingerprint, FinishedRun, RunSink};
use postrun_schema::{DatasetWriter, IssueCode, Issues, Manifest, RequestRow, Status, counted};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

const MILLISECOND_NS: i64 = 1_000_000;

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// When the chunks of a request came.
#[derive(Debug, Default, Clone)]
pub(crate) struct ChunkTimes {
    /// Since the send, rising.
    pub at_ns: Vec<i64>,
    /// Tokens of each chunk, or none where the source does not say.
    pub tokens: Vec<u32>,
}

impl ChunkTimes {
    /// From the first token and the gaps behind it, in a unit of which `per_second` make one. `None` where one gap is
    /// none: what came later would lie at the wrong time.
    pub(crate) fn after(
        ttft_ns: i64,
        gaps: &[Seconds],
        per_second: i64,
        key: &str,
        judge: &mut Judge<'_>,
    ) -> Option<ChunkTimes> {
        let mut at = ttft_ns;
        let mut at_ns = vec![at];
        for gap in gaps {
            at = at.saturating_add(judge.gap(key, *gap, per_second)?);
            at_ns.push(at);
        }
        Some(ChunkTimes { at_ns, tokens: Vec::new() })
    }
}

/// Sums over the requests that succeeded, and how many there were.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Totals {
    pub ok: u64,
    pub prompt_tokens: u64,
    pub output_tokens: u64,
}

/// Rows of a run that is being read. Points in time are the source's until [`RunRows::finish`].
pub(crate) struct RunRows {
    pub writer: DatasetWriter,
    pub issues: Issues,
    pub totals: Totals,
    /// The tool times first tokens, so that one that is missing is worth a word.
    pub ttft_recorded: bool,
    spool: RowSpool,
    rows: u64,
    sends: Sends,
    checksum: i64,
    /// By what a record is known, the record: eight bytes each, not the texts. Two that share a hash are one wrong word
    /// in billions.
    seen: HashMap<u64, u64>,
    first_tokens: FirstTokens,
    chunk_tokens: u64,
    chunks: u64,
}

/// What was written.
pub(crate) struct Written {
    pub writer: DatasetWriter,
    pub issues: Issues,
    pub requests: u64,
    /// What the client's clock showed at the first send.
    pub origin_ns: Option<i64>,
    /// And at the last event of any request.
    pub latest_ns: Option<i64>,
    pub fingerprint: Option<Fingerprint>,
}

impl RunRows {
    pub(crate) fn create(sink: &mut RunSink<'_>) -> Result<RunRows, IngestError> {
        let writer = sink.writer()?;
        let spool = RowSpool::create(writer.scratch_dir())?;
        Ok(RunRows {
            writer,
            issues: Issues::default(),
            totals: Totals::default(),
            ttft_recorded: true,
            spool,
            rows: 0,
            sends: Sends::default(),
            checksum: 0,
            seen: HashMap::new(),
            first_tokens: FirstTokens::default(),
            chunk_tokens: 0,
            chunks: 0,
        })
    }

    /// Rows so far.
    pub(crate) fn len(&self) -> u64 {
        self.rows
    }

    /// Takes the next request. Its points in time are on the source's clock, its durations final.
    pub(crate) fn push(
        &mut self,
        row: RequestRow,
        chunks: &ChunkTimes,
        place: &dyn Fn() -> String,
    ) -> Result<(), IngestError> {
        self.push_with(row, chunks, &Extras::default(), place)
    }

    /// The same, with numbers that no column holds.
    pub(crate) fn push_with(
        &mut self,
        mut row: RequestRow,
        chunks: &ChunkTimes,
        extras: &Extras,
        place: &dyn Fn() -> String,
    ) -> Result<(), IngestError> {
        if self.is_repeated(&row, chunks, place) {
            return Ok(());
        }
        self.count(&row);
        judge(&mut row, chunks.at_ns.len(), self.ttft_recorded, &mut Judge { issues: &mut self.issues, place });
        self.first_tokens.look_at(&row, place);
        self.weigh_chunks(&row, chunks, place);
        if !chunks.at_ns.is_empty() && row.ttft_ns.is_some() {
            let tokens = |i: u32| chunks.tokens.get(i as usize).and_then(|t| u16::try_from(*t).ok());
            row.chunks = Some(self.writer.push_chunks(self.rows as u32, chunks.at_ns.iter().copied(), tokens)?);
        }
        for (name, value) in extras.iter() {
            self.writer.push_extra(self.rows as u32, name, value)?;
        }
        if let Some(sent) = row.sent_ns {
            row.first_token_ns = row.first_token_ns.or(row.ttft_ns.map(|t| sent.saturating_add(t)));
            row.last_token_ns = row.last_token_ns.or(row.e2e_ns.map(|t| sent.saturating_add(t)));
            let end = row.stream_end_ns.map(|t| sent.saturating_add(t));
            row.end_ns = row.end_ns.or(end).or(row.last_token_ns);
            self.sends.add(sent, row.end_ns.unwrap_or(sent), row.status != Status::Ok);
        }
        for ns in [row.ttft_ns, row.e2e_ns, row.sent_ns].into_iter().flatten() {
            self.checksum = self.checksum.wrapping_add(ns);
        }
        self.rows += 1;
        self.spool.push(row)
    }

    /// Is it a record that was taken before? By its id, or where there is none by times that no two requests share.
    fn is_repeated(&mut self, row: &RequestRow, chunks: &ChunkTimes, place: &dyn Fn() -> String) -> bool {
        let fine = |ns: Option<i64>| ns.is_some_and(|ns| ns % MILLISECOND_NS != 0);
        let known_by_times = fine(row.sent_ns) && (fine(row.e2e_ns) || fine(row.stream_end_ns));
        let content = hash_of(&(format!("{row:?}"), &chunks.at_ns, &chunks.tokens));
        let key = match &row.request_id {
            Some(id) => hash_of(&(id, row.turn)),
            None if known_by_times => content,
            None => return false,
        };
        let first = match self.seen.entry(key) {
            Entry::Vacant(slot) => {
                slot.insert(content);
                return false;
            }
            Entry::Occupied(slot) => *slot.get(),
        };
        let name = || row.request_id.clone().unwrap_or_else(|| "sent and ended at the same times".to_string());
        let repeated = first == content;
        let code = if repeated { IssueCode::RepeatedRecord } else { IssueCode::DuplicateRequest };
        self.issues.add(code, place, name);
        repeated
    }

    fn count(&mut self, row: &RequestRow) {
        if row.status == Status::Ok {
            self.totals.ok += 1;
            self.totals.prompt_tokens += u64::from(row.prompt_tokens.unwrap_or(0));
            self.totals.output_tokens += u64::from(row.output_tokens.unwrap_or(0));
        }
    }

    fn weigh_chunks(&mut self, row: &RequestRow, chunks: &ChunkTimes, place: &dyn Fn() -> String) {
        let n = chunks.at_ns.len() as u64;
        let whole = row.status == Status::Ok && n > 0;
        let (Some(out), Some(_), true) = (row.output_tokens, row.ttft_ns, whole) else { return };
        self.chunk_tokens += u64::from(out);
        self.chunks += n;
        if out > 0 && n > u64::from(out) {
            let example = || format!("{} for {}", counted(n, "chunk"), counted(u64::from(out), "output token"));
            self.issues.add(IssueCode::MoreChunksThanTokens, place, example);
        }
    }

    /// Moves every point in time to the run's origin and writes the rows.
    pub(crate) fn finish(mut self, file: &str, family: &str) -> Result<Written, IngestError> {
        let span = self.sends.span();
        let origin = span.map(|span| span.origin_ns);
        let (writer, issues) = (&mut self.writer, &mut self.issues);
        let in_doubt = self.first_tokens.in_doubt();
        self.first_tokens.tell(issues);
        self.spool.drain(|mut row| {
            if in_doubt {
                withhold(&mut row);
            }
            let failed = row.status != Status::Ok;
            let refused = row.sent_ns.zip(span).and_then(|(sent, span)| span.refuses(sent, failed));
            if let Some(why) = refused {
                issues.add(IssueCode::ImplausibleTime, || file.to_string(), || why.to_string());
                (row.scheduled_send_ns, row.sent_ns) = (None, None);
                (row.first_token_ns, row.last_token_ns, row.end_ns) = (None, None, None);
            }
            let shift = |at: &mut Option<i64>| *at = at.zip(origin).map(|(at, origin)| at.saturating_sub(origin));
            let points = [
                &mut row.scheduled_send_ns,
                &mut row.sent_ns,
                &mut row.first_token_ns,
                &mut row.last_token_ns,
                &mut row.end_ns,
            ];
            points.into_iter().for_each(shift);
            Ok(writer.push_request(row)?)
        })?;
        let ratio = self.chunk_tokens as f64 / self.chunks.max(1) as f64;
        if self.chunks > 0 && ratio > 1.02 {
            let example = || format!("{ratio:.2} output tokens a chunk");
            self.issues.add(IssueCode::MultiTokenChunks, || file.to_string(), example);
        }
        let fingerprint = (self.rows > 0).then(|| Fingerprint {
            values: format!("{family}, {} requests", self.rows),
            requests: Some(self.checksum),
        });
        Ok(Written {
            writer: self.writer,
            issues: self.issues,
            requests: self.rows,
            origin_ns: origin,
            latest_ns: span.map(|span| span.latest_ns),
            fingerprint,
        })
    }
}

impl Written {
    /// Hands the run over. `shape` tells it from the others of its file.
    pub(crate) fn commit(
        self,
        sink: &mut RunSink<'_>,
        manifest: Manifest,
        shape: String,
        part: Option<Part>,
    ) -> Result<(), IngestError> {
        let finished = FinishedRun {
            manifest,
            issues: self.issues,
            requests: self.requests,
            label: None,
            shape,
            fingerprint: self.fingerprint,
            part,
        };
        sink.commit(self.writer, finished)
    }
}
