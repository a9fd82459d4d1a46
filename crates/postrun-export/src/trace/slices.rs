//! The slices of one request: queue, prefill, decode; inside them what held it up.
//!
//! Phases are the server's where it recorded them, else the client's: the wait for the first token (`ttft`) and `decode`.
//! Where the server recorded durations but not every moment, they are laid out from its first token. Pauses of the
//! client's stream lie inside `decode`; where both clocks are drawn, one that reaches beyond it by the network's delay or
//! the clocks' uncertainty is cut there, and says its whole length beside it. A pause that overlaps a preemption in the
//! server's own events is that preemption, and is not drawn a second time; without such an event a
//! pause only looks like one, and its name says so.

use super::clocks::Clocks;
use super::preempted::Off;
use super::row::Row;
use super::{Arrow, Slice, Value};
use postrun_analysis::{Stall, StallClass};

pub(crate) const QUEUE: &str = "queue";
pub(crate) const PREFILL: &str = "prefill";
pub(crate) const TTFT: &str = "ttft";
pub(crate) const DECODE: &str = "decode";
/// By the server's own events.
pub(crate) const PREEMPTED: &str = "preempted";
/// By the client's times alone.
pub(crate) const LIKE_PREEMPTED: &str = "looks_like_preemption";
/// The part of a pause in which the prefill that is held to have caused it was under way.
const BEHIND_PREFILL: &str = "behind_prefill";

/// A request's slices, and which of them its pauses became.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Built {
    pub slices: Vec<Slice>,
    /// For each pause its slice; `None`: the server's events show it.
    pub of_pause: Vec<Option<usize>>,
    /// A phase was left out: its times are out of order.
    pub disordered: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    name: &'static str,
    start: i64,
    end: i64,
}

impl Span {
    fn between(name: &'static str, start: Option<i64>, end: Option<i64>) -> Option<Span> {
        Some(Span { name, start: start?, end: end? })
    }

    fn overlaps(&self, other: &Span) -> bool {
        self.start < other.end && other.start < self.end
    }
}

/// The slices of a request; `None` where no moment of it can be drawn. `pauses` and `off` are its own, in time.
pub(crate) fn build(row: &Row, clocks: &Clocks, pauses: &[Stall], off: &[Off]) -> Option<Built> {
    let (phases, disordered) = phases(row, clocks);
    let root = whole(row, clocks, &phases)?;
    // What lies inside a phase, with the pause it came from.
    let mut inside: Vec<(Span, Option<usize>)> =
        off.iter().map(|o| (Span { name: PREEMPTED, start: o.from_ns, end: o.to_ns }, None)).collect();
    let recorded: Vec<Span> = inside.iter().map(|(span, _)| *span).collect();
    for (at, stall) in pauses.iter().enumerate() {
        let Some(start) = stall.at_ns else { continue };
        let name = if stall.class == StallClass::Preemption { LIKE_PREEMPTED } else { stall.class.name() };
        let span = Span { name, start, end: start.saturating_add(stall.length_ns) };
        if !recorded.iter().any(|r| r.overlaps(&span)) {
            inside.push((span, Some(at)));
        }
    }
    inside.sort_by_key(|(span, _)| (span.start, span.end));
    let mut built = Built { slices: vec![slice(root, 0)], of_pause: vec![None; pauses.len()], disordered };
    let place = |span: &Span, from_client: bool| match from_client {
        true => phases.iter().position(|p| p.name == DECODE),
        false => phases.iter().rposition(|p| p.start <= span.start).or_else(|| (!phases.is_empty()).then_some(0)),
    };
    // Without a phase to lie in, pauses come after those that there are.
    let placed: Vec<(Option<usize>, Span, Option<usize>)> =
        inside.iter().map(|(span, pause)| (place(span, pause.is_some()), *span, *pause)).collect();
    for (position, phase) in phases.iter().enumerate() {
        built.slices.push(slice(*phase, 1));
        let own = placed.iter().filter(|(place, ..)| *place == Some(position));
        built.nest(*phase, 2, own.map(|(_, span, pause)| (*span, *pause)), pauses);
    }
    let rest = Span { start: phases.last().map_or(root.start, |p| p.end), ..root };
    let own = placed.iter().filter(|(place, ..)| place.is_none());
    built.nest(rest, 1, own.map(|(_, span, pause)| (*span, *pause)), pauses);
    Some(built)
}

