//! A text as a rules file, and a run judged by it.
#![no_main]

// A target needs its part of what it shares with the test.
#[allow(dead_code)]
#[path = "../judge.rs"]
mod judge;
mod target;

use libfuzzer_sys::fuzz_target;
use postrun_analysis::RunAnalysis;
use std::sync::LazyLock;

static RUN: LazyLock<RunAnalysis> = LazyLock::new(|| judge::run_to_judge(target::FIXTURES.as_ref()));

fuzz_target!(init: target::start(), |text: &[u8]| {
    judge::judge(&RUN, text);
});
