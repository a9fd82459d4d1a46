//! What every reader of the server's side must stand: a text cut anywhere, and bytes that are not what they were.

use super::reading_test::{read, samples};
use crate::ingestor::Ingestor;
use crate::server::recording::{Recording, ServerRequest};
use std::collections::BTreeSet;

/// All values of a recording as texts; times to the resolution that the file claims.
fn values(recording: &mut Recording) -> (BTreeSet<String>, Vec<ServerRequest>) {
    let step = recording.resolution_ns.max(1);
    let mut out: BTreeSet<String> = BTreeSet::new();
    for (at, series, labels, value) in samples(recording) {
        out.insert(format!("{} {series} {labels:?} {value}", at.div_euclid(step)));
    }
    for event in &recording.events {
        out.insert(format!(
            "{} {:?} {:?} {:?}",
            event.at_ns.div_euclid(step),
            event.kind,
            event.request_id,
            event.detail
        ));
    }
    (out, recording.requests.clone())
}

fn part_of(part: &ServerRequest, whole: &ServerRequest) -> bool {
    let fields = |r: &ServerRequest| {
        let text = format!("{r:#?}");
        text.split(",\n    ").map(|field| field.trim().to_string()).collect::<Vec<_>>()
    };
    let (part, whole) = (fields(part), fields(whole));
    part.iter().zip(&whole).all(|(p, w)| p == w || p.contains(": None"))
}

/// Cuts `text` at every byte: nothing may be read that the whole text does not say. `facts` are left out where a later
/// line may overrule an earlier one.
pub(crate) fn cut_everywhere(ingestor: &Ingestor, name: &str, text: &[u8], facts: bool) {
    let (mut whole, _dir) = read(ingestor, name, text).unwrap();
    let (all, requests) = values(&mut whole);
    assert!(!all.is_empty() || !requests.is_empty() || !whole.facts.is_empty());
    for cut in 1..text.len() {
        let Ok((mut recording, _dir)) = read(ingestor, name, &text[..cut]) else { continue };
        let (some, few) = values(&mut recording);
        assert!(some.is_subset(&all), "cut at {cut}: {:?}", some.difference(&all).next());
        for request in few {
            assert!(requests.iter().any(|whole| part_of(&request, whole)), "cut at {cut}: {request:?}");
        }
        for (key, value) in recording.facts.iter().filter(|_| facts) {
            assert_eq!(Some(value), whole.facts.get(key), "cut at {cut}: {key}");
        }
    }
}

/// Puts a byte that hurts into every third place of `text`, one after another; only a panic is a failure.
pub(crate) fn mutate_everywhere(ingestor: &Ingestor, name: &str, text: &[u8]) {
    for at in (0..text.len()).step_by(3) {
        let mut hurt = text.to_vec();
        hurt[at] = [b'9', b'"', b'\'', b'-', b'\n', b'}', 0xff][at / 3 % 7];
        drop(read(ingestor, name, &hurt));
    }
}

/// Twenty bytes at a time become others, by chance that is the same in every run; the file must still be readable.
pub(crate) fn mutate_at_random(ingestor: &Ingestor, name: &str, text: &[u8]) {
    let mut state = 1u32;
    for _ in 0..400 {
        let mut hurt = text.to_vec();
        for _ in 0..20 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = state as usize % hurt.len();
            hurt[at] = (state >> 24) as u8;
        }
        drop(read(ingestor, name, &hurt).unwrap());
    }
}
