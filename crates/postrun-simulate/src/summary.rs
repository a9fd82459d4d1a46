//! A run in figures, from the truth: what an engineer would look at before naming a cause.

use crate::cost::{StepWork, parts_us};
use crate::run::{RequestRecord, Run};
use crate::stats::{correlation, mean, percentile, ratio, sorted};
use serde::Serialize;

/// The figures. Times in milliseconds, shares from 0 to 1; latencies as the client saw them, over requests that were
/// served in full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Requests.
    pub requests: u64,
    /// Of them, served in full.
    pub ok: u64,
    /// Share that failed.
    pub failed_share: f64,
    /// Length of the run, seconds.
    pub duration_s: f64,
    /// Output tokens a second, of requests served in full.
    pub output_tokens_per_s: f64,
    /// TTFT, median.
    pub ttft_p50_ms: f64,
    /// TTFT, 99th percentile.
    pub ttft_p99_ms: f64,
    /// TPOT, median.
    pub tpot_p50_ms: f64,
    /// Gap between chunks, median.
    pub gap_p50_ms: f64,
    /// Gap between chunks, 99th percentile.
    pub gap_p99_ms: f64,
    /// End-to-end latency, median.
    pub e2e_p50_ms: f64,
    /// End-to-end latency, 99th percentile.
    pub e2e_p99_ms: f64,
    /// Queue, mean.
    pub queue_mean_ms: f64,
    /// Queue, median.
    pub queue_p50_ms: f64,
    /// Share of the server's TTFT (arrival to first token) that is queue.
    pub queue_share_of_ttft: f64,
    /// Prefill, median.
    pub prefill_p50_ms: f64,
    /// Correlation of prompt length and prefill plus queue.
    pub prompt_ttft_correlation: f64,
    /// Mean TTFT of the fifth of requests with the longest prompts over that of the shortest.
    pub ttft_longest_over_shortest: f64,
    /// Mean TTFT of the fifth with the longest prompts.
    pub ttft_longest_fifth_ms: f64,
    /// Share of the run in which a step was running.
    pub busy_share: f64,
    /// Decoding requests of a step, weighted by time.
    pub mean_decodes: f64,
    /// Share of step time that is CPU work.
    pub cpu_share: f64,
    /// Share of the run in which the frontend was busy.
    pub frontend_share: f64,
    /// TPOT over the time of a step with one decoding request.
    pub crowding: f64,
    /// KV cache usage, mean over step time.
    pub kv_mean: f64,
    /// KV cache usage, highest.
    pub kv_peak: f64,
    /// Share of step time with 90 % or more of the KV cache in use.
    pub kv_high_share: f64,
    /// Preemptions per request.
    pub preemptions_per_request: f64,
    /// Share of requests preempted at least once.
    pub preempted_share: f64,
    /// Share of all end-to-end time between a preemption and the next token.
    pub preemption_lost_share: f64,
    /// Mean queue of the last quarter of requests over that of the second quarter.
    pub queue_growth: f64,
    /// Mean queue of the last quarter of requests.
    pub queue_last_quarter_ms: f64,
    /// Median TPOT of requests 60 to 90 % over that of requests 10 to 40 %.
    pub tpot_late_over_early: f64,
    /// Median TTFT, the same.
    pub ttft_late_over_early: f64,
    /// Median end-to-end time per token of the first twentieth of requests over that of requests 30 to 100 %.
    pub start_slowness: f64,
    /// How late the client got to a request, median.
    pub send_late_p50_ms: f64,
    /// How late, 95th percentile.
    pub send_late_p95_ms: f64,
    /// Wait for a connection, median.
    pub connection_wait_p50_ms: f64,
    /// How long a chunk lay unread in the client, mean.
    pub unread_mean_ms: f64,
    /// How long a chunk was held on the way, mean.
    pub held_mean_ms: f64,
    /// Tokens in a chunk after the first one, mean.
    pub tokens_per_chunk: f64,
    /// Share of prompt tokens found in the prefix cache.
    pub prefix_hit_rate: f64,
    /// Share of prompt tokens that an endless prefix cache would have found.
    pub prefix_repeat_share: f64,
    /// Share of decoding requests' time spent on the prompts of others.
    pub prefill_share_of_gaps: f64,
    /// Share of decoding requests' time in which the server stood still.
    pub stall_share_of_gaps: f64,
}

