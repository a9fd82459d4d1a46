//! Tests of the format: values that can be checked on paper, damage, and real files against their own figures.

use super::*;
use crate::client::run_test::{close_to, folder, mean, read_files, read_paths, sum};
use crate::formats::reading_test::shared;
use postrun_schema::{IssueCode, Table};
use rusqlite::Connection;

const TABLE: &str = "CREATE TABLE result(request TEXT, start_time REAL, inter_token_latencies TEXT, success INTEGER,
 response_messages TEXT, completed_time REAL, latency REAL, first_chunk_latency REAL, prompt_tokens INTEGER,
 completion_tokens INTEGER, max_gpu_memory_cost REAL, time_per_output_token REAL, request_id TEXT, is_stream INTEGER);";
const ROWS: &str = r#"
 INSERT INTO result VALUES ('{"model":"toy","max_tokens":3}', 100.5, '[0.125, 0.0625]', 1, 'x', 101.0, 0.5, 0.25, 10, 3, 0, 0.125, NULL, 1);
 INSERT INTO result VALUES ('not json', 100.0, '[]', 0, 'x', 100.25, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1);
 INSERT INTO result VALUES ('{"model":"toy"}', 100.75, '[]', 1, 'x', 101.75, 1.0, 1.0, 5, 20, 0, 0, 'a', 0);
 INSERT INTO result VALUES ('{"model":"toy"}', 100.75, '[1, "x"]', 1, 'x', 101.75, -1.0, 1e9, 5, -20, 0, 0, 'a', 1);
 "#;

/// The bytes of a database that `sql` makes.
fn database(sql: &str) -> Vec<u8> {
    let dir = folder();
    let path = dir.path().join("made.db");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    std::fs::read(path).unwrap()
}

fn whole() -> Vec<u8> {
    database(&format!("{TABLE}{ROWS}"))
}

#[test]
fn rows_are_requests() {
    let ran = read_files(None, &[("benchmark_data.db", &whole())]).unwrap();
    let column = |name| ran[0].numbers(Table::Requests, name);
    assert_eq!(column("sent_ns"), [Some(500_000_000), Some(0), Some(750_000_000), Some(750_000_000)]);
    assert_eq!(column("ttft_ns"), [Some(250_000_000), None, None, None]);
    assert_eq!(column("e2e_ns"), [Some(437_500_000), None, Some(1_000_000_000), None]);
    assert_eq!(column("stream_end_ns"), [Some(500_000_000), Some(250_000_000), None, None]);
    assert_eq!(column("chunks"), [Some(3), None, None, None]);
    assert_eq!(column("requested_output_tokens"), [Some(3), None, None, None]);
    assert_eq!(ran[0].manifest.duration_ns, Some(1_750_000_000));
    assert_eq!(ran[0].manifest.model.as_deref(), Some("toy"));
    use IssueCode::{DuplicateRequest, FailedRequests, ImplausibleTime, NegativeDuration, NotStreamed, OutOfRange};
    for code in [DuplicateRequest, FailedRequests, ImplausibleTime, NegativeDuration, NotStreamed, OutOfRange] {
        assert_eq!(ran[0].issue(code), 1, "{code:?}");
    }
}

#[test]
fn the_file_is_not_touched_and_its_hash_is_its_own() {
    let dir = folder();
    let path = dir.path().join("a name with ? and #.db");
    std::fs::write(&path, whole()).unwrap();
    let ran = read_paths(std::slice::from_ref(&path)).unwrap();
    assert_eq!(ran[0].manifest.sources[0].sha256, postrun_schema::sha256_of_file(&path).unwrap());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn compressed_databases_are_read_from_a_copy() {
    use std::io::Write;
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&whole()).unwrap();
    let ran = read_files(None, &[("benchmark_data.db.gz", &gz.finish().unwrap())]).unwrap();
    assert_eq!(ran[0].numbers(Table::Requests, "ttft_ns").len(), 4);
    assert_eq!(ran[0].files, ["chunks.parquet", "manifest.json", "requests.parquet"], "tables and manifest only");
}

#[test]
fn older_tables_have_fewer_columns() {
    let sql =
        "CREATE TABLE result(start_time REAL, chunk_times TEXT, success INTEGER, completed_time REAL, latency REAL,
        first_chunk_latency REAL); INSERT INTO result VALUES (1.0, '[0.5]', 1, 2.0, 1.0, 0.5);";
    let ran = read_files(None, &[("benchmark_data.db", &database(sql))]).unwrap();
    assert_eq!(ran[0].numbers(Table::Requests, "e2e_ns"), [Some(1_000_000_000)]);
    assert_eq!(ran[0].numbers(Table::Requests, "output_tokens"), [None]);
}

#[test]
fn what_is_no_such_database_is_an_error_that_says_so() {
    let force = Some(&EVALSCOPE_PERF);
    let other = database("CREATE TABLE result(first_chunk_latency REAL, inter_token_latencies TEXT);");
    let error = read_files(force, &[("x.db", &other)]).err().unwrap().to_string();
    assert!(error.contains("start_time"), "{error}");
    let cut = &whole()[..3000];
    let error = read_files(force, &[("x.db", cut)]).err().unwrap().to_string();
    assert!(error.contains("SQLite"), "{error}");
    let mut locked_out = whole();
    locked_out.iter_mut().skip(16).for_each(|b| *b ^= 0x5a);
    assert!(read_files(force, &[("x.db", &locked_out)]).err().unwrap().to_string().contains("SQLite"));
    assert!(read_files(None, &[("x.db", &database("CREATE TABLE other(a);"))]).is_err());
    let endless =
        "CREATE VIEW result AS WITH RECURSIVE rows(start_time) AS (VALUES (1.0) UNION ALL SELECT start_time + 1
        FROM rows) SELECT start_time, 0.5 AS first_chunk_latency, '[]' AS inter_token_latencies FROM rows;";
    let error = read_files(force, &[("x.db", &database(endless))]).err().unwrap().to_string();
    assert!(error.contains("no table result"), "{error}");
}

