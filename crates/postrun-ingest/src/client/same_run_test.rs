//! Files that lie beside each other, and are of one run or are not.

use super::run_test::{ReadRun, read_files};
use postrun_schema::IssueCode::SummaryOfAnotherRun;

/// `n` requests of inference-perf, one a second from `from` on, each answered within half a second.
fn records(from: u32, n: u32) -> Vec<String> {
    let record = |i: u32| {
        let at = from + i;
        format!(
            "{{\"start_time\":{at}.0,\"end_time\":{at}.5,\"request\":\"{{}}\",\"response\":\"\",\"info\":{{\
             \"input_tokens\":10,\"output_tokens\":2,\"output_token_times\":[{at}.1,{at}.5]}},\"error\":null}}"
        )
    };
    (0..n).map(record).collect()
}

/// A report of `ok` and `failed` requests over `seconds`, with TTFT and latency as given.
fn report(ok: u32, failed: u32, seconds: f64, ttft: f64, latency: f64) -> String {
    format!(
        "{{\"load_summary\":{{\"count\":{},\"schedule_delay\":{{\"mean\":0.001}},\"requested_rate\":3.5}},\
         \"successes\":{{\"count\":{ok},\"latency\":{{\"request_latency\":{{\"mean\":{latency}}},\
         \"time_to_first_token\":{{\"mean\":{ttft}}}}}}},\"failures\":{{\"count\":{failed}}},\
         \"benchmark_time_seconds\":{seconds}}}",
        ok + failed
    )
}

const RECORDS: &str = "per_request_lifecycle_metrics.json";
const SUMMARY: &str = "summary_lifecycle_metrics.json";

fn read(files: &[(&str, &str)]) -> Vec<ReadRun> {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    read_files(None, &files).unwrap()
}

#[test]
fn a_stage_has_its_own_duration_and_rate_and_no_others() {
    let requests = format!("[{}]", [records(100, 4), records(110, 2)].concat().join(","));
    let (first, second) = (report(4, 0, 3.5, 0.1, 0.5), report(2, 0, 1.5, 0.1, 0.5));
    let (a, b) =
        (("stage_0_lifecycle_metrics.json", first.as_str()), ("stage_1_lifecycle_metrics.json", second.as_str()));
    let whole = report(6, 0, 11.5, 0.1, 0.5);
    for (files, duration_ns) in [
        (vec![(RECORDS, requests.as_str()), a, b, (SUMMARY, whole.as_str())], Some(11_500_000_000)),
        (vec![(RECORDS, requests.as_str()), a, b], None),
        (vec![(RECORDS, requests.as_str()), b], None),
    ] {
        let runs = read(&files);
        assert_eq!(runs.len(), 1);
        let manifest = &runs[0].manifest;
        assert_eq!((manifest.duration_ns, manifest.counted.completed.is_some()), (duration_ns, true));
        assert_eq!(manifest.load.other.get("stage"), None);
        let names: Vec<String> = runs[0].reported().into_iter().map(|(name, ..)| name).collect();
        assert!(names.contains(&"stage_1.duration_s value".to_string()), "{names:?}");
    }
    let one = format!("[{}]", records(100, 4).join(","));
    let sole = read(&[(RECORDS, one.as_str()), a]);
    assert_eq!((sole[0].manifest.duration_ns, sole[0].manifest.load.request_rate), (Some(3_500_000_000), Some(3.5)));
}

#[test]
fn a_summary_that_contradicts_the_records_is_another_run() {
    let requests = format!("[{}]", records(100, 4).join(","));
    let with = |summary: String| read(&[(RECORDS, requests.as_str()), (SUMMARY, summary.as_str())]);
    let foreign = |runs: &[ReadRun]| (runs.len(), runs.iter().map(|run| run.issue(SummaryOfAnotherRun)).sum::<u64>());
    assert_eq!(foreign(&with(report(4, 0, 3.5, 0.1, 0.5))), (1, 0));
    assert_eq!(foreign(&with(report(4, 0, 3.5, 0.1, 0.7))), (1, 0), "one figure is the same: parity shows the other");
    assert_eq!(foreign(&with(report(4, 0, 3.5, 0.11, 0.55))), (1, 0), "all altered by one factor: parity shows it");
    assert_eq!(foreign(&with(report(4, 0, 3.5, 0.2, 0.7))), (2, 1));
    assert_eq!(foreign(&with(report(3, 0, 3.5, 0.1, 0.5))), (2, 1));
    assert_eq!(
        foreign(&with(report(2, 2, 3.5, 0.1, 0.5))),
        (1, 0),
        "what the client calls failed may be an answer here"
    );
    assert_eq!(foreign(&with(report(9, 0, 8.5, 0.2, 0.7))), (1, 0), "the records may be cut");
    // Two foreign files are one foreign run.
    let other = report(4, 0, 9.0, 0.2, 0.7);
    let both = read(&[(RECORDS, requests.as_str()), (SUMMARY, &other), ("stage_0_lifecycle_metrics.json", &other)]);
    assert_eq!(foreign(&both), (2, 2));
    assert_eq!(both[0].manifest.duration_ns, None);
}

/// A CSV as AIPerf writes it beside its JSON.
fn sheet(p50: &str) -> String {
    format!(
        "Metric,avg,min,max,p50\nTime to First Token (ms),20.50,10.00,31.00,{p50}\nRequest Latency (ms),90.50,80.00,99.00,91.00\n\
             HTTP Waiting (ms),5.00,4.00,6.00,5.00\n\
             Request Throughput (requests/sec),2.00,,,\nRequest Count,4.00,,,\n"
    )
}

#[test]
fn a_copy_is_one_by_its_figures() {
    let json = "{\"schema_version\":\"1.0\",\"aiperf_version\":\"0.13.0\",\"input_config\":{},\
        \"request_count\":{\"unit\":\"requests\",\"avg\":4.0},\
        \"request_throughput\":{\"unit\":\"requests/sec\",\"avg\":2.001},\
        \"time_to_first_token\":{\"unit\":\"ms\",\"avg\":20.504,\"min\":10.001,\"max\":31.0,\"p50\":20.0},\
        \"request_latency\":{\"unit\":\"ms\",\"avg\":90.5,\"min\":80.0,\"max\":99.0,\"p50\":91.0}}";
    let beside = |name: &str, csv: &str| read(&[("profile_export_aiperf.json", json), (name, csv)]).len();
    let (same, other) = (
        sheet("20.00"),
        sheet("20.00")
            .replace("20.50", "40.50")
            .replace("10.00", "12.00")
            .replace("80.00", "60.00")
            .replace("9", "7")
            .replace("31", "77"),
    );
    assert_eq!(beside("profile_export_aiperf.csv", &same), 1);
    assert_eq!(beside("profile_export_aiperf.csv", &other), 2);
    assert_eq!(beside("renamed.csv", &same), 1, "its figures are the same");
    assert_eq!(beside("renamed.csv", &other), 2);
}
