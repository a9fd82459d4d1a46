//! Answers of Prometheus' HTTP API to `query_range` and `query`, as JSON.
//!
//! # Which files
//! The answer as it came, `{"status":"success","data":{"resultType":"matrix","result":[…]}}`; several of them behind
//! one another, on lines, in an array, or as members of an object whose keys name them; and the bare list of series
//! that `promtool query range --format=json` prints. Both `matrix` (`values`) and `vector` (`value`) results.
//! Recognised by `resultType` with `metric`, or by `metric` beside `values` or `value` where a series has a `__name__`.
//!
//! # Versions seen
//! API v1 of Prometheus 2 and 3; compatible stores (Thanos, Mimir, VictoriaMetrics) answer in the same form.
//!
//! # How the figures are read
//! - Times are Unix seconds; values are numbers in quotes. Names and units are mapped as for `prometheus_text`.
//! - A series without a name, as functions such as `rate` leave it, is called by the key its answer stands under, else
//!   `unnamed_query`, and by `unnamed_query_2` and so on in later answers.
//! - A query aligns its points to its step and repeats a value for up to five minutes after its last scrape. Such
//!   repetitions are kept: they cannot be told from a value that stood still.
//! - A series that two answers hold counts once at each moment.
//! - Native histograms (`histograms`), `scalar` and `string` results are passed over.
//!
//! # What is not recorded
//! Anything between two steps; the query itself; which scrape a point comes from; single requests.

use crate::error::IngestError;
use crate::ingestor::{Head, Ingestor, Reads, Sniff};
use crate::input::source::Source;
use crate::json::records::{RecordError, walk};
use crate::json::{JsonError, JsonReader, Scalar, Seconds};
use crate::metric::exposition::RawSeries;
use crate::metric::series::SeriesTable;
use crate::server::recording::ServerSink;
use crate::text::stamp::StampClock;
use postrun_schema::{Doc, IssueCode, label_text};
use std::io::Read;

pub(super) static PROMETHEUS_QUERY_RANGE: Ingestor = Ingestor {
    id: "prometheus_query_range",
    title: "answer of Prometheus' query API",
    doc: Doc::from_source(include_str!("prometheus_query_range.rs")),
    sniff,
    reads: Reads::Server(ingest),
};

fn sniff(head: &Head) -> Sniff {
    let holds = |word: &str| memchr::memmem::find(head.bytes, word.as_bytes()).is_some();
    if head.keys.is_empty() {
        return Sniff::No;
    }
    let answer = holds("\"resultType\"") && holds("\"metric\"");
    let bare = head.has_all(&["metric"]) && head.has_any(&["values", "value"]);
    match () {
        () if answer || bare && holds("\"__name__\"") => Sniff::Strong,
        () if head.has_all(&["status", "data"]) && holds("\"resultType\"") || bare => Sniff::Weak,
        () => Sniff::No,
    }
}

/// A label is kept up to this length.
const LABEL_BYTES: usize = 1024;
/// Answers may lie in other objects, but not deeper than this.
const MAX_DEPTH: usize = 16;
/// Keys that every answer has, so that they name none.
const PLAIN_KEYS: &[&str] = &["data", "result", "results", "response", "body"];

fn ingest(source: &mut Source, sink: &mut ServerSink) -> Result<(), IngestError> {
    let name = source.name.clone();
    let head = source.head.clone();
    // Answers on lines can be told from one that is broken over lines only where the first line shows its end.
    let first_line = head.split(|b| *b == b'\n').next().unwrap_or_default();
    let on_lines = first_line.len() == head.len() || first_line.trim_ascii_end().ends_with(b"}");
    let mut whole = source.take_reader();
    let mut reader = JsonReader::new(&mut whole);
    let mut answers = Answers { sink, series: SeriesTable::default(), answers: 0 };
    let walked = walk(&name, if on_lines { &head } else { b"" }, &mut reader, |reader| {
        answers.any(reader, "", 0).map_err(as_record_error)
    })?;
    let not_utf8 = reader.not_utf8;
    answers.sink.clock(StampClock::Unix, 1_000_000);
    let recording = &mut sink.recording;
    recording.issues.extend(walked.issues);
    recording.issues.add_many(IssueCode::NotUtf8, not_utf8, || name.clone(), || "a label".to_string());
    recording.skipped += walked.skipped;
    if recording.first_problem.is_none() {
        recording.first_problem = walked.first_problem;
    }
    drop(reader);
    std::io::copy(&mut whole, &mut std::io::sink()).map_err(IngestError::io(&name))?;
    Ok(())
}

struct Answers<'a> {
    sink: &'a mut ServerSink,
    series: SeriesTable,
    /// How many answers have begun.
    answers: u32,
}

