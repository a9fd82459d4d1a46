//! What the records of every client must stand: halves, repetitions, first tokens in another unit.

use super::run_test::{ReadRun, read_files};
use crate::IngestError;
use postrun_schema::IssueCode::{
    DuplicateRequest, FirstTokenAfterEnd, MissingRecords, NotStreamed, OutOfRange, RepeatedRecord, TtftNotMeasured,
    UnitInDoubt, WrongType,
};

/// A request of AIPerf, sent `n` times 137.1 ms after the first.
fn aiperf(n: u64, ttft: &str) -> String {
    let sent = 1_700_000_000_000_000_000 + n * 137_100_000;
    format!(
        "{{\"metadata\":{{\"x_request_id\":\"r{n}\",\"request_start_ns\":{sent},\"request_end_ns\":{},\
         \"benchmark_phase\":\"profiling\"}},\"metrics\":{{\"time_to_first_token\":{ttft},\
         \"request_latency\":{{\"value\":90.5,\"unit\":\"ms\"}},\"inter_chunk_latency\":{{\"value\":[20,20.5],\
         \"unit\":\"ms\"}},\"output_sequence_length\":{{\"value\":3,\"unit\":\"tokens\"}}}}}}\n",
        sent + 90_500_000
    )
}

fn ms(value: &str) -> String {
    format!("{{\"value\":{value},\"unit\":\"ms\"}}")
}

fn records(numbers: impl IntoIterator<Item = u64>) -> String {
    numbers.into_iter().map(|n| aiperf(n, &ms("50"))).collect()
}

fn read(files: &[(&str, &str)]) -> Result<ReadRun, IngestError> {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let mut runs = read_files(None, &files)?;
    assert_eq!(runs.len(), 1);
    Ok(runs.remove(0))
}

fn one(text: &str) -> ReadRun {
    read(&[("profile_export.jsonl", text)]).unwrap()
}

#[test]
fn records_that_are_missing_are_told_and_the_clients_duration_is_not_theirs() {
    let summary = "{\"schema_version\":\"1.0\",\"aiperf_version\":\"0.13.0\",\"input_config\":{},\
        \"request_count\":{\"unit\":\"requests\",\"avg\":4.0},\"start_time\":\"2023-11-14T22:13:20.000000\",\
        \"end_time\":\"2023-11-14T22:13:22.000000\",\
        \"request_latency\":{\"unit\":\"ms\",\"avg\":90.5}}";
    let beside = |text: &str| read(&[("profile_export.jsonl", text), ("profile_export_aiperf.json", summary)]).unwrap();
    let whole = beside(&records(0..4));
    assert_eq!((whole.issue(MissingRecords), whole.manifest.duration_ns), (0, Some(2_000_000_000)));
    let half = beside(&records(0..2));
    assert_eq!((half.issue(MissingRecords), half.manifest.duration_ns), (2, None));
    let issue = half.manifest.issues.iter().find(|i| i.code == MissingRecords).unwrap();
    assert_eq!(issue.severity, postrun_schema::Severity::Error);
    assert_eq!(issue.example, "the client counted 4 requests, the records are 2");
}

#[test]
fn a_record_that_stands_twice_counts_once() {
    let twice = one(&records([0, 1, 2, 0, 1, 2]));
    assert_eq!(
        (twice.requests("sent_ns").len(), twice.issue(RepeatedRecord), twice.issue(DuplicateRequest)),
        (3, 3, 0)
    );
    assert_eq!(twice.chunks(), one(&records(0..3)).chunks());
    let other = one(&format!("{}{}", records([0]), aiperf(0, &ms("51"))));
    assert_eq!(
        (other.requests("sent_ns").len(), other.issue(RepeatedRecord), other.issue(DuplicateRequest)),
        (2, 0, 1)
    );
    // Without an id, times to the microsecond tell.
    let record = |start: &str| {
        format!(
            "{{\"start_time\":{start},\"end_time\":101.123457,\"request\":\"{{}}\",\"response\":\"\",\"info\":{{\
             \"input_tokens\":10,\"output_tokens\":2,\"output_token_times\":[100.6,101.1]}},\"error\":null}}"
        )
    };
    let list = |starts: &[&str]| {
        let records: Vec<String> = starts.iter().map(|start| record(start)).collect();
        read(&[("per_request_lifecycle_metrics.json", &format!("[{}]", records.join(",")))]).unwrap()
    };
    let nameless = list(&["100.500123", "100.500124", "100.500123"]);
    assert_eq!((nameless.requests("sent_ns").len(), nameless.issue(RepeatedRecord)), (2, 1));
}

