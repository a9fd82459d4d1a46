//! Curves over the measured phase: how many requests are under way, and at which rate tokens come, at every moment.
//!
//! A request is in prefill from its send to its first token, and in decode from there to the end of its response; its prompt
//! is spread evenly over the one. Its output but the first token is spread over the gaps between its chunks, the same number to
//! each gap that lasted, or evenly over the whole decode where no chunk times are recorded. In flight are the tokens of its
//! prompt from the send, one of its output from the first token, and the rest in equal parts with every later chunk.
//!
//! Two points a gap are held at once, so a run with more than [`MOST_GAPS`] has no curves.

use super::facts::{Columns, Fact, RequestFacts};
use super::quantity::{output, prompt};
use super::recipe::{Clock, Idle, Recipe};
use super::steps::Steps;
use crate::chunk_scan::ChunkScan;
use crate::error::AnalysisError;
use crate::moments::gap;
use crate::requests::Requests;
use crate::summary::Summary;
use postrun_schema::Dataset;
use std::ops::Range;

/// Gaps of a run of which curves are drawn, at most.
pub(crate) const MOST_GAPS: usize = 1 << 22;
const PER_SECOND: f64 = 1e9;

/// A curve, and what tells when there is anything to see on it.
pub(crate) struct LoadCurve {
    /// Name under which clients report it.
    pub id: &'static str,
    draw: fn(&Streams) -> Steps,
    /// Idle is where this is 0.
    busy: fn(&Streams) -> Steps,
    needs: &'static [Fact],
}

const TIMES: &[Fact] = &[Fact::WallClock, Fact::MeasuredFrom, Fact::ResponseEnd];
const TOKENS: &[Fact] =
    &[Fact::WallClock, Fact::MeasuredFrom, Fact::ResponseEnd, Fact::ClientPromptTokens, Fact::ClientOutputTokens];

const fn curve(
    id: &'static str,
    draw: fn(&Streams) -> Steps,
    busy: fn(&Streams) -> Steps,
    needs: &'static [Fact],
) -> LoadCurve {
    LoadCurve { id, draw, busy, needs }
}

/// Every curve that a client may report statistics of.
pub(crate) static LOAD_CURVES: &[LoadCurve] = &[
    curve("concurrency_over_time", Streams::under_way, Streams::under_way, TIMES),
    curve("prefill_concurrency_over_time", Streams::in_prefill, Streams::in_prefill, TIMES),
    curve("decode_concurrency_over_time", Streams::in_decode, Streams::in_decode, TIMES),
    curve("prefill_tokens_per_s_over_time", Streams::prefill_rate, Streams::in_prefill, TOKENS),
    curve("decode_tokens_per_s_over_time", Streams::decode_rate, Streams::in_decode, TOKENS),
    curve("total_tokens_per_s_over_time", Streams::total_rate, Streams::under_way, TOKENS),
    curve(
        "prefill_tokens_per_s_per_request_over_time",
        |s| s.prefill_rate().by(&s.in_prefill()),
        Streams::in_prefill,
        TOKENS,
    ),
    curve(
        "decode_tokens_per_s_per_request_over_time",
        |s| s.decode_rate().by(&s.in_decode()),
        Streams::in_decode,
        TOKENS,
    ),
    curve("tokens_in_flight_over_time", Streams::tokens_in_flight, Streams::under_way, TOKENS),
];

pub(crate) fn find(id: &str) -> Option<&'static LoadCurve> {
    LOAD_CURVES.iter().find(|c| c.id == id)
}

impl LoadCurve {
    /// Its statistics over the measured phase.
    pub(crate) fn summary(&self, steps: &Steps, streams: &Streams, idle: Idle, percentiles: &[f64]) -> Summary {
        let busy = (idle == Idle::Left).then(|| (self.busy)(streams));
        steps.summary(streams.measured, busy.as_ref(), percentiles)
    }

    pub(crate) fn draw(&self, streams: &Streams) -> Steps {
        (self.draw)(streams)
    }

    /// What it is made of, in order.
    pub(crate) fn needs(&self) -> &'static [Fact] {
        self.needs
    }
}

/// The requests of a run in time. Points in time and gaps are in nanoseconds, NaN where they are not known.
pub(crate) struct Streams {
    measured: (f64, f64),
    requests: Vec<Stream>,
    /// Of all requests, in their order.
    gaps: Vec<f64>,
}

struct Stream {
    start: f64,
    first: f64,
    end: f64,
    prompt: f64,
    output: f64,
    gaps: Range<usize>,
}

impl Stream {
    fn new(f: &RequestFacts, recipe: &Recipe, point: impl Fn(i64) -> f64) -> Stream {
        let known = |at: Option<i64>| at.map_or(f64::NAN, &point);
        let tokens = |n: Option<u32>| n.map_or(f64::NAN, f64::from);
        let [_, sent, end] = f.unix;
        Stream {
            start: known(sent),
            first: known(sent.zip(f.first_token).map(|(sent, first)| sent.saturating_add(first))),
            end: known(end),
            prompt: tokens(prompt(f, recipe)),
            output: tokens(output(f, recipe)),
            gaps: 0..0,
        }
    }
}

