//! What a person reads, as reviewed snapshots in `tests/golden/`. `INSTA_UPDATE=always cargo test` writes them anew.

use crate::made_run::Made;
use crate::support::{postrun, root, run};

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ snapshot_path => root().join("tests/golden"), prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

const RECORDING: &str = "fixtures/vllm_bench/long_prompts/input/result.json";

const WITH_SERVER: &str = "fixtures/server_side/kv_tight/input";

#[test]
fn report_at_80_columns() {
    snapshot("report_80", &run(["report", RECORDING]).stdout);
}

#[test]
fn report_at_140_columns_with_objectives() {
    let output = postrun()
        .current_dir(root())
        .env("COLUMNS", "140")
        .args(["report", RECORDING, "--slo", "ttft=300ms,tpot=25ms", "--buckets", "0,512,1k,2k"])
        .output()
        .unwrap();
    snapshot("report_140_slo", &String::from_utf8(output.stdout).unwrap());
}

#[test]
fn report_as_markdown() {
    snapshot("report_markdown", &run(["report", RECORDING, "--format", "markdown"]).stdout);
}

#[test]
fn report_with_the_servers_side() {
    snapshot("report_server_side", &run(["report", WITH_SERVER]).stdout);
}

#[test]
fn report_of_a_workload() {
    snapshot("report_workload", &run(["report", "fixtures/workload_trace/burst/input"]).stdout);
}

#[test]
fn diagnosis() {
    snapshot("diagnosis", &run(["diagnose", WITH_SERVER]).stdout);
    snapshot("diagnosis_markdown", &run(["diagnose", WITH_SERVER, "--format", "markdown"]).stdout);
}

#[test]
fn timeline_of_a_small_run() {
    let input = "fixtures/vllm_server_log/waiting_and_restart/input/server.log";
    snapshot("chrome_trace_server_alone", &run(["export", input, "--to", "chrome-trace"]).stdout);
    let input = "fixtures/cases/b15_preemption_gap/input";
    snapshot("chrome_trace", &run(["export", input, "--to", "chrome-trace"]).stdout);
    snapshot("requests_csv", &run(["export", input, "--to", "csv"]).stdout);
}

#[test]
fn several_runs() {
    snapshot("several_runs", &run(["report", "fixtures/cases/b16_several_runs/input"]).stdout);
}

#[test]
fn doubtful_data_is_named() {
    let (dir, output) = ("fixtures/cases/b02_ttft_zero/input", "doubtful_data");
    snapshot(output, &run(["report", dir]).stdout);
}

#[test]
fn a_report_by_another_convention() {
    snapshot("report_convention", &run(["report", RECORDING, "--convention", "guidellm"]).stdout);
}

#[test]
fn parity_of_a_client_that_counts_otherwise() {
    snapshot("parity", &run(["parity", "fixtures/cases/b01_short_outputs/input"]).stdout);
}

#[test]
fn inspection() {
    snapshot("inspect", &run(["inspect", RECORDING]).stdout);
}

#[test]
fn help_and_listings() {
    for (name, args) in [
        ("help", vec!["--help"]),
        ("help_report", vec!["report", "--help"]),
        ("help_diff", vec!["diff", "--help"]),
        ("help_trend", vec!["trend", "--help"]),
        ("explain_diff", vec!["explain", "diff"]),
        ("help_ingest", vec!["ingest", "--help"]),
        ("help_export", vec!["export", "--help"]),
        ("list_metrics", vec!["list", "metrics"]),
        ("list_formats", vec!["list", "formats"]),
        ("list_rules", vec!["list", "rules"]),
        ("explain_ttft", vec!["explain", "ttft"]),
        ("explain_itl", vec!["explain", "itl"]),
        ("help_parity", vec!["parity", "--help"]),
        ("explain_rule", vec!["explain", "frequent_preemption"]),
    ] {
        snapshot(name, &run(args).stdout);
    }
}

#[test]
fn comparisons() {
    let dir = tempfile::tempdir().unwrap();
    let made = |name: &str, made: Made| made.write(dir.path(), name).to_str().unwrap().to_string();
    let base = made("before", Made::new(1));
    let slow = made("after", Made { ttft_s: 0.16, fails_every: 20, ..Made::new(2) });
    snapshot("diff", &run(["diff", &base, &slow, "--fail-on", "regression:p95.ttft>5"]).stdout);
    snapshot("diff_markdown", &run(["diff", &base, &slow, "--format", "markdown"]).stdout);
    let mix = ["a", "b"].map(|name| format!("fixtures/cases/b14_mix_shift/input/{name}.json"));
    snapshot("diff_mix", &run(["diff", &mix[0], &mix[1], "--buckets", "0,1k"]).stdout);
    let later =
        |day: u64| made(&format!("day-{day}"), Made { ttft_s: if day > 4 { 0.13 } else { 0.1 }, ..Made::new(day) });
    let days: Vec<String> = (1..=9).map(later).collect();
    let args = ["trend"].into_iter().chain(days.iter().map(String::as_str)).chain(["--by", "label"]);
    snapshot("trend", &run(args).stdout);
}
