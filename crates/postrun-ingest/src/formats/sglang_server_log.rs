//! The log of an SGLang server: batches, retractions, settings, and requests where they were logged.
//!
//! # Which files
//! Standard output and error of `sglang.launch_server` or `sglang serve`, also behind the prefix of Ray, a container
//! runtime or a progress bar, coloured or not. Recognised by `server_args=ServerArgs(`, by batch lines, or by lines
//! about requests. Request lines are written with `--log-requests` (text or JSON) and
//! `--enable-request-time-stats-logging`.
//!
//! # Versions seen
//! A real log of the 0.5.12 series; spellings of 0.4.6 to 0.5.23 from descriptions and single lines: `Prefill batch. `
//! with a period, with and without the number of the step, ranks `DP TP EP PP ATTN_CP`, stamps to the second or the
//! millisecond.
//!
//! # How the figures are read
//! - Stamps are local time without a zone. Lines of one second are spread evenly over it, in their order, separately
//!   for each writer. Where a line about a request gives Unix time too, the zone is inferred from it (fact
//!   `utc_offset_s`).
//! - `#queue-req` is waiting, `token usage` the share of the KV cache, `#token` its tokens, `#new-token` the prompt
//!   tokens computed in the batch, `gen throughput` and `input throughput` the token rates. Running is `#running-req`,
//!   in prefill lines plus `#new-seq`, which it does not hold yet. Where the model has several pools, the share is
//!   that of the fullest. Everything else keeps its name: `#cached-token` is the series `cached_token`.
//! - A prefill line stands for one batch; a long prompt in several chunks gives several. A decode line comes every
//!   `decode_log_interval` steps and its rate is taken over the time since the last one, pauses included; an idle
//!   server prints nothing.
//! - Series carry the data-parallel rank as label `dp`, and the process where a prefix names it (`pid`). Where several
//!   ranks report the same batches, the first to report counts.
//! - Retraction is preemption: each line is one event, and `preemptions_total` adds up its requests, from 0 at the
//!   first batch. `Testing retraction` is a debug mode and is passed over.
//! - `queue_duration` is the queue time; `forward_duration`, from the first forward pass to the end, is the inference
//!   time (the prefill of a prefill server, the decode of a decode server). The older `start_time` is a clock of its
//!   own and is not read. Several lines about one request id are one request. What `meta_info` means stands under
//!   `sglang_request_metrics`.
//! - `max_total_num_tokens` is the capacity of the KV cache, of one data-parallel rank; `max_running_requests` becomes
//!   `max_num_seqs`, `context_len` `max_model_len`, `page_size` `block_size`.
//!
//! # What is not recorded
//! Times of tokens; which request was retracted; with default options, anything about single requests.

mod groups;
mod lines;
mod requests;
mod settings;
mod spread;

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::server::recording::{ServerEvent, ServerSink};
use crate::text::lines::{Line, Lines};
use crate::text::stamp::{LogClock, StampClock};
use groups::Groups;
use lines::{Report, Stamped, report, stamped};
use postrun_schema::{Doc, EventKind, IssueCode};
use requests::{RequestLines, about};
use settings::{Setting, Settled, setting};

