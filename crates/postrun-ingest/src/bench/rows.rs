//! Turns the columns of one run into rows of the requests table, and places chunks that waited in the spool.

use super::arrays::ArrayRun;
use super::columns::{Columns, Gaps};
use super::facts;
use crate::client::first_token::{FirstTokens, is_late};
use crate::json::records::RecordError;
use postrun_schema::{DatasetWriter, IssueCode, Issues, RequestRow, Status, counted};

/// A first token this close to the end is the end.
const SAME_INSTANT_NS: i64 = 1_000_000;
/// Below this, last chunk and recorded latency differ by rounding only.
const ROUNDING_NS: i64 = 1_000;
/// No streamed chunk is expected to carry more tokens than this, unless the run's own chunks do.
const LARGEST_PLAUSIBLE_CHUNK_TOKENS: f64 = 16.0;

/// How a client's numbers are to be read.
pub(crate) struct RowPolicy {
    /// The client may take a role-only opening chunk for the first token.
    pub role_chunk_possible: bool,
    /// The client spread each gap over the tokens of its chunk: one entry a token, the first chunk has the rest.
    pub gaps_are_per_token: bool,
    /// `output_lens` holds what was asked for.
    pub output_is_requested: bool,
    /// Successes as the client counted them.
    pub completed: Option<u64>,
}

/// What was written.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Totals {
    pub requests: u64,
}

/// What all requests together say, before each is judged.
struct Overview {
    zero_output_is_success: bool,
    role_chunk: bool,
    nothing_streamed: bool,
    largest_chunk_tokens: f64,
    /// No request lasted longer, as far as anything tells.
    longest_ns: Option<i64>,
    first_tokens: FirstTokens,
}

impl Overview {
    /// The first token of a request, where it can be one.
    fn first_token(&self, columns: &Columns, i: usize) -> Option<i64> {
        let end = latency(columns, i).or(self.longest_ns);
        let withheld = |ttft: i64| self.first_tokens.in_doubt() && end.is_some_and(|end| is_late(ttft, end));
        first_token(columns, i).filter(|ttft| !withheld(*ttft))
    }
}

/// Writes all rows of `run`.
pub(crate) fn write_rows(
    run: &mut ArrayRun,
    file: &str,
    policy: &RowPolicy,
    writer: &mut DatasetWriter,
) -> Result<Totals, RecordError> {
    let n = run.columns.len();
    count_unequal_lengths(run, file, n);
    let overview = overview(run, file, policy, n);
    let placed = place_chunks(run, policy, &overview, writer)?;
    let (columns, issues) = (&run.columns, &mut run.issues);
    let mut at_once = vec![false; n];
    for (i, at_once) in at_once.iter_mut().enumerate() {
        let row = row(columns, issues, file, policy, &overview, &placed, i);
        *at_once = row.streamed == Some(false);
        writer.push_request(row)?;
    }
    if overview.role_chunk {
        let count = placed.rows.iter().flatten().count() as u64;
        issues.add_many(
            IssueCode::RoleOnlyFirstChunk,
            count,
            || file.to_string(),
            || format!("{count} streams have exactly one chunk more than output tokens"),
        );
    }
    count_tokens_per_chunk(columns, issues, file, policy, &at_once);
    overview.first_tokens.tell(issues);
    Ok(Totals { requests: n as u64 })
}

fn count_unequal_lengths(run: &mut ArrayRun, file: &str, n: usize) {
    for (key, len) in &run.columns.lengths {
        // Per-request facts of servers and caches are often shorter or absent; a gap there is no damage.
        if *len < n {
            let missing = (n - len) as u64;
            run.issues.add_many(
                IssueCode::ArrayLengthMismatch,
                missing,
                || format!("{file}: {key}"),
                || format!("{key} has {len} entries, the longest array has {n}"),
            );
        }
    }
}

