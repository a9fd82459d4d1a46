//! What is known of one request, whatever definition is asked for, and which facts a recording lacks.

use super::load_curves::MOST_GAPS;
use crate::error::AnalysisError;
use crate::frames::each_frame;
use crate::requests::{Outcome, Requests};
use postrun_schema::{Dataset, Table};

/// One request. Times since its send, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RequestFacts {
    pub answered: bool,
    /// The answer came in one piece.
    pub whole: bool,
    pub first_chunk: Option<i64>,
    pub first_token: Option<i64>,
    pub last_token: Option<i64>,
    pub response_end: Option<i64>,
    /// From the intended send to the send.
    pub waited: Option<i64>,
    pub prompt: Option<u32>,
    pub output: Option<u32>,
    pub client_prompt: Option<u32>,
    pub client_output: Option<u32>,
    pub reasoning: Option<u32>,
    pub first_chunk_tokens: Option<u32>,
    pub chunks: Option<u32>,
    /// Chunks that the client counted without their times: with tokens, and of any kind.
    pub counted_chunks: Option<u32>,
    pub counted_events: Option<u32>,
    /// The client's own mean of the request.
    pub client_itl: Option<i64>,
    /// The limit asked for.
    pub requested: Option<u32>,
    /// On the server's clock, of which they are durations.
    pub prefill: Option<i64>,
    pub decode: Option<i64>,
    /// From the first chunk to the second.
    pub second_gap: Option<i64>,
    /// The same points on the client's wall clock: intended send, send, end of the response.
    pub unix: [Option<i64>; 3],
}

/// A fact that a definition needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fact {
    FirstToken,
    LastToken,
    ResponseEnd,
    Schedule,
    SendTimes,
    WallClock,
    PromptTokens,
    OutputTokens,
    ClientPromptTokens,
    ClientOutputTokens,
    ChunkTimes,
    ChunkTokens,
    CountedChunks,
    CountedTokens,
    StreamMeans,
    RequestedTokens,
    Reasoning,
    AnswerStart,
    /// A number in the extras table.
    OwnNumber,
    /// When the measured phase began.
    MeasuredFrom,
    /// Curves are drawn at all.
    Curve,
    /// No more gaps than fit into memory.
    RoomForGaps,
}

impl Fact {
    /// In words, for "… not recorded".
    pub(crate) fn words(self) -> &'static str {
        match self {
            Fact::FirstToken => "the time of the first token",
            Fact::LastToken => "the time of the last token",
            Fact::ResponseEnd => "the end of each response (the file keeps the token chunks only)",
            Fact::Schedule => "when each request was meant to be sent",
            Fact::SendTimes => "send times",
            Fact::WallClock => "times on the wall clock",
            Fact::PromptTokens => "prompt tokens",
            Fact::OutputTokens => "output tokens",
            Fact::ClientPromptTokens => "prompt lengths of each request by the client's tokenizer",
            Fact::ClientOutputTokens => "output lengths of each request by the client's tokenizer",
            Fact::ChunkTimes => "chunk times",
            Fact::ChunkTokens => "the tokens of each chunk",
            Fact::Reasoning => "the tokens of the reasoning",
            Fact::AnswerStart => "when the first token after the reasoning came",
            Fact::CountedChunks => "the number of chunks of each stream",
            Fact::CountedTokens => "the tokens that the client counted while it streamed",
            Fact::RequestedTokens => "how many tokens were asked for",
            Fact::StreamMeans => "the mean of each request's gaps",
            Fact::OwnNumber => "this number of each request",
            Fact::MeasuredFrom => "when the client's measurement began",
            Fact::Curve => "curves over time",
            Fact::RoomForGaps => "few enough gaps between chunks to hold them all in memory",
        }
    }

    /// Why a figure cannot be had without it.
    pub(crate) fn why(self) -> String {
        match self {
            Fact::Curve => "of a curve over time, which `postrun parity` draws".to_string(),
            Fact::RoomForGaps => format!("a curve over more than {MOST_GAPS} gaps between chunks is not drawn"),
            _ => format!("not recorded: {}", self.words()),
        }
    }
}

/// Columns beyond those of [`Requests`]; one without values is empty.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    first_byte_ns: Vec<Option<i64>>,
    stream_end_ns: Vec<Option<i64>>,
    end_ns: Vec<Option<i64>>,
    last_token_ns: Vec<Option<i64>>,
    scheduled_send_ns: Vec<Option<i64>>,
    client_prompt: Vec<Option<u32>>,
    client_output: Vec<Option<u32>>,
    reasoning: Vec<Option<u32>>,
    first_chunk_tokens: Vec<Option<u32>>,
    counted_chunks: Vec<Option<u32>>,
    counted_events: Vec<Option<u32>>,
    client_itl: Vec<Option<i64>>,
    prefill: Vec<Option<i64>>,
    decode: Vec<Option<i64>>,
    requested: Vec<Option<u32>>,
    origin_unix_ns: Option<i64>,
    /// Some response is known to have ended at another time than its last token: then all ends are known.
    ends_known: bool,
}