/// Our own failure must pass through the JSON reader's errors.
fn fatal(error: IngestError) -> JsonError {
    JsonError::Io(std::io::Error::other(error))
}

fn as_record_error(error: JsonError) -> RecordError {
    match error {
        JsonError::Io(io) if io.get_ref().is_some_and(|e| e.is::<IngestError>()) => {
            let inner = io.into_inner().and_then(|e| e.downcast::<IngestError>().ok());
            inner.map_or(RecordError::NotARun(String::new()), |e| RecordError::Fatal(*e))
        }
        other => RecordError::Json(other),
    }
}

impl Answers<'_> {
    /// Walks any value; an object with `metric` is a series, whatever it lies in.
    fn any<R: Read>(&mut self, reader: &mut JsonReader<R>, hint: &str, depth: usize) -> Result<(), JsonError> {
        match reader.peek()? {
            Some(b'[') if depth < MAX_DEPTH => reader.array(|reader| self.any(reader, hint, depth + 1)).map(drop),
            Some(b'{') if depth < MAX_DEPTH => {
                let at = reader.offset();
                let (mut entry, mut problem, mut orphans) = (None, None, false);
                reader.object(|reader, key| match key {
                    "metric" => {
                        entry = self.metric(reader, hint)?;
                        if orphans && entry.is_some() {
                            let example = || "points that stand before their series is named".to_string();
                            self.sink.skip(IssueCode::BadRecord, || format!("byte {at}"), example);
                        }
                        Ok(())
                    }
                    "values" if entry.is_some() => reader.array(|reader| self.point(reader, entry)).map(drop),
                    "value" if entry.is_some() => self.point(reader, entry),
                    "values" | "value" => {
                        orphans = true;
                        reader.skip_value()
                    }
                    "error" => {
                        problem = text(reader.scalar(200)?);
                        Ok(())
                    }
                    "resultType" | "status" | "histograms" | "histogram" => reader.skip_value(),
                    _ if PLAIN_KEYS.contains(&key) => {
                        self.answers += u32::from(key == "data");
                        self.any(reader, hint, depth + 1)
                    }
                    key => {
                        let key = key.to_string();
                        self.any(reader, &key, depth + 1)
                    }
                })?;
                if let Some(problem) = problem {
                    self.sink.skip(
                        IssueCode::BadRecord,
                        || format!("byte {at}"),
                        || format!("the query failed: {problem}"),
                    );
                }
                Ok(())
            }
            _ => reader.skip_value(),
        }
    }

    fn metric<R: Read>(&mut self, reader: &mut JsonReader<R>, hint: &str) -> Result<Option<usize>, JsonError> {
        let mut raw = RawSeries { name: String::new(), labels: Vec::new() };
        if reader.peek()? != Some(b'{') {
            reader.skip_value()?;
            return Ok(None);
        }
        reader.object(|reader, key| {
            let Some(value) = text(reader.scalar(LABEL_BYTES)?) else { return Ok(()) };
            match key {
                "__name__" => raw.name = value,
                _ => raw.labels.push((key.to_string(), value)),
            }
            Ok(())
        })?;
        if raw.name.is_empty() {
            raw.name = match (hint, self.answers) {
                ("", 0 | 1) => "unnamed_query".to_string(),
                ("", n) => format!("unnamed_query_{n}"),
                (hint, _) => hint.to_string(),
            };
        }
        let labels = label_text(raw.labels.iter().map(|(k, v)| (k.as_str(), v.as_str())));
        let key = format!("{}{{{}", raw.name, labels.unwrap_or_default());
        Ok(self.series.entry(&key, self.sink, || Some(raw)))
    }

    /// Reads `[time, "value"]` and stores it once both are there.
    fn point<R: Read>(&mut self, reader: &mut JsonReader<R>, entry: Option<usize>) -> Result<(), JsonError> {
        let at = reader.offset();
        let (mut time, mut value, mut count) = (None, None, 0);
        let is_array = reader.array(|reader| {
            count += 1;
            match count {
                1 => time = Some(reader.seconds()?),
                2 => {
                    value = match reader.scalar(40)? {
                        Scalar::Number(value) => Some(value),
                        Scalar::Text(text) => text.trim().parse().ok(),
                        _ => None,
                    }
                }
                _ => reader.skip_value()?,
            }
            Ok(())
        })?;
        let place = || format!("byte {at}");
        match (entry, time, value) {
            (Some(entry), Some(Seconds::Ns(at_ns)), Some(value)) if at_ns > 0 => {
                self.series.write(entry, at_ns, value, self.sink, &place).map_err(fatal)
            }
            (Some(_), Some(Seconds::Ns(_)), None) | (_, None, _) => {
                let example = || format!("a point that is no time with a number (array: {is_array})");
                self.sink.skip(IssueCode::BadRecord, place, example);
                Ok(())
            }
            _ => {
                self.sink.skip(IssueCode::NoSampleTime, place, || "a point whose time is no Unix time".to_string());
                Ok(())
            }
        }
    }
}

