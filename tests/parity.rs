//! Every figure that a client stored or printed must come out of its recording again, or the report says why not.

use crate::support::{fixture, report, run, shared};
use postrun_analysis::CONVENTIONS;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What `postrun parity` says of `path`; `None` where no file in it is read yet.
fn parity(path: &Path) -> Option<Value> {
    let ran = run(["parity", path.to_str().unwrap(), "--format", "json"]);
    if ran.code == 2 {
        let unread = ran.stderr.contains("that postrun knows") || ran.stderr.contains("no known format fits");
        assert!(unread, "{}: {}", path.display(), ran.stderr);
        return None;
    }
    assert!(ran.code <= 1, "{}: {}", path.display(), ran.stderr);
    Some(ran.json())
}

/// How figures came out.
#[derive(Debug, Default)]
struct Tally {
    agree: u64,
    differ: u64,
    not_recomputable: u64,
    /// Of runs with per-request records.
    agree_in_detail: u64,
}

/// Adds the figures of every run by client; what differs, or lacks a reason, goes to `wrong`.
fn tally(parity: &Value, at: &str, clients: &mut BTreeMap<String, Tally>, wrong: &mut Vec<String>) {
    for run in parity["runs"].as_array().unwrap() {
        let tally = clients.entry(run["tool"].as_str().unwrap().to_string()).or_default();
        let counts = &run["counts"];
        let figures = run["figures"].as_array().unwrap();
        let of = |key: &str| counts[key].as_u64().unwrap();
        assert_eq!(of("figures") as usize, figures.len(), "{at}");
        assert_eq!(of("agree") + of("differ") + of("unexplained") + of("not_recomputable"), of("figures"), "{at}");
        tally.agree += of("agree");
        tally.differ += of("differ");
        tally.not_recomputable += of("not_recomputable");
        let summary_only = |f: &Value| f["why"].as_str().is_some_and(|why| why.contains("summary only"));
        if !figures.iter().any(summary_only) {
            tally.agree_in_detail += of("agree");
        }
        for figure in figures {
            let why = figure["why"].as_str().unwrap_or_default();
            let agrees = figure["agrees"].as_bool();
            let nameless = agrees != Some(true) && why.is_empty();
            if nameless || why.contains("no known definition") {
                wrong.push(format!("{at} {}: {figure}", run["label"]));
            }
            let definition = figure["definition"].as_str().unwrap();
            assert!(CONVENTIONS.iter().any(|c| c.id == definition), "{at}: no definition {definition}");
            // An agreement is a value beside a value; what cannot be recomputed shows none.
            let shown = figure["computed"].is_number() && figure["reported"].is_number();
            assert_eq!(shown, agrees.is_some(), "{at}: {figure}");
        }
    }
}

/// A summary alone: its latencies as the client defines them, numbers with their units.
#[test]
fn figures_of_the_client_keep_their_meaning_and_their_unit() {
    let summary = fixture("llmperf/rate_limited/input/toy_50_10_summary.json");
    let shown = run(["report", summary.to_str().unwrap()]).stdout;
    assert!(shown.contains("ITL, TTFT included") && !shown.contains("ITL (chunk gap)"), "{shown}");
    let input = fixture("inference_benchmarker/three_steps/input");
    let input = input.to_str().unwrap();
    let words = |args: &[&str]| run(args).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&["report", input]).contains("duration_ms 2 s"));
    let narrow = words(&["parity", input]);
    assert!(narrow.contains("unit verdict"), "{narrow}");
    let found = parity(&fixture("client_side/aiperf_with_summary/input")).unwrap();
    let figures = found["runs"][0]["figures"].as_array().unwrap();
    let counts: Vec<&Value> = figures.iter().filter(|f| f["stat"] == "count").collect();
    assert!(!counts.is_empty() && counts.iter().all(|f| f["unit"] == ""), "{counts:#?}");
}

/// Curves over time are drawn by parity alone: the report does not call them impossible.
#[test]
fn what_parity_alone_recomputes_is_not_called_impossible() {
    let input = fixture("guidellm/texts/input");
    let shown = run(["report", input.to_str().unwrap()]).stdout;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("recomputed by `postrun parity` alone"), "{shown}");
    let repetitions = parity(&fixture("llama_bench/three_tests/input")).unwrap();
    assert_eq!((&repetitions["counts"]["differ"], &repetitions["counts"]["unexplained"]), (&0.into(), &0.into()));
    let first = &repetitions["runs"][0]["figures"];
    assert!((0..2).all(|i| first[i]["agrees"] == true), "{first:#}");
}

