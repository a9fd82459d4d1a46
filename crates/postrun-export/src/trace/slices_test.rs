//! Slices of requests made by hand, and of any request.

use super::*;
use postrun_analysis::Trigger;

const BOTH: (bool, bool) = (true, true);

fn clocks((client, server): (bool, bool)) -> Clocks {
    Clocks { client, server, ..Clocks::default() }
}

fn pause(at_ns: i64, length_ns: i64, class: StallClass) -> Stall {
    let held_up_by = Some(Trigger { at_ns: at_ns + length_ns, request: 9 });
    Stall { request: 0, at_ns: Some(at_ns), length_ns, class, confidence: 0.9, why: "told", held_up_by }
}

fn shape(built: &Built) -> Vec<(&'static str, i64, i64, usize)> {
    built.slices.iter().map(|s| (s.name, s.start_ns, s.end_ns, s.depth)).collect()
}

fn row() -> Row {
    Row {
        sent: Some(0),
        ttft: Some(100),
        e2e: Some(500),
        arrival: Some(5),
        server_first: Some(90),
        server_last: Some(480),
        queue: Some(40),
        prefill: Some(30),
        decode: Some(390),
        ..Row::default()
    }
}

#[test]
fn durations_are_laid_out_from_the_servers_first_token() {
    let pauses = [pause(200, 50, StallClass::PrefillInterference), pause(450, 50, StallClass::Preemption)];
    let built = build(&row(), &clocks(BOTH), &pauses, &[]).unwrap();
    let expected = [
        ("request", 0, 500, 0),
        ("queue", 20, 60, 1),
        ("prefill", 60, 90, 1),
        ("decode", 90, 480, 1),
        ("prefill_interference", 200, 250, 2),
        // Cut where the server's decode ends.
        ("looks_like_preemption", 450, 480, 2),
    ];
    assert_eq!(shape(&built), expected);
    assert_eq!(built.of_pause, [Some(4), Some(5)]);
    assert!(built.slices[5].args.contains(&("length_ms", Value::Figure(5e-5))));
}

#[test]
fn clocks_that_are_not_drawn_leave_no_trace() {
    let built = build(&row(), &clocks((true, false)), &[], &[]).unwrap();
    assert_eq!(shape(&built), [("request", 0, 500, 0), ("ttft", 0, 100, 1), ("decode", 100, 500, 1)]);
    let built = build(&row(), &clocks((false, true)), &[], &[]).unwrap();
    assert_eq!(shape(&built)[0], ("request", 5, 480, 0));
    assert_eq!(build(&Row { sent: None, ..row() }, &clocks((true, false)), &[], &[]), None);
}

#[test]
fn the_servers_own_preemptions_come_before_what_a_pause_looks_like() {
    let off = [Off { request: 0, from_ns: 210, to_ns: 240 }, Off { request: 0, from_ns: 70, to_ns: 80 }];
    let pauses = [pause(200, 50, StallClass::Preemption), pause(300, 20, StallClass::Jitter)];
    let built = build(&row(), &clocks(BOTH), &pauses, &off).unwrap();
    assert_eq!(built.of_pause, [None, Some(6)]);
    assert_eq!(shape(&built)[3], ("preempted", 70, 80, 2));
    assert_eq!(shape(&built)[5], ("preempted", 210, 240, 2));
}

#[test]
fn times_out_of_order_leave_their_phase_out() {
    let mixed = Row { server_last: Some(80), ..row() };
    let built = build(&mixed, &clocks((false, true)), &[], &[]).unwrap();
    assert!(built.disordered && !shape(&built).iter().any(|s| s.0 == "decode"));
}

#[test]
fn slices_of_any_request_nest_and_never_overlap() {
    // A small generator of our own: each case is its seed.
    for seed in 0..20_000u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % n
        };
        let mut time = || (next(4) > 0).then(|| next(300) as i64 - 50);
        let row = Row {
            request: 0,
            sent: time(),
            ttft: time(),
            e2e: time(),
            end: time(),
            arrival: time(),
            queued: time(),
            scheduled: time(),
            server_first: time(),
            server_last: time(),
            queue: time(),
            prefill: time(),
            decode: time(),
        };
        let mut pauses: Vec<Stall> =
            (0..next(4)).map(|_| pause(next(300) as i64, next(90) as i64, StallClass::ALL[next(4) as usize])).collect();
        pauses.sort_by_key(|p| p.at_ns);
        let mut off: Vec<Off> = (0..next(3))
            .map(|_| (next(300) as i64, next(50) as i64))
            .map(|(from_ns, length)| Off { request: 0, from_ns, to_ns: from_ns + length })
            .collect();
        off.sort_unstable();
        let Some(built) = build(&row, &clocks((next(2) > 0, next(2) > 0)), &pauses, &off) else { continue };
        let mut open: Vec<&Slice> = Vec::new();
        let mut before: Vec<i64> = vec![i64::MIN; 4];
        for slice in &built.slices {
            open.truncate(slice.depth);
            assert_eq!(open.len(), slice.depth, "seed {seed}");
            assert!(slice.start_ns <= slice.end_ns, "seed {seed}: {slice:?}");
            assert!(before[slice.depth] <= slice.start_ns, "seed {seed}: {slice:?} overlaps the one before");
            if let Some(around) = open.last() {
                let inside = around.start_ns <= slice.start_ns && slice.end_ns <= around.end_ns;
                assert!(inside, "seed {seed}: {slice:?} reaches beyond {around:?}");
            }
            before[slice.depth] = slice.end_ns;
            before[slice.depth + 1..].fill(slice.start_ns);
            open.push(slice);
        }
        let drawn = built.of_pause.iter().flatten().count();
        assert!(drawn == pauses.len() || !off.is_empty(), "seed {seed}: {drawn} of {} pauses", pauses.len());
    }
}
