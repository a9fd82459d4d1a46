//! Python with packages, for tests in which other tools judge.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Environments that were asked for in this run of the tests; `None`: could not be had.
static ASKED: Mutex<BTreeMap<String, Option<PathBuf>>> = Mutex::new(BTreeMap::new());

/// The interpreter of an environment that has `requirements` (lines as pip takes them), made where it is not there yet.
/// `None` where Python or a package cannot be had, which is said aloud and is a failure in CI.
pub fn python(name: &str, requirements: &str) -> Option<PathBuf> {
    // One at a time: tests that share an environment must not make it twice.
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = asked.entry(name.to_string()).or_insert_with(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python-{name}"));
        made(&dir, requirements).map_err(|e| eprintln!("SKIPPED: no Python with {name}: {e}")).ok()
    });
    assert!(found.is_some() || std::env::var_os("CI").is_none(), "CI must have Python with {name}");
    found.clone()
}

/// The interpreter in `dir`, whose last file is written when all else is there.
fn made(dir: &Path, requirements: &str) -> Result<PathBuf, String> {
    let (binary, complete) = (dir.join("bin/python"), dir.join("complete.txt"));
    if std::fs::read_to_string(&complete).is_ok_and(|has| has == requirements) {
        return Ok(binary);
    }
    let succeeds = |command: &mut Command| {
        let output = command.output().map_err(|e| format!("{e}"))?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(()) } else { Err(stderr.trim().to_string()) }
    };
    succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(dir))?;
    let list = dir.join("requirements.txt");
    std::fs::write(&list, requirements).map_err(|e| e.to_string())?;
    succeeds(Command::new(&binary).args(["-m", "pip", "install", "-q", "-r"]).arg(&list))?;
    std::fs::write(&complete, requirements).map_err(|e| e.to_string())?;
    Ok(binary)
}