#[test]
fn what_is_cut_is_the_reason_of_a_difference() {
    let folder = fixture("client_side/aiperf_with_summary/input");
    let dir = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap()) {
        let bytes = std::fs::read(entry.path()).unwrap();
        let cut = entry.file_name() == "profile_export.jsonl";
        let kept = if cut { &bytes[..bytes.len() * 2 / 3] } else { &bytes };
        std::fs::write(dir.path().join(entry.file_name()), kept).unwrap();
    }
    let found = parity(dir.path()).unwrap();
    assert_eq!(found["counts"]["unexplained"], 0, "{}", found["counts"]);
    let figures = found["runs"][0]["figures"].as_array().unwrap();
    let named = figures.iter().filter(|f| f["why"].as_str().is_some_and(|why| why.contains("not whole")));
    assert!(named.count() > 5, "{}", found["counts"]);
}

/// The summary beside a stage's report holds the same figures: where it contradicts, it is heard.
#[test]
fn a_summary_that_contradicts_its_stage_differs() {
    let text =
        std::fs::read_to_string(fixture("inference_perf_summary/two_stages/input/stage_0_lifecycle_metrics.json"));
    let stage = text.unwrap();
    let mut report: Value = serde_json::from_str(&stage).unwrap();
    let count = |report: &Value| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("stage_0_lifecycle_metrics.json"), &stage).unwrap();
        std::fs::write(dir.path().join("summary_lifecycle_metrics.json"), report.to_string()).unwrap();
        parity(dir.path()).unwrap()["counts"].clone()
    };
    assert_eq!(count(&report)["unexplained"], 0);
    let rate = &mut report["successes"]["throughput"]["requests_per_sec"];
    *rate = Value::from(rate.as_f64().unwrap() * 1.05);
    let altered = count(&report);
    assert_eq!(altered["unexplained"], 1, "{altered}");
}

#[test]
fn the_bundled_recording_agrees_with_its_client() {
    let mut clients = BTreeMap::new();
    let mut wrong = Vec::new();
    let found = parity(&fixture("vllm_bench/long_prompts/input/result.json")).unwrap();
    tally(&found, "long_prompts", &mut clients, &mut wrong);
    assert!(wrong.is_empty(), "{wrong:#?}");
    // All but the duration (a stopwatch around the sends) and the scalar that is no figure of requests.
    let tally = &clients["vllm bench serve"];
    assert_eq!((tally.agree, tally.differ, tally.not_recomputable), (37, 0, 2), "{tally:?}");
}

