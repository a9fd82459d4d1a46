//! The JSON report keeps to its published schema.

use crate::support::{SHARED_FOLDERS, case_inputs, fixture, report, run, shared};
use serde_json::Value;

fn validator() -> jsonschema::Validator {
    let path = crate::support::root().join("crates/postrun-report/schema/postrun.report-1.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::options().build(&schema).unwrap()
}

fn hold(validator: &jsonschema::Validator, report: &Value, name: &str) {
    let errors: Vec<String> =
        validator.iter_errors(report).map(|e| format!("{name}: {} at {}", e, e.instance_path())).take(5).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn every_fixture_report_keeps_to_the_schema() {
    let validator = validator();
    let mut seen = 0;
    for path in case_inputs() {
        let path = path.to_str().unwrap();
        let ran = run(["report", path, "--format", "json", "--slo", "ttft=1s", "--percentiles", "75,99.9"]);
        if ran.code == 0 {
            hold(&validator, &ran.json(), path);
            seen += 1;
        }
    }
    assert!(seen >= 20, "only {seen} reports");
    let windowed = report(&fixture("vllm_bench/long_prompts/input/result.json"), &["--window", "10s..40s"]);
    hold(&validator, &windowed, "windowed");
}

#[test]
fn the_schema_can_fail() {
    let mut report = report(&fixture("vllm_bench/long_prompts/input/result.json"), &[]);
    let validator = validator();
    hold(&validator, &report, "as it is");
    report["runs"][0]["metrics"]["ttft_ms"]["mean"] = Value::from("fast");
    assert!(!validator.is_valid(&report));
    report["runs"][0]["metrics"]["ttft_ms"]["mean"] = Value::from(1.0);
    assert!(validator.is_valid(&report));
    report["runs"][0]["surprise"] = Value::from(1);
    assert!(!validator.is_valid(&report));
}

/// Reads `../shared`.
#[test]
fn shared_reports_keep_to_the_schema() {
    let Some(shared) = shared() else { return };
    let validator = validator();
    for folder in SHARED_FOLDERS {
        hold(&validator, &report(&shared.join(folder), &["--slo", "ttft=1s,tpot=50ms"]), folder);
    }
}
