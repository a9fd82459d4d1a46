//! Rules files: what they set, and errors that point at the place.

use super::*;
use crate::{RuleSet, Severity};

fn error(text: &str) -> String {
    RuleSet::from_toml("my.toml", text).unwrap_err().to_string()
}

/// A rules file with one rule whose condition is `when`.
fn rule(when: &str) -> String {
    format!("[[rule]]\nid = \"mine\"\ntitle = \"it is so\"\nwhen = \"{when}\"\nmeasures = [\"scale_out\"]\n")
}

#[test]
fn errors_point_at_file_line_and_column() {
    let cases = [
        (
            "[thresholds.frequent_preemtion]\n",
            "my.toml:1:13: no rule is called \"frequent_preemtion\"; did you mean frequent_preemption?",
        ),
        (
            "[thresholds.saturated]\ngroth = 2\n",
            "my.toml:2:1: saturated has no threshold \"groth\"; did you mean growth?",
        ),
        (
            "[thresholds.saturated]\ngrowth = \"2\"\n",
            "my.toml:2:10: a threshold is a finite number, and saturated.growth is not",
        ),
        (
            "[thresholds.saturated]\ngrowth = nan\n",
            "my.toml:2:10: a threshold is a finite number, and saturated.growth is not",
        ),
        ("[tresholds.saturated]\n", "my.toml:1:2: unknown key \"tresholds\"; did you mean thresholds?"),
        ("[rule]\nid = \"x\"\n", "my.toml:1:2: rules are written [[rule]], with two brackets"),
        ("[[rule]]\nid = \"x\"\ntitel = \"y\"\n", "my.toml:3:1: a rule has no \"titel\"; did you mean title?"),
        (
            "[[rule]]\nid = \"saturated\"\n",
            "my.toml:2:6: saturated is a built-in rule; its thresholds are set in [thresholds.saturated]",
        ),
        ("[[rule]]\nid = \"x\"\n", "my.toml:2:1: this rule has no title"),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected);
    }
    assert!(error("[[rule]\nid = 1\n").starts_with("my.toml:1:"), "{}", error("[[rule]\nid = 1\n"));
}

#[test]
fn conditions_point_into_the_string() {
    // `when = "` is eight characters long.
    let cases = [
        ("p99.ttft_m > 2000", "4:9", "no distribution is called \"ttft_m\"; did you mean ttft_ms?"),
        ("kv_cache_usage.mx > 1", "4:9", "no figure is called \"kv_cache_usage.mx\"; did you mean kv_cache_usage.max?"),
        ("ttft_ms > 1", "4:9", "ttft_ms has many values: say which, such as p95.ttft_ms"),
        ("p99.ttft_ms > 2000 and", "4:31", "the end where a figure or a number was expected"),
        ("p99.ttft_ms > 2000 & 1", "4:28", "'&' has no meaning in a condition; write and"),
        ("p99.ttft_ms = 2000", "4:21", "'=' has no meaning in a condition; equality is =="),
        ("p99.ttft_ms", "4:9", "a number is no condition: compare it with another"),
        ("1 < p99.ttft_ms < 3", "4:25", "one comparison after the other: join them with and"),
        ("(p99.ttft_ms > 1", "4:25", "the end where ) was expected"),
        ("p99.ttft_ms > 1 waiting.mean > 1", "4:25", "\"waiting.mean\" where and, or or the end was expected"),
        (
            "bucket[9].p95.ttft_ms > 1",
            "4:9",
            "\"9\" is no bucket: write bucket[0..512], bucket[2048..] or bucket[*] for any",
        ),
        ("bucket[0..512.p95.ttft_ms > 1", "4:15", "this bracket is not closed"),
        ("1 + (p99.ttft_ms > 1) > 0", "4:13", "a comparison is no number: join comparisons with and"),
    ];
    for (when, place, message) in cases {
        assert_eq!(error(&rule(when)), format!("my.toml:{place}: {message}"), "{when}");
    }
    // Characters count, not bytes; and the text may span lines.
    let umlaut = rule("p99.ttft_ms > 1 and é");
    assert!(error(&umlaut).starts_with("my.toml:4:29:"), "{}", error(&umlaut));
    assert!(error(&rule(&"(".repeat(200))).contains("nested more than"));
    assert!(error(&rule(&"not ".repeat(200))).contains("nested more than"));
    assert!(error(&rule(&"-".repeat(200))).contains("nested more than"));
    assert!(error(&rule(&"1 > 0 and ".repeat(5000))).contains("more than 400 words"));
    let lines = "[[rule]]\nid = \"m\"\ntitle = \"t\"\nwhen = '''\np99.ttft_ms > 1\nand oops > 2'''\nmeasures = [\"scale_out\"]\n";
    assert!(error(lines).starts_with("my.toml:6:5:"), "{}", error(lines));
}

