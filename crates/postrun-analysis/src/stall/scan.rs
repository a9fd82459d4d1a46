//! The two passes over the chunks, and what is made of them.

use super::activity::{Activity, Axis};
use super::candidate::{Candidate, Longest, Pause, limit_ns};
use super::noise::Noise;
use super::scrapes::Scrapes;
use super::smoothed::{Arrivals, Joined};
use super::typical::{CATCH_UP, Histogram, Sampler, Usual};
use super::{LISTED, StallClass, StallFindings, Stalls};
use super::{alone, overtaken, together, untimed};
use crate::chunk_scan::RequestChunks;
use crate::requests::Requests;
use crate::server::tracks::Track;
use crate::window::Window;
use std::cmp::Reverse;

/// From here on a judgement can be relied upon.
const SURE: f64 = 0.7;

/// Pass one and two over the chunks, request by request, then the judgement.
pub(crate) struct StallScan<'a> {
    requests: &'a Requests,
    /// The client spread gaps over tokens.
    smoothed: bool,
    sampler: Sampler,
    usual: Usual,
    /// First send and last chunk; `None` without send times.
    span: Option<Window>,
    activity: Option<Activity>,
    /// Ordinary long gaps, where there are no send times.
    ordinary: Histogram,
    longest: Longest,
    /// Pauses that end inside it are listed and counted; `None`: all.
    window: Option<Window>,
    /// How many there are.
    total: u64,
    joined: Joined,
    long: Vec<u32>,
}

impl<'a> StallScan<'a> {
    pub(crate) fn new(requests: &'a Requests, smoothed: bool, window: Option<Window>) -> Self {
        let ok = || (0..requests.len()).filter(|i| requests.counts(*i));
        let timed = ok().all(|i| requests.sent_ns[i].is_some());
        let start = ok().filter_map(|i| requests.sent_ns[i]).min().filter(|_| timed);
        StallScan {
            requests,
            smoothed,
            sampler: Sampler::new(requests.len(), smoothed),
            usual: Usual::default(),
            span: start.map(|start_ns| Window { start_ns, end_ns: start_ns }),
            activity: None,
            ordinary: Histogram::new(),
            longest: Longest::default(),
            window,
            total: 0,
            joined: Joined::default(),
            long: Vec::new(),
        }
    }

    /// Pass one.
    pub(crate) fn first(&mut self, chunks: &RequestChunks<'_>) {
        if let (Some(span), Some(sent), Some(last)) = (&mut self.span, chunks.sent_ns, chunks.at_ns.last()) {
            span.end_ns = span.end_ns.max(sent.saturating_add(*last));
        }
        if chunks.at_ns.len() > 1 {
            self.sampler.add(chunks.request, chunks.at_ns);
        }
    }

    /// Between the passes.
    pub(crate) fn between(&mut self) {
        let sampler = std::mem::replace(&mut self.sampler, Sampler::new(0, self.smoothed));
        self.usual = sampler.finish(self.requests);
        self.activity = self.span.map(|span| Activity::new(Axis::new(span, self.usual.step_ns)));
    }

    /// Pass two.
    pub(crate) fn second(&mut self, chunks: &RequestChunks<'_>) {
        let arrivals = match self.smoothed {
            true => self.joined.fill(chunks),
            false => Arrivals::recorded(chunks),
        };
        let &[first, .., last] = arrivals.at_ns else { return };
        let (i, step) = (arrivals.request, self.usual.step(arrivals.request));
        let sent = chunks.sent_ns.unwrap_or(0);
        self.long.clear();
        match &mut self.activity {
            Some(activity) => {
                let known = |column: &[Option<u32>]| column.get(i).copied().flatten().map(f64::from);
                let prompt = known(&self.requests.prompt_tokens).unwrap_or(0.0);
                let output = known(&self.requests.output_tokens).unwrap_or(arrivals.at_ns.len() as f64);
                activity.decode(sent.saturating_add(first), sent.saturating_add(last), prompt, output);
                let limit = limit_ns(step, activity.axis.width_ns());
                let fast = (CATCH_UP * step) as i64;
                activity.arrive(sent, arrivals.at_ns, fast, limit, &mut self.long);
            }
            None => {
                let (limit, ordinary) = (limit_ns(step, 0), untimed::ORDINARY * self.usual.step_ns);
                for (k, gap) in (0..).map_while(|k| Some((k, arrivals.gap(k)?))) {
                    if gap as f64 > ordinary {
                        self.ordinary.add(gap as f64, 1.0);
                    }
                    if gap > limit {
                        self.long.push(k as u32);
                    }
                }
            }
        }
        for k in &self.long {
            let gap = Candidate::new(self.requests, &arrivals, *k as usize, sent, &self.usual);
            if let Some(activity) = &mut self.activity {
                activity.pause(gap.from_ns, gap.to_ns);
            }
            self.total += u64::from(self.window.is_none_or(|w| w.contains(gap.to_ns)));
            self.longest.add(gap);
        }
    }

