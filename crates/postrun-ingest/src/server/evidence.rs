//! Joins recordings of the server's side to one run of a client: clocks, requests, samples, events, settings.

use super::align::{self, Alignment, Level, TokenFit};
use super::client_trace::ClientTrace;
use super::join::{self, JoinRule, Joined};
use super::recording::{Recording, ServerRequest};
use super::request::requests_of;
use super::spool::Curve;
use crate::error::IngestError;
use crate::sink::Collected;
use crate::text::stamp::{StampClock, days_from_civil};
use postrun_schema::{ClockKind, ServerClock};

const SECOND: i64 = 1_000_000_000;
/// Zones of the world lie a multiple of this apart.
const ZONE_NS: i64 = 900 * SECOND;
/// A file is saved a moment after the run, or up to a minute where much is computed first; clocks may differ by seconds.
const SAVED_EARLIEST_NS: i64 = -5 * SECOND;
const SAVED_LATEST_NS: i64 = 60 * SECOND;
/// What two wall clocks that nothing could compare are taken to differ by.
const WALL_CLOCKS_NS: i64 = SECOND;

/// What is known about the recordings that may belong to a run.
pub(crate) struct Evidence {
    pub(super) trace: ClientTrace,
    /// Files of the server's side alone.
    pub(super) alone: bool,
    client_kind: ClockKind,
    client_origin_source_ns: Option<i64>,
    client_origin_unix_ns: Option<i64>,
    user_offset_ns: Option<i64>,
    /// Local time at which the client saved its file, as if it were UTC.
    saved_local_ns: Option<i64>,
    pub(super) weighed: Vec<Weighed>,
}

/// One recording, and how it lies to the run.
pub(crate) struct Weighed {
    pub position: usize,
    pub requests: Vec<ServerRequest>,
    pub joined: Option<Joined>,
    pub alignment: Option<Alignment>,
    clock: StampClock,
    resolution_ns: i64,
    span: Option<(i64, i64)>,
    /// It lies beside this run alone, so it needs no proof that it belongs to it.
    sole: bool,
    /// What its clock showed at the origin of the run's server times.
    pub origin_ns: Option<i64>,
}

impl Evidence {
    pub(crate) fn new(run: &Collected, user_offset_ns: Option<i64>) -> Result<Evidence, IngestError> {
        let client = &run.run.manifest.clocks.client;
        Ok(Evidence {
            trace: ClientTrace::read(&run.run)?,
            alone: false,
            client_kind: client.kind,
            client_origin_source_ns: client.origin_source_ns,
            client_origin_unix_ns: client.origin_unix_ns,
            user_offset_ns,
            saved_local_ns: run.run.manifest.load.date.as_deref().and_then(local_ns),
            weighed: Vec::new(),
        })
    }

    /// For a run without a client.
    pub(crate) fn alone() -> Evidence {
        Evidence {
            trace: ClientTrace::none(),
            alone: true,
            client_kind: ClockKind::None,
            client_origin_source_ns: None,
            client_origin_unix_ns: None,
            user_offset_ns: None,
            saved_local_ns: None,
            weighed: Vec::new(),
        }
    }

    /// Recordings of the run's clock, which alone can place requests, and what that clock showed at the origin.
    pub(crate) fn alone_requests(&self) -> impl Iterator<Item = (&Weighed, i64)> {
        let clock = self.weighed.first().map(|w| w.clock);
        let first = self.weighed.iter().filter(move |w| Some(w.clock) == clock);
        let origin = first.clone().filter_map(Weighed::first_ns).min().unwrap_or(0);
        first.map(move |w| (w, origin))
    }

