//! Joins recordings of the server's side to one run of a client: clocks, requests, samples, events, settings.

use super::align::{self, Alignment, MS, SECOND};
use super::align_levels::{self, Level};
use super::align_tokens::{self, TokenFit};
use super::claims::Claim;
use super::client_trace::ClientTrace;
use super::join::{self, JoinRule, Joined};
use super::recording::{Recording, ServerRequest};
use super::request::requests_of;
use super::spool::Curve;
use super::zone::{self, ZONE_NS, centred, saved_local_ns, started_unix_ns};
use crate::error::IngestError;
use crate::sink::Collected;
use crate::text::stamp::StampClock;
use postrun_schema::{ClockKind, ServerClock, counted};

/// A file is saved a moment after the run; clocks may differ by seconds, …
const SAVED_EARLIEST_NS: i64 = -5 * SECOND;
const SAVED_LATEST_NS: i64 = 20 * SECOND;
/// … and what is computed first grows with the run: a tenth of its time, up to a minute.
const SAVED_PART: i64 = 10;
const SAVED_AT_ALL_NS: i64 = 60 * SECOND;
/// A stage of a sweep begins so long after the client did, at most.
const STARTED_LATEST_NS: i64 = 3600 * SECOND;
/// What the client sampled of its machine may begin or end this long before or after a run: each stage has its part.
const BESIDE_NS: i64 = SECOND;
/// What two wall clocks that nothing could compare are taken to differ by.
const WALL_CLOCKS_NS: i64 = SECOND;
/// A user's offset may differ from what recordings say by this beyond their uncertainty.
const CHECKED_TO_NS: i64 = 5 * MS;

