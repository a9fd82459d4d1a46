//! Every figure that a client stored or printed must come out of its recording again, or the report says why not.

use crate::support::{SHARED_FOLDERS, fixture, report, shared};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Files of these two clients below a folder.
fn recordings(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            recordings(&path, out);
        } else if name == "result.json" || name == "result.jsonl" || is_public_result(&path, &name) {
            out.push(path);
        }
    }
    out.sort();
}

fn is_public_result(path: &Path, name: &str) -> bool {
    let public = path.components().any(|c| c.as_os_str() == "inferencex-h200" || c.as_os_str() == "v0.25.1-fixtures");
    public && name.ends_with(".json")
}

/// How a file's figures came out.
#[derive(Debug, Default)]
struct Tally {
    agree: usize,
    explained: usize,
    not_computable: usize,
}

fn tally(run: &Value, at: &str, wrong: &mut Vec<String>) -> Tally {
    let mut tally = Tally::default();
    for figure in run["reported"].as_array().unwrap() {
        let why = figure["why"].as_str().unwrap_or_default();
        match (figure["agrees"].as_bool(), why) {
            (Some(true), _) => tally.agree += 1,
            (_, "") => wrong.push(format!("{at}: no reason given: {figure}")),
            (Some(false), why) if why.contains("no known definition") => wrong.push(format!("{at}: {figure}")),
            (Some(false), _) => tally.explained += 1,
            (None, _) => tally.not_computable += 1,
        }
    }
    tally
}

#[test]
fn the_bundled_recording_agrees_with_its_client() {
    let report = report(&fixture("vllm_bench/long_prompts/input/result.json"), &[]);
    let mut wrong = Vec::new();
    let tally = tally(&report["runs"][0], "long_prompts", &mut wrong);
    assert!(wrong.is_empty(), "{wrong:#?}");
    // All but the duration (a stopwatch around the sends) and the scalar that is no figure of requests.
    assert_eq!((tally.agree, tally.explained, tally.not_computable), (37, 1, 1), "{tally:?}");
}

