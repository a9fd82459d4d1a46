//! What a rule sees of a run: figures by name, thresholds, the server, and words for amounts.

use crate::finding::Evidence;
use crate::measure::{Advice, Measure, Server};
use crate::rule::Rule;
use crate::thresholds::Thresholds;
use postrun_analysis::{RunAnalysis, StallClass, without_client};

/// A run as one rule sees it.
pub struct RunView<'a> {
    /// The run.
    pub run: &'a RunAnalysis,
    pub(crate) thresholds: &'a Thresholds,
    pub(crate) rule: &'a Rule,
}

impl RunView<'_> {
    /// A threshold of this rule by its key; NaN for a key that the rule does not have, so that nothing compares.
    pub fn limit(&self, key: &str) -> f64 {
        let found = self.rule.thresholds.iter().find(|t| t.key == key);
        found.map_or(f64::NAN, |t| self.thresholds.get(self.rule.id, t))
    }

    /// A statistic of a distribution, times in milliseconds.
    pub fn stat(&self, metric: &str, stat: &str) -> Option<f64> {
        let scale = if metric.ends_with("_ms") { 1e-6 } else { 1.0 };
        self.run.metric(metric)?.stat(stat).map(|v| v * scale)
    }

    /// Number of values of a distribution.
    pub fn count(&self, metric: &str) -> u64 {
        self.run.metric(metric).map_or(0, |s| s.count)
    }

    /// A statistic as evidence.
    pub fn evidence(&self, metric: &str, stat: &'static str) -> Option<Evidence> {
        let unit = if metric.ends_with("_ms") { "ms" } else { "" };
        Some(Evidence::new(metric, stat, self.stat(metric, stat)?, unit).of(self.count(metric)))
    }

    /// Requests answered.
    pub fn ok(&self) -> f64 {
        self.run.requests.ok as f64
    }

    /// Requests answered; without a client those that the server finished. `None`: not known.
    pub fn requests_answered(&self) -> Option<f64> {
        requests_answered(self.run)
    }

    /// True where the server's clock is not aligned to the client's: the server's samples are of its whole recording.
    pub fn is_unaligned(&self) -> bool {
        let server = self.run.manifest.clocks.server.as_ref();
        server.is_some_and(|clock| clock.offset_uncertainty_ns.is_none()) && !without_client(&self.run.manifest)
    }

    /// A measure in the words of the server at hand.
    pub fn advise(&self, measure: Measure) -> Advice {
        let m = &self.run.manifest;
        let mut advice = measure.on(Server::named(m.server.get("name").map(String::as_str), &m.tool.name));
        let fact = |key: &str| m.server.get(key).filter(|_| advice.flag.is_some()).cloned();
        advice.now = match measure {
            Measure::LowerConcurrency | Measure::RaiseConcurrency => fact("max_num_seqs"),
            Measure::LargerPrefillBudget | Measure::SmallerPrefillChunk => fact("max_num_batched_tokens"),
            Measure::ShorterContext => fact("max_model_len"),
            Measure::MoreKvCache => fact("gpu_memory_utilization"),
            _ => None,
        };
        let on = |key: &str| m.server.get(key).is_some_and(|v| v == "true");
        advice.in_force = match measure {
            Measure::ChunkedPrefill => on("enable_chunked_prefill"),
            Measure::PrefixCaching => on("enable_prefix_caching"),
            Measure::SmallerKvDtype => m.server.get("kv_cache_dtype").is_some_and(|v| v.contains("fp8")),
            _ => false,
        };
        advice
    }

    /// How to give the KV cache more room: an override that holds it below what the server measured comes first.
    pub fn more_kv_cache(&self) -> Advice {
        let blocks = |key: &str| self.run.manifest.server.get(key)?.parse::<f64>().ok();
        match (blocks("num_gpu_blocks_override"), blocks("num_gpu_blocks_measured")) {
            (Some(held), Some(room)) if held < room => Advice {
                now: Some(format!("{held:.0} blocks, room for {room:.0}")),
                ..self.advise(Measure::LiftKvOverride)
            },
            _ => self.advise(Measure::MoreKvCache),
        }
    }

    /// Several measures.
    pub fn advise_all<const N: usize>(&self, measures: [Measure; N]) -> [Advice; N] {
        measures.map(|m| self.advise(m))
    }

    /// Seconds in pauses of a class, over all requests, and how many there were; `None` without chunk times.
    pub fn pauses(&self, class: StallClass) -> Option<(f64, u64)> {
        let stalls = self.run.stalls.as_ref()?;
        Some((stalls.total_ns(class) as f64 / 1e9, stalls.count(class)))
    }

    /// Seconds that requests spent between first and last token, over all requests. `None` where that is nothing, or
    /// where first tokens come after last ones: such times contradict each other.
    pub fn decode_s(&self) -> Option<f64> {
        let (e2e, ttft) = (self.stat("e2e_ms", "mean")?, self.stat("ttft_ms", "mean")?);
        Some((e2e - ttft) * self.count("e2e_ms") as f64 / 1e3).filter(|s| *s > 0.0)
    }

    /// What part of decode `seconds` of pauses are. `None` where they do not fit into it: whoever says so has other
    /// requests or another unit in one of the two, and a share would be made up.
    pub fn share_of_decode(&self, seconds: f64) -> Option<f64> {
        let share = seconds / self.decode_s()?;
        (share <= FITS).then_some(share.min(1.0))
    }

    /// Weight of a finding by the share of all requests' time that it explains, or of a figure that it makes up, 0 to 1: the
    /// same measure for every rule, so that what costs or misleads users most goes first.
    pub fn weight(&self, share_of_time: f64) -> f64 {
        0.25 + 0.6 * share_of_time.clamp(0.0, 1.0)
    }

    /// What part of the time from send to last token `ms` is, on average over all requests.
    pub fn share_of_time(&self, ms: f64) -> f64 {
        match self.stat("e2e_ms", "mean") {
            Some(e2e) if e2e > 0.0 => (ms / e2e).clamp(0.0, 1.0),
            _ => 0.0,
        }
    }

    /// What part of the time of all requests `seconds` over all of them are.
    pub fn share_of_time_s(&self, seconds: f64) -> f64 {
        self.e2e_s().filter(|all| *all > 0.0).map_or(0.0, |all| (seconds / all).clamp(0.0, 1.0))
    }

    /// Seconds from send to last token, over all requests.
    pub fn e2e_s(&self) -> Option<f64> {
        Some(self.stat("e2e_ms", "mean")? * self.count("e2e_ms") as f64 / 1e3)
    }
}

