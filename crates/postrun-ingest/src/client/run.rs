//! One run in the making: records go in as they are read, rows come out when the first send is known.

use super::judge::judge;
use super::record::{Record, Texts};
use super::values::{MAX_DURATION_NS, Values};
use crate::error::IngestError;
use crate::sink::{Fingerprint, FinishedRun};
use postrun_schema::{
    ClockKind, DatasetWriter, IssueCode, Issues, Manifest, Phase, ReportedRow, RequestRow, SchemaError, Status,
};
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// A run is not longer than 115 days; a send time beyond is another clock's.
const MAX_RUN_NS: i64 = 10_000_000_000_000_000;
const MAX_TEXT_BYTES: usize = 1024;

/// Sums over the measured requests that succeeded, and how many there were.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    pub ok: u64,
    pub failed: u64,
    pub prompt_tokens: u64,
    pub output_tokens: u64,
}

/// Collects the requests of one run.
pub(crate) struct ClientRun {
    writer: DatasetWriter,
    records: Vec<Record>,
    pub issues: Issues,
    pub totals: Totals,
    ids: HashSet<u64>,
    /// The tool times first tokens, so that one that is missing is worth a word.
    pub ttft_recorded: bool,
    chunk_tokens: (u64, u64),
}

impl ClientRun {
    pub(crate) fn new(writer: DatasetWriter) -> ClientRun {
        ClientRun {
            writer,
            records: Vec::new(),
            issues: Issues::default(),
            totals: Totals::default(),
            ids: HashSet::new(),
            ttft_recorded: true,
            chunk_tokens: (0, 0),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Takes a request. `chunks` are the times since its send at which the client saw a token-bearing chunk.
    pub(crate) fn push(
        &mut self,
        mut record: Record,
        place: &dyn Fn() -> String,
        chunks: Option<&[i64]>,
    ) -> Result<(), SchemaError> {
        let chunks = chunks.filter(|at| !at.is_empty() && at.iter().all(|at| (0..=MAX_DURATION_NS).contains(at)));
        let mut values = Values { issues: &mut self.issues, place };
        judge(&mut record, &mut values, chunks.map(<[i64]>::len), self.ttft_recorded);
        self.count(&record, place, chunks.map_or(0, <[i64]>::len));
        if let (Some(at), true) = (chunks, record.streamed != Some(false)) {
            let key = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
            record.chunks = Some(self.writer.push_chunks(key, at.iter().copied(), |_| None)?);
        }
        self.records.push(record);
        Ok(())
    }

    fn count(&mut self, record: &Record, place: &dyn Fn() -> String, chunks: usize) {
        if let Some(id) = record.texts.as_ref().and_then(|t| t.request_id.as_ref()) {
            // Eight bytes an id, not the id: a clash of two hashes is one wrong word in billions.
            let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(id);
            if !self.ids.insert(hash) {
                self.issues.add(IssueCode::DuplicateRequest, place, || crate::json::shorten(id.clone(), 80));
            }
        }
        if record.phase != Phase::Measured {
            return;
        }
        match record.status {
            Status::Ok => {
                self.totals.ok += 1;
                self.totals.prompt_tokens += u64::from(record.prompt_tokens.unwrap_or(0));
                self.totals.output_tokens += u64::from(record.output_tokens.unwrap_or(0));
                if let (Some(tokens), true) = (record.output_tokens, chunks > 0) {
                    self.chunk_tokens.0 += u64::from(tokens);
                    self.chunk_tokens.1 += chunks as u64;
                    if tokens > 0 && chunks as u64 > u64::from(tokens) {
                        let example = || format!("{chunks} chunks for {tokens} output tokens");
                        self.issues.add(IssueCode::MoreChunksThanTokens, place, example);
                    }
                }
            }
            Status::Error => self.totals.failed += 1,
            Status::Cancelled | Status::Incomplete => {}
        }
    }

    /// Adds what the tool itself stored.
    pub(crate) fn reported(&mut self, figures: impl IntoIterator<Item = ReportedRow>) {
        figures.into_iter().for_each(|figure| self.writer.push_reported(figure));
    }

    /// Equal only for the same requests read twice.
    fn fingerprint(&self, tool: &str, shape: &str, origin: Option<i64>) -> Option<Fingerprint> {
        let time = |r: &Record| r.e2e_ns.or(r.stream_end_ns).or(r.ttft_ns).or(r.sent_at);
        let sum = |sum: i64, r: &Record| sum.wrapping_mul(31).wrapping_add(time(r).unwrap_or(0));
        self.records.iter().find_map(time)?;
        let values = format!("{tool} {shape} {:?} from {origin:?}", self.totals);
        Some(Fingerprint { values, requests: Some(self.records.iter().fold(0, sum)) })
    }

    /// Writes the rows. `manifest` is complete but for the origin of the client's clock, which is of `kind`.
    pub(crate) fn finish(
        mut self,
        mut manifest: Manifest,
        kind: ClockKind,
        file: &str,
        shape: String,
    ) -> Result<(DatasetWriter, FinishedRun), IngestError> {
        let origin = self.records.iter().filter_map(|r| r.sent_at).min();
        if let Some(origin) = origin {
            let client = &mut manifest.clocks.client;
            client.kind = kind;
            client.origin_source_ns = Some(origin);
            client.origin_unix_ns = (kind == ClockKind::Wall).then_some(origin);
        }
        let requests = self.records.len() as u64;
        let fingerprint = self.fingerprint(&manifest.tool.name, &shape, origin);
        for (i, record) in std::mem::take(&mut self.records).into_iter().enumerate() {
            let row = row(record, origin, &mut self.issues, &|| format!("{file}: request {i}"));
            self.writer.push_request(row)?;
        }
        let (tokens, chunks) = self.chunk_tokens;
        let ratio = tokens as f64 / chunks.max(1) as f64;
        if ratio > 1.02 {
            let example = || format!("{ratio:.2} output tokens a chunk");
            self.issues.add(IssueCode::MultiTokenChunks, || file.to_string(), example);
        }
        let finished = FinishedRun { manifest, issues: self.issues, requests, label: None, shape, fingerprint };
        Ok((self.writer, finished))
    }
}

fn row(record: Record, origin: Option<i64>, issues: &mut Issues, place: &dyn Fn() -> String) -> RequestRow {
    let texts: Texts = record.texts.map(|texts| *texts).unwrap_or_default();
    let short = |text: Option<String>| text.map(|t| crate::json::shorten(t, MAX_TEXT_BYTES));
    let mut row = RequestRow {
        request_id: short(texts.request_id),
        model: short(texts.model),
        session: short(texts.session),
        worker: short(texts.worker),
        error: short(texts.error),
        finish_reason: short(texts.finish_reason),
        turn: record.turn,
        stage: record.stage,
        phase: record.phase,
        status: record.status,
        streamed: record.streamed,
        prompt_tokens: record.prompt_tokens,
        cached_tokens: record.cached_tokens,
        output_tokens: record.output_tokens,
        reasoning_tokens: record.reasoning_tokens,
        requested_output_tokens: record.requested_output_tokens,
        ttft_ns: record.ttft_ns,
        e2e_ns: record.e2e_ns,
        stream_end_ns: record.stream_end_ns,
        queue_ns: record.queue_ns,
        prefill_ns: record.prefill_ns,
        decode_ns: record.decode_ns,
        chunks: record.chunks,
        ..RequestRow::default()
    };
    let (Some(at), Some(origin)) = (record.sent_at, origin) else { return row };
    let sent = at.saturating_sub(origin);
    if sent > MAX_RUN_NS {
        let example = || "sent more than 115 days after the first request".to_string();
        issues.add(IssueCode::ImplausibleTime, place, example);
        return row;
    }
    row.sent_ns = Some(sent);
    let scheduled = record.scheduled_at.map(|at| at.saturating_sub(origin));
    row.scheduled_send_ns = scheduled.filter(|at| at.saturating_abs() <= MAX_RUN_NS);
    row.first_token_ns = row.ttft_ns.map(|t| sent.saturating_add(t));
    row.last_token_ns = row.e2e_ns.map(|t| sent.saturating_add(t));
    row.end_ns = row.stream_end_ns.or(row.e2e_ns).map(|t| sent.saturating_add(t));
    row
}
