//! One request of a report, nested (0.4 and newer) or flat (0.2 and 0.3).

use crate::client::extras::Extras;
use crate::client::value::{self, Judge};
use crate::json::Tree;
use postrun_schema::{Issues, RequestRow, Status};

/// Below this, two points in time differ by what a float of Unix seconds loses.
const FLOAT_NS: i64 = 1_000;
/// No streamed chunk is expected to carry more tokens than this.
const LARGEST_PLAUSIBLE_CHUNK_TOKENS: u32 = 16;

/// What a request counts of its texts, and the numbers that these become.
const TEXTS: &[(&str, &[(&str, &str)])] = &[
    (
        "input_metrics",
        &[
            ("text_tokens", "prompt_text_tokens"),
            ("text_words", "prompt_words"),
            ("text_characters", "prompt_characters"),
        ],
    ),
    (
        "output_metrics",
        &[
            ("text_tokens", "output_text_tokens"),
            ("text_words", "output_words"),
            ("text_characters", "output_characters"),
        ],
    ),
];

/// How the requests of a list ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended(Status);

impl Ended {
    /// By the name of the list.
    pub(super) fn of_list(list: &str) -> Option<Ended> {
        Some(Ended(match list {
            "successful" => Status::Ok,
            "errored" => Status::Error,
            "incomplete" => Status::Incomplete,
            _ => return None,
        }))
    }

    /// Numbers that no column holds.
    pub(super) fn extras(record: &Tree, issues: &mut Issues, place: &dyn Fn() -> String) -> Extras {
        let (mut extras, judge) = (Extras::default(), &mut Judge { issues, place });
        for (key, name, scale) in [
            ("time_to_last_round_trip_ms", "last_round_trip_ms", 1.0),
            ("avg_round_trip_time_ms", "mean_round_trip_ms", 1.0),
            ("turn_predecessor_delay", "predecessor_wait_ms", 1e3),
        ] {
            extras.add(name, key, record.get(key), scale, judge);
        }
        for (side, numbers) in TEXTS {
            for (key, name) in *numbers {
                extras.add(name, key, record.get(side).get(key), 1.0, judge);
            }
        }
        extras
    }

    pub(super) fn row(self, record: &Tree, issues: &mut Issues, place: &dyn Fn() -> String) -> RequestRow {
        let judge = &mut Judge { issues, place };
        let times = Times::of(record);
        let ok = self.0 == Status::Ok;
        let first = times.since_start(judge, times.first_token).filter(|ns| *ns > 0);
        let last = times.since_start(judge, times.last_token).filter(|ns| *ns > 0);
        let end = times.since_start(judge, times.end).filter(|ns| *ns > 0);
        let byte = times.since_start(judge, times.first_chunk);
        let info = record.get("info");
        let output_tokens = judge.count("output_tokens", record.get("output_tokens"));
        let point = |at: &Tree, judge: &mut Judge<'_>| judge.point("times", at).filter(|ns| *ns > 0);
        let mut row = RequestRow {
            request_id: value::text(record.get("response_id")).or_else(|| value::text(record.get("request_id"))),
            session: value::text(info.get("conversation_id")),
            turn: info.get("turn_index").count(),
            worker: worker(record),
            status: self.0,
            error: value::text(record.get("error")).or_else(|| value::text(info.get("error"))),
            prompt_tokens: judge.count("prompt_tokens", record.get("prompt_tokens")),
            cached_tokens: judge.count("cached_tokens", record.get("cached_tokens")),
            output_tokens,
            reasoning_tokens: times.no_reasoning().then_some(0),
            counted_chunks: times.chunks.count(),
            counted_events: times.events.count(),
            scheduled_send_ns: point(times.targeted, judge),
            sent_ns: point(times.start, judge),
            end_ns: point(times.end, judge),
            ttft_ns: first,
            e2e_ns: if ok { last.or(end) } else { last },
            streamed: first.is_some().then_some(true),
            ..RequestRow::default()
        };
        row.stream_end_ns = end.filter(|end| last.is_some_and(|last| end - last > FLOAT_NS));
        row.first_byte_ns = byte.filter(|byte| first.is_some_and(|first| first - byte > FLOAT_NS));
        let in_one_piece = first.is_some() && first == last && times.chunks.count().is_none_or(|n| n <= 1);
        let too_much = output_tokens.is_some_and(|n| n > LARGEST_PLAUSIBLE_CHUNK_TOKENS);
        if ok && ((in_one_piece && too_much) || (first.is_none() && last.is_none() && end.is_some())) {
            row.streamed = Some(false);
            row.ttft_ns = None;
        }
        row
    }
}

fn worker(record: &Tree) -> Option<String> {
    let info = record.get("info");
    let process = |tree: &Tree, key: &str| tree.get(key).integer();
    match (process(info, "scheduler_node_id"), process(info, "scheduler_process_id")) {
        (Some(node), Some(process)) => Some(format!("{node}.{process}")),
        _ => process(record.get("scheduler_info"), "process_id").filter(|id| *id >= 0).map(|id| id.to_string()),
    }
}

/// Points in time, Unix seconds in floats; −1 is one that never came.
struct Times<'a> {
    targeted: &'a Tree,
    start: &'a Tree,
    first_chunk: &'a Tree,
    first_token: &'a Tree,
    first_answer: &'a Tree,
    last_token: &'a Tree,
    end: &'a Tree,
    chunks: &'a Tree,
    events: &'a Tree,
}

impl<'a> Times<'a> {
    fn of(record: &'a Tree) -> Times<'a> {
        static NOTHING: Tree = Tree::Null;
        let nested = record.get("info").get("timings");
        if nested.members().is_empty() {
            let scheduler = record.get("scheduler_info");
            return Times {
                targeted: scheduler.get("targeted_start_time"),
                start: record.get("start_time"),
                first_chunk: &NOTHING,
                first_token: record.get("first_token_time"),
                first_answer: &NOTHING,
                last_token: record.get("last_token_time"),
                end: record.get("end_time"),
                chunks: &NOTHING,
                events: &NOTHING,
            };
        }
        let end = [nested.get("request_end"), nested.get("resolve_end")];
        Times {
            targeted: nested.get("targeted_start"),
            start: nested.get("request_start"),
            first_chunk: nested.get("first_request_iteration"),
            first_token: nested.get("first_token_iteration"),
            first_answer: nested.get("first_output_token_iteration"),
            last_token: nested.get("last_token_iteration"),
            end: end.into_iter().find(|at| **at != NOTHING).unwrap_or(&NOTHING),
            chunks: nested.get("token_iterations"),
            events: nested.get("request_iterations"),
        }
    }

    /// The answer begins with the first token.
    fn no_reasoning(&self) -> bool {
        self.first_token.number().is_some() && self.first_token.number() == self.first_answer.number()
    }

    /// As the client subtracts, in floats: rounded to nanoseconds first, the difference would be another one.
    fn since_start(&self, judge: &mut Judge<'_>, at: &Tree) -> Option<i64> {
        let known = |tree: &Tree| tree.number().filter(|v| *v > 0.0);
        let seconds = known(at)? - known(self.start)?;
        judge.plausible("times", (seconds * 1e9).round() as i64)
    }
}
