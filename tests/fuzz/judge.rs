//! What the fuzz target of rules files, and the test of mutations, does with one text: it is a rules file or an error says
//! why not, and a run can be judged by it.

use postrun_analysis::{RunAnalysis, analyse};
use postrun_diagnose::{RuleSet, diagnose};
use postrun_ingest::{Ingestor, Input, Options, ingest};
use postrun_schema::Dataset;
use std::path::Path;

/// A rules file that has all a rules file can have.
pub const RULES: &str = include_str!("seeds/rules.toml");

/// The first run that `input` gives, analysed. `None`: it gives none.
pub fn analysed(input: &Path, format: Option<&'static Ingestor>) -> Option<RunAnalysis> {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { format, scratch: true, ..Options::default() };
    let outcome = ingest(&[Input::Path(input.to_path_buf())], &dir.path().join("out"), &options).ok()?;
    let dataset = Dataset::open_own(outcome.datasets.first()?).unwrap();
    analyse(&dataset, &postrun_analysis::Options::default()).ok()
}

/// A run with preemptions, buckets and a server's series, to be judged.
pub fn run_to_judge(fixtures: &Path) -> RunAnalysis {
    analysed(&fixtures.join("server_side/kv_tight/input"), None).unwrap()
}

/// True: `text` is a rules file.
pub fn judge(run: &RunAnalysis, text: &[u8]) -> bool {
    let Ok(set) = RuleSet::from_toml("rules.toml", &String::from_utf8_lossy(text)) else { return false };
    diagnose(run, &set);
    true
}
