//! One request of the report.

use crate::client::body::{after_key, leading_number, quoted};
use crate::client::extras::Extras;
use crate::client::run_rows::ChunkTimes;
use crate::client::value::{self, Judge, TEXT_BYTES};
use crate::json::{JsonReader, Result, Seconds, Tree};
use postrun_schema::{Issues, RequestRow, Status};
use std::io::Read;

/// The request's body is JSON in a text; its settings stand before and behind a prompt of any length.
const BODY_BYTES: usize = 1 << 20;
const CHUNK_BYTES: usize = 1 << 16;
/// The report's word for a kind of media, and the number of them in a request.
const MEDIA: [(&str, &str); 3] = [("image", "images"), ("video", "videos"), ("audio", "audios")];

#[derive(Default)]
pub(super) struct Record {
    start: Tree,
    end: Tree,
    error: Tree,
    body: String,
    input_tokens: Tree,
    output_tokens: Tree,
    /// By kind, where the report speaks of media: how many the request had.
    media: Vec<(&'static str, Tree)>,
    usage: Tree,
    token_times: Option<Vec<Seconds>>,
    /// There is anything about the answer at all.
    answered: bool,
    /// One entry a token, not a chunk.
    times_are_tokens: bool,
    finish_reason: Option<String>,
}

impl Record {
    pub(super) fn read<R: Read>(reader: &mut JsonReader<R>) -> Result<Record> {
        let mut record = Record::default();
        reader.object(|reader, key| match key {
            "start_time" => reader.tree(64).map(|value| record.start = value),
            "end_time" => reader.tree(64).map(|value| record.end = value),
            "error" => reader.tree(TEXT_BYTES).map(|value| record.error = value),
            "request" if reader.peek()? == Some(b'"') => reader.string(BODY_BYTES).map(|value| record.body = value),
            "info" if reader.peek()? == Some(b'{') => {
                record.answered = true;
                reader.object(|reader, key| record.info(reader, key))
            }
            _ => reader.skip_value(),
        })?;
        Ok(record)
    }

    fn info<R: Read>(&mut self, reader: &mut JsonReader<R>, key: &str) -> Result<()> {
        match key {
            "input_tokens" => reader.tree(64).map(|value| self.input_tokens = value),
            "output_tokens" => reader.tree(64).map(|value| self.output_tokens = value),
            "output_token_times" => value::seconds(reader).map(|times| self.token_times = times),
            "request_metrics" if reader.peek()? == Some(b'{') => {
                self.media = MEDIA.iter().map(|(_, name)| (*name, Tree::Number("0".to_string()))).collect();
                reader.object(|reader, key| self.request_metrics(reader, key))
            }
            "response_metrics" if reader.peek()? == Some(b'{') => reader.object(|reader, key| match key {
                "output_tokens" => reader.tree(64).map(|value| self.output_tokens = value),
                "server_usage" => reader.tree(64).map(|value| self.usage = value),
                "output_token_times" => {
                    self.times_are_tokens = true;
                    self.token_times = value::seconds(reader)?;
                    Ok(())
                }
                "response_chunks" => reader.array(|reader| self.chunk(reader)).map(drop),
                _ => reader.skip_value(),
            }),
            _ => reader.skip_value(),
        }
    }

    fn request_metrics<R: Read>(&mut self, reader: &mut JsonReader<R>, key: &str) -> Result<()> {
        let kind = MEDIA.iter().position(|(kind, _)| *kind == key);
        match kind.and_then(|at| self.media.get_mut(at)) {
            Some((_, count)) if reader.peek()? == Some(b'{') => reader.object(|reader, key| match key {
                "count" => reader.tree(64).map(|value| *count = value),
                _ => reader.skip_value(),
            }),
            None if key == "text" && reader.peek()? == Some(b'{') => reader.object(|reader, key| match key {
                "input_tokens" if self.input_tokens == Tree::Null => {
                    reader.tree(64).map(|value| self.input_tokens = value)
                }
                _ => reader.skip_value(),
            }),
            _ => reader.skip_value(),
        }
    }

    fn chunk<R: Read>(&mut self, reader: &mut JsonReader<R>) -> Result<()> {
        if reader.peek()? != Some(b'"') {
            return reader.skip_value();
        }
        let chunk = reader.string(CHUNK_BYTES)?;
        if let Some(reason) = after_key(&chunk, "finish_reason").and_then(quoted) {
            self.finish_reason = Some(reason.to_string());
        }
        Ok(())
    }

