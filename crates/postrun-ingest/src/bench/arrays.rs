//! Reads one run that a client stored as an object of scalars and index-aligned arrays, one entry a request.
//!
//! `vllm bench serve` and SGLang's `bench_serving` both write this shape: column by column, so the per-request
//! scalars wait in memory (about 70 bytes a request) while the gaps between chunks, which are nearly the whole file,
//! go straight to the chunks table. Where the gaps come before what is needed to place them, they wait on disk.

use super::columns::{ABSENT, Columns, Counts, Gaps, Times};
use super::facts::is_header_number;
use super::spool::Spool;
use crate::json::records::RecordError;
use crate::json::{JsonError, JsonReader, Scalar, Seconds};
use crate::limits::{ALL_ERROR_BYTES, ERROR_BYTES, MOST_GAPS, MOST_SETTINGS, too_many_gaps};
use postrun_schema::{DatasetWriter, IssueCode, Issues, MOST_REQUESTS};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

const SCALAR_BYTES: usize = 4096;
/// A duration above this (11.6 days) is a point in time or another unit.
const MAX_DURATION_NS: i64 = 1_000_000_000_000_000;
/// The shape of one client's object.
pub(crate) struct Shape {
    /// Arrays of durations in seconds, where negative is impossible.
    pub durations: &'static [&'static str],
    /// Arrays of points in time in seconds.
    pub points: &'static [&'static str],
    /// Arrays of counts.
    pub counts: &'static [&'static str],
    /// May the gaps be placed while they stream by, given the scalars read so far? If not, they go to the spool.
    pub stream_gaps: fn(&BTreeMap<String, Scalar>) -> bool,
}

/// One run as it was read.
pub(crate) struct ArrayRun {
    /// Run-level values by key; those of a nested `server_info` as `server_info.<key>`.
    pub scalars: BTreeMap<String, Scalar>,
    pub columns: Columns,
    pub issues: Issues,
}

/// Reads the object at the reader. Chunk rows go to `writer` where that is possible already.
pub(crate) fn read<R: Read>(
    reader: &mut JsonReader<R>,
    file: &str,
    shape: &Shape,
    writer: &mut DatasetWriter,
) -> Result<ArrayRun, RecordError> {
    let mut run = ArrayRun { scalars: BTreeMap::new(), columns: Columns::default(), issues: Issues::default() };
    let mut seen = BTreeSet::new();
    let mut failure = None;
    let not_utf8 = reader.not_utf8;
    let parsed = reader.object(|reader, key| {
        let at = reader.offset();
        if seen.len() >= MOST_SETTINGS && !seen.contains(key) {
            let place = || format!("{file}: byte {at}");
            run.issues.add(IssueCode::TooManyRecords, place, || format!("the setting {key:?}"));
            return reader.skip_value();
        }
        if !seen.insert(key.to_string()) {
            run.issues.add(IssueCode::DuplicateKey, || format!("{file}: byte {at}"), || format!("key {key:?}"));
            // Of a setting the last one counts; which of two arrays is meant nobody can say.
            if run.columns.lengths.contains_key(key) {
                failure.get_or_insert(RecordError::NotARun(format!("the array {key:?} stands twice")));
                return reader.skip_value();
            }
        }
        let place = Place { file, key };
        let known = |names: &'static [&'static str]| names.iter().copied().find(|n| *n == key);
        if key == "itls" {
            match read_gaps(reader, &place, shape, &mut run, writer) {
                Err(RecordError::Json(e)) => return Err(e),
                Err(other) => failure = Some(other),
                Ok(()) => {}
            }
            Ok(())
        } else if let Some(name) = known(shape.durations) {
            let (times, len) = read_times(reader, &place, true, &mut run.issues)?;
            run.columns.times.insert(name, times);
            note_length(&mut run, key, len);
            Ok(())
        } else if let Some(name) = known(shape.points) {
            let (times, len) = read_times(reader, &place, false, &mut run.issues)?;
            run.columns.times.insert(name, times);
            note_length(&mut run, key, len);
            Ok(())
        } else if let Some(name) = known(shape.counts) {
            let (counts, len) = read_counts(reader, &place, &mut run.issues)?;
            run.columns.counts.insert(name, counts);
            note_length(&mut run, key, len);
            Ok(())
        } else if key == "errors" {
            let len = read_errors(reader, &mut run.columns.errors)?;
            run.columns.errors_len = len;
            note_length(&mut run, key, len);
            Ok(())
        } else if key == "server_info" {
            read_nested(reader, &place, &mut run)
        } else {
            let value = reader.scalar(SCALAR_BYTES)?;
            if value != Scalar::Nested || is_header_number(key) {
                run.scalars.insert(key.to_string(), value);
            }
            Ok(())
        }
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    parsed?;
    let bad_text = reader.not_utf8 - not_utf8;
    run.issues.add_many(IssueCode::NotUtf8, bad_text, || file.to_string(), || format!("{bad_text} string(s)"));
    Ok(run)
}

fn note_length(run: &mut ArrayRun, key: &str, len: Option<usize>) {
    if let Some(len) = len {
        run.columns.lengths.insert(key.to_string(), len);
    }
}

struct Place<'a> {
    file: &'a str,
    key: &'a str,
}

