//! Labels against diagnoses: who was ranked first, what was found and what was not.

use postrun_diagnose::{Diagnosis, RULES, Severity};
use postrun_simulate::{Cause, Effect, Split};
use std::collections::{BTreeMap, BTreeSet};

/// A labelled run and what was said of it.
pub struct Judged {
    pub name: String,
    /// The label, the cause that the run was made for first; empty if healthy.
    pub causes: Vec<String>,
    /// Of them the primary one, or those that tie, the largest effect first; empty if healthy.
    pub primary: Vec<String>,
    /// What each of several causes does to the figures.
    pub effects: Vec<Effect>,
    /// What the truth shows beyond the label.
    pub also: BTreeSet<String>,
    pub split: Option<Split>,
    pub diagnosis: Diagnosis,
}

/// The primary causes of a label: by their effects where there are several causes.
pub fn primary(causes: &[Cause], effects: &[Effect]) -> Vec<String> {
    let primary = if effects.is_empty() { causes.to_vec() } else { postrun_simulate::primary(effects) };
    primary.into_iter().map(|c| c.id().to_string()).collect()
}

/// The rule ranked first, or `nothing`.
pub fn first(diagnosis: &Diagnosis) -> &str {
    diagnosis.findings.first().map_or("nothing", |f| f.rule.as_str())
}

/// Rules with a critical finding.
pub fn criticals(diagnosis: &Diagnosis) -> impl Iterator<Item = &str> {
    diagnosis.findings.iter().filter(|f| f.severity == Severity::Critical).map(|f| f.rule.as_str())
}

impl Judged {
    fn label(&self) -> &str {
        self.primary.first().map_or("healthy", String::as_str)
    }

    fn found(&self, rule: &str) -> bool {
        self.diagnosis.findings.iter().any(|f| f.rule == rule)
    }

    /// A healthy run is met by nothing above info.
    fn met(&self) -> bool {
        match self.primary.as_slice() {
            [] => self.diagnosis.findings.iter().all(|f| f.severity == Severity::Info),
            primary => primary.iter().any(|cause| first(&self.diagnosis) == cause),
        }
    }

    fn first_named(&self) -> bool {
        self.causes.first().is_some_and(|cause| first(&self.diagnosis) == cause)
    }

    fn ties(&self) -> bool {
        self.primary.len() > 1
    }
}

/// Confusion, false alarms and recall of one split.
pub fn print(split: &str, judged: &[&Judged]) {
    if judged.is_empty() {
        return;
    }
    let (healthy, labelled): (Vec<&Judged>, Vec<&Judged>) = judged.iter().partition(|j| j.causes.is_empty());
    println!("{split}: {} runs, {} of them healthy\n", judged.len(), healthy.len());
    println!("  {:38} {:>4} {:>6}  ranked first", "label", "runs", "right");
    let mut rows: BTreeMap<&str, Vec<&Judged>> = BTreeMap::new();
    judged.iter().for_each(|j| rows.entry(j.label()).or_default().push(j));
    for (label, runs) in rows {
        let right = runs.iter().filter(|j| j.met()).count();
        let mut firsts: BTreeMap<&str, usize> = BTreeMap::new();
        runs.iter().for_each(|j| *firsts.entry(first(&j.diagnosis)).or_default() += 1);
        let mut firsts: Vec<(&str, usize)> = firsts.into_iter().collect();
        firsts.sort_by_key(|(rule, n)| (usize::MAX - n, *rule));
        let text: Vec<String> = firsts.iter().map(|(rule, n)| format!("{rule} {n}")).collect();
        println!("  {label:38} {:>4} {right:>6}  {}", runs.len(), text.join(", "));
    }
    println!();
    let share = |name: &str, runs: &[&Judged], yes: &dyn Fn(&Judged) -> bool| {
        let n = runs.iter().filter(|j| yes(j)).count();
        let part = 100.0 * n as f64 / runs.len().max(1) as f64;
        println!("  {name:62} {n:>3} of {:>3}  {part:5.1} %", runs.len());
    };
    let (one, two): (Vec<&Judged>, Vec<&Judged>) = labelled.iter().partition(|j| j.causes.len() == 1);
    share("primary cause by counterfactual ranked first", &labelled, &Judged::met);
    share("  of runs with one cause", &one, &Judged::met);
    share("  of runs with two causes", &two, &Judged::met);
    share("    ties, which either cause meets", &two, &Judged::ties);
    share("first-named cause ranked first", &labelled, &Judged::first_named);
    share("  of runs with two causes", &two, &Judged::first_named);
    share("one of the two causes ranked first", &two, &|j| j.causes.iter().any(|c| first(&j.diagnosis) == c));
    share("healthy runs with a critical finding", &healthy, &|j| criticals(&j.diagnosis).next().is_some());
    share("healthy runs with a warning or worse", &healthy, &|j| !j.met());
    recall(judged);
    two.iter().for_each(|j| counterfactual(j));
    println!();
    for j in judged.iter().filter(|j| !j.met()) {
        let found: Vec<String> = j.diagnosis.findings.iter().map(|f| format!("{} {:?}", f.rule, f.severity)).collect();
        println!("  missed {}: {}", j.name, found.join(", "));
    }
    println!();
}

/// A run with two causes: what each does to the figures, and which was ranked first.
fn counterfactual(j: &Judged) {
    let effect = |e: &Effect| format!("{} {:.2}× {}", e.cause, e.log_ratio.exp(), e.figure);
    let effects: Vec<String> = j.effects.iter().map(effect).collect();
    let tie = if j.ties() { " (a tie)" } else { "" };
    let mark = if j.met() { "ok  " } else { "MISS" };
    println!("  {mark} {}: {}", j.name, effects.join(", "));
    println!("       primary {}{tie}, ranked first {}", j.label(), first(&j.diagnosis));
}

/// How many runs with a cause have its finding, and how many findings neither label nor truth support.
fn recall(judged: &[&Judged]) {
    println!("\n  {:38} {:>12} {:>7} {:>12}", "rule", "recall", "found", "unsupported");
    for rule in RULES {
        let with: Vec<&&Judged> = judged.iter().filter(|j| j.causes.iter().any(|c| c == rule.id)).collect();
        let found = with.iter().filter(|j| j.found(rule.id)).count();
        let all = judged.iter().filter(|j| j.found(rule.id)).count();
        let supported = |j: &Judged| j.causes.iter().any(|c| c == rule.id) || j.also.contains(rule.id);
        let stray: Vec<&str> =
            judged.iter().filter(|j| j.found(rule.id) && !supported(j)).map(|j| j.name.as_str()).collect();
        let names = stray.join(", ");
        println!("  {:38} {found:>5} of {:>3} {all:>7} {:>12}  {names}", rule.id, with.len(), stray.len());
    }
    println!();
}
