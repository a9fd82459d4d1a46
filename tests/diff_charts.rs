//! Charts of a comparison: golden pictures of each, their size, what is absent and why, and that they say what the tables say.

use crate::charts::{MOST, drawn_by, ids, outline, snapshot};
use crate::made_pair::tight_and_room;
use crate::made_run::Made;
use crate::support::{case_inputs, fixture, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

fn svg<'a>(files: &'a BTreeMap<PathBuf, Vec<u8>>, id: &str) -> &'a str {
    std::str::from_utf8(&files[&PathBuf::from(format!("{id}.svg"))]).unwrap()
}

/// Nothing that is no number, whatever was drawn.
fn sound(files: &BTreeMap<PathBuf, Vec<u8>>, what: &str) {
    for (path, bytes) in files.iter().filter(|(path, _)| path.extension().is_some_and(|e| e == "svg")) {
        let text = std::str::from_utf8(bytes).unwrap();
        assert!(text.len() <= MOST, "{what}: {}: {} bytes", path.display(), text.len());
        for word in ["NaN", "\"inf", "-inf", "∞"] {
            assert!(!text.contains(word), "{what}: {}: {word}", path.display());
        }
    }
}

#[test]
fn every_chart_of_a_comparison_has_a_golden() {
    let dir = tempfile::tempdir().unwrap();
    let [tight, room] = tight_and_room(dir.path());
    let (files, said) = drawn_by(&["diff", &tight, &room]);
    assert!(!said.contains("not drawn"), "{said}");
    sound(&files, "tight and room");
    let ids = ids(true);
    assert_eq!((ids.len(), files.len()), (4, 12));
    for id in ids {
        let svg = svg(&files, &id);
        assert!(svg.starts_with("<svg xmlns=") && svg.contains("role=\"img\"") && svg.contains("<desc id="), "{id}");
        snapshot(&id, &svg.split("<g fill-opacity").next().unwrap().replace('>', ">\n"));
    }
    for words in ["Waiting on the server, mean", "KV cache, highest, %", "Preemptions in a window"] {
        assert!(svg(&files, "diff_timeline").contains(words), "{words}");
    }
    let html = run(["diff", &tight, &room, "--format", "html"]).stdout;
    snapshot("diff_page_outline", &outline(&html));
}

/// The change and the interval of a percentile are the same in picture, page, table and JSON.
#[test]
fn pictures_say_what_the_tables_say() {
    let dir = tempfile::tempdir().unwrap();
    let base = Made::new(1).write(dir.path(), "before");
    let slow = Made { ttft_s: 0.16, ..Made::new(2) }.write(dir.path(), "after");
    let sides = ["diff", base.to_str().unwrap(), slow.to_str().unwrap()];
    let found = run(sides.into_iter().chain(["--format", "json"])).json();
    let (files, _) = drawn_by(&sides);
    let html = run(sides.into_iter().chain(["--format", "html"])).stdout;
    let table = run(sides).stdout;
    let deltas: Vec<&Value> = found["deltas"].as_array().unwrap().iter().filter(|d| d["scope"] == "all").collect();
    let mut held = 0;
    for d in deltas {
        let (Some(low), Some(high)) = (d["interval_pct"][0].as_f64(), d["interval_pct"][1].as_f64()) else { continue };
        let interval = format!("{low:+.1} … {high:+.1} %");
        let stat = d["stat"].as_str().unwrap();
        if ["ttft_ms", "tpot_ms", "itl_ms", "e2e_ms"].contains(&d["metric"].as_str().unwrap()) {
            assert!(html.contains(&interval) && table.contains(&interval), "{d}");
            if ["p50", "p90", "p95"].contains(&stat) {
                assert!(svg(&files, "diff_percentiles").contains(&format!("95 % interval {interval}")), "{d}");
                held += 1;
            }
            if ["mean", "p50", "p95"].contains(&stat) {
                assert!(svg(&files, "diff_buckets").contains(&format!("95 % interval {interval}")), "{d}");
            }
        }
    }
    assert!(held >= 8, "only {held} percentiles have an interval");
    // Drawing decides nothing: the JSON is the same with and without.
    let target = dir.path().join("charts");
    let with = run(sides.into_iter().chain(["--format", "json", "--charts", target.to_str().unwrap()]));
    assert_eq!(with.json()["deltas"], found["deltas"]);
    assert_eq!(with.json()["method"], found["method"]);
}

