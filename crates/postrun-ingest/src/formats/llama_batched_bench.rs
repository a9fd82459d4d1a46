//! llama-batched-bench results: prompts and tokens of several sequences decoded together, one line a point.
//!
//! # Which files
//! What `llama-batched-bench --output-format jsonl` prints, one object a line, each of which becomes a run
//! (`pp128+tg64-c8`). Recognised by `pp`, `tg`, `pl`, `t_pp` and `t_tg`. The table is not read, nor is llama-sweep-bench.
//!
//! # Versions seen
//! Members of several builds by their sources; no real file was at hand.
//!
//! # How the figures are read
//! - `pl` sequences of `pp` prompt and `tg` output tokens: first all prompts (`t_pp`), then all tokens together (`t_tg`).
//!   The run takes both. With `is_pp_shared` one prompt serves all sequences.
//! - `speed_pp` and `speed_tg` are rates over their own half, not over the run: kept under their own names. `speed` is all
//!   tokens over the whole time; older builds divide the cache's entries, which is the same.
//!
//! # What is not recorded
//! Anything about single sequences, the model, times of day. Samples are not repeated, so there is no spread.

use crate::bench::facts::load_shape;
use crate::bench::reported::named;
use crate::client::distribution::figure;
use crate::client::file;
use crate::client::manifest::of_tool;
use crate::client::value::Judge;
use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::RecordError;
use crate::json::{Tree, shorten};
use crate::sink::{Fingerprint, FinishedRun, RunSink};
use postrun_schema::{Doc, Issues, TokenSource};

pub(super) static LLAMA_BATCHED_BENCH: Ingestor = Ingestor {
    id: "llama_batched_bench",
    title: "llama-batched-bench results",
    doc: Doc::from_source(include_str!("llama_batched_bench.rs")),
    sniff,
    reads: Reads::Runs(ingest),
};

fn sniff(head: &Head) -> Sniff {
    match head.has_all(&["pp", "tg", "pl", "t_pp", "t_tg"]) {
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut RunSink<'_>) -> Result<(), IngestError> {
    let record = |(): &mut (), reader: &mut file::Reader<'_>, sink: &mut RunSink<'_>, place: &dyn Fn() -> String| {
        let point = reader.tree(64)?;
        commit(&point, sink, place)
    };
    file::read(source, sink, LLAMA_BATCHED_BENCH.id, (), record, |(), _, _| Ok(()))
}

/// Settings that stand beside the figures.
const SETTINGS: &[&str] =
    &["n_kv_max", "n_batch", "n_ubatch", "flash_attn", "is_pp_shared", "n_gpu_layers", "n_threads", "n_threads_batch"];

fn commit(point: &Tree, sink: &mut RunSink<'_>, place: &dyn Fn() -> String) -> Result<(), RecordError> {
    let count = |key: &str| point.get(key).count();
    let (Some(prompt), Some(output), Some(sequences)) = (count("pp"), count("tg"), count("pl")) else {
        return Err(RecordError::NotARun("a point without pp, tg and pl".to_string()));
    };
    let mut issues = Issues::default();
    let judge = &mut Judge { issues: &mut issues, place };
    let duration_ns = ["t_pp", "t_tg"].map(|key| judge.duration(key, point.get(key), 1));
    let mut writer = sink.writer().map_err(RecordError::Fatal)?;
    for (key, name, scale) in [
        ("t_pp", named("prefill_ms", "ms", "same"), 1e3),
        ("t_tg", named("decode_ms", "ms", "same"), 1e3),
        ("t", named("duration_s", "s", "same"), 1.0),
        ("speed_pp", named("", "tok/s", "same"), 1.0),
        ("speed_tg", named("", "tok/s", "same"), 1.0),
        ("speed", named("total_tokens_per_s", "tok/s", "same"), 1.0),
    ] {
        figure(&name, "value", key, point.get(key), scale).into_iter().for_each(|row| writer.push_reported(row));
    }
    let mut manifest = of_tool("llama-batched-bench", None, "by the members of its results");
    let shared = match point.get("is_pp_shared") {
        Tree::Bool(shared) => *shared,
        other => other.count().is_some_and(|n| n > 0),
    };
    let prompts = if shared { 1 } else { u64::from(sequences) };
    manifest.duration_ns = duration_ns[0].zip(duration_ns[1]).map(|(a, b)| a.saturating_add(b)).filter(|ns| *ns > 0);
    manifest.counted.completed = Some(u64::from(sequences));
    manifest.counted.prompt_tokens = Some(prompts.saturating_mul(u64::from(prompt)));
    manifest.counted.output_tokens = Some(u64::from(sequences).saturating_mul(u64::from(output)));
    manifest.load.max_concurrency = Some(sequences).filter(|n| *n > 0);
    manifest.load.unbounded = true;
    for key in SETTINGS {
        let shown = match point.get(key) {
            Tree::Number(text) | Tree::Text(text) => text.clone(),
            Tree::Bool(on) => on.to_string(),
            _ => continue,
        };
        manifest.load.other.insert((*key).to_string(), shorten(shown, 60));
    }
    manifest.prompt_tokens_source = TokenSource::Requested;
    manifest.output_tokens_source = TokenSource::Server;
    let absent = ["anything about single sequences: a summary only", "the model", "times of day"];
    manifest.not_recorded = absent.map(String::from).to_vec();
    let shape = format!("pp{prompt}+tg{output}-{}", load_shape(&manifest.load, None));
    let fingerprint = Some(Fingerprint { values: format!("llama_batched_bench {point:?}"), requests: None });
    let finished = FinishedRun { manifest, issues, requests: 0, label: None, shape, fingerprint, part: None };
    sink.commit(writer, finished).map_err(RecordError::Fatal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::run_test::{mutate_at_random, read};
    use postrun_schema::IssueCode;

    const LINES: &[u8] = include_bytes!("../../../../fixtures/llama_batched_bench/two_points/input/batched.jsonl");

    #[test]
    fn a_point_is_a_run() {
        let runs = read(&LLAMA_BATCHED_BENCH, "batched.jsonl", LINES).unwrap();
        let labels: Vec<&str> = runs.iter().map(|r| r.manifest.label.as_str()).collect();
        assert_eq!(labels, ["batched-pp128+tg64-c1", "batched-pp128+tg64-c8"]);
        let counted = &runs[1].manifest.counted;
        assert_eq!((counted.prompt_tokens, counted.output_tokens, counted.completed), (Some(128), Some(512), Some(8)));
        assert_eq!(runs[0].manifest.duration_ns, Some(1_600_000_000));
        assert_eq!((runs[0].figure("prefill_ms value"), runs[0].figure("speed_tg value")), (100.0, 42.666667));
        let odd = br#"{"pp":1,"tg":1,"pl":1,"t_pp":-1,"t_tg":0.1}"#;
        let runs = read(&LLAMA_BATCHED_BENCH, "odd.jsonl", odd).unwrap();
        assert_eq!((runs[0].issue(IssueCode::NegativeDuration), runs[0].manifest.duration_ns), (1, None));
    }

    #[test]
    fn damage_is_no_crash() {
        mutate_at_random(&LLAMA_BATCHED_BENCH, "hurt.jsonl", LINES, 150);
        for cut in 1..LINES.len() {
            let found = read(&LLAMA_BATCHED_BENCH, "cut.jsonl", &LINES[..cut]).map_or(0, |runs| runs.len());
            assert!(found <= 2, "cut at {cut}");
        }
        assert!(read(&LLAMA_BATCHED_BENCH, "none.jsonl", b"{\"pp\":1}").is_err());
    }
}