impl Built {
    /// Adds what lies inside `around`, cut to it, one after the other.
    fn nest(
        &mut self,
        around: Span,
        depth: usize,
        inside: impl Iterator<Item = (Span, Option<usize>)>,
        pauses: &[Stall],
    ) {
        let mut free = around.start;
        for (span, pause) in inside {
            let start = span.start.clamp(free, around.end);
            let end = span.end.clamp(start, around.end);
            free = end;
            let mut slice = slice(Span { start, end, ..span }, depth);
            if let Some(at) = pause {
                slice.args = pauses.get(at).map(pause_args).unwrap_or_default();
                if let Some(place) = self.of_pause.get_mut(at) {
                    *place = Some(self.slices.len());
                }
            }
            self.slices.push(slice);
        }
    }
}

fn slice(span: Span, depth: usize) -> Slice {
    Slice {
        name: span.name,
        start_ns: span.start,
        end_ns: span.end,
        depth,
        args: Vec::new(),
        arrows_out: Vec::new(),
        arrow_in: None,
    }
}

fn pause_args(stall: &Stall) -> Vec<(&'static str, Value)> {
    let mut args = vec![
        ("length_ms", Value::Figure(stall.length_ns as f64 / 1e6)),
        ("confidence", Value::Figure(stall.confidence)),
        ("why", Value::Text(stall.why.to_string())),
    ];
    args.extend(stall.held_up_by.map(|by| ("held_up_by_request", Value::Count(u64::from(by.request)))));
    args
}

/// The phases of a request, one after the other; true if one was left out because its times are out of order.
fn phases(row: &Row, clocks: &Clocks) -> (Vec<Span>, bool) {
    let plus = |a: Option<i64>, b: Option<i64>| Some(a?.saturating_add(b?));
    let minus = |a: Option<i64>, b: Option<i64>| Some(a?.saturating_sub(b?));
    let (mut queue, mut prefill, mut decode) = (None, None, None);
    if clocks.server {
        let first = row.server_first;
        let scheduled = row.scheduled.or(minus(first, row.prefill));
        queue = Span::between(QUEUE, row.queued.or(minus(scheduled, row.queue)), scheduled);
        prefill = Span::between(PREFILL, scheduled, first.or(plus(scheduled, row.prefill)));
        decode = Span::between(DECODE, first, row.server_last.or(plus(first, row.decode)));
    }
    let (mut ttft, mut streamed) = (None, None);
    if clocks.client {
        let first = plus(row.sent, row.ttft);
        ttft = Span::between(TTFT, row.sent, first).filter(|_| queue.is_none() && prefill.is_none());
        streamed = Span::between(DECODE, first, plus(row.sent, row.e2e));
    }
    let mut out: Vec<Span> = Vec::new();
    let mut disordered = false;
    for span in [queue, prefill, ttft, decode.or(streamed)].into_iter().flatten() {
        let start = out.last().map_or(span.start, |before| span.start.max(before.end));
        match start <= span.end {
            true => out.push(Span { start, ..span }),
            false => disordered = true,
        }
    }
    (out, disordered)
}

/// From the first to the last moment that is known of a request.
fn whole(row: &Row, clocks: &Clocks, phases: &[Span]) -> Option<Span> {
    let client = [row.sent, row.sent.zip(row.e2e).map(|(s, e)| s.saturating_add(e)), row.end];
    let server = [row.arrival, row.queued, row.scheduled, row.server_first, row.server_last];
    let client = client.into_iter().flatten().filter(|_| clocks.client);
    let server = server.into_iter().flatten().filter(|_| clocks.server);
    let moments: Vec<i64> = client.chain(server).chain(phases.iter().flat_map(|p| [p.start, p.end])).collect();
    Span::between("request", moments.iter().min().copied(), moments.iter().max().copied())
}

/// What an arrow into a pause ends at.
pub(crate) fn behind(pause: &Slice, arrow: Arrow) -> Slice {
    let mut behind = slice(Span { name: BEHIND_PREFILL, start: arrow.from_ns, end: pause.end_ns }, pause.depth + 1);
    behind.arrow_in = Some(arrow);
    behind
}

#[cfg(test)]
#[path = "slices_test.rs"]
mod slices_test;
