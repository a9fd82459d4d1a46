//! Earlier repeats beside the base: when they make the allowance for noise between runs smaller, and when they may not.

use crate::made_run::Made;
use crate::support::{Ran, run};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn diff(base: &Path, candidate: &Path, extra: &[&str]) -> Ran {
    let sides = [base, candidate].map(|p| p.to_str().unwrap());
    run(["diff"].into_iter().chain(sides).chain(extra.iter().copied()))
}

fn method(base: &Path, candidate: &Path, extra: &[&str]) -> Value {
    diff(base, candidate, &[&["--format", "json"][..], extra].concat()).json()["method"].clone()
}

fn allowed(method: &Value) -> f64 {
    method["run_noise"].as_f64().unwrap()
}

/// A folder of runs, a day apart.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn add(&self, name: &str, day: u64, change: impl Fn(&mut Made)) -> PathBuf {
        let seed = name.bytes().fold(day, |seed, b| seed.wrapping_mul(31) + u64::from(b));
        let mut made = Made { date: format!("202603{day:02}-120000"), ..Made::new(seed) };
        change(&mut made);
        made.write(self.0.path(), name)
    }

    /// So many repeats `a1`, `a2` …, of which the last is the base, and a candidate that is a fifth slower.
    fn with_repeats(n: u64) -> (Folder, PathBuf, PathBuf) {
        let folder = Folder::new();
        let mut runs: Vec<PathBuf> = (1..=n).map(|i| folder.add(&format!("a{i}"), i, |_| {})).collect();
        let candidate = folder.add("b1", n + 1, |m| m.ttft_s = 0.125);
        let base = runs.pop().unwrap();
        (folder, base, candidate)
    }
}

#[test]
fn three_earlier_repeats_narrow_the_allowance_and_it_is_said() {
    let (folder, base, candidate) = Folder::with_repeats(4);
    // Another load, other lengths, later days, and what is no recording.
    folder.add("at another rate", 1, |m| m.rate = 20.0);
    folder.add("other lengths", 1, |m| m.prompts = vec![500]);
    folder.add("b2", 6, |m| m.ttft_s = 0.125);
    folder.add("later", 9, |_| {});
    std::fs::write(folder.0.path().join("notes.txt"), "nothing").unwrap();
    std::fs::create_dir(folder.0.path().join("empty")).unwrap();
    let found = diff(&base, &candidate, &["--format", "json"]);
    let method = &found.json()["method"];
    let repeats = &method["earlier_repeats"];
    assert_eq!(repeats["runs"], serde_json::json!(["a1", "a2", "a3"]));
    assert_eq!((&repeats["used"], repeats["instead_of"].as_f64()), (&Value::from(true), Some(0.25)));
    let noise = allowed(method);
    assert!(noise > 0.01 && noise < 0.2 && repeats["bound"] == method["run_noise"], "{method}");
    assert_eq!(method["run_noise_from"], "3 earlier repeats beside the base");
    assert!(!found.stderr.contains("earlier repeats"), "{}", found.stderr);
    // What 25 % hide is seen.
    let ttft = |ran: &Ran| {
        let json = ran.json();
        let deltas = json["deltas"].as_array().unwrap().clone();
        deltas.into_iter().find(|d| d["metric"] == "ttft_ms" && d["stat"] == "p50").unwrap()
    };
    assert_eq!(ttft(&found)["verdict"], "worse");
    assert_eq!(ttft(&diff(&base, &candidate, &["--format", "json", "--run-noise", "25"]))["reason"], "run_noise");
    // Above everything else in each form, with the way back.
    for format in ["table", "markdown", "html"] {
        let text = diff(&base, &candidate, &["--format", format]).stdout;
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = words.find("as 3 earlier repeats beside the base (a1, a2, a3) show").expect(format);
        let sides = words.find("300 ok)").unwrap();
        let answer = words.find("beyond all noise").unwrap();
        assert!(sides < said && said < answer, "{format}");
        assert!(words.contains("--run-noise 25"), "{format}");
    }
    assert_eq!(diff(&base, &candidate, &[]).stdout, diff(&base, &candidate, &[]).stdout);
}

#[test]
fn another_build_among_them_widens_up_to_the_default_and_never_beyond() {
    let with = |ttft_s: f64| {
        let (folder, base, candidate) = Folder::with_repeats(4);
        folder.add("a2", 2, |m| m.ttft_s = ttft_s);
        method(&base, &candidate, &[])
    };
    let [quiet, near, far] = [0.1, 0.103, 0.3].map(with);
    assert!(allowed(&quiet) < allowed(&near) && allowed(&near) < 0.25, "{quiet} {near}");
    assert_eq!((allowed(&far), &far["earlier_repeats"]["used"]), (0.25, &Value::from(false)));
    assert!(far["earlier_repeats"]["bound"].as_f64().unwrap() > 0.25, "{far}");
    let (folder, base, candidate) = Folder::with_repeats(4);
    folder.add("a2", 2, |m| m.ttft_s = 0.3);
    let words = diff(&base, &candidate, &[]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("so 25.0 % stay allowed") && !words.contains("instead of"), "{words}");
}

