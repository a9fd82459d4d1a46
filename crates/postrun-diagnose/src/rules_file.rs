//! A rules file: thresholds of the built-in rules, and rules of your own, for `--rules FILE`.
//!
//! # Thresholds
//! A table `[thresholds.<rule>]` sets what `postrun explain <rule>` lists:
//!
//! - `[thresholds.frequent_preemption]`
//! - `per_request = 0.1`
//!
//! # Rules of your own
//! Each `[[rule]]` has an `id`, a `title`, a condition `when`, a `severity` (info, warning, critical; warning unless said)
//! and `measures`: ids of postrun's own, or words.
//!
//! - `[[rule]]`
//! - `id = "slow_and_full"`
//! - `title = "First tokens are late while the KV cache is full"`
//! - `when = "p99.ttft_ms > 2000 and kv_cache_usage.max > 0.9"`
//! - `severity = "critical"`
//! - `measures = ["more_kv_cache", "ask the platform team for another replica"]`
//!
//! # Conditions
//! Comparisons, `and`, `or`, `not`, `+ - * /` and parentheses over figures: `<stat>.<metric>` for a distribution (mean, std,
//! min, max, p50, p90, p95, p99, count), a metric of the whole run by its id, and the keys of the JSON report such as
//! `waiting.mean` or `preemption.total`. A figure that a run does not have leaves the rule unjudged. An unknown name is an
//! error with file, line and column, and the nearest name.

use crate::condition::{self, suggestion};
use crate::finding::Severity;
use crate::measure::{Measure, Server};
use crate::rule_set::{RuleSet, RulesFileError};
use crate::rules::{RULES, find_rule};
use crate::user_rule::{Step, UserRule};
use std::ops::Range;
use toml_edit::{Document, Item, TableLike, Value};

/// What is wrong, and at which bytes of the file.
struct Fault {
    at: usize,
    message: String,
}

type Read<T> = Result<T, Fault>;

const KEYS: [&str; 5] = ["id", "title", "when", "severity", "measures"];
const SEVERITIES: [(&str, Severity); 3] =
    [("info", Severity::Info), ("warning", Severity::Warning), ("critical", Severity::Critical)];

/// Reads a rules file; the error says file, line and column.
pub(crate) fn read(file: &str, text: &str) -> Result<RuleSet, RulesFileError> {
    let placed = |fault: Fault| {
        let before = text.get(..fault.at.min(text.len())).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        RulesFileError {
            file: file.to_string(),
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            message: fault.message,
        }
    };
    let document = Document::parse(text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start);
        placed(Fault { at, message: one_line(e.message()) })
    })?;
    rule_set(document.as_table(), text).map_err(placed)
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fault<T>(at: usize, message: String) -> Read<T> {
    Err(Fault { at, message })
}

/// Where a key stands.
fn key_at(table: &dyn TableLike, key: &str) -> usize {
    table.get_key_value(key).and_then(|(key, _)| key.span()).map_or(0, |span| span.start)
}

fn item_at(table: &dyn TableLike, key: &str, item: &Item) -> usize {
    item.span().map_or_else(|| key_at(table, key), |span| span.start)
}

fn rule_set(root: &dyn TableLike, text: &str) -> Read<RuleSet> {
    let mut set = RuleSet::default();
    for (key, item) in root.iter() {
        match key {
            "thresholds" => match item.as_table_like() {
                Some(tables) => thresholds(tables, &mut set)?,
                None => return fault(key_at(root, key), "thresholds are tables: [thresholds.RULE]".to_string()),
            },
            "rule" => {
                for table in rule_tables(root, item)? {
                    let rule = user_rule(table, text, &set)?;
                    set.user_rules.push(rule);
                }
            }
            _ => {
                let hint = suggestion(key, ["thresholds", "rule"]);
                let known = if hint.is_empty() { "; known: [thresholds.RULE] and [[rule]]" } else { &hint };
                return fault(key_at(root, key), format!("unknown key {key:?}{known}"));
            }
        }
    }
    Ok(set)
}

fn thresholds(tables: &dyn TableLike, set: &mut RuleSet) -> Read<()> {
    for (id, item) in tables.iter() {
        let at = key_at(tables, id);
        let Some(rule) = find_rule(id) else {
            let hint = suggestion(id, RULES.iter().map(|r| r.id));
            return fault(at, format!("no rule is called {id:?}{hint}"));
        };
        let Some(table) = item.as_table_like() else {
            return fault(at, format!("thresholds of a rule are a table: [thresholds.{id}]"));
        };
        for (key, item) in table.iter() {
            let known = rule.thresholds.iter().map(|t| t.key);
            if !known.clone().any(|k| k == key) {
                let hint = suggestion(key, known.clone());
                let all = if hint.is_empty() {
                    match known.collect::<Vec<_>>() {
                        none if none.is_empty() => "; it has none".to_string(),
                        keys => format!("; it has {}", keys.join(", ")),
                    }
                } else {
                    hint
                };
                return fault(key_at(table, key), format!("{id} has no threshold {key:?}{all}"));
            }
            let value = match item.as_value() {
                Some(Value::Integer(n)) => *n.value() as f64,
                Some(Value::Float(f)) => *f.value(),
                _ => f64::NAN,
            };
            if !value.is_finite() {
                return fault(
                    item_at(table, key, item),
                    format!("a threshold is a finite number, and {id}.{key} is not"),
                );
            }
            set.thresholds.0.insert(format!("{id}.{key}"), value);
        }
    }
    Ok(())
}

