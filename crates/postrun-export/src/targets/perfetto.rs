//! A timeline in Perfetto's own format, for <https://ui.perfetto.dev> (which reads it in the browser) and its trace processor.
//!
//! # What is in it
//! The same as in a `chrome-trace`, in half of its size. The UI opens on the server's counters, below them one track a
//! request (of more than 1,000 requests, in groups of 1,000). On a request's track lies the whole request, inside it
//! `queue`, `prefill` and `decode` as the server recorded them, else `ttft` and `decode` as the client did; inside these
//! `preempted` (by the server's own events), `looks_like_preemption` (by the client's times alone) and the other classes
//! of long pauses (`postrun explain stalls`). A flow leads from a prefill to each pause of another request that it is held
//! to have caused: to `behind_prefill`, the part of the pause that is left when the prefill begins. Per-request metrics stand
//! beside the whole request, so that SQL finds them:
//! `select extract_arg(arg_set_id, 'debug.ttft_ms') from slice where name = 'request'`.
//!
//! # Clocks
//! Times count from the first send. Server times are in it only where the clocks are aligned; a run without a client is
//! drawn on the server's clock. Counters are drawn from a tenth of the requests' span before it to a tenth after it. What
//! is left out is said.

use crate::error::ExportError;
use crate::proto::Message;
use crate::target::{Out, Target};
use crate::trace::{self, Counter, Head, Sink, Slice, Track, Value};
use postrun_schema::{Dataset, Doc};
use std::collections::HashMap;

pub(super) static PERFETTO: Target = Target {
    id: "perfetto",
    ending: "perfetto-trace",
    binary: true,
    doc: Doc::from_source(include_str!("perfetto.rs")),
    write,
};

/// Id of the group of all tracks; those of counters, requests and groups of requests count from the other three.
const RUN: u64 = 1;
const FIRST_COUNTER: u64 = 16;
const FIRST_REQUEST: u64 = 1024;
const FIRST_GROUP: u64 = 1 << 33;
/// Requests side by side. With ten times as many the UI takes many seconds for each movement.
const GROUP: u64 = 1000;
/// All packets are of one sequence.
const SEQUENCE: u64 = 1;

// Field numbers and enumerators of perfetto_trace.proto.
mod field {
    pub const TRACE_PACKET: u64 = 1;
    pub mod packet {
        pub const TIMESTAMP: u64 = 8;
        pub const SEQUENCE_ID: u64 = 10;
        pub const TRACK_EVENT: u64 = 11;
        pub const INTERNED_DATA: u64 = 12;
        pub const SEQUENCE_FLAGS: u64 = 13;
        pub const TRACK_DESCRIPTOR: u64 = 60;
    }
    pub mod descriptor {
        pub const UUID: u64 = 1;
        pub const NAME: u64 = 2;
        pub const PARENT_UUID: u64 = 5;
        pub const COUNTER: u64 = 8;
        pub const CHILD_ORDERING: u64 = 11;
        pub const RANK: u64 = 12;
        pub const DESCRIPTION: u64 = 14;
        pub const COUNTER_UNIT_NAME: u64 = 6;
    }
    pub mod event {
        pub const ANNOTATION: u64 = 4;
        pub const TYPE: u64 = 9;
        pub const NAME_IID: u64 = 10;
        pub const TRACK_UUID: u64 = 11;
        pub const DOUBLE_COUNTER_VALUE: u64 = 44;
        pub const FLOW_ID: u64 = 47;
        pub const TERMINATING_FLOW_ID: u64 = 48;
    }
    pub mod annotation {
        pub const NAME_IID: u64 = 1;
        pub const UINT: u64 = 3;
        pub const DOUBLE: u64 = 5;
        pub const STRING: u64 = 6;
    }
    pub mod interned {
        pub const EVENT_NAMES: u64 = 2;
        pub const ANNOTATION_NAMES: u64 = 3;
        pub const IID: u64 = 1;
        pub const NAME: u64 = 2;
    }
}
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const COUNTER: u64 = 4;
const EXPLICIT_ORDER: u64 = 3;
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

