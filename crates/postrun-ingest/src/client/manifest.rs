//! A manifest of which only the tool is known.

use postrun_schema::{Clock, ClockKind, Clocks, Counted, Load, Manifest, SCHEMA, TokenSource, Tool};
use std::collections::BTreeMap;

/// For the ingestor to fill in.
pub(crate) fn of_tool(name: &str, version: Option<String>, how_known: &str) -> Manifest {
    Manifest {
        schema: SCHEMA.to_string(),
        label: String::new(),
        tool: Tool { name: name.to_string(), version, how_known: how_known.to_string() },
        model: None,
        server: BTreeMap::new(),
        load: Load::default(),
        duration_ns: None,
        counted: Counted::default(),
        clocks: Clocks {
            client: Clock { kind: ClockKind::None, origin_unix_ns: None, origin_source_ns: None },
            server: None,
        },
        output_tokens_source: TokenSource::Unknown,
        prompt_tokens_source: TokenSource::Unknown,
        sources: Vec::new(),
        issues: Vec::new(),
        tables: BTreeMap::new(),
        not_recorded: Vec::new(),
    }
}

/// The client's clock, which showed `origin` at the first send.
pub(crate) fn clock(kind: ClockKind, origin: Option<i64>) -> Clock {
    match (kind, origin) {
        (_, None) | (ClockKind::None, _) => {
            Clock { kind: ClockKind::None, origin_unix_ns: None, origin_source_ns: None }
        }
        (ClockKind::Wall, Some(at)) => {
            Clock { kind: ClockKind::Wall, origin_unix_ns: Some(at), origin_source_ns: Some(at) }
        }
        (ClockKind::Monotonic, Some(at)) => {
            Clock { kind: ClockKind::Monotonic, origin_unix_ns: None, origin_source_ns: Some(at) }
        }
    }
}
