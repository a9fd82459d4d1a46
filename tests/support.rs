//! Running the binary, and comparing JSON with a partial truth.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

/// Relative difference that still counts as equal.
pub const TOLERANCE: f64 = 1e-6;

/// Top of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A file below `fixtures/`.
pub fn fixture(name: &str) -> PathBuf {
    root().join("fixtures").join(name)
}

/// The recordings that lie beside the checkout, where they do. Their absence is said aloud, and is a failure in CI.
pub fn shared() -> Option<PathBuf> {
    let dir = root().join("../shared");
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("SKIPPED: ../shared is not here, so nothing was checked against its recordings");
    assert!(std::env::var_os("CI").is_none(), "CI must have ../shared");
    None
}

/// Folders of `../shared` with files of the clients that can be read.
pub const SHARED_FOLDERS: [&str; 5] = [
    "recordings/vllm-bench-serve",
    "recordings/sglang-bench-serving",
    "recordings/vllm-server-cpu",
    "public/vllm",
    "public/sglang",
];

/// Every input file of the cases among the fixtures.
pub fn case_inputs() -> Vec<PathBuf> {
    let mut out = Vec::new();
    for case in std::fs::read_dir(fixture("cases")).unwrap() {
        let input = case.unwrap().path().join("input");
        for file in std::fs::read_dir(input).into_iter().flatten() {
            out.push(file.unwrap().path());
        }
    }
    assert!(out.len() >= 20);
    out.sort();
    out
}

/// What a run of the binary gave.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The report on standard output.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}\nstderr: {}\n{}", self.stderr, self.stdout))
    }
}

/// The binary, by a second link: maturin moves the first one away while it makes a wheel of it (`wheel.rs`), and other
/// tests run meanwhile.
pub fn binary() -> &'static Path {
    static TESTED: LazyLock<PathBuf> = LazyLock::new(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tested");
        std::fs::create_dir_all(&dir).unwrap();
        let tested = dir.join("postrun");
        let _ = std::fs::remove_file(&tested);
        let built = env!("CARGO_BIN_EXE_postrun");
        std::fs::hard_link(built, &tested).or_else(|_| std::fs::copy(built, &tested).map(drop)).unwrap();
        tested
    });
    &TESTED
}

/// The binary with a plain environment.
pub fn postrun() -> Command {
    let mut command = Command::new(binary());
    command.env_remove("COLUMNS").env_remove("NO_COLOR").env("RUST_BACKTRACE", "0");
    command
}

/// Runs the binary from the top of the workspace.
pub fn run<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Ran {
    Ran::from(postrun().current_dir(root()).args(args).output().unwrap())
}

/// Runs the binary with something on standard input.
pub fn run_with_stdin<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>, input: &[u8]) -> Ran {
    let mut child = postrun()
        .current_dir(root())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // The child may stop reading early; that is its answer, not our failure.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran::from(output)
}

/// The JSON report of a file, which must succeed.
pub fn report(path: &Path, extra: &[&str]) -> Value {
    let ran = run(["report", path.to_str().unwrap(), "--format", "json"].into_iter().chain(extra.iter().copied()));
    assert_eq!(ran.code, 0, "{}: {}", path.display(), ran.stderr);
    ran.json()
}

/// Writes `content` to `name` in a new folder.
pub fn temp_file(name: &str, content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, content).unwrap();
    (dir, path)
}

/// Every leaf of `truth` that `actual` does not have, as one line each.
pub fn differences(truth: &Value, actual: &Value, at: &str, out: &mut Vec<String>) {
    match (truth, actual) {
        (Value::Object(truth), Value::Object(actual)) => {
            for (key, value) in truth {
                let found = actual.get(key).unwrap_or(&Value::Null);
                differences(value, found, &format!("{at}.{key}"), out);
            }
        }
        (Value::Array(truth), Value::Array(actual)) => {
            for (i, value) in truth.iter().enumerate() {
                differences(value, actual.get(i).unwrap_or(&Value::Null), &format!("{at}[{i}]"), out);
            }
        }
        (Value::Number(truth), Value::Number(actual)) => {
            let (t, a) = (truth.as_f64().unwrap(), actual.as_f64().unwrap());
            if (t - a).abs() > TOLERANCE * t.abs().max(TOLERANCE) {
                out.push(format!("{at}: expected {t}, found {a}"));
            }
        }
        (truth, actual) if truth == actual => {}
        (truth, actual) => out.push(format!("{at}: expected {truth}, found {actual}")),
    }
}
