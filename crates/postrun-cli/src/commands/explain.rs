//! `postrun explain NAME`.

use crate::args::ExplainArgs;
use crate::error::CliError;
use crate::output::print_wrapped;
use postrun_analysis::{CLIENTS, ClientConvention, Defined, EXAMPLE, METRICS, TOPICS, find_metric};
use postrun_diagnose::{RULES, RULES_FILE, Rule, Threshold, find_rule};
use postrun_diff::PAGES;
use postrun_export::{TARGETS, find_target};
use postrun_ingest::{INGESTORS, LIMITS};
use postrun_schema::{IssueCode, did_you_mean};

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
        let definition = flow(&metric.doc.text());
        return Some(format!("{} ({})\n\n{definition}{}", metric.id, metric.label, conventions(metric.id)));
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
    if id == "limits" {
        return Some(format!("limits\n\n{}", flow(&LIMITS.text())));
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

/// How every client defines a metric, and what one same request gives by it.
fn conventions(metric: &str) -> String {
    let defined: Vec<_> = CLIENTS.iter().filter_map(|c| Some((c.id, c.defined(metric)?, c))).collect();
    if defined.is_empty() {
        return String::new();
    }
    let values: Vec<Option<f64>> = defined.iter().map(|(.., client)| EXAMPLE.value_ms(client, metric)).collect();
    let wide = defined.iter().map(|(id, ..)| id.len()).max().unwrap_or(0);
    let worked = values.iter().any(Option::is_some);
    let line = |((id, defined, _), value): (&(&str, &Defined, &&ClientConvention), &Option<f64>)| {
        let value = if worked { format!("{:>9}  ", value.map_or("-".to_string(), shown)) } else { String::new() };
        let name = if *id == "postrun" { String::new() } else { format!("{}: ", defined.name) };
        format!("  {id:<wide$}  {value}{name}{}", defined.text)
    };
    let lines: Vec<String> = defined.iter().zip(&values).map(line).collect();
    let example = if worked { format!("One request, under each: {}\n\n", EXAMPLE.text()) } else { String::new() };
    format!("\n\n# Conventions\n\n{example}{}", lines.join("\n"))
}

/// Milliseconds without needless zeros.
fn shown(ms: f64) -> String {
    let text = format!("{ms:.2}");
    format!("{} ms", text.trim_end_matches('0').trim_end_matches('.'))
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
    let ids = ids.chain(RULES.iter().map(|r| r.id.to_string())).chain(["rules_file".to_string(), "limits".to_string()]);
    let ids = ids.chain(PAGES.iter().map(|(id, _)| id.to_string()));
    let ids = ids.chain(TARGETS.iter().map(|t| t.id.to_string()));
    let hint = did_you_mean(name, ids.chain(IssueCode::ALL.iter().map(|c| c.id())));
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
