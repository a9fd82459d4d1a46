//! `postrun diff` and `postrun trend`: what is said of pairs whose truth is known, and of real ones.

use crate::made_run::Made;
use crate::support::{Ran, fixture, run, shared};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn diff(base: &Path, candidate: &Path, extra: &[&str]) -> Ran {
    let sides = [base, candidate].map(|p| p.to_str().unwrap());
    run(["diff"].into_iter().chain(sides).chain(["--format", "json"]).chain(extra.iter().copied()))
}

fn verdicts<'a>(diff: &'a Value, wanted: &str) -> Vec<&'a Value> {
    diff["deltas"].as_array().unwrap().iter().filter(|d| d["verdict"] == wanted).collect()
}

fn delta<'a>(diff: &'a Value, metric: &str, stat: &str) -> &'a Value {
    let deltas = diff["deltas"].as_array().unwrap().iter();
    let mut found = deltas.filter(|d| d["metric"] == metric && d["stat"] == stat && d["scope"] == "all");
    found.next().unwrap_or_else(|| panic!("no {metric} {stat}"))
}

/// Folders of a base and of a candidate that was changed.
fn pair(dir: &Path, change: impl Fn(&mut Made)) -> (PathBuf, PathBuf) {
    let mut candidate = Made::new(2);
    change(&mut candidate);
    (Made::new(1).write(dir, "before"), candidate.write(dir, "after"))
}

