//! What somebody meets who has just installed postrun.

use crate::support::{postrun, run};

#[test]
fn the_demo_leads_from_files_to_a_page() {
    let dir = tempfile::tempdir().unwrap();
    let demo = |args: &[&str]| postrun().current_dir(dir.path()).arg("demo").args(args).output().unwrap();
    let output = demo(&[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("What it says first: 31 preemptions in a run of 60 requests"), "{text}");
    let page = std::fs::read_to_string(dir.path().join("postrun-demo/report.html")).unwrap();
    assert!(page.contains("31 preemptions in a run of 60 requests"));
    let manifest = std::fs::read_to_string(dir.path().join("postrun-demo/run/manifest.json")).unwrap();
    assert!(!page.contains("partial") && !manifest.contains("partial"), "nothing names the folder that it was made in");
    // What it tells to type next works as it stands.
    let next = text.lines().filter_map(|l| l.trim().strip_prefix("postrun ")).filter(|l| !l.contains("YOUR_"));
    let mut typed = 0;
    for line in next {
        let output = postrun().current_dir(dir.path()).args(line.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        typed += 1;
    }
    assert_eq!(typed, 3);
    let again = demo(&[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("postrun-demo exists already"));
    assert!(demo(&["other"]).status.success());
    let mut left: Vec<String> =
        std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    left.sort();
    assert_eq!(left, ["other", "postrun-demo"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let dir = tempfile::tempdir().unwrap();
    let ran = run(["man", dir.path().to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let help = run(["--help"]).stdout;
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = commands
        .lines()
        .filter(|l| l.starts_with("  ") && !l.starts_with("   "))
        .map(|l| l.split_whitespace().next().unwrap());
    let mut pages = 0;
    for name in names.filter(|n| *n != "help") {
        let page = std::fs::read_to_string(dir.path().join(format!("postrun-{name}.1"))).unwrap();
        assert!(page.contains(".SH NAME") && page.contains("Examples:") || page.contains("Example:"), "{name}: {page}");
        pages += 1;
    }
    assert!(pages >= 10, "{pages}");
    assert!(std::fs::read_to_string(dir.path().join("postrun.1")).unwrap().contains("postrun"));
}

#[test]
fn a_typo_is_answered_with_the_nearest_name() {
    let cases = [
        (vec!["report", "x.json", "--input-format", "vlm_bench"], "did you mean vllm_bench"),
        (vec!["explain", "tttf"], "did you mean ttft_ms?"),
        (vec!["simulate", "frequent_preemtion-t1", "--print"], "did you mean frequent_preemption-t1"),
        (vec!["list", "metrix"], "'metrics'"),
        (vec!["report", "x.json", "--slo", "tttf=500ms"], "did you mean ttft?"),
        (vec!["report", "x.json", "--convention", "vlm"], "did you mean vllm"),
        (vec!["diff", "x.json", "y.json", "--fail-on", "regression:tftt>5"], "did you mean ttft"),
        (vec!["diff", "x.json", "y.json", "--fail-on", "regression:p9.ttft>5"], "did you mean p90 or p95 or p99"),
    ];
    for (args, hint) in cases {
        let ran = run(args.clone());
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.stderr.contains(hint), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn the_version_names_its_commit_where_there_is_one() {
    let text = run(["--version"]).stdout;
    let rest = text.trim().strip_prefix(concat!("postrun ", env!("CARGO_PKG_VERSION"))).unwrap();
    let built_of = rest.strip_prefix(" (").and_then(|r| r.strip_suffix(')'));
    let commit = built_of.is_some_and(|c| c.split(' ').next().unwrap().chars().all(|c| c.is_ascii_hexdigit()));
    assert!(rest.is_empty() || commit, "{text}");
}
