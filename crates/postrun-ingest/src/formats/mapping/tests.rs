//! Tables of requests in each form, good ones and hurt ones.

use super::MAPPING;
use crate::client::run_test::{ReadRun, cut_everywhere, mutate_at_random, read, read_mapped};
use crate::formats::reading_test::sniff;
use crate::ingestor::Sniff;
use arrow_array::types::Float32Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_array::{
    BooleanArray, Float64Array, Int64Array, ListArray, StringArray, StructArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field};
use postrun_schema::{ClockKind, IssueCode, TokenSource};
use std::sync::Arc;

const OWN: &str = "request_id,send_s,ttft_ms,e2e_ms,prompt_tokens,output_tokens,gaps_ms,error\n\
    a,1796022121.5,50,90.5,12,3,\"[20, 20.5]\",\n\
    b,1796022121.25,60,100,14,3,20;20,\n\
    c,1796022122,,30,9,0,,refused\n";

fn one(runs: Result<Vec<ReadRun>, crate::IngestError>) -> ReadRun {
    let mut runs = runs.unwrap();
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

fn error(runs: Result<Vec<ReadRun>, crate::IngestError>) -> String {
    runs.err().unwrap().to_string()
}

#[test]
fn own_names_need_no_mapping() {
    let run = one(read(&MAPPING, "own.csv", OWN.as_bytes()));
    assert_eq!(run.requests("sent_ns"), ["250000000", "0", "750000000"]);
    assert_eq!(run.requests("ttft_ns"), ["50000000", "60000000", "-"]);
    assert_eq!(run.requests("e2e_ns"), ["90500000", "100000000", "-"]);
    assert_eq!(run.requests("status"), ["ok", "ok", "error"]);
    assert_eq!(run.requests("stream_end_ns"), ["-", "-", "30000000"]);
    let chunks = ["0:50000000/-", "0:70000000/-", "0:90500000/-", "1:60000000/-", "1:80000000/-", "1:100000000/-"];
    assert_eq!(run.chunks(), chunks);
    assert_eq!(run.manifest.clocks.client.kind, ClockKind::Wall);
    assert_eq!(run.manifest.clocks.client.origin_unix_ns, Some(1_796_022_121_250_000_000));
    assert_eq!(run.issue(IssueCode::FailedRequests), 1);
    assert_eq!(sniff(&MAPPING, "own.csv", OWN.as_bytes()), Sniff::Plain);
    assert_eq!(sniff(&MAPPING, "other.csv", b"ttft_ms,colour\n1,red\n"), Sniff::No);
}

#[test]
fn json_takes_own_names_as_they_come() {
    let text = "{\"ttft_s\":0.05,\"e2e_s\":0.09,\"note\":{\"ttft_s\":7}}\n\
        {\"ttft_s\":null,\"e2e_s\":null,\"error\":{\"code\":500,\"message\":\"out of memory\"}}\n\
        {\"chunk_offsets_ms\":[40,60,85],\"chunk_tokens\":[1,2,1],\"e2e_s\":0.1,\"output_tokens\":4}\n";
    let run = one(read(&MAPPING, "own.jsonl", text.as_bytes()));
    assert_eq!(run.requests("ttft_ns"), ["50000000", "-", "40000000"]);
    assert_eq!(run.requests("e2e_ns"), ["90000000", "-", "85000000"]);
    assert_eq!(run.requests("stream_end_ns"), ["-", "-", "100000000"]);
    assert_eq!(run.requests("error"), ["-", "500 out of memory", "-"]);
    assert_eq!(run.chunks(), ["2:40000000/1", "2:60000000/2", "2:85000000/1"]);
    assert_eq!(run.issue(IssueCode::StreamEndAfterLastToken), 1);
    assert_eq!(run.manifest.clocks.client.kind, ClockKind::None);
    let said = error(read(&MAPPING, "none.jsonl", b"{\"latency\":1}\n"));
    assert!(said.contains("it has \"latency\"") && said.contains("--mapping FILE"), "{said}");
}

const MAP: &str = r#"
rows = "results.requests"
[run]
tool = "hammer"
version = "2"
tokens_counted_by = "client"
[columns]
run = "users"
request_id = "id"
sent = { column = "t.start", unit = "iso8601" }
first_token = { column = "t.first", unit = "iso8601" }
end = { column = "t.end", unit = "iso8601" }
output_tokens = "usage.out"
phase = { column = "kind", warmup = ["ramp"], measured = ["hold"] }
status = { column = "state", ok = ["served"], cancelled = ["gave up"] }
queue = { column = "waited", unit = "us", optional = true }
"#;

const NESTED: &str = r#"{"config": {"requests": 9}, "results": {"requests": [
 {"id": 1, "users": 4, "kind": "ramp", "state": "served", "usage": {"out": 5},
  "t": {"start": "2026-01-02T03:04:05.000Z", "first": "2026-01-02T03:04:05.250Z", "end": "2026-01-02T03:04:06Z"}},
 {"id": 2, "users": 8, "kind": "hold", "state": "gave up", "usage": {"out": 1},
  "t": {"start": "2026-01-02T04:04:07+01:00", "first": "2026-01-02T03:04:07.125Z", "end": "2026-01-02T03:04:07.5Z"}},
 {"id": 3, "users": 4, "kind": "hold", "state": "?", "usage": {"out": -1},
  "t": {"start": "2026-01-02T03:04:06.500Z", "first": "2026-01-02T03:04:06.400Z", "end": "2026-01-02T03:04:07Z"}}
]}}
"#;

