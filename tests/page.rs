//! The HTML report in a real browser: nothing is loaded, nothing fails, what should work works, with and without its script.

use crate::browser::{Page, chromium};
use crate::page_checks::{clean, filters, leads_somewhere, lie_in_order, says_when_hovered, sorts};
use crate::support::{fixture, report, run};
use serde_json::json;
use std::path::PathBuf;

/// The page of a report, in a folder that lives as long as the first value.
fn written(inputs: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    let args = [&["report"], inputs, &["--slo", "ttft=1s,tpot=50ms", "-o", path.to_str().unwrap()]].concat();
    let ran = run(args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    (dir, path)
}

fn kv_tight() -> (tempfile::TempDir, PathBuf) {
    written(&["fixtures/server_side/kv_tight/input"])
}

/// A run whose error texts, model and label are markup.
fn hostile() -> (tempfile::TempDir, PathBuf) {
    let text = std::fs::read_to_string(fixture("cases/b03_failed_requests/input/b.json")).unwrap();
    let mut result: serde_json::Value = serde_json::from_str(&text).unwrap();
    let evil = "</style></script><script>window.pwned=1</script><img src=x onerror='window.pwned=2'>";
    result["model_id"] = json!(evil);
    for error in result["errors"].as_array_mut().unwrap().iter_mut().filter(|e| **e != json!("")) {
        *error = json!(evil);
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("<b>run.json"), result.to_string()).unwrap();
    let path = dir.path().join("report.html");
    let input = dir.path().join("<b>run.json");
    let ran = run(["report", input.to_str().unwrap(), "-o", path.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    (dir, path)
}

#[test]
fn findings_come_first_and_every_link_leads_somewhere() {
    let Some(browser) = chromium() else { return };
    let (_dir, path) = kv_tight();
    let mut page = Page::open(&browser);
    page.go(&path);
    let found = report(&fixture("server_side/kv_tight/input"), &["--slo", "ttft=1s,tpot=50ms"]);
    let findings = found["runs"][0]["findings"].as_array().unwrap().len();
    assert!(findings > 0);
    assert_eq!(page.eval("document.querySelectorAll('.finding').length"), json!(findings));
    assert_eq!(page.eval("[...document.querySelectorAll('.finding')].every(f => f.checkVisibility())"), json!(true));
    lie_in_order(&mut page, "['.verdict', '.finding', 'svg.chart', 'table']");
    leads_somewhere(&mut page);
    let proved = "[...document.querySelectorAll('.finding')].filter(f => !f.querySelector('.see a[href*=\"-c-\"]'))\
                  .map(f => f.id)";
    assert_eq!(page.eval(proved), json!([]), "findings without a chart that proves them");
    clean(&page, "as loaded");
}

#[test]
fn sorting_filtering_hovering_and_zooming_work() {
    let Some(browser) = chromium() else { return };
    let (_dir, path) = kv_tight();
    let mut page = Page::open(&browser);
    page.go(&path);
    sorts(&mut page, "r1-slowest", "TTFT ms", "", 50);
    filters(&mut page, "r1-slowest", "bucket", "0");
    says_when_hovered(&mut page, "r1-c-latency_over_time", "P95");
    let zoom = "(() => { const z = document.querySelector('.zoom'); const said = z.querySelector('output');\
        const before = said.textContent; z.querySelector('button[aria-label=\"zoom in\"]').click();\
        return [before, said.textContent, z.querySelectorAll('path').length]; })()";
    let zoomed = page.eval(zoom);
    assert!(zoomed[0] != zoomed[1] && zoomed[2].as_u64().unwrap() > 5, "{zoomed}");
    clean(&page, "after use");
}

#[test]
fn without_its_script_the_page_says_the_same() {
    let Some(browser) = chromium() else { return };
    let (_dir, path) = kv_tight();
    let mut page = Page::open(&browser);
    page.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    page.go(&path);
    let seen =
        "['.verdict', '.finding', 'svg.chart', '#r1-slowest'].map(s => document.querySelector(s).checkVisibility())";
    assert_eq!(page.eval(seen), json!([true, true, true, true]));
    let idle = "[...document.querySelectorAll('.controls, .zoom, #tip')].filter(e => e.checkVisibility()).length";
    assert_eq!(page.eval(idle), json!(0), "controls that would do nothing");
    // The browser's own hover texts.
    assert_eq!(page.eval("document.querySelectorAll('.spot > title').length > 20"), json!(true));
    clean(&page, "without script");
}

#[test]
fn light_dark_and_print_have_their_colours() {
    let Some(browser) = chromium() else { return };
    let (_dir, path) = kv_tight();
    let mut page = Page::open(&browser);
    page.go(&path);
    let ground = "getComputedStyle(document.querySelector('svg.chart rect')).fill";
    let words = "getComputedStyle(document.querySelector('svg.chart text')).fill";
    let body = "getComputedStyle(document.body).backgroundColor";
    let mut look = |media: &str, scheme: &str| {
        page.emulate(media, scheme);
        [ground, words, body].map(|e| page.eval(e).as_str().unwrap().to_string())
    };
    let (light, dark) = (look("screen", "light"), look("screen", "dark"));
    assert_eq!(light[0], "rgb(255, 255, 255)");
    assert!((0..3).all(|i| light[i] != dark[i]), "{light:?} {dark:?}");
    // Paper is white, whatever the screen.
    let printed = look("print", "dark");
    assert_eq!(printed[..2], light[..2]);
    assert_eq!(printed[2], "rgb(255, 255, 255)");
    let hidden = "[...document.querySelectorAll('nav, .controls, .zoom')].filter(e => e.checkVisibility()).length";
    assert_eq!(page.eval(hidden), json!(0));
    clean(&page, "in every look");
}

#[test]
fn injected_markup_stays_text() {
    let Some(browser) = chromium() else { return };
    let (_dir, path) = hostile();
    let mut page = Page::open(&browser);
    page.go(&path);
    assert_eq!(page.eval("typeof window.pwned"), json!("undefined"));
    assert_eq!(
        page.eval("[document.scripts.length, document.images.length, document.querySelectorAll('b').length]"),
        json!([1, 0, 0])
    );
    let text = page.eval("document.body.textContent");
    let text = text.as_str().unwrap();
    assert!(text.contains("failed: </style></script><script>window.pwned=1</script>"), "the error is not shown");
    assert!(text.contains("<b>run"), "the label is not shown");
    clean(&page, "with markup");
}

#[test]
fn the_policy_lets_nothing_in_or_out() {
    let Some(browser) = chromium() else { return };
    let (_dir, path) = kv_tight();
    let mut page = Page::open(&browser);
    page.go(&path);
    let tries = "(async () => { const out = [];\
        try { await fetch('http://127.0.0.1:9/'); out.push('fetched'); } catch { out.push('refused'); }\
        const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);\
        out.push(typeof window.ran);\
        const i = new Image(); i.src = 'http://127.0.0.1:9/x.png';\
        out.push(await new Promise(r => { i.onerror = () => r('no image'); i.onload = () => r('image'); }));\
        return out; })()";
    assert_eq!(page.eval(tries), json!(["refused", "undefined", "no image"]));
    assert!(
        page.complaints().iter().any(|c| c.contains("Content Security Policy")),
        "nothing was refused by the policy"
    );
}
