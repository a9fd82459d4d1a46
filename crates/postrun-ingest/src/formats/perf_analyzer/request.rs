//! One request of the export: its reads, and what of them bore tokens.

use crate::client::answer::Answer;
use crate::client::body::{after_key, leading_number, quoted};
use crate::client::run_rows::ChunkTimes;
use crate::client::value::{self, Judge};
use crate::json::{JsonReader, Result, Tree};
use postrun_schema::{IssueCode, Issues, RequestRow, Status, counted};
use std::io::Read;

/// The request's body and one read of the network; what is longer is cut.
const TEXT_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Request {
    sent: Tree,
    sequence: Tree,
    inputs: Tree,
    times: Vec<Tree>,
    outputs: Vec<Tree>,
}

/// One read, joined with what of its last event came later.
struct Piece {
    at_ns: i64,
    /// Tokens where the read says how many.
    tokens: Option<u32>,
    content: bool,
}

impl Request {
    pub(super) fn read<R: Read>(reader: &mut JsonReader<R>) -> Result<Request> {
        let mut request = Request::default();
        reader.object(|reader, key| match key {
            "timestamp" => reader.tree(64).map(|value| request.sent = value),
            "sequence_id" => reader.tree(64).map(|value| request.sequence = value),
            "request_inputs" => reader.tree(TEXT_BYTES).map(|value| request.inputs = value),
            "response_timestamps" => list(reader, 64).map(|values| request.times = values),
            "response_outputs" => list(reader, TEXT_BYTES).map(|values| request.outputs = values),
            _ => reader.skip_value(),
        })?;
        Ok(request)
    }

    pub(super) fn row(&self, issues: &mut Issues, place: &dyn Fn() -> String) -> (RequestRow, ChunkTimes) {
        let judge = &mut Judge { issues, place };
        if self.times.len() != self.outputs.len() {
            let (times, outputs) = (self.times.len(), self.outputs.len());
            let example = || format!("{}, {}", counted(times as u64, "time"), counted(outputs as u64, "output"));
            judge.issues.add(IssueCode::ArrayLengthMismatch, place, example);
        }
        let sent_ns = judge.point_ns("timestamp", &self.sent);
        let mut said = Answer::default();
        let since = sent_ns.and_then(|sent| self.since_send(sent, judge)).unwrap_or_default();
        let pieces = self.pieces(&since, &mut said);
        let with_content: Vec<&Piece> = pieces.iter().filter(|piece| piece.content).collect();
        let (first, last) = (with_content.first().map(|p| p.at_ns), with_content.last().map(|p| p.at_ns));
        let end = since.last().copied();
        if self.times.is_empty() {
            said.error.get_or_insert_with(|| "no response".to_string());
        }
        let ok = said.error.is_none();
        let counted = with_content.iter().map(|piece| piece.tokens).sum::<Option<u32>>().filter(|n| *n > 0);
        let streamed = ok && !said.whole_body;
        let mut chunks = ChunkTimes::default();
        if streamed {
            chunks.at_ns = with_content.iter().map(|piece| piece.at_ns).collect();
            chunks.tokens = with_content.iter().filter_map(|piece| piece.tokens).collect();
        }
        let body = self.inputs.get("payload").text().unwrap_or_default();
        let session = value::text(self.inputs.get("session_id"));
        let sequence = self.sequence.integer().filter(|id| *id != 0).map(|id| id.to_string());
        let row = RequestRow {
            model: after_key(body, "model").and_then(quoted).map(String::from),
            session: session.or(sequence),
            status: if ok { Status::Ok } else { Status::Error },
            error: said.error,
            finish_reason: said.finish_reason,
            streamed: (ok && first.is_some()).then_some(!said.whole_body),
            prompt_tokens: said.prompt_tokens,
            cached_tokens: said.cached_tokens,
            output_tokens: said.output_tokens.or(counted),
            requested_output_tokens: ["max_completion_tokens", "max_tokens"]
                .iter()
                .find_map(|key| after_key(body, key).and_then(leading_number)),
            first_chunk_tokens: with_content.first().and_then(|piece| piece.tokens).filter(|_| streamed),
            sent_ns,
            end_ns: sent_ns.zip(end).map(|(sent, end)| sent.saturating_add(end)),
            ttft_ns: first.filter(|_| streamed),
            e2e_ns: last.filter(|_| ok),
            stream_end_ns: end.filter(|end| last.is_some_and(|last| *end > last)),
            first_byte_ns: since.first().copied().filter(|at| first.is_some_and(|first| *at < first)),
            ..RequestRow::default()
        };
        (row, chunks)
    }

    /// The times of the reads since the send; none where the clock stepped.
    fn since_send(&self, sent: i64, judge: &mut Judge<'_>) -> Option<Vec<i64>> {
        let mut out: Vec<i64> = Vec::with_capacity(self.times.len());
        for time in &self.times {
            let at = judge.point_ns("response_timestamps", time)?.saturating_sub(sent);
            let since_last = at.saturating_sub(out.last().copied().unwrap_or(0));
            judge.plausible("response_timestamps", since_last)?;
            out.push(judge.plausible("response_timestamps", at)?);
        }
        Some(out)
    }

    fn pieces(&self, since: &[i64], said: &mut Answer) -> Vec<Piece> {
        let mut texts: Vec<(i64, String)> = Vec::new();
        let mut pieces = Vec::new();
        for (at_ns, output) in since.iter().zip(&self.outputs) {
            match output.get("response").text() {
                Some(text) => {
                    let start = text.trim_start();
                    let opens = start.is_empty() || start.starts_with("data:");
                    match texts.last_mut() {
                        // A read that starts inside an event belongs to the read before it.
                        Some((_, before)) if !opens && before.trim_start().starts_with("data:") => {
                            before.push_str(text)
                        }
                        _ => texts.push((*at_ns, text.to_string())),
                    }
                }
                None => pieces.push(tensor(*at_ns, output)),
            }
        }
        pieces.extend(texts.into_iter().map(|(at_ns, text)| Piece { at_ns, tokens: None, content: said.hear(&text) }));
        pieces
    }
}

/// Outputs of a Triton model: ids are tokens, anything else that is not empty is content.
fn tensor(at_ns: i64, output: &Tree) -> Piece {
    let filled = |value: &Tree| match value {
        Tree::Text(text) => !text.is_empty(),
        Tree::List(list) => !list.is_empty(),
        Tree::Null => false,
        _ => true,
    };
    let ids = output.get("output_ids");
    let tokens = match ids {
        Tree::List(list) => u32::try_from(list.len()).ok(),
        Tree::Number(_) => Some(1),
        _ => None,
    };
    let text = output.get("text_output");
    let content = match (tokens, text) {
        (Some(n), _) => n > 0,
        (None, Tree::Null) => output.members().iter().any(|(_, value)| filled(value)),
        (None, text) => filled(text),
    };
    Piece { at_ns, tokens: tokens.filter(|n| *n > 0), content }
}

fn list<R: Read>(reader: &mut JsonReader<R>, keep: usize) -> Result<Vec<Tree>> {
    let mut out = Vec::new();
    reader.array(|reader| {
        out.push(reader.tree(keep)?);
        Ok(())
    })?;
    Ok(out)
}
