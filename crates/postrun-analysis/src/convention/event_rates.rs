//! Rates and levels between events, as GuideLLM takes them: of the answered requests, over its measurement.
//!
//! Every event (an end of a request, a prompt that was read, a token) stands for the time from half-way to the event before it to
//! half-way to the next, and its rate is its amount by that time. Events within a tenth of a millisecond of the first of them are
//! one. Between the first and the last token of a request the tokens are spread evenly over as many chunks as were counted. A
//! value counts for as long as it lasted.

use super::facts::{Columns, Fact, RequestFacts};
use super::load_curves::MOST_GAPS;
use super::quantity::{float_seconds, output, prompt};
use super::recipe::{POSTRUN, Recipe};
use super::weighted::{Weighted, summarise};
use crate::requests::Requests;
use crate::summary::Summary;
use postrun_schema::Manifest;

/// Events that lie no further apart are one, in seconds.
const ONE_EVENT_S: f64 = 1e-4;
/// The last event lasts at least so long, in seconds.
const LEAST_S: f64 = 1e-6;

/// A rate or a level.
pub(crate) struct EventRate {
    /// Name under which clients report it.
    pub id: &'static str,
    of: Of,
}

#[derive(Clone, Copy)]
enum Of {
    /// What happened and when, in seconds, one request at a time.
    Events(fn(&RequestFacts) -> Vec<(f64, f64)>),
    /// Requests under way.
    Level,
}

/// Every one that a client may report statistics of.
pub(crate) static EVENT_RATES: &[EventRate] = &[
    EventRate { id: "requests_per_s_between_events", of: Of::Events(|f| vec![(end(f), 1.0)]) },
    EventRate { id: "prompt_tokens_per_s_between_events", of: Of::Events(|f| vec![prompt_read(f)]) },
    EventRate { id: "output_tokens_per_s_between_events", of: Of::Events(outputs) },
    EventRate {
        id: "total_tokens_per_s_between_events",
        of: Of::Events(|f| std::iter::once(prompt_read(f)).chain(outputs(f)).collect()),
    },
    EventRate { id: "concurrency_between_events", of: Of::Level },
];

pub(crate) fn find(id: &str) -> Option<&'static EventRate> {
    EVENT_RATES.iter().find(|rate| rate.id == id)
}

/// A point since the send as a float of Unix seconds; NaN where it is not known.
pub(super) fn unix_s(f: &RequestFacts, since_send: Option<i64>) -> f64 {
    let at = f.unix[1].zip(since_send).map(|(sent, since)| sent.saturating_add(since));
    at.map_or(f64::NAN, float_seconds)
}

pub(super) fn end(f: &RequestFacts) -> f64 {
    f.unix[2].map_or(f64::NAN, float_seconds)
}

fn prompt_read(f: &RequestFacts) -> (f64, f64) {
    let at = if f.first_token.is_some() { unix_s(f, f.first_token) } else { end(f) };
    (at, prompt(f, &POSTRUN).map_or(0.0, f64::from))
}

/// One token with the first chunk, the rest evenly with the others; all at the end where no chunks are known.
fn outputs(f: &RequestFacts) -> Vec<(f64, f64)> {
    let tokens = output(f, &POSTRUN).map_or(0.0, f64::from);
    let (first, last) = (unix_s(f, f.first_token), unix_s(f, f.last_token));
    let chunks = f.counted_chunks.unwrap_or(0);
    if first.is_nan() || last.is_nan() || chunks <= 1 {
        return vec![(if last.is_nan() { end(f) } else { last }, tokens)];
    }
    let one = vec![(first, if tokens > 0.0 { 1.0 } else { 0.0 })];
    if tokens <= 1.0 {
        return one;
    }
    let later = chunks - 1;
    let (step, each) = ((last - first) / f64::from(later), (tokens - 1.0) / f64::from(later));
    let at = |k: u32| if k == later { last } else { f64::from(k) * step + first };
    one.into_iter().chain((1..=later).map(|k| (at(k), each))).collect()
}

/// When the client's measurement began and ended, as floats of Unix seconds.
pub(super) fn span(manifest: &Manifest) -> Result<(f64, f64), Fact> {
    let from = manifest.duration_from_unix_ns.ok_or(Fact::MeasuredFrom)?;
    let to = from.saturating_add(manifest.duration_ns.ok_or(Fact::MeasuredFrom)?);
    Ok((float_seconds(from), float_seconds(to)))
}

