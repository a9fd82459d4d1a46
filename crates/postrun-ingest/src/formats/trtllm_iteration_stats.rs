//! Iteration stats of TensorRT-LLM: what the engine did in each step.
//!
//! # Which files
//! The file of `trtllm-bench --iteration_log` (one Python dict a line) and saved answers of the server's `GET /metrics`
//! (a JSON array, or several behind one another, indented or not), also one JSON object a line. Recognised by
//! `iterLatencyMS`. The Prometheus text of `/prometheus/metrics` is another format.
//!
//! # Versions seen
//! Keys of 1.0, from descriptions and single printed records.
//!
//! # How the figures are read
//! - `timestamp` is local time without a zone, `07-25-2025 16:54:34.140189` (month first) or year first. A record
//!   without one is left out.
//! - Running is `numActiveRequests`, waiting `numQueuedRequests`, the step's duration `iterLatencyMS`, its prompt
//!   tokens `numCtxTokens`, its requests `numScheduledRequests`. Share, tokens and capacity of the KV cache are blocks
//!   used, blocks used and blocks in all, the last two times `tokensPerBlock`. Everything else is stored under its own
//!   name, the path joined by dots.
//! - With attention data parallelism each rank writes a record of the same iteration (label `dp`); memory and durations
//!   are taken from rank 0 alone, because they are the same thing seen several times.
//! - `numPausedRequests` is a level, stored as it is. Only `requestStats` tells which request was paused: a request
//!   that is paused and was not in the record before is one preemption, an event and one more in `preemptions_total`.
//! - `max_num_seqs` is the batch size that the runtime uses (`maxBatchSizeRuntime`, else `maxBatchSizeStatic`), where
//!   it is not 0.
//! - The same iteration of the same rank twice is counted once; an iteration number that falls back is a restart.
//!
//! # What is not recorded
//! Single requests and their times. The server hands out each record once: two scrapers share them between them, so
//! iterations may be missing, and the last ones may be lost when it shuts down. Which number stands behind
//! `newActiveRequestsQueueLatencyMS` (a sum or a mean) is not known.

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::Tree;
use crate::json::records::RecordError;
use crate::server::json_records;
use crate::server::recording::{ServerEvent, ServerSink};
use crate::text::lines::Lines;
use crate::text::python;
use crate::text::stamp::{CivilStamp, LogClock, StampClock};
use postrun_schema::{Doc, EventKind, IssueCode, find_series, label_text};
use std::collections::{BTreeMap, BTreeSet};

