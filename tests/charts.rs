//! Charts: golden pictures of each, their size, what is absent and why, and what a file of them looks like.

use crate::made_run::Made;
use crate::support::{case_inputs, fixture, root, run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const WITH_SERVER: &str = "fixtures/server_side/kv_tight/input";
/// Bytes of an SVG at most.
pub const MOST: usize = 200 * 1000;

pub fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ snapshot_path => root().join("tests/golden/charts"), prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// Charts of a run by file name, and what was said of them.
fn drawn(args: &[&str]) -> (BTreeMap<PathBuf, Vec<u8>>, String) {
    drawn_by(&[&["report"], args].concat())
}

/// What a command draws, by file name, and what it said.
pub fn drawn_by(args: &[&str]) -> (BTreeMap<PathBuf, Vec<u8>>, String) {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("charts");
    let ran = run([args, &["--charts", target.to_str().unwrap()]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut files = BTreeMap::new();
    let mut folders = vec![target.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(&target).unwrap().to_path_buf(), std::fs::read(&path).unwrap());
            }
        }
    }
    (files, ran.stderr)
}

/// Ids of the charts, of comparisons or of runs.
pub fn ids(of_comparisons: bool) -> Vec<String> {
    let listed = run(["list", "charts"]).stdout;
    let ids = listed.lines().map(|l| l.split_whitespace().next().unwrap().to_string());
    ids.filter(|id| id.starts_with("diff_") == of_comparisons).collect()
}

/// Three runs of rising load, of which the last gains nothing and waits long.
fn sweep(dir: &Path) {
    sweep_of(dir, &[(1.0, 100.0, 1.0), (2.0, 195.0, 1.1), (4.0, 200.0, 9.0)]);
}

/// Runs by their rate, their tokens a second, and how much slower their first tokens are.
fn sweep_of(dir: &Path, runs: &[(f64, f64, f64)]) {
    for (rate, tokens, slower) in runs.iter().copied() {
        let n = 40;
        let list = |f: &dyn Fn(usize) -> Value| Value::from((0..n).map(f).collect::<Vec<Value>>());
        let result = json!({
            "date": "20260101-000000", "endpoint_type": "openai", "backend": "openai", "model_id": "m", "tokenizer_id": "m",
            "num_prompts": n, "request_rate": rate, "burstiness": 1.0, "max_concurrency": null,
            "duration": n as f64 * 10.0 / tokens, "completed": n, "failed": 0, "total_input_tokens": n * 100,
            "total_output_tokens": n * 10, "request_throughput": rate, "output_throughput": tokens,
            "total_token_throughput": tokens * 11.0,
            "input_lens": list(&|_| json!(100)), "output_lens": list(&|_| json!(10)),
            "ttfts": list(&|i| json!(0.1 * slower + 0.001 * i as f64)),
            "itls": list(&|_| json!(vec![0.02; 9])), "start_times": list(&|i| json!(i as f64 / rate)),
            "generated_texts": list(&|_| json!("")), "errors": list(&|_| json!("")),
        });
        std::fs::write(dir.join(format!("rate{rate}.json")), result.to_string()).unwrap();
    }
}

#[test]
fn every_chart_has_a_golden() {
    let (mut files, said) = drawn(&[WITH_SERVER, "--slo", "ttft=1s,tpot=50ms"]);
    let dir = tempfile::tempdir().unwrap();
    sweep(dir.path());
    let (of_sweep, _) = drawn(&[dir.path().to_str().unwrap()]);
    let own = PathBuf::from("throughput_latency.svg");
    files.insert(own.clone(), of_sweep[&own].clone());
    assert!(!said.contains("not drawn"), "{said}");
    for id in ids(false) {
        let svg = String::from_utf8(files[&PathBuf::from(format!("{id}.svg"))].clone()).unwrap();
        assert!(svg.len() <= MOST, "{id}: {} bytes", svg.len());
        assert!(svg.starts_with("<svg xmlns=") && svg.contains("role=\"img\"") && svg.contains("<desc id="), "{id}");
        // Readable: hover texts are for those who ask, and long.
        let shown = svg.split("<g fill-opacity").next().unwrap().replace('>', ">\n");
        snapshot(&id, &shown);
    }
    assert!(of_sweep.contains_key(Path::new("run=rate1/latency_cdf.svg")), "{:?}", of_sweep.keys());
    let curve = String::from_utf8(of_sweep[&own].clone()).unwrap();
    assert!(curve.contains(">knee at 2<"), "the knee is not named");
}