const MS: f64 = 1e6;

impl Summary {
    /// Computes the figures of a run.
    pub fn of(run: &Run) -> Summary {
        let ok: Vec<&RequestRecord> = run.requests.iter().filter(|r| r.ok()).collect();
        let mut s = Summary {
            requests: run.requests.len() as u64,
            ok: ok.len() as u64,
            duration_s: run.duration_ns as f64 / 1e9,
            ..Summary::default()
        };
        s.failed_share = ratio((s.requests - s.ok) as f64, s.requests as f64);
        s.output_tokens_per_s = ratio(ok.iter().map(|r| f64::from(r.generated_tokens)).sum(), s.duration_s);
        s.latencies(&ok);
        s.prompts(&ok);
        s.engine(run);
        s.preemption(run, &ok);
        s.course(&ok);
        s.client(run, &ok);
        s
    }

    fn latencies(&mut self, ok: &[&RequestRecord]) {
        let ttft = sorted(ok.iter().filter_map(|r| r.ttft_ns()).map(ms));
        let gaps = sorted(ok.iter().flat_map(|r| r.gaps_ns()).map(ms));
        let e2e = sorted(ok.iter().filter_map(|r| r.e2e_ns()).map(ms));
        let queue = sorted(ok.iter().filter_map(|r| r.queue_ns()).map(ms));
        let server_ttft = ok.iter().filter_map(|r| Some(r.first_token_ns? - r.arrival_ns?)).map(ms).sum();
        (self.ttft_p50_ms, self.ttft_p99_ms) = (percentile(&ttft, 50.0), percentile(&ttft, 99.0));
        (self.gap_p50_ms, self.gap_p99_ms) = (percentile(&gaps, 50.0), percentile(&gaps, 99.0));
        (self.e2e_p50_ms, self.e2e_p99_ms) = (percentile(&e2e, 50.0), percentile(&e2e, 99.0));
        self.tpot_p50_ms = median(ok.iter().filter_map(|r| r.tpot_ns()).map(|t| t / MS));
        (self.queue_mean_ms, self.queue_p50_ms) = (mean(&queue), percentile(&queue, 50.0));
        self.queue_share_of_ttft = ratio(queue.iter().sum(), server_ttft);
        self.prefill_p50_ms = median(ok.iter().filter_map(|r| r.prefill_ns()).map(ms));
    }

    fn prompts(&mut self, ok: &[&RequestRecord]) {
        let mut pairs: Vec<(f64, f64)> =
            ok.iter().filter_map(|r| Some((f64::from(r.prompt_tokens), ms(r.ttft_ns()?)))).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let fifth = pairs.len().div_ceil(5);
        let mean_of = |part: &[(f64, f64)]| mean(&part.iter().map(|p| p.1).collect::<Vec<_>>());
        let longest = mean_of(pairs.get(pairs.len() - fifth..).unwrap_or_default());
        self.ttft_longest_fifth_ms = longest;
        self.ttft_longest_over_shortest = ratio(longest, mean_of(pairs.get(..fifth).unwrap_or_default()));
        self.prompt_ttft_correlation = correlation(&pairs);
    }

