//! The choices by which definitions of the same metric differ.
//!
//! A [`Recipe`] is a full set of them. [`POSTRUN`] is postrun's own; every other definition is that with some changed.

/// From when a latency counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Start {
    /// When the request was sent.
    Send,
    /// When it was meant to be sent.
    Schedule,
}

/// What ends the time to first token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum First {
    /// The first chunk that bears a token.
    Token,
    /// The first chunk of any kind, a role-only one included, where the recording tells it apart.
    Chunk,
}

/// What ends a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The last chunk that bears a token.
    LastToken,
    /// The end of the response: its last line, usage and closing mark included.
    Response,
    /// The latency that the client recorded, be it the one or the other.
    Recorded,
}

/// By how many tokens the time of a request is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Divisor {
    /// Those after the first chunk.
    AfterFirstChunk,
    /// All but one.
    AllButOne,
    /// All but one; an answer of one token takes no time per token.
    AllButOneElseZero,
    /// All.
    All,
}

/// From where the time per output token runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum From {
    /// From the first token.
    FirstToken,
    /// From the send, TTFT included.
    Start,
}

/// Which times inter-token latency is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Itl {
    /// Every gap between token-bearing chunks, pooled.
    ChunkGaps,
    /// The same, and the gap from a role-only chunk to the first token.
    AllChunkGaps,
    /// Every gap between tokens, those of one chunk at the same instant: all but one gap of a chunk are 0.
    TokenGaps,
    /// One mean a request: (end − first token) / tokens.
    RequestMean,
    /// One mean a request, as the client stored it, else: all gaps, TTFT as the first of them, by the number of chunks.
    RequestMeanWithTtft,
}

/// What an answer in one piece is for metrics of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whole {
    /// Nothing: it has no first token of its own.
    Left,
    /// Its TTFT is its latency, and its TPOT 0.
    Counted,
}

/// For how much a request counts in a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Once.
    Request,
    /// Once for every token its value is a mean over.
    Tokens,
    /// No request counts, but every level of a curve for as long as it lasts.
    Time,
}

/// What a request is for a number that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Absent {
    /// Nothing: it takes no part.
    Left,
    /// A 0 like any other.
    Zero,
}

/// What time is for a curve in which nothing goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Idle {
    /// Time like any other, with a level of 0.
    Counted,
    /// Nothing: a curve counts while a request is in its phase.
    Left,
}

/// How a percentile is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Linear between order statistics (type 7).
    Linear,
    /// The smallest value at which the summed shares reach the percentile.
    SummedShares,
    /// The value at rank ⌈n·p/100⌉, counted from 1.
    NearestRank,
    /// The value at index ⌊n·p/100⌋, counted from 0.
    FloorIndex,
    /// The value whose index is nearest to (n − 1)·p/100; of two equally near, the even one.
    NearestIndex,
}

/// How the spread is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spread {
    /// Divided by the count.
    Population,
    /// Divided by the count less one.
    Sample,
}

/// Whose token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lengths {
    /// The server's, where it sent them.
    Best,
    /// The client's own tokenizer's.
    Client,
    /// What the client counted while it streamed.
    Counted,
}

/// Which measured requests take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// Those that were answered.
    Ok,
    /// All, however they ended.
    All,
    /// Those that were not answered.
    NotOk,
    /// All, and what was not answered took for ever.
    FailedForEver,
}

impl Which {
    /// Whether a measured request takes part that was answered, or was not.
    pub(crate) fn admits(self, answered: bool) -> bool {
        match self {
            Which::Ok => answered,
            Which::NotOk => !answered,
            Which::All | Which::FailedForEver => true,
        }
    }
}

/// How points in time are subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clock {
    /// Exactly.
    Exact,
    /// As floats of Unix nanoseconds, which keep 256 ns.
    FloatNanoseconds,
    /// As floats of Unix seconds, which keep 238 ns.
    FloatSeconds,
}

/// Over which time rates are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Span {
    /// The client's own measurement, else first send to last token.
    Measured,
    /// First send to last token of an answered request.
    LastToken,
    /// First send to last response of any request.
    LastResponse,
}

/// How a peak is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peak {
    /// Requests at one instant; tokens as each chunk carried them.
    Exact,
    /// Requests under way at any time of a second; every chunk one token.
    BySecond,
}

/// A definition as a set of choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // one field a choice, documented at its type
pub struct Recipe {
    pub start: Start,
    pub first: First,
    pub end: End,
    pub from: From,
    pub divisor: Divisor,
    pub itl: Itl,
    pub whole: Whole,
    pub weight: Weight,
    pub method: Method,
    pub spread: Spread,
    pub lengths: Lengths,
    pub which: Which,
    pub clock: Clock,
    pub span: Span,
    pub absent: Absent,
    pub idle: Idle,
    pub peak: Peak,
}

/// postrun's own.
pub const POSTRUN: Recipe = Recipe {
    start: Start::Send,
    first: First::Token,
    end: End::LastToken,
    from: From::FirstToken,
    divisor: Divisor::AfterFirstChunk,
    itl: Itl::ChunkGaps,
    whole: Whole::Left,
    weight: Weight::Request,
    method: Method::Linear,
    spread: Spread::Population,
    lengths: Lengths::Best,
    which: Which::Ok,
    clock: Clock::Exact,
    span: Span::Measured,
    absent: Absent::Left,
    idle: Idle::Counted,
    peak: Peak::Exact,
};
