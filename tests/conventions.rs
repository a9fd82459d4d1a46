//! `--convention` computes what the tool of that name would have, and `explain` shows all of them.

use crate::support::{fixture, report, run};
use serde_json::Value;

const CONVENTIONS: [&str; 10] = [
    "postrun",
    "vllm",
    "sglang",
    "guidellm",
    "aiperf",
    "inference-perf",
    "evalscope",
    "llmperf",
    "tensorrt-llm",
    "mlperf",
];

fn only_run(path: &str, convention: &str) -> Value {
    report(&fixture(path), &["--convention", convention])["runs"][0].clone()
}

/// What the client stored under this name, in postrun's unit.
fn stored(run: &Value, key: &str) -> f64 {
    let figures = run["reported"].as_array().unwrap();
    figures.iter().find(|f| f["key"] == key).unwrap_or_else(|| panic!("no {key}"))["reported"].as_f64().unwrap()
}

fn assert_close(ours: &Value, theirs: f64, what: &str) {
    let ours = ours.as_f64().unwrap_or_else(|| panic!("{what}: {ours}"));
    assert!((ours - theirs).abs() <= 1e-6 * theirs.abs().max(1e-3), "{what}: {ours}, not {theirs}");
}

#[test]
fn a_metric_of_the_report_is_the_clients_own_figure() {
    let run = only_run("client_side/aiperf_with_summary/input", "aiperf");
    assert_eq!(run["convention"]["id"], "aiperf");
    for stat in ["avg", "p50", "p99", "max"] {
        let ours = if stat == "avg" { "mean" } else { stat };
        let metrics = &run["metrics"];
        assert_close(&metrics["itl_ms"][ours], stored(&run, &format!("inter_token_latency.{stat}")), stat);
        assert_close(&metrics["ttft_ms"][ours], stored(&run, &format!("time_to_first_token.{stat}")), stat);
    }
    // Gaps are its inter-chunk latency; postrun's own ITL is those.
    let plain = only_run("client_side/aiperf_with_summary/input", "postrun");
    assert_close(&plain["metrics"]["itl_ms"]["mean"], stored(&plain, "inter_chunk_latency.avg"), "gaps");
    assert_ne!(plain["metrics"]["itl_ms"]["mean"], run["metrics"]["itl_ms"]["mean"]);
}

#[test]
fn every_convention_computes_or_says_what_is_missing() {
    for convention in CONVENTIONS {
        let run = only_run("vllm_bench/long_prompts/input/result.json", convention);
        assert_eq!(run["convention"]["id"], convention);
        for defined in run["convention"]["metrics"].as_array().unwrap() {
            let id = defined["metric"].as_str().unwrap();
            let there = !run["metrics"][id].is_null() || !run["throughput"][id].is_null();
            let lacking = run["unavailable"].as_array().unwrap().iter().find(|u| u["metric"] == id);
            assert!(there != lacking.is_some(), "{convention} {id}: there {there}, {lacking:?}");
        }
    }
    // No file of this version says when a request was meant to be sent.
    let run = only_run("cases/b06_role_only_chunk/input", "mlperf");
    let lacking = run["unavailable"].as_array().unwrap().iter().find(|u| u["metric"] == "ttft_ms").unwrap();
    let missing = lacking["missing"].as_str().unwrap();
    assert!(missing.contains("meant to be sent") && missing.contains("mlperf"), "{missing}");
}