#[test]
fn bundled_recordings_of_other_clients_agree() {
    let runs = [
        ("evalscope_perf/closed_loop", 1),
        ("inference_profiler/two_stages", 2),
        ("llmperf/rate_limited", 1),
        ("trtllm_bench/requests_and_report", 1),
    ];
    for (folder, runs) in runs {
        let report = report(&fixture(&format!("{folder}/input")), &[]);
        let mut wrong = Vec::new();
        let all = report["runs"].as_array().unwrap();
        assert_eq!(all.len(), runs, "{folder}");
        for run in all {
            assert!(tally(run, folder, &mut wrong).agree >= 8, "{folder}");
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
    // Its percentiles are elements of a list of ten, none of them where ours lie between two.
    let report = report(&fixture("trtllm_bench/requests_and_report/input"), &[]);
    let figures = report["runs"][0]["reported"].as_array().unwrap();
    let ranked = |f: &&Value| f["stat"].as_str().unwrap().starts_with('p') && f["unit"] == "ms";
    let ranked: Vec<&Value> = figures.iter().filter(ranked).collect();
    assert_eq!(ranked.len(), 12);
    assert!(ranked.iter().all(|f| f["agrees"] == true), "{ranked:#?}");
}

/// Reads `../shared`.
#[test]
fn every_recording_agrees_with_its_client() {
    let Some(shared) = shared() else { return };
    let mut files = Vec::new();
    for folder in SHARED_FOLDERS {
        recordings(&shared.join(folder), &mut files);
    }
    assert!(files.len() >= 30, "only {} files", files.len());
    let mut wrong = Vec::new();
    let mut total = Tally::default();
    for file in &files {
        let report = report(file, &[]);
        for run in report["runs"].as_array().unwrap() {
            let at = format!("{} {}", file.display(), run["label"]);
            let one = tally(run, &at, &mut wrong);
            let detailed = run["metrics"].as_object().unwrap().len() > 3;
            // A detailed file must give back nearly everything; SGLang's e2e and TPOT end later than its chunks.
            if detailed && run["tool"] == "vllm bench serve" && one.explained > 1 {
                wrong.push(format!("{at}: {one:?}"));
            }
            if detailed && one.agree < 16 {
                wrong.push(format!("{at}: {one:?}"));
            }
            total.agree += one.agree;
            total.explained += one.explained;
            total.not_computable += one.not_computable;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(total.agree > 500, "{total:?}");
    eprintln!("parity over {} files: {total:?}", files.len());
}

/// Reads `../shared`: clients whose figures lie beside their records. Percentiles that are not interpolated are taken the
/// client's way, so that only its rounding is left.
#[test]
fn figures_beside_the_records_come_out_again() {
    let Some(shared) = shared() else { return };
    let folders = [
        ("recordings/evalscope-perf", 3, 57),
        ("recordings/inference-profiler", 2, 44),
        ("public/llmperf/leaderboard", 13, 299),
    ];
    for (folder, runs, agree) in folders {
        let report = report(&shared.join(folder), &[]);
        let mut wrong = Vec::new();
        let all = report["runs"].as_array().unwrap();
        let found: Vec<Tally> = all.iter().map(|run| tally(run, folder, &mut wrong)).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert_eq!(found.len(), runs, "{folder}");
        let agreed: usize = found.iter().map(|tally| tally.agree).sum();
        assert!(agreed >= agree, "{folder}: {found:?}");
        let rounded = ["TTFT (ms) p", "ITL (ms) p"];
        for figure in all.iter().flat_map(|run| run["reported"].as_array().unwrap()) {
            let key = figure["key"].as_str().unwrap();
            if rounded.iter().any(|start| key.starts_with(start)) {
                let (ours, theirs) = (figure["computed"].as_f64().unwrap(), figure["reported"].as_f64().unwrap());
                assert!((ours - theirs).abs() <= 0.000_051, "{folder}: {figure}");
            }
        }
    }
}

/// Reads `../shared`: the summary that the client printed, rounded to two decimals.
#[test]
fn printed_summaries_come_out_again() {
    let Some(shared) = shared() else { return };
    let mut compared = 0;
    let mut wrong = Vec::new();
    for folder in ["recordings/vllm-bench-serve", "recordings/sglang-bench-serving", "recordings/vllm-server-cpu"] {
        let mut files = Vec::new();
        recordings(&shared.join(folder), &mut files);
        for file in files {
            let printed = std::fs::read_to_string(file.with_file_name("stdout.txt")).unwrap();
            let report = report(&file, &[]);
            let run = &report["runs"][0];
            for line in printed.lines() {
                let Some((name, value)) = line.rsplit_once(':') else { continue };
                let (Some(ours), Ok(theirs)) = (printed_figure(run, name.trim()), value.trim().parse::<f64>()) else {
                    continue;
                };
                compared += 1;
                if (ours - theirs).abs() > 0.005 + 1e-9 {
                    wrong.push(format!("{}: {name}: printed {theirs}, ours {ours}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(compared > 250, "only {compared} printed figures");
    eprintln!("{compared} printed figures agree");
}

/// Our figure for a line of a printed summary; `None` where the definition differs (SGLang's e2e and TPOT, its prompt
/// totals) or postrun has none.
fn printed_figure(run: &Value, name: &str) -> Option<f64> {
    let sglang = run["tool"] == "sglang bench_serving";
    let throughput = |key: &str| run["throughput"][key].as_f64();
    match name {
        "Successful requests" => return run["requests"]["ok"].as_f64(),
        "Failed requests" => return run["requests"]["failed"].as_f64(),
        "Request throughput (req/s)" => return throughput("requests_per_s"),
        "Output token throughput (tok/s)" => return throughput("output_tokens_per_s"),
        "Total token throughput (tok/s)" if !sglang => return throughput("total_tokens_per_s"),
        "Peak output token throughput (tok/s)" if !sglang => return throughput("peak_chunks_per_s"),
        "Peak concurrent requests" if !sglang => return throughput("peak_requests_in_1s"),
        _ => {}
    }
    let (stat, rest) = name.split_once(' ')?;
    let metric = match rest.strip_suffix(" (ms)")? {
        "TTFT" => "ttft_ms",
        "TPOT" if !sglang => "tpot_ms",
        "ITL" => "itl_ms",
        "E2EL" => "e2e_ms",
        _ => return None,
    };
    let stat = match stat {
        "Mean" => "mean".to_string(),
        "Median" => "p50".to_string(),
        "Max" => "max".to_string(),
        p => p.to_lowercase(),
    };
    run["metrics"][metric][stat.as_str()].as_f64()
}

/// Reads `../shared`: the server's ground truth counts the same requests.
#[test]
fn counts_agree_with_the_server() {
    let Some(shared) = shared() else { return };
    for name in ["run_a", "run_b", "run_d_preemption_storm", "small"] {
        let folder = shared.join("recordings/vllm-bench-serve").join(name);
        let truth = std::fs::read_to_string(folder.join("ground_truth.jsonl")).unwrap();
        let rows: Vec<Value> = truth.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let report = report(&folder.join("result.json"), &[]);
        let run = &report["runs"][0];
        assert_eq!(run["requests"]["total"], rows.len(), "{name}");
        let ok: Vec<&Value> = rows.iter().filter(|r| r["http_status"] == 200).collect();
        assert_eq!(run["requests"]["ok"], ok.len(), "{name}");
        let tokens: f64 = ok.iter().filter_map(|r| r["output_tokens"].as_f64()).sum();
        let duration = run["throughput"]["duration_s"].as_f64().unwrap();
        let ours = run["throughput"]["output_tokens_per_s"].as_f64().unwrap() * duration;
        assert!((tokens - ours).abs() < 0.5, "{name}: {tokens} tokens on the server, {ours} here");
    }
}
