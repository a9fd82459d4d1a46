//! Placing counters and levels on a made-up client.

use super::align_levels::{Level, from_levels};
use super::align_tokens::{TokenFit, from_tokens};
use super::client_trace::{ClientRequest, ClientTrace};

const SECOND: i64 = 1_000_000_000;
/// What the server's clock shows at the run's origin.
const ORIGIN: i64 = 1_700_000_000 * SECOND;

/// Requests of 40 tokens, 50 ms apart, sent at uneven distances.
fn sends() -> Vec<i64> {
    (0..40i64).map(|i| (i * 400 + (i * i * 37) % 350) * 1_000_000).collect()
}

fn trace() -> ClientTrace {
    let one = |sent: i64| ClientRequest {
        sent_ns: Some(sent),
        ttft_ns: Some(SECOND / 10),
        e2e_ns: Some(SECOND / 10 + 39 * SECOND / 20),
        end_ns: Some(sent + SECOND / 10 + 39 * SECOND / 20),
        output_tokens: Some(40),
        arrivals: 39,
        ..ClientRequest::default()
    };
    ClientTrace::of(sends().into_iter().map(one).collect())
}

/// What a counter shows once a second; `others` adds tokens that the client never saw.
fn counter(from_s: i64, to_s: i64, others: impl Fn(i64) -> f64) -> Vec<(i64, f64)> {
    let made = |at: i64| {
        let of = |sent: i64| ((at - sent - SECOND / 10).div_euclid(SECOND / 20) + 1).clamp(0, 40) as f64;
        sends().into_iter().map(of).sum::<f64>()
    };
    (from_s..to_s).map(|s| s * SECOND + 130_000_000).map(|at| (ORIGIN + at, 7.0 + made(at) + others(at))).collect()
}

fn fits(points: &[(i64, f64)]) -> Result<(i64, i64), TokenFit> {
    match from_tokens(&trace(), points, 0, &|_| true) {
        TokenFit::Fits(a) => Ok(((a.origin_ns - ORIGIN) / 1_000_000, a.uncertainty_ns / 1_000_000)),
        other => Err(other),
    }
}

#[test]
fn a_whole_counter_places_the_run_within_its_claim() {
    let (off, claimed) = fits(&counter(-5, 30, |_| 0.0)).unwrap();
    assert!(off.abs() <= claimed && claimed < 50, "{off} ±{claimed}");
}

#[test]
fn tokens_of_others_widen_the_claim_or_refuse_it() {
    // A stream that broke left 30 tokens in the counter.
    let (off, claimed) = fits(&counter(-5, 30, |at| if at > 7 * SECOND { 30.0 } else { 0.0 })).unwrap();
    assert!(off.abs() <= claimed, "{off} ±{claimed}");
    // So many, before the run's own and after, that it could lie anywhere among them.
    let many = counter(-5, 30, |at| {
        if at > 19 * SECOND {
            400.0
        } else if at > -SECOND {
            200.0
        } else {
            0.0
        }
    });
    assert_eq!(fits(&many).map_err(|fit| fit == TokenFit::Contradicts), Err(false));
}

#[test]
fn a_counter_that_starts_again_inside_the_run_goes_on() {
    let whole = counter(-5, 30, |_| 0.0);
    let before = whole[14].1;
    let again: Vec<_> = whole.iter().map(|(at, v)| (*at, if *v > before { v - before } else { *v })).collect();
    let (off, claimed) = fits(&again).unwrap();
    assert!(off.abs() <= claimed, "{off} ±{claimed}");
}

#[test]
fn of_two_stretches_the_better_counts_and_of_two_alike_none() {
    let mut twice = counter(-5, 30, |_| 0.0);
    let end = twice.last().unwrap().1;
    let again: Vec<_> = counter(-5, 30, |_| 0.0).iter().map(|(at, v)| (at + 60 * SECOND, v + end - 7.0)).collect();
    twice.extend(again);
    assert_eq!(fits(&twice), Err(TokenFit::Ambiguous));
    // The client saved its file after the second.
    let late = |origin: i64| origin > ORIGIN + 30 * SECOND;
    match from_tokens(&trace(), &twice, 0, &late) {
        TokenFit::Fits(a) => assert!((a.origin_ns - ORIGIN - 60 * SECOND).abs() <= a.uncertainty_ns),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_same_tokens_at_other_times_are_another_run() {
    let mut other = counter(-5, 30, |_| 0.0);
    let total = other.last().unwrap().1 - 7.0;
    for (i, point) in other.iter_mut().enumerate() {
        let share = ((i as f64 - 5.0) / 18.0).clamp(0.0, 1.0);
        point.1 = 7.0 + (total * share * share).round();
    }
    assert_eq!(fits(&other), Err(TokenFit::Contradicts));
}

#[test]
fn absurd_stamps_and_values_break_nothing() {
    let mut points = counter(-5, 30, |_| 0.0);
    points.insert(0, (i64::MIN, 3.0));
    points.push((i64::MAX, 9e18));
    points.push((i64::MAX, f64::INFINITY));
    let _ = fits(&points);
    let levels: Vec<_> = points.iter().map(|(at, v)| (*at, Level::InFlight(*v))).collect();
    let _ = from_levels(&trace(), &levels, 0, &|_| true);
}