    /// The judgement. Samples of the server are used only where their clock is aligned.
    pub(crate) fn finish(
        self,
        counter: Option<&Track>,
        kv_usage: Option<&Track>,
        clock_uncertainty_ns: i64,
    ) -> StallFindings {
        let (total, window) = (self.total, self.window);
        let gaps = self.longest.finish();
        let timed = self.activity.is_some();
        let judged = match self.activity {
            Some(activity) => {
                let scrapes = Scrapes::new(counter, kv_usage, clock_uncertainty_ns);
                judge(gaps, activity, self.requests, &self.usual, &scrapes)
            }
            None => gaps.into_iter().map(|gap| untimed::judge(gap, &self.usual, &self.ordinary)).collect(),
        };
        let overtaken = if timed { overtaken::find(self.requests) } else { Vec::new() };
        let preempted = preempted(&judged);
        let listed = listed(judged.iter().filter(|p| window.is_none_or(|w| w.contains(p.gap.to_ns))), total, timed);
        StallFindings { stalls: listed, timed, preempted, overtaken, judged }
    }
}

/// Gaps of a run with send times.
fn judge(
    gaps: Vec<Candidate>,
    activity: Activity,
    requests: &Requests,
    usual: &Usual,
    scrapes: &Scrapes<'_>,
) -> Vec<Pause> {
    let bin_ns = activity.axis.width_ns();
    let (clock, held) = activity.finish();
    let mut pauses: Vec<Pause> = gaps.into_iter().map(|gap| Pause::measure(gap, usual, &clock)).collect();
    let noise = Noise::of(&pauses, bin_ns);
    alone::judge(&mut pauses, held, scrapes, usual, noise);
    scrapes.reconcile(&mut pauses);
    let moments = together::Moments::new(requests, &pauses);
    together::judge(&mut pauses, &moments, usual.step_ns);
    pauses
}

fn preempted(judged: &[Pause]) -> Vec<(u32, i64)> {
    let mut pauses: Vec<&Pause> = judged.iter().filter(|p| p.is_preemption()).collect();
    pauses.sort_unstable_by_key(|p| (p.gap.request, p.gap.from_ns));
    pauses.iter().map(|p| (p.gap.request, p.gap.length_ns().saturating_sub(p.step_ns as i64).max(0))).collect()
}

fn listed<'a>(judged: impl Iterator<Item = &'a Pause> + Clone, total: u64, timed: bool) -> Stalls {
    let mut stalls = Stalls { total, ..Stalls::default() };
    let order = |p: &Pause| (Reverse(p.gap.length_ns()), p.gap.from_ns, p.gap.request);
    let mut longest: [Option<&Pause>; 4] = [None; 4];
    for pause in judged.clone() {
        let Some(verdict) = pause.verdict else { continue };
        let Some(at) = StallClass::ALL.iter().position(|c| *c == verdict.class) else { continue };
        stalls.by_class[at] += 1;
        stalls.sure_by_class[at] += u64::from(verdict.confidence >= SURE);
        stalls.ns_by_class[at] = stalls.ns_by_class[at].saturating_add(pause.gap.length_ns());
        if longest[at].is_none_or(|other| order(pause) < order(other)) {
            longest[at] = Some(pause);
        }
    }
    stalls.longest_by_class = longest.map(|p| p.and_then(|p| p.to_stall(timed)));
    let mut pauses: Vec<&Pause> = judged.collect();
    if pauses.len() > LISTED {
        pauses.select_nth_unstable_by_key(LISTED, |p| order(p));
        pauses.truncate(LISTED);
    }
    pauses.sort_unstable_by_key(|p| order(p));
    stalls.longest = pauses.into_iter().filter_map(|p| p.to_stall(timed)).collect();
    stalls
}
