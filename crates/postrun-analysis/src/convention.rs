//! How peers define the figures they store, where that is not how postrun does.
//!
//! An ingestor marks each reported figure with one of these ids; nothing here knows which tool it came from.

use crate::percentile::Rank;
use postrun_schema::IssueCode;

/// A definition, and when it accounts for a difference.
pub struct Convention {
    /// Id in the `reported` table.
    pub id: &'static str,
    /// What the tool does differently, as a sentence. Empty: nothing.
    pub text: &'static str,
    /// Does it account for the difference? Given computed value, reported value and the run's issues.
    pub(crate) explains: fn(&Difference<'_>) -> bool,
    /// The rows of a recording cannot give this figure.
    pub not_computable: bool,
    /// Metric that some versions of the tool store under the same name.
    pub otherwise: Option<&'static str>,
    /// How its percentiles are taken, in one version or another. Empty: as ours.
    pub(crate) ranks: &'static [Rank],
}

impl Convention {
    const fn by(self, ranks: &'static [Rank]) -> Convention {
        Convention { ranks, ..self }
    }
}

/// A computed figure that is not the reported one.
pub(crate) struct Difference<'a> {
    pub computed: f64,
    pub reported: f64,
    pub stat: &'a str,
    pub has_issue: &'a dyn Fn(IssueCode) -> bool,
}

impl Difference<'_> {
    /// The client's clock ran longer: everything but the spread is larger there.
    fn reported_is_longer(&self) -> bool {
        self.stat == "std" || self.computed <= self.reported * (1.0 + 1e-6)
    }

    /// The same for a client that rounds, at most by so much.
    fn is_longer_or_within(&self, most: f64) -> bool {
        self.stat == "std" || self.computed <= self.reported + most + 1e-9 * self.reported.abs()
    }

    /// The client rounds: at most by so much.
    fn is_within(&self, most: f64) -> bool {
        (self.computed - self.reported).abs() <= most + 1e-9 * self.reported.abs()
    }
}