#[test]
fn a_mapping_reads_what_lies_deep_and_splits_runs() {
    let runs = read_mapped(MAP, "out.json", NESTED.as_bytes()).unwrap();
    assert_eq!(runs.iter().map(|r| r.manifest.label.as_str()).collect::<Vec<_>>(), ["out-users=4", "out-users=8"]);
    let (four, eight) = (&runs[0], &runs[1]);
    assert_eq!(four.requests("request_id"), ["1", "3"]);
    assert_eq!(four.requests("phase"), ["warmup", "measured"]);
    assert_eq!(four.requests("sent_ns"), ["0", "1500000000"]);
    assert_eq!(four.requests("ttft_ns"), ["250000000", "-"]);
    assert_eq!(four.requests("status"), ["ok", "error"], "`?` is none of the words for ok");
    assert_eq!(four.requests("e2e_ns"), ["1000000000", "-"]);
    assert_eq!(four.requests("output_tokens"), ["5", "-"]);
    assert_eq!((four.issue(IssueCode::NegativeDuration), four.issue(IssueCode::OutOfRange)), (1, 1));
    assert_eq!((four.issue(IssueCode::UnknownStatus), four.issue(IssueCode::WrongType)), (1, 0), "the status `?`");
    assert_eq!(
        (eight.requests("status"), eight.requests("ttft_ns")),
        (vec!["cancelled".into()], vec!["125000000".into()])
    );
    assert_eq!(four.manifest.tool.name, "hammer");
    assert_eq!(four.manifest.output_tokens_source, TokenSource::ClientTokenizer);
    assert_eq!(four.manifest.clocks.client.origin_unix_ns, Some(1_767_323_045_000_000_000));
}