fn write(dataset: &Dataset, out: Out<'_>) -> Result<Vec<String>, ExportError> {
    let (events, annotations) = (Names::new(), Names::new());
    trace::write(
        dataset,
        &mut Perfetto { out, events, annotations, begun: false, counters: 0, requests: 0, group: None },
    )
}

/// Names that are written once and then go by their number.
type Names = HashMap<&'static str, u64>;

struct Perfetto<'a> {
    out: Out<'a>,
    events: Names,
    annotations: Names,
    begun: bool,
    counters: u64,
    /// Of the run.
    requests: u64,
    /// The group of requests that was described last.
    group: Option<u64>,
}

/// The number of a name; new ones are added to `interned`.
fn number(names: &mut Names, name: &'static str, field: u64, interned: &mut Message) -> u64 {
    let next = names.len() as u64 + 1;
    *names.entry(name).or_insert_with(|| {
        let mut entry = Message::new();
        entry.uint(field::interned::IID, next).text(field::interned::NAME, name);
        interned.message(field, &entry);
        next
    })
}

impl Perfetto<'_> {
    fn packet(&mut self, mut packet: Message) -> Result<(), ExportError> {
        // The first one says that nothing was interned before it.
        let flags = if std::mem::replace(&mut self.begun, true) { NEEDS_STATE } else { STATE_CLEARED | NEEDS_STATE };
        packet.uint(field::packet::SEQUENCE_ID, SEQUENCE).uint(field::packet::SEQUENCE_FLAGS, flags);
        let mut trace = Message::new();
        trace.message(field::TRACE_PACKET, &packet);
        Ok(self.out.write_all(trace.as_bytes())?)
    }

    fn descriptor(&mut self, descriptor: &Message) -> Result<(), ExportError> {
        let mut packet = Message::new();
        packet.message(field::packet::TRACK_DESCRIPTOR, descriptor);
        self.packet(packet)
    }

    /// A group of tracks that stand in the order of their ranks.
    fn group(&mut self, uuid: u64, name: &str, within: Option<(u64, u64)>, about: &str) -> Result<(), ExportError> {
        let mut group = Message::new();
        group.uint(field::descriptor::UUID, uuid).text(field::descriptor::NAME, name);
        if let Some((parent, rank)) = within {
            group.uint(field::descriptor::PARENT_UUID, parent).uint(field::descriptor::RANK, rank);
        }
        group.uint(field::descriptor::CHILD_ORDERING, EXPLICIT_ORDER);
        group.text(field::descriptor::DESCRIPTION, about);
        self.descriptor(&group)
    }

    /// Rank of a request, or of a group of them: counters come first. It is an int32.
    fn rank(&self, number: u64) -> u64 {
        (self.counters + number).min(i32::MAX as u64)
    }

    /// The group that a request belongs to, which is described where it begins.
    fn parent(&mut self, request: u64) -> Result<u64, ExportError> {
        if self.requests <= GROUP {
            return Ok(RUN);
        }
        let number = request / GROUP;
        let uuid = FIRST_GROUP + number;
        if self.group.replace(number) != Some(number) {
            let (first, last) = (number * GROUP, ((number + 1) * GROUP).min(self.requests) - 1);
            let name = format!("requests {first} to {last}");
            self.group(uuid, &name, Some((RUN, self.rank(number))), "in the order of the recording")?;
        }
        Ok(uuid)
    }

    fn event(&mut self, at_ns: i64, event: &Message, interned: &Message) -> Result<(), ExportError> {
        let mut packet = Message::new();
        packet.int(field::packet::TIMESTAMP, at_ns);
        if !interned.is_empty() {
            packet.message(field::packet::INTERNED_DATA, interned);
        }
        packet.message(field::packet::TRACK_EVENT, event);
        self.packet(packet)
    }

    fn begin_slice(&mut self, slice: &Slice, uuid: u64) -> Result<(), ExportError> {
        let mut interned = Message::new();
        let name = number(&mut self.events, slice.name, field::interned::EVENT_NAMES, &mut interned);
        let mut event = Message::new();
        event.uint(field::event::TYPE, SLICE_BEGIN).uint(field::event::TRACK_UUID, uuid);
        event.uint(field::event::NAME_IID, name);
        for (key, value) in &slice.args {
            let key = number(&mut self.annotations, key, field::interned::ANNOTATION_NAMES, &mut interned);
            let mut annotation = Message::new();
            annotation.uint(field::annotation::NAME_IID, key);
            match value {
                Value::Text(text) => annotation.text(field::annotation::STRING, text),
                Value::Count(n) => annotation.uint(field::annotation::UINT, *n),
                Value::Figure(v) => annotation.double(field::annotation::DOUBLE, *v),
            };
            event.message(field::event::ANNOTATION, &annotation);
        }
        for id in &slice.arrows_out {
            event.fixed(field::event::FLOW_ID, *id);
        }
        self.event(slice.start_ns, &event, &interned)
    }

    /// Arrows end with the slice they lead to: its start may lie before the start of the prefill.
    fn end_slice(&mut self, slice: &Slice, uuid: u64) -> Result<(), ExportError> {
        let mut event = Message::new();
        event.uint(field::event::TYPE, SLICE_END).uint(field::event::TRACK_UUID, uuid);
        if let Some(arrow) = slice.arrow_in {
            event.fixed(field::event::TERMINATING_FLOW_ID, arrow.id);
        }
        self.event(slice.end_ns, &event, &Message::new())
    }
}

