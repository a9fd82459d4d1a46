//! The figures of a benchmark, under postrun's names.

use crate::bench::reported::{Named, named};
use crate::client::distribution::{figure, figures};
use crate::json::Tree;
use postrun_schema::ReportedRow;

/// All rows of one metric's statistics over the successful requests.
pub(in crate::formats) fn add(metric: &str, stats: &Tree, out: &mut Vec<ReportedRow>) {
    if let Some((name, scale)) = latency(metric) {
        return figures(&name, metric, stats, scale, out);
    }
    if let Some(name) = rate(metric) {
        // The mean over time is the rate.
        out.extend(figure(&name, "value", &format!("{metric}.mean"), stats.get("mean"), 1.0));
        return over_time(metric, stats, out);
    }
    if let Some(name) = length(metric) {
        if name.metric != "total_tokens" {
            out.extend(figure(&name, "value", &format!("{metric}.total_sum"), stats.get("total_sum"), 1.0));
        }
        return figures(&name, metric, stats, 1.0, out);
    }
    if let Some((name, scale)) = stream(metric) {
        return figures(&name, metric, stats, scale, out);
    }
    if let Some(name) = text(metric) {
        return figures(&name, metric, stats, 1.0, out);
    }
    if stats.get("mean").number().is_some() {
        figures(&named("", "", "not_computed_here"), metric, stats, 1.0, out);
    }
}

fn latency(metric: &str) -> Option<(Named, f64)> {
    Some(match metric {
        "request_latency" => (named("e2e_ms", "ms", "to_stream_end_nearest_rank"), 1e3),
        "time_to_first_token_ms" => (named("ttft_ms", "ms", "nearest_rank"), 1.0),
        "inter_token_latency_ms" => (named("tpot_ms", "ms", "weighted_by_tokens"), 1.0),
        "time_per_output_token_ms" => (named("e2e_per_output_token_ms", "ms", "weighted_by_tokens"), 1.0),
        _ => return None,
    })
}

fn rate(metric: &str) -> Option<Named> {
    Some(match metric {
        "requests_per_second" => named("requests_per_s", "req/s", "same"),
        "output_tokens_per_second" => named("output_tokens_per_s", "tok/s", "mean_of_rate_curve"),
        "prompt_tokens_per_second" => named("prompt_tokens_per_s", "tok/s", "mean_of_rate_curve"),
        "tokens_per_second" => named("total_tokens_per_s", "tok/s", "mean_of_rate_curve"),
        "request_concurrency" => named("mean_concurrency", "requests", "to_stream_end"),
        _ => return None,
    })
}

/// What stands beside the mean: a curve over time.
fn over_time(metric: &str, stats: &Tree, out: &mut Vec<ReportedRow>) {
    let name = match metric {
        "requests_per_second" => named("requests_per_s_between_events", "req/s", "rates_between_events"),
        "prompt_tokens_per_second" => named("prompt_tokens_per_s_between_events", "tok/s", "rates_between_events"),
        "output_tokens_per_second" => named("output_tokens_per_s_between_events", "tok/s", "rates_between_events"),
        "tokens_per_second" => named("total_tokens_per_s_between_events", "tok/s", "rates_between_events"),
        "request_concurrency" => named("concurrency_between_events", "requests", "rates_between_events"),
        _ => return,
    };
    let mut rows = Vec::new();
    figures(&name, metric, stats, 1.0, &mut rows);
    out.extend(rows.into_iter().filter(|row| row.stat != "mean"));
}

fn length(metric: &str) -> Option<Named> {
    Some(match metric {
        "prompt_token_count" => named("prompt_tokens", "tokens", "nearest_rank"),
        "output_token_count" => named("output_tokens", "tokens", "nearest_rank"),
        "total_token_count" => named("total_tokens", "tokens", "nearest_rank"),
        _ => return None,
    })
}