fn overview(run: &ArrayRun, file: &str, policy: &RowPolicy, n: usize) -> Overview {
    let columns = &run.columns;
    let longest_ns = longest(run, n);
    let mut first_tokens = FirstTokens::default();
    let without_error = n - columns.errors.len();
    let mut streams = 0u64;
    let mut one_chunk_more = 0u64;
    let (mut later_tokens, mut later_chunks) = (0u64, 0u64);
    let (mut several_tokens, mut at_once) = (0u64, 0u64);
    for i in 0..n {
        let Some(ttft) = first_token(columns, i).filter(|_| !columns.errors.contains_key(&i)) else { continue };
        if let Some(end) = latency(columns, i).or(longest_ns) {
            first_tokens.look(ttft, end, || format!("{file}: request {i}"));
        }
        let Some(out) = columns.count("output_lens", i).filter(|out| *out > 0) else { continue };
        if let Some(Gaps::Known(gaps, _)) = columns.gaps.get(i).copied()
            && gaps > 0
        {
            streams += 1;
            one_chunk_more += u64::from(gaps == out);
            later_tokens += u64::from(out.saturating_sub(1));
            later_chunks += u64::from(gaps);
        }
        if out > 1 {
            several_tokens += 1;
            at_once += u64::from(ends_with_first_token(columns, i, ttft));
        }
    }
    let mean_chunk = if later_chunks > 0 { later_tokens as f64 / later_chunks as f64 } else { 1.0 };
    Overview {
        zero_output_is_success: policy.completed == Some(without_error as u64),
        role_chunk: policy.role_chunk_possible && streams > 0 && one_chunk_more == streams,
        nothing_streamed: several_tokens > 0 && at_once == several_tokens,
        largest_chunk_tokens: LARGEST_PLAUSIBLE_CHUNK_TOKENS.max(2.0 * mean_chunk),
        longest_ns,
        first_tokens,
    }
}

/// The longest that a request can have lasted: the run, by whatever of it is longest.
fn longest(run: &ArrayRun, n: usize) -> Option<i64> {
    let columns = &run.columns;
    let duration = facts::duration_ns(&run.scalars)?;
    let streams = (0..n).filter_map(|i| match columns.gaps.get(i) {
        Some(Gaps::Known(_, sum)) => Some(*sum),
        _ => None,
    });
    let sends = (0..n).filter_map(|i| {
        let (at, span) = (columns.time("start_times", i)?, columns.span()?);
        Some(at.saturating_sub(span.origin_ns)).filter(|_| span.refuses(at, columns.was_not_answered(i)).is_none())
    });
    streams.chain(sends).chain([duration]).max()
}

/// The recorded time of the first token; 0 is the value of a timer that never fired.
fn first_token(columns: &Columns, i: usize) -> Option<i64> {
    columns.time("ttfts", i).filter(|ns| *ns > 0)
}

fn latency(columns: &Columns, i: usize) -> Option<i64> {
    columns.time("latencies", i).filter(|ns| *ns > 0)
}

/// No gap after the first token, and the recorded end (if any) at the same instant.
fn ends_with_first_token(columns: &Columns, i: usize, ttft: i64) -> bool {
    let end = latency(columns, i);
    match columns.gaps.get(i) {
        Some(Gaps::Known(0, _)) => end.is_none_or(|end| (end - ttft).abs() <= SAME_INSTANT_NS),
        None if !columns.has_gaps => end.is_some_and(|end| (end - ttft).abs() <= SAME_INSTANT_NS),
        _ => false,
    }
}

/// Chunk rows by request, and the first gap where the first chunk carries no token.
struct Placed {
    rows: Vec<Option<u32>>,
    first_gap_ns: Vec<i64>,
}

