//! One request as an ingestor hands it over: plain data, `None` where the source is silent.

/// Why a request is in the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Sent to warm the server up.
    Warmup,
    /// Part of the measurement.
    #[default]
    Measured,
    /// Sent after the measurement.
    Cooldown,
    /// A side probe.
    Probe,
}

impl Phase {
    /// As stored.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Warmup => "warmup",
            Phase::Measured => "measured",
            Phase::Cooldown => "cooldown",
            Phase::Probe => "probe",
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Status {
    /// Answered.
    #[default]
    Ok,
    /// Failed, refused or timed out.
    Error,
    /// Cancelled by the client.
    Cancelled,
    /// Still running when the recording ended.
    Incomplete,
}

impl Status {
    /// As stored.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Error => "error",
            Status::Cancelled => "cancelled",
            Status::Incomplete => "incomplete",
        }
    }
}

/// A row of the `requests` table. Field names and units are the columns'; see [`crate::Table::columns`].
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs)] // one field a column, documented there
pub struct RequestRow {
    pub request_id: Option<String>,
    pub model: Option<String>,
    pub session: Option<String>,
    pub turn: Option<u32>,
    pub worker: Option<String>,
    pub stage: Option<u32>,
    pub phase: Phase,
    pub status: Status,
    pub error: Option<String>,
    pub finish_reason: Option<String>,
    pub streamed: Option<bool>,
    pub prompt_tokens: Option<u32>,
    pub cached_tokens: Option<u32>,
    pub output_tokens: Option<u32>,
    pub reasoning_tokens: Option<u32>,
    pub requested_output_tokens: Option<u32>,
    pub first_chunk_tokens: Option<u32>,
    pub client_prompt_tokens: Option<u32>,
    pub client_output_tokens: Option<u32>,
    pub counted_chunks: Option<u32>,
    pub counted_events: Option<u32>,
    pub client_itl_ns: Option<i64>,
    pub scheduled_send_ns: Option<i64>,
    pub sent_ns: Option<i64>,
    pub first_token_ns: Option<i64>,
    pub last_token_ns: Option<i64>,
    pub end_ns: Option<i64>,
    pub ttft_ns: Option<i64>,
    pub e2e_ns: Option<i64>,
    pub stream_end_ns: Option<i64>,
    pub first_byte_ns: Option<i64>,
    pub arrival_ns: Option<i64>,
    pub queued_ns: Option<i64>,
    pub first_scheduled_ns: Option<i64>,
    pub server_first_token_ns: Option<i64>,
    pub server_last_token_ns: Option<i64>,
    pub queue_ns: Option<i64>,
    pub prefill_ns: Option<i64>,
    pub decode_ns: Option<i64>,
    pub inference_ns: Option<i64>,
    pub preemptions: Option<u32>,
    pub preempted_prefill_ns: Option<i64>,
    pub preempted_decode_ns: Option<i64>,
    pub chunks: Option<u32>,
}

/// What happened to a request inside the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// It came in.
    Arrived,
    /// It was put in the waiting queue.
    Queued,
    /// It entered the running batch for the first time.
    Scheduled,
    /// It was taken off the batch.
    Preempted,
    /// It entered the batch again.
    Resumed,
    /// Its first token was there.
    FirstToken,
    /// It was answered.
    Finished,
    /// It failed or was given up.
    Failed,
    /// The server started, or started again.
    ServerStarted,
}

impl EventKind {
    /// As stored.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Arrived => "arrived",
            EventKind::Queued => "queued",
            EventKind::Scheduled => "scheduled",
            EventKind::Preempted => "preempted",
            EventKind::Resumed => "resumed",
            EventKind::FirstToken => "first_token",
            EventKind::Finished => "finished",
            EventKind::Failed => "failed",
            EventKind::ServerStarted => "server_started",
        }
    }
}

/// A row of the `events` table.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// Key of the request, where it could be joined.
    pub request: Option<u32>,
    /// The server's id of the request.
    pub request_id: Option<String>,
    /// Server clock.
    pub at_ns: i64,
    /// What happened.
    pub kind: EventKind,
    /// `prefill` or `decode`, where recorded.
    pub phase: Option<&'static str>,
    /// As recorded.
    pub detail: Option<String>,
}
