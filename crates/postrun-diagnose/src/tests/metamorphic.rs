//! What does not matter leaves a diagnosis in place; what makes things worse never makes a finding weaker.

use super::*;
use crate::Severity;

/// Causes that a client's result alone shows.
const CAUSES: [&str; 4] = ["saturated", "prefill_blocks_decode", "long_prompts_raise_ttft", "heavy_tail"];
const ARRAYS: [&str; 9] = [
    "input_lens",
    "output_lens",
    "ttfts",
    "itls",
    "start_times",
    "latencies",
    "queue_times",
    "errors",
    "generated_texts",
];

fn primary(result: &Value) -> (String, Severity) {
    let diagnosis = diagnosed(&of_result(result));
    let first = diagnosis.findings.first().unwrap();
    (first.rule.clone(), first.severity)
}

fn arrays(result: &mut Value, mut change: impl FnMut(&str, &mut Vec<Value>)) {
    for key in ARRAYS {
        if let Some(Value::Array(list)) = result.get_mut(key) {
            change(key, list);
        }
    }
}

fn scale(value: &mut Value, by: f64) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|v| scale(v, by)),
        Value::Number(n) => *value = json!(n.as_f64().unwrap() * by),
        _ => {}
    }
}

#[test]
fn the_diagnosis_stays() {
    for cause in CAUSES {
        let result = client_result(&labelled(cause));
        let expected = primary(&result);

        let mut slower = result.clone();
        for key in ["ttfts", "itls", "start_times", "latencies", "queue_times", "duration"] {
            scale(&mut slower[key], 1.25);
        }
        if let Some(rate) = slower["request_rate"].as_f64() {
            slower["request_rate"] = json!(rate / 1.25);
        }
        assert_eq!(primary(&slower), expected, "{cause}: all times a quarter longer");

        let mut shuffled = result.clone();
        arrays(&mut shuffled, |_, list| {
            // The same order for every array, far from the first one.
            let n = list.len();
            let step = (n / 2 + 1..).find(|s| gcd(*s, n) == 1).unwrap();
            *list = (0..n).map(|i| list[i * step % n].clone()).collect();
        });
        assert_eq!(primary(&shuffled), expected, "{cause}: records in another order");

        let mut renamed = result.clone();
        (renamed["label"], renamed["model_id"], renamed["tokenizer_id"]) = (json!("x"), json!("y"), json!("y"));
        assert_eq!(primary(&renamed), expected, "{cause}: other names");
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[test]
fn a_run_after_itself_has_the_same_cause() {
    for cause in ["prefill_blocks_decode", "long_prompts_raise_ttft"] {
        let result = client_result(&labelled(cause));
        let duration = result["duration"].as_f64().unwrap();
        let mut twice = result.clone();
        arrays(&mut twice, |key, list| {
            let mut again = list.clone();
            if key == "start_times" {
                again.iter_mut().for_each(|at| *at = json!(at.as_f64().unwrap() + duration));
            }
            list.extend(again);
        });
        twice["duration"] = json!(2.0 * duration);
        for key in ["completed", "num_prompts", "total_input_tokens", "total_output_tokens"] {
            twice[key] = json!(2 * result[key].as_u64().unwrap());
        }
        assert_eq!(primary(&twice), primary(&result), "{cause}");
    }
}

#[test]
fn more_preemptions_never_weaken_the_finding() {
    let mut run = recorded(&labelled("frequent_preemption"));
    let mut last = (Severity::Info, 0.0);
    for more in [0.0, 1.0, 10.0, 100.0, 1000.0] {
        if let Some(p) = run.facts.server.preemption.as_mut() {
            p.total = p.total.map(|total| total + more);
        }
        let diagnosis = diagnosed(&run);
        let finding = diagnosis.findings.iter().find(|f| f.rule == "frequent_preemption").unwrap();
        let now = (finding.severity, finding.weight * finding.confidence);
        assert!(now >= last, "{now:?} after {last:?}");
        last = now;
    }
}
