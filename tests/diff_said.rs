//! What a comparison says beside its verdicts: why nothing is decided, what was judged, whose runs they are, and what would help.

use crate::made_pair::tight_and_room;
use crate::made_run::Made;
use crate::support::{Ran, fixture, postrun, run};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn diff(base: &Path, candidate: &Path, extra: &[&str]) -> Ran {
    let sides = [base, candidate].map(|p| p.to_str().unwrap());
    run(["diff"].into_iter().chain(sides).chain(extra.iter().copied()))
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn in_columns(columns: &str, args: &[&str]) -> Ran {
    Ran::from(postrun().env("COLUMNS", columns).args(args).output().unwrap())
}

/// TTFT that grows from the middle of the run on, as behind a queue: eleven times as long on average.
fn stable_and_growing(dir: &Path) -> [PathBuf; 2] {
    let growing = Made { grows: 40.0, prompts: vec![100], ..Made::new(2) };
    [Made { prompts: vec![100], ..Made::new(1) }.write(dir, "stable"), growing.write(dir, "growing")]
}

#[test]
fn a_very_large_change_is_named_with_why_it_is_no_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let [stable, growing] = stable_and_growing(dir.path());
    let found = diff(&stable, &growing, &["--format", "json"]).json();
    let large = found["large_undecided"].as_array().unwrap();
    assert_eq!(
        (&large[0]["metric"], &large[0]["reason"]),
        (&Value::from("ttft_ms"), &Value::from("drift")),
        "{large:?}"
    );
    assert!(large[0]["change_pct"].as_f64().unwrap() > 800.0, "{large:?}");
    let words = in_one_line(&diff(&stable, &growing, &[]).stdout);
    let blocks = found["method"]["blocks"].as_u64().unwrap();
    for said in [
        "Very large, and not decided: TTFT mean +",
        "(11 times, +",
        &format!("its {blocks} independent blocks are too few to exclude drift; three repeats a side would decide it"),
        "drifts within the runs",
    ] {
        assert!(words.contains(said), "{said}: {words}");
    }
    let html = diff(&stable, &growing, &["--format", "html"]).stdout;
    assert!(html.contains("Very large, and not decided") && html.contains("class=\"verdict warning\""));
    // Nothing of the kind where it is shown, or small, or another question.
    let slow = Made { ttft_s: 0.3, prompts: vec![100], ..Made::new(3) }.write(dir.path(), "slow");
    let other = Made { rate: 20.0, ttft_s: 0.9, prompts: vec![100], ..Made::new(4) }.write(dir.path(), "other");
    for candidate in [&slow, &other, &stable] {
        let found = diff(&stable, candidate, &["--format", "json"]).json();
        assert!(found["large_undecided"].as_array().unwrap().is_empty(), "{}", found["large_undecided"]);
    }
}

#[test]
fn what_was_judged_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let base = Made::new(1).write(dir.path(), "before");
    let slow = Made { ttft_s: 0.2, ..Made::new(2) }.write(dir.path(), "after");
    let found = diff(&base, &slow, &["--format", "json"]).json();
    let deltas = found["deltas"].as_array().unwrap();
    let bounded = |d: &&Value| d["interval"].as_array().unwrap().iter().any(Value::is_number);
    let judged = deltas.iter().filter(|d| d["verdict"] != "inconclusive" || bounded(d)).count();
    let worse = deltas.iter().filter(|d| d["verdict"] == "worse").count();
    assert_eq!(found["method"]["judged"], judged);
    assert!(judged < deltas.len() && worse > 1);
    let words = in_one_line(&diff(&base, &slow, &[]).stdout);
    assert!(words.contains(&format!("Worse: {worse} of {judged} figures that can be judged are worse")), "{words}");
    assert!(words.contains(&format!("{judged} of {} figures have an interval. The others: ", deltas.len())), "{words}");
    // One alone: that all failed.
    let silent = Made { fails_every: 1, ..Made::new(3) }.write(dir.path(), "silent");
    let words = in_one_line(&diff(&base, &silent, &["--format", "markdown"]).stdout);
    assert!(words.contains("Not comparable"), "{words}");
    let few = Made { requests: 400, fails_every: 8, ..Made::new(4) }.write(dir.path(), "few");
    let some = Made { requests: 400, ..Made::new(5) }.write(dir.path(), "some");
    let ran = diff(&some, &few, &["--format", "json"]);
    let worse = ran.json()["deltas"].as_array().unwrap().iter().filter(|d| d["verdict"] == "worse").count();
    assert_eq!(worse, 1);
    let words = in_one_line(&diff(&some, &few, &[]).stdout);
    assert!(words.contains("figures that can be judged is worse beyond all noise"), "{words}");
}