#[test]
fn cuts_and_damage_are_stood() {
    let filler =
        "INSERT INTO result SELECT request, start_time + 1, inter_token_latencies, success, hex(zeroblob(900)),
        completed_time + 1, latency, first_chunk_latency, 10, 3, 0, 0, NULL, 1 FROM result WHERE rowid = 1;";
    let text = database(&format!("{TABLE}{ROWS}{}", filler.repeat(20)));
    for cut in (1..text.len()).step_by(997) {
        if let Ok(ran) = read_files(Some(&EVALSCOPE_PERF), &[("x.db", &text[..cut])]) {
            assert!(ran[0].issue(IssueCode::TruncatedRecord) > 0, "cut at {cut}");
        }
    }
    let mut state = 1u32;
    for _ in 0..150 {
        let mut hurt = text.clone();
        for _ in 0..10 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = state as usize % hurt.len();
            hurt[at] = (state >> 24) as u8;
        }
        drop(read_files(Some(&EVALSCOPE_PERF), &[("x.db", &hurt)]));
    }
}

#[test]
fn rows_whose_pages_are_lost_are_no_requests() {
    let lost = "INSERT INTO result DEFAULT VALUES;
        INSERT INTO result VALUES ('{}', 100.5, '[]', 1, 'x', 0.0, 0.0, 0.0, 0, 0, 0, 0, NULL, 0);";
    let ran = read_files(None, &[("benchmark_data.db", &database(&format!("{TABLE}{ROWS}{lost}")))]).unwrap();
    assert_eq!((ran[0].requests("status").len(), ran[0].issue(IssueCode::BadRecord)), (4, 2));
    assert_eq!((ran[0].manifest.duration_ns, ran[0].manifest.sources[0].skipped), (Some(1_750_000_000), 2));
}

#[test]
fn a_journal_beside_it_is_told() {
    for ending in ["-wal", "-journal"] {
        let journal = format!("benchmark_data.db{ending}");
        let dir = folder();
        let path = dir.path().join("benchmark_data.db");
        std::fs::write(dir.path().join(&journal), "not merged yet").unwrap();
        std::fs::write(&path, whole()).unwrap();
        let ran = read_paths(std::slice::from_ref(&path)).unwrap();
        assert_eq!((ran[0].issue(IssueCode::JournalBeside), ran[0].issue(IssueCode::UnreadRest)), (1, 0));
        let mut torn = whole();
        torn[100..108].fill(0xff);
        std::fs::write(&path, torn).unwrap();
        let error = read_paths(&[path]).err().unwrap().to_string();
        assert!(error.contains("it is being written") && error.contains(ending), "{error}");
    }
}

#[test]
fn real_databases_agree_with_their_figures() {
    for (run, folder) in
        [("run_a", "parallel_12_number_90"), ("run_b", "parallel_12_number_90"), ("small", "parallel_4_number_10")]
    {
        let Some(folder) = shared(&format!("recordings/evalscope-perf/{run}/out/result/{folder}")) else { return };
        let files = ["benchmark_data.db", "benchmark_summary.json", "benchmark_percentile.json"];
        let ran = read_paths(&files.map(|name| folder.join(name))).unwrap();
        assert_eq!(ran.len(), 1);
        assert_eq!(ran[0].manifest.sources.len(), 3);
        let column = |name| ran[0].numbers(Table::Requests, name);
        let figure = |metric: &str, stat: &str| ran[0].figure(&format!("{metric} {stat}"));
        let ttft = column("ttft_ns");
        let ends: Vec<_> = column("stream_end_ns").into_iter().zip(&ttft).map(|(end, t)| t.and(end)).collect();
        let gaps = ran[0].gaps();
        let tpot: Vec<_> = ends
            .iter()
            .zip(&ttft)
            .zip(column("output_tokens"))
            .map(|((end, ttft), n)| Some(((*end)? - (*ttft)?) / (n? - 1)))
            .collect();
        for (metric, values, places) in
            [("ttft_ms", &ttft, 0.006), ("itl_ms", &gaps, 0.006), ("tpot_ms", &tpot, 0.006), ("e2e_ms", &ends, 0.06)]
        {
            let ours = mean(values) / 1e6;
            assert!((ours - figure(metric, "mean")).abs() < places, "{run} {metric} {ours}");
            let mut sorted: Vec<i64> = values.iter().flatten().copied().collect();
            sorted.sort_unstable();
            for p in [1, 5, 10, 25, 50, 75, 90, 95, 99] {
                let rank = (sorted.len() * p).div_ceil(100).max(1);
                let (ours, theirs) = (sorted[rank - 1] as f64 / 1e6, figure(metric, &format!("p{p}")));
                assert!((ours - theirs).abs() < places, "{run} {metric} p{p}: {ours} {theirs}");
            }
        }
        let seconds = ran[0].manifest.duration_ns.unwrap() as f64 / 1e9;
        let ok = ttft.iter().flatten().count() as f64;
        close_to(ok, figure("requests_ok", "value"));
        let out = sum(&column("output_tokens"));
        assert!((ok / seconds - figure("requests_per_s", "value")).abs() < 1e-3);
        assert!((out / seconds - figure("output_tokens_per_s", "value")).abs() < 0.02);
    }
}
