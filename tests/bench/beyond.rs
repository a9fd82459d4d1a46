//! What a diagnosis takes beyond its metrics: the same dataset analysed for metrics alone, then with the long pauses judged
//! and the evidence collected, then by the rules. In this process, because no command stops short of a diagnosis.

use crate::Outcome;
use crate::race::Rounds;
use postrun_analysis::{Options, analyse};
use postrun_diagnose::{RuleSet, diagnose};
use postrun_schema::Dataset;
use std::path::Path;
use std::time::Instant;

/// Seconds of one round.
struct Round {
    metrics_s: f64,
    analysis_s: f64,
    rules_s: f64,
}

impl Round {
    fn of(dataset: &Path) -> Outcome<Round> {
        let dataset = Dataset::open(dataset)?;
        let start = Instant::now();
        analyse(&dataset, &Options { metrics_only: true, ..Options::default() })?;
        let metrics_s = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let run = analyse(&dataset, &Options::default())?;
        let analysis_s = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let diagnosis = diagnose(&run, &RuleSet::default());
        let rules_s = start.elapsed().as_secs_f64();
        if diagnosis.findings.is_empty() && diagnosis.cleared.is_empty() {
            return Err("no rule could judge the run".into());
        }
        Ok(Round { metrics_s, analysis_s, rules_s })
    }

    fn beyond_s(&self) -> f64 {
        self.analysis_s + self.rules_s - self.metrics_s
    }
}

/// Measures and prints.
pub fn measure(dataset: &Path, rounds: Rounds) -> Outcome<()> {
    for _ in 0..rounds.warmup {
        Round::of(dataset)?;
    }
    let rounds = (0..rounds.counted).map(|_| Round::of(dataset)).collect::<Outcome<Vec<Round>>>()?;
    let row = |name: &str, of: &dyn Fn(&Round) -> f64| {
        let mut seconds: Vec<f64> = rounds.iter().map(of).collect();
        seconds.sort_by(f64::total_cmp);
        let (low, high) = (seconds[0], seconds[seconds.len() - 1]);
        println!("  {name:34} {:8.3} s  [{low:.3} – {high:.3}]", seconds[seconds.len() / 2]);
    };
    row("metrics alone", &|r| r.metrics_s);
    row("metrics, long pauses and evidence", &|r| r.analysis_s);
    row("rules", &|r| r.rules_s);
    row("the diagnosis beyond its metrics", &Round::beyond_s);
    println!();
    Ok(())
}
