//! The classifier on small traces whose cause is known.

use super::{StallClass, StallFindings, StallScan};
use crate::chunk_scan::RequestChunks;
use crate::requests::{Outcome, Requests};
use crate::server::tracks::Track;

const MS: i64 = 1_000_000;
const STEP: i64 = 20;
const LAST: i64 = 4000;

/// A request: sent, and the times of its chunks since the start of the run, all in milliseconds.
#[derive(Clone)]
struct Stream {
    sent: i64,
    chunks: Vec<i64>,
}

/// One that has a token every step between two moments.
fn steady(sent: i64, first: i64, last: i64) -> Stream {
    Stream { sent, chunks: (0..).map(|i| first + i * STEP).take_while(|at| *at <= last).collect() }
}

/// Eight in step, all sent at once.
fn eight() -> Vec<Stream> {
    (0..8).map(|_| steady(0, 40, LAST)).collect()
}

/// Nothing arrives after `from` until `to`.
fn silence(stream: &mut Stream, from: i64, to: i64) {
    stream.chunks.retain(|at| *at <= from || *at >= to);
}

fn requests(streams: &[Stream], timed: bool) -> Requests {
    let n = streams.len();
    Requests {
        measured: vec![true; n],
        status: vec![Outcome::Ok; n],
        prompt_tokens: vec![Some(100); n],
        output_tokens: streams.iter().map(|s| Some(s.chunks.len() as u32)).collect(),
        chunks: streams.iter().map(|s| Some(s.chunks.len() as u32)).collect(),
        streamed: vec![Some(true); n],
        sent_ns: streams.iter().map(|s| timed.then_some(s.sent.saturating_mul(MS))).collect(),
        ttft_ns: streams.iter().map(|s| s.chunks.first().map(|at| (at - s.sent).saturating_mul(MS))).collect(),
        e2e_ns: streams
            .iter()
            .map(|s| s.chunks.last().map(|at| at.saturating_sub(s.sent).saturating_mul(MS)))
            .collect(),
        ..Requests::default()
    }
}

fn find(streams: &[Stream], timed: bool, counter: Option<&Track>) -> StallFindings {
    let requests = requests(streams, timed);
    let mut scan = StallScan::new(&requests, false, None);
    let at_ns: Vec<Vec<i64>> = streams
        .iter()
        .map(|s| s.chunks.iter().map(|at| at.saturating_sub(s.sent).saturating_mul(MS)).collect())
        .collect();
    let chunks = |request: usize| RequestChunks {
        request,
        sent_ns: requests.sent_ns[request],
        at_ns: &at_ns[request],
        tokens: &[],
        mean_tokens: 1.0,
        later_tokens: 1.0,
    };
    (0..streams.len()).for_each(|i| scan.first(&chunks(i)));
    scan.between();
    (0..streams.len()).for_each(|i| scan.second(&chunks(i)));
    scan.finish(counter, None, 0)
}

/// Class, request and start of the listed pauses.
fn classes(found: &StallFindings) -> Vec<(StallClass, u32, Option<i64>)> {
    let mut out: Vec<_> =
        found.stalls.longest.iter().map(|s| (s.class, s.request, s.at_ns.map(|at| at / MS))).collect();
    out.sort_unstable_by_key(|c| c.1);
    out
}

/// Two are taken off the batch while six go on. They are the ones that the KV cache had no room for.
fn preempted() -> Vec<Stream> {
    let mut streams = eight();
    silence(&mut streams[3], 3000, 3600);
    silence(&mut streams[5], 3100, 3500);
    streams
}

#[test]
fn one_that_pauses_while_others_go_on_was_preempted() {
    let found = find(&preempted(), true, None);
    let at = |ms| Some(ms);
    assert_eq!(classes(&found), [(StallClass::Preemption, 3, at(3000)), (StallClass::Preemption, 5, at(3100))]);
    assert_eq!(found.preempted, [(3, 580 * MS), (5, 380 * MS)]);
    assert_eq!((found.stalls.total, found.stalls.count(StallClass::Preemption)), (2, 2));
    assert!(found.stalls.longest.iter().all(|s| s.confidence >= 0.7), "{found:?}");
    assert!(found.overtaken.is_empty());
}

#[test]
fn the_counter_confirms_and_vetoes() {
    let moves = |at: i64| Track {
        aligned: true,
        points: (0..50).map(|i| (i * 100 * MS, f64::from(u8::from(i * 100 > at)) * 2.0)).collect(),
    };
    // Counted at the end of the gaps, as vLLM does.
    let sure = |counter: Option<&Track>| find(&preempted(), true, counter).stalls.longest[0].confidence;
    assert!(sure(Some(&moves(3550))) > sure(None));
    let idle = find(&preempted(), true, Some(&moves(1000)));
    assert_eq!((idle.stalls.count(StallClass::Preemption), idle.preempted.len()), (0, 0));
    // A clock that is not aligned says nothing.
    let apart = Track { aligned: false, ..moves(1000) };
    assert_eq!(find(&preempted(), true, Some(&apart)).preempted.len(), 2);
}

