//! vLLM's periodic lines and per-iteration lines, as samples.

use super::record::Record;
use crate::error::IngestError;
use crate::server::recording::ServerSink;
use crate::text::lines::Line;
use crate::text::name::snake_case;
use crate::text::number::{decimal_scaled, number};
use postrun_schema::{IssueCode, label_text};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Larger values are no counts or rates of a server.
const LARGEST: f64 = 4.3e9;
const SECOND_NS: i64 = 1_000_000_000;
const AGGREGATED: &str = "aggregated";

/// What has to be remembered between lines.
#[derive(Default)]
pub(super) struct Stats {
    /// The engine of the last periodic line: the line about speculative decoding that follows is about the same one.
    engine: Option<String>,
    /// The last moment of each engine's periodic lines and iterations, the latter with their place in that second.
    lines: BTreeMap<String, i64>,
    iterations: BTreeMap<String, (i64, i64)>,
    /// Lines over all engines, until it is known that engines have none of their own.
    held: Vec<(i64, Cow<'static, str>, f64)>,
    single_engines: bool,
}

/// One value of a line, before it is a sample.
struct Value<'a> {
    series: Cow<'static, str>,
    number: Cow<'a, str>,
    percent: bool,
    position: Option<usize>,
}

impl Stats {
    /// A server started: its counters and its choice of lines begin anew.
    pub(super) fn server_started(&mut self, sink: &mut ServerSink) -> Result<(), IngestError> {
        self.release(sink)?;
        self.single_engines = false;
        self.engine = None;
        Ok(())
    }

