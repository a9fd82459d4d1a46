//! Pairs of simulated runs with the server's side, made as a test needs them.

use crate::support::run;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Simulates a run of `requests` whose KV cache has so many blocks; the same seed asks for the same requests.
pub fn storm(dir: &Path, name: &str, (requests, blocks, seed): (u64, u64, u64)) -> PathBuf {
    let mut scenario: Value =
        serde_json::from_str(&run(["simulate", "frequent_preemption-t1", "--print"]).stdout).unwrap();
    scenario["name"] = json!(name);
    scenario["load"]["requests"] = json!(requests);
    scenario["kv"]["num_blocks"] = json!(blocks);
    scenario["seed"] = json!(seed);
    let file = dir.join(format!("{name}.json"));
    std::fs::write(&file, scenario.to_string()).unwrap();
    let folder = dir.join(name);
    let ran = run(["simulate", file.to_str().unwrap(), "-o", folder.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    folder
}

/// A run with too little KV cache, and the same requests with room enough.
pub fn tight_and_room(dir: &Path) -> [String; 2] {
    let pair = [storm(dir, "tight", (120, 240, 5)), storm(dir, "room", (120, 420, 5))];
    pair.map(|p| p.to_str().unwrap().to_string())
}