const fn computable(id: &'static str, text: &'static str, explains: fn(&Difference<'_>) -> bool) -> Convention {
    Convention { id, text, explains, not_computable: false, otherwise: None, ranks: &[] }
}

const fn elsewhere(id: &'static str, text: &'static str) -> Convention {
    Convention { id, text, explains: |_| true, not_computable: true, otherwise: None, ranks: &[] }
}

/// Versions differ, and the file names none.
const EITHER_RANK: &[Rank] = &[Rank::Nearest, Rank::Down];
const RECORDED_LATENCY: &str = "the client's latency can run beyond the last token, to the closing chunk of the stream, and it stores four decimals of a second";
const RECORDED_LATENCY_VALUES: &str = "the client's latency can run beyond the last token, its percentiles are values that occur, and it stores four decimals of a second";

/// All conventions.
pub static CONVENTIONS: &[Convention] = &[
    computable("same", "", |_| false),
    computable("chunk_gaps", "the client pools the gaps between all chunks, role-only chunks included", |d| {
        (d.has_issue)(IssueCode::RoleOnlyFirstChunk) || (d.has_issue)(IssueCode::GapsWithoutFirstToken)
    }),
    computable(
        "chunk_gaps_or_retokenized",
        "the client divides gaps by re-tokenised chunks before it summarises, and stores them undivided",
        |d| (d.has_issue)(IssueCode::MultiTokenChunks) || (d.has_issue)(IssueCode::GapsWithoutFirstToken),
    ),
    computable("first_chunk", "the client counts any first chunk, a role-only one or an unset timer included", |d| {
        use IssueCode::{NotStreamed, RoleOnlyFirstChunk, TtftNotMeasured};
        [RoleOnlyFirstChunk, TtftNotMeasured, NotStreamed].into_iter().any(d.has_issue)
    }),
    computable(
        "latency_per_later_token",
        "the client divides (latency − TTFT) by output tokens − 1 for every request, also where the whole answer came in one chunk, no first token was timed, or the latency ran to the closing chunk",
        |d| {
            use IssueCode::{NotStreamed, RoleOnlyFirstChunk, StreamEndAfterLastToken, TtftNotMeasured};
            [NotStreamed, RoleOnlyFirstChunk, StreamEndAfterLastToken, TtftNotMeasured, IssueCode::FirstTokenAfterEnd]
                .into_iter()
                .any(d.has_issue)
                || d.reported_is_longer()
        },
    ),
    computable(
        "recorded_latency",
        "the client's latency can run beyond the last token, to the closing chunk of the stream",
        |d| d.reported_is_longer(),
    ),
    computable(
        "to_stream_end",
        "the client's clock runs to the last line of the stream ([DONE], usage); the file keeps the token chunks only",
        |d| d.reported_is_longer(),
    ),
    computable(
        "client_stopwatch",
        "the client's stopwatch starts before the first send and stops after the last task; postrun's value is first send to last token",
        |d| d.reported_is_longer(),
    ),
    Convention {
        id: "in_1s_or_at_once",
        text: "counted at one instant (peak_concurrency), not over a second",
        explains: |_| false,
        not_computable: false,
        otherwise: Some("peak_concurrency"),
        ranks: &[],
    },
    computable(
        "client_tokenizer_prompts",
        "the client's totals count prompts with its own tokenizer, the stored lengths are the server's",
        // Templates and re-tokenising shift a length by some tokens; they do not halve or double it.
        |d| (0.5..2.0).contains(&(d.computed / d.reported)),
    ),
    computable(
        "client_tokenizer_outputs",
        "the client counts output tokens with its own tokenizer, the stored lengths are the server's",
        |d| (0.5..2.0).contains(&(d.computed / d.reported)),
    ),
    computable(
        "all_exported_requests",
        "the client counts every request of its file, also those without a response, over last response − first send",
        |d| (d.has_issue)(IssueCode::FailedRequests) || d.reported_is_longer(),
    ),
    computable("printed_to_3_decimals", "the client stores three decimals", |d| d.is_within(0.000_5)),
    computable(
        "mean_of_rate_curve",
        "the client averages a curve of rates between its own first and last point, which need not be the whole duration",
        |d| (0.8..1.25).contains(&(d.computed / d.reported)),
    ),
    computable("cancelled_are_failed", "the client counts cancelled requests as failed", |d| d.reported >= d.computed),
    computable(
        "last_response",
        "the client's duration runs to the last response of any request, postrun's value to the last token of an ok one",
        |d| d.reported_is_longer(),
    ),
    computable(
        "all_requests_coarse_times",
        "the client averages over failed requests too, and takes these times from floats that keep 256 ns",
        |d| {
            (d.has_issue)(IssueCode::FailedRequests)
                || (d.computed - d.reported).abs() <= 1e-3 * d.reported.abs().max(1.0)
        },
    ),
    computable(
        "nearest_rank",
        "the client's percentiles are values that occur, not interpolated, of times in floats that keep 238 ns",
        |d| d.stat.starts_with('p') && d.is_within(0.000_25),
    )
    .by(&[Rank::Nearest]),
    computable(
        "to_stream_end_nearest_rank",
        "the client's clock runs to the end of the response, and its percentiles are values that occur",
        |d| d.reported_is_longer(),
    )
    .by(&[Rank::Nearest]),
    computable(
        "weighted_by_tokens",
        "the client counts the mean of a request once for every token it covers, and its percentiles are values that occur",
        |d| d.stat != "min" && d.stat != "max",
    ),
    computable(
        "per_token_after_first",
        "the client counts every token but one, also where the first chunk carried several",
        |d| d.stat == "std" || d.computed >= d.reported * (1.0 - 1e-6),
    ),
    computable(
        "tokens_share_chunk_time",
        "the client gives all tokens of a chunk the time of the chunk, so that all but one of its gaps are 0",
        |d| (d.has_issue)(IssueCode::MultiTokenChunks) || d.computed >= d.reported,
    ),
    elsewhere(
        "failures_as_infinite",
        "failed requests are in it, as infinitely slow or from when they were meant to be sent",
    ),
    elsewhere("stages_not_marked", "the records do not say which stage of the load a request belongs to"),
    elsewhere("schedule_not_stored", "the file does not say when a request was meant to be sent"),
    computable("printed_to_2_decimals", "the client stores two decimals", |d| d.is_within(0.005)),
    computable("printed_to_4_decimals", "the client stores four decimals", |d| d.is_within(0.000_05)),
    computable(
        "rate_to_4_decimals",
        "the client stores four decimals, of its duration too",
        // Of a run of a second or more.
        |d| d.is_within(0.000_05 + 0.000_05 * d.reported.abs()),
    ),
    computable(
        "last_response_to_4_decimals",
        "the client's duration runs to the last response of any request, and it stores four decimals",
        |d| d.is_longer_or_within(0.000_05),
    ),
    computable(
        "values_to_4_decimals",
        "the client's percentiles are values that occur, not interpolated, and it stores four decimals",
        |d| d.is_within(0.000_05),
    )
    .by(EITHER_RANK),
    computable(
        "values_to_0.1_ms",
        "the client's percentiles are values that occur, not interpolated, and it stores four decimals of a second",
        |d| d.is_within(0.05),
    )
    .by(EITHER_RANK),
    computable("recorded_latency_to_0.1_ms", RECORDED_LATENCY, |d| d.is_longer_or_within(0.05)),
    computable("recorded_latency_values", RECORDED_LATENCY_VALUES, |d| d.is_longer_or_within(0.05)).by(EITHER_RANK),
    computable(
        "latency_per_later_token_values",
        "the client divides (latency − TTFT) by output tokens − 1, and its percentiles are values that occur",
        |d| {
            // Answers in one piece are 0 there and undefined here.
            [IssueCode::NotStreamed, IssueCode::TtftNotMeasured].into_iter().any(d.has_issue)
                || d.is_longer_or_within(0.000_05)
        },
    )
    .by(EITHER_RANK),
    computable("rank_down", "the client takes element ⌊n·p/100⌋ of the sorted ones, without interpolation", |_| false)
        .by(&[Rank::Down]),
    // At most √2 apart, where there are two values.
    computable("sample_deviation", "the client divides by n − 1, postrun by n", |d| {
        (1.0 - 1e-6..=std::f64::consts::SQRT_2 + 1e-6).contains(&(d.reported / d.computed))
    }),
    computable(
        "latency_per_token",
        "the client divides the time to the last chunk by output tokens; the latency in the file runs on to the end of the stream",
        // The end of a stream comes after its last chunk, and costs less than half of the answer.
        |d| d.stat == "std" || (1.0 - 1e-6..1.5).contains(&(d.computed / d.reported)),
    ),
    elsewhere("guessed_by_client", "the client's own estimate, not a figure of its records"),
    elsewhere("thresholds_not_stored", "the file does not store the objectives it was counted with"),
    elsewhere("not_from_requests", "counted by the server or by side probes, not from these requests"),
    elsewhere("speech_only", "real-time factor of speech recognition, 0 for everything else"),
    elsewhere("only_as_total", "the file stores it as a total only, nothing per request"),
    elsewhere("text_not_kept", "counted by tokenising the generated text, which postrun does not keep"),
    elsewhere("not_computed_here", "postrun has no such metric"),
];

pub(crate) fn find(id: &str) -> Option<&'static Convention> {
    CONVENTIONS.iter().find(|c| c.id == id)
}
