//! Workloads: what was asked of a server, of every run; and traces, which hold nothing else.

use crate::support::{fixture, report, run, shared, temp_file};
use serde_json::Value;

const TRACE: &str = "workload_trace/burst/input/trace.csv";

fn text(args: &[&str]) -> String {
    let trace = fixture(TRACE);
    let ran = run([args, &[trace.to_str().unwrap()]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
}

fn length(value: &Value) -> usize {
    value.as_array().unwrap().len()
}

#[test]
fn a_trace_is_not_judged() {
    let rules = run(["list", "rules"]).stdout.lines().count();
    for window in [&[][..], &["--window", "0s..20s"]] {
        let run = &report(&fixture(TRACE), window)["runs"][0];
        assert_eq!(run["workload"]["only"], true);
        assert_eq!((length(&run["findings"]), length(&run["cleared"])), (0, 0), "{}", run["findings"]);
        // A window is not judged at all.
        assert_eq!(length(&run["not_checked"]), if window.is_empty() { rules } else { 0 });
        // Nothing is known of ends: that is no rate or level of 0.
        let throughput = run["throughput"].as_object().unwrap();
        assert!(throughput.values().all(Value::is_null), "{throughput:?}");
        for w in run["timeline"]["windows"].as_array().unwrap() {
            assert!(w["ended"].is_null() && w["mean_concurrency"].is_null(), "{w}");
        }
    }
    for said in [text(&["report"]), text(&["diagnose"]), text(&["report", "--format", "html"])] {
        assert!(said.contains("This is a workload, not a result"), "{said}");
        assert!(!said.contains("46 ok"), "nobody knows that they were answered: {said}");
    }
}

#[test]
fn a_rule_of_the_users_own_may_judge_a_trace() {
    let rule = "[[rule]]\nid = \"long_outputs\"\ntitle = \"Outputs are long\"\n\
                when = \"p50.output_length > 200 and interarrival_cv > 2\"\nmeasures = [\"ask for less\"]\n";
    let (_dir, path) = temp_file("rules.toml", rule.as_bytes());
    let run = &report(&fixture(TRACE), &["--rules", path.to_str().unwrap()])["runs"][0];
    let found = run["findings"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (&found[0]["evidence"][0]["value"], &found[0]["evidence"][0]["unit"]),
        (&252.0.into(), &"tokens".into())
    );
}

#[test]
fn sends_and_lengths_of_ones_own_are_a_workload() {
    let rows = "sent_s,prompt_tokens,output_tokens\n0,100,20\n1.5,200,30\n2,50,10\n";
    let (_dir, path) = temp_file("mine.csv", rows.as_bytes());
    let run = &report(&path, &[])["runs"][0];
    assert_eq!((&run["workload"]["only"], &run["workload"]["sent"]), (&true.into(), &3.into()), "{run:#}");
    assert_eq!(
        (&run["metrics"]["prompt_length"]["max"], length(&run["data_quality"])),
        (&200.0.into(), 0),
        "{}",
        run["data_quality"]
    );
    // Lengths without sends are no recording of anything.
    let (_dir, path) = temp_file("lengths.csv", b"prompt_tokens,output_tokens\n1,2\n3,4\n");
    assert_eq!(super::support::run(["report", path.to_str().unwrap()]).code, 2);
}

#[test]
fn nobody_says_that_a_trace_was_answered() {
    let azure = fixture("workload_trace/azure/input/trace.csv");
    let both = run(["report", fixture(TRACE).to_str().unwrap(), azure.to_str().unwrap()]);
    assert_eq!(both.code, 0, "{}", both.stderr);
    let row = both.stdout.lines().find(|line| line.starts_with("trace-2")).unwrap();
    assert!(row.contains("a workload") && !row.bytes().any(|b| b.is_ascii_digit() && b != b'2'), "{row}");
    let said = both.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("arrivals and lengths, and no answers: requests 48 of trace, 10 of trace-2."), "{said}");
    let seen = text(&["inspect"]);
    assert!(seen.contains("48 arrivals with lengths, no answers; 48 per-request records"), "{seen}");
    assert!(!seen.contains(" ok, "), "{seen}");
}

#[test]
fn figures_have_their_unit() {
    let csv = text(&["report", "--format", "csv"]);
    for row in [
        "trace,whole,,,prompt_length,max,2955,,,,tokens",
        "trace,whole,,,interarrival_ms,max,11000,,,,ms",
        "trace,whole,,,peak_arrivals_per_s,value,6,,,,req/s",
        "trace,whole,,,requests,sent,48,,,,requests",
    ] {
        assert!(csv.lines().any(|line| line == row), "{row}\n{csv}");
    }
    let markdown = text(&["report", "--format", "markdown"]);
    assert!(markdown.contains("| Prompt length | tokens | 46 | 1635 | "), "{markdown}");
    let html = text(&["report", "--format", "html"]);
    assert!(html.contains("r1-workload-output_length") && html.contains("Prompt and output lengths"));
}

#[test]
fn a_run_with_answers_is_no_workload_alone() {
    let run = &report(&fixture("vllm_bench/long_prompts/input/result.json"), &[])["runs"][0];
    assert_eq!((&run["workload"]["only"], &run["workload"]["sent"]), (&false.into(), &45.into()));
    // Nor is a run in which every request failed.
    let failed = "sent_s,e2e_ms,error,prompt_tokens\n0.0,,refused,5\n1.0,,refused,6\n2.5,,refused,7\n";
    let (_dir, path) = temp_file("mine.csv", failed.as_bytes());
    let run = &report(&path, &[])["runs"][0];
    assert_eq!((&run["workload"]["only"], &run["requests"]["failed"]), (&false.into(), &3.into()));
    assert_eq!(run["metrics"]["interarrival_ms"]["count"], 2);
}

#[test]
fn no_objective_is_about_a_length() {
    let ran = run([
        std::ffi::OsStr::new("report"),
        fixture(TRACE).as_os_str(),
        "--slo".as_ref(),
        "prompt_length=1s".as_ref(),
    ]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("prompt_length"), "{}", ran.stderr);
}

/// Reads `../shared`: counts of lines and rates as a spreadsheet gives them.
#[test]
fn real_traces_are_workloads() {
    let Some(folder) = shared().map(|s| s.join("public/arrival-traces")) else { return };
    let known = [
        ("azure/AzureLLMInferenceTrace_code.csv", 8819, 1469.0, 2.566_395_0, 13.151_29),
        ("mooncake/conversation_trace.jsonl", 12031, 6909.0, 3.401_188_4, 3.033_737),
    ];
    for (file, sent, median_prompt, per_s, cv) in known {
        let run = &report(&folder.join(file), &[])["runs"][0];
        let (workload, near) = (&run["workload"], |v: &Value, to: f64| (v.as_f64().unwrap() / to - 1.0).abs() < 1e-6);
        assert_eq!((&workload["only"], &workload["sent"]), (&true.into(), &sent.into()), "{file}");
        assert_eq!(run["metrics"]["prompt_length"]["p50"], median_prompt, "{file}");
        assert!(near(&workload["arrivals_per_s"], per_s) && near(&workload["interarrival_cv"], cv), "{workload}");
        assert_eq!(length(&run["findings"]), 0, "{file}");
    }
}