#[test]
fn first_tokens_in_another_unit_are_withheld() {
    let run =
        |wrong: u64| one(&(0..4).map(|n| aiperf(n, &ms(if n < wrong { "50000" } else { "50" }))).collect::<String>());
    let most = run(3);
    assert_eq!(most.requests("ttft_ns"), ["-", "-", "-", "50000000"]);
    assert_eq!(most.requests("first_token_ns")[0], "-");
    assert_eq!(most.requests("e2e_ns"), ["90500000"; 4]);
    assert_eq!((most.issue(UnitInDoubt), most.issue(FirstTokenAfterEnd)), (3, 0));
    let few = run(2);
    assert_eq!(few.requests("ttft_ns")[0], "50000000000", "of as many as not, nobody can say which is wrong");
    assert_eq!((few.issue(UnitInDoubt), few.issue(FirstTokenAfterEnd)), (0, 2));
}

#[test]
fn first_tokens_after_the_whole_run_are_withheld() {
    let vllm = |ttfts: &str, more: &str| {
        let text = format!(
            "{{\"backend\":\"vllm\",\"endpoint_type\":\"vllm\",\"request_rate\":\"inf\",\"burstiness\":1.0,\
             \"duration\":1.5,\"completed\":2,\"input_lens\":[9,9],\"output_lens\":[3,3],\"ttfts\":{ttfts},\
             \"itls\":[[0.5,0.5],[0.5,0.5]],\"errors\":[\"\",\"\"]{more}}}"
        );
        read(&[("run.json", &text)]).unwrap()
    };
    for (latencies, ends) in [("", ["-"; 2]), (",\"latencies\":[1.1,1.2]", ["1100000000", "1200000000"])] {
        let run = vllm("[100.0,200.0]", latencies);
        assert_eq!(run.requests("ttft_ns"), ["-", "-"]);
        assert_eq!(run.requests("e2e_ns"), ends);
        assert_eq!((run.issue(UnitInDoubt), run.issue(TtftNotMeasured)), (2, 0));
    }
    assert_eq!(vllm("[0.1,0.2]", "").issue(UnitInDoubt), 0);
    assert_eq!(vllm("[0.1,200.0]", "").requests("ttft_ns"), ["100000000", "200000000000"]);
}

#[test]
fn a_first_token_that_is_recorded_and_no_time_is_not_measured() {
    for ttft in [ms("-5"), ms("NaN"), ms("1e300"), "{\"value\":50,\"unit\":\"parsec\"}".to_string()] {
        let run = one(&(aiperf(0, &ttft) + &aiperf(1, &ms("50"))));
        assert_eq!((run.issue(TtftNotMeasured), run.issue(NotStreamed)), (1, 0), "{ttft}");
        assert_eq!(run.requests("ttft_ns"), ["-", "50000000"]);
    }
    assert_eq!(one(&(aiperf(0, "null") + &aiperf(1, &ms("50")))).issue(NotStreamed), 1);
    let silent = "[{\"start_time\":100.5,\"end_time\":101.25,\"request\":\"{}\",\"response\":\"\",\"info\":null,\"error\":null}]";
    let run = read(&[("per_request_lifecycle_metrics.json", silent)]).unwrap();
    assert_eq!((run.issue(TtftNotMeasured), run.issue(NotStreamed)), (1, 0));
}

#[test]
fn header_values_that_cannot_be_are_told() {
    let run = |header: &str| {
        let text = format!(
            "{{\"backend\":\"vllm\",\"endpoint_type\":\"vllm\",\"burstiness\":1.0,\"completed\":1,{header},\
             \"input_lens\":[9],\"output_lens\":[2],\"ttfts\":[0.1],\"itls\":[[0.5]],\"errors\":[\"\"]}}"
        );
        read(&[("run.json", &text)]).unwrap()
    };
    for header in ["\"duration\":\"abc\"", "\"request_rate\":{}", "\"request_rate\":\"fast\"", "\"duration\":[1]"] {
        assert_eq!(run(header).issue(WrongType), 1, "{header}");
    }
    assert_eq!(run("\"request_rate\":-3").issue(OutOfRange), 1);
    for header in ["\"request_rate\":\"inf\"", "\"request_rate\":null", "\"duration\":2.5"] {
        let good = run(header);
        assert_eq!((good.issue(WrongType), good.issue(OutOfRange)), (0, 0), "{header}");
    }
}