fn place_chunks(
    run: &mut ArrayRun,
    policy: &RowPolicy,
    overview: &Overview,
    writer: &mut DatasetWriter,
) -> Result<Placed, RecordError> {
    let columns = &mut run.columns;
    let Some(spool) = columns.spool.take() else {
        return Ok(Placed { rows: std::mem::take(&mut columns.written_chunks), first_gap_ns: Vec::new() });
    };
    let mut placed = Placed { rows: Vec::new(), first_gap_ns: Vec::new() };
    spool.drain(|since_first| {
        let i = placed.rows.len();
        let (Some(ttft), false) = (overview.first_token(columns, i), since_first.is_empty()) else {
            placed.rows.push(None);
            placed.first_gap_ns.push(0);
            return Ok(());
        };
        let skip = usize::from(overview.role_chunk && since_first.len() > 1);
        let first_tokens = match (policy.gaps_are_per_token, columns.count("output_lens", i)) {
            (true, Some(out)) => Some(out.saturating_sub(since_first.len() as u32 - 1)),
            _ => None,
        };
        let tokens = |index: u32| match (first_tokens, index) {
            (None, _) => None,
            (Some(first), 0) => u16::try_from(first).ok(),
            (Some(_), _) => Some(1),
        };
        let times = since_first[skip..].iter().map(|at| ttft + at);
        placed.rows.push(Some(writer.push_chunks(i as u32, times, tokens)?));
        placed.first_gap_ns.push(since_first.get(skip).copied().unwrap_or(0));
        Ok(())
    })?;
    Ok(placed)
}

fn row(
    columns: &Columns,
    issues: &mut Issues,
    file: &str,
    policy: &RowPolicy,
    overview: &Overview,
    placed: &Placed,
    i: usize,
) -> RequestRow {
    let out = columns.count("output_lens", i);
    let gaps = columns.gaps.get(i).copied();
    let end = latency(columns, i);
    let recorded_first = overview.first_token(columns, i);
    let first = recorded_first.map(|ttft| ttft + placed.first_gap_ns.get(i).copied().unwrap_or(0));
    let at = || format!("{file}: request {i}");

    let error = columns.errors.get(&i).cloned();
    let silent = out == Some(0) && first.is_none() && end.is_none() && !overview.zero_output_is_success;
    let status = if error.is_some() || silent { Status::Error } else { Status::Ok };
    let ok = status == Status::Ok;
    if !ok {
        issues
            .add(IssueCode::FailedRequests, at, || error.clone().unwrap_or_else(|| "no output, no error text".into()));
    }

    let last = match (recorded_first, gaps) {
        (Some(ttft), Some(Gaps::Known(_, sum))) => Some(ttft + sum),
        _ => None,
    };
    let mut row = RequestRow {
        status,
        error,
        prompt_tokens: columns.count("input_lens", i),
        cached_tokens: columns.count("cached_tokens", i),
        output_tokens: out,
        ttft_ns: first,
        // The client's latency runs to its last token chunk or a little beyond; the chunks themselves come first.
        e2e_ns: last.or(end),
        chunks: placed.rows.get(i).copied().flatten(),
        queue_ns: columns.time("server_queue_times", i),
        prefill_ns: columns.time("server_ttfts", i),
        ..RequestRow::default()
    };
    if first != recorded_first {
        row.first_byte_ns = recorded_first;
    }
    if policy.output_is_requested {
        row.requested_output_tokens = out;
        row.output_tokens = None;
    }
    if policy.gaps_are_per_token
        && let (Some(out), Some(Gaps::Known(gaps, _)), Some(_)) = (out, gaps, first)
    {
        row.first_chunk_tokens = Some(out.saturating_sub(gaps));
    }
    if ok {
        judge(&mut row, issues, overview, (columns, i), end, at);
    }
    place_in_time(&mut row, issues, (columns, i), end, at);
    row
}

