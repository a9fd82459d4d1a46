//! What a client's file says about one request.

use postrun_schema::{Phase, Status};

/// One request. Points in time are on the file's own clock, durations since the send; `None` where the file is silent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    pub texts: Option<Box<Texts>>,
    pub phase: Phase,
    pub status: Status,
    pub streamed: Option<bool>,
    pub turn: Option<u32>,
    pub stage: Option<u32>,
    pub prompt_tokens: Option<u32>,
    pub cached_tokens: Option<u32>,
    pub output_tokens: Option<u32>,
    pub reasoning_tokens: Option<u32>,
    pub requested_output_tokens: Option<u32>,
    /// When the load generator meant to send.
    pub scheduled_at: Option<i64>,
    pub sent_at: Option<i64>,
    pub ttft_ns: Option<i64>,
    /// To the last token; an end that may lie behind it is `stream_end_ns`.
    pub e2e_ns: Option<i64>,
    pub stream_end_ns: Option<i64>,
    pub queue_ns: Option<i64>,
    pub prefill_ns: Option<i64>,
    pub decode_ns: Option<i64>,
    /// Rows in the chunks table; set when the record is taken.
    pub chunks: Option<u32>,
}

/// What few requests have, or few formats.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    pub request_id: Option<String>,
    pub model: Option<String>,
    pub session: Option<String>,
    pub worker: Option<String>,
    pub error: Option<String>,
    pub finish_reason: Option<String>,
}

impl Record {
    /// The texts, made where there are none yet.
    pub(crate) fn texts(&mut self) -> &mut Texts {
        self.texts.get_or_insert_default()
    }

    /// Failed, with what the client wrote about it.
    pub(crate) fn fail(&mut self, error: Option<String>) {
        self.status = Status::Error;
        if error.is_some() {
            self.texts().error = error;
        }
    }
}
