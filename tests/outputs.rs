//! Files that a result is written to.

use crate::support::{fixture, postrun, run, temp_file};
use std::path::Path;

const RECORDING: &str = "vllm_bench/long_prompts/input/result.json";
const TWO_RUNS: &str = "cases/b16_several_runs/input/sweep.jsonl";

fn recording() -> Vec<u8> {
    std::fs::read(fixture(RECORDING)).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn nothing_is_written_over_what_was_read() {
    let (dir, file) = temp_file("result.json", &recording());
    let at = |name: &str| dir.path().join(name);
    let second = at("second.json");
    std::fs::copy(&file, &second).unwrap();
    let (folder, dataset, rules) = (at("folder"), at("dataset"), at("rules.toml"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(&file, folder.join("result.json")).unwrap();
    std::fs::write(&rules, "").unwrap();
    assert_eq!(run(["ingest", text(&file), "-o", text(&dataset)]).code, 0);
    let two_runs = fixture(TWO_RUNS);
    let table = dataset.join("requests.parquet");
    let (file, second, folder_file) = (text(&file), text(&second), folder.join("result.json"));
    let cases: Vec<(Vec<&str>, &Path)> = vec![
        (vec!["report", file, "--format", "json", "-o", file], Path::new(file)),
        (vec!["report", text(&folder), "-o", text(&folder_file)], &folder_file),
        (vec!["report", file, "--rules", text(&rules), "--format", "csv", "-o", text(&rules)], &rules),
        (vec!["diagnose", file, "-o", file], Path::new(file)),
        (vec!["parity", file, "-o", file], Path::new(file)),
        (vec!["diff", file, second, "-o", second], Path::new(second)),
        (vec!["trend", text(&two_runs), file, "-o", file], Path::new(file)),
        (vec!["export", file, "--to", "csv", "-o", file], Path::new(file)),
        (vec!["export", text(&dataset), "--to", "parquet", "-o", text(&table)], &table),
        (vec!["report", text(&dataset), "-o", text(&table), "--format", "csv"], &table),
    ];
    for (args, target) in cases {
        let before = std::fs::read(target).unwrap();
        let ran = run(&args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("is one of the files read"), "{args:?}: {}", ran.stderr);
        assert_eq!(std::fs::read(target).unwrap(), before, "{args:?}");
    }
}

#[test]
fn standard_input_is_spared_where_it_is_a_file() {
    let (_dir, file) = temp_file("result.json", &recording());
    let mut command = postrun();
    command.args(["report", "-", "--format", "json", "-o", text(&file)]);
    let output = command.stdin(std::fs::File::open(&file).unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read(&file).unwrap(), recording());
}

#[test]
#[cfg(unix)]
fn a_pipe_by_name_takes_a_result() {
    let (dir, file) = temp_file("result.json", &recording());
    let pipe = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read(pipe).unwrap()
    });
    assert_eq!(run(["report", text(&file), "--format", "csv", "-o", text(&pipe)]).code, 0);
    assert!(reader.join().unwrap().starts_with(b"run,"));
}

#[test]
#[cfg(unix)]
fn an_earlier_report_is_replaced_and_stays_as_private_as_it_was() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, file) = temp_file("result.json", &recording());
    let page = dir.path().join("page.html");
    std::fs::write(&page, "old").unwrap();
    std::fs::set_permissions(&page, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(run(["report", text(&file), "-o", text(&page)]).code, 0);
    assert!(std::fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    assert_eq!(page.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_dash_is_standard_output_for_every_command() {
    let file = fixture(RECORDING);
    let file = text(&file);
    let two_runs = fixture(TWO_RUNS);
    let dir = tempfile::tempdir().unwrap();
    for args in [
        vec!["report", file],
        vec!["report", file, "--format", "html"],
        vec!["diagnose", file],
        vec!["parity", file],
        vec!["diff", file, file],
        vec!["trend", text(&two_runs), file],
        vec!["export", file, "--to", "csv"],
    ] {
        let printed = |extra: &[&str]| {
            let output = postrun().current_dir(dir.path()).args(&args).args(extra).output().unwrap();
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
            output.stdout
        };
        let plain = printed(&[]);
        assert!(!plain.is_empty() && plain == printed(&["-o", "-"]), "{args:?}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "no file is called -");
}

#[test]
fn a_dataset_does_not_say_where_its_recording_lay() {
    let dir = tempfile::tempdir().unwrap();
    let input = fixture("server_side/kv_tight/input");
    let manifest = |from: &Path, input: &Path, name: &str| {
        let target = dir.path().join(name);
        let output = postrun().current_dir(from).arg("ingest").arg(input).arg("-o").arg(&target).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(target.join("manifest.json")).unwrap()
    };
    let absolute = manifest(dir.path(), &input, "absolute");
    assert_eq!(absolute, manifest(input.parent().unwrap(), Path::new("input"), "relative"));
    assert!(absolute.contains("\"at\": \"server.log: line 1"), "{absolute}");
    assert!(!absolute.contains(input.to_str().unwrap()));
}
