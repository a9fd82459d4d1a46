//! Prints figures of the calibration scenario over seeds: `cargo run -p postrun-simulate --example calibrate`.

#![allow(clippy::print_stdout)]

use postrun_simulate::{Summary, calibration, simulate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for seed in 0..20 {
        let run = simulate(&calibration(seed))?;
        let s = Summary::of(&run);
        println!(
            "seed {seed}: {} preemptions, {:.1} s, TTFT P50 {:.0} P99 {:.0} ms, queue {:.0} ms, TPOT {:.1} ms, KV {:.0} %",
            run.preemptions.len(),
            s.duration_s,
            s.ttft_p50_ms,
            s.ttft_p99_ms,
            s.queue_mean_ms,
            s.tpot_p50_ms,
            100.0 * s.kv_mean
        );
    }
    Ok(())
}