    fn engine(&mut self, run: &Run) {
        let t = &run.totals;
        let (busy, duration) = (t.busy_ns as f64, run.duration_ns as f64);
        self.busy_share = ratio(busy, duration);
        self.mean_decodes = ratio(t.decodes_ns, busy);
        self.cpu_share = ratio(t.cpu_ns as f64, busy);
        self.frontend_share = ratio(t.frontend_ns as f64, duration);
        self.kv_mean = ratio(t.kv_ns, busy);
        self.kv_peak = ratio(f64::from(t.kv_peak), f64::from(run.scenario.kv.num_blocks));
        self.kv_high_share = ratio(t.kv_high_ns as f64, busy);
        self.prefill_share_of_gaps = ratio(t.gaps_by_prefill_ns, t.gaps_ns);
        self.stall_share_of_gaps = ratio(t.gaps_by_stall_ns, t.gaps_ns);
        let c = &run.counters;
        self.prefix_hit_rate = ratio(c.prefix_hits as f64, c.prefix_queries as f64);
        self.prefix_repeat_share = ratio(c.repeated_tokens as f64, c.prefix_queries as f64);
        let context = mean(&run.requests.iter().map(|r| f64::from(r.prompt_tokens)).collect::<Vec<_>>()) as u64;
        let (cpu, decode, _) = parts_us(&run.scenario.step, &StepWork { decodes: 1, context, ..StepWork::default() });
        self.crowding = ratio(self.tpot_p50_ms, (cpu + decode) / 1e3);
    }

    fn preemption(&mut self, run: &Run, ok: &[&RequestRecord]) {
        let n = run.requests.len() as f64;
        self.preemptions_per_request = ratio(run.preemptions.len() as f64, n);
        self.preempted_share = ratio(run.requests.iter().filter(|r| r.preemptions > 0).count() as f64, n);
        let lost: f64 = run.preemptions.iter().filter_map(|p| Some((p.recovered_ns? - p.from_ns) as f64)).sum();
        let e2e: f64 = ok.iter().filter_map(|r| r.e2e_ns()).map(|t| t as f64).sum();
        self.preemption_lost_share = ratio(lost, e2e);
    }

    fn course(&mut self, ok: &[&RequestRecord]) {
        let part = |from: f64, to: f64| {
            let at = |share: f64| (share * ok.len() as f64) as usize;
            ok.get(at(from)..at(to)).unwrap_or_default()
        };
        let queue = |p: &[&RequestRecord]| mean(&p.iter().filter_map(|r| r.queue_ns()).map(ms).collect::<Vec<_>>());
        self.queue_last_quarter_ms = queue(part(0.75, 1.0));
        self.queue_growth = ratio(self.queue_last_quarter_ms, queue(part(0.25, 0.5)));
        let tpot = |p: &[&RequestRecord]| median(p.iter().filter_map(|r| r.tpot_ns()));
        let ttft = |p: &[&RequestRecord]| median(p.iter().filter_map(|r| r.ttft_ns()).map(ms));
        self.tpot_late_over_early = ratio(tpot(part(0.6, 0.9)), tpot(part(0.1, 0.4)));
        self.ttft_late_over_early = ratio(ttft(part(0.6, 0.9)), ttft(part(0.1, 0.4)));
        let pace = |p: &[&RequestRecord]| {
            median(p.iter().filter_map(|r| Some(ms(r.e2e_ns()?) / f64::from(r.generated_tokens.max(1)))))
        };
        self.start_slowness = ratio(pace(part(0.0, 0.05)), pace(part(0.3, 1.0)));
    }

    fn client(&mut self, run: &Run, ok: &[&RequestRecord]) {
        let late = sorted(run.requests.iter().map(|r| ms(r.entered_ns - r.due_ns)));
        (self.send_late_p50_ms, self.send_late_p95_ms) = (percentile(&late, 50.0), percentile(&late, 95.0));
        self.connection_wait_p50_ms = median(ok.iter().map(|r| ms(r.left_client_ns - r.sent_ns)));
        let chunks: f64 = ok.iter().map(|r| r.chunks.len() as f64).sum();
        self.unread_mean_ms = ratio(ok.iter().map(|r| ms(r.unread_ns)).sum(), chunks);
        self.held_mean_ms = ratio(ok.iter().map(|r| ms(r.held_ns)).sum(), chunks);
        let later = ok.iter().map(|r| r.chunks.iter().skip(1).map(|(_, n)| f64::from(*n)).sum::<f64>()).sum();
        self.tokens_per_chunk = ratio(later, chunks - ok.len() as f64);
    }
}

fn ms(ns: i64) -> f64 {
    ns as f64 / MS
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    percentile(&sorted(values), 50.0)
}
