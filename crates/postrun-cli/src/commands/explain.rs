//! `postrun explain NAME`.

use crate::args::ExplainArgs;
use crate::error::CliError;
use crate::output::print_wrapped;
use postrun_analysis::{METRICS, TOPICS, find_metric};
use postrun_diagnose::{RULES, RULES_FILE, Rule, Threshold, find_rule};
use postrun_diff::PAGES;
use postrun_export::{TARGETS, find_target};
use postrun_ingest::INGESTORS;
use postrun_schema::IssueCode;

/// Closer than this (0 to 1), a name may have been meant.
const LIKE: f64 = 0.75;

pub fn run(args: ExplainArgs) -> Result<(), CliError> {
    match page(args.name.trim()) {
        Some(text) => print_wrapped(&text),
        None => Err(CliError::Argument(unknown(args.name.trim()))),
    }
}

fn page(name: &str) -> Option<String> {
    let id = name.to_lowercase().replace(['-', ' '], "_");
    let by_label = || METRICS.iter().copied().find(|m| m.label.eq_ignore_ascii_case(name));
    if let Some(metric) = find_metric(&id).or_else(by_label) {
        return Some(format!("{} ({})\n\n{}", metric.id, metric.label, flow(&metric.doc.text())));
    }
    if let Some(ingestor) = INGESTORS.iter().find(|i| i.id == id) {
        return Some(format!("{} ({})\n\n{}", ingestor.id, ingestor.title, flow(&ingestor.doc.text())));
    }
    if let Some(rule) = find_rule(&id) {
        return Some(format!("{} ({})\n\n{}\n\n{}", rule.id, rule.title, flow(&rule.doc.text()), thresholds(rule)));
    }
    if id == "rules_file" {
        return Some(format!("rules_file\n\n{}", flow(&RULES_FILE.text())));
    }
    if let Some((id, doc)) = PAGES.iter().find(|(page, _)| *page == id) {
        return Some(format!("{id}\n\n{}", flow(&doc.text())));
    }
    if let Some(topic) = TOPICS.iter().find(|t| t.id == id) {
        return Some(format!("{}\n\n{}", topic.id, flow(&topic.doc.text())));
    }
    if let Some(target) = find_target(&id.replace('_', "-")) {
        return Some(format!("{} (target of `postrun export`)\n\n{}", target.id, flow(&target.doc.text())));
    }
    let code = IssueCode::ALL.iter().find(|c| c.id() == id)?;
    Some(format!("{id} (data quality)\n\n{}", code.meaning()))
}

/// The thresholds of a rule with their reasons, as they can be set in a rules file.
fn thresholds(rule: &Rule) -> String {
    let line = |t: &Threshold| format!("- {} = {} {}: {}", t.key, t.default, t.unit, t.why);
    let lines: Vec<String> = rule.thresholds.iter().map(line).collect();
    if lines.is_empty() { String::new() } else { format!("# Thresholds\n\n{}", lines.join("\n")) }
}

/// Lines of one paragraph or list item joined, so that they can be wrapped to any width.
fn flow(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(". ");
        let starts = line.is_empty() || line.starts_with(['-', '#', '|']) || (numbered && !line.starts_with('.'));
        let continues = !out.is_empty() && !out.ends_with('\n') && !starts;
        match continues {
            true => out.push(' '),
            false if !out.is_empty() => out.push('\n'),
            false => {}
        }
        out.push_str(line.trim());
        if line.starts_with('#') {
            out.push('\n');
        }
    }
    out
}

fn unknown(name: &str) -> String {
    let ids = METRICS.iter().map(|m| m.id.to_string());
    let ids = ids.chain(INGESTORS.iter().map(|i| i.id.to_string())).chain(TOPICS.iter().map(|t| t.id.to_string()));
    let ids = ids.chain(RULES.iter().map(|r| r.id.to_string())).chain(["rules_file".to_string()]);
    let ids = ids.chain(PAGES.iter().map(|(id, _)| id.to_string()));
    let ids = ids.chain(TARGETS.iter().map(|t| t.id.to_string()));
    let mut near: Vec<(f64, String)> = ids
        .chain(IssueCode::ALL.iter().map(|c| c.id()))
        .map(|id| (strsim::jaro_winkler(&id, &name.to_lowercase()), id))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near: Vec<String> = near.into_iter().take(3).map(|(_, id)| id).collect();
    let hint = match near.is_empty() {
        true => String::new(),
        false => format!("; did you mean {}?", near.join(" or ")),
    };
    format!("nothing is called {name:?}{hint} (`postrun list metrics|rules|formats|topics|quality` names everything)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_flow() {
        assert_eq!(flow("1. a\n   b\n2. c\nin 1.5 s"), "1. a b\n2. c in 1.5 s");
        assert_eq!(flow("One\ntwo.\n\n# Head\nThree\n- a\nb\n- c"), "One two.\n\n# Head\n\nThree\n- a b\n- c");
    }

    #[test]
    fn near_misses_are_named() {
        assert!(unknown("tftt").contains("ttft_ms"), "{}", unknown("tftt"));
        assert!(unknown("zzz").starts_with("nothing is called \"zzz\" ("));
    }
}
