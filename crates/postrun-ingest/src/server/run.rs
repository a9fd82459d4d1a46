//! Runs without a client: recordings of the server's side alone.

use super::evidence::Evidence;
use super::recording::Located;
use super::rows;
use crate::error::IngestError;
use crate::sink::{Collected, sanitize};
use crate::text::stamp::StampClock;
use postrun_schema::{
    Clock, ClockKind, Clocks, Counted, Issues, Load, Manifest, SCHEMA, ServerClock, Staging, TokenSource, Tool,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One run for each folder of recordings.
pub(crate) fn runs(recordings: Vec<Located>, staging: &mut Staging) -> Result<Vec<Collected>, IngestError> {
    let mut groups: BTreeMap<PathBuf, Vec<Located>> = BTreeMap::new();
    for located in recordings {
        groups.entry(located.group.clone()).or_default().push(located);
    }
    groups.into_values().map(|group| run(group, staging)).collect()
}

fn run(mut group: Vec<Located>, staging: &mut Staging) -> Result<Collected, IngestError> {
    // The clock of a run is that of Unix time where any recording has it.
    group.sort_by_key(|l| l.recording.clock != StampClock::Unix);
    let mut evidence = Evidence::alone();
    for (position, located) in group.iter().enumerate() {
        evidence.weigh(position, &located.recording, true);
    }
    let mut writer = staging.writer()?;
    let mut requests = 0;
    let mut models = Vec::new();
    for (w, clock_origin) in evidence.alone_requests() {
        for r in &w.requests {
            writer.push_request(rows::alone(r, &|at| at.saturating_sub(clock_origin)))?;
            models.extend(r.model.clone());
            requests += 1;
        }
    }
    let first = group.first();
    let label = first.map(|l| l.label.clone()).unwrap_or_default();
    let server = first.and_then(|l| l.recording.server_name.clone());
    let mut manifest = manifest(server);
    manifest.model = models.into_iter().next();
    let run = writer.finish(manifest)?;
    let mut collected = Collected {
        run,
        issues: Issues::default(),
        label: sanitize(&label),
        shape: String::new(),
        requests,
        file: first.map_or(0, |l| l.file),
        group: first.map(|l| l.group.clone()).unwrap_or_default(),
        fingerprint: None,
        part: None,
    };
    rows::write(evidence, &mut collected, &mut group)?;
    Ok(collected)
}

fn manifest(server: Option<String>) -> Manifest {
    let client = Clock { kind: ClockKind::None, origin_unix_ns: None, origin_source_ns: None };
    Manifest {
        schema: SCHEMA.to_string(),
        label: String::new(),
        tool: Tool {
            name: server.map_or("server recording".to_string(), |s| format!("{s} (server recording)")),
            version: None,
            how_known: "files of the server's side alone; no benchmark client".to_string(),
        },
        model: None,
        server: BTreeMap::new(),
        load: Load::default(),
        duration_ns: None,
        duration_from_unix_ns: None,
        counted: Counted::default(),
        clocks: Clocks { client, server: None::<ServerClock> },
        output_tokens_source: TokenSource::Server,
        prompt_tokens_source: TokenSource::Server,
        sources: Vec::new(),
        issues: Vec::new(),
        tables: BTreeMap::new(),
        not_recorded: vec!["anything the client saw: send times, TTFT and token times as received".to_string()],
    }
}