/// Loads close to each other, which is what a search for the knee makes.
#[test]
fn loads_beside_their_points_do_not_touch() {
    let dir = tempfile::tempdir().unwrap();
    let loads = [1.0, 1.02, 1.04, 1.06, 1.08, 1.1, 1.12, 4.0, 4.05, 4.1];
    sweep_of(dir.path(), &loads.map(|rate| (rate, 100.0 * rate, 1.0)));
    let page = run(["report", dir.path().to_str().unwrap(), "--format", "html"]).stdout;
    let svg = page.split("<svg ").find(|svg| svg.contains(">Throughput against latency</title>"));
    let svg = svg.unwrap().split("</svg>").next().unwrap();
    let number = |tag: &str, name: &str| {
        let value = tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?;
        value.parse::<f64>().ok()
    };
    // A quarter of a pixel is the unit; a digit is at least 24 wide, a line 46 high.
    let words = svg.split("<text").skip(1).filter_map(|text| {
        let (tag, words) = text.split_once('>')?;
        let words = words.split('<').next()?;
        loads.iter().any(|load| load.to_string() == words).then_some((number(tag, "x")?, number(tag, "y")?, words))
    });
    let words: Vec<(f64, f64, &str)> = words.collect();
    for (i, (x, y, a)) in words.iter().enumerate() {
        for (other_x, other_y, b) in &words[..i] {
            assert!((x - other_x).abs() > 24.0 || (y - other_y).abs() > 46.0, "{a} lies on {b}");
        }
    }
    assert!(words.len() >= 6, "{words:?}");
}

#[test]
fn pictures_come_in_three_forms() {
    let (files, _) = drawn(&["fixtures/cases/b01_short_outputs/input"]);
    let size = |png: &[u8]| {
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.ends_with(b"IEND\xae\x42\x60\x82"));
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        (number(16), number(20))
    };
    // The stream of the picture, with its filter "up" undone.
    let pixels = |png: &[u8]| -> Vec<u8> {
        let length = u32::from_be_bytes(png[33..37].try_into().unwrap()) as usize;
        let mut raw = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&png[41..41 + length]), &mut raw).unwrap();
        let row = size(png).0 as usize * 3;
        let mut above = vec![0u8; row];
        let mut out = Vec::new();
        for line in raw.chunks(row + 1) {
            above = above.iter().zip(&line[1..]).map(|(a, d)| a.wrapping_add(*d)).collect();
            out.extend(&above);
        }
        out
    };
    for id in ["latency_cdf", "phase_breakdown"] {
        let [svg, light, dark] = [".svg", ".png", "-dark.png"].map(|end| &files[&PathBuf::from(format!("{id}{end}"))]);
        let svg = String::from_utf8(svg.clone()).unwrap();
        let width = svg.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse::<u32>().unwrap();
        assert_eq!((size(light).0, size(light)), (2 * width, size(dark)));
        let (light, dark) = (pixels(light), pixels(dark));
        assert_eq!((&light[..3], &dark[..3]), (&[0xff, 0xff, 0xff][..], &[0x15, 0x19, 0x1e][..]));
        let inked = light.chunks(3).filter(|p| *p != [0xff, 0xff, 0xff]).count();
        assert!(inked > light.len() / 3 / 200, "{id}: {inked} pixels are drawn");
    }
}

#[test]
fn what_cannot_be_drawn_is_named_with_its_reason() {
    let (files, said) = drawn(&["fixtures/vllm_bench/long_prompts/input/result.json"]);
    assert!(said.contains("goodput_by_objective: no objective was given"), "{said}");
    assert!(said.contains("server_over_time: no samples of the server"), "{said}");
    assert!(!files.contains_key(Path::new("server_over_time.svg")));
    assert_eq!(files.len() % 3, 0);
}