#[test]
fn the_rest_of_the_counter_goes_to_short_pauses() {
    let mut streams = eight();
    silence(&mut streams[1], 1000, 1400);
    silence(&mut streams[2], 1020, 1420);
    // Two steps missed: by itself no preemption.
    silence(&mut streams[3], 3000, 3080);
    let total = |counter| find(&streams, true, counter).preempted;
    assert_eq!(total(None).len(), 2);
    let at = |i: i64| if i > 30 { 3.0 } else { f64::from(u8::from(i > 14)) * 2.0 };
    let counter = Track { aligned: true, points: (0..50).map(|i| (i * 100 * MS, at(i))).collect() };
    assert_eq!(total(Some(&counter)).iter().map(|p| p.0).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn what_ends_with_a_first_token_was_a_prefill() {
    let mut streams = eight();
    streams.iter_mut().for_each(|s| silence(s, 2000, 2200));
    streams.push(steady(1980, 2200, LAST));
    let found = find(&streams, true, None);
    assert_eq!(found.stalls.count(StallClass::PrefillInterference), 8);
    assert!(found.stalls.longest.iter().all(|s| s.confidence > 0.9 && s.length_ns == 200 * MS), "{found:?}");
    // Its first chunk of a prefill is known by the second.
    let mut chunked = streams;
    chunked.truncate(8);
    chunked.iter_mut().for_each(|s| silence(s, 2220, 2400));
    chunked.push(steady(1980, 2400, LAST));
    assert_eq!(find(&chunked, true, None).stalls.by_class, [0, 16, 0, 0]);
}

#[test]
fn a_freeze_while_nobody_waits_is_global() {
    let mut streams = eight();
    streams.iter_mut().for_each(|s| silence(s, 2000, 2500));
    let found = find(&streams, true, None);
    assert_eq!(found.stalls.by_class, [0, 0, 8, 0]);
    assert!(found.stalls.longest.iter().all(|s| s.confidence > 0.7));
    assert!(found.preempted.is_empty());
}

#[test]
fn what_comes_late_in_a_backlog_was_no_preemption() {
    // Everything of 400 ms arrives at once.
    let mut streams = eight();
    streams[2].chunks.iter_mut().filter(|at| (2000..2400).contains(*at)).for_each(|at| *at = 2400);
    let found = find(&streams, true, None);
    assert_eq!(found.stalls.by_class, [0, 0, 0, 1]);
}

#[test]
fn ordinary_jitter_is_no_stall() {
    let mut streams = eight();
    let mut x = 1i64;
    for stream in &mut streams {
        for at in &mut stream.chunks {
            x = (x * 48_271) % 2_147_483_647;
            *at += x % 15;
        }
    }
    assert_eq!(find(&streams, true, None).stalls.total, 0);
}

#[test]
fn a_lone_decoder_has_nobody_to_compare_with() {
    let mut streams = vec![steady(0, 40, LAST)];
    silence(&mut streams[0], 2000, 2600);
    let found = find(&streams, true, None);
    assert_eq!(classes(&found), [(StallClass::Jitter, 0, Some(2000))]);
    assert_eq!(found.stalls.longest[0].confidence, 0.5);
}

#[test]
fn without_send_times_little_is_sure() {
    let found = find(&preempted(), false, None);
    assert_eq!(found.stalls.total, 2);
    assert!(found.stalls.longest.iter().all(|s| s.at_ns.is_none() && s.confidence <= 0.6));
    assert!(found.overtaken.is_empty());
}

#[test]
fn stalled_replicas_are_no_preemptions() {
    // Four of eight pause from the same to the same moment, early in the run, with room for all.
    let mut streams = eight();
    streams[..4].iter_mut().for_each(|s| silence(s, 1000, 1400));
    assert_eq!(find(&streams, true, None).preempted, []);
}

#[test]
fn an_uneven_run_has_no_preemptions_but_those_that_stand_out() {
    let mut state = 1u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 33) as f64 + 1.0) / (1u64 << 31) as f64
    };
    // Every gap by itself, whatever others do: 10 ms, and exponentially more; one in twenty is over three steps.
    let mut uneven = |sent: i64| {
        let mut at = sent as f64 + 40.0;
        let gaps = std::iter::from_fn(|| {
            at += 10.0 - 20.0 * uniform().ln();
            Some(at as i64)
        });
        Stream { sent, chunks: gaps.take(120).collect() }
    };
    let mut streams: Vec<Stream> = (0..40).map(|i| uneven(i * 37)).collect();
    let found = find(&streams, true, None);
    assert!(found.stalls.total > 100, "{}", found.stalls.total);
    assert_eq!(found.preempted, []);
    silence(&mut streams[7], 1500, 2300);
    silence(&mut streams[9], 1600, 2300);
    let found = find(&streams, true, None);
    let hit: Vec<u32> = found.preempted.iter().map(|(request, _)| *request).collect();
    assert_eq!(hit, [7, 9], "{:?}", found.stalls.longest.first());
}

#[test]
fn absurd_times_are_survived() {
    let mut streams = preempted();
    streams.push(Stream { sent: 0, chunks: vec![1, 1, 1, i64::MAX / MS] });
    streams.push(Stream { sent: i64::MAX / MS / 100, chunks: vec![i64::MAX / MS, i64::MAX / MS] });
    streams.push(Stream { sent: 5, chunks: vec![i64::MIN / MS / 2, 0, 9] });
    streams.push(Stream { sent: 5, chunks: vec![7] });
    streams.push(Stream { sent: 5, chunks: vec![] });
    for timed in [true, false] {
        let found = find(&streams, timed, None);
        assert!(found.stalls.longest.iter().all(|s| s.length_ns > 0 && (0.0..=1.0).contains(&s.confidence)));
    }
    assert_eq!(find(&[], true, None).stalls.total, 0);
    let at_once = vec![Stream { sent: 0, chunks: vec![5; 100] }; 3];
    assert_eq!(find(&at_once, true, None).stalls.total, 0);
}
