//! Mapping files, right and wrong.

use super::*;

fn error(text: &str) -> String {
    Mapping::from_toml("map.toml", text).unwrap_err().to_string()
}

#[test]
fn a_mapping_says_what_each_column_is() {
    let text = r#"
rows = "results.requests"
delimiter = ";"
[run]
tool = "hammer"
max_concurrency = 8
tokens_counted_by = "server"
[columns]
e2e = "latency_ms"
ttft = { column = "first", unit = "s", optional = true }
status = { column = "state", ok = ["Served", 0], error = [false] }
output_tokens = "usage.completion_tokens"
"#;
    let mapping = Mapping::from_toml("map.toml", text).unwrap();
    let column = |fact: Fact| mapping.columns.iter().find(|c| c.fact == fact).unwrap();
    assert_eq!((column(Fact::E2e).unit, column(Fact::E2e).optional), (Some(Unit::Millis), false));
    assert_eq!((column(Fact::Ttft).unit, column(Fact::Ttft).optional), (Some(Unit::Seconds), true));
    assert_eq!(column(Fact::Ttft).at, Some(Place { line: 10, column: 19 }));
    let words: Vec<(&str, &str)> = column(Fact::Status).words.iter().map(|(w, m)| (w.as_str(), *m)).collect();
    assert_eq!(words, [("served", "ok"), ("0", "ok"), ("false", "error")]);
    assert_eq!((mapping.rows.as_deref(), mapping.delimiter), (Some("results.requests"), Some(b';')));
    assert_eq!((mapping.run.max_concurrency, mapping.run.tokens_by_server), (Some(8), Some(true)));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (text, expected) in [
        ("[columns\n", "map.toml:1:9: "),
        ("", "map.toml:1:1: a mapping needs a table [columns]"),
        (
            "[columns]\nttft_ms = \"a\"\n",
            "map.toml:2:1: no fact of a request is called \"ttft_ms\"; did you mean \"ttft\"?",
        ),
        ("[columns]\nttft = 3\n", "map.toml:2:1: ttft is the name of a column"),
        ("[columns]\nttft = { unit = \"ms\" }\n", "map.toml:2:1: ttft needs column"),
        (
            "[columns]\nttft = { column = \"a\", unit = \"msec\" }\n",
            "map.toml:2:31: \"msec\" is no unit of time; known: s, ms, us, ns, iso8601",
        ),
        ("[columns]\nttft = { column = \"a\", unit = \"iso8601\" }\n", "map.toml:2:31: ttft is a duration"),
        ("[columns]\nmodel = { column = \"a\", unit = \"s\" }\n", "map.toml:2:32: model is no time"),
        (
            "[columns]\ne2e = { column = \"a\", unti = \"s\" }\n",
            "map.toml:2:23: unknown key \"unti\"; did you mean \"unit\"?",
        ),
        ("[columns]\nmodel = \"m\"\n", "map.toml:1:2: no column tells how long a request took"),
        ("[columns]\nend = \"t_s\"\n", "map.toml:1:2: end is a point in time"),
        (
            "[columns]\nsent=\"s\"\ngaps = \"g_s\"\nchunk_times = \"t_s\"\n",
            "map.toml:1:2: gaps and chunk_times say the same",
        ),
        ("[columns]\nstatus = { column = \"a\", ok = \"x\" }\n", "map.toml:2:31: ok is a list"),
        ("delimiter = \"ab\"\n[columns]\ne2e = \"a_s\"\n", "map.toml:1:13: delimiter is one character"),
        (
            "[columns]\ne2e = \"a_s\"\n[run]\nmax_concurrency = -1\n",
            "map.toml:4:19: max_concurrency is a number above 0",
        ),
        ("[columns]\ne2e = \"a_s\"\n[run]\ntokens_counted_by = \"me\"\n", "map.toml:4:21: tokens_counted_by is"),
        ("[coulmns]\n", "map.toml:1:2: unknown key \"coulmns\"; did you mean \"columns\"?"),
    ] {
        let got = error(text);
        assert!(got.starts_with(expected), "{text:?}\n  gives {got}\n  not   {expected}");
    }
}

#[test]
fn every_fact_can_be_mapped_and_has_a_name_of_its_own() {
    for fact in FACTS {
        let unit = if fact.kind().is_time() { "_us" } else { "" };
        for name in std::iter::once(&fact.name()).chain(fact.aliases()) {
            let columns = own_columns([format!("{name}{unit}").as_str()]);
            assert_eq!(columns.iter().map(|c| c.fact).collect::<Vec<_>>(), [*fact], "{name}");
        }
    }
    for name in ["ttft", "ttft_iso8601", "mean_ttft_ms", "prompt_tokens_s", "latency_ms", "sent"] {
        assert!(own_columns([name]).is_empty(), "{name}");
    }
}

#[test]
fn units_are_exact_and_name_what_would_fit() {
    assert_eq!(Unit::Seconds.ns("1796022121.9461234565"), Some(1_796_022_121_946_123_457));
    assert_eq!(Unit::Nanos.ns("1796022121946123456"), Some(1_796_022_121_946_123_456));
    assert_eq!(Unit::Millis.ns("1.5e3"), Some(1_500_000_000));
    assert_eq!((Unit::Seconds.ns("1e300"), Unit::Seconds.ns("NaN"), Unit::Seconds.ns("x")), (None, None, None));
    assert_eq!(Unit::Seconds.instead("1000000000"), Some((Unit::Micros, 1_000_000_000_000)));
    assert_eq!(Unit::Seconds.instead("250000000000"), Some((Unit::Nanos, 250_000_000_000)));
}

#[test]
fn headings_tell_their_delimiter() {
    assert_eq!(heading_of(b"\xef\xbb\xbf\"a b\";c;d\r\n1;2", None), ["a b", "c", "d"]);
    assert_eq!(heading_of(b"a\tb,c\td\n", None), ["a", "b,c", "d"]);
    assert_eq!(delimiter_of(b"alone"), b',');
}
