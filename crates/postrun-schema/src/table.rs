//! The tables of a dataset, their columns, types and units.
//!
//! `REQUESTS` … `EXTRAS` below are the reference: what is nullable, what a column means, in which unit.

use arrow_schema::{DataType, Field, Schema};
use std::sync::Arc;

/// One Parquet file of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// One row a request, in the source's order; `request` is dense from 0.
    Requests,
    /// One row a token-bearing chunk seen by the client, sorted by (request, index).
    Chunks,
    /// What happened to a request inside the server, on the server's clock.
    Events,
    /// Time series: gauges, counters and histogram buckets of the server and of devices.
    Samples,
    /// What the tool itself stored or printed.
    Reported,
    /// Numbers of single requests that a client recorded and no column of the requests table holds.
    Extras,
}

/// Storage type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    /// Unsigned 16-bit.
    U16,
    /// Unsigned 32-bit.
    U32,
    /// Signed 64-bit.
    I64,
    /// 64-bit float, only where the source's quantity is not a time.
    F64,
    /// Text.
    Utf8,
    /// Yes or no.
    Bool,
}

/// Unit of a column or metric. Display units are chosen by the report alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Nanoseconds: a duration, or a point in time since the run's origin.
    Nanoseconds,
    /// Tokens.
    Tokens,
    /// Requests.
    Requests,
    /// Tokens a second.
    TokensPerSecond,
    /// Requests a second.
    RequestsPerSecond,
    /// Chunks a second.
    ChunksPerSecond,
    /// A count of anything else, or a pure number.
    Count,
    /// Bytes.
    Bytes,
    /// A share, 0 to 1.
    Ratio,
    /// Not a quantity.
    None,
}

/// One column: the single place where its name is spelled.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Name in the file.
    pub name: &'static str,
    /// Storage type.
    pub dtype: Dtype,
    /// Whether null is allowed. Null means: the source did not record it.
    pub nullable: bool,
    /// Unit.
    pub unit: Unit,
    /// What it means.
    pub doc: &'static str,
}

const fn col(name: &'static str, dtype: Dtype, nullable: bool, unit: Unit, doc: &'static str) -> Column {
    Column { name, dtype, nullable, unit, doc }
}

use Dtype::{Bool, F64, I64, U16, U32, Utf8};
use Unit::{Nanoseconds as Ns, None as No, Tokens};

const REQUESTS: &[Column] = &[
    col("request", U32, false, No, "key inside this dataset, dense from 0; joins the other tables"),
    col("request_id", Utf8, true, No, "the source's id; may repeat"),
    col("model", Utf8, true, No, "model of this request, where a run has several"),
    col("session", Utf8, true, No, "multi-turn conversation"),
    col("turn", U32, true, No, "turn inside the session, from 0"),
    col("worker", Utf8, true, No, "load-generator worker"),
    col("stage", U32, true, No, "load stage"),
    col("phase", Utf8, false, No, "warmup, measured, cooldown or probe"),
    col("status", Utf8, false, No, "ok, error, cancelled or incomplete"),
    col("error", Utf8, true, No, "error text as recorded, shortened at 1 KiB"),
    col("finish_reason", Utf8, true, No, "as recorded"),
    col("streamed", Bool, true, No, "false: TTFT is not measurable, only e2e"),
    col("prompt_tokens", U32, true, Tokens, "prompt length"),
    col("cached_tokens", U32, true, Tokens, "prompt tokens served from the prefix cache"),
    col("output_tokens", U32, true, Tokens, "tokens generated"),
    col("reasoning_tokens", U32, true, Tokens, "output tokens before the answer"),
    col("requested_output_tokens", U32, true, Tokens, "the limit asked for"),
    col("first_chunk_tokens", U32, true, Tokens, "tokens in the first chunk; null: the source does not say"),
    col("client_prompt_tokens", U32, true, Tokens, "prompt length by the client's own tokenizer, where it stored one"),
    col("client_output_tokens", U32, true, Tokens, "tokens generated, by the client's own tokenizer"),
    col(
        "counted_chunks",
        U32,
        true,
        Unit::Count,
        "token-bearing chunks, where the client counted them without their times",
    ),
    col("counted_events", U32, true, Unit::Count, "chunks of any kind, where the client counted them"),
    col(
        "client_itl_ns",
        I64,
        true,
        Ns,
        "the client's own mean inter-token latency of the request, where it stored no gaps",
    ),
    col("scheduled_send_ns", I64, true, Ns, "client clock: when the load generator meant to send"),
    col("sent_ns", I64, true, Ns, "client clock: when it sent"),
    col("first_token_ns", I64, true, Ns, "client clock: first token-bearing chunk"),
    col("last_token_ns", I64, true, Ns, "client clock: last token-bearing chunk"),
    col("end_ns", I64, true, Ns, "client clock: end of the stream"),
    col("ttft_ns", I64, true, Ns, "as the client recorded it: first token-bearing chunk since send"),
    col("e2e_ns", I64, true, Ns, "last token-bearing chunk since send"),
    col("stream_end_ns", I64, true, Ns, "end of the stream since send, where it differs from the last token"),
    col("first_byte_ns", I64, true, Ns, "first chunk since send, where it carried no token"),
    col("arrival_ns", I64, true, Ns, "server clock: arrival"),
    col("queued_ns", I64, true, Ns, "server clock: put in the waiting queue"),
    col("first_scheduled_ns", I64, true, Ns, "server clock: first scheduled"),
    col("server_first_token_ns", I64, true, Ns, "server clock: first token"),
    col("server_last_token_ns", I64, true, Ns, "server clock: last token"),
    col("queue_ns", I64, true, Ns, "time queued in the server before the first schedule"),
    col("prefill_ns", I64, true, Ns, "first schedule to first token, as the server recorded it"),
    col("decode_ns", I64, true, Ns, "first to last token, as the server recorded it"),
    col("inference_ns", I64, true, Ns, "first schedule to last token, as the server recorded it"),
    col("preemptions", U32, true, Unit::Count, "0: known none; null: not known"),
    col("preempted_prefill_ns", I64, true, Ns, "time preempted before the first token"),
    col("preempted_decode_ns", I64, true, Ns, "time preempted after the first token"),
    col("chunks", U32, true, Unit::Count, "rows this request has in the chunks table; null: times not recorded"),
];