impl Sink for Perfetto<'_> {
    fn begin(&mut self, head: &Head<'_>) -> Result<(), ExportError> {
        self.requests = head.requests;
        // The UI opens a group by itself only where it is the only one.
        self.group(RUN, head.label, None, &head.about)
    }

    fn counter(&mut self, counter: &Counter) -> Result<(), ExportError> {
        let uuid = FIRST_COUNTER + self.counters;
        let mut details = Message::new();
        details.text(field::descriptor::COUNTER_UNIT_NAME, counter.unit);
        let mut track = Message::new();
        track.uint(field::descriptor::UUID, uuid).uint(field::descriptor::PARENT_UUID, RUN);
        track.text(field::descriptor::NAME, counter.name).uint(field::descriptor::RANK, self.counters);
        track.message(field::descriptor::COUNTER, &details);
        self.descriptor(&track)?;
        self.counters += 1;
        for (at, value) in &counter.points {
            let mut event = Message::new();
            event.uint(field::event::TYPE, COUNTER).uint(field::event::TRACK_UUID, uuid);
            event.double(field::event::DOUBLE_COUNTER_VALUE, *value);
            self.event(*at, &event, &Message::new())?;
        }
        Ok(())
    }

    fn request(&mut self, track: &Track) -> Result<(), ExportError> {
        let request = u64::from(track.request);
        let (uuid, parent) = (FIRST_REQUEST + request, self.parent(request)?);
        let mut descriptor = Message::new();
        descriptor.uint(field::descriptor::UUID, uuid).uint(field::descriptor::PARENT_UUID, parent);
        descriptor.text(field::descriptor::NAME, &track.name);
        descriptor.uint(field::descriptor::RANK, self.rank(request));
        self.descriptor(&descriptor)?;
        let mut open: Vec<&Slice> = Vec::new();
        for slice in &track.slices {
            while open.len() > slice.depth {
                open.pop().map_or(Ok(()), |done| self.end_slice(done, uuid))?;
            }
            self.begin_slice(slice, uuid)?;
            open.push(slice);
        }
        open.into_iter().rev().try_for_each(|done| self.end_slice(done, uuid))
    }

    fn finish(&mut self) -> Result<(), ExportError> {
        Ok(())
    }
}
