//! A timeline in the JSON trace event format, for chrome://tracing, Perfetto's UI, Speedscope and their like.
//!
//! # What is in it
//! One thread a request of the process `requests`: the whole request, inside it `queue`, `prefill` and `decode` as the
//! server recorded them, else `ttft` and `decode` as the client did; inside these `preempted` (by the server's own events),
//! `looks_like_preemption` (by the client's times alone) and the other classes of long pauses (`postrun explain stalls`).
//! The process `server` has the counters. An arrow leads from a prefill to each pause of another request that it is held to
//! have caused: to `behind_prefill`, the part of the pause that is left when the prefill begins. Per-request metrics stand
//! beside the whole request.
//!
//! Perfetto's UI shows the two processes closed, and sorts counters below requests: `--to perfetto` is the better picture there.
//!
//! # Clocks
//! Times count from the first send. Server times are in it only where the clocks are aligned; a run without a client is
//! drawn on the server's clock. Counters are drawn from a tenth of the requests' span before it to a tenth after it. What
//! is left out is said.

use crate::error::ExportError;
use crate::target::{Out, Target};
use crate::trace::{self, Counter, Head, Sink, Slice, Track, Value};
use postrun_report::json_escaped;
use postrun_schema::{Dataset, Doc};
use serde_json::{Map, Value as Json, json};

const REQUESTS: u32 = 1;
const SERVER: u32 = 2;
const ARROW: &str = "holds up";

pub(super) static CHROME_TRACE: Target = Target {
    id: "chrome-trace",
    ending: "json",
    binary: false,
    doc: Doc::from_source(include_str!("chrome_trace.rs")),
    write,
};

fn write(dataset: &Dataset, out: Out<'_>) -> Result<Vec<String>, ExportError> {
    trace::write(dataset, &mut ChromeTrace { out, any: false })
}

struct ChromeTrace<'a> {
    out: Out<'a>,
    any: bool,
}

impl ChromeTrace<'_> {
    /// One event a line. `at` and `lasts` are nanoseconds.
    fn event(&mut self, phase: &str, times: (Option<i64>, Option<i64>), rest: &Json) -> Result<(), ExportError> {
        let separator = if std::mem::replace(&mut self.any, true) { ",\n" } else { "\n" };
        write!(self.out, "{separator}{{\"ph\":\"{phase}\"")?;
        for (key, ns) in [("ts", times.0), ("dur", times.1)] {
            if let Some(ns) = ns {
                // Microseconds, as the format has it, without a detour through floats.
                write!(self.out, ",\"{key}\":{}.{:03}", ns / 1000, ns % 1000)?;
            }
        }
        let rest = rest.to_string();
        let rest = json_escaped(&rest);
        let rest = rest.strip_prefix('{').unwrap_or(&rest);
        write!(self.out, ",{rest}")?;
        Ok(())
    }

    fn metadata(&mut self, name: &str, pid: u32, tid: u64, args: Json) -> Result<(), ExportError> {
        self.event("M", (None, None), &json!({"name": name, "pid": pid, "tid": tid, "args": args}))
    }

    fn slice(&mut self, slice: &Slice, tid: u64) -> Result<(), ExportError> {
        let args: Map<String, Json> = slice.args.iter().map(|(key, v)| (key.to_string(), value(v))).collect();
        let mut rest = json!({"name": slice.name, "pid": REQUESTS, "tid": tid});
        if !args.is_empty() {
            rest["args"] = args.into();
        }
        self.event("X", (Some(slice.start_ns), Some(slice.end_ns - slice.start_ns)), &rest)?;
        let arrow = |id: u64| json!({"name": ARROW, "cat": ARROW, "id": id, "pid": REQUESTS, "tid": tid});
        for id in &slice.arrows_out {
            self.event("s", (Some(slice.start_ns), None), &arrow(*id))?;
        }
        if let Some(into) = slice.arrow_in {
            let mut rest = arrow(into.id);
            rest["bp"] = json!("e");
            self.event("f", (Some(into.at_ns), None), &rest)?;
        }
        Ok(())
    }
}

impl Sink for ChromeTrace<'_> {
    fn begin(&mut self, head: &Head<'_>) -> Result<(), ExportError> {
        let about = json!({"run": head.label, "times": head.about}).to_string();
        let about = json_escaped(&about);
        write!(self.out, "{{\"displayTimeUnit\":\"ms\",\"otherData\":{about},\"traceEvents\":[")?;
        // An empty process would keep Perfetto's UI from opening the only other one.
        let processes = [(REQUESTS, "requests"), (SERVER, "server")];
        for (pid, name) in processes.into_iter().filter(|(pid, _)| *pid != SERVER || head.counters) {
            self.metadata("process_name", pid, 0, json!({"name": name}))?;
            // The server's few tracks come first.
            self.metadata("process_sort_index", pid, 0, json!({"sort_index": SERVER - pid}))?;
        }
        Ok(())
    }

    fn counter(&mut self, counter: &Counter) -> Result<(), ExportError> {
        let unit = if counter.unit.is_empty() { "value" } else { counter.unit };
        for (at, value) in &counter.points {
            let args: Map<String, Json> = [(unit.to_string(), json!(value))].into_iter().collect();
            self.event("C", (Some(*at), None), &json!({"name": counter.name, "pid": SERVER, "tid": 0, "args": args}))?;
        }
        Ok(())
    }

    fn request(&mut self, track: &Track) -> Result<(), ExportError> {
        let tid = u64::from(track.request) + 1;
        self.metadata("thread_name", REQUESTS, tid, json!({"name": track.name}))?;
        self.metadata("thread_sort_index", REQUESTS, tid, json!({"sort_index": tid}))?;
        track.slices.iter().try_for_each(|slice| self.slice(slice, tid))
    }

    fn finish(&mut self) -> Result<(), ExportError> {
        Ok(writeln!(self.out, "\n]}}")?)
    }
}

fn value(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!(text),
        Value::Count(n) => json!(n),
        Value::Figure(v) => json!(v),
    }
}
