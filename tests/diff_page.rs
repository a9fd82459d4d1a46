//! The HTML comparison in a real browser: nothing is loaded, nothing fails, what should work works, with and without its script.

use crate::browser::{Page, chromium};
use crate::made_pair::tight_and_room;
use crate::made_run::Made;
use crate::page_checks::{clean, filters, leads_somewhere, lie_in_order, says_when_hovered, sorts};
use crate::support::{fixture, run};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn written(dir: &Path, args: &[&str]) -> PathBuf {
    let path = dir.join("diff.html");
    let ran = run([&["diff"], args, &["-o", path.to_str().unwrap()]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    path
}

/// A page of two runs of which one is slower, in a folder that lives as long as the first value.
fn slower() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let base = Made::new(1).write(dir.path(), "before");
    let slow = Made { ttft_s: 0.16, fails_every: 20, ..Made::new(2) }.write(dir.path(), "after");
    let page = written(dir.path(), &[base.to_str().unwrap(), slow.to_str().unwrap()]);
    (dir, page)
}

#[test]
fn the_verdict_comes_first_and_every_link_leads_somewhere() {
    let Some(browser) = chromium() else { return };
    let dir = tempfile::tempdir().unwrap();
    let [tight, room] = tight_and_room(dir.path());
    let path = written(dir.path(), &[&tight, &room]);
    let mut page = Page::open(&browser);
    page.go(&path);
    let found = run(["diff", &tight, &room, "--format", "json"]).json();
    let order = lie_in_order(
        &mut page,
        "['.verdict', '#question', '#why', '.finding', 'svg.chart', '#whole', '#buckets', '#mix', '#method']",
    );
    // Seen without scrolling.
    assert!(order[0] < 400.0, "{order:?}");
    let says = page.eval("document.querySelector('.verdict p').textContent");
    assert!(says.as_str().unwrap().to_lowercase().starts_with(found["verdict"].as_str().unwrap()), "{says}");
    assert_eq!(page.eval("document.querySelectorAll('svg.chart').length"), json!(4));
    let changes = ["new", "worse", "milder", "gone"].map(|how| found["findings"][how].as_array().unwrap().len());
    assert_eq!(page.eval("document.querySelectorAll('.finding').length"), json!(changes.iter().sum::<usize>()));
    let server = found["why"]["server"][0].as_str().unwrap();
    assert!(page.eval("document.querySelector('#why').textContent").as_str().unwrap().contains(server));
    leads_somewhere(&mut page);
    // Every figure of the JSON has its row.
    let rows = page.eval("document.querySelectorAll('table.deltas tbody tr').length");
    assert_eq!(rows, json!(found["deltas"].as_array().unwrap().len()));
    clean(&page, "as loaded");
}

#[test]
fn sorting_filtering_and_hovering_work() {
    let Some(browser) = chromium() else { return };
    let (_dir, path) = slower();
    let mut page = Page::open(&browser);
    page.go(&path);
    // Not every change is known.
    sorts(&mut page, "whole-deltas", "change", ".filter(v => !isNaN(v))", 30);
    // By verdict: what is worse comes first.
    let worst = "(() => { const t = document.getElementById('whole-deltas');\
        const i = [...t.tHead.rows[0].cells].findIndex(c => c.textContent.includes('verdict'));\
        t.tHead.rows[0].cells[i].querySelector('button').click();\
        return [...t.tBodies[0].rows].map(r => r.dataset.verdict); })()";
    let verdicts: Vec<String> = serde_json::from_value(page.eval(worst)).unwrap();
    let rank =
        |v: &String| ["worse", "better", "different", "inconclusive", "same"].iter().position(|x| x == v).unwrap();
    assert!(verdicts[0] == "worse" && verdicts.is_sorted_by_key(rank), "{verdicts:?}");
    filters(&mut page, "whole-deltas", "verdict", "worse");
    says_when_hovered(&mut page, "d-c-diff_percentiles", "TTFT P5");
    clean(&page, "after use");
}

#[test]
fn without_its_script_the_page_says_the_same() {
    let Some(browser) = chromium() else { return };
    let (_dir, path) = slower();
    let mut page = Page::open(&browser);
    page.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    page.go(&path);
    let seen = "['.verdict', '#question', 'svg.chart', '#whole-deltas', '#buckets-deltas']\
                .map(s => document.querySelector(s).checkVisibility())";
    assert_eq!(page.eval(seen), json!([true, true, true, true, true]));
    let idle = "[...document.querySelectorAll('.controls, #tip')].filter(e => e.checkVisibility()).length";
    assert_eq!(page.eval(idle), json!(0), "controls that would do nothing");
    // Paper has the figures of the short tables, and says so.
    page.emulate("print", "light");
    let printed = page.eval(
        "[[...document.querySelectorAll('#whole-deltas tbody tr')].filter(r => r.checkVisibility()).length,\
          document.querySelector('#whole .printed').checkVisibility()]",
    );
    assert!(printed[0].as_u64().unwrap() >= 20 && printed[1] == json!(true), "{printed}");
    clean(&page, "without script");
}

#[test]
fn another_question_is_said_aloud() {
    let Some(browser) = chromium() else { return };
    let dir = tempfile::tempdir().unwrap();
    let sides = ["a", "b"].map(|n| fixture("cases/b14_mix_shift/input").join(format!("{n}.json")));
    let path = written(dir.path(), &[sides[0].to_str().unwrap(), sides[1].to_str().unwrap(), "--buckets", "0,1k"]);
    let mut page = Page::open(&browser);
    page.go(&path);
    let alarm = page.eval(
        "(() => { const a = document.querySelector('#question.alarm'); return [a.textContent, \
          a.getBoundingClientRect().top, getComputedStyle(a.querySelector('.answer')).color]; })()",
    );
    let text = alarm[0].as_str().unwrap();
    assert!(text.contains("NOT THE SAME QUESTION") && text.contains("prompts are of another length"), "{text}");
    assert!(alarm[1].as_f64().unwrap() < 600.0 && alarm[2] == json!("rgb(168, 32, 13)"), "{alarm}");
    assert!(page.eval("document.querySelector('svg.chart').textContent").as_str().unwrap().contains("NOT THE SAME"));
    assert_eq!(page.eval("document.querySelectorAll('.v.better').length"), json!(0));
    clean(&page, "not comparable");
}

#[test]
fn injected_markup_stays_text() {
    let Some(browser) = chromium() else { return };
    let dir = tempfile::tempdir().unwrap();
    let evil = "<script>window.pwned=1</script>";
    let base = Made::new(1).write(dir.path(), "before");
    let made = Made { ttft_s: 0.2, ..Made::new(2) }.write(dir.path(), "after");
    let mut result: Value = serde_json::from_str(&std::fs::read_to_string(made.join("result.json")).unwrap()).unwrap();
    result["model_id"] = json!("</style><img src=x onerror='window.pwned=2'>");
    let label = dir.path().join("<b>run.json");
    std::fs::write(&label, result.to_string()).unwrap();
    let dataset = dir.path().join("d");
    let target = dataset.to_str().unwrap();
    assert_eq!(run(["ingest", label.to_str().unwrap(), "-o", target, "--label", evil]).code, 0);
    let path = written(dir.path(), &[base.to_str().unwrap(), target]);
    let mut page = Page::open(&browser);
    page.go(&path);
    assert_eq!(page.eval("typeof window.pwned"), json!("undefined"));
    assert_eq!(
        page.eval("[document.scripts.length, document.images.length, document.querySelectorAll('p > b > *').length]"),
        json!([1, 0, 0])
    );
    let text = page.eval("document.querySelector('h1').textContent");
    assert!(text.as_str().unwrap().contains("window.pwned=1"), "{text}: the label is not shown");
    assert!(page.eval("document.querySelector('#question').textContent").as_str().unwrap().contains("onerror="));
    clean(&page, "with markup");
}
