//! Every command that README.md shows is run here as it stands.

use crate::made_run::Made;
use crate::support::{postrun, root};

/// Lines of the shell blocks.
fn commands() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let mut inside = false;
    let mut out = Vec::new();
    for line in text.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside && !line.is_empty() => out.push(line.to_string()),
            _ => {}
        }
    }
    out
}

#[test]
fn every_command_works() {
    let dir = tempfile::tempdir().unwrap();
    // The commands name fixtures relative to the checkout and write beside them.
    #[cfg(unix)]
    std::os::unix::fs::symlink(root().join("fixtures"), dir.path().join("fixtures")).unwrap();
    let mut ran = 0;
    for line in commands() {
        let line = line.replace("cargo run -p postrun-cli -- ", "postrun ");
        let Some(rest) = line.strip_prefix("postrun ") else {
            assert!(line.starts_with("cargo test") || line.starts_with("cargo bench"), "an untested command: {line}");
            continue;
        };
        let (args, file) = rest.split_once(" > ").map_or((rest, None), |(args, file)| (args, Some(file)));
        let output = postrun().current_dir(dir.path()).args(args.split_whitespace()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {stderr}");
        let writes = args.contains(" -o ");
        assert!(writes || !output.stdout.is_empty(), "{line}: printed nothing");
        if let Some(file) = file {
            std::fs::write(dir.path().join(file), &output.stdout).unwrap();
        }
        ran += 1;
    }
    assert!(ran >= 12, "only {ran} commands");
}

/// The table of formats as the registry has it.
fn formats() -> String {
    let output = postrun().args(["list", "formats"]).output().unwrap();
    let mut table = "| format | reads |\n| --- | --- |\n".to_string();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (id, headline) = line.split_once("  ").unwrap();
        let headline = headline.trim().trim_end_matches('.').replace('|', "\\|");
        table.push_str(&format!("| `{id}` | {headline} |\n"));
    }
    table
}

#[test]
fn the_table_of_formats_is_the_registry() {
    let file = root().join("README.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once("<!-- formats: begin").unwrap();
    let (mark, rest) = rest.split_once('\n').unwrap();
    let (shown, after) = rest.split_once("<!-- formats: end -->").unwrap();
    let formats = formats();
    assert!(formats.lines().count() > 20);
    if std::env::var_os("UPDATE_README").is_some() && shown != formats {
        let written = format!("{before}<!-- formats: begin{mark}\n{formats}<!-- formats: end -->{after}");
        std::fs::write(&file, written).unwrap();
        return;
    }
    assert_eq!(shown, formats, "README.md lists other formats; UPDATE_README=1 writes the table anew");
}

#[test]
fn the_mapping_it_shows_is_the_one_it_runs() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let shown = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(shown, std::fs::read_to_string(root().join("fixtures/mapping/stranger/map.toml")).unwrap());
}

#[test]
fn the_report_it_shows_is_the_report_it_gets() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let shown = text.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let output =
        postrun().current_dir(root()).args(["report", "fixtures/server_side/kv_tight/input"]).output().unwrap();
    let full = String::from_utf8(output.stdout).unwrap();
    assert!(full.starts_with(shown), "README.md shows another report:\n{full}");
}

/// The block of a language that holds `word`.
fn block(language: &str, word: &str) -> String {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let start = format!("```{language}\n");
    let mut blocks = text.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.find(|block| block.contains(word)).unwrap().to_string()
}

#[test]
fn the_gate_for_ci_works_as_it_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("postrun.toml"), block("toml", "[[limit]]")).unwrap();
    Made::new(1).write(dir.path(), "baseline");
    let job = block("yaml", "postrun diff");
    let line = job.lines().find(|l| l.trim_start().starts_with("postrun diff ")).unwrap();
    assert!(job.contains("= 3 ]; then echo \"::warning::"), "{job}");
    let args: Vec<&str> = line.trim().split(" || ").next().unwrap().split(' ').skip(1).collect();
    let gate = |candidate: Made, extra: &[&str]| {
        candidate.write(dir.path(), "run");
        let output = postrun().current_dir(dir.path()).args(&args).args(extra).output().unwrap();
        (output.status.code().unwrap(), std::fs::read_to_string(dir.path().join("summary.md")).unwrap())
    };
    // Within the noise a limit below it is not judged, and with --strict that is said by 3.
    let (code, summary) = gate(Made::new(2), &[]);
    assert!(code == 3 && summary.contains("not judged"), "{summary}");
    let (code, summary) = gate(Made { gap_s: 0.03, ..Made::new(2) }, &[]);
    assert!(code == 1 && summary.contains("tpot\\_ms p50 is worse by"), "{summary}");
    let (code, summary) = gate(Made { ttft_s: 0.6, ..Made::new(2) }, &[]);
    assert!(code == 1 && summary.contains("more than 500"), "{summary}");
    // 7 % are inside the noise that the budget allows for: nothing fails, and nothing was decided either.
    assert_eq!(gate(Made { gap_s: 0.0214, ..Made::new(2) }, &[]).0, 3);
}

/// Pictures and pages beside it; what lies on the web is not asked for.
#[test]
fn what_it_links_to_is_there() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let here: Vec<&str> = targets.filter(|target| !target.contains("://")).collect();
    for target in &here {
        assert!(root().join(target).exists(), "{target}");
    }
    assert!(here.len() >= 6, "{here:?}");
    let picture = std::fs::metadata(root().join(".github/report.png")).unwrap();
    assert!(here.contains(&".github/report.png") && picture.len() <= 150_000, "{} bytes", picture.len());
}
