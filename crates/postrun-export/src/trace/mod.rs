//! A run as a timeline: a track a request, tracks of the server's counters, arrows from a prefill to what it held up.
//!
//! The requests table is read twice: once to see where everything lies, once to write. In memory are a batch of requests,
//! the judged pauses and the counters.

mod clocks;
mod counters;
mod plan;
mod preempted;
mod row;
mod slices;

use crate::error::ExportError;
use clocks::Clocks;
use plan::Plan;
use postrun_schema::{Dataset, Table, counted};

/// Requests in memory at a time.
const ROWS: usize = 1 << 14;

/// What stands beside a slice.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Count(u64),
    Figure(f64),
}

/// Where an arrow ends: in a slice that begins after the one the arrow comes from, or Perfetto would turn it round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Arrow {
    pub id: u64,
    /// When that slice begins.
    pub from_ns: i64,
    /// A moment inside it.
    pub at_ns: i64,
}

/// A part of a request's time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slice {
    pub name: &'static str,
    pub start_ns: i64,
    pub end_ns: i64,
    /// Slices around it.
    pub depth: usize,
    pub args: Vec<(&'static str, Value)>,
    /// Arrows that begin here.
    pub arrows_out: Vec<u64>,
    /// The arrow that ends here.
    pub arrow_in: Option<Arrow>,
}

/// A request's track. Slices come as they nest: each before those inside it, in time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Track {
    pub request: u32,
    pub name: String,
    pub slices: Vec<Slice>,
}

/// A counter's track.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Counter {
    pub name: &'static str,
    pub unit: &'static str,
    pub points: Vec<(i64, f64)>,
}

/// What is known before anything is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Head<'a> {
    /// Name of the run.
    pub label: &'a str,
    /// What its times are.
    pub about: String,
    /// Requests of the run. Not each of them need have a track.
    pub requests: u64,
    /// Whether there is any counter.
    pub counters: bool,
}

/// A format of timelines. Times that it gets are nanoseconds from 0 on.
pub(crate) trait Sink {
    /// Called first.
    fn begin(&mut self, head: &Head<'_>) -> Result<(), ExportError>;
    /// Called for each counter, before the requests.
    fn counter(&mut self, counter: &Counter) -> Result<(), ExportError>;
    /// Called for each request.
    fn request(&mut self, track: &Track) -> Result<(), ExportError>;
    /// Called last.
    fn finish(&mut self) -> Result<(), ExportError>;
}

/// Writes the run to `sink`. Gives a sentence for each kind of thing that could not be drawn.
pub(crate) fn write(dataset: &Dataset, sink: &mut dyn Sink) -> Result<Vec<String>, ExportError> {
    let clocks = Clocks::of(dataset)?;
    let mut plan = Plan::make(dataset, &clocks)?;
    let (mut counters, far) = counters::of(dataset, &clocks, plan.span_ns())?;
    let first = plan.span_ns().map(|span| span.0);
    let earliest = counters.iter().flat_map(|c| c.points.first()).map(|p| p.0).chain(first).min();
    let Some(earliest) = earliest else {
        let no_counter = format!("none of {} is recorded on its clock", counters::names().join(", "));
        let missing = ["no point in time of a request is recorded".to_string(), no_counter];
        let why = missing.into_iter().chain(clocks.left_out()).collect::<Vec<_>>().join("; ");
        return Err(ExportError::NothingToDraw { label: dataset.manifest().label.clone(), why });
    };
    // Timelines begin at 0; what lies before the run's origin moves everything.
    let shift = earliest.saturating_neg().max(0);
    let head = Head {
        label: &dataset.manifest().label,
        about: clocks.describe(shift),
        requests: dataset.rows(Table::Requests),
        counters: !counters.is_empty(),
    };
    sink.begin(&head)?;
    for counter in &mut counters {
        counter.points.iter_mut().for_each(|p| p.0 = p.0.saturating_add(shift));
        sink.counter(counter)?;
    }
    plan.each(dataset, |mut track| {
        for slice in &mut track.slices {
            slice.start_ns = slice.start_ns.saturating_add(shift);
            slice.end_ns = slice.end_ns.saturating_add(shift);
            if let Some(arrow) = &mut slice.arrow_in {
                arrow.from_ns = arrow.from_ns.saturating_add(shift);
                arrow.at_ns = arrow.at_ns.saturating_add(shift);
            }
        }
        sink.request(&track)
    })?;
    sink.finish()?;
    let far = (far > 0)
        .then(|| format!("{} of the server not drawn: far before or after the requests", counted(far, "sample")));
    Ok(clocks.left_out().chain(far).chain(plan.left_out()).collect())
}
