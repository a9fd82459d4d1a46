//! Tests of the whole path, through the binary: fixtures in, reports out, compared with truth.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod alignment;
mod browser;
mod cases;
mod charts;
mod cli;
mod conventions;
mod damage;
mod dataset;
mod definitions;
mod diff;
mod diff_charts;
mod diff_inputs;
mod diff_page;
mod diff_repeats;
mod diff_said;
mod doubt;
#[path = "fuzz/exercise.rs"]
mod exercise;
mod export;
mod faults;
mod first_run;
mod golden;
mod guide;
mod hostile;
#[path = "fuzz/judge.rs"]
mod judge;
mod limits;
mod made_pair;
mod made_run;
mod made_up;
mod mutations;
mod mutator;
mod notebooks;
mod outputs;
mod page;
mod page_checks;
mod parity;
mod perfetto;
mod properties;
mod python;
mod readme;
mod registry;
mod regressions;
mod report_schema;
mod scarce;
mod server_side;
mod support;
mod tidy;
mod web;
mod wheel;
mod wording;
mod workload;