/// Requests answered in a run; without a client those that the server finished.
pub(crate) fn requests_answered(run: &RunAnalysis) -> Option<f64> {
    let above_zero = |n: &f64| *n > 0.0;
    Some(run.requests.ok as f64).filter(above_zero).or(run.facts.server.requests_finished.filter(above_zero))
}

/// Pauses and decode are not of exactly the same requests: one may lack its first or its last token.
const FITS: f64 = 1.05;

/// What a rule that judges pauses by their share of decode needs.
pub(crate) const DECODE_TIMES: &str = "times of first and last tokens between which the pauses of the streams fit";

/// `4.1 s`, `830 ms`.
pub fn time_text(ms: f64) -> String {
    match ms.abs() {
        v if v >= 10_000.0 => format!("{:.0} s", ms / 1e3),
        v if v >= 1_000.0 => format!("{:.1} s", ms / 1e3),
        v if v >= 10.0 => format!("{ms:.0} ms"),
        _ => format!("{ms:.1} ms"),
    }
}

/// `83 %`.
pub fn percent_text(share: f64) -> String {
    if share > 0.0 && share < 0.005 { "<1 %".to_string() } else { format!("{:.0} %", share * 100.0) }
}

/// `9×`, `2.4×`.
pub fn times_text(ratio: f64) -> String {
    if ratio >= 9.5 { format!("{ratio:.0}×") } else { format!("{ratio:.1}×") }
}
