//! How much runs of one configuration differ, from earlier repeats of it.

use crate::comparable::{differ, measured};
use crate::stats::student::student;
use postrun_analysis::RunAnalysis;
use postrun_schema::Manifest;
use std::collections::BTreeMap;

/// Figures whose noise is looked at.
const FIGURES: [(&str, &str); 5] =
    [("ttft_ms", "p50"), ("ttft_ms", "p95"), ("tpot_ms", "p50"), ("e2e_ms", "p95"), ("output_tokens_per_s", "value")];
/// Fewer repeats say nothing of their spread.
const FEWEST: usize = 3;

/// By how much two runs may differ with 95 % probability, as a share: the largest over latencies and throughput. Student's t of
/// the spread of logarithms, times √2 for two runs. `None` from fewer than three repeats.
pub fn noise_of_repeats(runs: &[RunAnalysis]) -> Option<f64> {
    let of = |(metric, stat): &(&str, &str)| -> Option<f64> {
        let value = |r: &RunAnalysis| match *stat {
            "value" => r.value(metric),
            stat => r.metric(metric)?.stat(stat),
        };
        let values: Option<Vec<f64>> = runs.iter().map(|r| value(r).filter(|v| *v > 0.0)).collect();
        spread_of_two(&values?)
    };
    FIGURES.iter().filter_map(of).reduce(f64::max)
}

/// Mean lengths of repeats differ by no more than this share.
const SAME_LENGTHS: f64 = 0.02;
/// Nor do shares of failed requests by more.
const SAME_FAILURES: f64 = 0.01;

/// True where `other` repeats `base` and was recorded before it: the same client, model, server settings, load, number of
/// requests and lengths, and both say when they were recorded.
pub fn is_earlier_repeat(base: &RunAnalysis, other: &RunAnalysis) -> bool {
    let (a, b) = (&base.manifest, &other.manifest);
    let load = |m: &Manifest| {
        let l = m.load.clone();
        (l.request_rate, l.unbounded, l.burstiness, l.max_concurrency, l.num_prompts, l.dataset, l.backend)
    };
    let settings = |m: &Manifest| -> BTreeMap<String, String> {
        m.server.iter().filter(|(key, _)| !measured(key)).map(|(k, v)| (k.clone(), v.clone())).collect()
    };
    let client = |m: &Manifest| (m.tool.name.clone(), m.tool.version.clone(), m.model.clone(), m.output_tokens_source);
    let length = |id: &str| match (base.metric(id), other.metric(id)) {
        (Some(x), Some(y)) => !differ(x.mean, y.mean, SAME_LENGTHS),
        _ => false,
    };
    let failed = |r: &RunAnalysis| r.requests.failed as f64 / r.requests.total.max(1) as f64;
    client(a) == client(b)
        && settings(a) == settings(b)
        && load(a) == load(b)
        && base.requests.total == other.requests.total
        && (failed(base) - failed(other)).abs() <= SAME_FAILURES
        && ["prompt_length", "output_length"].into_iter().all(length)
        && is_earlier(b, a)
}

/// By Unix time, else by dates that are written alike; false where neither is known of both.
fn is_earlier(first: &Manifest, second: &Manifest) -> bool {
    let unix = |m: &Manifest| m.duration_from_unix_ns.or(m.clocks.client.origin_unix_ns);
    let shape = |date: &str| -> String { date.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect() };
    match (unix(first), unix(second), &first.load.date, &second.load.date) {
        (Some(a), Some(b), ..) => a < b,
        (_, _, Some(a), Some(b)) => shape(a) == shape(b) && a < b,
        _ => false,
    }
}

fn spread_of_two(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n < FEWEST {
        return None;
    }
    let mean = values.iter().map(|v| v.ln()).sum::<f64>() / n as f64;
    let squares = values.iter().map(|v| (v.ln() - mean).powi(2)).sum::<f64>();
    let spread = (squares / (n - 1) as f64).sqrt();
    Some((student(n - 1) * spread * std::f64::consts::SQRT_2).exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_show_their_noise() {
        assert_eq!(spread_of_two(&[10.0, 11.0]), None);
        assert_eq!(spread_of_two(&[10.0; 4]), Some(0.0));
        // Logarithms -0.1, 0, 0.1: their spread is 0.1, and t of 2 degrees of freedom 4.303.
        let noise = spread_of_two(&[(-0.1f64).exp(), 1.0, 0.1f64.exp()]).unwrap();
        assert!((noise - (4.303 * 0.1 * 2f64.sqrt()).exp_m1()).abs() < 1e-9, "{noise}");
    }
}
