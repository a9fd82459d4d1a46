//! A dataset with flipped bits in its manifest or a table.
#![no_main]

// A target needs its part of what they share.
#[allow(dead_code)]
#[path = "../exercise.rs"]
mod exercise;
mod target;

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static VICTIM: LazyLock<exercise::Victim> = LazyLock::new(|| exercise::Victim::new(target::FIXTURES.as_ref()));

fuzz_target!(init: target::start(), |edits: &[u8]| {
    VICTIM.damage(edits);
});
