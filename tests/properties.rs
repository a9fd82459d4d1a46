//! What must hold for every run: percentiles rise, buckets add up, figures follow from their parts.

use crate::support::{fixture, report, temp_file};
use proptest::prelude::*;
use serde_json::Value;

/// Prompt tokens, TTFT in ms, gaps in ms.
type Request = (u32, u32, Vec<u32>);

/// A run of SGLang's shape with the given requests.
fn recording(requests: &[Request]) -> Vec<u8> {
    let list = |f: &dyn Fn(&Request) -> String| requests.iter().map(f).collect::<Vec<_>>().join(",");
    let seconds = |ms: u32| format!("{:.3}", f64::from(ms) / 1e3);
    let gaps = |r: &Request| format!("[{}]", r.2.iter().map(|g| seconds(*g)).collect::<Vec<_>>().join(","));
    format!(
        "{{\"backend\":\"vllm\",\"dataset_name\":\"random\",\"random_range_ratio\":0.0,\"request_rate\":Infinity,\"duration\":100.0,\"completed\":{},\
         \"input_lens\":[{}],\"output_lens\":[{}],\"ttfts\":[{}],\"itls\":[{}],\"errors\":[{}]}}\n",
        requests.len(),
        list(&|r| r.0.to_string()),
        list(&|r| (r.2.len() + 1).to_string()),
        list(&|r| seconds(r.1)),
        list(&gaps),
        list(&|_| "\"\"".to_string()),
    )
    .into_bytes()
}

/// Linear interpolation between order statistics, as plainly as it can be written.
fn type_7(sorted: &[f64], p: f64) -> f64 {
    let h = (sorted.len() - 1) as f64 * p / 100.0;
    let (low, high) = (h.floor() as usize, h.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * (h - low as f64)
}

fn check_percentiles_rise(metrics: &Value) {
    for (id, m) in metrics.as_object().unwrap() {
        let keys = ["min", "p50", "p90", "p95", "p99", "p99.9", "max"];
        let values: Vec<f64> = keys.iter().map(|k| m[*k].as_f64().unwrap()).collect();
        assert!(values.windows(2).all(|w| w[0] <= w[1] * (1.0 + 1e-12)), "{id}: {values:?}");
        assert!(values[0] <= m["mean"].as_f64().unwrap() * (1.0 + 1e-12), "{id}");
        for key in ["p50", "p95", "p99"] {
            let interval = &m["interval_95"][key];
            let value = m[key].as_f64().unwrap();
            assert!(interval[0].as_f64().is_none_or(|low| low <= value * (1.0 + 1e-12)), "{id} {key}");
            assert!(interval[1].as_f64().is_none_or(|high| high >= value * (1.0 - 1e-12)), "{id} {key}");
        }
    }
}

fn check_buckets_add_up(run: &Value) {
    let buckets = run["buckets"].as_array().unwrap();
    let sum = |f: &dyn Fn(&Value) -> f64| buckets.iter().map(f).sum::<f64>();
    for key in ["ok", "failed"] {
        assert_eq!(sum(&|b| b[key].as_f64().unwrap()), run["requests"][key].as_f64().unwrap(), "{key}");
    }
    assert_eq!(sum(&|b| b["requests"].as_f64().unwrap()), run["requests"]["total"].as_f64().unwrap());
    for (id, whole) in run["metrics"].as_object().unwrap() {
        if id == "interarrival_ms" {
            // From one send to the next of any length: of no bucket.
            assert!(buckets.iter().all(|b| b["metrics"][id].is_null()));
            continue;
        }
        let count = |b: &Value| b["metrics"][id]["count"].as_f64().unwrap_or(0.0);
        assert_eq!(sum(&count), whole["count"].as_f64().unwrap(), "{id}");
        let total = sum(&|b| count(b) * b["metrics"][id]["mean"].as_f64().unwrap_or(0.0));
        let expected = whole["count"].as_f64().unwrap() * whole["mean"].as_f64().unwrap();
        assert!((total - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{id}: {total} {expected}");
    }
}

#[test]
fn a_real_run_keeps_the_properties() {
    let report = report(&fixture("vllm_bench/long_prompts/input/result.json"), &["--buckets", "0,500,1k,1500"]);
    let run = &report["runs"][0];
    check_percentiles_rise(&run["metrics"]);
    check_percentiles_rise(&run["steady"]["metrics"]);
    check_buckets_add_up(run);
    let sent: u64 = run["timeline"]["windows"].as_array().unwrap().iter().map(|w| w["sent"].as_u64().unwrap()).sum();
    assert_eq!((sent, run["workload"]["sent"].as_u64()), (45, Some(45)));
    let gaps = &run["metrics"]["interarrival_ms"];
    assert_eq!(gaps["count"], 44);
    let (mean, rate) = (gaps["mean"].as_f64().unwrap(), run["workload"]["arrivals_per_s"].as_f64().unwrap());
    assert!((mean * rate - 1e3).abs() < 1e-6, "{mean} {rate}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_run_keeps_the_properties(
        requests in prop::collection::vec((1u32..5000, 1u32..90_000, prop::collection::vec(1u32..30_000, 1..30)), 1..120)
    ) {
        let (_dir, path) = temp_file("run.jsonl", &recording(&requests));
        let report = report(&path, &[]);
        let run = &report["runs"][0];
        check_percentiles_rise(&run["metrics"]);
        check_buckets_add_up(run);
        let mut ttft: Vec<f64> = requests.iter().map(|r| f64::from(r.1)).collect();
        let mut gaps: Vec<f64> = requests.iter().flat_map(|r| r.2.iter().map(|g| f64::from(*g))).collect();
        let mut tpot: Vec<f64> = requests
            .iter()
            .map(|r| r.2.iter().map(|g| f64::from(*g)).sum::<f64>() / r.2.len() as f64)
            .collect();
        for (id, values) in [("ttft_ms", &mut ttft), ("itl_ms", &mut gaps), ("itl_per_token_ms", &mut values_copy(&requests)), ("tpot_ms", &mut tpot)] {
            values.sort_by(f64::total_cmp);
            let m = &run["metrics"][id];
            prop_assert_eq!(m["count"].as_u64().unwrap(), values.len() as u64);
            for (key, p) in [("p50", 50.0), ("p90", 90.0), ("p95", 95.0), ("p99", 99.0), ("p99.9", 99.9)] {
                let (ours, expected) = (m[key].as_f64().unwrap(), type_7(values, p));
                prop_assert!((ours - expected).abs() <= 1e-6 * expected, "{} {}: {} {}", id, key, ours, expected);
            }
        }
    }
}

/// With one token a chunk, gaps per token are the gaps.
fn values_copy(requests: &[Request]) -> Vec<f64> {
    requests.iter().flat_map(|r| r.2.iter().map(|g| f64::from(*g))).collect()
}