#[test]
fn a_percentile_is_split_without_remainder_and_no_phase_is_below_zero() {
    let dir = tempfile::tempdir().unwrap();
    let [tight, room] = tight_and_room(dir.path());
    let found = diff(Path::new(&tight), Path::new(&room), &["--format", "json"]).json();
    let latencies = found["why"]["latencies"].as_array().unwrap();
    assert!(latencies.iter().any(|w| w["metric"] == "ttft_ms" && w["stat"] == "p95"), "{latencies:?}");
    for w in latencies {
        for side in ["base", "candidate"] {
            let parts: Vec<f64> = w["parts"].as_array().unwrap().iter().map(|p| p[side].as_f64().unwrap()).collect();
            let all = w[side].as_f64().unwrap();
            assert!((parts.iter().sum::<f64>() - all).abs() < 1e-6 * all, "{w}");
            assert!(parts.iter().all(|p| *p >= 0.0), "{w}");
        }
    }
    let p95 =
        found["deltas"].as_array().unwrap().iter().find(|d| d["metric"] == "ttft_ms" && d["stat"] == "p95").unwrap();
    let split = latencies.iter().find(|w| w["metric"] == "ttft_ms" && w["stat"] == "p95").unwrap();
    assert_eq!(split["base"], p95["base"], "it is the percentile itself that is split");
}

#[test]
fn a_failed_run_against_itself_is_the_same_and_has_no_empty_picture() {
    let dir = tempfile::tempdir().unwrap();
    let failed = Made { fails_every: 1, ..Made::new(1) }.write(dir.path(), "failed");
    let ran = diff(&failed, &failed, &["--strict"]);
    let words = in_one_line(&ran.stdout);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(words.contains("Same: it is one recording, in which no request was answered."), "{words}");
    assert!(words.contains("of latencies nothing can be said"), "{words}");
    assert!(!words.contains("NOT THE SAME QUESTION") && !words.contains("Not comparable"), "{words}");
    let html = diff(&failed, &failed, &["--format", "html"]).stdout;
    assert!(html.contains("Not drawn: Both sides over time") && !html.contains("<svg"));
}

#[test]
fn columns_that_do_not_fit_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let [stable, growing] = stable_and_growing(dir.path());
    let sides = ["diff", stable.to_str().unwrap(), growing.to_str().unwrap()];
    let narrow = in_one_line(&in_columns("60", &sides).stdout);
    assert!(narrow.contains("Not shown at 60 columns: base (COLUMNS="), "{narrow}");
    let needed: String = narrow.split("(COLUMNS=").nth(1).unwrap().chars().take_while(char::is_ascii_digit).collect();
    let whole = in_columns(&needed, &sides).stdout;
    let header = whole.lines().skip_while(|l| !l.starts_with("The whole run")).nth(1).unwrap();
    assert!(header.contains("base") && header.contains("candidate"), "{header}");

    let recorded = fixture("vllm_bench/long_prompts/input/result.json");
    let parity = ["parity", recorded.to_str().unwrap()];
    let narrow = in_one_line(&in_columns("50", &parity).stdout);
    assert!(narrow.contains("Not shown at 50 columns: ") && narrow.contains("unit"), "{narrow}");
    assert!(!in_columns("200", &parity).stdout.contains("Not shown at"));
}

