//! The files a run leaves behind.

mod log;
mod metrics;
mod result;
mod result_figures;
mod spans;
mod stamp;
mod truth;

use crate::error::Result;
use crate::run::Run;
use crate::scenario::Scenario;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

pub use log::server_log;
pub use metrics::metrics;
pub use result::result;
pub use spans::spans;
pub use truth::truth;

/// Version of the server whose files are imitated.
const VERSION: &str = "0.33.0";

/// Writes `scenario.json`, `result.json`, `server.log`, `metrics.prom`, `truth.json`, and with `with_spans` also
/// `spans.otlp.jsonl`, into a folder that exists.
pub fn folder(run: &Run, folder: &Path, with_spans: bool) -> Result<()> {
    let file = |name: &str| File::create(folder.join(name)).map(BufWriter::new);
    let mut out = file("scenario.json")?;
    writeln!(out, "{}", run.scenario.to_json()?)?;
    out.flush()?;
    result(run, file("result.json")?)?;
    server_log(run, file("server.log")?)?;
    metrics(run, file("metrics.prom")?)?;
    truth(run, file("truth.json")?)?;
    if with_spans {
        spans(run, file("spans.otlp.jsonl")?)?;
    }
    Ok(())
}

/// The server's wall clock at a true time of the run, unix nanoseconds.
fn server_wall_ns(scenario: &Scenario, at_ns: i64) -> i64 {
    let clocks = &scenario.clocks;
    (clocks.start_unix_s * 1e9) as i64 + (clocks.server_ahead_ms * 1e6) as i64 + at_ns
}

/// The client's monotonic clock at a true time of the run, nanoseconds.
fn client_ns(scenario: &Scenario, at_ns: i64) -> i64 {
    (scenario.clocks.client_zero_s * 1e9) as i64 + at_ns
}