type Of<T> = fn(&mut Columns) -> &mut Vec<Option<T>>;

const TIMES: [(&str, Of<i64>); 8] = [
    ("first_byte_ns", |c| &mut c.first_byte_ns),
    ("stream_end_ns", |c| &mut c.stream_end_ns),
    ("end_ns", |c| &mut c.end_ns),
    ("last_token_ns", |c| &mut c.last_token_ns),
    ("scheduled_send_ns", |c| &mut c.scheduled_send_ns),
    ("client_itl_ns", |c| &mut c.client_itl),
    ("prefill_ns", |c| &mut c.prefill),
    ("decode_ns", |c| &mut c.decode),
];

const COUNTS: [(&str, Of<u32>); 7] = [
    ("client_prompt_tokens", |c| &mut c.client_prompt),
    ("client_output_tokens", |c| &mut c.client_output),
    ("reasoning_tokens", |c| &mut c.reasoning),
    ("first_chunk_tokens", |c| &mut c.first_chunk_tokens),
    ("counted_chunks", |c| &mut c.counted_chunks),
    ("counted_events", |c| &mut c.counted_events),
    ("requested_output_tokens", |c| &mut c.requested),
];

fn drop_unknown<T>(column: &mut Vec<Option<T>>) {
    if column.iter().all(Option::is_none) {
        *column = Vec::new();
    }
}

fn at<T: Copy>(column: &[Option<T>], i: usize) -> Option<T> {
    column.get(i).copied().flatten()
}

impl Columns {
    pub(crate) fn load(dataset: &Dataset) -> Result<Columns, AnalysisError> {
        let mut columns =
            Columns { origin_unix_ns: dataset.manifest().clocks.client.origin_unix_ns, ..Columns::default() };
        let names: Vec<&str> =
            TIMES.iter().map(|(name, _)| *name).chain(COUNTS.iter().map(|(name, _)| *name)).collect();
        each_frame(dataset, Table::Requests, &names, |df| {
            for (name, of) in TIMES {
                of(&mut columns).extend(df.column(name)?.i64()?.iter());
            }
            for (name, of) in COUNTS {
                of(&mut columns).extend(df.column(name)?.u32()?.iter());
            }
            Ok(())
        })?;
        // A column without a value takes no memory.
        TIMES.iter().for_each(|(_, of)| drop_unknown(of(&mut columns)));
        COUNTS.iter().for_each(|(_, of)| drop_unknown(of(&mut columns)));
        let n = columns.end_ns.len().max(columns.stream_end_ns.len());
        columns.ends_known = (0..n).any(|i| {
            let apart =
                at(&columns.end_ns, i).zip(at(&columns.last_token_ns, i)).is_some_and(|(end, last)| end != last);
            apart || at(&columns.stream_end_ns, i).is_some()
        });
        Ok(columns)
    }

    /// All that is known of request `i`.
    pub(crate) fn request(&self, r: &Requests, i: usize, second_gaps: &[Option<i64>]) -> RequestFacts {
        let answered = r.status[i] == Outcome::Ok;
        let whole = r.streamed[i] == Some(false);
        let sent = r.sent_ns[i];
        let end = at(&self.end_ns, i);
        let measured_end = end.zip(sent).map(|(end, sent)| end.saturating_sub(sent));
        let response_end = match (answered, whole, self.ends_known) {
            (true, true, _) => at(&self.stream_end_ns, i).or(r.e2e_ns[i]),
            (true, false, true) => at(&self.stream_end_ns, i).or(measured_end).or(r.e2e_ns[i]),
            (true, false, false) => None,
            (false, ..) => measured_end,
        };
        let scheduled = at(&self.scheduled_send_ns, i);
        let unix = |at: Option<i64>| at.zip(self.origin_unix_ns).map(|(at, origin)| origin.saturating_add(at));
        RequestFacts {
            answered,
            whole,
            first_chunk: at(&self.first_byte_ns, i),
            first_token: r.ttft_ns[i],
            last_token: r.e2e_ns[i],
            response_end,
            waited: sent.zip(scheduled).map(|(sent, at)| sent.saturating_sub(at)),
            prompt: r.prompt_tokens[i],
            output: r.output_tokens[i],
            client_prompt: at(&self.client_prompt, i),
            client_output: at(&self.client_output, i),
            reasoning: at(&self.reasoning, i),
            first_chunk_tokens: at(&self.first_chunk_tokens, i),
            chunks: r.chunks[i],
            counted_chunks: at(&self.counted_chunks, i),
            counted_events: at(&self.counted_events, i),
            client_itl: at(&self.client_itl, i),
            prefill: at(&self.prefill, i),
            decode: at(&self.decode, i),
            requested: at(&self.requested, i),
            second_gap: at(second_gaps, i),
            unix: [unix(scheduled), unix(sent), unix(end)],
        }
    }

    /// When a role-only chunk came, for gaps that begin with it.
    pub(crate) fn first_byte(&self, i: usize) -> Option<i64> {
        at(&self.first_byte_ns, i)
    }
}