    /// Joins and aligns one recording by itself.
    pub(crate) fn weigh(&mut self, position: usize, recording: &Recording, sole: bool) {
        let requests = requests_of(recording);
        let mut joined = join::join(&self.trace.requests, &requests);
        let resolution = recording.resolution_ns;
        let by_requests = joined.as_ref().and_then(|j| align::from_requests(j, &self.trace.requests, &requests));
        let by_curves =
            || match align::from_tokens(&self.trace, &recording.samples.points(Curve::OutputTokens), resolution) {
                TokenFit::Fits(alignment) => Some(alignment),
                // Levels are coarser: they cannot overrule a counter.
                TokenFit::Contradicts => None,
                TokenFit::Silent => align::from_levels(&self.trace, &levels(recording), resolution),
            };
        let found = by_requests.or_else(by_curves);
        let alignment = found.filter(|a| recording.clock == StampClock::Monotonic || self.saved_after(a.origin_ns));
        // Requests that would have to be from another time of day are another run's, unless ids say otherwise.
        joined = joined.filter(|j| j.rule == JoinRule::Id || alignment.is_some() || !has_times(&requests));
        let times = requests.iter().filter_map(|r| r.arrival_ns);
        let span = recording.samples.span().into_iter().flat_map(|(a, b)| [a, b]);
        let all: Vec<i64> = times.chain(span).chain(recording.events.iter().map(|e| e.at_ns)).collect();
        self.weighed.push(Weighed {
            position,
            joined,
            alignment,
            clock: recording.clock,
            resolution_ns: recording.resolution_ns,
            span: all.iter().copied().min().zip(all.iter().copied().max()),
            requests,
            sole,
            origin_ns: None,
        });
    }

    /// The client saved its file right after the run: by its local time, of whatever zone, the run has to end shortly
    /// before. Two runs of the same workload, which no curve can tell apart, are told apart by this.
    fn saved_after(&self, origin_ns: i64) -> bool {
        let (Some(saved), Some(end)) = (self.saved_local_ns, self.trace.end_ns()) else { return true };
        let after = saved.saturating_sub(origin_ns.saturating_add(end));
        (SAVED_EARLIEST_NS..=SAVED_LATEST_NS).contains(&centred(after, ZONE_NS))
    }

    /// Settles where each recording's clock lies; returns the run's server clock. Recordings that neither lie beside
    /// this run alone nor fit it are dropped.
    pub(super) fn settle(&mut self) -> Option<ServerClock> {
        self.weighed.retain(|w| {
            w.sole || w.joined.is_some() || w.alignment.as_ref().is_some_and(|a| within(w, a, &self.trace))
        });
        let reference = self.reference();
        for w in &mut self.weighed {
            w.origin_ns = match (&reference, w.clock) {
                (Some((clock, r)), StampClock::Unix) if *clock == StampClock::Unix => Some(r.origin_ns),
                (Some((clock, r)), StampClock::Local) if *clock == StampClock::Unix => zoned(w, r),
                _ => w.alignment.as_ref().map(|a| a.origin_ns),
            };
        }
        let own_clock = self.weighed.iter().map(|w| w.clock).min_by_key(|c| *c != StampClock::Unix);
        let own_origin = self.weighed.iter().filter(|w| Some(w.clock) == own_clock).filter_map(Weighed::first_ns).min();
        let first = self.weighed.iter().min_by_key(|w| (w.clock != StampClock::Unix, w.position))?;
        let kind = |clock| if clock == StampClock::Monotonic { ClockKind::Monotonic } else { ClockKind::Wall };
        Some(match reference {
            Some((clock, r)) => ServerClock {
                kind: kind(clock),
                origin_unix_ns: Some(r.origin_ns),
                // Without a reading of the client's clock there is nothing to subtract.
                offset_ns: self.client_origin_source_ns.map(|source| r.origin_ns.saturating_sub(source)),
                offset_uncertainty_ns: Some(r.uncertainty_ns),
                drift_ppm: r.drift_ppm,
                how: r.how,
            },
            None => ServerClock {
                kind: kind(first.clock),
                origin_unix_ns: own_origin,
                offset_ns: None,
                offset_uncertainty_ns: None,
                drift_ppm: None,
                how: self.why_not(),
            },
        })
    }

    /// The alignment that all recordings of Unix time share, else the best of any other clock.
    fn reference(&self) -> Option<(StampClock, Alignment)> {
        if let (Some(offset), Some(source)) = (self.user_offset_ns, self.client_origin_source_ns) {
            let how = "given by the user".to_string();
            let origin_ns = source.saturating_add(offset);
            return Some((StampClock::Unix, Alignment { origin_ns, uncertainty_ns: 0, drift_ppm: None, how }));
        }
        let best = |clock: StampClock| {
            let all = self.weighed.iter().filter(|w| w.clock == clock).filter_map(|w| w.alignment.as_ref());
            all.min_by_key(|a| a.uncertainty_ns).map(|a| (clock, a.clone()))
        };
        let assumed = || {
            let any = self.weighed.iter().any(|w| w.clock == StampClock::Unix);
            let origin_ns = self.client_origin_unix_ns.filter(|_| any && self.client_kind == ClockKind::Wall)?;
            let how =
                "both clocks are wall time and taken as equal; nothing in the recordings could check it".to_string();
            let alignment = Alignment { origin_ns, uncertainty_ns: WALL_CLOCKS_NS, drift_ppm: None, how };
            Some((StampClock::Unix, alignment))
        };
        best(StampClock::Unix)
            .or_else(assumed)
            .or_else(|| best(StampClock::Local))
            .or_else(|| best(StampClock::Monotonic))
    }