const CHUNKS: &[Column] = &[
    col("request", U32, false, No, "key of the request"),
    col("index", U32, false, No, "0 is the first token-bearing chunk"),
    col("at_ns", I64, false, Ns, "since the request was sent"),
    col("tokens", U16, true, Tokens, "tokens carried; null: the source does not say"),
];

const EVENTS: &[Column] = &[
    col("request", U32, true, No, "key of the request, where it could be joined"),
    col("request_id", Utf8, true, No, "the server's id"),
    col("at_ns", I64, false, Ns, "server clock"),
    col(
        "kind",
        Utf8,
        false,
        No,
        "arrived, queued, scheduled, preempted, resumed, first_token, finished, failed or server_started",
    ),
    col("phase", Utf8, true, No, "prefill or decode"),
    col("detail", Utf8, true, No, "as recorded"),
];

const SAMPLES: &[Column] = &[
    col("at_ns", I64, false, Ns, "server clock"),
    col("series", Utf8, false, No, "canonical series name, or the source's own"),
    col("labels", Utf8, true, No, "k=v, sorted, comma-separated"),
    col("value", F64, false, Unit::Count, "in the series' unit"),
    col("source", Utf8, true, No, "base name of the file it was read from"),
];

const REPORTED: &[Column] = &[
    col("metric", Utf8, false, No, "postrun's id where the quantity has one, else the tool's key"),
    col("stat", Utf8, false, No, "value, mean, std, p50 …"),
    col("value", F64, true, Unit::Count, "in `unit`; null: the tool stored a non-finite number"),
    col("unit", Utf8, false, No, "unit of `value`"),
    col(
        "convention",
        Utf8,
        false,
        No,
        "id of the definition the tool used; behind an @ the largest rounding, where the source stored fewer digits",
    ),
    col("key", Utf8, false, No, "the tool's own name of the figure"),
];

const EXTRAS: &[Column] = &[
    col("request", U32, false, No, "key of the request"),
    col("name", Utf8, false, No, "which number; its unit stands at the end"),
    col("value", F64, false, Unit::Count, "as the client recorded it, in the unit of the name"),
];

impl Table {
    /// All tables, in the order a manifest lists them.
    pub const ALL: [Table; 6] =
        [Table::Requests, Table::Chunks, Table::Events, Table::Samples, Table::Reported, Table::Extras];

    /// Name of the table; its file is `<name>.parquet`.
    pub fn name(self) -> &'static str {
        match self {
            Table::Requests => "requests",
            Table::Chunks => "chunks",
            Table::Events => "events",
            Table::Samples => "samples",
            Table::Reported => "reported",
            Table::Extras => "extras",
        }
    }

    /// File name inside the dataset folder.
    pub fn file_name(self) -> String {
        format!("{}.parquet", self.name())
    }

    /// Its columns in file order.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Table::Requests => REQUESTS,
            Table::Chunks => CHUNKS,
            Table::Events => EVENTS,
            Table::Samples => SAMPLES,
            Table::Reported => REPORTED,
            Table::Extras => EXTRAS,
        }
    }

    /// The Arrow schema of the file.
    pub fn arrow_schema(self) -> Arc<Schema> {
        let fields: Vec<Field> = self
            .columns()
            .iter()
            .map(|c| {
                let dtype = match c.dtype {
                    U16 => DataType::UInt16,
                    U32 => DataType::UInt32,
                    I64 => DataType::Int64,
                    F64 => DataType::Float64,
                    Utf8 => DataType::Utf8,
                    Bool => DataType::Boolean,
                };
                Field::new(c.name, dtype, c.nullable)
            })
            .collect();
        Arc::new(Schema::new(fields))
    }
}

/// Columns that a chunks table read by nobody but its writer does without: chunks lie sorted, and the requests table
/// says how many each request has.
pub(crate) fn is_chunk_key(table: Table, column: &str) -> bool {
    table == Table::Chunks && matches!(column, "request" | "index")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_times_say_their_unit() {
        for table in Table::ALL {
            let mut seen = std::collections::BTreeSet::new();
            for c in table.columns() {
                assert!(seen.insert(c.name), "{} twice in {}", c.name, table.name());
                assert_eq!(c.unit == Unit::Nanoseconds, c.name.ends_with("_ns"), "{}", c.name);
            }
        }
    }
}
