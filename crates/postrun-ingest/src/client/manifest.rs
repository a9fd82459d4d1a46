//! A manifest of which only the tool is known.

use crate::json::{Tree, shorten};
use postrun_schema::{Clock, ClockKind, Clocks, Counted, Load, Manifest, SCHEMA, TokenSource, Tool};
use std::collections::BTreeMap;

const KEPT_SETTING_BYTES: usize = 200;

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
        duration_from_unix_ns: None,
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

/// Texts and numbers of an object as settings of the load, without those in `but`.
pub(crate) fn settings(load: &mut Load, members: &[(String, Tree)], but: &[&str]) {
    for (key, value) in members.iter().filter(|(key, _)| !but.contains(&key.as_str())) {
        let text = match value {
            Tree::Text(text) if !text.is_empty() => text.clone(),
            Tree::Number(text) => text.clone(),
            Tree::Bool(yes) => yes.to_string(),
            _ => continue,
        };
        load.other.insert(key.clone(), shorten(text, KEPT_SETTING_BYTES));
    }
}

/// Facts that are not in a recording, as texts.
pub(crate) fn facts(list: &[&str]) -> Vec<String> {
    list.iter().map(|fact| (*fact).to_string()).collect()
}

/// A stopwatch's reading that can be a run's: a microsecond to 31 years.
pub(crate) fn duration_ns(seconds: f64) -> Option<i64> {
    (1e-6..1e9).contains(&seconds).then(|| (seconds * 1e9).round() as i64)
}

/// A count of requests or tokens of a whole run.
pub(crate) fn total(value: &Tree) -> Option<u64> {
    value.integer().and_then(|n| u64::try_from(n).ok())
}