/// What is known about the recordings that may belong to a run.
pub(crate) struct Evidence {
    pub(super) trace: ClientTrace,
    /// Files of the server's side alone.
    pub(super) alone: bool,
    client_kind: ClockKind,
    client_origin_source_ns: Option<i64>,
    client_origin_unix_ns: Option<i64>,
    /// Formats of the files that the run was read from.
    client_formats: Vec<String>,
    user_offset_ns: Option<i64>,
    model: Option<String>,
    /// Local time at which the client saved its file, as if it were UTC.
    saved_local_ns: Option<i64>,
    /// When it began, in Unix time.
    started_unix_ns: Option<i64>,
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
    /// Two stretches of it fit the run about as well.
    pub ambiguous: bool,
    /// It has as many requests as the client sent, and they are not the client's.
    refuted: bool,
    /// It holds values of devices and nothing that clocks are aligned by.
    device: bool,
    /// Models of client and server, where they differ.
    pub other_model: Option<String>,
    /// Its clock puts the run where the client says that it began, which another server's would hardly do.
    when_started: bool,
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
            client_formats: run.run.manifest.sources.iter().map(|source| source.format.clone()).collect(),
            user_offset_ns,
            model: run.run.manifest.model.clone(),
            saved_local_ns: saved_local_ns(&run.run.manifest.load),
            started_unix_ns: started_unix_ns(&run.run.manifest.load),
            weighed: Vec::new(),
        })
    }

    /// What the recordings say of their place in the run, each for itself.
    pub(crate) fn claims(&self, run: usize) -> Vec<Claim> {
        let run_ns = self.trace.end_ns().unwrap_or(0);
        let fitting = self.weighed.iter().filter(|w| w.fits(&self.trace));
        let claim = |w: &Weighed| {
            let a = w.alignment.as_ref()?;
            let window = (a.origin_ns, a.origin_ns.saturating_add(run_ns));
            let joined = w.joined.is_some();
            Some(Claim { run, recording: w.position, window, uncertainty_ns: a.uncertainty_ns, joined })
        };
        fitting.filter_map(claim).collect()
    }

    /// For a run without a client.
    pub(crate) fn alone() -> Evidence {
        Evidence {
            trace: ClientTrace::none(),
            alone: true,
            client_kind: ClockKind::None,
            client_origin_source_ns: None,
            client_origin_unix_ns: None,
            client_formats: Vec::new(),
            user_offset_ns: None,
            model: None,
            saved_local_ns: None,
            started_unix_ns: None,
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
        let mut joined = join::join(&self.trace.requests, &requests, self.saved_local_ns.is_some());
        let resolution = recording.resolution_ns;
        let credible = |origin_ns| recording.clock == StampClock::Monotonic || self.saved_after(origin_ns);
        let by_requests = joined
            .as_ref()
            .and_then(|j| align::from_requests(j, &self.trace.requests, &requests))
            .filter(|a| credible(a.origin_ns));
        // Requests that would have to be from another time of day, or before they were sent, are another run's, unless
        // ids say otherwise.
        let comparable = has_times(&requests) && self.trace.end_ns().is_some();
        joined = joined.filter(|j| j.rule == JoinRule::Id || by_requests.is_some() || !comparable);
        let refuted = joined.is_none() && comparable && requests.len() >= self.trace.requests.len();
        let mut ambiguous = false;
        let alignment = self.on_own_clock(recording).or(by_requests).or_else(|| {
            let tokens = recording.samples.points(Curve::OutputTokens);
            match align_tokens::from_tokens(&self.trace, &tokens, resolution, &credible) {
                TokenFit::Fits(alignment) => Some(alignment),
                TokenFit::Ambiguous => {
                    ambiguous = true;
                    None
                }
                // Levels are coarser: they cannot overrule a counter.
                TokenFit::Contradicts => None,
                TokenFit::Silent => align_levels::from_levels(&self.trace, &levels(recording), resolution, &credible),
            }
        });
        let when_started = recording.clock == StampClock::Unix
            && self.started_unix_ns.zip(alignment.as_ref()).is_some_and(|(started, a)| {
                (SAVED_EARLIEST_NS..=STARTED_LATEST_NS).contains(&a.origin_ns.saturating_sub(started))
            });
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
            ambiguous,
            refuted,
            device: recording.samples.is_of_devices(),
            other_model: self.other_model(recording),
            when_started,
            origin_ns: None,
        });
    }

    /// Of a file that the client wrote by its own clock, while this run was under way.
    fn on_own_clock(&self, recording: &Recording) -> Option<Alignment> {
        let StampClock::Client(format) = recording.clock else { return None };
        let origin_ns = self.client_origin_source_ns.filter(|_| self.client_formats.iter().any(|f| f == format))?;
        let (first, last) = recording.samples.span()?;
        let until = origin_ns.saturating_add(self.trace.end_ns()?);
        let during = origin_ns <= last.saturating_add(BESIDE_NS) && until >= first.saturating_sub(BESIDE_NS);
        let how = "its times are of the client's own clock".to_string();
        during.then_some(Alignment { origin_ns, uncertainty_ns: 0, drift_ppm: None, how })
    }

    /// The names under which the server served, where the client asked for none of them.
    fn other_model(&self, recording: &Recording) -> Option<String> {
        let asked = self.model.as_deref()?;
        let served = &recording.served_models;
        let same = |name: &String| name.trim_end_matches('/').eq_ignore_ascii_case(asked.trim_end_matches('/'));
        let names = || served.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        (!served.is_empty() && !served.iter().any(same)).then(|| format!("{asked} asked for, {} served", names()))
    }

    /// The client saved its file right after the run: by its local time, of whatever zone, the run has to end shortly
    /// before. Two runs of the same workload, which no curve can tell apart, are told apart by this.
    fn saved_after(&self, origin_ns: i64) -> bool {
        let (Some(saved), Some(end)) = (self.saved_local_ns, self.trace.end_ns()) else { return true };
        let after = saved.saturating_sub(origin_ns.saturating_add(end));
        let latest = (end / SAVED_PART).clamp(SAVED_LATEST_NS, SAVED_AT_ALL_NS);
        (SAVED_EARLIEST_NS..=latest).contains(&centred(after, ZONE_NS))
    }

    /// Settles where each recording's clock lies; returns the run's server clock. Recordings that neither lie beside
    /// this run alone nor fit it are dropped.
    pub(super) fn settle(&mut self) -> Option<ServerClock> {
        self.weighed.retain(|w| w.sole || w.fits(&self.trace));
        self.drop_refuted();
        let reference = self.reference();
        for w in &mut self.weighed {
            w.origin_ns = match (&reference, w.clock) {
                (Some((clock, r)), StampClock::Unix) if *clock == StampClock::Unix => Some(r.origin_ns),
                (Some((clock, r)), StampClock::Local) if *clock == StampClock::Unix => {
                    let own = w.alignment.as_ref();
                    own.and_then(|own| zone::by_alignment(own.origin_ns, own.uncertainty_ns, r.origin_ns))
                        .map(|origin| origin.saturating_sub(w.resolution_ns / 2))
                }
                _ => w.alignment.as_ref().map(|a| a.origin_ns),
            };
        }
        if let Some((StampClock::Unix, r)) = &reference {
            self.place_devices(r.origin_ns);
        }
        let own_clock = self.weighed.iter().map(|w| w.clock).min_by_key(|c| *c != StampClock::Unix);
        let own_origin = self.weighed.iter().filter(|w| Some(w.clock) == own_clock).filter_map(Weighed::first_ns).min();
        let first = self.weighed.iter().min_by_key(|w| (w.clock != StampClock::Unix, w.position))?;
        let kind = |clock| match clock {
            StampClock::Monotonic => ClockKind::Monotonic,
            StampClock::Client(_) => self.client_kind,
            StampClock::Unix | StampClock::Local => ClockKind::Wall,
        };
        Some(match reference {
            Some((clock, r)) => ServerClock {
                kind: kind(clock),
                origin_unix_ns: Some(r.origin_ns),
                // Without a reading of the client's clock there is nothing to subtract; a local clock has an unknown zone
                // and perhaps an unknown year, so its reading is no offset.
                offset_ns: self
                    .client_origin_source_ns
                    .filter(|_| clock != StampClock::Local)
                    .map(|source| r.origin_ns.saturating_sub(source)),
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

    /// A curve cannot place the run where a recording of the same time has requests, and they are not the client's.
    fn drop_refuted(&mut self) {
        let Some(run_ns) = self.trace.end_ns() else { return };
        let others: Vec<(StampClock, (i64, i64))> =
            self.weighed.iter().filter(|w| w.refuted).filter_map(|w| Some((w.clock, w.span?))).collect();
        for w in self.weighed.iter_mut().filter(|w| w.joined.is_none()) {
            let clock = w.clock;
            let refuted = |a: &Alignment| {
                others.iter().any(|(c, (first, last))| {
                    // Clocks of two kinds lie whole zones apart.
                    let late = a.origin_ns.saturating_sub(*first);
                    let late = if *c == clock { late } else { centred(late, ZONE_NS) };
                    late <= last.saturating_sub(*first) && late.saturating_add(run_ns) >= 0
                })
            };
            w.alignment = w.alignment.take().filter(|a| !refuted(a));
        }
    }

    /// What the recordings say against the offset that the user gave, with the offset they say.
    pub(super) fn against_user(&self) -> Option<String> {
        let origin = self.client_origin_source_ns?.saturating_add(self.user_offset_ns?);
        let (w, own) = self.best(StampClock::Unix)?;
        let off = origin.saturating_sub(own.origin_ns);
        (off.saturating_abs() > own.uncertainty_ns.saturating_add(CHECKED_TO_NS)).then(|| {
            let requests = w.joined.as_ref().map_or(0, Joined::count);
            let by = if requests > 0 { counted(requests as u64, "joined request") } else { own.how.clone() };
            format!("{} ms away from what follows from {by} (±{} ms)", shown_ms(off), shown_ms(own.uncertainty_ns))
        })
    }

    fn best(&self, clock: StampClock) -> Option<(&Weighed, &Alignment)> {
        let all = self.weighed.iter().filter(|w| w.clock == clock);
        all.filter_map(|w| Some((w, w.alignment.as_ref()?))).min_by_key(|(_, a)| a.uncertainty_ns)
    }

    /// Recordings of local time that nothing can align lie where their zone puts them, if only one can.
    fn place_devices(&mut self, unix: i64) {
        let Some(run_ns) = self.trace.end_ns() else { return };
        let logs = self.weighed.iter().filter(|w| w.clock == StampClock::Local);
        let whole = |apart: i64| apart.saturating_sub(centred(apart, ZONE_NS));
        let known = logs.filter_map(|w| w.origin_ns).map(|o| whole(o.saturating_sub(unix))).next();
        for w in self.weighed.iter_mut().filter(|w| w.clock == StampClock::Local && w.device) {
            w.origin_ns = w.span.and_then(|span| zone::by_span(span, unix, run_ns, known));
        }
    }

    /// The alignment that all recordings of Unix time share, else the best of any other clock.
    fn reference(&self) -> Option<(StampClock, Alignment)> {
        if let (Some(offset), Some(source)) = (self.user_offset_ns, self.client_origin_source_ns) {
            let how = "given by the user".to_string();
            let origin_ns = source.saturating_add(offset);
            // As far as the recordings can check it.
            let off = |own: &Alignment| origin_ns.saturating_sub(own.origin_ns).saturating_abs();
            let refuted = self.against_user().and_then(|_| self.best(StampClock::Unix));
            let uncertainty_ns = refuted.map_or(0, |(_, own)| off(own).saturating_add(own.uncertainty_ns));
            return Some((StampClock::Unix, Alignment { origin_ns, uncertainty_ns, drift_ppm: None, how }));
        }
        let best = |clock: StampClock| self.best(clock).map(|(_, a)| (clock, a.clone()));
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
            .or_else(|| {
                self.weighed.iter().map(|w| w.clock).find(|c| matches!(c, StampClock::Client(_))).and_then(best)
            })
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
    /// It is the run's without being beside it alone: its requests are, or its clock puts the run inside it.
    fn fits(&self, trace: &ClientTrace) -> bool {
        let slack = 60 * SECOND;
        let inside = |a: &Alignment| {
            self.span.zip(trace.end_ns()).is_some_and(|((first, last), end)| {
                a.origin_ns >= first.saturating_sub(slack)
                    && a.origin_ns.saturating_add(end) <= last.saturating_add(slack)
            })
        };
        let own_clock = matches!(self.clock, StampClock::Client(_)) && self.alignment.is_some();
        self.joined.is_some()
            || own_clock
            || ((self.other_model.is_none() || self.when_started) && self.alignment.as_ref().is_some_and(inside))
    }

    /// Its place in the run rests on something, so it speaks before those whose place does not.
    pub(super) fn is_proven(&self) -> bool {
        self.joined.is_some() || self.alignment.is_some()
    }

    /// The first moment it tells of.
    pub(crate) fn first_ns(&self) -> Option<i64> {
        self.span.map(|s| s.0)
    }

    /// How fast its clock runs against the client's, where the run's server clock does.
    pub(super) fn drift_ppm(&self, clock: &ServerClock) -> Option<f64> {
        clock.drift_ppm.filter(|_| !matches!(self.clock, StampClock::Client(_)))
    }

    pub(crate) fn is_unix(&self) -> bool {
        self.clock == StampClock::Unix
    }
}

fn shown_ms(ns: i64) -> String {
    format!("{:.1}", ns as f64 / 1e6)
}

fn has_times(requests: &[ServerRequest]) -> bool {
    requests.iter().any(|r| r.arrival_ns.is_some())
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
