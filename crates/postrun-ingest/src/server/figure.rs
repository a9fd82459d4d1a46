//! Durations that a server recorded, judged before they are believed.

use super::recording::ServerSink;
use crate::json::Tree;
use postrun_schema::IssueCode;

/// More than 11 days is no duration of a request.
pub(crate) const LONGEST_NS: i64 = 1_000_000_000_000_000;

/// A duration in nanoseconds as `read` makes one of `tree`; null is silence, nonsense is counted and taken as not
/// recorded.
pub(crate) fn judged(
    sink: &mut ServerSink,
    place: &dyn Fn() -> String,
    key: &str,
    tree: &Tree,
    read: impl Fn(&Tree) -> Option<i64>,
) -> Option<i64> {
    if *tree == Tree::Null {
        return None;
    }
    let code = match read(tree) {
        Some(ns) if (0..=LONGEST_NS).contains(&ns) => return Some(ns),
        Some(ns) if ns < 0 => IssueCode::NegativeDuration,
        Some(_) => IssueCode::ImplausibleTime,
        // A number that does not fit is too long for a duration.
        None if tree.number().is_some() => IssueCode::ImplausibleTime,
        None if matches!(tree, Tree::Number(_)) => IssueCode::NonFiniteValue,
        None => IssueCode::WrongType,
    };
    sink.issue(code, place, || format!("{key} is {}", shown(tree)));
    None
}

/// A duration in seconds.
pub(crate) fn seconds(sink: &mut ServerSink, place: &dyn Fn() -> String, key: &str, tree: &Tree) -> Option<i64> {
    judged(sink, place, key, tree, Tree::seconds_ns)
}

/// A count of tokens; what is none is counted.
pub(crate) fn count(sink: &mut ServerSink, place: &dyn Fn() -> String, key: &str, tree: &Tree) -> Option<u32> {
    if *tree == Tree::Null {
        return None;
    }
    let value = tree.count();
    if value.is_none() {
        let code = if tree.number().is_some() { IssueCode::OutOfRange } else { IssueCode::WrongType };
        sink.issue(code, place, || format!("{key} is {}", shown(tree)));
    }
    value
}

fn shown(tree: &Tree) -> String {
    match tree {
        Tree::Number(text) => text.clone(),
        Tree::Text(text) => format!("{text:?}"),
        Tree::Bool(value) => value.to_string(),
        Tree::Null => "null".to_string(),
        Tree::List(_) => "a list".to_string(),
        Tree::Map(_) => "an object".to_string(),
    }
}
