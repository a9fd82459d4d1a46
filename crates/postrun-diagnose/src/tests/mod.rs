//! Diagnoses of whole runs: simulated ones, and small results written by hand.

mod degenerate;
mod each_rule;
mod metamorphic;
mod ranking;
mod rules_files;
mod sweeps;

use crate::{Diagnosis, RuleSet, diagnose};
use postrun_analysis::{Options, RunAnalysis, analyse};
use postrun_ingest::{Input, ingest};
use postrun_schema::Dataset;
use postrun_simulate::{LabelledScenario, Scenario, Split, scenarios, simulate, write};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Ingests files that are written for it, and analyses the one run in them.
fn analysed(files: &[(&str, Vec<u8>)]) -> RunAnalysis {
    analysed_for(files, &Options::default())
}

fn analysed_for(files: &[(&str, Vec<u8>)], options: &Options) -> RunAnalysis {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| dir.path().join(name)).collect();
    for (path, (_, bytes)) in paths.iter().zip(files) {
        std::fs::write(path, bytes).unwrap();
    }
    let inputs: Vec<Input> = paths.iter().map(|p| Input::from_arg(&p.to_string_lossy())).collect();
    let target = dir.path().join("dataset");
    ingest(&inputs, &target, &postrun_ingest::Options::default()).unwrap();
    analyse(&Dataset::open(&target).unwrap(), options).unwrap()
}

/// The client's result of a simulated run, as JSON.
fn client_result(scenario: &Scenario) -> Value {
    let mut bytes = Vec::new();
    write::result(&simulate(scenario).unwrap(), &mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// A simulated run with everything that is recorded of it.
fn recorded(scenario: &Scenario) -> RunAnalysis {
    let run = simulate(scenario).unwrap();
    let (mut result, mut log, mut metrics, mut spans) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    write::result(&run, &mut result).unwrap();
    write::server_log(&run, &mut log).unwrap();
    write::metrics(&run, &mut metrics).unwrap();
    write::spans(&run, &mut spans).unwrap();
    analysed(&[("result.json", result), ("server.log", log), ("metrics.prom", metrics), ("spans.otlp.jsonl", spans)])
}

/// The first tuning run with just this cause; an empty name is a healthy run.
fn labelled(cause: &str) -> Scenario {
    let wanted = |l: &LabelledScenario| {
        let ids: Vec<&str> = l.causes.iter().map(|c| c.id()).collect();
        l.split == Split::Tuning && if cause.is_empty() { ids.is_empty() } else { ids == [cause] }
    };
    scenarios().into_iter().find(wanted).unwrap_or_else(|| panic!("no run with {cause:?}")).scenario
}

fn diagnosed(run: &RunAnalysis) -> Diagnosis {
    let diagnosis = diagnose(run, &RuleSet::default());
    check_numbers(&diagnosis);
    diagnosis
}

fn found(diagnosis: &Diagnosis) -> Vec<&str> {
    diagnosis.findings.iter().map(|f| f.rule.as_str()).collect()
}

/// Nothing that is no number; every finding with evidence, a measure and a confidence.
fn check_numbers(diagnosis: &Diagnosis) {
    for f in &diagnosis.findings {
        assert!((0.0..=1.0).contains(&f.confidence) && (0.0..=1.0).contains(&f.weight), "{f:?}");
        assert!(!f.evidence.is_empty() && !f.measures.is_empty() && !f.summary.is_empty(), "{f:?}");
        assert!(!f.summary.contains("NaN") && !f.summary.contains("inf"), "{}", f.summary);
        if let Some(effect) = &f.effect {
            assert!(effect.amount.is_finite() && effect.share.is_none_or(|s| (0.0..=1.0).contains(&s)), "{f:?}");
            assert!(!effect.text.contains("NaN") && !effect.text.contains("inf"), "{}", effect.text);
        }
    }
    let cleared = diagnosis.cleared.iter().flat_map(|c| &c.evidence);
    for e in diagnosis.findings.iter().flat_map(|f| &f.evidence).chain(cleared) {
        assert!(e.value.is_finite() && e.compared_with.as_ref().is_none_or(|r| r.value.is_finite()), "{e:?}");
    }
    assert!(diagnosis.cleared.iter().all(|c| !c.evidence.is_empty()), "{:?}", diagnosis.cleared);
    assert!(diagnosis.not_checked.iter().all(|n| !n.missing.is_empty()), "{:?}", diagnosis.not_checked);
}

/// A result of `vllm bench serve` by hand: a request every `every_s`, each with the TTFT and the gaps given.
fn small_result(requests: usize, every_s: f64, ttft_s: f64, gaps_s: &[f64]) -> Value {
    let all = |value: Value| Value::from(vec![value; requests]);
    let starts: Vec<f64> = (0..requests).map(|i| 100.0 + i as f64 * every_s).collect();
    let tokens = gaps_s.len() + 1;
    json!({
        "date": "20260102-030405", "backend": "vllm", "label": "small", "model_id": "m", "tokenizer_id": "m",
        "num_prompts": requests, "request_rate": 1.0 / every_s, "burstiness": 1.0, "max_concurrency": null,
        "duration": requests as f64 * every_s + ttft_s + gaps_s.iter().sum::<f64>(),
        "completed": requests, "total_input_tokens": 100 * requests, "total_output_tokens": tokens * requests,
        "request_throughput": 1.0, "output_throughput": 1.0, "total_token_throughput": 1.0,
        "input_lens": all(json!(100)), "output_lens": all(json!(tokens)), "ttfts": all(json!(ttft_s)),
        "itls": all(json!(gaps_s)), "start_times": starts, "errors": all(json!("")),
    })
}

fn of_result(result: &Value) -> RunAnalysis {
    analysed(&[("result.json", serde_json::to_vec(result).unwrap())])
}
