//! The one table of definitions, and how an entry of it is put together.

use super::Convention;
use super::Difference;
use super::recipe::{
    Absent, Clock, Divisor, End, First, From, Idle, Itl, Lengths, Method, POSTRUN, Peak, Recipe, Span, Spread, Start,
    Weight, Which, Whole,
};
use postrun_schema::IssueCode;

const fn computable(id: &'static str, text: &'static str, explains: fn(&Difference<'_>) -> bool) -> Convention {
    Convention {
        id,
        text,
        recipe: POSTRUN,
        explains,
        lacks: None,
        not_computable: false,
        otherwise: None,
        older: None,
        rounding: 0.0,
    }
}

/// A definition that is followed exactly, or not at all.
const fn exact(id: &'static str, text: &'static str, recipe: Recipe) -> Convention {
    computable(id, text, |_| false).by(recipe)
}

const fn elsewhere(id: &'static str, text: &'static str) -> Convention {
    Convention { not_computable: true, ..computable(id, text, |_| true) }
}

/// Older versions took another element as percentile.
const fn any_chunk(id: &'static str, text: &'static str, rounding: f64) -> Convention {
    exact(id, text, ANY_CHUNK).or_by(Recipe { method: Method::FloorIndex, ..ANY_CHUNK }).rounded_to(rounding)
}

impl Convention {
    const fn by(self, recipe: Recipe) -> Convention {
        Convention { recipe, ..self }
    }

    const fn lacking(self, fact: &'static str) -> Convention {
        Convention { lacks: Some(fact), ..self }
    }

    const fn or(self, metric: &'static str) -> Convention {
        Convention { otherwise: Some(metric), ..self }
    }

    const fn or_by(self, recipe: Recipe) -> Convention {
        Convention { older: Some(recipe), ..self }
    }

    const fn rounded_to(self, rounding: f64) -> Convention {
        Convention { rounding, ..self }
    }
}

/// All definitions.
pub static CONVENTIONS: &[Convention] = &[
    computable("same", "", |_| false),
    computable("chunk_gaps", "the client pools the gaps between all chunks, role-only chunks included", |d| {
        d.has_issue(IssueCode::RoleOnlyFirstChunk) || d.has_issue(IssueCode::GapsWithoutFirstToken)
    })
    .by(Recipe { itl: Itl::AllChunkGaps, ..POSTRUN }),
    computable(
        "chunk_gaps_or_retokenized",
        "the client divides gaps by re-tokenised chunks before it summarises, and stores them undivided",
        |d| d.has_issue(IssueCode::MultiTokenChunks) || d.has_issue(IssueCode::GapsWithoutFirstToken),
    )
    .by(Recipe { itl: Itl::AllChunkGaps, ..POSTRUN }),
    computable("first_chunk", "the client counts any first chunk, a role-only one or an unset timer included", |d| {
        use IssueCode::{NotStreamed, RoleOnlyFirstChunk, TtftNotMeasured};
        [RoleOnlyFirstChunk, TtftNotMeasured, NotStreamed].into_iter().any(|code| d.has_issue(code))
    })
    .by(Recipe { first: First::Chunk, whole: Whole::Counted, ..POSTRUN }),
    computable(
        "latency_per_later_token",
        "the client divides (latency − TTFT) by output tokens − 1 for every request, also where the whole answer came in one chunk, no first token was timed, or the latency ran to the closing chunk",
        |d| {
            use IssueCode::{NotStreamed, RoleOnlyFirstChunk, StreamEndAfterLastToken, TtftNotMeasured};
            [NotStreamed, RoleOnlyFirstChunk, StreamEndAfterLastToken, TtftNotMeasured, IssueCode::FirstTokenAfterEnd]
                .into_iter()
                .any(|code| d.has_issue(code))
                || d.reported_is_longer()
        },
    )
    .by(LATENCY_PER_LATER_TOKEN),
    computable(
        "recorded_latency",
        "the client's latency can run beyond the last token, to the closing chunk of the stream",
        |d| d.reported_is_longer(),
    )
    .by(Recipe { end: End::Recorded, ..POSTRUN }),
    computable(
        "to_stream_end",
        "the client's clock runs to the last line of the response (usage, [DONE])",
        |d| d.reported_is_longer(),
    )
    .by(Recipe { end: End::Response, divisor: Divisor::AllButOne, whole: Whole::Counted, ..POSTRUN }),
    computable(
        "client_stopwatch",
        "the client's stopwatch starts before the first send and stops after the last task",
        |d| d.reported_is_longer(),
    )
    .lacking("when the client started and stopped its stopwatch"),
    computable(
        "in_1s_or_at_once",
        "some versions count at one instant (peak_concurrency), not over a second, and requests without output count too",
        |d| d.is_raised_by(&[IssueCode::NoOutput]),
    )
    .or("peak_concurrency"),
    computable(
        "first_chunks_in_1s",
        "the client counts a first chunk for every request, also one that bore the role only or never came",
        |d| d.is_raised_by(&[IssueCode::NoOutput, IssueCode::RoleOnlyFirstChunk]),
    ),
    exact(
        "peaks_by_second",
        "the client cuts the run into seconds, counts a request in each that it touches, and a chunk as one token",
        Recipe { peak: Peak::BySecond, ..POSTRUN },
    ),
    computable("client_tokenizer_prompts", "the client counts prompts with its own tokenizer", |d| d.is_another_count())
        .by(Recipe { lengths: Lengths::Client, ..POSTRUN }),
    computable("client_tokenizer_outputs", "the client counts output tokens with its own tokenizer", |d| {
        d.is_another_count()
    })
    .by(Recipe { lengths: Lengths::Client, divisor: Divisor::AllButOne, ..POSTRUN }),
    computable(
        "all_exported_requests",
        "the client counts every request of its file, also those without a response, over last response − first send",
        |d| d.has_issue(IssueCode::FailedRequests) || d.reported_is_longer(),
    )
    .by(Recipe { which: Which::All, span: Span::LastResponse, ..POSTRUN }),
    computable("printed_to_3_decimals", "the client stores three decimals", |_| false).rounded_to(0.000_5),
    computable(
        "mean_of_rate_curve",
        "the client averages a curve of rates between its own first and last point, which need not be the whole duration",
        |d| (0.8..1.25).contains(&(d.computed / d.reported)),
    )
    .lacking("the curve of rates, whose first and last point are not those of the run"),
    exact(
        "cancelled_are_failed",
        "the client counts cancelled requests as failed",
        Recipe { which: Which::NotOk, ..POSTRUN },
    ),
    computable("last_response", "the client's duration runs to the last response of any request", |d| {
        d.reported_is_longer()
    })
    .by(Recipe { span: Span::LastResponse, ..POSTRUN }),
    computable(
        "over_the_measured_phase",
        "the client divides by the time of its measurement, which begins before the first send and ends after the last token",
        |d| d.reported <= d.computed * (1.0 + 1e-6),
    )
    .lacking("when the client's measurement began and ended"),
    computable(
        "client_lengths_over_the_measured_phase",
        "the client counts tokens with its own tokenizer, and divides by the time of its measurement, which begins before the first send and ends after the last token",
        |d| d.reported <= d.computed * (1.0 + 1e-6),
    )
    .by(Recipe { lengths: Lengths::Client, ..POSTRUN })
    .lacking("when the client's measurement began and ended"),
    exact("last_token", "the client's duration runs from the first send to the last token", LAST_TOKEN),
    exact(
        "all_requests_coarse_times",
        "the client averages over failed requests too, and takes these times from floats that keep 256 ns",
        Recipe { which: Which::All, clock: Clock::FloatNanoseconds, ..POSTRUN },
    ),
    exact(
        "from_schedule_coarse_times",
        "the client counts from when a request was meant to be sent to the end of its response, failed ones included, in floats that keep 256 ns",
        Recipe {
            start: Start::Schedule,
            end: End::Response,
            which: Which::All,
            clock: Clock::FloatNanoseconds,
            ..POSTRUN
        },
    ),
    exact(
        "from_schedule",
        "the client counts from when a request was meant to be sent",
        Recipe { start: Start::Schedule, ..POSTRUN },
    ),
    exact(
        "failed_requests",
        "the client counts the failed requests only",
        Recipe { lengths: Lengths::Client, which: Which::NotOk, ..POSTRUN },
    ),
    exact("nearest_rank", "the client's percentiles are values that occur, not interpolated", SUMMED_SHARES),
    exact(
        "nearest_rank_coarse_times",
        "the client subtracts floats of Unix seconds, which keep 238 ns, and its percentiles are values that occur",
        Recipe { clock: Clock::FloatSeconds, ..SUMMED_SHARES },
    ),
    exact(
        "to_stream_end_nearest_rank",
        "the client's clock runs to the end of the response, and its percentiles are values that occur",
        Recipe { end: End::Response, ..SUMMED_SHARES },
    ),
    exact(
        "from_schedule_nearest_rank",
        "the client counts from when a request was meant to be sent to the end of its response, and its percentiles are values that occur",
        Recipe { start: Start::Schedule, end: End::Response, clock: Clock::FloatSeconds, ..SUMMED_SHARES },
    ),
    exact(
        "weighted_by_tokens",
        "the client counts the mean of a request once for every token it covers, and its percentiles are values that occur",
        Recipe { weight: Weight::Tokens, divisor: Divisor::AllButOne, itl: Itl::RequestMean, ..SUMMED_SHARES },
    ),
    exact(
        "weighted_by_chunks",
        "the client counts the first chunk as one token, and the mean of the others once for each",
        Recipe { weight: Weight::Tokens, ..SUMMED_SHARES },
    ),
    exact(
        "with_ttft_weighted_by_tokens",
        "the client divides the whole time from the send by all output tokens, counts the result once for every token, and its percentiles are values that occur",
        Recipe { from: From::Start, divisor: Divisor::All, weight: Weight::Tokens, ..SUMMED_SHARES },
    ),
    exact(
        "whole_answers",
        "the client takes the latency of an answer in one piece for its TTFT",
        Recipe { whole: Whole::Counted, ..POSTRUN },
    ),
    exact(
        "later_tokens",
        "the client divides (latency − TTFT) by output tokens − 1, also where the whole answer came in one piece",
        Recipe { divisor: Divisor::AllButOne, whole: Whole::Counted, ..POSTRUN },
    ),
    exact(
        "client_lengths_to_stream_end",
        "the client's clock runs to the end of the response, and it counts tokens with its own tokenizer",
        Recipe { end: End::Response, lengths: Lengths::Client, ..POSTRUN },
    ),
    exact(
        "client_lengths_to_last_response",
        "the client counts tokens with its own tokenizer, over the time from the first send to the last response of any request",
        Recipe { lengths: Lengths::Client, span: Span::LastResponse, ..POSTRUN },
    ),
    exact(
        "per_token_after_first",
        "the client counts every token but one, also where the first chunk carried several",
        Recipe { divisor: Divisor::AllButOne, ..POSTRUN },
    ),
    computable(
        "tokens_share_chunk_time",
        "the client gives all tokens of a chunk the time of the chunk, so that all but one of its gaps are 0",
        |d| d.has_issue(IssueCode::MultiTokenChunks) || d.computed >= d.reported,
    )
    .by(Recipe { itl: Itl::TokenGaps, ..POSTRUN }),
    exact(
        "request_mean",
        "the client takes one mean a request, (latency − TTFT) / (output tokens − 1)",
        Recipe { itl: Itl::RequestMean, divisor: Divisor::AllButOne, lengths: Lengths::Client, ..POSTRUN },
    ),
    exact("floor_index", "the client's percentile is the value at index ⌊n·p/100⌋", FLOOR_INDEX),
    any_chunk("any_chunk", "the client counts any first chunk, runs to the end of the response and divides by output tokens − 1; its percentiles are values that occur", 0.0),
    any_chunk("any_chunk_to_2_decimals", "the client counts any first chunk, runs to the end of the response and divides by output tokens − 1; its percentiles are values that occur; it stores two decimals", 0.005),
    any_chunk("any_chunk_to_4_decimals", "the client counts any first chunk, runs to the end of the response and divides by output tokens − 1; its percentiles are values that occur; it stores four decimals", 0.000_05),
    any_chunk("any_chunk_to_0.1_ms", "the client counts any first chunk, runs to the end of the response and divides by output tokens − 1; its percentiles are values that occur; it stores four decimals of a second", 0.05),
    exact(
        "last_response_to_4_decimals",
        "the client's duration runs from the first send to the last response of any request, and it stores four decimals",
        Recipe { span: Span::LastResponse, ..POSTRUN },
    )
    .rounded_to(0.000_05),
    exact(
        "from_schedule_floor_index",
        "the client counts from when a request was meant to be sent, divides by output tokens − 1, and its percentile is the value at index ⌊n·p/100⌋",
        Recipe { start: Start::Schedule, divisor: Divisor::AllButOne, ..FLOOR_INDEX },
    ),
    exact(
        "sample_spread",
        "the client's standard deviation is that of a sample, divided by the count less one",
        SAMPLE_SPREAD,
    ),
    exact(
        "to_stream_end_sample_spread",
        "the client's clock runs to the end of the response, and its standard deviation is that of a sample",
        Recipe { end: End::Response, ..SAMPLE_SPREAD },
    ),
    exact(
        "tokens_counted_while_streaming",
        "the client divides the tokens that it counted while streaming by the latency, and its standard deviation is that of a sample",
        Recipe { lengths: Lengths::Counted, ..SAMPLE_SPREAD },
    ),
    exact(
        "gaps_with_ttft",
        "the client takes one mean a request, over all gaps with TTFT as the first of them",
        Recipe { itl: Itl::RequestMeanWithTtft, ..SAMPLE_SPREAD },
    ),
    exact(
        "failures_as_infinite",
        "the client counts failed requests as infinitely slow, and its percentiles are values that occur",
        FAILED_FOR_EVER,
    ),
    exact(
        "failures_as_infinite_client_tokens",
        "the client counts failed requests as infinitely slow and tokens with its own tokenizer, and its percentiles are values that occur",
        Recipe { lengths: Lengths::Client, divisor: Divisor::AllButOne, ..FAILED_FOR_EVER },
    ),
    exact("all_requests", "the client counts every request, however it ended", Recipe { which: Which::All, ..POSTRUN }),
    exact(
        "absent_as_zero_nearest_rank",
        "the client counts a request without the number as 0, and its percentiles are values that occur",
        Recipe { absent: Absent::Zero, ..SUMMED_SHARES },
    ),
    computable(
        "by_default_threshold",
        "the client counts the requests beyond a threshold that a setting can change; here its default",
        |_| true,
    )
    .lacking("the threshold that the client counted by, which is not its default"),
    exact(
        "weighted_by_time",
        "the client follows a curve through its measured phase, idle time included, and its percentiles are levels below which that share of the time was spent; tokens are counted by its own tokenizer, times are floats that keep 256 ns",
        OVER_TIME,
    ),
    exact(
        "weighted_by_busy_time",
        "the client follows a curve for as long as any request is in its phase, and its percentiles are levels below which that share of the time was spent; tokens are counted by its own tokenizer, times are floats that keep 256 ns",
        Recipe { idle: Idle::Left, ..OVER_TIME },
    ),
    elsewhere("stages_not_marked", "the records do not say which stage of the load a request belongs to"),
    elsewhere("schedule_not_stored", "the file does not say when a request was meant to be sent"),
    exact(
        "lowest_ttft_by_length",
        "the client takes the lowest TTFT of requests whose prompts lie in the same 128 tokens for their prefill, and the rest for a wait",
        POSTRUN,
    ),
    exact("sampled_in_steps", "the client counts the requests under way every quarter of a second", POSTRUN),
    computable(
        "rates_between_events",
        "the client takes a rate at every event, over the time to half-way to its neighbours, and its percentiles are levels below which that share of the time was spent",
        |_| true,
    )
    .by(Recipe { weight: Weight::Time, clock: Clock::FloatSeconds, ..SUMMED_SHARES })
    .lacking("how this version of the client draws its curve"),
    computable(
        "texts_over_time",
        "the client follows a curve, and its percentiles are levels below which that share of the time was spent",
        |_| true,
    )
    .by(Recipe { weight: Weight::Time, clock: Clock::FloatSeconds, ..SUMMED_SHARES })
    .lacking("how this version of the client draws its curve"),
    elsewhere("never_computed", "the client computes it for other kinds of run only, and stores 0 for this one"),
    elsewhere("estimated_by_client", "the client's own estimate, by a formula over figures that it does not store"),
    elsewhere("devices_not_kept", "divided by the number of devices, which the dataset does not keep"),
    elsewhere("thresholds_not_stored", "the file does not store the objectives it was counted with"),
    elsewhere("not_from_requests", "counted by the server or by side probes, not from these requests"),
    elsewhere("speech_only", "real-time factor of speech recognition, 0 for everything else: the file does not say how long the audio was"),
    elsewhere("only_as_total", "the file stores it as a total only, nothing per request"),
    elsewhere("text_not_kept", "counted by tokenising the generated text with the client's tokenizer, which no file holds"),
    elsewhere("asked_of_prometheus", "the client asked Prometheus for it: the file does not say over what time, nor does it hold the scrapes; 0 can stand for no answer"),
    elsewhere("asked_of_the_server", "made of the server's own metrics, whose scrapes the file does not hold"),
    elsewhere("a_setting", "what the client was asked for, and no result"),
    elsewhere("not_computed_here", "postrun has no such metric"),
];

const LATENCY_PER_LATER_TOKEN: Recipe =
    Recipe { first: First::Chunk, end: End::Recorded, divisor: Divisor::AllButOne, whole: Whole::Counted, ..POSTRUN };
const ANY_CHUNK: Recipe = Recipe {
    first: First::Chunk,
    end: End::Recorded,
    divisor: Divisor::AllButOneElseZero,
    itl: Itl::AllChunkGaps,
    whole: Whole::Counted,
    method: Method::NearestRank,
    ..POSTRUN
};
const OVER_TIME: Recipe = Recipe {
    end: End::Response,
    weight: Weight::Time,
    lengths: Lengths::Client,
    which: Which::All,
    clock: Clock::FloatNanoseconds,
    ..SUMMED_SHARES
};
const SUMMED_SHARES: Recipe = Recipe { method: Method::SummedShares, ..POSTRUN };
const FLOOR_INDEX: Recipe = Recipe { method: Method::FloorIndex, ..POSTRUN };
const FAILED_FOR_EVER: Recipe = Recipe { method: Method::NearestIndex, which: Which::FailedForEver, ..POSTRUN };
const SAMPLE_SPREAD: Recipe = Recipe { spread: Spread::Sample, ..POSTRUN };
const LAST_TOKEN: Recipe = Recipe { span: Span::LastToken, ..POSTRUN };
