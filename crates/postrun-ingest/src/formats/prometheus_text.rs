//! Metrics of a server or exporter as it exposes them: `name{labels} value` on lines, scraped once or again and again.
//!
//! # Which files
//! What `/metrics` answers, of one scrape or of many behind one another: the text exposition 0.0.4 (times of values, if
//! any, in milliseconds) and OpenMetrics (times in seconds, `# EOF`, exemplars, `_created` series). Recognised by
//! `# TYPE` and `# HELP` lines or by metric names of a known server.
//!
//! A scrape has no time of its own. A recorder has to put one before each: a line of its own with a Unix time (seconds,
//! milliseconds, microseconds or nanoseconds, told apart by their size) or an ISO date and time, alone or in a comment
//! behind words such as `scrape_time`, `timestamp:` or `date=`. A loop as small as this will do:
//! ```text
//! while sleep 1; do echo "# scrape_time $(date +%s.%3N)"; curl -s http://localhost:8000/metrics; done > metrics.prom
//! ```
//!
//! # Versions seen
//! vLLM 0.6 to 0.33 (both spellings of the KV cache gauge, swapped requests of V0), SGLang 0.4.6 to 0.5.23, TGI,
//! LMDeploy 0.16, TensorRT-LLM (its own and Triton's names), llama.cpp, and the devices' figures of the DCGM exporter,
//! Triton and nvidia_gpu_exporter. Names may have `_` in place of `:`, and lack `_total`.
//!
//! # How the figures are read
//! - Names of known quantities become those of `postrun explain` (`running`, `kv_cache_usage`, …), in its units;
//!   all other series keep their own name, histogram buckets with their `le` label included.
//! - Where two spellings of one quantity stand in a scrape, the first counts. A series that stands twice at one moment
//!   is counted as such, and the first value stays.
//! - vLLM's requests that ended as `abort` are in `requests_finished_total` and in `requests_aborted_total`. TGI counts
//!   tokens when a request ends. LMDeploy's requests without a free handle are in `waiting`, with the label
//!   `queue=api`.
//! - A share above 1.5 or a negative count is left out. NaN is no value. DCGM's marks for "no such value" are none.
//! - The labels of `vllm:cache_config_info` become facts; with several engines those of the first one.
//! - A time without a zone is local time; so is then the whole file.
//! - Values without any time before or behind them are left out and counted: they belong to no moment. Settings are
//!   taken from such a file all the same.
//! - `_created` series are points in time, not values, and are not stored. `# scrape_error` lines are counted in the
//!   fact `failed_scrapes`.
//! - Of a scrape that was cut off, the complete lines count. The last line of a file counts only with its line break.
//!
//! # What is not recorded
//! Anything about single requests, and what happened between two scrapes: a peak between them is not seen.

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::metric::exposition::{head_length, parse_series, parse_tail};
use crate::metric::names;
use crate::metric::series::SeriesTable;
use crate::server::recording::ServerSink;
use crate::text::lines::{Line, Lines};
use crate::text::marker::{Marker, MarkerReader};
use crate::text::stamp::StampClock;
use postrun_schema::{Doc, IssueCode};