    /// Reads `record` if it is one of these lines; `false`: it is not.
    pub(super) fn read(
        &mut self,
        record: &Record<'_>,
        at_ns: i64,
        line: &Line<'_>,
        sink: &mut ServerSink,
    ) -> Result<bool, IngestError> {
        let (engine, body) = engine_and_body(record.message);
        if body.starts_with("Avg prompt throughput:") {
            self.engine = engine.map(String::from);
            self.periodic(body, at_ns, line, sink)?;
        } else if let Some(rest) = body.strip_prefix("Prefix cache hit rate: GPU: ") {
            for (series, text) in [("prefix_cache_hit_rate", rest), ("cpu_prefix_cache_hit_rate", after(rest, "CPU: "))]
            {
                if let Some((number, _)) = number(text).filter(|(_, unit)| unit.starts_with('%')) {
                    let value = Value { series: Cow::Borrowed(series), number, percent: true, position: None };
                    self.push(value, at_ns, line, sink)?;
                }
            }
        } else if let Some(rest) =
            ["SpecDecoding metrics: ", "Speculative metrics: "].iter().find_map(|p| body.strip_prefix(p))
        {
            self.speculative(rest, at_ns, line, sink)?;
        } else if body.starts_with("Iteration(") {
            let of_process = || record.process.and_then(|p| p.rsplit_once("_DP")).map_or("0", |(_, rank)| rank);
            self.iteration(engine.unwrap_or_else(of_process), body, at_ns, line, sink)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn periodic(&mut self, body: &str, at_ns: i64, line: &Line<'_>, sink: &mut ServerSink) -> Result<(), IngestError> {
        match self.engine.as_deref() {
            Some(AGGREGATED) => self.release(sink)?,
            Some(_) => {
                self.single_engines = true;
                self.held.clear();
            }
            None => {}
        }
        let engine = self.engine.clone().unwrap_or_default();
        if self.lines.insert(engine, at_ns) == Some(at_ns) {
            sink.issue(IssueCode::DuplicateSample, || line.place(), || format!("a second line of {body:.60}"));
            return Ok(());
        }
        let mut usages = 0;
        let ended = body.ends_with('.');
        let mut parts = body.trim_end_matches('.').split(", ").peekable();
        while let Some(part) = parts.next() {
            let last = parts.peek().is_none();
            let Some((name, number, unit)) = named(part) else {
                if last {
                    sink.issue(IssueCode::BadRecord, || line.place(), || format!("cut: {part:.60}"));
                }
                continue;
            };
            let series: Cow<'static, str> = match (name, unit) {
                ("Avg prompt throughput", "tokens/s") => Cow::Borrowed("prompt_tokens_per_s"),
                ("Avg generation throughput", "tokens/s") => Cow::Borrowed("output_tokens_per_s"),
                ("Running", "reqs") => Cow::Borrowed("running"),
                ("Waiting" | "Pending", "reqs") => Cow::Borrowed("waiting"),
                (_, "%") if name.ends_with("KV cache usage") => {
                    usages += 1;
                    Cow::Borrowed(if usages == 1 { "kv_cache_usage" } else { "cpu_kv_cache_usage" })
                }
                ("Prefix cache hit rate", "%") => Cow::Borrowed("prefix_cache_hit_rate"),
                (_, "%" | "reqs" | "tokens") => Cow::Owned(snake_case(name)),
                (_, "ms" | "s") => Cow::Owned(format!("{}_{unit}", snake_case(name))),
                (_, "tokens/s") => Cow::Owned(format!("{}_tokens_per_s", snake_case(name))),
                // Without a unit nothing tells whether the number is whole, but what follows it.
                (_, "") if !last || ended => Cow::Owned(format!("{}_in_interval", snake_case(name))),
                _ => {
                    sink.issue(IssueCode::BadRecord, || line.place(), || format!("not understood: {part:.60}"));
                    continue;
                }
            };
            self.push(Value { series, number, percent: unit == "%", position: None }, at_ns, line, sink)?;
        }
        Ok(())
    }

    fn speculative(
        &mut self,
        body: &str,
        at_ns: i64,
        line: &Line<'_>,
        sink: &mut ServerSink,
    ) -> Result<(), IngestError> {
        let ended = body.ends_with('.');
        let mut position = None;
        let mut parts = body.trim_end_matches('.').split(", ").peekable();
        while let Some(part) = parts.next() {
            let last = parts.peek().is_none();
            let bare = position.and_then(|at: usize| Some((at + 1, number(part.trim())?)));
            let (name, number, unit) = match (named(part), bare) {
                (Some(found), _) => {
                    position = (found.0 == "Per-position acceptance rate").then_some(0);
                    found
                }
                (None, Some((at, (number, unit)))) => {
                    position = Some(at);
                    ("Per-position acceptance rate", number, unit.trim())
                }
                (None, None) => continue,
            };
            // Shares per position have three decimals, which tells a whole number from a cut one.
            let whole = !last || ended || number.split_once('.').is_some_and(|(_, decimals)| decimals.len() == 3);
            let series: Cow<'static, str> = match (name, unit) {
                ("Mean acceptance length", "") if whole => Cow::Borrowed("spec_decode_acceptance_length"),
                ("Avg Draft acceptance rate" | "Draft acceptance rate", "%") => {
                    Cow::Borrowed("spec_decode_draft_acceptance_rate")
                }
                ("Accepted throughput", "tokens/s") => Cow::Borrowed("spec_decode_accepted_tokens_per_s"),
                ("Drafted throughput", "tokens/s") => Cow::Borrowed("spec_decode_drafted_tokens_per_s"),
                ("Accepted", "tokens") => Cow::Borrowed("spec_decode_accepted_tokens"),
                ("Drafted", "tokens") => Cow::Borrowed("spec_decode_drafted_tokens"),
                ("Per-position acceptance rate", "") if whole => Cow::Borrowed("spec_decode_position_acceptance_rate"),
                (_, "") if whole => Cow::Owned(format!("spec_decode_{}", snake_case(name))),
                _ => continue,
            };
            self.push(Value { series, number, percent: unit == "%", position }, at_ns, line, sink)?;
        }
        Ok(())
    }

    fn iteration(
        &mut self,
        engine: &str,
        body: &str,
        at_ns: i64,
        line: &Line<'_>,
        sink: &mut ServerSink,
    ) -> Result<(), IngestError> {
        let Some(step) = Iteration::parse(body) else {
            sink.issue(IssueCode::BadRecord, || line.place(), || format!("no whole iteration: {body:.80}"));
            return Ok(());
        };
        if step.dummy {
            return Ok(());
        }
        // Stamps are whole seconds: the iterations of a second are set apart by the time each took.
        let (second, mut offset) =
            self.iterations.get(engine).copied().filter(|(s, _)| *s == at_ns).unwrap_or((at_ns, 0));
        let later = offset.saturating_add(decimal_scaled(&step.elapsed_ms, 6).unwrap_or(0).max(1));
        offset = if later < SECOND_NS { later } else { offset + 1 };
        self.iterations.insert(engine.to_string(), (second, offset));
        let spoken = self.engine.replace(engine.to_string());
        let values = [
            ("iteration_ms", step.elapsed_ms, false),
            ("batch_prompt_tokens", step.context_tokens, false),
            ("batch_requests", step.requests, false),
            ("context_requests", step.context_requests, false),
            ("generation_requests", step.generation_requests, false),
            ("generation_tokens", step.generation_tokens, false),
            ("kv_cache_usage", step.usage.unwrap_or_default(), true),
        ];
        for (series, number, percent) in values {
            if !number.is_empty() {
                let value = Value { series: Cow::Borrowed(series), number, percent, position: None };
                self.push(value, at_ns.saturating_add(offset), line, sink)?;
            }
        }
        self.engine = spoken;
        Ok(())
    }