/// Twenty thousand requests, a few of which pause: as many marks as with any number.
#[test]
fn many_requests_make_no_larger_pictures() {
    let n = 20_000u64;
    let noise =
        |i: u64| (i.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407) >> 33) as f64 / 2f64.powi(31);
    let list = |f: &dyn Fn(u64) -> Value| Value::from((0..n).map(f).collect::<Vec<Value>>());
    let result = json!({
        "date": "20260101-000000", "endpoint_type": "openai", "backend": "openai", "model_id": "m", "tokenizer_id": "m",
        "num_prompts": n, "request_rate": 50.0, "burstiness": 1.0, "max_concurrency": null, "duration": n as f64 / 50.0 + 1.0,
        "completed": n, "failed": 0, "total_input_tokens": 0, "total_output_tokens": n * 4, "request_throughput": 50.0,
        "output_throughput": 200.0, "total_token_throughput": 200.0,
        "input_lens": list(&|i| json!((20.0 * (6.0 * noise(i)).exp()) as u64)), "output_lens": list(&|_| json!(4)),
        "ttfts": list(&|i| json!(0.02 + 0.5 * noise(i) * noise(i + 7))),
        "itls": list(&|i| json!([0.02 + 0.01 * noise(i), 0.02, if i % 37 == 0 { 0.5 * noise(i + 3) } else { 0.02 }])),
        "start_times": list(&|i| json!(i as f64 / 50.0)), "generated_texts": list(&|_| json!("")), "errors": list(&|_| json!("")),
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("many.json");
    std::fs::write(&path, result.to_string()).unwrap();
    let page = dir.path().join("many.html");
    let ran = run(["report", path.to_str().unwrap(), "--slo", "ttft=200ms", "-o", page.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    let charts: Vec<&str> = html.split("<svg ").skip(1).map(|s| s.split("</svg>").next().unwrap()).collect();
    assert!(charts.len() >= 8);
    for chart in charts {
        assert!(chart.len() <= MOST, "{} bytes", chart.len());
    }
    assert!(html.contains("requests, stronger where more"));
}

#[test]
fn every_fixture_makes_a_page() {
    let folders = |dir: PathBuf| -> Vec<PathBuf> {
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect()
    };
    let scenarios = folders(fixture("")).into_iter().filter(|p| !p.ends_with("cases")).flat_map(folders);
    let mut pages = 0;
    for input in scenarios.map(|s| s.join("input")).chain(case_inputs()) {
        let ran = run(["report", input.to_str().unwrap(), "--format", "html", "--slo", "ttft=1s"]);
        let plain = run(["report", input.to_str().unwrap()]);
        assert_eq!(ran.code, plain.code, "{}: {}", input.display(), ran.stderr);
        if ran.code == 0 {
            assert!(
                ran.stdout.starts_with("<!doctype html>") && ran.stdout.ends_with("</html>\n"),
                "{}",
                input.display()
            );
            let html = ran.stdout.split("<script>").next().unwrap();
            assert!(!html.contains(">NaN<") && !html.contains(">inf<"), "{}", input.display());
            let svgs = html.split("<svg ").skip(1).map(|s| s.split("</svg>").next().unwrap());
            svgs.for_each(|svg| assert!(!svg.contains("NaN") && !svg.contains("\"inf"), "{}", input.display()));
            pages += 1;
        }
    }
    assert!(pages > 40, "only {pages}");
}

#[test]
fn outline_of_the_page() {
    let html = run(["report", WITH_SERVER, "--format", "html", "--slo", "ttft=1s,tpot=50ms"]).stdout;
    snapshot("page_outline", &outline(&html));
}

/// Headings, pictures and tables of a page, in order.
pub fn outline(html: &str) -> String {
    let mut out = String::new();
    for tag in html.split('<').skip(1) {
        let (inside, text) = tag.split_once('>').unwrap_or((tag, ""));
        let (name, attributes) = inside.split_once(' ').unwrap_or((inside, ""));
        let id = attributes.split("id=\"").nth(1).and_then(|a| a.split('"').next()).unwrap_or_default();
        match name {
            "h1" | "h2" | "caption" | "summary" => out.push_str(&format!("{name}: {}\n", text.trim())),
            "section" | "article" | "figure" | "nav" | "main" => out.push_str(&format!("{name} {id}\n")),
            "meta" if attributes.contains("Security") => {
                let policy = attributes.split("content=\"").nth(1).unwrap();
                let parts = policy.split("'sha256-").map(|p| p.split_once("='").map_or(p, |(_, rest)| rest));
                out.push_str(&format!("policy: {}\n", parts.collect::<Vec<_>>().join("HASH").trim_end_matches('"')));
            }
            _ => {}
        }
    }
    out
}

#[test]
fn runs_of_other_lengths_are_no_sweep() {
    let dir = tempfile::tempdir().unwrap();
    let made = |name: &str, rate: f64, times: u32| {
        let base = Made::new(1);
        let prompts = base.prompts.iter().map(|n| n * times).collect();
        Made { rate, prompts, ..base }.write(dir.path(), name).to_str().unwrap().to_string()
    };
    let (slow, fast, longer) = (made("slow", 5.0, 1), made("fast", 10.0, 1), made("longer", 10.0, 3));
    for (other, drawn) in [(&fast, true), (&longer, false)] {
        let charts = dir.path().join(if drawn { "sweep" } else { "none" });
        let ran = run(["report", &slow, other, "--charts", charts.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(charts.join("throughput_latency.svg").is_file(), drawn, "{}", ran.stderr);
    }
}
