//! A headless Chromium, driven over the pipes of its debugging protocol: no port, no library, nothing but the browser.
//!
//! Messages are JSON with a zero byte behind each. The browser reads them from its third descriptor and writes to its
//! fourth; a shell ties those to the child's standard input and output.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const NAMES: [&str; 5] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const PATIENCE: Duration = Duration::from_secs(90);

/// The browser, where there is one: `CHROMIUM`, else by its usual names. Its absence is said aloud, and is a failure in CI.
pub fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).flat_map(|dir| NAMES.map(|name| dir.join(name))).find(|p| p.is_file());
    if let Some(browser) = named.or(found) {
        return Some(browser);
    }
    eprintln!("SKIPPED: no Chromium is here (`apt-get install chromium`, or CHROMIUM=path), so no page was opened");
    assert!(std::env::var_os("CI").is_none(), "CI must have a Chromium");
    None
}

/// One page.
pub struct Page {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    session: Value,
    next: u64,
    /// Everything the page did besides answering.
    pub events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Page {
    /// A blank page.
    pub fn open(browser: &Path) -> Page {
        let profile = tempfile::tempdir().unwrap();
        // A container's root has no sandbox to offer, and the page is our own.
        let args = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            // No page is to reach beyond this machine, whatever it tries.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--window-size=1100,900",
            "--remote-debugging-pipe",
        ];
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"])
            .arg(browser)
            .args(args)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    break;
                }
            }
        });
        let session = Value::Null;
        let mut page = Page { child, input, messages, session, next: 0, events: Vec::new(), _profile: profile };
        let target = page.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = page.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        page.session = attached["sessionId"].clone();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page
    }

    /// Sends a command and waits for its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({"id": id, "method": method, "params": params});
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.input.as_mut().unwrap().write_all(&bytes).unwrap();
        loop {
            let answer = self.messages.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("{method}: {e}"));
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Opens a file and waits until it is loaded.
    pub fn go(&mut self, file: &Path) {
        self.visit(&format!("file://{}", file.display()));
    }

    /// Opens an address and waits until it is loaded.
    pub fn visit(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({"url": url}));
        while !self.events.iter().any(|e| e["method"] == "Page.loadEventFired") {
            let event = self.messages.recv_timeout(PATIENCE).unwrap();
            self.events.push(event);
        }
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Shows the page as on `media`, with light or dark wanted.
    pub fn emulate(&mut self, media: &str, scheme: &str) {
        let feature = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": media, "features": feature}));
    }

    /// Addresses asked for that are not on this disk.
    pub fn requests_beyond_the_disk(&self) -> Vec<String> {
        let asked = self.events.iter().filter(|e| e["method"] == "Network.requestWillBeSent");
        let urls = asked.filter_map(|e| e["params"]["request"]["url"].as_str());
        urls.filter(|url| !url.starts_with("file://")).map(str::to_string).collect()
    }

    /// Errors and warnings, thrown or logged.
    pub fn complaints(&self) -> Vec<String> {
        let bad = |e: &&Value| match e["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => {
                ["error", "warning", "assert"].map(Value::from).contains(&e["params"]["type"])
            }
            Some("Log.entryAdded") => ["error", "warning"].map(Value::from).contains(&e["params"]["entry"]["level"]),
            _ => false,
        };
        self.events.iter().filter(bad).map(Value::to_string).collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // A closed pipe ends the browser; waiting for it keeps its profile from being removed under it.
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
