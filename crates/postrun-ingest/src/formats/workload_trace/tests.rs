//! Tests of the format: values that can be checked on paper, damage, and real files against their own figures.

use super::*;
use crate::client::run_test::{cut_everywhere, mutate_at_random, read_files, read_paths, sum};
use crate::formats::reading_test::shared;
use postrun_schema::Table;

const AZURE: &str = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n\
                     2023-11-16 18:17:04.0319600,3180,8\n2023-11-16 18:17:03.5000000,12,0\n";
const BURST: &str = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,50,10,60,API log\n\
                     45.5,GPT-4,70,0,70,Conversation log\n";
const MOONCAKE: &str = "{\"timestamp\": 27000, \"input_length\": 600, \"output_length\": 10, \"hash_ids\": [1, 2]}\n\
                        {\"timestamp\": 30500, \"input_length\": 601, \"output_length\": 11, \"hash_ids\": []}\n";

#[test]
fn arrivals_and_lengths_are_read() {
    type Column<'a> = &'a [Option<i64>];
    let expected: [(&str, &str, Column<'_>, Column<'_>); 3] = [
        ("a.csv", AZURE, &[Some(479_960_000), Some(531_960_000), Some(0)], &[Some(4808), Some(3180), Some(12)]),
        ("b.csv", BURST, &[Some(0), Some(40_500_000_000)], &[Some(50), Some(70)]),
        ("m.jsonl", MOONCAKE, &[Some(0), Some(3_500_000_000)], &[Some(600), Some(601)]),
    ];
    for (name, text, sent, prompt) in expected {
        let ran = read_files(None, &[(name, text.as_bytes())]).unwrap();
        assert_eq!(ran[0].numbers(Table::Requests, "sent_ns"), sent, "{name}");
        assert_eq!(ran[0].numbers(Table::Requests, "prompt_tokens"), prompt, "{name}");
        assert!(ran[0].numbers(Table::Requests, "ttft_ns").iter().all(Option::is_none));
        assert!(ran[0].numbers(Table::Requests, "cached_tokens").iter().all(Option::is_none));
        assert_eq!(ran[0].issue(IssueCode::TtftNotMeasured), 0);
        assert_eq!(ran[0].issue(IssueCode::FailedRequests), u64::from(name == "b.csv"));
    }
}

#[test]
fn damage_is_counted_and_stood() {
    let odd = format!("{AZURE}yesterday,1,2\n2023-11-16 18:17:05,x,-3\n2023-11-16 18:17:06\n2023-11-16 18:17:07,1");
    let ran = read_files(None, &[("a.csv", odd.as_bytes())]).unwrap();
    use IssueCode::{BadRecord, OutOfRange, TruncatedRecord, WrongType};
    assert_eq!([BadRecord, TruncatedRecord, WrongType, OutOfRange].map(|code| ran[0].issue(code)), [1, 1, 2, 1]);
    assert!(read_files(None, &[("a.csv", b"TIMESTAMP,ContextTokens,GeneratedTokens\n")]).is_err());
    cut_everywhere(&WORKLOAD_TRACE, "m.jsonl", MOONCAKE.as_bytes(), 1);
    for (name, text) in [("a.csv", AZURE), ("b.csv", BURST), ("m.jsonl", MOONCAKE)] {
        for cut in 1..text.len() {
            let Ok(ran) = read_files(Some(&WORKLOAD_TRACE), &[(name, &text.as_bytes()[..cut])]) else { continue };
            assert!(ran[0].numbers(Table::Requests, "sent_ns").len() <= text.lines().count());
        }
        mutate_at_random(&WORKLOAD_TRACE, name, text.as_bytes(), 150);
    }
}

#[test]
fn published_traces_are_read_whole() {
    let Some(folder) = shared("public/arrival-traces") else { return };
    let ran = read_paths(&[folder]).unwrap();
    // Rows and sums by Python over the files.
    let expected = [(8819, 18059974, 245896), (12031, 144793823, 4122048)];
    assert_eq!(ran.len(), 2);
    for (run, (rows, prompt, output)) in expected.into_iter().enumerate() {
        let total = |name| sum(&ran[run].numbers(Table::Requests, name)) as i64;
        assert_eq!(ran[run].numbers(Table::Requests, "sent_ns").iter().flatten().count(), rows);
        assert_eq!((total("prompt_tokens"), total("output_tokens")), (prompt, output));
    }
}
