//! Recordings made up by tests: a client's result, and what its server showed meanwhile.

use std::fmt::Write as _;

/// Unix time of the client clock's zero in the made-up recordings.
pub const ZERO_S: f64 = 1_700_000_000.0;

/// A client's result of requests sent at `sent` seconds on its own clock, 20 tokens each at `gap` seconds.
pub fn client(sent: &[f64], prompts: &[u32], gap: f64) -> String {
    let n = sent.len();
    let list = |value: &dyn Fn(usize) -> String| (0..n).map(value).collect::<Vec<_>>().join(",");
    let gaps = format!("[{}]", vec![gap.to_string(); 19].join(","));
    let duration = sent[n - 1] - sent[0] + 0.1 + 19.0 * gap;
    format!(
        "{{\"backend\":\"vllm\",\"burstiness\":1.0,\"duration\":{duration},\"completed\":{n},\"input_lens\":[{}],\
        \"output_lens\":[{}],\"ttfts\":[{}],\"itls\":[{}],\"start_times\":[{}],\"errors\":[{}]}}",
        list(&|i| prompts[i].to_string()),
        list(&|_| "20".to_string()),
        list(&|_| "0.1".to_string()),
        list(&|_| gaps.clone()),
        list(&|i| sent[i].to_string()),
        list(&|_| "\"\"".to_string()),
    )
}

/// Scrapes a second apart, at seconds of the client's clock, of a server that generates one token a `gap` for each of
/// these requests.
pub fn scrapes(from: f64, to: f64, sent: &[f64], gap: f64, preemptions: impl Fn(f64) -> f64) -> String {
    let mut out = String::new();
    let mut at = from;
    while at <= to {
        let mut tokens = 7.0;
        let mut running = 0;
        for s in sent {
            let since = at - (s + 0.1);
            if since >= 0.0 {
                tokens += ((since / gap).floor() + 1.0).min(20.0);
            }
            running += i32::from(at >= *s && since < 19.0 * gap);
        }
        writeln!(out, "# scrape_time {}", at + ZERO_S).unwrap();
        writeln!(out, "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{{engine=\"0\"}} {running}.0")
            .unwrap();
        writeln!(out, "vllm:num_preemptions_total{{engine=\"0\"}} {}", preemptions(at)).unwrap();
        writeln!(out, "vllm:generation_tokens_total{{engine=\"0\"}} {tokens}").unwrap();
        at += 1.0;
    }
    out
}

/// `n` moments, `step` apart, from `from` on.
pub fn every(n: usize, step: f64, from: f64) -> Vec<f64> {
    (0..n).map(|i| from + step * i as f64).collect()
}
