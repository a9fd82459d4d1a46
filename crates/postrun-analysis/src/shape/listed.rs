//! The requests worth naming: the slowest by several measures, those held up longest, the first that failed.

use super::Sources;
use crate::error::AnalysisError;
use crate::frames::each_frame;
use crate::requests::Outcome;
use crate::stall::Stall;
use postrun_schema::Table;
use std::collections::{BTreeMap, BTreeSet};

/// Requests listed by each measure.
const EACH: usize = 50;
const FAILED: usize = 50;
const BY: [&str; 5] = ["e2e_ms", "ttft_ms", "tpot_ms", "queue_ms", "prefill_ms"];

/// How a listed request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOutcome {
    /// Answered.
    Ok,
    /// Failed or cancelled.
    Failed,
    /// Still running at the end.
    Incomplete,
}

/// One request. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedRequest {
    /// Key in the dataset.
    pub request: u32,
    /// The client's or server's own id.
    pub request_id: Option<String>,
    /// How it ended.
    pub outcome: RequestOutcome,
    /// What was recorded of its failure.
    pub error: Option<String>,
    /// Since the first send.
    pub sent_ns: Option<i64>,
    /// Prompt tokens.
    pub prompt_tokens: Option<u32>,
    /// Output tokens.
    pub output_tokens: Option<u32>,
    /// Time to first token.
    pub ttft_ns: Option<f64>,
    /// Time per output token.
    pub tpot_ns: Option<f64>,
    /// End-to-end time.
    pub e2e_ns: Option<f64>,
    /// In the server's queue, as the server recorded it.
    pub queue_ns: Option<f64>,
    /// In prefill, as the server recorded it.
    pub prefill_ns: Option<f64>,
    /// In decode, as the server recorded it.
    pub decode_ns: Option<f64>,
    /// Its long pauses, of those that the run lists.
    pub pauses: Vec<Stall>,
}

pub(super) fn of(from: &Sources<'_>) -> Result<Vec<ListedRequest>, AnalysisError> {
    let r = from.requests;
    let mut wanted: BTreeSet<usize> = BTreeSet::new();
    for metric in BY {
        let Some(values) = r.metric(metric) else { continue };
        let mut rows: Vec<usize> = from.rows().filter(|i| values[*i].is_finite()).collect();
        let order = |i: &usize| (std::cmp::Reverse(values[*i].to_bits()), *i);
        // Times are not negative, so their bits rise with them.
        if rows.len() > EACH {
            rows.select_nth_unstable_by_key(EACH - 1, order);
            rows.truncate(EACH);
        }
        wanted.extend(rows);
    }
    let stalls = from.stalls.map_or(&[][..], |s| &s.longest);
    wanted.extend(stalls.iter().map(|s| s.request as usize).filter(|i| *i < r.len()).take(EACH));
    let failed = (0..r.len()).filter(|i| r.belongs(*i, from.window) && r.status[*i] != Outcome::Ok);
    wanted.extend(failed.take(FAILED));
    let mut texts = texts(from, &wanted)?;
    let mut out: Vec<ListedRequest> = wanted.into_iter().map(|i| row(from, i, stalls, &mut texts)).collect();
    let key = |row: &ListedRequest| row.e2e_ns.unwrap_or(-1.0);
    out.sort_by(|a, b| key(b).total_cmp(&key(a)).then(a.request.cmp(&b.request)));
    Ok(out)
}

type Texts = BTreeMap<u32, (Option<String>, Option<String>)>;

/// Id and error of the wanted requests.
fn texts(from: &Sources<'_>, wanted: &BTreeSet<usize>) -> Result<Texts, AnalysisError> {
    let mut out = Texts::new();
    if wanted.is_empty() {
        return Ok(out);
    }
    each_frame(from.dataset, Table::Requests, &["request", "request_id", "error"], |df| {
        let (ids, errors) = (df.column("request_id")?.str()?, df.column("error")?.str()?);
        for (i, request) in df.column("request")?.u32()?.iter().enumerate() {
            if let Some(request) = request.filter(|r| wanted.contains(&(*r as usize))) {
                out.insert(request, (ids.get(i).map(str::to_string), errors.get(i).map(str::to_string)));
            }
        }
        Ok(())
    })?;
    Ok(out)
}

fn row(from: &Sources<'_>, i: usize, stalls: &[Stall], texts: &mut Texts) -> ListedRequest {
    let r = from.requests;
    let value = |metric: &str| r.metric(metric).and_then(|v| v.get(i)).copied().filter(|v| v.is_finite());
    let (request_id, error) = texts.remove(&(i as u32)).unwrap_or_default();
    ListedRequest {
        request: i as u32,
        request_id,
        error,
        outcome: match r.status[i] {
            Outcome::Ok => RequestOutcome::Ok,
            Outcome::Failed => RequestOutcome::Failed,
            Outcome::Incomplete => RequestOutcome::Incomplete,
        },
        sent_ns: r.sent_ns[i].zip(r.first_send_ns()).map(|(sent, first)| sent - first),
        prompt_tokens: r.prompt_tokens[i],
        output_tokens: r.output_tokens[i],
        ttft_ns: value("ttft_ms"),
        tpot_ns: value("tpot_ms"),
        e2e_ns: value("e2e_ms"),
        queue_ns: value("queue_ms"),
        prefill_ns: value("prefill_ms"),
        decode_ns: value("decode_ms"),
        pauses: stalls.iter().filter(|s| s.request as usize == i).copied().collect(),
    }
}
