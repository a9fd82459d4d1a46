//! A text as a mapping file, and tables read by it.
#![no_main]

// A target needs its part of what they share.
#[allow(dead_code)]
#[path = "../exercise.rs"]
mod exercise;
mod target;

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static BENCH: LazyLock<exercise::Bench> = LazyLock::new(|| exercise::Bench::new(target::FIXTURES.as_ref()));

fuzz_target!(init: target::start(), |data: &[u8]| {
    BENCH.map(data);
});
