//! The figures of a benchmark, under postrun's names.

use crate::bench::reported::{Named, named};
use crate::client::distribution::{figure, figures};
use crate::json::Tree;
use postrun_schema::ReportedRow;

/// All rows of one metric's statistics over the successful requests.
pub(super) fn add(metric: &str, stats: &Tree, out: &mut Vec<ReportedRow>) {
    if let Some((name, scale)) = latency(metric) {
        return figures(&name, metric, stats, scale, out);
    }
    if let Some(name) = rate(metric) {
        // The mean over time is the rate; the rest describes a curve that only the client has.
        out.extend(figure(&name, "value", &format!("{metric}.mean"), stats.get("mean"), 1.0));
        return;
    }
    if let Some(name) = total(metric) {
        out.extend(figure(&name, "value", &format!("{metric}.total_sum"), stats.get("total_sum"), 1.0));
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

fn total(metric: &str) -> Option<Named> {
    Some(match metric {
        "prompt_token_count" => named("prompt_tokens", "tokens", "same"),
        "output_token_count" => named("output_tokens", "tokens", "same"),
        _ => return None,
    })
}

/// How many requests ended how.
pub(super) fn totals(totals: &Tree, out: &mut Vec<ReportedRow>) {
    let names = [
        ("successful", named("requests_ok", "requests", "same")),
        ("errored", named("requests_failed", "requests", "same")),
        ("incomplete", named("requests_incomplete", "requests", "not_computed_here")),
    ];
    for (key, name) in names {
        out.extend(figure(&name, "value", &format!("request_totals.{key}"), totals.get(key), 1.0));
    }
}

/// 0.2 and 0.3 counted TPOT from the first token, over all output tokens.
pub(super) fn older_conventions(flat_requests: bool, out: &mut [ReportedRow]) {
    for row in out.iter_mut().filter(|row| flat_requests && row.metric == "e2e_per_output_token_ms") {
        row.metric = "time_per_output_token_ms".to_string();
        row.convention = "not_computed_here";
    }
}
