//! Words on the screen: counts in the singular where it is one, long numbers with their thousands apart, and what a reader
//! must know first at the top.

use crate::made_run::Made;
use crate::support::{fixture, root, run, temp_file};
use std::path::{Path, PathBuf};

/// Words that end like a plural and are none (`1 times the step` is a factor).
const NO_PLURAL: [&str; 7] = ["is", "was", "has", "differs", "agrees", "times", "ms"];

/// Places where a plural follows a one.
fn wrong_counts(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let wrong = words.windows(2).filter(|pair| {
        let noun = pair[1].trim_end_matches(|c: char| !c.is_alphanumeric());
        let lower = noun.len() > 2 && noun.chars().all(|c| c.is_ascii_lowercase());
        pair[0].trim_start_matches(['(', '[']) == "1" && lower && noun.ends_with('s') && !NO_PLURAL.contains(&noun)
    });
    wrong.map(|pair| pair.join(" ")).collect()
}

fn inputs() -> Vec<PathBuf> {
    let mut out = Vec::new();
    for format in std::fs::read_dir(root().join("fixtures")).unwrap().map(|e| e.unwrap().path()) {
        let scenarios = std::fs::read_dir(format).into_iter().flatten().map(|e| e.unwrap().path().join("input"));
        out.extend(scenarios.filter(|p| p.is_dir()));
    }
    out.sort();
    out
}

/// A run of one request with one token, and one of two of which one failed.
fn tiny(dir: &Path) -> [PathBuf; 2] {
    let one = Made { requests: 1, rate: 1.0, ..Made::new(1) };
    let two = Made { requests: 2, rate: 1.0, fails_every: 2, ..Made::new(2) };
    [one.write(dir, "one"), two.write(dir, "two")]
}

#[test]
fn one_is_never_followed_by_a_plural() {
    let dir = tempfile::tempdir().unwrap();
    let tiny = tiny(dir.path());
    let text = |path: &PathBuf| path.to_str().unwrap().to_string();
    let mut wrong = Vec::new();
    let mut looked = 0;
    for input in inputs().iter().chain(&tiny) {
        for command in ["report", "inspect"] {
            let ran = run([command, &text(input)]);
            looked += usize::from(ran.code == 0);
            let found = wrong_counts(&format!("{} {}", ran.stdout, ran.stderr));
            wrong.extend(found.into_iter().map(|w| format!("{command} {}: {w}", input.display())));
        }
    }
    let [one, two] = tiny;
    let faster = Made { requests: 1, rate: 2.0, ..Made::new(1) }.write(dir.path(), "faster");
    let charts = dir.path().join("charts");
    let html = dir.path().join("one.html");
    let export = dir.path().join("one.json");
    for args in [
        vec!["diff", &text(&one), &text(&two)],
        vec!["diff", &text(&one), &text(&one)],
        vec!["diff", &text(&one), &text(&faster)],
        vec!["parity", &text(&one)],
        vec!["trend", &text(&one), &text(&two)],
        vec!["ingest", &text(&one), "-o", dir.path().join("one.postrun").to_str().unwrap()],
        vec!["report", &text(&one), "--charts", charts.to_str().unwrap()],
        vec!["report", &text(&one), "-o", html.to_str().unwrap()],
        vec!["export", &text(&one), "--to", "chrome-trace", "-o", export.to_str().unwrap()],
    ] {
        let ran = run(&args);
        let found = wrong_counts(&format!("{} {}", ran.stdout, ran.stderr));
        wrong.extend(found.into_iter().map(|w| format!("{args:?}: {w}")));
    }
    let tags = |text: &str| text.replace(['<', '>'], " ");
    let mut pictures = vec![html];
    pictures.extend(std::fs::read_dir(charts).unwrap().map(|e| e.unwrap().path()));
    for file in pictures.iter().filter(|p| p.extension().is_some_and(|e| e != "png")) {
        let found = wrong_counts(&tags(&std::fs::read_to_string(file).unwrap()));
        wrong.extend(found.into_iter().map(|w| format!("{}: {w}", file.display())));
    }
    assert!(looked > 80, "{looked}");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn long_counts_have_their_thousands_apart() {
    let dir = tempfile::tempdir().unwrap();
    let made = Made { requests: 12_000, fails_every: 100, rate: 100.0, ..Made::new(3) }.write(dir.path(), "many");
    let ran = run(["report", made.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("12\u{202f}000 requests: 11\u{202f}880 ok, 120 failed"), "{}", ran.stdout);
}

#[test]
fn a_cut_file_is_said_at_the_top() {
    let whole = fixture("guidellm/two_benchmarks/input/benchmarks.json");
    let bytes = std::fs::read(&whole).unwrap();
    let (dir, cut) = temp_file("cut.json", &bytes[..bytes.len() * 7 / 10]);
    let said = "NOT WHOLE: a file ends in the middle of a record.";
    let in_head = |text: &str| text.split("Verdict").next().unwrap().contains(said);
    for form in ["table", "markdown"] {
        let ran = run(["report", cut.to_str().unwrap(), "--format", form]);
        assert!(in_head(&ran.stdout), "{}", ran.stdout);
        let ran = run(["report", whole.to_str().unwrap(), "--format", form]);
        assert!(!ran.stdout.contains("NOT WHOLE"), "{}", ran.stdout);
    }
    let html = run(["report", cut.to_str().unwrap(), "--format", "html"]).stdout;
    assert!(html.contains(&format!("<p class=\"lost\">{said}")));
    assert!(run(["diagnose", cut.to_str().unwrap()]).stdout.contains(said));
    // In an overview of several runs, by name; in a comparison, as a difference.
    std::fs::copy(&whole, dir.path().join("whole.json")).unwrap();
    let overview = run(["report", dir.path().to_str().unwrap(), "--format", "markdown"]).stdout;
    assert!(overview.contains("NOT WHOLE, see data quality: cut."), "{overview}");
    let other = Made::new(4).write(dir.path(), "made");
    let text = std::fs::read_to_string(other.join("result.json")).unwrap();
    let gz = dir.path().join("cut.json.gz");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, format!("{text}\n{text}").as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    std::fs::write(&gz, &packed[..packed.len() * 9 / 10]).unwrap();
    let ran = run(["report", gz.to_str().unwrap()]);
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("a compressed file is cut or damaged"), "{}", ran.stdout);
    let ran = run(["diff", gz.to_str().unwrap(), other.to_str().unwrap()]);
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("a recording is not whole"), "{}", ran.stdout);
}

#[test]
fn what_would_say_the_same_twice_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let few = Made { requests: 5, ..Made::new(5) }.write(dir.path(), "few");
    let many = Made { prompts: vec![50, 100, 400, 900], ..Made::new(5) }.write(dir.path(), "many");
    let report = |path: &Path| run(["report", path.to_str().unwrap()]).stdout;
    assert!(!report(&few).contains("By prompt length"), "{}", report(&few));
    assert!(report(&many).contains("By prompt length"), "{}", report(&many));
    let charts = dir.path().join("charts");
    let ran = run(["report", few.to_str().unwrap(), "--charts", charts.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let pauses = std::fs::read_to_string(charts.join("itl_over_time.svg")).unwrap();
    assert!(pauses.contains("No stream paused for long.") && !pauses.contains("A dot is"));
}