#[test]
fn few_requests_and_many_repeats_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let made = |name: &str, made: Made| made.write(dir.path(), name).to_str().unwrap().to_string();
    let few = |name: &str, seed| made(name, Made { requests: 5, ..Made::new(seed) });
    let (a, b) = (few("few-a", 1), few("few-b", 2));
    let (files, said) = drawn_by(&["diff", &a, &b]);
    assert_eq!(files.len(), 12, "{said}");
    sound(&files, "five requests");
    let picture = svg(&files, "diff_percentiles");
    // Of five requests none lies beyond the 90th percentile; the table's intervals are not made up.
    assert!(picture.contains(">P80<") && picture.contains("too few requests") && !picture.contains("95 % interval"));

    let runs = |side: &str, ttft_s: f64| -> Vec<String> {
        (1..=8).map(|i| made(&format!("{side}{i}"), Made { ttft_s, ..Made::new(i) })).collect()
    };
    let (base, candidate) = (runs("a", 0.1), runs("b", 0.15));
    let args: Vec<&str> = ["diff", "--base"]
        .into_iter()
        .chain(base.iter().map(String::as_str))
        .chain(["--candidate"])
        .chain(candidate.iter().map(String::as_str))
        .collect();
    let (files, _) = drawn_by(&args);
    sound(&files, "repeats");
    let curves = svg(&files, "diff_distributions");
    assert!(curves.contains("base: 8 runs") && curves.contains("Of each side the first 6 runs are drawn."));
    assert!(svg(&files, "diff_buckets").contains("between the repeats"));
}

/// Twenty thousand requests: as many marks as with any number.
#[test]
fn many_requests_make_no_larger_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let prompts: Vec<u32> = (0..400).map(|i| 20 + (i * i) % 3000).collect();
    let many =
        |seed, ttft_s| Made { requests: 20_000, prompts: prompts.clone(), rate: 50.0, ttft_s, ..Made::new(seed) };
    let (a, b) = (many(1, 0.1).write(dir.path(), "a"), many(2, 0.13).write(dir.path(), "b"));
    let sides = ["diff", a.to_str().unwrap(), b.to_str().unwrap()];
    let (files, _) = drawn_by(&sides);
    assert_eq!(files.len(), 12);
    sound(&files, "many requests");
    let html = run(sides.into_iter().chain(["--format", "html"])).stdout;
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
}

#[test]
fn what_cannot_be_drawn_is_named_with_its_reason() {
    let [streamless, full] = ["cases/b10_not_streamed/input/all.json", "server_side/kv_tight/input"].map(fixture);
    let (files, _) = drawn_by(&["diff", streamless.to_str().unwrap(), full.to_str().unwrap()]);
    sound(&files, "not streamed");
    let summary = fixture("genai_perf_summary/alone/input");
    let sides = ["diff", summary.to_str().unwrap(), full.to_str().unwrap()];
    let dir = tempfile::tempdir().unwrap();
    let ran = run(sides.into_iter().chain(["--charts", dir.path().to_str().unwrap()]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for words in ["no latency of single requests is recorded on both sides", "send times of the base are not recorded"]
    {
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
    assert!(ran.stderr.contains("0 charts written"), "{}", ran.stderr);
    let html = run(sides.into_iter().chain(["--format", "html"])).stdout;
    assert!(html.contains("Not drawn: Both sides over time: send times of the base are not recorded."), "no reason");
}

/// A page of every fixture beside one with everything, whichever is the base.
#[test]
fn whatever_is_compared_makes_a_page() {
    let rich = fixture("server_side/kv_tight/input");
    let rich = rich.to_str().unwrap();
    let mut pages = 0;
    for (i, input) in case_inputs().iter().enumerate() {
        let input = input.to_str().unwrap();
        let sides = if i % 2 == 0 { [input, rich] } else { [rich, input] };
        let plain = run(["diff", sides[0], sides[1]]);
        let ran = run(["diff", sides[0], sides[1], "--format", "html"]);
        assert_eq!(ran.code, plain.code, "{input}: {}", ran.stderr);
        if ran.code == 0 {
            assert!(ran.stdout.starts_with("<!doctype html>") && ran.stdout.ends_with("</html>\n"), "{input}");
            let html = ran.stdout.split("<script>").next().unwrap();
            assert!(!html.contains("NaN") && !html.contains(">inf<") && !html.contains("\"inf"), "{input}");
            pages += 1;
        }
    }
    assert!(pages > 12, "only {pages}");
}

#[test]
fn the_form_follows_the_ending() {
    let dir = tempfile::tempdir().unwrap();
    let input = fixture("vllm_bench/long_prompts/input/result.json");
    let input = input.to_str().unwrap();
    for (name, start) in
        [("d.html", "<!doctype html>"), ("d.json", "{"), ("d.md", "# postrun diff"), ("d.txt", "long_prompts")]
    {
        let path = dir.path().join(name);
        let ran = run(["diff", input, input, "-o", path.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(start), "{name}: {}", text.lines().next().unwrap());
    }
    let ran = run(["diff", input, input, "-o", "d.csv"]);
    assert!(ran.code == 2 && ran.stderr.contains("known: .html, .json, .md, .txt"), "{}", ran.stderr);
}
