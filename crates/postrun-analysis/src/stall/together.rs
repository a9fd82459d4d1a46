//! Gaps in which others paused too, or in which there is nobody to compare with.
//!
//! An engine that computes a prompt lets everybody wait, and the step ends with that request's first token. Where a
//! pause ends with one, or a chain of pauses leads to one, it was a prefill. Where nobody waited for a first token it
//! cannot have been one. In between the likelier is said, with little confidence.

use super::StallClass::{GlobalStall, Jitter, PrefillInterference};
use super::Trigger;
use super::candidate::{ALONE, GUARD, OTHERS, Pause, SLOW_PACE, TOGETHER};
use super::typical::quantile;
use crate::requests::Requests;

/// Pauses closer than so many steps may be chunks of one prefill.
const CHAINED: f64 = 1.5;
/// A pause of all that is so many times longer than the long prefills of the run was none.
const TOO_LONG: f64 = 4.0;
const LONG: f64 = 0.9;
/// So many prefills are needed to say what is long.
const MIN_PREFILLS: usize = 10;

/// When requests were sent, began to answer, were taken off and resumed.
pub(super) struct Moments {
    sends: Vec<i64>,
    /// First tokens, with the request.
    firsts: Vec<(i64, u32)>,
    offs: Vec<i64>,
    /// Ends of preemptions, with the request.
    resumes: Vec<(i64, u32)>,
}

impl Moments {
    /// Requests without a first token never stop waiting for it: they are left out.
    pub(super) fn new(requests: &Requests, pauses: &[Pause]) -> Moments {
        let begun = |i: usize| {
            let (sent, ttft) = (requests.sent_ns[i]?, requests.ttft_ns[i]?);
            requests.counts(i).then(|| (sent, (sent.saturating_add(ttft), i as u32)))
        };
        let (mut sends, mut firsts): (Vec<_>, Vec<_>) = (0..requests.len()).filter_map(begun).unzip();
        let preempted = || pauses.iter().filter(|p| p.is_preemption());
        let mut offs: Vec<i64> = preempted().map(|p| p.gap.from_ns).collect();
        let mut resumes: Vec<(i64, u32)> = preempted().map(|p| (p.gap.to_ns, p.gap.request)).collect();
        sends.sort_unstable();
        firsts.sort_unstable();
        offs.sort_unstable();
        resumes.sort_unstable();
        Moments { sends, firsts, offs, resumes }
    }

    /// Requests that could be in prefill: sent or preempted, and not (again) in decode.
    fn pending(&self, at_ns: i64) -> i64 {
        let until = |times: &[i64]| times.partition_point(|t| *t <= at_ns) as i64;
        let of_requests = |times: &[(i64, u32)]| times.partition_point(|t| t.0 <= at_ns) as i64;
        until(&self.sends) - of_requests(&self.firsts) + until(&self.offs) - of_requests(&self.resumes)
    }

    /// The last time in a gap at which another request began or went on.
    fn trigger(&self, pause: &Pause) -> Option<Trigger> {
        let guard = pause.guard_ns();
        let (after, until) = (pause.gap.from_ns.saturating_add(guard), pause.gap.to_ns.saturating_add(guard));
        let last = |times: &[(i64, u32)]| {
            let end = times.partition_point(|t| t.0 <= until);
            let back = times.get(..end)?.iter().rev().take_while(|t| t.0 > after);
            let found = back.into_iter().find(|t| t.1 != pause.gap.request);
            found.map(|(at_ns, request)| Trigger { at_ns: *at_ns, request: *request })
        };
        last(&self.firsts).max(last(&self.resumes))
    }
}

/// A pause of all, as one request saw it.
struct Seen {
    /// Its place among the pauses.
    at: usize,
    trigger: Option<Trigger>,
    pending: i64,
}

/// The same pause of all, as several requests saw it.
struct Episode {
    from_ns: i64,
    to_ns: i64,
    seen: Vec<Seen>,
    /// The last of those that its pauses end with.
    trigger: Option<Trigger>,
    /// Someone could have been in prefill.
    pending: bool,
    /// A backlog followed: the chunks were there, and came late.
    late: bool,
    /// Longer than prefills of this run.
    long: bool,
    /// Ends with a first token, or leads to a pause that does.
    chain: bool,
    /// Next to another pause.
    linked: bool,
}

/// Judges every pause that has no verdict yet. `pauses` lie in the order of their ends.
pub(super) fn judge(pauses: &mut [Pause], moments: &Moments, step_ns: f64) {
    let mut episodes: Vec<Episode> = Vec::new();
    for at in 0..pauses.len() {
        if pauses[at].verdict.is_some() {
            continue;
        }
        let pause = &mut pauses[at];
        if pause.late && (pause.others < OTHERS || pause.steps >= ALONE) {
            pause.say(Jitter, 0.7, "late delivery: what was missing came at once after it");
            continue;
        }
        let trigger = moments.trigger(pause);
        let pending = moments.pending(pause.gap.to_ns.saturating_sub(pause.guard_ns()));
        if pause.others < OTHERS {
            pause.held_up_by = trigger;
            match (trigger, pending > 0) {
                (Some(_), _) => pause.say(PrefillInterference, 0.6, "another request's first token in it"),
                (None, true) => pause.say(PrefillInterference, 0.5, "a request awaited its first token"),
                (None, false) => pause.say(Jitter, 0.5, "nobody else was active: it cannot be told"),
            }
        } else if pause.steps < TOGETHER || pause.pace < SLOW_PACE {
            join(&mut episodes, pauses, Seen { at, trigger, pending }, GUARD * step_ns);
        } else {
            pause.say(Jitter, 0.5 + 0.5 * pause.pace.min(1.0), "others went on, but too few steps were missed");
        }
    }
    relate(&mut episodes, pauses, step_ns);
    for episode in &episodes {
        for seen in &episode.seen {
            if let Some(pause) = pauses.get_mut(seen.at) {
                decide(pause, seen.trigger, episode);
            }
        }
    }
}