    fn why_not(&self) -> String {
        let why = match self.client_kind {
            _ if self.alone => "no file of a client to align with",
            ClockKind::None => "the client recorded no points in time",
            _ => "no request could be joined, and no curve of the server fits the client's well enough",
        };
        format!("not aligned: {why}")
    }
}

impl Weighed {
    /// The first moment it tells of.
    pub(crate) fn first_ns(&self) -> Option<i64> {
        self.span.map(|s| s.0)
    }

    pub(crate) fn is_unix(&self) -> bool {
        self.clock == StampClock::Unix
    }
}

/// What is left of `ns` when whole multiples of `step` are taken off, from -step/2 on.
fn centred(ns: i64, step: i64) -> i64 {
    (ns.saturating_add(step / 2)).rem_euclid(step) - step / 2
}

fn has_times(requests: &[ServerRequest]) -> bool {
    requests.iter().any(|r| r.arrival_ns.is_some())
}

/// `20261130-074000` as if it were UTC.
fn local_ns(date: &str) -> Option<i64> {
    let (day, time) = date.split_once('-')?;
    let part = |text: &str, from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    if day.len() != 8 || time.len() != 6 {
        return None;
    }
    let days = days_from_civil(part(day, 0, 4)?, part(day, 4, 6)?, part(day, 6, 8)?);
    let seconds = part(time, 0, 2)? * 3600 + part(time, 2, 4)? * 60 + part(time, 4, 6)?;
    days.checked_mul(86_400)?.checked_add(seconds)?.checked_mul(SECOND)
}

/// The run lies inside the recording.
fn within(w: &Weighed, a: &Alignment, trace: &ClientTrace) -> bool {
    let slack = 60 * SECOND;
    w.span.zip(trace.end_ns()).is_some_and(|((first, last), end)| {
        a.origin_ns >= first.saturating_sub(slack) && a.origin_ns.saturating_add(end) <= last.saturating_add(slack)
    })
}

/// The origin on a clock of local time, once the same moment is known in Unix time: they differ by a zone (and, where
/// the log has no year, by whole days).
fn zoned(w: &Weighed, unix: &Alignment) -> Option<i64> {
    let round = |ns: i64| (ns as f64 / ZONE_NS as f64).round() as i64 * ZONE_NS;
    if let Some(own) = &w.alignment {
        let zone = round(own.origin_ns.saturating_sub(unix.origin_ns));
        let rest = own.origin_ns - unix.origin_ns - zone;
        return (rest.abs() <= own.uncertainty_ns + 3 * SECOND).then(|| unix.origin_ns + zone - w.resolution_ns / 2);
    }
    None
}

/// Running plus waiting requests, and token rates, as the recording has them.
fn levels(recording: &Recording) -> Vec<(i64, Level)> {
    let waiting: std::collections::BTreeMap<i64, f64> = recording.samples.points(Curve::Waiting).into_iter().collect();
    let running = recording.samples.points(Curve::Running);
    let mut out: Vec<(i64, Level)> =
        running.iter().map(|(at, n)| (*at, Level::InFlight(n + waiting.get(at).copied().unwrap_or(0.0)))).collect();
    let rates = recording.samples.points(Curve::OutputTokenRate);
    let mut steps: Vec<i64> = rates.windows(2).map(|w| w[1].0 - w[0].0).filter(|s| *s > 0).collect();
    steps.sort_unstable();
    // Idle intervals are not printed, so the usual distance is the interval.
    if let Some(interval_ns) = steps.get(steps.len() / 4).copied() {
        out.extend(rates.iter().map(|(at, per_s)| (*at, Level::TokenRate { per_s: *per_s, interval_ns })));
    }
    out.sort_by_key(|(at, _)| *at);
    out
}