/// What the client counts of a stream, and of its own lateness.
fn stream(metric: &str) -> Option<(Named, f64)> {
    Some(match metric {
        "request_streaming_iterations_count" => (named("stream_events", "count", "nearest_rank"), 1.0),
        "output_tokens_per_iteration" => (named("tokens_per_chunk", "tokens", "weighted_by_chunks"), 1.0),
        "iter_tokens_per_iteration" => (named("tokens_per_later_chunk", "tokens", "weighted_by_tokens"), 1.0),
        "request_dispatch_delay" | "turn_scheduling_delay" => {
            (named("client_queue_ms", "ms", "nearest_rank_coarse_times"), 1e3)
        }
        "request_scheduled_latency" => (named("e2e_ms", "ms", "from_schedule_nearest_rank"), 1e3),
        "time_to_first_output_token_ms" => (named("first_answer_token_ms", "ms", "nearest_rank"), 1.0),
        "time_to_last_round_trip_ms" => (named("last_round_trip_ms", "ms", "absent_as_zero_nearest_rank"), 1.0),
        "avg_round_trip_time_ms" => (named("mean_round_trip_ms", "ms", "absent_as_zero_nearest_rank"), 1.0),
        "turn_predecessor_delay" => (named("predecessor_wait_ms", "ms", "nearest_rank"), 1e3),
        _ => return None,
    })
}

/// What texts are long, in three units, for what was sent, what was answered and both; and curves of these over time.
fn text(metric: &str) -> Option<Named> {
    Some(match metric {
        "text.tokens.input" => named("prompt_text_tokens", "tokens", "nearest_rank"),
        "text.tokens.output" => named("output_text_tokens", "tokens", "nearest_rank"),
        "text.words.input" => named("prompt_words", "words", "nearest_rank"),
        "text.words.output" => named("output_words", "words", "nearest_rank"),
        "text.characters.input" => named("prompt_characters", "characters", "nearest_rank"),
        "text.characters.output" => named("output_characters", "characters", "nearest_rank"),
        "text.tokens.total" => named("text_tokens_pooled", "tokens", "nearest_rank"),
        "text.tokens.input_concurrency" => named("prompt_text_tokens_under_way", "tokens", "texts_over_time"),
        "text.tokens.output_concurrency" => named("output_text_tokens_under_way", "tokens", "texts_over_time"),
        "text.tokens.total_concurrency" => named("text_tokens_under_way", "tokens", "texts_over_time"),
        "text.tokens.input_per_second" => named("prompt_text_tokens_per_s_at_ends", "tok/s", "texts_over_time"),
        "text.tokens.output_per_second" => named("output_text_tokens_per_s_at_ends", "tok/s", "texts_over_time"),
        "text.tokens.total_per_second" => named("text_tokens_per_s_at_ends", "tok/s", "texts_over_time"),
        "text.words.total" => named("words_pooled", "words", "nearest_rank"),
        "text.words.input_concurrency" => named("prompt_words_under_way", "words", "texts_over_time"),
        "text.words.output_concurrency" => named("output_words_under_way", "words", "texts_over_time"),
        "text.words.total_concurrency" => named("words_under_way", "words", "texts_over_time"),
        "text.words.input_per_second" => named("prompt_words_per_s_at_ends", "words/s", "texts_over_time"),
        "text.words.output_per_second" => named("output_words_per_s_at_ends", "words/s", "texts_over_time"),
        "text.words.total_per_second" => named("words_per_s_at_ends", "words/s", "texts_over_time"),
        "text.characters.total" => named("characters_pooled", "characters", "nearest_rank"),
        "text.characters.input_concurrency" => named("prompt_characters_under_way", "characters", "texts_over_time"),
        "text.characters.output_concurrency" => named("output_characters_under_way", "characters", "texts_over_time"),
        "text.characters.total_concurrency" => named("characters_under_way", "characters", "texts_over_time"),
        "text.characters.input_per_second" => {
            named("prompt_characters_per_s_at_ends", "characters/s", "texts_over_time")
        }
        "text.characters.output_per_second" => {
            named("output_characters_per_s_at_ends", "characters/s", "texts_over_time")
        }
        "text.characters.total_per_second" => named("characters_per_s_at_ends", "characters/s", "texts_over_time"),
        _ => return None,
    })
}

/// How many requests ended how.
pub(in crate::formats) fn totals(totals: &Tree, out: &mut Vec<ReportedRow>) {
    let names = [
        ("successful", named("requests_ok", "requests", "same")),
        ("errored", named("requests_failed", "requests", "same")),
        ("incomplete", named("requests_incomplete", "requests", "same")),
    ];
    for (key, name) in names {
        out.extend(figure(&name, "value", &format!("request_totals.{key}"), totals.get(key), 1.0));
    }
}

/// 0.2 and 0.3 counted TPOT from the first token, over all output tokens.
pub(super) fn older_conventions(flat_requests: bool, out: &mut [ReportedRow]) {
    for row in out.iter_mut().filter(|row| flat_requests && row.metric == "e2e_per_output_token_ms") {
        row.metric = "time_per_output_token_ms".to_string();
        row.convention = "not_computed_here".into();
    }
}