#[test]
fn runs_of_one_name_are_told_apart_by_their_folders() {
    let dir = tempfile::tempdir().unwrap();
    let run_of = |folder: &str, seed: u64, ttft_s: f64| {
        Made { ttft_s, ..Made::new(seed) }.write(&dir.path().join(folder), "run_a")
    };
    let (old, new) = (run_of("old", 1, 0.1), run_of("new", 2, 0.1));
    let said = diff(&old, &new, &[]).stdout;
    assert!(said.starts_with("old/run_a → new/run_a\n"), "{said}");
    let report = in_columns("80", &["report", old.to_str().unwrap(), new.to_str().unwrap()]).stdout;
    let overview: Vec<&str> = report.lines().take(6).collect();
    assert!(overview[1].contains("load"), "{overview:?}");
    assert!(
        overview[4].starts_with("new.run_a") && overview[5].starts_with("old.run_a")
            || overview[4].starts_with("old.run_a") && overview[5].starts_with("new.run_a"),
        "{overview:?}"
    );
}

#[test]
fn what_both_sides_lack_of_a_convention_is_named() {
    let file = fixture("cases/b10_not_streamed/input/all.json");
    let ran = diff(&file, &file, &["--convention", "vllm", "--format", "json"]).json();
    let both: Vec<&str> = ran["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|l| l["lacks"] == "both")
        .map(|l| l["metric"].as_str().unwrap())
        .collect();
    assert!(both.contains(&"itl_ms"), "{}", ran["left_out"]);
    let words = in_one_line(&diff(&file, &file, &["--convention", "vllm"]).stdout);
    assert!(words.contains("both sides lack: "), "{words}");
    let own = diff(&file, &file, &["--format", "json"]).json();
    assert!(!own["left_out"].to_string().contains("both"), "{}", own["left_out"]);
}

#[test]
fn a_bound_is_held_to_the_candidate_alone() {
    let dir = tempfile::tempdir().unwrap();
    let budget = dir.path().join("postrun.toml");
    std::fs::write(&budget, "[[limit]]\nmetric = \"ttft\"\nat_most = 1\n").unwrap();
    let silent = Made { fails_every: 1, ..Made::new(1) }.write(dir.path(), "silent");
    let good = Made::new(2).write(dir.path(), "good");
    let with = ["--budget", budget.to_str().unwrap()];
    let ran = diff(&silent, &good, &with);
    assert!(ran.code == 1 && ran.stdout.contains("ttft_ms p95 is"), "{} {}", ran.code, ran.stdout);
    let ran = diff(&good, &silent, &with);
    assert!(ran.code == 2 && ran.stderr.contains("the candidate lacks it"), "{} {}", ran.code, ran.stderr);
}

#[test]
fn failures_are_told_in_points_and_cannot_fall_below_none() {
    let dir = tempfile::tempdir().unwrap();
    let some = Made { fails_every: 60, ..Made::new(1) }.write(dir.path(), "some");
    let none = Made::new(2).write(dir.path(), "none");
    let found = diff(&some, &none, &["--format", "json"]).json();
    let rate = found["deltas"].as_array().unwrap().iter().find(|d| d["metric"] == "failure_rate").unwrap();
    let (base, low) = (rate["base"].as_f64().unwrap(), rate["interval"][0].as_f64().unwrap());
    assert!(base > 0.0 && (low + base).abs() < 1e-12, "{rate}");
    assert_eq!(rate["interval_pct"][0], -100.0, "{rate}");
    let text = in_columns("140", &["diff", some.to_str().unwrap(), none.to_str().unwrap()]).stdout;
    let line = text.lines().find(|l| l.starts_with("Failure rate")).unwrap();
    assert!(line.contains("-1.7 pp") && line.contains("-1.7 … +") && !line.contains('?'), "{line}");
}

#[test]
fn a_workload_is_not_judged_and_did_not_fail() {
    let dir = tempfile::tempdir().unwrap();
    let at = |s: f64| format!("2026-01-02 03:{:02}:{:010.7}", (s / 60.0) as u32, s % 60.0);
    let trace = |name: &str, every: f64| {
        let rows: String = (0..200).map(|i| format!("{},{},{}\n", at(f64::from(i) * every), 100 + i % 7, 20)).collect();
        let path = dir.path().join(name);
        std::fs::write(&path, format!("TIMESTAMP,ContextTokens,GeneratedTokens\n{rows}")).unwrap();
        path
    };
    let (slow, fast) = (trace("slow.csv", 0.5), trace("fast.csv", 0.25));
    let ran = diff(&slow, &fast, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let words = in_one_line(&ran.stdout);
    for said in ["200 requests, never sent", "Nothing to judge: the trace of a workload", "Arrival rate"] {
        assert!(words.contains(said), "{said}: {words}");
    }
    assert!(!words.contains("Failure rate") && !words.contains(" ok)"), "{words}");
}

#[test]
fn what_the_work_itself_takes_is_named_only_where_a_latency_changed() {
    let folder = |name: &str| fixture("server_side").join(name).join("input");
    let equal = diff(&folder("kv_tight"), &folder("kv_tight"), &["--format", "json"]).json();
    assert_eq!(equal["why"]["nothing_waits"], false);
}

#[test]
fn repeats_say_how_much_they_vary_and_how_they_are_averaged() {
    let dir = tempfile::tempdir().unwrap();
    let made = |name: &str, seed: u64, ttft_s: f64| Made { ttft_s, ..Made::new(seed) }.write(dir.path(), name);
    let sides = [made("a1", 1, 0.1), made("a2", 2, 0.12), made("b1", 3, 0.1), made("b2", 4, 0.12)];
    let [a1, a2, b1, b2] = sides.each_ref().map(|p| p.to_str().unwrap());
    let args = ["diff", "--base", a1, a2, "--candidate", b1, b2];
    let spread = run(args.into_iter().chain(["--format", "json"])).json()["method"]["run_spread"].as_f64().unwrap();
    // ln 1.2 / √2, and what chance adds.
    assert!((spread - 0.129).abs() < 0.03, "{spread}");
    let words = in_one_line(&run(args).stdout);
    for said in [
        format!("noise between runs: measured: 2 runs against 2, which spread by up to {:.1} %", spread * 100.0),
        "of repeats the geometric mean of the runs".to_string(),
        "all requests of the repeats together".to_string(),
    ] {
        assert!(words.contains(&said), "{said}: {words}");
    }
    let single = diff(&sides[0], &sides[2], &["--format", "json"]).json();
    assert_eq!(single["method"]["run_spread"], Value::Null);
}

#[test]
fn more_failures_are_named_as_the_exception_where_nothing_else_is_judged() {
    let dir = tempfile::tempdir().unwrap();
    let base = Made::new(1).write(dir.path(), "before");
    let silent = Made { fails_every: 1, ..Made::new(2) }.write(dir.path(), "after");
    let words = in_one_line(&diff(&base, &silent, &[]).stdout);
    assert!(words.contains("nothing is called better or worse, but that more requests failed."), "{words}");
    let other = Made { rate: 30.0, ..Made::new(2) }.write(dir.path(), "other");
    let found = diff(&base, &other, &["--format", "json"]).json();
    let deltas = found["deltas"].as_array().unwrap();
    assert!(deltas.iter().all(|d| d["verdict"] == "inconclusive"), "not even equality is a verdict");
    assert!(deltas.iter().any(|d| d["reason"] == "not_comparable"));
}