impl Place<'_> {
    fn at(&self, index: usize, byte: u64) -> String {
        format!("{}: {}[{index}], byte {byte}", self.file, self.key)
    }
}

/// Reads one entry of a time array; anything unusable becomes `ABSENT` and an issue.
fn usable_seconds(seconds: Seconds, is_duration: bool, issues: &mut Issues, at: impl FnOnce() -> String) -> i64 {
    let (code, example) = match seconds {
        Seconds::Ns(ns) if is_duration && ns < 0 => (IssueCode::NegativeDuration, format!("{} s", ns as f64 / 1e9)),
        Seconds::Ns(ns) if is_duration && ns > MAX_DURATION_NS => {
            (IssueCode::ImplausibleTime, format!("{} s", ns as f64 / 1e9))
        }
        Seconds::Ns(ns) => return ns,
        Seconds::Null => return ABSENT,
        Seconds::NonFinite => (IssueCode::NonFiniteValue, "NaN or infinity".to_string()),
        Seconds::TooLarge => (IssueCode::ImplausibleTime, "more than 292 years".to_string()),
        Seconds::NotANumber => (IssueCode::WrongType, "expected a number of seconds".to_string()),
        Seconds::TooMany => (IssueCode::OutOfRange, too_many_gaps()),
    };
    issues.add(code, at, || example);
    ABSENT
}

fn read_times<R: Read>(
    reader: &mut JsonReader<R>,
    place: &Place<'_>,
    is_duration: bool,
    issues: &mut Issues,
) -> crate::json::Result<(Times, Option<usize>)> {
    let mut out = Vec::new();
    let start = reader.offset();
    let is_array = reader.array(|reader| {
        let byte = reader.offset();
        let seconds = reader.seconds()?;
        let index = out.len();
        one_more(index, byte)?;
        out.push(usable_seconds(seconds, is_duration, issues, || place.at(index, byte)));
        Ok(())
    })?;
    let len = expect_array(is_array, out.len(), start, place, issues);
    Ok((Times::new(out), len))
}

/// Whether a run may have one more request than `requests`.
fn one_more(requests: usize, byte: u64) -> crate::json::Result<()> {
    match requests < MOST_REQUESTS {
        true => Ok(()),
        false => Err(JsonError::Unexpected {
            at: byte,
            expected: "no more requests than one run may have (`postrun explain limits`)",
            found: format!("more than {MOST_REQUESTS}"),
        }),
    }
}

fn expect_array(is_array: bool, len: usize, start: u64, place: &Place<'_>, issues: &mut Issues) -> Option<usize> {
    if !is_array {
        let at = || format!("{}: {}, byte {start}", place.file, place.key);
        issues.add(IssueCode::WrongType, at, || "expected an array".to_string());
    }
    is_array.then_some(len)
}

fn read_counts<R: Read>(
    reader: &mut JsonReader<R>,
    place: &Place<'_>,
    issues: &mut Issues,
) -> crate::json::Result<(Counts, Option<usize>)> {
    let mut out = Vec::new();
    let start = reader.offset();
    let is_array = reader.array(|reader| {
        let byte = reader.offset();
        let value = reader.scalar(64)?;
        one_more(out.len(), byte)?;
        let at = || place.at(out.len(), byte);
        let count = match value {
            Scalar::Number(v) if v.is_finite() && v >= 0.0 && v <= f64::from(u32::MAX) && v.fract() == 0.0 => v as i64,
            Scalar::Number(v) if v.is_finite() => {
                issues.add(IssueCode::OutOfRange, at, || format!("{v} is no count"));
                ABSENT
            }
            Scalar::Number(_) => {
                issues.add(IssueCode::NonFiniteValue, at, || "NaN or infinity".to_string());
                ABSENT
            }
            other => {
                issues.add(IssueCode::WrongType, at, || format!("expected a count, found {}", kind(&other)));
                ABSENT
            }
        };
        out.push(count);
        Ok(())
    })?;
    let len = expect_array(is_array, out.len(), start, place, issues);
    Ok((Counts(out), len))
}

fn kind(value: &Scalar) -> &'static str {
    match value {
        Scalar::Null => "null",
        Scalar::Bool(_) => "true or false",
        Scalar::Number(_) => "a number",
        Scalar::Text(_) => "text",
        Scalar::Nested => "an array or object",
    }
}

fn read_errors<R: Read>(
    reader: &mut JsonReader<R>,
    errors: &mut BTreeMap<usize, String>,
) -> crate::json::Result<Option<usize>> {
    let (mut len, mut kept_bytes) = (0, 0);
    let is_array = reader.array(|reader| {
        one_more(len, reader.offset())?;
        match reader.scalar(ERROR_BYTES)? {
            Scalar::Text(text) if text.is_empty() => {}
            Scalar::Text(text) if kept_bytes + text.len() > ALL_ERROR_BYTES => {
                errors.insert(len, "a text beyond what is kept of all error messages".to_string());
            }
            Scalar::Text(text) => {
                kept_bytes += text.len();
                errors.insert(len, text);
            }
            Scalar::Null | Scalar::Bool(false) | Scalar::Number(0.0) => {}
            Scalar::Bool(true) => drop(errors.insert(len, "true".to_string())),
            Scalar::Number(code) => drop(errors.insert(len, code.to_string())),
            Scalar::Nested => drop(errors.insert(len, "not a text".to_string())),
        }
        len += 1;
        Ok(())
    })?;
    Ok(is_array.then_some(len))
}