/// Puts a pause into the latest episode, if it ends with it.
fn join(episodes: &mut Vec<Episode>, pauses: &[Pause], seen: Seen, reach_ns: f64) {
    let Some(gap) = pauses.get(seen.at).map(|p| p.gap) else { return };
    match episodes.last_mut() {
        Some(last) if gap.to_ns.saturating_sub(last.to_ns) as f64 <= reach_ns => {
            last.from_ns = last.from_ns.min(gap.from_ns);
            last.to_ns = gap.to_ns;
            last.seen.push(seen);
        }
        _ => episodes.push(Episode {
            from_ns: gap.from_ns,
            to_ns: gap.to_ns,
            seen: vec![seen],
            trigger: None,
            pending: false,
            late: false,
            long: false,
            chain: false,
            linked: false,
        }),
    }
}

/// Sums each episode up and sets it in relation to its neighbours.
fn relate(episodes: &mut [Episode], pauses: &[Pause], step_ns: f64) {
    let pause = |seen: &Seen| pauses.get(seen.at);
    let cap = longest_prefill(episodes, pauses);
    for episode in &mut *episodes {
        let shortest = episode.seen.iter().filter_map(pause).map(|p| p.gap.length_ns()).min().unwrap_or(0);
        episode.long = shortest as f64 > cap;
        episode.trigger = episode.seen.iter().filter_map(|s| s.trigger).max();
        episode.pending = episode.seen.iter().any(|s| s.pending > 0);
        episode.late = episode.seen.iter().filter_map(pause).filter(|p| p.late).count() * 2 > episode.seen.len();
        episode.chain = episode.trigger.is_some();
    }
    let close = |a: &Episode, b: &Episode| b.from_ns.saturating_sub(a.to_ns) as f64 <= CHAINED * step_ns;
    // Backwards: a chunk of a prefill is known by the chunk after it.
    for i in (1..episodes.len()).rev() {
        if let Some([before, after]) = episodes.get_mut(i - 1..=i)
            && close(before, after)
        {
            before.chain |= after.chain && before.pending;
            (before.linked, after.linked) = (true, true);
        }
    }
}

/// Beyond this, a pause of all is no prefill; known where enough pauses end with a first token.
fn longest_prefill(episodes: &[Episode], pauses: &[Pause]) -> f64 {
    let ends_with = |s: &Seen| pauses.get(s.at).is_some_and(|p| is_at_end(p, s.trigger));
    let sure = episodes.iter().filter(|e| e.seen.iter().any(ends_with));
    let mut lengths: Vec<f64> = sure.map(|e| e.to_ns.saturating_sub(e.from_ns) as f64).collect();
    let long = if lengths.len() >= MIN_PREFILLS { quantile(&mut lengths, LONG) } else { None };
    long.map_or(f64::INFINITY, |p90| TOO_LONG * p90)
}

fn is_at_end(pause: &Pause, trigger: Option<Trigger>) -> bool {
    trigger.is_some_and(|t| t.at_ns.abs_diff(pause.gap.to_ns) as f64 <= GUARD * pause.step_ns)
}

/// The first of these that fits. The more the others went on, the less sure.
fn decide(pause: &mut Pause, trigger: Option<Trigger>, episode: &Episode) {
    let paused = 1.0 - 0.5 * pause.pace.clamp(0.0, 1.0);
    let many = (pause.others / 2.0).min(1.0);
    let (class, confidence, why) = if episode.late {
        let prefill = if episode.chain { 0.7 } else { 1.0 };
        (GlobalStall, (0.6 + 0.3 * many) * prefill, "all paused, then a backlog came at once: client or network")
    } else if is_at_end(pause, trigger) {
        (PrefillInterference, 0.95, "all paused until another request's first token")
    } else if trigger.is_some() {
        (PrefillInterference, 0.8, "all paused, another request's first token in it")
    } else if episode.trigger.is_some() {
        (PrefillInterference, 0.8, "the same pause as one that ends with a first token")
    } else if episode.long {
        (GlobalStall, 0.5, "all paused, far longer than the prefills of this run")
    } else if episode.chain {
        (PrefillInterference, 0.75, "all paused, chained to a pause that ends with a first token")
    } else if episode.pending && episode.linked {
        (PrefillInterference, 0.6, "all paused, repeatedly, while a request awaited its first token")
    } else if episode.pending {
        (PrefillInterference, 0.5, "all paused while a request awaited its first token")
    } else {
        (GlobalStall, 0.6 + 0.35 * many, "all paused, and no request awaited a first token")
    };
    pause.say(class, confidence * paused, why);
    let own = pause.gap.request;
    pause.held_up_by = trigger.or(episode.trigger).filter(|t| class == PrefillInterference && t.request != own);
}