#[test]
fn no_figure_of_a_fixture_differs_without_a_reason() {
    let mut clients = BTreeMap::new();
    let mut wrong = Vec::new();
    for format in std::fs::read_dir(fixture("")).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()) {
        for scenario in std::fs::read_dir(&format).unwrap().map(|e| e.unwrap().path().join("input")) {
            if let Some(found) = scenario.is_dir().then(|| parity(&scenario)).flatten() {
                tally(&found, &scenario.display().to_string(), &mut clients, &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let agree: u64 = clients.values().map(|t| t.agree).sum();
    assert!(agree >= 200 && clients.len() >= 9, "{clients:#?}");
}

#[test]
fn a_summary_alone_contradicts_nothing() {
    let mut files = Vec::new();
    for format in std::fs::read_dir(fixture("")).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()) {
        for scenario in std::fs::read_dir(&format).unwrap().map(|e| e.unwrap().path().join("input")) {
            let entries = scenario.is_dir().then(|| std::fs::read_dir(&scenario).unwrap());
            files.extend(entries.into_iter().flatten().map(|e| e.unwrap().path()).filter(|p| p.is_file()));
        }
    }
    let summaries = files.iter().filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().contains("summary")));
    let (mut clients, mut wrong, mut seen) = (BTreeMap::new(), Vec::new(), 0);
    for file in summaries {
        if let Some(found) = parity(file) {
            tally(&found, &file.display().to_string(), &mut clients, &mut wrong);
            seen += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen >= 5, "only {seen} summaries");
}

#[test]
fn bundled_recordings_of_other_clients_agree() {
    let runs = [
        ("evalscope_perf/closed_loop", 1, 22),
        ("inference_profiler/two_stages", 2, 60),
        ("llmperf/rate_limited", 1, 35),
        ("trtllm_bench/requests_and_report", 1, 25),
        // Phases of HTTP, and statistics of curves over time.
        ("client_side/aiperf_http_and_curves", 1, 433),
        // To two decimals, and two rates over a time that only the JSON has.
        ("client_side/aiperf_csv_beside_records", 1, 72),
        // Phases of HTTP stand in the records, everything else in the raw export.
        ("client_side/aiperf_raw_with_records", 1, 22),
        ("client_side/inference_perf_with_prometheus", 2, 2),
        ("guidellm/texts", 1, 417),
    ];
    for (folder, runs, agree) in runs {
        let found = parity(&fixture(&format!("{folder}/input"))).unwrap();
        assert_eq!(found["runs"].as_array().unwrap().len(), runs, "{folder}");
        assert_eq!(found["counts"]["differ"], 0, "{folder}: {found:#}");
        assert!(found["counts"]["agree"].as_u64().unwrap() >= agree, "{folder}: {}", found["counts"]);
    }
    // Its percentiles are elements of a list of ten, none of them where postrun's lie between two.
    let found = parity(&fixture("trtllm_bench/requests_and_report/input")).unwrap();
    let figures = found["runs"][0]["figures"].as_array().unwrap();
    let ranked = |f: &&Value| f["stat"].as_str().unwrap().starts_with('p') && f["unit"] == "ms";
    let ranked: Vec<&Value> = figures.iter().filter(ranked).collect();
    assert_eq!(ranked.len(), 12);
    assert!(ranked.iter().all(|f| f["agrees"] == true), "{ranked:#?}");
}

/// The inputs of every client below a folder: a folder whose files belong to one run, or a single file.
fn inputs(dir: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() && holds_a_run(&path) {
            out.push(path);
        } else if path.is_dir() {
            inputs(&path, out);
        } else if ["result.json", "result.jsonl", "benchmarks.json"].iter().any(|name| path.ends_with(name))
            || is_public_result(&path)
        {
            out.push(path);
        }
    }
}

/// Records and their summary, which are read together.
fn holds_a_run(dir: &Path) -> bool {
    let names = ["artifacts", "reports", "leaderboard", "tgi-2.0.1", "sweep", "sample_1"];
    names.iter().any(|name| dir.ends_with(name))
        || dir.parent().is_some_and(|parent| parent.ends_with("public/inference-perf"))
        || dir.join("benchmark_data.db").is_file()
}

fn is_public_result(path: &Path) -> bool {
    let folders = ["inferencex-h200", "v0.25.1-fixtures", "llm-d-fixture", "mlperf"];
    let public = path.components().any(|c| folders.iter().any(|folder| c.as_os_str() == *folder));
    public && path.extension().is_some_and(|e| e == "json" || e == "jsonl" || e == "txt")
}

/// Reads `../shared`: every file of every client that is read.
#[test]
fn every_recording_agrees_with_its_client() {
    let Some(shared) = shared() else { return };
    let mut all = Vec::new();
    inputs(&shared.join("recordings"), &mut all);
    inputs(&shared.join("public"), &mut all);
    let (mut clients, mut wrong, mut unread) = (BTreeMap::new(), Vec::new(), Vec::new());
    for input in &all {
        match parity(input) {
            Some(found) => tally(&found, &input.display().to_string(), &mut clients, &mut wrong),
            None => unread.push(input.display().to_string()),
        }
    }
    eprintln!("parity over {} inputs: {clients:#?}", all.len());
    assert!(unread.is_empty(), "no known format: {unread:#?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    // What the records hold, agrees: no less than when this was written, and nothing differs.
    let least = [
        ("vllm bench serve", 465),
        ("sglang bench_serving", 71),
        ("AIPerf", 2021),
        ("GuideLLM", 1131),
        ("inference-perf", 372),
        ("evalscope perf", 339),
        ("inference-profiler", 92),
        ("LLMPerf", 845),
    ];
    for (client, agree) in least {
        let tally = clients.get(client).unwrap_or_else(|| panic!("no run of {client}"));
        assert!(tally.agree_in_detail >= agree, "{client}: {tally:?}");
        assert_eq!(tally.differ, 0, "{client}: {tally:?}");
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
        inputs(&shared.join(folder), &mut files);
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
