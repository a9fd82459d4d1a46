//! The prefixes of llama.cpp's log lines, in every form they have had.

use crate::text::number::decimal_scaled;
use crate::text::stamp::{CivilStamp, LogClock};
use serde_json::Value;
use std::borrow::Cow;

/// When a line was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    None,
    /// Since the start of the process.
    Elapsed(i64),
    Unix(i64),
}

/// A line taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told<'a> {
    /// The port in front of a line that a router hands on; 0 where there is none.
    pub instance: u32,
    pub moment: Moment,
    /// A full stamp in front of everything.
    pub outer_ns: Option<i64>,
    /// Slot and task.
    pub slot: Option<(i64, i64)>,
    /// The function that speaks, of lines about slots.
    pub function: Cow<'a, str>,
    pub message: Cow<'a, str>,
    /// The keys of the JSON and key-value forms.
    pub keys: Option<Value>,
    /// A JSON object that does not parse.
    pub broken: bool,
    /// It says itself that it is whole.
    pub whole: bool,
}

/// What may stand in front of a line.
const FURTHEST_SLOT: usize = 200;

impl<'a> Told<'a> {
    pub(super) fn parse(text: &'a str) -> Told<'a> {
        if text.starts_with('{') {
            return from_json(text);
        }
        if let Some(told) = from_keys(text) {
            return told;
        }
        let outer = CivilStamp::parse(text).filter(|(s, _)| s.year.is_some() && s.zone_ns.is_some());
        let outer_ns = outer.map(|(stamp, _)| LogClock::default().at_ns(&stamp));
        // The journal puts host and process in front.
        let behind = text.split_once("llama-server[").and_then(|(_, rest)| rest.split_once("]: "));
        let text = behind.map_or(text, |(_, rest)| rest);
        let (slot, head, message) = match of_slot(text) {
            Some((at, function, slot, message)) => {
                (Some((function, slot)), text.get(..at).unwrap_or_default(), message)
            }
            None => (None, text, text),
        };
        let (instance, elapsed, behind) = prefix(head, slot.is_some());
        Told {
            instance,
            moment: elapsed.map_or(Moment::None, Moment::Elapsed),
            outer_ns,
            slot: slot.map(|(_, slot)| slot),
            function: Cow::Borrowed(slot.map_or("", |(function, _)| function)),
            message: Cow::Borrowed(if slot.is_some() { message } else { behind }),
            keys: None,
            broken: false,
            whole: false,
        }
    }

    /// A number among the keys.
    pub(super) fn key(&self, name: &str) -> Option<i64> {
        self.keys.as_ref()?.get(name)?.as_i64()
    }
}

/// `slot print_timing: id  0 | task 388 | message`: where it starts, and its parts.
fn of_slot(text: &str) -> Option<(usize, &str, (i64, i64), &str)> {
    text.match_indices("slot ").map(|(at, _)| at).take_while(|at| *at <= FURTHEST_SLOT).find_map(|at| {
        let (function, rest) = text.get(at + 5..)?.split_once(": id ")?;
        let (slot, rest) = rest.split_once(" | task ")?;
        let (task, message) = rest.split_once(" |")?;
        let function = function.trim();
        let whole = !function.is_empty() && !function.contains(' ');
        let ids = (slot.trim().parse().ok()?, task.trim().parse().ok()?);
        whole.then(|| (at, function, ids, message.trim()))
    })
}

/// Port and count of a line, and what stands behind them. `all`: the text is nothing but a prefix.
fn prefix(text: &str, all: bool) -> (u32, Option<i64>, &str) {
    let (mut instance, mut elapsed) = (0, None);
    let mut rest = text.trim_start();
    // A supervisor's own words may come first, but then the line is about a slot.
    let mut words = if all { 8 } else { 3 };
    while words > 0 && !rest.is_empty() {
        let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        if let Some(port) = word.strip_prefix('[').and_then(|w| w.strip_suffix(']')).and_then(|w| w.parse().ok()) {
            instance = port;
        } else if let Some(ns) = elapsed_ns(word) {
            elapsed = Some(ns);
        } else {
            let level = elapsed.is_some() && matches!(word, "I" | "W" | "E" | "D");
            if !all && !level {
                break;
            }
        }
        rest = behind.trim_start();
        words -= 1;
    }
    (instance, elapsed, rest)
}

/// `1.35.716.244`: minutes, seconds, milliseconds, microseconds.
fn elapsed_ns(word: &str) -> Option<i64> {
    let mut parts = word.split('.');
    let mut part = |digits: Option<usize>| {
        let part = parts.next()?;
        let fits = digits.map_or(!part.is_empty() && part.len() < 10, |digits| part.len() == digits);
        (fits && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse::<i64>().ok())?
    };
    let (minutes, seconds) = (part(None)?, part(Some(2))?);
    let (milli, micro) = (part(Some(3))?, part(Some(3))?);
    let whole = parts.next().is_none() && seconds < 60;
    whole.then(|| ((minutes * 60 + seconds) * 1000 + milli) * 1_000_000 + micro * 1000)
}

/// `{"timestamp":1717067386,"function":"print_timings","msg":"…","id_slot":0,"id_task":19}`.
fn from_json(text: &str) -> Told<'_> {
    let keys = serde_json::from_str::<Value>(text).ok();
    let broken = keys.is_none();
    let keys = keys.unwrap_or_default();
    let word = |name: &str| keys.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
    let message = if keys.get("msg").is_some() { word("msg") } else { word("message") };
    told_by_keys(word("function"), message, keys, broken)
}