#[test]
fn copies_of_one_recording_count_once() {
    let (folder, base, candidate) = Folder::with_repeats(3);
    let at = |name: &str| folder.0.path().join(name);
    let first = std::fs::read_to_string(at("a1").join("result.json")).unwrap();
    let pretty = serde_json::from_str::<Value>(&first).unwrap();
    // The same bytes; the same figures in other bytes; the same figures, saved on another day.
    let mut dated = pretty.clone();
    dated["date"] = Value::from("20260102-120000");
    let copies =
        [("copy", first), ("pretty", serde_json::to_string_pretty(&pretty).unwrap()), ("dated", dated.to_string())];
    for (name, text) in copies {
        std::fs::create_dir(at(name)).unwrap();
        std::fs::write(at(name).join("result.json"), text).unwrap();
    }
    // Nor is a copy of the base or of the candidate a repeat, whatever day it says.
    for (name, side) in [("base again", &base), ("candidate again", &candidate)] {
        let mut again: Value =
            serde_json::from_str(&std::fs::read_to_string(side.join("result.json")).unwrap()).unwrap();
        again["date"] = Value::from("20260101-120000");
        std::fs::create_dir(at(name)).unwrap();
        std::fs::write(at(name).join("result.json"), again.to_string()).unwrap();
    }
    let method = method(&base, &candidate, &[]);
    assert_eq!((allowed(&method), &method["earlier_repeats"]), (0.25, &Value::Null), "{method}");
    // Two are named where the allowance hides something, and can be used by name.
    let ran = diff(&base, &candidate, &[]);
    assert!(ran.stderr.contains("2 earlier repeats lie beside the base"), "{}", ran.stderr);
}

#[test]
fn too_few_or_unsure_leaves_the_default() {
    let default = |base: &Path, candidate: &Path| {
        let ran = diff(base, candidate, &["--format", "json"]);
        assert!(!ran.stderr.contains("earlier repeats"), "{}", ran.stderr);
        let method = ran.json()["method"].clone();
        assert_eq!((allowed(&method), &method["earlier_repeats"]), (0.25, &Value::Null), "{method}");
    };
    let (_folder, base, candidate) = Folder::with_repeats(2);
    default(&base, &candidate);
    // The candidate was recorded before the base, or at the same time: its own repeats could not be told apart.
    let (folder, base, _) = Folder::with_repeats(4);
    for day in [1, 4] {
        default(&base, &folder.add("old", day, |m| m.ttft_s = 0.125));
    }
    // Days that are written in another way cannot be ordered.
    default(&base, &folder.add("c", 5, |m| m.date = "2026-03-05 12:00".to_string()));
    let (folder, _, candidate) = Folder::with_repeats(4);
    default(&folder.add("a4", 4, |m| m.date = String::new()), &candidate);
}

#[test]
fn what_is_asked_for_wins() {
    let (folder, base, candidate) = Folder::with_repeats(5);
    let budget = folder.0.path().join("postrun.toml");
    std::fs::write(&budget, "run_noise = 7\n").unwrap();
    let unasked = allowed(&method(&base, &candidate, &[]));
    for (extra, noise) in [
        (vec!["--run-noise", "25"], Some(0.25)),
        (vec!["--run-noise", "0"], Some(0.0)),
        (vec!["--budget", budget.to_str().unwrap()], Some(0.07)),
        (
            vec![
                "--noise-from",
                folder.0.path().join("a1").to_str().unwrap(),
                folder.0.path().join("a2").to_str().unwrap(),
                base.to_str().unwrap(),
            ],
            None,
        ),
    ] {
        let method = method(&base, &candidate, &extra);
        assert_eq!(method["earlier_repeats"], Value::Null, "{extra:?}");
        match noise {
            Some(noise) => assert!((allowed(&method) - noise).abs() < 1e-12, "{extra:?}: {method}"),
            None => assert!(
                method["run_noise_from"].as_str().unwrap().starts_with("3 runs of --noise-from, which vary by ")
            ),
        }
        assert_ne!(allowed(&method), unasked);
    }
    // With repeats a side the noise is measured.
    let sides = ["--base", base.to_str().unwrap(), folder.0.path().join("a3").to_str().unwrap()].map(String::from);
    let other = folder.add("b2", 7, |m| m.ttft_s = 0.125);
    let candidates = ["--candidate", candidate.to_str().unwrap(), other.to_str().unwrap()].map(String::from);
    let args = ["diff", "--format", "json"].map(String::from).into_iter().chain(sides).chain(candidates);
    assert_eq!(run(args).json()["method"]["earlier_repeats"], Value::Null);
}