pub(super) static PROMETHEUS_TEXT: Ingestor = Ingestor {
    id: "prometheus_text",
    title: "metrics in Prometheus' text form",
    doc: Doc::from_source(include_str!("prometheus_text.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

const TYPES: &[&str] =
    &["counter", "gauge", "histogram", "summary", "untyped", "unknown", "info", "stateset", "gaugehistogram"];

/// What a comment says to Prometheus.
fn is_metadata(comment: &str) -> bool {
    let mut words = comment.trim_start_matches('#').split_ascii_whitespace();
    match words.next() {
        Some("TYPE") => words.nth(1).is_some_and(|kind| TYPES.contains(&kind)),
        Some("HELP" | "UNIT") => words.next().is_some(),
        Some("EOF") => words.next().is_none(),
        _ => false,
    }
}

fn sniff(head: &Head) -> Sniff {
    if !head.keys.is_empty() {
        return Sniff::No;
    }
    let text = String::from_utf8_lossy(head.bytes);
    let (mut ours, mut foreign, mut samples, mut typed, mut known, mut markers) = (0u32, 0u32, 0u32, 0u32, 0u32, 0u32);
    let mut reader = MarkerReader::default();
    let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
    for line in complete.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let sample = head_length(line).filter(|at| line.get(*at..).and_then(parse_tail).is_some());
        if let Some(at) = sample {
            samples += 1;
            let name = line.get(..at).and_then(|h| h.split('{').next()).unwrap_or_default();
            known += u32::from(names::family(name).is_some());
        } else if is_metadata(line) {
            typed += u32::from(line.contains("TYPE "));
            ours += 1;
        } else if let Some(marker) = reader.read(line) {
            markers += u32::from(marker.names_a_scrape);
            ours += 1;
        } else if !line.starts_with('#') {
            foreign += 1;
        }
    }
    let mostly = ours + samples > foreign;
    match () {
        () if mostly && (typed > 0 && samples > 0 || known > 0) => Sniff::Strong,
        () if mostly && (typed > 0 || markers > 1) => Sniff::Weak,
        () => Sniff::No,
    }
}

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    let io = IngestError::io(&source.name);
    let mut lines = Lines::new(source.take_reader());
    let mut exposition = Exposition::default();
    while let Some(line) = lines.next().map_err(&io)? {
        exposition.line(&line, sink)?;
    }
    exposition.close(sink);
    Ok(())
}

#[derive(Default)]
struct Exposition {
    series: SeriesTable,
    markers: MarkerReader,
    at_ns: Option<i64>,
    latest_ns: Option<i64>,
    failed_scrapes: u64,
}

impl Exposition {
    fn line(&mut self, line: &Line<'_>, sink: &mut ServerSink) -> Result<(), IngestError> {
        let text = line.text.trim();
        if text.is_empty() {
            return Ok(());
        }
        if line.shortened {
            sink.issue(IssueCode::LongLine, || line.place(), String::new);
            return Ok(());
        }
        if line.unfinished && !text.starts_with('#') {
            let example = || crate::json::shorten(text.to_string(), 80);
            sink.skip(IssueCode::TruncatedRecord, || line.place(), example);
            return Ok(());
        }
        if text.starts_with('#') {
            self.comment(text, line, sink);
            return Ok(());
        }
        if let Some((id, rest)) = self.series.expected(text) {
            if self.sample(id, rest, line, sink)? {
                return Ok(());
            }
        } else if let Some((head, rest)) = head_length(text).and_then(|at| text.split_at_checked(at)) {
            let plausible = parse_tail(rest).is_some();
            let id = if plausible { self.series.entry(head, sink, || parse_series(head)) } else { None };
            if let Some(id) = id {
                if text.contains('\u{fffd}') {
                    sink.issue(IssueCode::NotUtf8, || line.place(), || head.to_string());
                }
                if self.sample(id, rest, line, sink)? {
                    return Ok(());
                }
            }
        }
        self.other(text, line, sink);
        Ok(())
    }

    /// Stores a sample. False: `rest` is no value.
    fn sample(&mut self, id: usize, rest: &str, line: &Line<'_>, sink: &mut ServerSink) -> Result<bool, IngestError> {
        let Some(tail) = parse_tail(rest) else { return Ok(false) };
        let own = match tail.stamp {
            Some(stamp) if !self.markers.is_local() => self.markers.unix_moment(stamp),
            _ => self.at_ns,
        };
        match own {
            Some(at_ns) => self.series.write(id, at_ns, tail.value, sink, &|| line.place())?,
            None => {
                self.series.tell_fact(id, tail.value, sink);
                if !self.series.is_timeless(id) {
                    let example = || crate::json::shorten(line.text.to_string(), 80);
                    sink.skip(IssueCode::NoSampleTime, || line.place(), example);
                }
            }
        }
        if let Some(comment) = tail.comment {
            self.comment(comment, line, sink);
        }
        Ok(true)
    }

    fn comment(&mut self, text: &str, line: &Line<'_>, sink: &mut ServerSink) {
        let body = text.trim_start_matches('#').trim_start();
        if body.starts_with("TYPE ") || body.starts_with("HELP ") {
            return;
        }
        if body.starts_with("scrape_error") {
            self.failed_scrapes += 1;
        } else if !line.unfinished {
            // A time whose last digits may be cut off is none.
            self.markers.read(text).into_iter().for_each(|marker| self.moment(marker, line, sink));
        }
    }

    /// A line that is no sample: a time of its own, a torn sample with a comment behind it, or something foreign.
    fn other(&mut self, text: &str, line: &Line<'_>, sink: &mut ServerSink) {
        if let Some(marker) = self.markers.read(text) {
            self.moment(marker, line, sink);
            return;
        }
        let example = || crate::json::shorten(text.to_string(), 80);
        let is_torn_sample = text.find('{').is_some_and(|at| {
            at > 0 && text.bytes().take(at).all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':'))
        });
        match is_torn_sample {
            true => sink.skip(IssueCode::BadRecord, || line.place(), example),
            false => sink.issue(IssueCode::ForeignLines, || line.place(), example),
        }
        if let Some(comment) = text.rfind("# ").filter(|at| *at > 0).and_then(|at| text.get(at..)) {
            self.comment(comment, line, sink);
        }
    }

    fn moment(&mut self, marker: Marker, line: &Line<'_>, sink: &mut ServerSink) {
        self.at_ns = self.markers.moment(&marker);
        let Some(at_ns) = self.at_ns else {
            let example = || "a time with a zone among times without one".to_string();
            sink.issue(IssueCode::WrongType, || line.place(), example);
            return;
        };
        if self.latest_ns.is_some_and(|latest| latest > at_ns) {
            sink.issue(IssueCode::UnorderedTimes, || line.place(), || line.text.to_string());
        }
        self.latest_ns = self.latest_ns.max(self.at_ns);
    }

    fn close(self, sink: &mut ServerSink) {
        let (clock, resolution_ns) = self.markers.clock().unwrap_or((StampClock::Unix, 0));
        sink.clock(clock, resolution_ns);
        if self.failed_scrapes > 0 {
            sink.fact("failed_scrapes", self.failed_scrapes.to_string());
        }
        sink.issue_many(IssueCode::ClockStep, self.markers.hour_steps(), String::new, || {
            "in the times before scrapes".to_string()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::reading_test::{Sample, read, samples, shared, sniff};

    const SECOND: i64 = 1_000_000_000;
    const T0: i64 = 1_700_000_000 * SECOND;

    fn all(text: &str) -> (crate::server::recording::Recording, Vec<Sample>) {
        let (mut recording, _dir) = read(&PROMETHEUS_TEXT, "metrics.prom", text.as_bytes()).unwrap();
        let samples = samples(&mut recording);
        (recording, samples)
    }

    fn sample(at_ns: i64, series: &str, labels: &str, value: f64) -> Sample {
        (at_ns, series.to_string(), Some(labels.to_string()).filter(|l| !l.is_empty()), value)
    }

    const TWO: &str = "# scrape_time 1700000000.5\n\
        # TYPE vllm:kv_cache_usage_perc gauge\n\
        vllm:kv_cache_usage_perc{model_name=\"m\",engine=\"0\"} 0.5\n\
        vllm:gpu_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.5\n\
        vllm:request_success_total{engine=\"0\",finished_reason=\"abort\"} 2.0\n\
        vllm:e2e_request_latency_seconds_bucket{engine=\"0\",le=\"+Inf\"} 7\n\
        vllm:prompt_tokens_created{engine=\"0\"} 1.7e+09\n\
        vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"100\",cache_dtype=\"auto\",x=\"None\"} 1.0\n\
        # scrape_error TimeoutError\n\
        # scrape_time 1700000001.5\r\n\
        vllm:kv_cache_usage_perc{model_name=\"m\",engine=\"0\"} 0.75\r\n";

    #[test]
    fn scrapes_behind_their_times() {
        let (recording, samples) = all(TWO);
        let half = T0 + SECOND / 2;
        let expected = [
            sample(half, "kv_cache_usage", "engine=0,model_name=m", 0.5),
            sample(half, "requests_finished_total", "engine=0,finished_reason=abort", 2.0),
            sample(half, "requests_aborted_total", "engine=0,finished_reason=abort", 2.0),
            sample(half, "vllm:e2e_request_latency_seconds_bucket", "engine=0,le=+Inf", 7.0),
            sample(half + SECOND, "kv_cache_usage", "engine=0,model_name=m", 0.75),
        ];
        assert_eq!(samples, expected);
        assert_eq!((recording.clock, recording.resolution_ns), (StampClock::Unix, SECOND / 10));
        assert_eq!(recording.server_name.as_deref(), Some("vLLM"));
        let fact = |key: &str| recording.facts.get(key).map(String::as_str);
        assert_eq!((fact("model"), fact("block_size"), fact("x")), (Some("m"), Some("16"), None));
        assert_eq!((fact("kv_cache_capacity_tokens"), fact("failed_scrapes")), (Some("1600"), Some("1")));
        assert!(recording.issues.is_empty());
    }

    #[test]
    fn times_of_values_in_either_unit() {
        let (_, samples) = all("sglang:num_queue_reqs 4 1700000000250\nsglang:num_queue_reqs 5 1700000001.25\n# EOF");
        let expected = [sample(T0 + SECOND / 4, "waiting", "", 4.0), sample(T0 + 5 * SECOND / 4, "waiting", "", 5.0)];
        assert_eq!(samples, expected);
    }

    #[test]
    fn servers_and_devices_in_their_words() {
        let (recording, samples) = all("# ts 1700000000\n\
            sglang:max_total_num_tokens 900\nsglang:token_usage 0.9\nsglang:num_retracted_requests_total 3\n\
            vllm_num_requests_swapped 2\ntgi_queue_size{a=\"1\"} 1\nlmdeploy:num_api_requests_waiting 6\n\
            nv_trt_llm_request_metrics{request_type=\"scheduled\"} 8\nllamacpp:requests_deferred{b=\"1\"} 9\n\
            DCGM_FI_DEV_FB_USED{gpu=\"0\"} 2\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 50\n\
            DCGM_FI_DEV_POWER_USAGE{gpu=\"1\"} 9223372036854775794\nvllm:gpu_prefix_cache_hit_rate -1\n\
            sglang:cache_hit_rate NaN\nvllm:kv_cache_usage_perc 91.2\n");
        let got: Vec<String> = samples.iter().map(|s| format!("{} {}", s.1, s.3)).collect();
        let expected = "kv_cache_capacity_tokens 900, kv_cache_usage 0.9, preemptions_total 3, swapped 2, waiting 1, \
            waiting 6, running 8, waiting 9, gpu_memory_used_bytes 2097152, gpu_utilization 0.5";
        assert_eq!(got.join(", "), expected);
        assert_eq!(recording.facts.get("kv_cache_capacity_tokens").map(String::as_str), Some("900"));
        assert_eq!(recording.issues.count(IssueCode::OutOfRange), 1);
    }

    #[test]
    fn a_scrape_without_time_gives_settings_only() {
        let text = "sglang:num_queue_reqs 4\nsglang:max_total_num_tokens 900\n";
        let (recording, samples) = all(text);
        assert!(samples.is_empty());
        assert_eq!(recording.issues.count(IssueCode::NoSampleTime), 2);
        assert_eq!(recording.facts.get("kv_cache_capacity_tokens").map(String::as_str), Some("900"));
    }

    #[test]
    fn repeated_scrapes_count_once() {
        let (recording, samples) = all(&TWO.repeat(2));
        assert_eq!(samples.len(), 5);
        assert_eq!(recording.issues.count(IssueCode::DuplicateSample), 5);
    }

    #[test]
    fn damage_is_counted_and_located() {
        let (recording, samples) =
            all("# scrape_time 1700000000\nHTTP/1.1 200 OK\nvllm:num_requests_running{engine=\"0\" \
            3# scrape_time 1700000005\na{b=\"\u{fffd}\"} 1# scrape_time 1700000006\na{c=\"1\"} inf\na 2\na 3");
        assert_eq!(samples.len(), 2);
        assert_eq!((samples[0].0, samples[1].0), (T0 + 5 * SECOND, T0 + 6 * SECOND));
        use IssueCode::{BadRecord, ForeignLines, NonFiniteValue, NotUtf8, TruncatedRecord};
        for code in [ForeignLines, BadRecord, NonFiniteValue, TruncatedRecord, NotUtf8] {
            assert_eq!(recording.issues.count(code), 1, "{code:?}");
        }
    }

    #[test]
    fn cuts_and_flips_invent_nothing() {
        let (_, whole) = all(TWO);
        for end in 0..TWO.len() {
            if let Ok((mut recording, _dir)) = read(&PROMETHEUS_TEXT, "m", &TWO.as_bytes()[..end]) {
                assert!(samples(&mut recording).iter().all(|s| whole.contains(s)), "{end}");
            }
            let mut text = TWO.as_bytes().to_vec();
            text[end] = [0u8, b'"', b'}', b'\n', 0xff, b'9'][end % 6];
            let _ = read(&PROMETHEUS_TEXT, "m", &text);
        }
    }

    #[test]
    fn recognised_by_what_only_it_has() {
        assert_eq!(sniff(&PROMETHEUS_TEXT, "x", TWO.as_bytes()), Sniff::Strong);
        assert_eq!(sniff(&PROMETHEUS_TEXT, "x", b"{\"a\": 1}\n"), Sniff::No);
        assert_eq!(sniff(&PROMETHEUS_TEXT, "x", b"# Title\nSome words 12\nINFO 01-02 03:04:05 x\n"), Sniff::No);
        assert_eq!(sniff(&PROMETHEUS_TEXT, "x", b"# scrape_time 1700000000\n# scrape_time 1700000001\n"), Sniff::Weak);
    }

    #[test]
    fn recorded_scrapes() {
        let Some(path) = shared("recordings/vllm-server-cpu/kv-preempt/metrics.prom") else { return };
        let text = std::fs::read_to_string(path).unwrap();
        let (recording, samples) = all(&text);
        assert!(recording.issues.is_empty());
        assert_eq!(recording.facts.get("kv_cache_capacity_tokens").map(String::as_str), Some("3840"));
        assert_eq!(samples.iter().filter(|s| s.1 == "preemptions_total").count(), 114);
    }
}
