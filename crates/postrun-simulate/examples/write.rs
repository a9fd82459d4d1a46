//! Writes labelled runs: `cargo run -p postrun-simulate --example write -- DIR [NAME]`, all of them without a name.
//!
//! Prints a line for each: name, split, causes, consequences, size of the folder, time to simulate.

use postrun_simulate::{LabelledScenario, Summary, consequences, scenarios, simulate, write};
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let Some(dir) = args.next() else { return Err("usage: write DIR [NAME]".into()) };
    let wanted = args.next();
    for labelled in scenarios().iter().filter(|l| wanted.as_ref().is_none_or(|w| l.name.starts_with(w.as_str()))) {
        one(labelled, Path::new(&dir))?;
    }
    Ok(())
}

fn one(labelled: &LabelledScenario, dir: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let run = simulate(&labelled.scenario)?;
    let took = start.elapsed();
    let folder = dir.join(&labelled.name);
    std::fs::create_dir_all(&folder)?;
    write::folder(&run, &folder, true)?;
    let mut size = 0;
    for entry in std::fs::read_dir(&folder)? {
        size += entry?.metadata()?.len();
    }
    let summary = Summary::of(&run);
    let also: Vec<&str> = consequences(&run, &summary).iter().map(|c| c.id()).collect();
    println!(
        "{} {:?} also={} requests={} {} KiB {} ms {}",
        labelled.name,
        labelled.split,
        also.join(","),
        summary.requests,
        size >> 10,
        took.as_millis(),
        serde_json::to_string(&summary)?
    );
    Ok(())
}