/// Its statistics; `Err`: what is missing.
pub(crate) fn summary(
    rate: &EventRate,
    (requests, columns): (&Requests, &Columns),
    manifest: &Manifest,
    percentiles: &[f64],
    recipe: &Recipe,
) -> Result<Summary, Fact> {
    let span = span(manifest)?;
    let answered = || (0..requests.len()).filter(|i| requests.counts(*i)).map(|i| columns.request(requests, i, &[]));
    let first = answered().next().ok_or(Fact::ResponseEnd)?;
    if first.unix[2].is_none() {
        return Err(Fact::WallClock);
    }
    let events: u64 = answered().map(|f| u64::from(f.counted_chunks.unwrap_or(1)) + 2).sum();
    if events > MOST_GAPS as u64 {
        return Err(Fact::RoomForGaps);
    }
    let (mut values, count) = match rate.of {
        Of::Events(of) => {
            let whole = [(span.0, 0.0), (span.1, 0.0)];
            rates(answered().flat_map(|f| of(&f)).chain(whole).collect(), span)
        }
        Of::Level => levels(answered().map(|f| (unix_s(&f, Some(0)), end(&f), 1.0)).collect(), span),
    };
    values.retain(|(value, lasted)| value.is_finite() && *lasted > 0.0);
    let found = summarise(&mut values, percentiles, recipe).ok_or(Fact::ResponseEnd)?;
    Ok(Summary { count, ..found })
}

/// Rates with the time that each stands for, and the amount of all events.
pub(super) fn rates(mut events: Vec<(f64, f64)>, (from, to): (f64, f64)) -> (Vec<Weighted>, u64) {
    events.retain(|(at, _)| (from..=to).contains(at));
    let events = merged(events);
    let all: f64 = events.iter().map(|(_, amount)| amount).sum();
    let middle = |a: &(f64, f64), b: &(f64, f64)| (a.0 + b.0) / 2.0;
    let lasted = |i: usize| {
        let (event, before) = (events.get(i)?, i.checked_sub(1).and_then(|i| events.get(i)));
        let begins = before.map_or(event.0, |before| middle(before, event));
        Some(match events.get(i + 1) {
            Some(next) => middle(event, next) - begins,
            None => (event.0 - begins).max(LEAST_S),
        })
    };
    let rate = |(i, (_, amount)): (usize, &(f64, f64))| lasted(i).map(|lasted| (amount / lasted, lasted));
    (events.iter().enumerate().filter_map(rate).collect(), all.round() as u64)
}

/// Levels with the time that each lasted, and how many spans (start, end, amount) there are.
pub(super) fn levels(spans: Vec<(f64, f64, f64)>, (from, to): (f64, f64)) -> (Vec<Weighted>, u64) {
    let inside: Vec<(f64, f64, f64)> =
        spans.into_iter().filter(|(start, end, _)| *end >= from && *start <= to).collect();
    let both = |(start, end, amount): &(f64, f64, f64)| [(*start, *amount), (*end, -amount)];
    let changes = merged(inside.iter().flat_map(both).collect());
    let before: f64 = changes.iter().take_while(|(at, _)| *at < from).map(|(_, change)| change).sum();
    let within = changes.into_iter().filter(|(at, _)| (from..=to).contains(at));
    let (mut since, mut level, mut values) = (from, before, Vec::new());
    for (at, change) in within.chain([(to, 0.0)]) {
        values.push((f64::max(level, 0.0), at - since));
        (since, level) = (at, level + change);
    }
    (values, inside.len() as u64)
}

/// In order of time, with those that are one put together.
fn merged(mut events: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    events.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    events.dedup_by(|next, kept| {
        let one = next.0 <= kept.0 + ONE_EVENT_S;
        if one {
            kept.1 += next.1;
        }
        one
    });
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_stands_for_half_the_way_to_its_neighbours() {
        let events = vec![(1.0, 2.0), (3.0, 4.0), (3.000_05, 1.0), (9.0, 9.0), (0.0, 0.0), (5.0, 0.0)];
        let (values, all) = rates(events, (0.0, 5.0));
        // 0 to 0.5 nothing, to 2.0 two, to 4.0 five (two events are one), to 5.0 nothing.
        assert_eq!(values, [(0.0, 0.5), (2.0 / 1.5, 1.5), (2.5, 2.0), (0.0, 1.0)]);
        assert_eq!(all, 7);
    }

    #[test]
    fn levels_begin_with_what_was_under_way() {
        let (values, all) = levels(vec![(-1.0, 2.0, 1.0), (1.0, 4.0, 1.0), (7.0, 8.0, 1.0)], (0.0, 5.0));
        assert_eq!(values, [(1.0, 1.0), (2.0, 1.0), (1.0, 2.0), (0.0, 1.0)]);
        assert_eq!(all, 2);
    }

    #[test]
    fn tokens_lie_evenly_between_the_first_and_the_last() {
        let unix = [None, Some(1_000_000_000), Some(4_000_000_000)];
        let (first_token, last_token) = (Some(500_000_000), Some(2_500_000_000));
        let answer = RequestFacts {
            output: Some(9),
            counted_chunks: Some(5),
            first_token,
            last_token,
            unix,
            ..RequestFacts::default()
        };
        assert_eq!(outputs(&answer), [(1.5, 1.0), (2.0, 2.0), (2.5, 2.0), (3.0, 2.0), (3.5, 2.0)]);
        let whole = RequestFacts { output: Some(9), unix, ..RequestFacts::default() };
        assert_eq!(outputs(&whole), [(4.0, 9.0)]);
    }
}
