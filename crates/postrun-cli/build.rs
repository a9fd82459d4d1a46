//! Hands the commit that is built to `--version`. A build outside of a repository has none.

use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_string()).filter(|text| !text.is_empty())
}

fn main() {
    // Another commit, or another branch, writes this file; without it every build would look.
    match git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        Some(log) => println!("cargo::rerun-if-changed={log}"),
        None => println!("cargo::rerun-if-changed=build.rs"),
    }
    let commit = git(&["log", "-1", "--format=%h %cs"]).map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo::rustc-env=POSTRUN_COMMIT={commit}");
}