fn read_nested<R: Read>(reader: &mut JsonReader<R>, place: &Place<'_>, run: &mut ArrayRun) -> crate::json::Result<()> {
    if reader.peek()? != Some(b'{') {
        return reader.skip_value();
    }
    reader.object(|reader, key| {
        let at = reader.offset();
        let value = reader.scalar(SCALAR_BYTES)?;
        let name = format!("{}.{key}", place.key);
        if value == Scalar::Nested {
            return Ok(());
        }
        if run.scalars.len() >= MOST_SETTINGS && !run.scalars.contains_key(&name) {
            let place = || format!("{}: byte {at}", place.file);
            run.issues.add(IssueCode::TooManyRecords, place, || format!("the setting {name:?}"));
        } else {
            run.scalars.insert(name, value);
        }
        Ok(())
    })
}

fn read_gaps<R: Read>(
    reader: &mut JsonReader<R>,
    place: &Place<'_>,
    shape: &Shape,
    run: &mut ArrayRun,
    writer: &mut DatasetWriter,
) -> Result<(), RecordError> {
    run.columns.has_gaps = true;
    let ttfts = run.columns.times.get("ttfts").cloned();
    let direct = ttfts.is_some() && (shape.stream_gaps)(&run.scalars);
    let mut spool = match direct {
        true => None,
        false => Some(Spool::create(writer.scratch_dir())?),
    };
    let (issues, columns) = (&mut run.issues, &mut run.columns);
    let start = reader.offset();
    let mut at_ns: Vec<i64> = Vec::new();
    let mut failure: Option<RecordError> = None;
    let is_array = reader.array(|reader| {
        let index = columns.gaps.len();
        one_more(index, reader.offset())?;
        at_ns.clear();
        // In the spool the first chunk stands at 0; its place is known later.
        let base = match direct {
            true => ttfts.as_ref().and_then(|t| t.get(index)).filter(|ns| *ns > 0),
            false => None,
        };
        let mut at = base.unwrap_or(0);
        let mut good = true;
        at_ns.push(at);
        let row_start = reader.offset();
        let is_list = reader.array(|reader| {
            let byte = reader.offset();
            let gap = match reader.seconds()? {
                Seconds::Ns(ns) if (0..=MAX_DURATION_NS).contains(&ns) => ns,
                other => {
                    let place = || format!("{}: itls[{index}][{}], byte {byte}", place.file, at_ns.len() - 1);
                    good &= usable_seconds(other, true, issues, place) != ABSENT;
                    if other == Seconds::Null {
                        good = false;
                    }
                    0
                }
            };
            if at_ns.len() > MOST_GAPS {
                if good {
                    let place = || format!("{}: itls[{index}], byte {byte}", place.file);
                    issues.add(IssueCode::OutOfRange, place, too_many_gaps);
                }
                good = false;
                return Ok(());
            }
            at = at.saturating_add(gap);
            at_ns.push(at);
            reader.more_seconds(|gap| {
                let plain = (0..=MAX_DURATION_NS).contains(&gap) && at_ns.len() <= MOST_GAPS;
                if plain {
                    at = at.saturating_add(gap);
                    at_ns.push(at);
                }
                plain
            });
            Ok(())
        })?;
        if !is_list {
            good = false;
            issues.add(IssueCode::WrongType, || place.at(index, row_start), || "expected a list of gaps".to_string());
        }
        if at > MAX_DURATION_NS {
            good = false;
            issues.add(
                IssueCode::ImplausibleTime,
                || place.at(index, row_start),
                || "gaps of more than 11 days".into(),
            );
        }
        columns.gaps.push(match good {
            true => Gaps::Known((at_ns.len() - 1) as u32, at - base.unwrap_or(0)),
            false => Gaps::Unknown,
        });
        let stored = match (&mut spool, good) {
            (Some(spool), true) => spool.push(&at_ns),
            (Some(spool), false) => spool.push(&[]),
            (None, true) if base.is_some() => match writer.push_chunks(index as u32, at_ns.iter().copied(), |_| None) {
                Ok(n) => {
                    columns.written_chunks.push(Some(n));
                    Ok(())
                }
                Err(e) => Err(e.into()),
            },
            (None, _) => {
                columns.written_chunks.push(None);
                Ok(())
            }
        };
        if let Err(e) = stored {
            failure.get_or_insert(e);
        }
        Ok(())
    })?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let len = expect_array(is_array, columns.gaps.len(), start, place, issues);
    columns.spool = spool;
    note_length(run, place.key, len);
    Ok(())
}