pub(super) static SGLANG_SERVER_LOG: Ingestor = Ingestor {
    id: "sglang_server_log",
    title: "SGLang server log",
    doc: Doc::from_source(include_str!("sglang_server_log.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

fn sniff(head: &Head) -> Sniff {
    if !head.keys.is_empty() {
        return Sniff::No;
    }
    let text = String::from_utf8_lossy(head.bytes);
    let ours = |line: &str| {
        let message = stamped(line).map_or(line, |s| s.message);
        let batch = report(message).is_some_and(|(_, rest)| rest.contains('#'));
        batch
            || about(message).is_some()
            || matches!(setting(message), Some(Setting::Arguments(text)) if text.starts_with("ServerArgs("))
    };
    match text.lines().any(ours) {
        // A page about such logs opens with a heading.
        true if text.starts_with("# ") => Sniff::Weak,
        true => Sniff::Strong,
        false => Sniff::No,
    }
}

const SECOND_NS: i64 = 1_000_000_000;
const MINUTE_NS: i64 = 60 * SECOND_NS;

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    let io = IngestError::io(&source.name);
    let mut lines = Lines::new(source.take_reader());
    let mut log = Log::default();
    while let Some(line) = lines.next().map_err(&io)? {
        log.take(sink, &line)?;
    }
    log.close(sink)
}

#[derive(Default)]
struct Log {
    clock: LogClock,
    groups: Groups,
    requests: RequestLines,
    last_ns: Option<i64>,
    any_coarse: bool,
    any_fine: bool,
    /// When the settings were printed by a server that is not ready yet.
    starting_ns: Option<i64>,
    starts: u64,
    settled: Settled,
}

impl Log {
    fn take(&mut self, sink: &mut ServerSink, line: &Line<'_>) -> Result<(), IngestError> {
        let place = || line.place();
        if line.shortened {
            sink.issue(IssueCode::LongLine, place, || "a line of the log".to_string());
        }
        let found = stamped(&line.text);
        let message = found.as_ref().map_or(line.text.trim(), |s| s.message);
        let request = about(message);
        let known = request.is_some() || report(message).is_some() || setting(message).is_some();
        if !known {
            return Ok(());
        }
        if line.unfinished {
            sink.skip(IssueCode::TruncatedRecord, place, || "the last line has no end".to_string());
            return Ok(());
        }
        if message.contains(char::REPLACEMENT_CHARACTER) {
            sink.issue(IssueCode::NotUtf8, place, || "a line of the log".to_string());
        }
        let at_ns = found.as_ref().map(|s| self.time(sink, s, &place));
        if let Some(request) = request {
            self.requests.take(sink, &place, request, at_ns.or(self.last_ns));
            return Ok(());
        }
        match (found, at_ns) {
            (Some(found), Some(at_ns)) => self.stamped(sink, &found, at_ns, &place),
            _ => {
                sink.skip(IssueCode::NoSampleTime, place, || "a line without SGLang's stamp".to_string());
                Ok(())
            }
        }
    }

    fn time(&mut self, sink: &mut ServerSink, found: &Stamped<'_>, place: &dyn Fn() -> String) -> i64 {
        let steps = self.clock.hour_steps;
        let at_ns = self.clock.at_ns(&found.stamp);
        if self.clock.hour_steps > steps {
            sink.issue(IssueCode::ClockStep, place, || "the stamps fall back by an hour".to_string());
        }
        if self.last_ns.is_some_and(|last| last.saturating_sub(at_ns) > MINUTE_NS) {
            sink.issue(IssueCode::UnorderedTimes, place, || "a stamp before that of the line above".to_string());
        }
        self.any_coarse |= !found.fine;
        self.any_fine |= found.fine;
        self.last_ns = Some(at_ns);
        at_ns
    }

    fn stamped(
        &mut self,
        sink: &mut ServerSink,
        found: &Stamped<'_>,
        at_ns: i64,
        place: &dyn Fn() -> String,
    ) -> Result<(), IngestError> {
        match report(found.message) {
            Some((Report::Retraction, rest)) => self.groups.retraction(sink, found, rest, at_ns, place),
            Some((kind, rest)) => self.groups.batch(sink, found, (kind, rest), at_ns, place),
            None => self.setting(sink, found, at_ns, place),
        }
    }

    fn setting(
        &mut self,
        sink: &mut ServerSink,
        found: &Stamped<'_>,
        at_ns: i64,
        place: &dyn Fn() -> String,
    ) -> Result<(), IngestError> {
        match setting(found.message) {
            Some(Setting::Arguments(text)) => {
                self.started(sink, at_ns, "settings printed", place)?;
                self.starting_ns = Some(at_ns);
                if !self.settled.arguments(sink, text) {
                    sink.issue(IssueCode::BadRecord, place, || "server_args that do not parse".to_string());
                }
            }
            Some(Setting::Ready) => match self.starting_ns.take() {
                Some(start) => sink.fact("startup_s", (at_ns.saturating_sub(start) / SECOND_NS).to_string()),
                None => self.started(sink, at_ns, "ready", place)?,
            },
            Some(Setting::Allocated(tokens)) => self.settled.allocated(tokens),
            Some(Setting::Effective(message)) => {
                if let Some(tokens) = self.settled.effective(sink, message) {
                    self.groups.capacity(sink, found, tokens, at_ns)?;
                }
            }
            None => {}
        }
        Ok(())
    }

    fn started(
        &mut self,
        sink: &mut ServerSink,
        at_ns: i64,
        how: &str,
        place: &dyn Fn() -> String,
    ) -> Result<(), IngestError> {
        self.starts += 1;
        if self.starts > 1 {
            sink.issue(IssueCode::ServerRestarted, place, || how.to_string());
        }
        self.groups.restart(sink)?;
        let detail = Some(how.to_string());
        sink.event(ServerEvent { at_ns, request_id: None, kind: EventKind::ServerStarted, phase: None, detail });
        Ok(())
    }

    fn close(mut self, sink: &mut ServerSink) -> Result<(), IngestError> {
        let fine = self.any_fine && !self.any_coarse;
        sink.clock(StampClock::Local, if fine { SECOND_NS / 1000 } else { SECOND_NS });
        sink.server("SGLang", None);
        self.groups.flush(sink)?;
        self.settled.close(sink);
        self.requests.settle(sink);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::damage_test::{cut_everywhere, mutate_everywhere};
    use crate::formats::reading_test::{Sample, read, read_file, samples, shared, sniff};

    const FIXTURE: &[u8] = include_bytes!("../../../../fixtures/sglang_server_log/retractions/input/server.log");

    fn of(all: &[Sample], series: &str) -> Vec<(i64, f64)> {
        all.iter().filter(|s| s.1 == series).map(|s| (s.0 - 1_767_323_045_000_000_000, s.3)).collect()
    }

    #[test]
    fn the_fixture_reads_as_written() {
        assert_eq!(sniff(&SGLANG_SERVER_LOG, "server.log", FIXTURE), Sniff::Strong);
        let page = b"# Notes\n[2026-01-02 03:04:05] Decode batch, #running-req: 1\n";
        assert_eq!(sniff(&SGLANG_SERVER_LOG, "notes.md", page), Sniff::Weak);
        let others = "INFO 01-02 03:04:05 [loggers.py:1] Running: 1 reqs\nTraceback (most recent call last):\n";
        assert_eq!(sniff(&SGLANG_SERVER_LOG, "server.log", others.as_bytes()), Sniff::No);
        let (mut recording, _dir) = read(&SGLANG_SERVER_LOG, "server.log", FIXTURE).unwrap();
        let all = samples(&mut recording);
        // 2026-01-02 03:04:05: one prefill line, then two decode lines in second 6, two in second 7.
        assert_eq!(of(&all, "running"), [(0, 3.0), (1e9 as i64, 3.0), (15e8 as i64, 4.0), (2e9 as i64, 2.0)]);
        assert_eq!(of(&all, "waiting"), [(0, 0.0), (1e9 as i64, 4.0), (15e8 as i64, 3.0), (2e9 as i64, 6.0)]);
        assert_eq!(of(&all, "kv_cache_usage")[1], (1_000_000_000, 0.93));
        assert_eq!(of(&all, "cached_token"), [(0, 32.0)]);
        assert_eq!(of(&all, "batch_prompt_tokens"), [(0, 96.0)]);
        let preempted: Vec<f64> = of(&all, "preemptions_total").iter().map(|(_, n)| *n).collect();
        assert_eq!(preempted, [0.0, 0.0, 0.0, 0.0, 2.0]);
        assert!(all.iter().all(|s| s.2.is_none()));
        let kinds: Vec<_> = recording.events.iter().map(|e| e.kind).collect();
        use EventKind::{Arrived, Finished, Preempted, ServerStarted};
        assert_eq!(kinds, [ServerStarted, Arrived, Preempted, Finished]);
        let fact = |key: &str| recording.facts.get(key).map(String::as_str);
        assert_eq!((fact("model"), fact("kv_cache_capacity_tokens")), (Some("/models/toy"), Some("1024")));
        assert_eq!(
            (fact("max_num_seqs"), fact("max_model_len"), fact("block_size")),
            (Some("8"), Some("2048"), Some("1"))
        );
        assert_eq!((fact("enable_prefix_caching"), fact("startup_s")), (Some("true"), Some("4")));
        assert_eq!((recording.clock, recording.resolution_ns), (StampClock::Local, SECOND_NS));
        let count = |code| recording.issues.count(code);
        assert_eq!((count(IssueCode::DuplicateSample), count(IssueCode::BadRecord)), (1, 0));
    }

    #[test]
    fn requests_of_the_fixture() {
        let (recording, _dir) = read(&SGLANG_SERVER_LOG, "server.log", FIXTURE).unwrap();
        let [first, second] = recording.requests.as_slice() else { panic!("{:?}", recording.requests) };
        // The zone is two hours from UTC: Unix 1767315846.5 is 03:04:06.5 in the log.
        assert_eq!(recording.facts.get("utc_offset_s").map(String::as_str), Some("7200"));
        assert_eq!((first.request_id.as_deref(), first.arrival_ns), (Some("r1"), Some(1_767_323_045_500_000_000)));
        assert_eq!(
            (first.first_token_ns, first.last_token_ns),
            (Some(1_767_323_045_750_000_000), Some(1_767_323_047_500_000_000))
        );
        assert_eq!(
            (first.preemptions, first.cached_tokens, first.requested_output_tokens),
            (Some(1), Some(32), Some(40))
        );
        assert_eq!((first.queue_ns, first.decode_ns), (Some(12_000_000), Some(1_750_000_000)));
        // The old time stats: a monotonic start, so only durations and the line's own second.
        assert_eq!((second.queued_ns, second.last_token_ns), (None, Some(1_767_323_048_000_000_000)));
        assert_eq!((second.queue_ns, second.inference_ns), (Some(20_000_000), Some(188_500_000)));
        assert_eq!((second.prompt_tokens, second.output_tokens), (Some(16), Some(5)));
    }

    #[test]
    fn damage() {
        // Without the line that a request came in: its second is the arrival only as long as no line knows it better.
        let text = String::from_utf8(FIXTURE.to_vec()).unwrap();
        let lines: String = text.lines().filter(|l| !l.contains("Receive:")).map(|l| format!("{l}\n")).collect();
        cut_everywhere(&SGLANG_SERVER_LOG, "s.log", lines.as_bytes(), true);
        mutate_everywhere(&SGLANG_SERVER_LOG, "s.log", FIXTURE);
        let text =
            String::from_utf8(FIXTURE.to_vec()).unwrap().replace('\n', "\r\n").replace("Decode", "\u{1b}[33mDecode");
        let (mut hurt, _dir) = read(&SGLANG_SERVER_LOG, "s.log", text.as_bytes()).unwrap();
        let (mut whole, _dir) = read(&SGLANG_SERVER_LOG, "s.log", FIXTURE).unwrap();
        assert_eq!(samples(&mut hurt), samples(&mut whole));
    }

    #[test]
    fn groups_ranks_and_restarts() {
        let text = "\
            [2026-01-02 03:04:05.100 DP0 TP0] Decode batch, #running-req: 1, #queue-req: 2\n\
            [2026-01-02 03:04:05.100 DP1 TP1] Decode batch, #running-req: 5, #queue-req: 0\n\
            [2026-01-02 03:04:05.200 DP0 TP3] Decode batch, #running-req: 1, #queue-req: 2\n\
            [2026-01-02 03:04:05.300 DP0 TP3] KV cache pool is full. Retract requests. #retracted_reqs: 1\n\
            [2026-01-02 03:04:05.300 DP0 TP0] Testing retraction. #retracted_reqs: 1\n\
            [2026-01-02 03:00:05.000] The server is fired up and ready to roll!\n\
            [2026-01-02 03:00:06.000] server_args=ServerArgs(model_path='m', tp_size=2\n\
            [2026-01-02 03:00:07.000 DP0 TP0] Decode batch, #running-req: -3, #queue-req: 99999999999999999999\n\
            [2026-01-02 03:00:08.000 DP0 TP0] Decode batch, #running-req: 1, #queue-req: 1";
        let (mut recording, _dir) = read(&SGLANG_SERVER_LOG, "s.log", text.as_bytes()).unwrap();
        let all = samples(&mut recording);
        let running: Vec<_> = all.iter().filter(|s| s.1 == "running").map(|s| (s.2.as_deref(), s.3)).collect();
        assert_eq!(running, [(Some("dp=0"), 1.0), (Some("dp=1"), 5.0)]);
        assert_eq!(recording.resolution_ns, 1_000_000);
        let counts = [
            (IssueCode::DuplicateSample, 1),
            (IssueCode::ServerRestarted, 1),
            (IssueCode::UnorderedTimes, 1),
            (IssueCode::BadRecord, 1),
            (IssueCode::WrongType, 1),
            (IssueCode::TruncatedRecord, 1),
        ];
        for (code, count) in counts {
            assert_eq!(recording.issues.count(code), count, "{code:?}");
        }
        assert!(all.iter().all(|s| s.1 != "preemptions_total" || s.3 == 0.0));
    }

    #[test]
    fn a_real_log() {
        let folder = "public/sglang/inferencex-h200";
        let name = "deepseekr1_h200_sglang5.12_sweep1__gptoss_fp4_h200_tp8_conc4_isl1024_osl1024__server.log";
        let Some(path) = shared(&format!("{folder}/{name}")) else { return };
        let dir = tempfile::tempdir().unwrap();
        let mut recording = read_file(&SGLANG_SERVER_LOG, &path, dir.path()).unwrap();
        let all = samples(&mut recording);
        let count = |series: &str| all.iter().filter(|s| s.1 == series).count();
        assert_eq!((count("output_tokens_per_s"), count("batch_prompt_tokens")), (11_243, 44));
        assert_eq!(recording.facts.get("kv_cache_capacity_tokens").map(String::as_str), Some("509157"));
        assert_eq!(recording.facts.get("startup_s").map(String::as_str), Some("2657"));
        assert!(recording.issues.is_empty(), "{:?}", recording.issues);
        let times: std::collections::BTreeSet<_> = all.iter().filter(|s| s.1 == "running").map(|s| s.0).collect();
        assert_eq!(times.len(), 11_287, "every line has a moment of its own");
    }
}
