//! `truth.json`: the causes, and what truly happened. Times are nanoseconds since the start of the benchmark.

use super::result::clock_offset_ns;
use super::{client_ns, server_wall_ns};
use crate::error::Result;
use crate::evidence::consequences;
use crate::run::Run;
use crate::summary::Summary;
use serde::Serialize;
use serde_json::json;
use std::io::Write;

/// Writes the truth.
pub fn truth(run: &Run, mut out: impl Write) -> Result<()> {
    let scenario = &run.scenario;
    let summary = Summary::of(run);
    let head = json!({
        "causes": scenario.causes,
        "consequences": consequences(run, &summary),
        "name": scenario.name,
        "seed": scenario.seed,
        "duration_ns": run.duration_ns,
        "clocks": {
            "client_monotonic_at_start_ns": client_ns(scenario, 0),
            "server_unix_at_start_ns": server_wall_ns(scenario, 0),
            "server_minus_client_ns": clock_offset_ns(scenario),
        },
        "summary": summary,
    });
    let head = serde_json::to_string_pretty(&head)?;
    write!(out, "{}", head.trim_end().trim_end_matches('}').trim_end())?;
    list(&mut out, "preemptions", &run.preemptions)?;
    list(&mut out, "stalls", &run.stalls)?;
    list(&mut out, "requests", &run.requests)?;
    writeln!(out, "\n}}")?;
    out.flush()?;
    Ok(())
}

fn list<T: Serialize>(out: &mut impl Write, key: &str, items: &[T]) -> Result<()> {
    write!(out, ",\n  \"{key}\": [")?;
    for (i, item) in items.iter().enumerate() {
        write!(out, "{}\n    ", if i > 0 { "," } else { "" })?;
        serde_json::to_writer(&mut *out, item)?;
    }
    write!(out, "{}]", if items.is_empty() { "" } else { "\n  " })?;
    Ok(())
}
