//! What was run: the client, its load, the server's settings, the files, the clocks.

use super::table;
use crate::quantity::{bytes, setting};
use crate::section::{Grid, Section};
use postrun_analysis::RunAnalysis;

pub(super) fn section(a: &RunAnalysis, run: &str) -> String {
    let m = &a.manifest;
    let mut grid = Grid::new(&["", "value"]);
    grid.text_columns = vec![0, 1];
    let mut push = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            grid.push(vec![name.to_string(), value]);
        }
    };
    push(
        "client",
        Some([m.tool.name.as_str(), m.tool.version.as_deref().unwrap_or_default()].join(" ").trim().to_string()),
    );
    push("model", m.model.clone());
    push("backend", m.load.backend.clone());
    push("request rate", m.load.request_rate.map(|r| format!("{} req/s", setting(r))));
    push("request rate", m.load.unbounded.then(|| "unbounded".to_string()));
    push("concurrency limit", m.load.max_concurrency.map(|c| c.to_string()));
    for (key, value) in &m.server {
        push(&format!("server {key}"), Some(value.clone()));
    }
    let clock = a.facts.server.clock.as_ref();
    push("clocks of client and server", clock.map(|c| c.how.clone()));
    for f in &m.sources {
        push(&format!("file {}", f.name), Some(format!("{}, {}, sha256 {}", f.format, bytes(f.bytes), f.sha256)));
    }
    let section = Section { table: Some(grid), ..Section::new("Configuration of the run") };
    table::section(&section, &format!("{run}-configuration"), 2, &|_| None)
}