#[test]
fn a_missing_column_is_told_with_the_nearest_name_and_the_place_in_the_mapping() {
    let map = "[columns]\nttft = { column = \"first_token\", unit = \"ms\" }\ne2e = \"total_ms\"\n";
    let said = error(read_mapped(map, "a.csv", b"fist_token,total_ms\n1,2\n"));
    let file = said.strip_prefix("map.toml:2:19: ").unwrap_or_else(|| panic!("{said}"));
    assert!(file.contains("a.csv has no column \"first_token\" for ttft; did you mean \"fist_token\"?"), "{said}");
    let said = error(read_mapped(map, "a.jsonl", b"{\"first\":1,\"total_ms\":2}\n"));
    assert!(said.contains("map.toml:2:19: ") && said.contains("did you mean \"first\"?"), "{said}");
    let said = error(read_mapped(&MAP.replace("results.req", "result.req"), "a.json", NESTED.as_bytes()));
    assert!(said.contains("no list of rows at \"result.requests\"; did you mean \"results\"?"), "{said}");
    let said = error(read_mapped("[columns]\ne2e = \"total\"\n", "a.csv", b"total,x\n1,2\n"));
    assert!(said.starts_with("map.toml:2:1: e2e needs a unit"), "{said}");
    let said = error(read_mapped("[columns]\ne2e = \"t_s\"\n", "a.csv", b"t_s,t_s\n1,2\n"));
    assert!(said.contains("two columns called \"t_s\""), "{said}");
}

#[test]
fn a_wrong_unit_is_refused_or_doubted() {
    let said = error(read(&MAPPING, "ns.csv", b"ttft_s,e2e_s\n1000000000,2000000000\n1100000000,2100000000\n"));
    assert!(said.contains("column \"ttft_s\"") && said.contains("2 of 2 values cannot be"), "{said}");
    assert!(said.contains("1000000000 s is no duration of a request; in us it would be 1000.000 s"), "{said}");
    let map = "[columns]\nsent = { column = \"t\", unit = \"s\" }\ne2e = \"d_s\"\n";
    let said = error(read_mapped(map, "a.csv", b"t,d_s\n1796022121946,1\n1796022121947,1\n"));
    assert!(said.starts_with("map.toml:2:19: ") && said.contains("beyond any date"), "{said}");
    let said = error(read_mapped(map, "a.csv", b"t,d_s\n2026-01-02 03:04:05,1\n"));
    assert!(said.contains("unit = \"iso8601\""), "{said}");
    let run = one(read(&MAPPING, "ms.csv", b"ttft_s,e2e_s,output_tokens\n50,900,11\n60,950,11\n0.05,0.9,11\n"));
    assert_eq!(run.issue(IssueCode::UnitInDoubt), 2, "85 s a token");
    let run = one(read(&MAPPING, "odd.csv", b"ttft_s,e2e_s\n1000000000,1\n0.05,1\n-1,1\n"));
    assert_eq!((run.issue(IssueCode::ImplausibleTime), run.issue(IssueCode::NegativeDuration)), (1, 1));
    assert_eq!(run.requests("ttft_ns"), ["-", "50000000", "-"]);
}

#[test]
fn a_status_that_nobody_knows_is_no_answer() {
    let rows = "t,e2e_s,state,error\n0,1,Fine,\n1,1,kaputt,\n2,1,success,\n3,1,weird,broken pipe\n";
    let mapped = |words: &str| {
        let status = format!("status = {{ column = \"state\"{words} }}");
        let map = format!(
            "[columns]\nsent = {{ column = \"t\", unit = \"s\" }}\ne2e = \"e2e_s\"\nerror = \"error\"\n{status}\n"
        );
        let run = one(read_mapped(&map, "a.csv", rows.as_bytes()));
        assert_eq!(run.issue(IssueCode::WrongType), 0);
        (run.requests("status"), run.requests("error"), run.issue(IssueCode::UnknownStatus))
    };
    // The words for ok are told: there is no other.
    let (status, error, odd) = mapped(", ok = [\"fine\"]");
    assert_eq!(status, ["ok", "error", "error", "error"]);
    assert_eq!((error[1].as_str(), error[3].as_str(), odd), ("status \"kaputt\"", "broken pipe", 3));
    // They are not: what a word means is open, unless there is an error.
    let (status, _, odd) = mapped("");
    assert_eq!((status, odd), (["incomplete", "incomplete", "ok", "error"].map(String::from).to_vec(), 3));
    let (status, ..) = mapped(", error = [\"kaputt\"]");
    assert_eq!(status, ["incomplete", "error", "ok", "error"]);
}