impl Streams {
    /// The requests that were sent in the measured phase; `Err`: what the curves lack.
    pub(crate) fn read(
        dataset: &Dataset,
        requests: &Requests,
        columns: &Columns,
        recipe: &Recipe,
    ) -> Result<Result<Streams, Fact>, AnalysisError> {
        let manifest = dataset.manifest();
        let measured = manifest.duration_from_unix_ns.zip(manifest.duration_ns.filter(|ns| *ns > 0));
        let Some((from, duration)) = measured else { return Ok(Err(Fact::MeasuredFrom)) };
        let scan = ChunkScan::new(dataset, requests)?;
        let gaps: u64 = requests.chunks.iter().flatten().map(|n| u64::from(n.saturating_sub(1))).sum();
        if gaps > MOST_GAPS as u64 {
            return Ok(Err(Fact::RoomForGaps));
        }
        let point = |unix_ns: i64| match recipe.clock {
            // A float of Unix nanoseconds.
            Clock::FloatNanoseconds => unix_ns as f64,
            Clock::Exact | Clock::FloatSeconds => unix_ns.saturating_sub(from) as f64,
        };
        let measured = (point(from), point(from.saturating_add(duration)));
        let mut streams = Streams { measured, requests: Vec::with_capacity(requests.len()), gaps: Vec::new() };
        for i in 0..requests.len() {
            let mut stream = Stream::new(&columns.request(requests, i, &[]), recipe, point);
            if !requests.measured[i] || !(measured.0..measured.1).contains(&stream.start) {
                stream.start = f64::NAN;
                (stream.first, stream.end) = (f64::NAN, f64::NAN);
            }
            streams.requests.push(stream);
        }
        if let Some(scan) = scan {
            scan.run(|chunks| {
                let from = streams.gaps.len();
                streams.gaps.extend(chunks.at_ns.windows(2).map(|w| gap(w[0], w[1]) as f64));
                if let Some(stream) = streams.requests.get_mut(chunks.request) {
                    stream.gaps = from..streams.gaps.len();
                }
            })?;
        }
        Ok(Ok(streams))
    }

    /// How many lie between two of their points.
    fn between(&self, from: fn(&Stream) -> f64, to: fn(&Stream) -> f64) -> Steps {
        let spans = self.requests.iter().map(|s| (from(s), to(s))).filter(|(a, b)| !a.is_nan() && !b.is_nan());
        Steps::of(spans.flat_map(|(from, to)| [(from, 1.0), (to, -1.0)]).collect())
    }

    fn under_way(&self) -> Steps {
        self.between(|s| s.start, |s| s.end)
    }

    fn in_prefill(&self) -> Steps {
        self.between(|s| s.start, |s| s.first)
    }

    fn in_decode(&self) -> Steps {
        self.between(|s| s.first, |s| s.end)
    }

    fn prefill_changes(&self) -> impl Iterator<Item = (f64, f64)> {
        let lasted = self.requests.iter().filter(|s| s.first > s.start && !s.prompt.is_nan());
        lasted.flat_map(|s| spread(s.prompt, s.start, s.first))
    }

    /// Evenly from the first token to the end.
    fn even_decode_changes(&self) -> impl Iterator<Item = (f64, f64)> {
        let lasted = self.requests.iter().filter(|s| s.end > s.first && s.output >= 1.0);
        lasted.flat_map(|s| spread(s.output - 1.0, s.first, s.end))
    }

    fn prefill_rate(&self) -> Steps {
        Steps::of(self.prefill_changes().collect())
    }

    fn total_rate(&self) -> Steps {
        Steps::of(self.prefill_changes().chain(self.even_decode_changes()).collect())
    }

    fn decode_rate(&self) -> Steps {
        if self.gaps.is_empty() {
            return Steps::of(self.even_decode_changes().collect());
        }
        let mut changes = Vec::with_capacity(2 * self.gaps.len());
        for s in self.requests.iter().filter(|s| !s.first.is_nan() && s.output >= 1.0) {
            let gaps = &self.gaps[s.gaps.clone()];
            let lasting = gaps.iter().filter(|gap| **gap > 0.0).count() as f64;
            let mut since_first = 0.0;
            for gap in gaps.iter().filter(|gap| **gap > 0.0) {
                since_first += gap;
                // The clock may be coarse: the gap itself is not.
                let end = s.first + since_first;
                let rate = (s.output - 1.0) / lasting / gap * PER_SECOND;
                changes.extend([(end - gap, rate), (end, -rate)]);
            }
        }
        Steps::of(changes)
    }

    fn tokens_in_flight(&self) -> Steps {
        let mut changes = Vec::with_capacity(self.gaps.len() + 3 * self.requests.len());
        for s in &self.requests {
            let prompt = if s.first > s.start && !s.prompt.is_nan() { s.prompt } else { 0.0 };
            let output = match self.gaps.is_empty() {
                true if s.end > s.first && !s.output.is_nan() => {
                    changes.push((s.first, s.output));
                    s.output
                }
                true => 0.0,
                false => self.growth(s, &mut changes),
            };
            if prompt > 0.0 {
                changes.push((s.start, prompt));
            }
            if !s.end.is_nan() && prompt + output > 0.0 {
                changes.push((s.end, -(prompt + output)));
            }
        }
        Steps::of(changes)
    }

    /// One token with the first chunk, the rest with the later ones, before the end of the response. How many there are.
    fn growth(&self, s: &Stream, changes: &mut Vec<(f64, f64)>) -> f64 {
        let gaps = &self.gaps[s.gaps.clone()];
        if gaps.is_empty() || s.first.is_nan() || s.output.is_nan() || s.output < 1.0 {
            return 0.0;
        }
        changes.push((s.first, 1.0));
        let (each, mut at) = ((s.output - 1.0) / gaps.len() as f64, 0.0);
        for gap in gaps {
            at += gap;
            let came = s.first + at;
            changes.push((if came >= s.end { s.end.next_down() } else { came }, each));
        }
        s.output
    }
}

/// The rate of an amount that is spread evenly over a span.
fn spread(amount: f64, from: f64, to: f64) -> [(f64, f64); 2] {
    let rate = amount / (to - from) * PER_SECOND;
    [(from, rate), (to, -rate)]
}