/// No rate and no peak stands under the name of a client with another value than the client stored.
#[test]
fn a_figure_of_the_run_is_the_clients_own_or_is_left_out() {
    let inputs = [
        ("vllm_bench/long_prompts/input/result.json", "vllm"),
        ("cases/b04_multi_token_chunks/input/result.json", "vllm"),
        ("cases/b04_multi_token_chunks/input/sglang-oai.jsonl", "sglang"),
        ("cases/b10_not_streamed/input/all-sglang.jsonl", "sglang"),
        ("client_side/aiperf_with_summary/input", "aiperf"),
        ("guidellm/two_benchmarks/input", "guidellm"),
        ("inference_perf/shared_times/input", "inference-perf"),
        ("evalscope_perf/closed_loop/input", "evalscope"),
        ("llmperf/rate_limited/input", "llmperf"),
    ];
    // What postrun calls otherwise.
    let also = |metric: &str, convention: &str| match (metric, convention) {
        ("peak_chunks_per_s", "vllm" | "sglang") => Some("peak_output_tokens_per_s"),
        ("peak_requests_in_1s", "vllm" | "sglang") => Some("peak_concurrency"),
        _ => None,
    };
    let mut compared = 0;
    for (input, convention) in inputs {
        for run in report(&fixture(input), &["--convention", convention])["runs"].as_array().unwrap() {
            let once = run["reported"].as_array().unwrap().iter();
            for figure in once.filter(|f| ["value", "mean"].contains(&f["stat"].as_str().unwrap())) {
                let metric = figure["metric"].as_str().unwrap();
                let Some(theirs) = figure["reported"].as_f64() else { continue };
                for id in std::iter::once(metric).chain(also(metric, convention)).filter(|id| *id != "duration_s") {
                    if let Some(ours) = run["throughput"][id].as_f64() {
                        let close = (ours - theirs).abs() <= 1e-3 * theirs.abs();
                        assert!(close, "{input} --convention {convention}: {id} is {ours}, the client has {theirs}");
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared >= 20, "only {compared} figures were compared");
}

#[test]
fn a_value_that_counts_once_a_token_has_no_interval() {
    let run = report(&fixture("guidellm/two_benchmarks/input"), &["--convention", "guidellm"])["runs"][0].clone();
    let interval = |metric: &str| run["metrics"][metric]["interval_95"]["p50"].clone();
    assert_eq!(interval("tpot_ms"), serde_json::json!([null, null]));
    assert_ne!(run["metrics"]["tpot_ms"]["count"], run["metrics"]["ttft_ms"]["count"], "weighted by tokens");
}

#[test]
fn percentiles_follow_the_convention() {
    let of = |convention: &str| only_run("vllm_bench/long_prompts/input/result.json", convention)["metrics"].clone();
    let (linear, floor) = (of("postrun"), of("evalscope"));
    assert_eq!(linear["e2e_ms"]["mean"], floor["e2e_ms"]["mean"]);
    assert!(floor["e2e_ms"]["p99"].as_f64() >= linear["e2e_ms"]["p99"].as_f64());
    assert_ne!(linear["e2e_ms"]["p90"], floor["e2e_ms"]["p90"]);
    // A sample's spread is wider than a population's by the square root of n / (n − 1).
    let sample = of("llmperf");
    let n = linear["ttft_ms"]["count"].as_f64().unwrap();
    let wider = linear["ttft_ms"]["std"].as_f64().unwrap() * (n / (n - 1.0)).sqrt();
    assert_close(&sample["ttft_ms"]["std"], wider, "spread");
}

#[test]
fn the_head_of_the_report_names_the_convention() {
    let input = fixture("vllm_bench/long_prompts/input/result.json");
    let input = input.to_str().unwrap();
    for format in ["table", "markdown"] {
        let head = |extra: &[&str]| {
            let ran = run(["report", input, "--format", format].iter().chain(extra));
            ran.stdout.lines().take(12).collect::<Vec<_>>().join(" ")
        };
        assert!(head(&["--convention", "sglang"]).contains("metrics as sglang defines them"), "{format}");
        assert!(!head(&[]).contains("defines them"), "{format}");
        let table = |convention: &str| run(["report", input, "--format", format, "--convention", convention]).stdout;
        assert!(table("guidellm").contains("ITL (request mean)"), "{format}");
        assert!(!table("tensorrt-llm").contains("ITL (request mean)"), "{format}");
    }
    let ran = run(["diagnose", input, "--convention", "guidellm"]);
    assert!(ran.stdout.contains("metrics as guidellm defines them"), "{}", ran.stdout);
    let ran = run(["report", input, "--convention", "nobody"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("no convention is called"), "{}", ran.stderr);
}

#[test]
fn explain_shows_every_definition_and_the_worked_request() {
    let ran = run(["explain", "total_tokens_per_s"]);
    for word in ["sglang          total throughput", "guidellm        tokens_per_second"] {
        assert!(ran.stdout.contains(word), "{word}: {}", ran.stdout);
    }
    let ran = run(["explain", "ttft"]);
    for line in ["postrun", "tensorrt-llm", "mlperf"] {
        assert!(ran.stdout.contains(line), "{}", ran.stdout);
    }
    let value = |convention: &str| {
        let line = ran.stdout.lines().find(|l| l.trim_start().starts_with(convention)).unwrap().to_string();
        line.split_whitespace().nth(1).unwrap().to_string()
    };
    assert_eq!([value("postrun"), value("tensorrt-llm"), value("mlperf")], ["60", "40", "70"]);
    let words: Vec<&str> = ran.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("a role-only chunk at 40 ms"), "{}", ran.stdout);
}

#[test]
fn parity_keeps_to_its_schema_and_its_forms_agree() {
    let path = crate::support::root().join("crates/postrun-report/schema/postrun.parity-1.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::options().build(&schema).unwrap();
    let input = fixture("client_side/aiperf_with_summary/input");
    let of = |format: &str| run(["parity", input.to_str().unwrap(), "--format", format]);
    let json = of("json").json();
    let errors: Vec<String> = validator.iter_errors(&json).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let figures = json["counts"]["figures"].as_u64().unwrap();
    assert_eq!(of("csv").stdout.lines().count() as u64, figures + 1);
    for format in ["table", "markdown"] {
        assert!(of(format).stdout.contains(&format!("{figures} figures: ")), "{format}");
    }
    // A figure that nobody can account for is an exit code.
    let text = std::fs::read_to_string(fixture("vllm_bench/long_prompts/input/result.json")).unwrap();
    let mut wrong: Value = serde_json::from_str(&text).unwrap();
    wrong["mean_ttft_ms"] = Value::from(1.0);
    let (_dir, file) = crate::support::temp_file("result.json", wrong.to_string().as_bytes());
    let ran = run(["parity", file.to_str().unwrap(), "--format", "json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(ran.json()["counts"]["unexplained"], 1);
    let ran = run(["parity", "no-such-file"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

/// Two clients under one convention: every figure is that of the report of its side, or is left out by name.
#[test]
fn a_comparison_holds_both_clients_to_one_convention() {
    let sides = ["vllm_bench/long_prompts/input/result.json", "aiperf_records/warmup_and_failures/input"];
    let paths = sides.map(|s| fixture(s).to_str().unwrap().to_string());
    for convention in CONVENTIONS {
        let args = ["--convention", convention, "--buckets", "0"];
        let ran = run(["diff", &paths[0], &paths[1], "--format", "json"].into_iter().chain(args));
        assert_eq!(ran.code, 0, "{convention}: {}", ran.stderr);
        let found = ran.json();
        assert_eq!(found["convention"], convention);
        let runs = sides.map(|s| report(&fixture(s), &args)["runs"][0].clone());
        let mut held = 0;
        for d in found["deltas"].as_array().unwrap().iter().filter(|d| d["scope"] == "all") {
            let (metric, stat) = (d["metric"].as_str().unwrap(), d["stat"].as_str().unwrap());
            for (side, run) in ["base", "candidate"].iter().zip(&runs) {
                let figures = &run["metrics"][metric];
                let theirs = match &figures[stat] {
                    Value::Object(percentile) => percentile["value"].as_f64(),
                    value => value.as_f64(),
                };
                let Some(theirs) = theirs.or_else(|| run["throughput"][metric].as_f64()) else { continue };
                assert_close(&d[*side], theirs, &format!("{convention} {metric} {stat} {side}"));
                held += 1;
            }
        }
        assert!(held >= 30, "{convention}: only {held} figures");
        let left = found["left_out"].as_array().unwrap();
        for defined in runs[0]["convention"]["metrics"].as_array().unwrap() {
            let metric = defined["metric"].as_str().unwrap();
            let has = runs.iter().map(|r| !r["metrics"][metric].is_null() || !r["throughput"][metric].is_null());
            let has: Vec<bool> = has.collect();
            let named = left.iter().find(|l| l["metric"] == metric);
            assert_eq!(named.is_some(), has[0] != has[1], "{convention} {metric}");
            if let Some(named) = named {
                assert!(!named["missing"].as_str().unwrap().is_empty());
            }
        }
    }
    let text = run(["diff", &paths[0], &paths[1], "--convention", "guidellm"]).stdout;
    assert!(
        text.contains("metrics by the definitions of GuideLLM 0.6") && text.contains("the base lacks: e2e_ms"),
        "{text}"
    );
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("both are held to the definitions of GuideLLM 0.6"), "{text}");
    let html = run(["diff", &paths[0], &paths[1], "--convention", "guidellm", "--format", "html"]).stdout;
    assert!(html.contains("metrics by the definitions of GuideLLM 0.6"));
    assert!(!html.split("<script>").next().unwrap().contains("NaN"));
}