#[test]
fn a_stream_that_ends_in_another_unit_is_doubted() {
    let map = "[columns]\nttft = { column = \"ttft\", unit = \"ms\" }\ne2e = { column = \"e2e\", unit = \"ms\" }\ngaps = { column = \"gaps\", unit = \"ms\" }\noutput_tokens = \"n\"\n";
    let doubts = |row: &str| {
        let text = format!("ttft,e2e,gaps,n\n{row}{row}");
        let run = one(read_mapped(map, "a.csv", text.as_bytes()));
        (run.issue(IssueCode::UnitInDoubt), run.requests("e2e_ns")[0].clone())
    };
    assert_eq!(doubts("200,230000,[10;20],3\n"), (2, "230000000".to_string()), "the end is in us");
    assert_eq!(doubts("200,2300,[10;20],3\n"), (0, "230000000".to_string()), "the connection stayed open");
}

#[test]
fn units_too_small_are_doubted_too() {
    let doubts = |text: &str| one(read(&MAPPING, "t.csv", text.as_bytes())).issue(IssueCode::UnitInDoubt);
    let rows = |heading: &str, row: &str| format!("{heading}\n0,{row}\n1,{row}\n2,{row}\n");
    let seconds = "sent_s,ttft_ms,e2e_ms,output_tokens";
    assert_eq!(doubts(&rows(seconds, "0.6,2.4,50")), 3, "37 us a token");
    assert_eq!(doubts(&rows(seconds, "0.11,0.9,3")), 3, "a first token after 110 us");
    assert_eq!(doubts(&rows(seconds, "20,600,50")), 0);
    let run = one(read(&MAPPING, "t.csv", rows(seconds, "0.11,0.9,20").as_bytes()));
    assert_eq!((run.issue(IssueCode::NotStreamed), run.requests("ttft_ns")[0].as_str()), (0, "110000"));
    let dates = |heading: &str| format!("{heading},ttft_ms,e2e_ms\n1700000000.5,200,2000\n1700000001,200,2000\n");
    assert_eq!((doubts(&dates("sent_ms")), doubts(&dates("sent_s"))), (2, 0));
    let uptime = "sent_ms,ttft_ms,e2e_ms\n1700000000,200,2000\n1700009000,200,2000\n";
    assert_eq!(doubts(uptime), 0, "a machine that has been up for 20 days");
}

#[test]
fn two_columns_of_one_fact_are_told() {
    let run = one(read(&MAPPING, "t.csv", b"ttft_ms,ttft_s,e2e_ms\n200,0.3,2000\n"));
    assert_eq!((run.issue(IssueCode::DoubleFact), run.requests("ttft_ns")), (1, vec!["200000000".to_string()]));
    let run = one(read(&MAPPING, "t.jsonl", b"{\"ttft_ms\":200,\"ttft_s\":0.3,\"e2e_ms\":2000}\n"));
    assert_eq!(run.issue(IssueCode::DoubleFact), 1);
}

/// The bytes of a Parquet file of these columns.
fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = parquet::file::properties::WriterProperties::builder();
    let properties = properties.set_compression(parquet::basic::Compression::SNAPPY).build();
    let mut bytes = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn typed() -> Vec<u8> {
    let gaps = ListArray::from_iter_primitive::<Float32Type, _, _>([Some(vec![Some(0.5), Some(1.25)]), None]);
    let usage = StructArray::from(vec![(
        Arc::new(Field::new("out", DataType::Int64, true)),
        Arc::new(Int64Array::from(vec![Some(3), None])) as ArrayRef,
    )]);
    parquet(vec![
        ("at", Arc::new(TimestampMillisecondArray::from(vec![1_796_022_121_500, 1_796_022_121_250])) as ArrayRef),
        ("first", Arc::new(Float64Array::from(vec![0.05, 0.0625]))),
        ("gaps", Arc::new(gaps)),
        ("usage", Arc::new(usage)),
        ("fine", Arc::new(BooleanArray::from(vec![true, false]))),
        ("name", Arc::new(StringArray::from(vec!["a", "b"]))),
    ])
}