fn rule_tables<'a>(root: &dyn TableLike, item: &'a Item) -> Read<Vec<&'a dyn TableLike>> {
    if let Some(tables) = item.as_array_of_tables() {
        return Ok(tables.iter().map(|t| t as &dyn TableLike).collect());
    }
    let inline: Option<Vec<&dyn TableLike>> = item
        .as_array()
        .and_then(|array| array.iter().map(|v| v.as_inline_table().map(|t| t as &dyn TableLike)).collect());
    match inline {
        Some(tables) => Ok(tables),
        None => fault(key_at(root, "rule"), "rules are written [[rule]], with two brackets".to_string()),
    }
}

fn user_rule(table: &dyn TableLike, text: &str, set: &RuleSet) -> Read<UserRule> {
    for (key, _) in table.iter() {
        if !KEYS.contains(&key) {
            let hint = suggestion(key, KEYS);
            let known = if hint.is_empty() { format!("; known: {}", KEYS.join(", ")) } else { hint };
            return fault(key_at(table, key), format!("a rule has no {key:?}{known}"));
        }
    }
    let start = table.iter().map(|(key, _)| key_at(table, key)).min().unwrap_or(0);
    let (id, id_at) = string(table, "id", start)?;
    if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return fault(id_at, format!("{id:?} is no id: letters, digits, _ and - only"));
    }
    if find_rule(id).is_some() {
        return fault(id_at, format!("{id} is a built-in rule; its thresholds are set in [thresholds.{id}]"));
    }
    if set.user_rules.iter().any(|r| r.id == id) {
        return fault(id_at, format!("two rules are called {id}"));
    }
    let (title, title_at) = string(table, "title", start)?;
    if title.trim().is_empty() {
        return fault(title_at, "a title is needed: it is what the report says".to_string());
    }
    Ok(UserRule {
        id: id.to_string(),
        title: title.to_string(),
        severity: severity(table)?,
        condition: when(table, text, start)?,
        measures: measures(table, start)?,
    })
}

fn string<'a>(table: &'a dyn TableLike, key: &str, start: usize) -> Read<(&'a str, usize)> {
    let Some(item) = table.get(key) else { return fault(start, format!("this rule has no {key}")) };
    let at = item_at(table, key, item);
    match item.as_str() {
        Some(text) => Ok((text, at)),
        None => fault(at, format!("{key} is a text in quotes")),
    }
}

fn severity(table: &dyn TableLike) -> Read<Severity> {
    if table.get("severity").is_none() {
        return Ok(Severity::Warning);
    }
    let (name, at) = string(table, "severity", 0)?;
    match SEVERITIES.iter().find(|(known, _)| *known == name) {
        Some((_, severity)) => Ok(*severity),
        None => {
            let hint = suggestion(name, SEVERITIES.iter().map(|(known, _)| *known));
            fault(at, format!("{name:?} is no severity{hint}; known: info, warning, critical"))
        }
    }
}

fn when(table: &dyn TableLike, text: &str, start: usize) -> Read<condition::Condition> {
    let (written, at) = string(table, "when", start)?;
    let span = table.get("when").and_then(Item::span).unwrap_or(at..at);
    condition::parse(written).map_err(|e| Fault { at: in_string(text, &span, e.at), message: e.message })
}

/// Byte of the file at which byte `at` of a string's value stands. Escapes move it: then it is the string's start.
fn in_string(text: &str, span: &Range<usize>, at: usize) -> usize {
    let raw = text.get(span.clone()).unwrap_or_default();
    let quotes = if raw.starts_with("\"\"\"") || raw.starts_with("'''") { 3 } else { 1 };
    let inside = raw.get(quotes..).unwrap_or_default();
    // A line break right after three quotes is not part of the value.
    let skipped = match quotes {
        3 if inside.starts_with("\r\n") => 2,
        3 if inside.starts_with('\n') => 1,
        _ => 0,
    };
    match raw.starts_with('"') && raw.contains('\\') {
        true => span.start,
        false => span.start + quotes + skipped + at,
    }
}

fn measures(table: &dyn TableLike, start: usize) -> Read<Vec<Step>> {
    let Some(item) = table.get("measures") else {
        return fault(start, "this rule has no measures: say what to try".to_string());
    };
    let at = item_at(table, "measures", item);
    let Some(list) = item.as_array().filter(|list| !list.is_empty()) else {
        return fault(at, "measures is a list of at least one text".to_string());
    };
    let mut out = Vec::new();
    for value in list {
        let at = value.span().map_or(at, |span| span.start);
        let Some(text) = value.as_str().map(str::trim).filter(|text| !text.is_empty()) else {
            return fault(at, "a measure is the id of one, or a sentence in quotes".to_string());
        };
        let known = Measure::ALL.iter().find(|m| m.on(Server::Unknown).measure == text);
        match known {
            Some(measure) => out.push(Step::Known(*measure)),
            None if text.contains(char::is_whitespace) => out.push(Step::Text(text.to_string())),
            None => {
                let ids: Vec<String> = Measure::ALL.iter().map(|m| m.on(Server::Unknown).measure.to_string()).collect();
                let hint = suggestion(text, ids.iter().map(String::as_str));
                return fault(at, format!("no measure is called {text:?}{hint}; free text has more than one word"));
            }
        }
    }
    Ok(out)
}