#[test]
fn one_recording_on_both_sides_is_the_same() {
    let input = fixture("server_side/kv_tight/input");
    let ran = diff(&input, &input, &["--strict", "--fail-on", "regression"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let found = ran.json();
    assert_eq!((&found["verdict"], &found["same_recording"]), (&Value::from("same"), &Value::from(true)));
    let deltas = found["deltas"].as_array().unwrap();
    assert!(deltas.len() > 50 && deltas.iter().all(|d| d["verdict"] == "same" && d["change"] == 0.0));
}

#[test]
fn a_regression_is_seen_beyond_noise_and_only_then() {
    let dir = tempfile::tempdir().unwrap();
    let (base, slow) = pair(dir.path(), |c| (c.ttft_s, c.gap_s) = (0.2, 0.04));
    let ran = diff(&base, &slow, &["--fail-on", "regression"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let found = ran.json();
    assert_eq!(found["verdict"], "worse");
    for (metric, stat) in [("ttft_ms", "mean"), ("ttft_ms", "p50"), ("tpot_ms", "p50"), ("ttft_ms", "paired")] {
        let d = delta(&found, metric, stat);
        assert_eq!(d["verdict"], "worse", "{d}");
        let (low, high) = (d["interval_pct"][0].as_f64().unwrap(), d["interval_pct"][1].as_f64().unwrap());
        assert!(low > 30.0 && low < 100.0 && high > 100.0, "{d}");
    }
    assert_eq!(diff(&base, &slow, &[]).code, 0, "without --fail-on nothing fails");
    assert_eq!(diff(&base, &slow, &["--fail-on", "regression:ttft>50"]).code, 1);
    assert_eq!(diff(&base, &slow, &["--fail-on", "regression:ttft>150"]).code, 0);
    assert_eq!(diff(&slow, &base, &["--fail-on", "regression"]).json()["verdict"], "better");

    // 10 % is beyond what one run shows, and inside what runs differ by.
    let (base, slower) = pair(dir.path(), |c| c.ttft_s = 0.11);
    let ran = diff(&base, &slower, &["--fail-on", "regression", "--strict"]);
    assert_eq!(ran.code, 3);
    let found = ran.json();
    assert_eq!(delta(&found, "ttft_ms", "mean")["reason"], "run_noise");
    assert!(verdicts(&found, "worse").is_empty());
    let words = run(["diff", base.to_str().unwrap(), slower.to_str().unwrap()]).stdout;
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Three repeats a side decide it"), "{words}");
    let sure = diff(&base, &slower, &["--run-noise", "0"]).json();
    assert_eq!(delta(&sure, "ttft_ms", "mean")["verdict"], "worse");
    // The allowance widens the interval, and nothing else does.
    let within = |found: &Value| delta(found, "ttft_ms", "mean")["within_runs_pct"].clone();
    assert_eq!(within(&sure), delta(&sure, "ttft_ms", "mean")["interval_pct"]);
    assert_eq!(within(&found), within(&sure));
    // Equality needs evidence: TPOT did not change, and is known to within 1 %.
    assert_eq!(delta(&sure, "tpot_ms", "mean")["verdict"], "same");
}

#[test]
fn repeats_show_the_noise_between_runs() {
    let dir = tempfile::tempdir().unwrap();
    let made = |name: &str, seed: u64, ttft_s: f64| {
        let folder = Made { ttft_s, ..Made::new(seed) }.write(dir.path(), name);
        folder.to_str().unwrap().to_string()
    };
    let base = [made("a1", 1, 0.1), made("a2", 2, 0.102), made("a3", 3, 0.099)];
    let compare = |candidate: &[String]| {
        let args = ["diff", "--format", "json", "--base"].map(String::from).into_iter().chain(base.clone());
        run(args.chain(["--candidate".to_string()]).chain(candidate.iter().cloned()))
    };
    let slow = [made("b1", 4, 0.15), made("b2", 5, 0.153), made("b3", 6, 0.147)];
    let found = compare(&slow).json();
    assert_eq!(delta(&found, "ttft_ms", "p50")["verdict"], "worse");
    assert_eq!(found["method"]["run_noise"], 0.0);
    assert_eq!(found["method"]["runs"], serde_json::json!([3, 3]));
    // As large a step, drowned by the noise of its own repeats.
    let noisy = [made("c1", 7, 0.10), made("c2", 8, 0.21), made("c3", 9, 0.13)];
    assert_eq!(delta(&compare(&noisy).json(), "ttft_ms", "p50")["verdict"], "inconclusive");
    // Earlier repeats make the allowance of a single pair smaller.
    let fourth = made("a4", 11, 0.1);
    let earlier = base.iter().map(String::as_str).chain([fourth.as_str()]);
    let noise: Vec<&str> = ["--noise-from"].into_iter().chain(earlier).collect();
    let found = diff(Path::new(&base[0]), Path::new(&slow[0]), &noise).json();
    let allowed = found["method"]["run_noise"].as_f64().unwrap();
    assert!(allowed > 0.02 && allowed < 0.25, "{allowed}");
    let few = diff(Path::new(&base[0]), Path::new(&slow[0]), &["--noise-from", &base[0]]);
    assert!(few.code == 2 && few.stderr.contains("three or more runs"), "{}", few.stderr);
    // Runs at another rate are no repeats.
    let other = Made { rate: 20.0, ..Made::new(10) }.write(dir.path(), "d");
    let found = compare(&[slow[0].clone(), other.to_str().unwrap().to_string()]).json();
    assert_eq!(found["comparable"]["comparable"], false);
    assert!(found["comparable"]["differences"].to_string().contains("no repeats of the candidate"));
}

#[test]
fn other_failures_let_no_improvement_stand() {
    let dir = tempfile::tempdir().unwrap();
    let (base, candidate) = pair(dir.path(), |c| (c.ttft_s, c.gap_s, c.fails_every) = (0.03, 0.005, 4));
    let found = diff(&base, &candidate, &["--run-noise", "0"]).json();
    assert_eq!(found["comparable"]["failures_differ"], true);
    assert!(verdicts(&found, "better").is_empty());
    assert_eq!(delta(&found, "ttft_ms", "p50")["reason"], "failures_differ");
    assert_eq!(delta(&found, "failure_rate", "value")["verdict"], "worse");
}

#[test]
fn that_nothing_was_answered_is_a_regression() {
    let dir = tempfile::tempdir().unwrap();
    let (base, silent) = pair(dir.path(), |made| made.fails_every = 1);
    let ran = diff(&base, &silent, &["--fail-on", "regression"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let json = ran.json();
    assert_eq!(delta(&json, "failure_rate", "value")["verdict"], "worse");
    assert_eq!(verdicts(&json, "worse").len(), 1, "of latencies nothing is said");
    assert_eq!(diff(&silent, &base, &["--fail-on", "regression"]).code, 0);
}

#[test]
fn a_shift_of_the_mix_is_no_change_of_the_system() {
    let file = |name: &str| fixture("cases/b14_mix_shift/input").join(name);
    let ran = diff(&file("a.json"), &file("b.json"), &["--buckets", "0,1k", "--fail-on", "regression"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let found = ran.json();
    assert_eq!(found["comparable"]["comparable"], false);
    assert_eq!(found["comparable"]["differences"][0]["what"], "prompt_tokens");
    assert!(verdicts(&found, "worse").is_empty() && verdicts(&found, "better").is_empty());
    let ttft = &found["mix"]["ttft_ms"];
    let part = |key: &str| ttft[key].as_f64().unwrap();
    // The means are 190 and 495 ms; 100 ms became 90 for shares of 0.9 and 0.5, 1000 became 900 for 0.1 and 0.5.
    assert!((part("change") - 305.0).abs() < 1e-6 && (part("system") - -37.0).abs() < 1e-6, "{ttft}");
    assert!((part("workload") + part("system") - part("change")).abs() < 1e-9);
    assert_eq!(ttft["paradox"], true);
    let words = run(["diff", file("a.json").to_str().unwrap(), file("b.json").to_str().unwrap(), "--buckets", "0,1k"]);
    let words = words.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words
            .contains("TTFT: the mean rose though it fell or stayed for requests of equal lengths (Simpson's paradox)"),
        "{words}"
    );
    let loud = words.find("NOT THE SAME QUESTION").unwrap();
    assert!(loud < words.find("The whole run").unwrap());
}

#[test]
fn lengths_of_one_side_alone_are_neither_workload_nor_system() {
    let dir = tempfile::tempdir().unwrap();
    let made = |name: &str, prompts: &[u32], ttft_s: f64| {
        Made { prompts: prompts.to_vec(), ttft_s, ..Made::new(1) }.write(dir.path(), name)
    };
    let base = made("before", &[100, 200], 0.1);
    let buckets = ["--buckets", "0,150,1k"];
    // TTFT is ten times as long whatever the length, so the system changed; half of the requests show it.
    let half = diff(&base, &made("half", &[100, 5000], 1.0), &buckets).json();
    let ttft = &half["mix"]["ttft_ms"];
    let part = |key: &str| ttft[key].as_f64().unwrap();
    assert_eq!(ttft["common_share"], serde_json::json!([0.5, 0.5]), "{ttft}");
    assert!(part("workload").abs() < 1e-9 && part("system") > 0.9 * part("change"), "{ttft}");
    assert!(part("not_comparable").abs() < 0.1 * part("change"), "{ttft}");
    let parts = part("workload") + part("system") + part("not_comparable");
    assert!((parts - part("change")).abs() < 1e-9 && part("not_comparable") != 0.0, "{ttft}");
    // Of other lengths throughout nothing is split, and that is said.
    let others = made("others", &[2000, 5000], 1.0);
    let found = diff(&base, &others, &buckets).json();
    assert_eq!(found["mix"], serde_json::json!({}));
    assert_eq!(found["not_split"][0], serde_json::json!({"metric": "ttft_ms", "common_share": [0.0, 0.0]}));
    let words = run(["diff", base.to_str().unwrap(), others.to_str().unwrap()]).stdout;
    assert!(words.contains("Not split (TTFT"), "{words}");
}

#[test]
fn equal_simulated_runs_are_seldom_called_different() {
    // The benchmark measures the share over hundreds of pairs; these few would show a gross fault.
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for scenario in ["healthy-t1", "healthy-t3", "saturated-t1"] {
        let folders = [101, 202].map(|seed| {
            let folder = dir.path().join(format!("{scenario}-{seed}"));
            let seed = seed.to_string();
            let ran = run(["simulate", scenario, "-o", folder.to_str().unwrap(), "--seed", &seed]);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            folder
        });
        let found = diff(&folders[0], &folders[1], &["--run-noise", "0"]).json();
        assert!(found["method"]["comparisons"].as_u64().unwrap() >= 20);
        let decided = [verdicts(&found, "better"), verdicts(&found, "worse")].concat();
        wrong.extend(decided.iter().map(|d| format!("{scenario}: {d}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_trend_shows_where_a_figure_changed() {
    let dir = tempfile::tempdir().unwrap();
    for day in 1..=12u64 {
        let ttft_s = if day > 7 { 0.13 } else { 0.1 };
        // Named against the order of their dates.
        let date = format!("202603{day:02}-120000");
        Made { ttft_s, date, ..Made::new(day) }.write(dir.path(), &format!("run-{}", 13 - day));
    }
    let folders: Vec<String> =
        (1..=12).map(|i| dir.path().join(format!("run-{i}")).to_str().unwrap().to_string()).collect();
    let args = |extra: &[&str]| -> Vec<String> {
        ["trend"]
            .into_iter()
            .chain(folders.iter().map(String::as_str))
            .chain(extra.iter().copied())
            .map(String::from)
            .collect()
    };
    let found = run(args(&["--format", "json"])).json();
    assert_eq!((&found["ordered_by"], &found["runs"][0]), (&Value::from("time"), &Value::from("run-12")));
    for series in found["series"].as_array().unwrap() {
        let changes: Vec<u64> =
            series["changes"].as_array().unwrap().iter().map(|c| c["at"].as_u64().unwrap()).collect();
        let expected: &[u64] = match series["metric"].as_str().unwrap() {
            "ttft_ms" | "e2e_ms" => &[7],
            _ => &[],
        };
        assert_eq!(changes, expected, "{series}");
    }
    let words = run(args(&[])).stdout;
    assert!(words.contains("from run-5 on: TTFT P50 +"), "{words}");
    // A single run at the end, and too few for chance to be excluded: both are said.
    let slow = Made { ttft_s: 0.2, ..Made::new(20) }.write(dir.path(), "slow");
    let last = run(["trend", &folders[0], &folders[1], slow.to_str().unwrap(), "--by", "given"]).stdout;
    for said in [
        "from slow on, in this run alone so far: TTFT P50 +",
        "(too few runs to exclude chance: p = ",
        "whether it stays",
    ] {
        assert!(last.replace("\n  ", " ").contains(said) && !last.contains("stayed changed"), "{said}: {last}");
    }
    let few = run(["trend", &folders[0], &folders[1]]);
    assert!(few.code == 2 && few.stderr.contains("needs 3 runs"), "{}", few.stderr);
}

/// Reads `../shared`.
#[test]
fn real_pairs_are_judged_as_they_are_labelled() {
    let Some(shared) = shared() else { return };
    let of = |base: &str, candidate: &str| {
        let folder = shared.join("recordings/vllm-server-cpu");
        diff(&folder.join(base), &folder.join(candidate), &[]).json()
    };
    let equal = of("healthy-c", "healthy-d");
    assert_eq!((&equal["verdict"], &equal["paired"]["requests"]), (&Value::from("inconclusive"), &Value::from(50)));
    assert!(verdicts(&equal, "better").is_empty() && verdicts(&equal, "worse").is_empty());

    let room = of("kv-tight", "kv-room");
    assert_eq!((&room["verdict"], &room["paired"]["requests"]), (&Value::from("better"), &Value::from(60)));
    assert_eq!(delta(&room, "preemption_total", "value")["verdict"], "better");
    assert!(room["why"]["server"].to_string().contains("preemptions fell from 31 to 0"), "{}", room["why"]);
    let ttft = &room["why"]["latencies"][0];
    assert_eq!((&ttft["metric"], &ttft["parts"][0]["phase"]), (&Value::from("ttft_ms"), &Value::from("queue")));
    let (all, queue) = (ttft["change"].as_f64().unwrap(), ttft["parts"][0]["change"].as_f64().unwrap());
    assert!(all < -500.0 && queue < 0.9 * all, "{ttft}");
    let gone: Vec<&Value> = room["findings"]["gone"].as_array().unwrap().iter().map(|f| &f["rule"]).collect();
    assert!(gone.contains(&&Value::from("frequent_preemption")), "{gone:?}");

    let disturbed = of("healthy-c", "healthy");
    assert_eq!(
        (&disturbed["verdict"], &disturbed["why"]["nothing_waits"]),
        (&Value::from("worse"), &Value::from(true))
    );
    assert_eq!(disturbed["comparable"]["comparable"], true);

    let other = of("queue-bound", "healthy");
    assert_eq!(
        (&other["verdict"], &other["comparable"]["comparable"]),
        (&Value::from("inconclusive"), &Value::from(false))
    );
}