#[test]
fn measures_and_severities() {
    let with = |measures: &str| rule("requests.ok > 1").replace("[\"scale_out\"]", measures);
    assert!(
        error(&with("[\"scale_uot\"]")).contains("5:13: no measure is called \"scale_uot\"; did you mean scale_out?")
    );
    assert!(error(&with("[]")).contains("5:12: measures is a list of at least one text"));
    let severity = format!("{}severity = \"bad\"\n", rule("requests.ok > 1"));
    assert!(error(&severity).contains("6:12: \"bad\" is no severity"), "{}", error(&severity));
    let set = RuleSet::from_toml("f", &with("[\"scale_out\", \"call the night shift\"]")).unwrap();
    let run = of_result(&small_result(120, 0.2, 0.05, &[0.01; 9]));
    let diagnosis = diagnose(&run, &set);
    assert_eq!(found(&diagnosis), ["mine"]);
    let finding = &diagnosis.findings[0];
    assert_eq!((finding.severity, finding.summary.as_str()), (Severity::Warning, "it is so"));
    let texts: Vec<&str> = finding.measures.iter().map(|m| m.text.as_ref()).collect();
    assert_eq!(texts, ["add replicas or devices", "call the night shift"]);
    assert_eq!((finding.evidence[0].metric.as_str(), finding.evidence[0].value), ("requests.ok", 120.0));
}

#[test]
fn conditions_hold_or_not_or_cannot_be_known() {
    let run = of_result(&small_result(120, 0.2, 0.05, &[0.01; 9]));
    let verdict = |when: &str| {
        let diagnosis = diagnose(&run, &RuleSet::from_toml("f", &rule(when)).unwrap());
        let found = diagnosis.findings.iter().any(|f| f.rule == "mine");
        let missing = diagnosis.not_checked.iter().find(|n| n.rule == "mine").map(|n| n.missing.join("; "));
        (found, missing)
    };
    let yes = (true, None);
    let no = (false, None);
    assert_eq!(verdict("p50.ttft_ms == 50 and count.ttft_ms == 120"), yes);
    assert_eq!(verdict("p95.ttft_ms * 2 - 10 > 80 and not p95.ttft_ms / 2 > 30"), yes);
    assert_eq!(verdict("-p95.ttft_ms > -40 or requests.failed > 0"), no);
    assert_eq!(verdict("mean.tpot_ms > 9.9 and mean.tpot_ms < 10.1"), yes);
    assert_eq!(verdict("bucket[0..].p95.ttft_ms >= 50"), yes);
    assert_eq!(verdict("bucket[*].requests > 100 and bucket[*].p50.e2e_ms > 1_000"), no);
    // Without a scrape nothing is known of the KV cache; what does not depend on it is decided all the same.
    let (found, missing) = verdict("kv_cache_usage.max > 0.9");
    assert!(!found && missing.unwrap().starts_with("kv_cache_usage.max"));
    assert_eq!(verdict("kv_cache_usage.max > 0.9 and p50.ttft_ms > 1e3"), no);
    assert_eq!(verdict("kv_cache_usage.max > 0.9 or p50.ttft_ms < 1e3"), yes);
    assert!(verdict("1 / requests.failed > 0").1.is_some());
    let (found, missing) = verdict("bucket[0..512].p95.ttft_ms > 1");
    assert!(!found && missing.unwrap().contains("they are 0.."), "buckets of the run are named");
}

#[test]
fn thresholds_are_obeyed() {
    let run = of_result(&small_result(40, 0.2, 0.05, &[0.01; 9]));
    assert_eq!(found(&diagnosed(&run)), ["too_few_samples_for_p99"]);
    let set = RuleSet::from_toml("f", "[thresholds.too_few_samples_for_p99]\nrequests = 40\n").unwrap();
    assert!(diagnose(&run, &set).findings.is_empty());
    let set = RuleSet::from_toml("f", "thresholds.high_tpot = { p50_ms = 5.5 }\n").unwrap();
    assert!(found(&diagnose(&run, &set)).contains(&"high_tpot"));
    assert!(RuleSet::from_toml("f", "# nothing\n").unwrap().user_rules.is_empty());
}