/// The oddities of a request that succeeded.
fn judge(
    row: &mut RequestRow,
    issues: &mut Issues,
    overview: &Overview,
    (columns, i): (&Columns, usize),
    end: Option<i64>,
    at: impl Fn() -> String,
) {
    let out = columns.count("output_lens", i).unwrap_or(0);
    let streamed_gaps = match columns.gaps.get(i) {
        Some(Gaps::Known(n, _)) => *n,
        _ => 0,
    };
    if streamed_gaps > 0 {
        row.streamed = Some(true);
    }
    let Some(ttft) = row.ttft_ns else {
        if columns.count("output_lens", i) == Some(0) {
            issues.add(IssueCode::NoOutput, &at, || "0 output tokens, no error".to_string());
            // Without a token there is no last one; when the answer ended is all that is known.
            row.stream_end_ns = row.e2e_ns.take();
        } else if out > 0 && columns.times.contains_key("ttfts") && first_token(columns, i).is_none() {
            issues.add(IssueCode::TtftNotMeasured, &at, || format!("{out} output tokens, TTFT 0 or not a time"));
        }
        if streamed_gaps > 0 {
            issues.add(IssueCode::GapsWithoutFirstToken, &at, || format!("{streamed_gaps} gaps"));
        }
        return;
    };
    if let Some(end) = end {
        if ttft > end {
            row.e2e_ns = Some(end);
        } else if let Some(last) = row.e2e_ns.filter(|last| end - last > ROUNDING_NS) {
            row.stream_end_ns = Some(end);
            if end - last > SAME_INSTANT_NS {
                issues.add(IssueCode::StreamEndAfterLastToken, &at, || {
                    format!("last token at {:.3} s, stream end at {:.3} s", last as f64 / 1e9, end as f64 / 1e9)
                });
            }
        }
    }
    let all_at_once = out > 1
        && ends_with_first_token(columns, i, ttft)
        && (overview.nothing_streamed || f64::from(out) > overview.largest_chunk_tokens);
    if all_at_once {
        issues.add(IssueCode::NotStreamed, &at, || format!("{out} output tokens in one piece at the end"));
        row.streamed = Some(false);
        row.e2e_ns = end.or(Some(ttft));
        row.ttft_ns = None;
    }
}

/// Points in time since the first send, where the client recorded when it sent.
fn place_in_time(
    row: &mut RequestRow,
    issues: &mut Issues,
    (columns, i): (&Columns, usize),
    end: Option<i64>,
    place: impl Fn() -> String,
) {
    let Some(at) = columns.time("start_times", i) else { return };
    let Some(span) = columns.span() else { return };
    if let Some(why) = span.refuses(at, columns.was_not_answered(i)) {
        issues.add(IssueCode::ImplausibleTime, place, || why.to_string());
        return;
    }
    let sent = at.saturating_sub(span.origin_ns);
    row.sent_ns = Some(sent);
    row.scheduled_send_ns = columns.time("queue_times", i).map(|wait| sent.saturating_sub(wait));
    row.first_token_ns = row.ttft_ns.map(|t| sent + t);
    row.last_token_ns = row.e2e_ns.map(|t| sent + t);
    row.end_ns = row.stream_end_ns.or(row.e2e_ns).or(end).map(|t| sent + t);
}

/// The client clock's reading at the first send.
pub(crate) fn origin(columns: &Columns) -> Option<i64> {
    columns.span().map(|span| span.origin_ns)
}

fn count_tokens_per_chunk(columns: &Columns, issues: &mut Issues, file: &str, policy: &RowPolicy, at_once: &[bool]) {
    let (mut tokens, mut chunks, mut more) = (0u64, 0u64, 0u64);
    let mut example = None;
    for (i, at_once) in at_once.iter().enumerate() {
        if *at_once || columns.errors.contains_key(&i) || first_token(columns, i).is_none() {
            continue;
        }
        if let (Some(Gaps::Known(gaps, _)), Some(out)) = (columns.gaps.get(i), columns.count("output_lens", i)) {
            tokens += u64::from(out);
            chunks += u64::from(*gaps) + 1;
            if out > 0 && gaps + 1 > out {
                more += 1;
                example.get_or_insert((i, gaps + 1, out));
            }
        }
    }
    if let Some((i, chunks, out)) = example
        && issues.count(IssueCode::RoleOnlyFirstChunk) == 0
    {
        issues.add_many(
            IssueCode::MoreChunksThanTokens,
            more,
            || format!("{file}: request {i}"),
            || format!("{} for {}", counted(chunks as u64, "chunk"), counted(u64::from(out), "output token")),
        );
    }
    let ratio = tokens as f64 / chunks.max(1) as f64;
    if policy.gaps_are_per_token {
        issues.add_many(
            IssueCode::SmoothedGaps,
            u64::from(chunks > 0),
            || file.to_string(),
            || "one gap a token, whatever the chunks were".to_string(),
        );
    } else if chunks > 0 && ratio > 1.02 {
        issues.add_many(
            IssueCode::MultiTokenChunks,
            1,
            || file.to_string(),
            || format!("{ratio:.2} output tokens a chunk"),
        );
    }
}
