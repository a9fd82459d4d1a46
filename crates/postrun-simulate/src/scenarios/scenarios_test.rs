//! Every labelled run shows what its label says, and healthy ones show nothing.

use super::*;
use crate::evidence::{consequences, supports};
use crate::simulator::simulate;
use crate::summary::Summary;
use std::collections::BTreeSet;

#[test]
fn the_library_is_as_large_as_promised() {
    let all = scenarios();
    let count = |f: &dyn Fn(&LabelledScenario) -> bool| all.iter().filter(|l| f(l)).count();
    assert!(all.len() >= 120, "{}", all.len());
    assert!(count(&|l| l.causes.is_empty()) >= 20);
    assert!(count(&|l| l.causes.len() == 2) >= 15);
    let held_out = count(&|l| l.split == Split::HeldOut) as f64 / all.len() as f64;
    assert!((0.28..0.40).contains(&held_out), "{held_out}");
    assert_eq!(all.iter().map(|l| &l.name).collect::<BTreeSet<_>>().len(), all.len());
    for cause in crate::cause::CAUSES {
        for split in [Split::Tuning, Split::HeldOut] {
            assert!(count(&|l| l.split == split && l.causes.first() == Some(&cause)) >= 2, "{cause} {split:?}");
        }
    }
}

#[test]
fn labels_hold_by_the_truth() {
    let mut wrong = Vec::new();
    for labelled in scenarios() {
        let run = simulate(&labelled.scenario).unwrap();
        let summary = Summary::of(&run);
        let missing: Vec<_> = labelled.causes.iter().filter(|c| !supports(**c, &run, &summary)).collect();
        let extra = consequences(&run, &summary);
        let few = summary.requests < 320 && !labelled.causes.contains(&Cause::TooFewSamplesForP99);
        if !missing.is_empty() || few || (labelled.causes.is_empty() && !extra.is_empty()) {
            wrong.push(format!("{}: not shown {missing:?}, shown {extra:?}", labelled.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