const PARQUET_MAP: &str = "[columns]\nsent = \"at\"\nttft = { column = \"first\", unit = \"s\" }\n\
    gaps = { column = \"gaps\", unit = \"ms\" }\noutput_tokens = \"usage.out\"\nstatus = \"fine\"\nrequest_id = \"name\"\n";

#[test]
fn parquet_columns_keep_their_types() {
    let run = one(read_mapped(PARQUET_MAP, "t.parquet", &typed()));
    assert_eq!(run.requests("sent_ns"), ["250000000", "0"]);
    assert_eq!(run.requests("ttft_ns"), ["50000000", "62500000"]);
    assert_eq!(run.requests("output_tokens"), ["3", "-"]);
    assert_eq!(run.requests("status"), ["ok", "error"]);
    assert_eq!(run.chunks(), ["0:50000000/-", "0:50500000/-", "0:51750000/-"]);
    let said = error(read_mapped(&PARQUET_MAP.replace("\"first\"", "\"usage\""), "t.parquet", &typed()));
    assert!(said.contains("map.toml:3:19: column \"usage\" is of type Struct"), "{said}");
    let said = error(read_mapped(&PARQUET_MAP.replace("usage.out", "usage.uot"), "t.parquet", &typed()));
    assert!(said.contains("did you mean \"usage.out\"?"), "{said}");
    let said = error(read(&MAPPING, "t.parquet", &typed()));
    assert!(said.contains("no column has one of postrun's names"), "{said}");
}

#[test]
fn damage_is_no_crash() {
    cut_everywhere(&MAPPING, "own.csv", OWN.as_bytes(), 3);
    mutate_at_random(&MAPPING, "own.csv", OWN.as_bytes(), 150);
    let lines = "{\"ttft_s\":0.05,\"e2e_s\":0.09,\"gaps_s\":[0.02,0.02]}\n".repeat(4);
    cut_everywhere(&MAPPING, "own.jsonl", lines.as_bytes(), 5);
    mutate_at_random(&MAPPING, "own.jsonl", lines.as_bytes(), 150);
    for cut in (1..NESTED.len()).step_by(13) {
        drop(read_mapped(MAP, "cut.json", &NESTED.as_bytes()[..cut]));
    }
    let table = typed();
    for cut in (1..table.len()).step_by(17) {
        assert!(read_mapped(PARQUET_MAP, "cut.parquet", &table[..cut]).is_err(), "cut at {cut}");
    }
    let mut state = 7u32;
    for _ in 0..300 {
        let mut hurt = table.clone();
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = 4 + (state >> 8) as usize % (hurt.len() - 4);
        hurt[at] ^= (state >> 3) as u8 | 1;
        drop(read_mapped(PARQUET_MAP, "hurt.parquet", &hurt));
    }
}

#[test]
fn a_quote_that_never_closes_stops_early() {
    let text = format!("ttft_s,e2e_s\n\"{}", "1,2\n".repeat(5 << 20));
    let said = error(read(&MAPPING, "open.csv", text.as_bytes()));
    assert!(said.contains("a row of more than 16 MiB"), "{said}");
}

#[test]
fn rows_that_do_not_fit_are_counted() {
    let text = "ttft_ms,e2e_ms,request_id\n50,90,a\n50,90\n,,\n60,100,a\n70,110,b";
    let run = one(read(&MAPPING, "t.csv", text.as_bytes()));
    assert_eq!(run.requests("request_id"), ["a", "a"]);
    let counted = [IssueCode::BadRecord, IssueCode::NotARun, IssueCode::TruncatedRecord, IssueCode::DuplicateRequest];
    assert_eq!(counted.map(|code| run.issue(code)), [1, 1, 1, 1]);
    assert_eq!(run.manifest.sources[0].skipped, 3);
}