    fn push(
        &mut self,
        value: Value<'_>,
        at_ns: i64,
        line: &Line<'_>,
        sink: &mut ServerSink,
    ) -> Result<(), IngestError> {
        let number: f64 = value.number.parse().unwrap_or(f64::NAN);
        let number = if value.percent { number / 100.0 } else { number };
        let largest = if value.percent { 1.0 } else { LARGEST };
        if !number.is_finite() {
            sink.issue(IssueCode::NonFiniteValue, || line.place(), || format!("{}: {}", value.series, value.number));
        } else if !(0.0..=largest).contains(&number) {
            sink.issue(IssueCode::OutOfRange, || line.place(), || format!("{}: {}", value.series, value.number));
        } else if self.engine.as_deref() == Some(AGGREGATED) {
            if !self.single_engines {
                self.held.push((at_ns, value.series, number));
            }
        } else {
            let position = value.position.map(|p| p.to_string());
            let engine = self.engine.as_deref().map(|e| ("engine", e));
            let labels = label_text(engine.into_iter().chain(position.as_deref().map(|p| ("position", p))));
            sink.sample(at_ns, &value.series, labels.as_deref(), number)?;
        }
        Ok(())
    }

    /// Gives out the last line over all engines: no engine has spoken for itself since.
    pub(super) fn release(&mut self, sink: &mut ServerSink) -> Result<(), IngestError> {
        for (at_ns, series, value) in self.held.drain(..) {
            sink.sample(at_ns, &series, Some("engine=aggregated"), value)?;
        }
        Ok(())
    }
}

/// `Engine 000: …` is about engine 0, `2 Engines Aggregated: …` about all, anything else about the server as a whole.
fn engine_and_body(message: &str) -> (Option<&str>, &str) {
    let digits = |text: &str| !text.is_empty() && text.len() < 7 && text.bytes().all(|b| b.is_ascii_digit());
    if let Some((id, body)) =
        message.strip_prefix("Engine ").and_then(|rest| rest.split_once(": ")).filter(|(id, _)| digits(id))
    {
        let short = id.trim_start_matches('0');
        return (Some(if short.is_empty() { "0" } else { short }), body);
    }
    match message.split_once(" Engines Aggregated: ").filter(|(count, _)| digits(count)) {
        Some((_, body)) => (Some(AGGREGATED), body),
        None => (None, message),
    }
}

/// `Running: 3 reqs` as name, number and unit.
fn named(part: &str) -> Option<(&str, Cow<'_, str>, &str)> {
    let (name, value) = part.split_once(':')?;
    let (number, unit) = number(value.trim_start())?;
    Some((name.trim(), number, unit.trim()))
}

fn after<'a>(text: &'a str, mark: &str) -> &'a str {
    text.split_once(mark).map_or("", |(_, rest)| rest)
}

/// One step of an engine.
struct Iteration<'a> {
    context_requests: Cow<'a, str>,
    context_tokens: Cow<'a, str>,
    generation_requests: Cow<'a, str>,
    generation_tokens: Cow<'a, str>,
    requests: Cow<'a, str>,
    elapsed_ms: Cow<'a, str>,
    usage: Option<Cow<'a, str>>,
    dummy: bool,
}

impl<'a> Iteration<'a> {
    fn parse(body: &'a str) -> Option<Iteration<'a>> {
        let (_, counts) = body.split_once("): ")?;
        let mut counts = counts.split(", ");
        let mut count = |unit: &str| {
            let (number, rest) = number(counts.next()?)?;
            (rest.trim() == unit).then_some(number)
        };
        let context_requests = count("context requests")?;
        let context_tokens = count("context tokens")?;
        let generation_requests = count("generation requests")?;
        let generation_tokens = count("generation tokens")?;
        let requests = context_requests.parse::<u32>().ok()?.checked_add(generation_requests.parse().ok()?)?;
        let (elapsed_ms, rest) = number(counts.next()?.strip_prefix("iteration elapsed time: ")?)?;
        let dummy = match rest {
            " ms" => false,
            " ms (dummy)" => true,
            _ => return None,
        };
        let usage = counts.filter_map(named).find(|(name, _, unit)| name.ends_with("KV cache usage") && *unit == "%");
        Some(Iteration {
            context_requests,
            context_tokens,
            generation_requests,
            generation_tokens,
            requests: Cow::Owned(requests.to_string()),
            elapsed_ms,
            usage: usage.map(|(_, number, _)| number),
            dummy,
        })
    }
}