/// `INFO [  print_timings] prompt eval time = … | tid="1" timestamp=1717067386 id_slot=0 id_task=19`.
fn from_keys(text: &str) -> Option<Told<'_>> {
    let (_, rest) = text.split_once(" [").filter(|(level, _)| level.trim().bytes().all(|b| b.is_ascii_uppercase()))?;
    let (function, rest) = rest.split_once(']')?;
    let (message, pairs) = rest.split_once(" | tid=")?;
    let numbers = pairs.split(' ').filter_map(|pair| pair.split_once('=')).filter_map(|(key, value)| {
        let value = if value == "true" { 1 } else { value.parse::<i64>().ok()? };
        Some((key.to_string(), Value::from(value)))
    });
    let keys = Value::Object(numbers.collect());
    Some(told_by_keys(function.trim().to_string(), message.trim().to_string(), keys, false))
}

fn told_by_keys<'a>(function: String, message: String, keys: Value, broken: bool) -> Told<'a> {
    let number = |names: [&str; 2]| names.iter().find_map(|name| keys.get(name)?.as_i64());
    let slot = number(["id_slot", "slot_id"]).zip(number(["id_task", "task_id"]));
    let seconds = keys.get("timestamp").map(Value::to_string);
    let moment = seconds.and_then(|s| decimal_scaled(&s, 9)).map_or(Moment::None, Moment::Unix);
    let (function, message) = (Cow::Owned(function), Cow::Owned(message));
    let whole = !broken && keys.get("function").is_some();
    Told { instance: 0, moment, outer_ns: None, slot, function, message, keys: Some(keys), broken, whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_all_years() {
        let told = Told::parse("[42027] 1.35.716.244 I slot print_timing: id  0 | task 388 | n_decoded = 172");
        assert_eq!((told.instance, told.slot, told.moment), (42027, Some((0, 388)), Moment::Elapsed(95_716_244_000)));
        assert_eq!((told.function.as_ref(), told.message.as_ref()), ("print_timing", "n_decoded = 172"));
        let told = Told::parse("slot      release: id  3 | task 10 | stop processing: n_tokens = 73, truncated = 0");
        assert_eq!((told.slot, told.moment, told.function.as_ref()), (Some((3, 10)), Moment::None, "release"));
        let told = Told::parse("[42027]        eval time =   16112.50 ms /   192 tokens");
        assert_eq!((told.instance, told.message.starts_with("eval time")), (42027, true));
        let told = Told::parse(
            "2026-01-02T03:04:05.5+00:00 host llama-server[9]: [4] 0.01.000.000 I slot x: id 0 | task 1 | y",
        );
        assert_eq!((told.outer_ns, told.instance), (Some(1_767_323_045_500_000_000), 4));
        assert_eq!(told.moment, Moment::Elapsed(1_000_000_000));
        let told =
            Told::parse("{\"timestamp\":1717067386,\"function\":\"f\",\"msg\":\"m\",\"id_slot\":0,\"id_task\":19}");
        assert_eq!((told.slot, told.moment), (Some((0, 19)), Moment::Unix(1_717_067_386_000_000_000)));
        let told =
            Told::parse("INFO [  print_timings] total | tid=\"1\" timestamp=1717067386 id_slot=0 id_task=19 t=1.5");
        assert_eq!((told.slot, told.message.as_ref()), (Some((0, 19)), "total"));
        assert!(Told::parse("{\"a\":").broken);
        assert_eq!(Told::parse("slot machine: id x | task y | z").slot, None);
        assert_eq!(elapsed_ns("1.60.000.000"), None);
        assert_eq!(elapsed_ns("999999999999.00.000.000"), None);
    }
}