    pub(super) fn counted_by_server(&self) -> bool {
        self.usage.get("completion_tokens").count().is_some()
    }

    /// Numbers that no column holds.
    pub(super) fn extras(&self, issues: &mut Issues, place: &dyn Fn() -> String) -> Extras {
        let (mut extras, judge) = (Extras::default(), &mut Judge { issues, place });
        self.media.iter().for_each(|(name, count)| extras.add(name, name, count, 1.0, judge));
        extras
    }

    pub(super) fn row(&self, issues: &mut Issues, place: &dyn Fn() -> String) -> (RequestRow, ChunkTimes) {
        let judge = &mut Judge { issues, place };
        let failed = self.error != Tree::Null;
        let sent = judge.point("start_time", &self.start);
        let end = judge.point("end_time", &self.end);
        let total = sent.zip(end).and_then(|(sent, end)| judge.plausible("end_time", end.saturating_sub(sent)));
        let chunks = match (failed, sent) {
            (false, Some(sent)) => self.chunks(sent, judge),
            _ => ChunkTimes::default(),
        };
        let last = chunks.at_ns.last().copied();
        let cached = self.usage.get("prompt_tokens_details").get("cached_tokens");
        let mut count = |key: &str, server: &Tree, client: &Tree| {
            let client = judge.count(key, client).filter(|n| *n > 0 || !failed);
            (judge.count(key, server).or(client), client)
        };
        let (prompt_tokens, client_prompt_tokens) =
            count("input_tokens", self.usage.get("prompt_tokens"), &self.input_tokens);
        let (output_tokens, client_output_tokens) =
            count("output_tokens", self.usage.get("completion_tokens"), &self.output_tokens);
        let (cached_tokens, _) = count("cached_tokens", cached, &Tree::Null);
        let row = RequestRow {
            model: after_key(&self.body, "model").and_then(quoted).map(String::from),
            status: if failed { Status::Error } else { Status::Ok },
            error: self.error_text(),
            finish_reason: self.finish_reason.clone(),
            // Times that are there and cannot be read say nothing of how the answer came.
            streamed: match (&self.token_times, last) {
                _ if failed || total.is_none() => None,
                (_, Some(_)) => Some(true),
                (Some(times), None) if !times.is_empty() => None,
                _ => self.answered.then_some(false),
            },
            prompt_tokens,
            cached_tokens,
            output_tokens,
            client_prompt_tokens,
            client_output_tokens,
            requested_output_tokens: after_key(&self.body, "max_tokens").and_then(leading_number),
            first_chunk_tokens: chunks.tokens.first().copied(),
            sent_ns: sent,
            end_ns: end,
            ttft_ns: chunks.at_ns.first().copied(),
            e2e_ns: last.or(total.filter(|_| !failed)),
            stream_end_ns: total.filter(|total| last.is_some_and(|last| *total > last)),
            ..RequestRow::default()
        };
        (row, chunks)
    }

    /// Chunks with their tokens: those that share a time came together.
    fn chunks(&self, sent: i64, judge: &mut Judge<'_>) -> ChunkTimes {
        let mut chunks = ChunkTimes::default();
        for time in self.token_times.iter().flatten() {
            let Seconds::Ns(at) = *time else {
                judge.gap("output_token_times", *time, 1);
                return ChunkTimes::default();
            };
            let before = chunks.at_ns.last().copied().unwrap_or(0);
            let since = at.saturating_sub(sent);
            if judge.plausible("output_token_times", since.saturating_sub(before)).is_none()
                || judge.plausible("output_token_times", since).is_none()
            {
                return ChunkTimes::default();
            }
            match chunks.tokens.last_mut() {
                Some(tokens) if self.times_are_tokens && since == before => *tokens += 1,
                _ => {
                    chunks.at_ns.push(since);
                    chunks.tokens.push(1);
                }
            }
        }
        if !self.times_are_tokens {
            chunks.tokens.clear();
        }
        chunks
    }

    fn error_text(&self) -> Option<String> {
        let part = |key: &str| self.error.get(key).text().map(String::from);
        let parts: Vec<String> = ["error_type", "error_msg"].into_iter().filter_map(part).collect();
        let whole = self.error.text().map(String::from);
        let text = whole.unwrap_or_else(|| parts.join(": "));
        value::text(&Tree::Text(text))
    }
}
