//! Where the time of requests went, on average: by prompt length, and for the slowest.
//!
//! From the server's own records of queue, prefill and decode where at least nine requests in ten have all three; else
//! from the client's times, which know the wait for the first token and what followed. Never a mix of both.

use super::Sources;

/// Share of the requests that must have the server's phases.
const RECORDED: f64 = 0.9;
/// The slowest one in so many, at least one.
const SLOWEST: usize = 100;

/// Mean times.
#[derive(Debug, Clone, PartialEq)]
pub struct Phases {
    /// True: the server's own records; false: as the client saw it.
    pub recorded: bool,
    /// Names of the parts, in the order in which a request goes through them.
    pub parts: &'static [&'static str],
    /// All requests, each bucket, and the slowest.
    pub rows: Vec<PhaseRow>,
}

/// Mean times of some requests.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseRow {
    /// Which requests.
    pub scope: PhaseScope,
    /// How many have all the times.
    pub requests: u64,
    /// Mean time in each part, in nanoseconds.
    pub mean_ns: Vec<f64>,
}

/// Which requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseScope {
    /// All of them.
    All,
    /// Prompts from `lo` to below `hi`.
    Bucket {
        /// Lower edge.
        lo: u32,
        /// Upper edge; `None` for the last.
        hi: Option<u32>,
    },
    /// The slowest hundredth by end-to-end time.
    Slowest,
}

struct Row {
    request: usize,
    total_ns: f64,
    parts: Vec<f64>,
}

pub(super) fn of(from: &Sources<'_>) -> Option<Phases> {
    let r = from.requests;
    let in_scope = from.rows().count();
    let server = ["queue_ms", "prefill_ms", "decode_ms"].map(|id| r.metric(id));
    let recorded = |i: usize| {
        let parts: Option<Vec<f64>> =
            server.iter().map(|column| (*column)?.get(i).copied().filter(|v| v.is_finite())).collect();
        parts.map(|parts| Row { request: i, total_ns: parts.iter().sum(), parts })
    };
    let seen = |i: usize| {
        let (ttft, e2e) = (r.ttft_ns[i]? as f64, r.e2e_ns[i]? as f64);
        Some(Row { request: i, total_ns: e2e, parts: vec![ttft, (e2e - ttft).max(0.0)] })
    };
    let rows: Vec<Row> = from.rows().filter_map(recorded).collect();
    if !rows.is_empty() && rows.len() as f64 >= RECORDED * in_scope as f64 {
        return Some(Phases { recorded: true, parts: &["queue", "prefill", "decode"], rows: summed(rows, from) });
    }
    let rows: Vec<Row> = from.rows().filter_map(seen).collect();
    let parts = &["wait for the first token", "first to last token"];
    (!rows.is_empty()).then(|| Phases { recorded: false, parts, rows: summed(rows, from) })
}

fn summed(mut rows: Vec<Row>, from: &Sources<'_>) -> Vec<PhaseRow> {
    let edges = &from.edges.0;
    let mut out = vec![mean(PhaseScope::All, &rows.iter().collect::<Vec<_>>())];
    for (b, lo) in edges.iter().enumerate().filter(|_| edges.len() > 1) {
        let inside: Vec<&Row> = rows.iter().filter(|row| from.assigned[row.request] == Some(b as u32)).collect();
        out.push(mean(PhaseScope::Bucket { lo: *lo, hi: edges.get(b + 1).copied() }, &inside));
    }
    rows.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns));
    let slowest: Vec<&Row> = rows.iter().take(rows.len().div_ceil(SLOWEST)).collect();
    out.push(mean(PhaseScope::Slowest, &slowest));
    out.retain(|row| row.requests > 0);
    out
}

fn mean(scope: PhaseScope, rows: &[&Row]) -> PhaseRow {
    let parts = rows.first().map_or(0, |row| row.parts.len());
    let of = |k: usize| rows.iter().map(|row| row.parts[k]).sum::<f64>() / rows.len() as f64;
    PhaseRow { scope, requests: rows.len() as u64, mean_ns: (0..parts).map(of).collect() }
}