fn text(scalar: Scalar) -> Option<String> {
    match scalar {
        Scalar::Text(text) => Some(text),
        Scalar::Number(number) => Some(number.to_string()),
        Scalar::Bool(value) => Some(value.to_string()),
        Scalar::Null | Scalar::Nested => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::reading_test::{read, samples, sniff};

    const MATRIX: &str = r#"{"status":"success","data":{"resultType":"matrix","result":[
        {"metric":{"__name__":"vllm:num_requests_waiting","model_name":"m","job":"v"},
         "values":[[1700000000,"0"],[1700000015.5,"4"],[1700000030,"NaN"]]},
        {"metric":{"__name__":"x_bucket","le":"0.5"},"values":[[1700000000,"+Inf"],[1700000001,"2"]],"histograms":[[1,{}]]}]}}"#;
    const RATE: &str =
        r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1700000000.25,"1.5"]}]}}"#;
    const T0: i64 = 1_700_000_000_000_000_000;

    fn all(text: &str) -> (crate::server::recording::Recording, Vec<crate::formats::reading_test::Sample>) {
        let (mut recording, _dir) = read(&PROMETHEUS_QUERY_RANGE, "q.json", text.as_bytes()).unwrap();
        let samples = samples(&mut recording);
        (recording, samples)
    }

    #[test]
    fn points_at_their_times() {
        let (recording, samples) = all(MATRIX);
        let labels = |text: &str| Some(text.to_string());
        let expected = [
            (T0, "waiting".to_string(), labels("job=v,model_name=m"), 0.0),
            (T0 + 15_500_000_000, "waiting".to_string(), labels("job=v,model_name=m"), 4.0),
            (T0 + 1_000_000_000, "x_bucket".to_string(), labels("le=0.5"), 2.0),
        ];
        assert_eq!(samples, expected);
        assert_eq!(recording.issues.count(IssueCode::NonFiniteValue), 1);
        assert_eq!(recording.facts.get("model").map(String::as_str), Some("m"));
    }

    #[test]
    fn several_answers_in_any_wrapping() {
        for text in [
            format!("{RATE}{RATE}"),
            format!("{RATE}\n{RATE}\n"),
            format!("[{RATE},{RATE}]"),
            format!("{{\"a\":{RATE},\"b\":{RATE}}}"),
        ] {
            let (_, samples) = all(&text);
            assert_eq!(samples.len(), 2, "{text}");
            assert_eq!((samples[0].0, samples[0].3), (T0 + 250_000_000, 1.5));
            assert_ne!(samples[0].1, samples[1].1);
        }
        let (recording, samples) = all(&format!("{MATRIX}\n{MATRIX}"));
        assert_eq!((samples.len(), recording.issues.count(IssueCode::DuplicateSample)), (3, 3));
        let bare = r#"[{"metric":{"__name__":"a"},"values":[[1700000000,"1"]]}]"#;
        assert_eq!(all(bare).1.len(), 1);
    }

    #[test]
    fn bad_points_and_failed_queries() {
        let text = r#"{"data":{"result":[{"metric":{"__name__":"a"},"values":[[1,"x"],[-1,"1"],7,[],["2","3"],[1700000000,"1",2]]},
            {"values":[[1,"1"]],"metric":{}},7]},"status":"success"} {"status":"error","error":"timeout"}"#;
        let (recording, samples) = all(text);
        assert_eq!(samples.len(), 1);
        assert_eq!(recording.issues.count(IssueCode::BadRecord), 5);
        assert_eq!(recording.issues.count(IssueCode::NoSampleTime), 2);
    }

    #[test]
    fn cuts_and_flips_invent_nothing() {
        let (_, whole) = all(MATRIX);
        for end in 0..MATRIX.len() {
            if let Ok((mut recording, _dir)) = read(&PROMETHEUS_QUERY_RANGE, "m", &MATRIX.as_bytes()[..end]) {
                assert!(samples(&mut recording).iter().all(|s| whole.contains(s)), "{end}");
            }
            let mut text = MATRIX.as_bytes().to_vec();
            text[end] = [0u8, b'"', b'}', b'[', 0xff, b'9'][end % 6];
            let _ = read(&PROMETHEUS_QUERY_RANGE, "m", &text);
        }
    }

    #[test]
    fn recognised_by_what_only_it_has() {
        assert_eq!(sniff(&PROMETHEUS_QUERY_RANGE, "x", MATRIX.as_bytes()), Sniff::Strong);
        assert_eq!(sniff(&PROMETHEUS_QUERY_RANGE, "x", b"{\"status\":\"success\",\"data\":[]}"), Sniff::No);
    }
}
