//! A file through the ingestor that `POSTRUN_FORMAT` names; where none is called so, it is recognised.
#![no_main]

// A target needs its part of what they share.
#[allow(dead_code)]
#[path = "../exercise.rs"]
mod exercise;
mod target;

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static NAME: LazyLock<String> = LazyLock::new(|| std::env::var("POSTRUN_FORMAT").unwrap_or_default());
static BENCH: LazyLock<exercise::Bench> = LazyLock::new(|| exercise::Bench::new(target::FIXTURES.as_ref()));

fuzz_target!(init: target::start(), |data: &[u8]| {
    BENCH.ingest("input", exercise::format_of(&NAME), data);
});
