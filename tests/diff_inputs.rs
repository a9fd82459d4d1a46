//! `postrun diff` with what it should not be given, and its limits: clear words and the right exit code.

use crate::made_run::Made;
use crate::support::{fixture, root, run, temp_file};
use serde_json::Value;

fn schema(name: &str) -> jsonschema::Validator {
    let path = root().join("crates/postrun-report/schema").join(name);
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::options().build(&schema).unwrap()
}

fn hold(validator: &jsonschema::Validator, value: &Value) {
    let errors: Vec<String> =
        validator.iter_errors(value).map(|e| format!("{e} at {}", e.instance_path())).take(5).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn the_json_keeps_to_its_schema_whatever_is_compared() {
    let dir = tempfile::tempdir().unwrap();
    let made = |name: &str, change: fn(&mut Made)| {
        let mut made = Made::new(name.len() as u64);
        change(&mut made);
        made.write(dir.path(), name).to_str().unwrap().to_string()
    };
    let good = made("good", |_| {});
    let others = [
        made("three", |m| m.requests = 3),
        made("failed", |m| m.fails_every = 1),
        made("some failed", |m| m.fails_every = 5),
        made("one length", |m| m.prompts = vec![100]),
        made("one request", |m| m.requests = 1),
        fixture("server_side/kv_tight/input").to_str().unwrap().to_string(),
        fixture("vllm_server_log/waiting_and_restart/input").to_str().unwrap().to_string(),
        fixture("cases/b10_not_streamed/input/all.json").to_str().unwrap().to_string(),
        fixture("aiperf_records/warmup_and_failures/input").to_str().unwrap().to_string(),
        good.clone(),
    ];
    let validator = schema("postrun.diff-1.schema.json");
    for other in &others {
        for sides in [[&good, other], [other, &good]] {
            let ran = run(["diff", sides[0], sides[1], "--format", "json"]);
            assert_eq!(ran.code, 0, "{sides:?}: {}", ran.stderr);
            let found = ran.json();
            hold(&validator, &found);
            for d in found["deltas"].as_array().unwrap() {
                assert!(d["verdict"] != "inconclusive" || d["reason"].is_string(), "{sides:?}: {d}");
            }
            for form in ["table", "markdown"] {
                let text = run(["diff", sides[0], sides[1], "--format", form]).stdout;
                assert!(!text.contains("NaN") && !text.contains("inf ") && text.contains("Answer"), "{text}");
            }
        }
    }
    let mut broken = run(["diff", &good, &others[0], "--format", "json"]).json();
    broken["deltas"][0]["verdict"] = Value::from("fine");
    assert!(!validator.is_valid(&broken));
    let trend = run(["trend", &good, &others[2], &others[1], "--format", "json"]);
    assert_eq!(trend.code, 0, "{}", trend.stderr);
    hold(&schema("postrun.trend-1.schema.json"), &trend.json());
}

#[test]
fn too_little_is_inconclusive() {
    let dir = tempfile::tempdir().unwrap();
    let few = |seed, name| Made { requests: 3, ttft_s: 0.1 * seed as f64, ..Made::new(seed) }.write(dir.path(), name);
    let (base, candidate) = (few(1, "a"), few(9, "b"));
    let sides = [base.to_str().unwrap(), candidate.to_str().unwrap()];
    let ran = run(["diff", sides[0], sides[1], "--format", "json", "--fail-on", "regression"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let found = ran.json();
    assert_eq!(found["verdict"], "inconclusive");
    assert!(found["deltas"].as_array().unwrap().iter().all(|d| d["verdict"] == "inconclusive"), "{found}");
    assert_eq!(run(["diff", sides[0], sides[1], "--strict"]).code, 3);
}

#[test]
fn without_answers_nothing_is_compared() {
    let dir = tempfile::tempdir().unwrap();
    let failed = Made { fails_every: 1, ..Made::new(1) }.write(dir.path(), "failed");
    let good = Made::new(2).write(dir.path(), "good");
    let text = run(["diff", good.to_str().unwrap(), failed.to_str().unwrap()]).stdout;
    assert!(text.contains("no request of the candidate was answered"), "{text}");
}

#[test]
fn wrong_input_is_named() {
    let good = fixture("vllm_bench/long_prompts/input/result.json");
    let good = good.to_str().unwrap();
    let (_empty, empty) = temp_file("empty.json", b"");
    let several = fixture("cases/b16_several_runs/input");
    let cases: [(Vec<&str>, &str); 13] = [
        (vec![good, empty.to_str().unwrap()], "empty.json"),
        (vec![good, "no-such-file.json"], "no-such-file.json"),
        (vec![good, several.to_str().unwrap()], "name one of them"),
        (vec![good], "2 values"),
        (vec!["--base", good], "--candidate"),
        (vec![good, good, "--fail-on", "regression:speed>5"], "no metric is called"),
        (vec![good, good, "--run-noise", "much"], "no percentage"),
        (vec![good, good, "--budget", "no-such.toml"], "no-such.toml"),
        (vec![good, good, "--margin", "-3"], "write 3"),
        (vec![good, good, "--run-noise", "-3%"], "write 3"),
        (vec![good, good, "--fail-on", "regression:ttft"], "write 'regression:ttft>5'"),
        (vec![good, good, "--fail-on", "regression:"], "examples: regression"),
        (vec![good, good, "--charts", good], "--charts needs a folder"),
    ];
    for (args, words) in cases {
        let ran = run(["diff"].into_iter().chain(args.iter().copied()));
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_dataset_of_another_schema_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let good = fixture("vllm_bench/long_prompts/input/result.json");
    let dataset = dir.path().join("d");
    let (good, target) = (good.to_str().unwrap(), dataset.to_str().unwrap());
    assert_eq!(run(["ingest", good, "-o", target]).code, 0);
    let manifest = dataset.join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    assert!(text.contains("postrun.dataset/1"), "{text}");
    std::fs::write(&manifest, text.replace("postrun.dataset/1", "postrun.dataset/99")).unwrap();
    let ran = run(["diff", good, target]);
    assert!(ran.code == 2 && ran.stderr.contains("postrun.dataset/99"), "{}", ran.stderr);
}

#[test]
fn a_budget_is_kept_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let base = Made::new(1).write(dir.path(), "before");
    let slow = Made { ttft_s: 0.2, ..Made::new(2) }.write(dir.path(), "after");
    let with = |budget: &str, extra: &[&str]| {
        let file = dir.path().join("postrun.toml");
        std::fs::write(&file, budget).unwrap();
        let sides = ["diff", base.to_str().unwrap(), slow.to_str().unwrap(), "--budget", file.to_str().unwrap()];
        run(sides.into_iter().chain(extra.iter().copied()))
    };
    let kept = with("[[limit]]\nmetric = \"tpot\"\nat_most = 30\n", &[]);
    assert_eq!(kept.code, 0, "{}", kept.stderr);
    for budget in [
        "[[limit]]\nmetric = \"ttft_ms\"\nat_most = 150\n",
        "[[limit]]\nmetric = \"ttft_ms\"\nstat = \"p50\"\nworse_by = 20\n",
        "[[limit]]\nmetric = \"requests_per_s\"\nat_least = 100\n",
    ] {
        let ran = with(budget, &["--format", "markdown"]);
        assert_eq!(ran.code, 1, "{budget}: {}", ran.stderr);
        assert!(ran.stdout.contains("exceeded"), "{}", ran.stdout);
    }
    // A limit on what was not recorded guards nothing: the gate is broken, and says so beside the comparison.
    for queue in ["worse_by = 5", "at_most = 5"].map(|l| format!("[[limit]]\nmetric = \"queue_ms\"\n{l}\n")) {
        let ran = with(&queue, &[]);
        assert!(ran.code == 2 && ran.stdout.contains("queue_ms p95: neither side has it"), "{}", ran.stdout);
        assert!(ran.stderr.contains("the gate is broken: queue_ms p95"), "{}", ran.stderr);
        assert_eq!(with(&queue, &["--strict"]).code, 2);
        let found = with(&queue, &["--format", "json"]).json();
        assert_eq!(found["limits"]["not_recorded"].as_array().unwrap().len(), 1, "{}", found["limits"]);
        // What is exceeded is exceeded all the same.
        assert_eq!(with(&format!("{queue}[[limit]]\nmetric = \"ttft_ms\"\nat_most = 1\n"), &[]).code, 1);
    }
    // Nothing decided is no broken gate.
    let undecided = "[[limit]]\nmetric = \"ttft_ms\"\nstat = \"p99\"\nworse_by = 5\n";
    let ran = with(undecided, &[]);
    assert!(ran.code == 0 && ran.stdout.contains("not judged ttft_ms p99: inconclusive"), "{}", ran.stdout);
    assert!(ran.stderr.contains("1 of 1 limit was not judged: ttft_ms p99: inconclusive ("), "{}", ran.stderr);
    assert!(ran.stderr.contains("; --strict makes this exit code 3"), "{}", ran.stderr);
    let strict = with(undecided, &["--strict"]);
    assert!(strict.code == 3 && !strict.stderr.contains("--strict makes"), "{}", strict.stderr);
    let settings = with("run_noise = 7\n", &[]);
    assert!(settings.code == 0 && settings.stderr.contains("so nothing is guarded"), "{}", settings.stderr);
    for (budget, words) in [
        ("[[limit]]\nmetric = \"speed\"\nat_most = 1\n", "postrun.toml:2: no metric is called \"speed\""),
        ("[[limit]]\nmetric = \"ttft\"\n", "neither at_most nor at_least nor worse_by"),
        ("noise = 5\n", "postrun.toml:1: unknown key"),
        ("[[limit]]\nmetric = \"requests_per_s\"\nstat = \"p95\"\nat_least = 1\n", "has no statistic \"p95\""),
        ("[[limit]]\nmetric = \"ttft\"\nstat = \"value\"\nat_most = 1\n", "has no statistic \"value\""),
        ("run_noise = -5\n", "a number, 0 or more"),
        ("limit = 5\n", "[[limit]]"),
        ("[[limit]\n", "postrun.toml:1:"),
        ("", "postrun.toml:1: this budget is empty and guards nothing"),
        ("# run_noise = 5\n", "guards nothing"),
    ] {
        let ran = with(budget, &[]);
        assert!(ran.code == 2 && ran.stderr.contains(words), "{budget}: {}", ran.stderr);
    }
}

#[test]
fn a_gate_that_cannot_judge_does_not_pass_quietly() {
    let dir = tempfile::tempdir().unwrap();
    let base = Made::new(1).write(dir.path(), "before");
    let with = |candidate: Made, extra: &[&str]| {
        let candidate = candidate.write(dir.path(), "after");
        run(["diff", base.to_str().unwrap(), candidate.to_str().unwrap()].into_iter().chain(extra.iter().copied()))
    };
    let other = Made { rate: 30.0, ..Made::new(2) };
    let ran = with(other.clone(), &["--fail-on", "regression"]);
    let said = "1 of 1 limit was not judged: regression: the sides were asked different questions; --strict makes";
    assert!(ran.code == 0 && ran.stderr.contains(said), "{}", ran.stderr);
    assert_eq!(with(other, &["--fail-on", "regression", "--strict"]).code, 3);
    let same = with(Made::new(2), &["--fail-on", "regression"]);
    assert!(same.code == 0 && !same.stderr.contains("not judged"), "{}", same.stderr);
    // What rises from 0 has no percentage.
    let ran = with(Made { fails_every: 5, ..Made::new(2) }, &["--fail-on", "regression", "--format", "json"]);
    let said = "failure_rate value is worse from 0 on, by more than 0.0 % (0 % → 20.0 %)";
    assert_eq!((ran.code, &ran.json()["limits"]["exceeded"][0]["text"]), (1, &Value::from(said)));
    // What is shown under another name is named.
    let tight = fixture("server_side/kv_tight/input");
    let ran = run(["diff", tight.to_str().unwrap(), tight.to_str().unwrap(), "--fail-on", "regression:preemptions>5"]);
    let hint = "neither side has it (did you mean preemption_total?)";
    assert!(ran.code == 2 && ran.stderr.contains(hint), "{}", ran.stderr);
}
