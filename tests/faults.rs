//! What goes wrong around an ingest: kills, full disks, forbidden places, links, crowds, files in motion. Whatever happens, a
//! dataset is there whole or not at all, and a message says what is the matter.

use crate::support::{Ran, binary, fixture, postrun, report, root, run};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const RECORDING: &str = "fixtures/vllm_bench/long_prompts/input/result.json";

fn ingest(target: &Path, more: &[&str]) -> Command {
    let mut command = postrun();
    command.current_dir(root()).args(["ingest", RECORDING, "-o"]).arg(target).args(more);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ended(child: Child) -> Ran {
    Ran::from(child.wait_with_output().unwrap())
}

fn ran(mut command: Command) -> Ran {
    Ran::from(command.output().unwrap())
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Name and content of every file of a dataset. The same input gives the same bytes, so that equal is whole.
type Files = Vec<(String, Vec<u8>)>;

fn files(dataset: &Path) -> Files {
    names(dataset).into_iter().map(|name| (name.clone(), std::fs::read(dataset.join(name)).unwrap())).collect()
}

fn made(target: &Path, more: &[&str]) -> Files {
    let ran = ran(ingest(target, more));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    files(target)
}

/// Kills ingests at moments spread over their whole length; how many left nothing or what was there before, and how many
/// their own dataset.
fn kill(times: u32) -> (u32, u32) {
    let dir = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let new = made(&dir.path().join("new"), &["--label", "new"]);
    let length = started.elapsed();
    let old = made(&dir.path().join("old"), &["--label", "old"]);
    let (mut without, mut with) = (0, 0);
    let mut random = 7u64;
    for round in 0..times {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("run");
        // Half of them replace a dataset, which must stay whole until the new one is.
        let replaces = round % 2 == 1;
        let force: &[&str] = if replaces { &["--label", "new", "--force"] } else { &["--label", "new"] };
        if replaces {
            assert_eq!(made(&target, &["--label", "old"]), old);
        }
        let mut child = ingest(&target, force).spawn().unwrap();
        std::thread::sleep(length.mul_f64((random >> 33) as f64 / f64::from(1u32 << 31) * 1.2));
        let _ = child.kill();
        child.wait().unwrap();
        if !target.exists() {
            assert!(!replaces, "round {round}: the old dataset is gone and no new one is there");
            without += 1;
            continue;
        }
        let left = files(&target);
        match left == new {
            true => with += 1,
            false => {
                assert!(replaces && left == old, "round {round}: half a dataset");
                without += 1;
            }
        }
        let others = names(place.path());
        assert!(others.iter().all(|n| n == "run" || n.starts_with("run.partial-")), "{others:?}");
    }
    (without, with)
}

#[test]
fn a_kill_at_any_moment_leaves_no_dataset_or_a_whole_one() {
    kill(10);
}

/// `cargo test --test tests -- --ignored --nocapture two_hundred_kills`
#[test]
#[ignore = "takes minutes"]
fn two_hundred_kills() {
    let (without, with) = kill(200);
    eprintln!("200 kills: {without} left nothing new, {with} a whole new dataset, none half of one");
    assert!(without > 0 && with > 0, "the moments must fall on both sides of the end");
}

/// Runs a command line by a shell in which something is set up before; `None`, said aloud, where that is impossible here.
#[cfg(target_os = "linux")]
fn behind(setup: &[&str], script: &str, args: &[&str]) -> Option<Ran> {
    let (program, rest) = setup.split_first()?;
    let shell = |args: &[&str]| {
        let mut command = Command::new(program);
        let line = format!("{script} && exec \"$@\"");
        command.current_dir(root()).args(rest).args(["sh", "-c", &line, "sh"]).args(args);
        command.output()
    };
    let works = shell(&[binary().to_str().unwrap(), "--version"]).is_ok_and(|o| o.status.success());
    if !works {
        eprintln!("SKIPPED: {setup:?} does not work here, so nothing was checked behind {script:?}");
        return None;
    }
    let all: Vec<&str> = [binary().to_str().unwrap()].into_iter().chain(args.iter().copied()).collect();
    Some(Ran::from(shell(&all).unwrap()))
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_file_size_is_an_error_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("run");
    let args = ["ingest", RECORDING, "-o", target.to_str().unwrap()];
    let ran = behind(&["env"], "ulimit -f 4", &args).expect("every shell has ulimit");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("parquet") && ran.stderr.contains("File too large"), "{}", ran.stderr);
    assert_eq!(names(dir.path()), Vec::<String>::new());
    // The page is larger than what is written of the recording on the way to it.
    let page = dir.path().join("report.html");
    let args = ["report", RECORDING, "-o", page.to_str().unwrap()];
    let ran = behind(&["env"], "ulimit -f 120", &args).unwrap();
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("report.html") && ran.stderr.contains("File too large"), "{}", ran.stderr);
    assert_eq!(names(dir.path()), Vec::<String>::new());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_and_a_read_only_disk_are_errors_that_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().to_str().unwrap();
    let target = format!("{place}/run");
    let check = format!("sh -c '\"$0\" \"$@\"; code=$?; ls -A {place} >&2; exit $code'");
    let args = ["ingest", RECORDING, "-o", &target];
    for (options, expected) in [("size=16k", "No space left"), ("ro", "Read-only file system")] {
        let script = format!("mount -t tmpfs -o {options} none {place}");
        let Some(ran) = behind(&["unshare", "-rm"], &format!("{script} && set -- {check} \"$@\""), &args) else {
            return;
        };
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(expected) && ran.stderr.contains("run.partial-"), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "nothing is left: {}", ran.stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_cannot_be_written_are_errors() {
    let page = ["report", RECORDING, "--format", "html", "-o", "/dev/full"];
    for args in [&["report", RECORDING, "-o", "/dev/full"][..], &page] {
        let ran = run(args);
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains("could not write /dev/full: No space left"), "{}", ran.stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn forbidden_places_and_files_are_errors() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    mode(dir.path(), 0o755);
    let (closed, secret) = (dir.path().join("closed"), dir.path().join("secret.json"));
    std::fs::create_dir(&closed).unwrap();
    std::fs::copy(root().join(RECORDING), &secret).unwrap();
    mode(&closed, 0o555);
    mode(&secret, 0o000);
    // Nothing is forbidden to root.
    let nobody: &[&str] = match std::fs::read(&secret).is_ok() {
        true => &["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"],
        false => &["env"],
    };
    let readable = dir.path().join("result.json");
    std::fs::copy(root().join(RECORDING), &readable).unwrap();
    mode(&readable, 0o644);
    let target = closed.join("run");
    let write = ["ingest", readable.to_str().unwrap(), "-o", target.to_str().unwrap()];
    let read = ["report", secret.to_str().unwrap()];
    for (args, named) in [(&write[..], "closed/run.partial-"), (&read, "secret.json")] {
        let Some(ran) = behind(nobody, "cd /", args) else { return };
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(named) && ran.stderr.contains("Permission denied"), "{}", ran.stderr);
    }
    mode(&closed, 0o755);
    assert_eq!(names(&closed), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn a_target_behind_a_link_is_replaced_and_the_link_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (real, link, lost) = (dir.path().join("disk/run"), dir.path().join("run"), dir.path().join("lost"));
    made(&real, &["--label", "old"]);
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert_eq!(ran(ingest(&link, &[])).code, 2, "what is there is not replaced unasked");
    made(&link, &["--label", "new", "--force"]);
    assert!(link.is_symlink() && !real.is_symlink());
    assert!(std::fs::read_to_string(real.join("manifest.json")).unwrap().contains("\"label\": \"new\""));
    assert_eq!(
        (names(dir.path()), names(&dir.path().join("disk"))),
        (vec!["disk".into(), "run".into()], vec!["run".into()])
    );
    std::os::unix::fs::symlink("nowhere", &lost).unwrap();
    let ran = ran(ingest(&lost, &["--force"]));
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("lost") && ran.stderr.contains("a link to a place that does not exist"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_file_that_grows_while_it_is_read_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let input = fixture("aiperf_records/warmup_and_failures/input");
    let input = std::fs::read_dir(input)
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.extension().is_some_and(|e| e == "jsonl"));
    let text = std::fs::read(input.unwrap()).unwrap();
    let path = dir.path().join("profile_export.jsonl");
    std::fs::write(&path, text.repeat(1 + (4 << 20) / text.len())).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = std::fs::File::options().append(true).open(&path).unwrap();
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                std::io::Write::write_all(&mut file, &text[..text.len() / 2]).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let ran = run(["report", path.to_str().unwrap(), "--format", "json"]);
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let issues = ran.json()["runs"][0]["data_quality"].clone();
        let changed =
            issues.as_array().unwrap().iter().find(|i| i["code"] == "file_changed").expect("file_changed").clone();
        assert!(changed["example"].as_str().unwrap().contains(" bytes before, "), "{changed}");
    });
    let still = report(&path, &[]);
    assert!(!still.to_string().contains("file_changed"), "it stands still now");
}

#[test]
fn ingests_into_one_target_leave_one_whole_dataset() {
    let dir = tempfile::tempdir().unwrap();
    let start = |target: &Path, more: &[&str]| ingest(target, more).spawn().unwrap();
    let first = dir.path().join("first");
    let crowd: Vec<Child> = (0..4).map(|_| start(&first, &[])).collect();
    let ends: Vec<Ran> = crowd.into_iter().map(ended).collect();
    assert_eq!(ends.iter().filter(|ran| ran.code == 0).count(), 1, "the first one stays");
    let late = ends.iter().filter(|ran| ran.code != 0);
    late.for_each(|ran| assert!(ran.code == 2 && ran.stderr.contains("exists already"), "{}", ran.stderr));
    let forced = dir.path().join("forced");
    let labels = ["a", "b", "c", "d"];
    let crowd: Vec<Child> = labels.iter().map(|l| start(&forced, &["--force", "--label", l])).collect();
    for ran in crowd.into_iter().map(ended) {
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let left = files(&forced);
    let whole = |label: &str| made(&dir.path().join(label), &["--label", label]) == left;
    assert!(labels.iter().any(|label| whole(label)), "the dataset is none of those written");
    assert!(names(dir.path()).iter().all(|name| !name.contains("partial")), "{:?}", names(dir.path()));
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_what_was_there_and_says_so() {
    let data = std::fs::read(root().join(RECORDING)).unwrap();
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let dir = tempfile::tempdir().unwrap();
        let target: PathBuf = dir.path().join("run");
        let old = made(&target, &["--label", "old"]);
        let mut command = postrun();
        command.args(["ingest", "-", "--force", "-o"]).arg(&target).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, &data[..data.len() - 2000]).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while names(dir.path()).len() < 2 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let ran = ended(child);
        drop(stdin);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
        assert_eq!(ran.stderr, "postrun: interrupted; what was half written is removed\n");
        assert_eq!(names(dir.path()), ["run"]);
        assert_eq!(files(&target), old);
    }
}

#[test]
fn a_flipped_bit_anywhere_in_a_table_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("run");
    for (name, good) in made(&target, &[]).into_iter().filter(|(name, _)| name.ends_with(".parquet")) {
        let path = target.join(&name);
        for part in 0..12 {
            let (at, bit) = ((good.len() - 1) * part / 11, part % 8);
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            std::fs::write(&path, &bad).unwrap();
            let ran = run(["report", target.to_str().unwrap()]);
            assert_eq!(ran.code, 2, "{name}: bit {bit} of byte {at} of {}", good.len());
            assert!(ran.stderr.contains(&name) && ran.stdout.is_empty(), "{}", ran.stderr);
        }
        std::fs::write(&path, &good).unwrap();
    }
    assert_eq!(run(["report", target.to_str().unwrap()]).code, 0);
}