pub(super) static TRTLLM_ITERATION_STATS: Ingestor = Ingestor {
    id: "trtllm_iteration_stats",
    title: "TensorRT-LLM iteration stats",
    doc: Doc::from_source(include_str!("trtllm_iteration_stats.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

fn sniff(head: &Head) -> Sniff {
    let printed = memchr::memmem::find(head.bytes, b"'iterLatencyMS': ").is_some() && head.keys.is_empty();
    match printed || head.has_all(&["iterLatencyMS", "iter"]) {
        // A page about such records opens with a heading.
        true if head.bytes.starts_with(b"# ") => Sniff::Weak,
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

const TEXT_BYTES: usize = 256;
const MINUTE_NS: i64 = 60_000_000_000;

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    sink.clock(StampClock::Local, 1000);
    sink.server("TensorRT-LLM", None);
    let mut stats = Stats::default();
    let json = is_json(&source.head);
    if json { read_json(source, sink, &mut stats) } else { read_lines(source, sink, &mut stats) }
}

/// JSON opens with `{"`, `[{"` or `[]`; Python's print and a logger's `[prefix]` do not.
fn is_json(head: &[u8]) -> bool {
    let mut marks = head.iter().filter(|b| !b.is_ascii_whitespace());
    match (marks.next(), marks.next(), marks.next()) {
        (Some(b'{'), second, _) => second == Some(&b'"'),
        (Some(b'['), Some(b'{'), third) => third == Some(&b'"'),
        (Some(b'['), second, _) => second == Some(&b']'),
        _ => false,
    }
}

fn read_json(source: &mut Source, sink: &mut ServerSink, stats: &mut Stats) -> Result<(), IngestError> {
    json_records::read(source, sink, |reader, sink| {
        let (line, at) = (reader.line(), reader.offset());
        let record = reader.tree(TEXT_BYTES)?;
        let place = || format!("line {line}, byte {at}");
        match is_iteration(&record) {
            true => stats.take(sink, &record, &place).map_err(RecordError::Fatal),
            false => Err(RecordError::NotARun("a record without iterLatencyMS".to_string())),
        }
    })
}

fn read_lines(source: &mut Source, sink: &mut ServerSink, stats: &mut Stats) -> Result<(), IngestError> {
    let io = IngestError::io(&source.name);
    let mut lines = Lines::new(source.take_reader());
    while let Some(line) = lines.next().map_err(&io)? {
        let place = || line.place();
        // A logger may have put its prefix in front.
        let open = line.text.find('{').map(|at| if line.text[..at].ends_with('[') { at - 1 } else { at });
        let Some(open) = open.filter(|_| line.text.contains("iterLatencyMS")) else { continue };
        let Some((parsed, _)) = python::parse(line.text.get(open..).unwrap_or_default()) else {
            let cut = line.unfinished;
            let code = if cut { IssueCode::TruncatedRecord } else { IssueCode::BadRecord };
            sink.skip(code, place, || "an iteration that does not parse".to_string());
            continue;
        };
        let records =
            if let Tree::List(records) = &parsed { records.as_slice() } else { std::slice::from_ref(&parsed) };
        for record in records {
            match is_iteration(record) {
                true => stats.take(sink, record, &place)?,
                false => sink.skip(IssueCode::NotARun, place, || "a record without iterLatencyMS".to_string()),
            }
        }
    }
    Ok(())
}

fn is_iteration(record: &Tree) -> bool {
    *record.get("iterLatencyMS") != Tree::Null
}

/// What one rank wrote before.
#[derive(Default)]
struct Rank {
    iteration: Option<i64>,
    paused: BTreeSet<String>,
    preemptions: u64,
}

#[derive(Default)]
struct Stats {
    clock: LogClock,
    last_ns: Option<i64>,
    ranks: BTreeMap<String, Rank>,
}

impl Stats {
    fn take(&mut self, sink: &mut ServerSink, record: &Tree, place: &dyn Fn() -> String) -> Result<(), IngestError> {
        let Some(at_ns) = record.get("timestamp").text().and_then(|text| self.time(text)) else {
            sink.skip(IssueCode::NoSampleTime, place, || "an iteration without a time stamp".to_string());
            return Ok(());
        };
        if self.last_ns.is_some_and(|last| last.saturating_sub(at_ns) > MINUTE_NS) {
            sink.issue(IssueCode::UnorderedTimes, place, || "a stamp before that of the record above".to_string());
        }
        self.last_ns = Some(at_ns);
        let dp = record.get("attentionDpRank").integer().map(|n| n.to_string()).unwrap_or_default();
        let rank = self.ranks.entry(dp.clone()).or_default();
        let iteration = record.get("iter").integer();
        if let (Some(now), Some(before)) = (iteration, rank.iteration) {
            if now == before {
                sink.issue(IssueCode::DuplicateSample, place, || format!("iteration {now} once more"));
                return Ok(());
            }
            if now < before {
                sink.issue(IssueCode::ServerRestarted, place, || format!("iteration {now} after {before}"));
                rank.paused.clear();
            }
        }
        rank.iteration = iteration.or(rank.iteration);
        let labels = label_text([("dp", dp.as_str())].into_iter().filter(|(_, value)| !value.is_empty()));
        let labels = labels.as_deref();
        if let Tree::List(requests) = record.get("requestStats") {
            let count = rank.pauses(sink, requests, at_ns);
            sink.sample(at_ns, "preemptions_total", labels, count as f64)?;
        }
        let first_rank = matches!(dp.as_str(), "" | "0");
        for (series, value) in values(record) {
            if find_series(&series).is_some_and(|known| !known.admits(value)) {
                sink.out_of_range(&series, value, place);
            } else if first_rank || !of_the_whole(&series) {
                sink.sample(at_ns, &series, labels, value)?;
            }
        }
        facts(sink, record);
        Ok(())
    }

    fn time(&mut self, text: &str) -> Option<i64> {
        let stamp = CivilStamp::parse(text).or_else(|| {
            let (date, time) = text.split_once(' ')?;
            let mut parts = date.split(['-', '/']);
            let (month, day, year) = (parts.next()?, parts.next()?, parts.next()?);
            let text = format!("{year}-{month}-{day} {time}");
            CivilStamp::parse(&text).map(|(stamp, rest)| (stamp, if rest.is_empty() { "" } else { " " }))
        });
        let (stamp, _) = stamp.filter(|(stamp, rest)| stamp.year.is_some() && rest.is_empty())?;
        Some(self.clock.at_ns(&stamp))
    }
}

impl Rank {
    /// Counts the requests that are paused now and were not in the record before.
    fn pauses(&mut self, sink: &mut ServerSink, requests: &[Tree], at_ns: i64) -> u64 {
        let id = |request: &Tree| {
            let paused = request.get("paused");
            let (Tree::Number(id) | Tree::Text(id)) = request.get("id") else { return None };
            (*paused == Tree::Bool(true) || paused.integer() == Some(1)).then(|| id.clone())
        };
        let paused: BTreeSet<String> = requests.iter().filter_map(id).collect();
        for id in paused.difference(&self.paused) {
            self.preemptions += 1;
            sink.event(ServerEvent {
                at_ns,
                request_id: Some(id.clone()),
                kind: EventKind::Preempted,
                phase: None,
                detail: Some("paused".to_string()),
            });
        }
        self.paused = paused;
        self.preemptions
    }
}

/// The same device and the same step, whichever rank says so.
fn of_the_whole(series: &str) -> bool {
    series == "gpu_memory_used_bytes"
        || series.ends_with("MemUsage")
        || series.ends_with("ms")
        || series.ends_with("MS")
}

/// Values that are settings or names, not levels.
const NO_SERIES: &[&str] = &["timestamp", "iter", "requestStats", "attentionDpRank", "rank"];

/// All numbers of a record by series; canonical where the quantity is one of ours.
fn values(record: &Tree) -> Vec<(String, f64)> {
    let mut out = Vec::with_capacity(48);
    for (key, value) in record.members().iter().filter(|(key, _)| !NO_SERIES.contains(&key.as_str())) {
        numbers(key, value, 0, &mut out);
    }
    let cache = record.get("kvCacheStats");
    let blocks = |key: &str| cache.get(key).number().filter(|n| *n >= 0.0);
    if let (Some(used), Some(all)) = (blocks("usedNumBlocks"), blocks("maxNumBlocks").filter(|n| *n > 0.0)) {
        out.push(("kv_cache_usage".to_string(), used / all));
        if let Some(tokens) = blocks("tokensPerBlock") {
            out.push(("kv_cache_used_tokens".to_string(), used * tokens));
            out.push(("kv_cache_capacity_tokens".to_string(), all * tokens));
        }
    }
    out
}

/// Nesting that is stored; deeper values are none of the server's.
const DEEPEST: usize = 3;

fn numbers(path: &str, value: &Tree, depth: usize, out: &mut Vec<(String, f64)>) {
    if let Tree::Map(members) = value {
        for (key, inner) in members.iter().filter(|_| depth < DEEPEST) {
            numbers(&format!("{path}.{key}"), inner, depth + 1, out);
        }
    } else if let (Tree::Number(_), Some(number)) = (value, value.number()) {
        out.push((canonical(path).map_or_else(|| path.to_string(), String::from), number));
    }
}

fn canonical(path: &str) -> Option<&'static str> {
    Some(match path {
        "numActiveRequests" => "running",
        "numQueuedRequests" => "waiting",
        "iterLatencyMS" => "iteration_ms",
        "gpuMemUsage" => "gpu_memory_used_bytes",
        "kvCacheStats.cacheHitRate" => "prefix_cache_hit_rate",
        "inflightBatchingStats.numCtxTokens" => "batch_prompt_tokens",
        "inflightBatchingStats.numScheduledRequests" => "batch_requests",
        "specDecodingStats.acceptanceLength" => "spec_decode_acceptance_length",
        _ => return None,
    })
}

fn facts(sink: &mut ServerSink, record: &Tree) {
    let cache = record.get("kvCacheStats");
    let above_zero = |tree: &Tree| tree.integer().filter(|n| *n > 0);
    let (blocks, size) = (above_zero(cache.get("maxNumBlocks")), above_zero(cache.get("tokensPerBlock")));
    let either = |first: &str, second: &str| above_zero(record.get(first)).or(above_zero(record.get(second)));
    let found = [
        ("num_gpu_blocks", blocks),
        ("block_size", size),
        ("kv_cache_capacity_tokens", blocks.zip(size).and_then(|(blocks, size)| blocks.checked_mul(size))),
        ("max_num_seqs", either("maxBatchSizeRuntime", "maxBatchSizeStatic")),
        ("max_num_batched_tokens", either("maxNumTokensRuntime", "maxNumTokensStatic")),
        ("max_num_active_requests", above_zero(record.get("maxNumActiveRequests"))),
    ];
    for (key, value) in found {
        if let Some(value) = value {
            sink.fact(key, value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::damage_test::{cut_everywhere, mutate_everywhere};
    use crate::formats::reading_test::{read, samples, sniff};

    const PRINTED: &[u8] =
        include_bytes!("../../../../fixtures/trtllm_iteration_stats/paused/input/iteration_log.jsonl");
    const SCRAPED: &[u8] = include_bytes!("../../../../fixtures/trtllm_iteration_stats/paused/input/metrics.json");

    #[test]
    fn fewer_than_no_requests_are_none() {
        let text =
            String::from_utf8_lossy(SCRAPED).replacen("\"numActiveRequests\": 1", "\"numActiveRequests\": -5", 1);
        let (mut recording, _dir) = read(&TRTLLM_ITERATION_STATS, "m.json", text.as_bytes()).unwrap();
        assert_eq!(recording.issues.count(IssueCode::OutOfRange), 1);
        assert!(samples(&mut recording).iter().all(|s| s.1 != "running" || s.3 >= 0.0));
    }

    #[test]
    fn printed_dicts() {
        assert_eq!(sniff(&TRTLLM_ITERATION_STATS, "i.jsonl", PRINTED), Sniff::Strong);
        assert_eq!(sniff(&TRTLLM_ITERATION_STATS, "notes.md", b"# Notes\n{'iterLatencyMS': 1}"), Sniff::Weak);
        assert_eq!(sniff(&TRTLLM_ITERATION_STATS, "m.json", br#"[{"iter": 1, "duration": 2}]"#), Sniff::No);
        let (mut recording, _dir) = read(&TRTLLM_ITERATION_STATS, "i.jsonl", PRINTED).unwrap();
        let all = samples(&mut recording);
        let of = |series: &str| {
            let values = all.iter().filter(|s| s.1 == series).map(|s| (s.0 - 1_767_323_045_000_000_000, s.3));
            values.collect::<Vec<_>>()
        };
        assert_eq!(of("running"), [(500_000_000, 2.0), (508_500_000, 3.0), (517_000_000, 3.0)]);
        assert_eq!((of("waiting")[1].1, of("iteration_ms")[0].1), (4.0, 8.5));
        assert_eq!((of("kv_cache_usage")[1].1, of("kv_cache_used_tokens")[1].1), (0.95, 3040.0));
        assert_eq!((of("gpu_memory_used_bytes")[0].1, of("batch_prompt_tokens")[0].1), (1000.0, 64.0));
        assert_eq!(
            of("inflightBatchingStats.numPausedRequests").iter().map(|v| v.1).collect::<Vec<_>>(),
            [0.0, 1.0, 1.0]
        );
        // Request 7 is paused in two records: one preemption.
        assert_eq!(of("preemptions_total").iter().map(|v| v.1).collect::<Vec<_>>(), [0.0, 1.0, 1.0]);
        assert_eq!(recording.events.len(), 1);
        assert_eq!(recording.events[0].request_id.as_deref(), Some("7"));
        let fact = |key: &str| recording.facts.get(key).map(String::as_str);
        assert_eq!((fact("kv_cache_capacity_tokens"), fact("block_size")), (Some("3200"), Some("32")));
        assert_eq!((fact("max_num_seqs"), fact("num_gpu_blocks")), (Some("4"), Some("100")));
        let count = |code| recording.issues.count(code);
        assert_eq!((count(IssueCode::DuplicateSample), count(IssueCode::NoSampleTime)), (1, 1));
        assert_eq!((count(IssueCode::TruncatedRecord), recording.skipped), (1, 2));
    }

    #[test]
    fn answers_of_the_metrics_route() {
        assert_eq!(sniff(&TRTLLM_ITERATION_STATS, "metrics.json", SCRAPED), Sniff::Strong);
        let (mut recording, _dir) = read(&TRTLLM_ITERATION_STATS, "metrics.json", SCRAPED).unwrap();
        let all = samples(&mut recording);
        let labelled: Vec<_> = all.iter().filter(|s| s.1 == "running").map(|s| (s.2.as_deref(), s.3)).collect();
        assert_eq!(labelled, [(Some("dp=0"), 1.0), (Some("dp=1"), 2.0), (Some("dp=0"), 0.0)]);
        // Memory of rank 1 is the same memory.
        assert_eq!(all.iter().filter(|s| s.1 == "gpu_memory_used_bytes").count(), 2);
        assert_eq!(recording.issues.count(IssueCode::ServerRestarted), 1);
    }

    #[test]
    fn damage() {
        cut_everywhere(&TRTLLM_ITERATION_STATS, "i.jsonl", PRINTED, true);
        cut_everywhere(&TRTLLM_ITERATION_STATS, "m.json", SCRAPED, true);
        mutate_everywhere(&TRTLLM_ITERATION_STATS, "i.jsonl", PRINTED);
        mutate_everywhere(&TRTLLM_ITERATION_STATS, "m.json", SCRAPED);
    }
}
