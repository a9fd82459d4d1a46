//! What a column can hold: the facts of a request, their names, and how each is written.

/// How the values of a fact are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Flag,
    /// Words that stand for one of several meanings.
    Words,
    Count,
    /// A point in time.
    Point,
    Duration,
    /// A list of durations.
    Durations,
    /// A list of points in time.
    Points,
    /// A list of counts.
    Counts,
}

impl Kind {
    /// Needs a unit.
    pub(crate) fn is_time(self) -> bool {
        matches!(self, Kind::Point | Kind::Duration | Kind::Durations | Kind::Points)
    }

    pub(crate) fn is_list(self) -> bool {
        matches!(self, Kind::Durations | Kind::Points | Kind::Counts)
    }
}

macro_rules! facts {
    ($($fact:ident, $name:literal, $kind:ident, [$($alias:literal),*];)*) => {
        /// A fact of a request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Fact { $($fact),* }

        /// Every fact, in the order a page lists them.
        pub(crate) const FACTS: &[Fact] = &[$(Fact::$fact),*];

        impl Fact {
            /// As a mapping calls it; columns of postrun's own have the unit behind it: `ttft_ms`.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Fact::$fact => $name),* }
            }

            pub(crate) fn kind(self) -> Kind {
                match self { $(Fact::$fact => Kind::$kind),* }
            }

            /// Other names that a column may carry.
            pub(crate) fn aliases(self) -> &'static [&'static str] {
                match self { $(Fact::$fact => &[$($alias),*]),* }
            }
        }
    };
}

facts! {
    Run, "run", Text, [];
    RequestId, "request_id", Text, [];
    Model, "model", Text, [];
    Session, "session", Text, [];
    Turn, "turn", Count, [];
    Worker, "worker", Text, [];
    Phase, "phase", Words, [];
    Status, "status", Words, ["success"];
    Error, "error", Text, [];
    FinishReason, "finish_reason", Text, [];
    Streamed, "streamed", Flag, [];
    PromptTokens, "prompt_tokens", Count, ["input_tokens"];
    CachedTokens, "cached_tokens", Count, [];
    OutputTokens, "output_tokens", Count, ["completion_tokens"];
    ReasoningTokens, "reasoning_tokens", Count, [];
    RequestedOutputTokens, "requested_output_tokens", Count, ["max_tokens"];
    FirstChunkTokens, "first_chunk_tokens", Count, [];
    Preemptions, "preemptions", Count, [];
    ScheduledSend, "scheduled_send", Point, [];
    Sent, "sent", Point, ["send"];
    FirstToken, "first_token", Point, [];
    LastToken, "last_token", Point, [];
    End, "end", Point, [];
    Ttft, "ttft", Duration, [];
    E2e, "e2e", Duration, [];
    StreamEnd, "stream_end", Duration, [];
    FirstByte, "first_byte", Duration, [];
    Queue, "queue", Duration, [];
    Prefill, "prefill", Duration, [];
    Decode, "decode", Duration, [];
    Inference, "inference", Duration, [];
    Gaps, "gaps", Durations, [];
    ChunkOffsets, "chunk_offsets", Durations, [];
    ChunkTimes, "chunk_times", Points, [];
    ChunkTokens, "chunk_tokens", Counts, [];
}

impl Fact {
    /// Tells how long something took.
    pub(crate) fn is_latency(self) -> bool {
        self.kind().is_list() && self != Fact::ChunkTokens
            || matches!(self, Fact::Ttft | Fact::E2e | Fact::StreamEnd | Fact::FirstToken | Fact::LastToken | Fact::End)
    }
}
