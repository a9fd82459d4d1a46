//! Long pauses in streams: what held a request up, as far as the client's own times tell.
//!
//! A pause is a gap between two chunks of more than three typical steps of that request and more than 10 ms. An engine
//! with continuous batching gives every running request a token in each step. So the question is not how long a pause
//! was, but how many steps others made meanwhile.
//!
//! # Classes
//! - `preemption`: others went on for at least two and a half steps and this request did not: it was taken off the batch.
//!   A full KV cache (the server's samples; else tokens in flight, of the run's most), others taken off within 10 s, time
//!   enough to compute prompt and answer again, and the server's preemption counter make it surer or less sure. One
//!   lone pause with nothing else for it is called jitter. So is, where no counter was sampled, what the run's own
//!   unevenness explains: where pauses of single requests grow fewer with length, their tail is carried on, and only
//!   what is longer than the length beyond which less than one pause of the run is expected can be a preemption.
//! - `prefill_interference`: all paused, until another request's first token, or while one was awaited.
//! - `global_stall`: all paused, and nobody awaited a first token; or a backlog came at once after it (client, network).
//! - `jitter`: the rest: late delivery on one connection, a step or two missed, no evidence either way.
//!
//! # How sure
//! Each pause has a confidence from 0 to 1; below 0.7 read "probably". Against four recordings of a simulated server that
//! keeps the truth: all 20 pauses by preemption were found and nothing else was called one; of the pauses called prefill
//! interference 97 in 100 were it. Global stall is the weak class: three in five are right, and one in three is missed.
//! Jitter is what is left over, and seldom right where it is not sure. The limits were set with part of these
//! recordings in sight. Against a real vLLM 64 pauses were called preemption where its counter had 72 (a pause may hold
//! several), and none in seven runs without any. In made-up runs of 1,000 requests whose gaps are independent of each
//! other (normal, gamma, exponential, lognormal up to sigma 0.7) none was; of a power law 2.
//!
//! # When it is wrong
//! - A pause is an interruption, not a preemption: taken off three times before its next token, a request still has one
//!   pause. Only the server counts preemptions.
//! - A server that freezes while a request awaits its first token looks like a prefill.
//! - A request that decodes alone has nobody to be compared with: what is said of its pauses is a guess.
//! - Chunks held back on one connection and delivered as one chunk can look like a preemption. So can rare pauses of
//!   single streams that are all long, with next to none between them and ordinary gaps.
//! - Several servers behind one address: one of them pauses while others go on. Pauses of several requests from the same
//!   to the same moment are taken as a sign of that.
//! - Runs of many hours are cut into coarser bins; pauses shorter than four of them are not looked at.
//! - In the largest runs the 200,000 longest pauses are judged; `stalls_total` counts all.
//!
//! # Needs
//! Chunk times and send times. Without send times only length and what followed remain: nothing is then surer than 0.6,
//! a global stall is never said, and what is called preemption is a long pause that fits one, not a finding.

mod activity;
mod alone;
mod candidate;
mod noise;
mod overtaken;
mod scan;
mod scrapes;
mod smoothed;
#[cfg(test)]
mod tests;
mod together;
mod typical;
mod untimed;

pub(crate) use scan::StallScan;

/// Pauses that are listed.
const LISTED: usize = 1000;

/// What a pause looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StallClass {
    /// The request was taken off the batch while others went on.
    Preemption,
    /// Another request's prefill held up the batch.
    PrefillInterference,
    /// Everyone paused.
    GlobalStall,
    /// Ordinary unevenness.
    Jitter,
}

impl StallClass {
    /// Every class.
    pub const ALL: [StallClass; 4] =
        [StallClass::Preemption, StallClass::PrefillInterference, StallClass::GlobalStall, StallClass::Jitter];

    /// As it stands in reports.
    pub fn name(self) -> &'static str {
        match self {
            StallClass::Preemption => "preemption",
            StallClass::PrefillInterference => "prefill_interference",
            StallClass::GlobalStall => "global_stall",
            StallClass::Jitter => "jitter",
        }
    }
}

/// What ends a pause of others: the end of another request's prefill, or of its way back from a preemption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trigger {
    /// Since the run's origin.
    pub at_ns: i64,
    /// Key of that other request.
    pub request: u32,
}

/// One long pause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// Key of the request.
    pub request: u32,
    /// Start in nanoseconds since the first send; `None` without send times.
    pub at_ns: Option<i64>,
    /// Length in nanoseconds.
    pub length_ns: i64,
    /// What it looks like.
    pub class: StallClass,
    /// How sure that is, 0 to 1.
    pub confidence: f64,
    /// What it was told by.
    pub why: &'static str,
    /// Of a prefill interference: whose prefill it was, where that is known.
    pub held_up_by: Option<Trigger>,
}

/// The long pauses of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stalls {
    /// All of them.
    pub total: u64,
    /// Those judged, by class, in the order of [`StallClass::ALL`].
    pub by_class: [u64; 4],
    /// Of these, with a confidence of 0.7 or more.
    pub sure_by_class: [u64; 4],
    /// Their time in nanoseconds, by class.
    pub ns_by_class: [i64; 4],
    /// The longest, longest first, at most 1,000.
    pub longest: Vec<Stall>,
    /// The longest of each class, whether or not it is among those.
    pub longest_by_class: [Option<Stall>; 4],
}

impl Stalls {
    /// How many were judged to be of a class.
    pub fn count(&self, class: StallClass) -> u64 {
        of_class(&self.by_class, class)
    }

    /// How many were judged to be of a class with a confidence of 0.7 or more.
    pub fn sure(&self, class: StallClass) -> u64 {
        of_class(&self.sure_by_class, class)
    }

    /// The longest pause of a class.
    pub fn longest_of(&self, class: StallClass) -> Option<&Stall> {
        let at = StallClass::ALL.iter().position(|c| *c == class)?;
        self.longest_by_class.get(at)?.as_ref()
    }

    /// Nanoseconds in pauses of a class, over all requests.
    pub fn total_ns(&self, class: StallClass) -> i64 {
        of_class(&self.ns_by_class, class)
    }
}

fn of_class<T: Copy + Default>(list: &[T; 4], class: StallClass) -> T {
    let at = StallClass::ALL.iter().position(|c| *c == class);
    at.and_then(|at| list.get(at)).copied().unwrap_or_default()
}

/// What the client's times say of long pauses and of requests that others overtook.
#[derive(Debug, Default)]
pub(crate) struct StallFindings {
    /// Of the window, where one was asked for; what follows is of the whole run.
    pub stalls: Stalls,
    /// There are send times.
    pub timed: bool,
    /// Every pause that looks like a preemption, by request: time beyond a typical gap, in nanoseconds.
    pub preempted: Vec<(u32, i64)>,
    /// Requests that were probably preempted, or passed over, before their first token.
    pub overtaken: Vec<u32>,
    /// Every judged pause.
    judged: Vec<candidate::Pause>,
}

impl StallFindings {
    /// Every judged pause, by request and in time.
    pub(crate) fn into_every(self) -> Vec<Stall> {
        let mut every: Vec<Stall> = self.judged.iter().filter_map(|p| p.to_stall(self.timed)).collect();
        every.sort_by_key(|s| (s.request, s.at_ns));
        every
    }

    /// Requests that were probably preempted, before or after their first token. Nothing without send times: a long gap
    /// alone would fit too much.
    pub(crate) fn hit(&self) -> impl Iterator<Item = u32> + '_ {
        let paused = self.preempted.iter().map(|(request, _)| *request).filter(|_| self.timed);
        paused.chain(self.overtaken.iter().copied())
    }
}
