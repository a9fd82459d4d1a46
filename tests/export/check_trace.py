"""Prints, as JSON, what is in a trace: slices by name, arrows, counter samples, tracks.

usage: check_trace.py protobuf|processor TRACE

protobuf:  parses Perfetto's format with the published messages of the `perfetto` package.
processor: loads any trace in Perfetto's trace processor; exits with 77 where that cannot be had.
"""

import collections
import json
import sys


def protobuf(path):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    trace = pb.Trace()
    with open(path, "rb") as f:
        trace.ParseFromString(f.read())
    names, arg_names, tracks, stacks = {}, {}, {}, collections.defaultdict(list)
    slices, counters, args = collections.Counter(), collections.Counter(), collections.Counter()
    flows = collections.defaultdict(list)
    last = {}
    event = pb.TrackEvent
    for position, packet in enumerate(trace.packet):
        assert packet.trusted_packet_sequence_id == 1
        assert bool(packet.sequence_flags & 1) == (position == 0), "the state is cleared once, at the start"
        for entry in packet.interned_data.event_names:
            assert names.setdefault(entry.iid, entry.name) == entry.name
        for entry in packet.interned_data.debug_annotation_names:
            assert arg_names.setdefault(entry.iid, entry.name) == entry.name
        if packet.HasField("track_descriptor"):
            d = packet.track_descriptor
            assert d.uuid not in tracks and (not d.parent_uuid or d.parent_uuid in tracks)
            tracks[d.uuid] = d
        if not packet.HasField("track_event"):
            continue
        e = packet.track_event
        assert e.track_uuid in tracks, "an event on a track that was not described"
        assert last.get(e.track_uuid, 0) <= packet.timestamp, "events of a track in time"
        last[e.track_uuid] = packet.timestamp
        if e.type == event.TYPE_COUNTER:
            counters[tracks[e.track_uuid].name] += 1
        elif e.type == event.TYPE_SLICE_BEGIN:
            stacks[e.track_uuid].append(names[e.name_iid])
            slices[names[e.name_iid]] += 1
            for a in e.debug_annotations:
                args[arg_names[a.name_iid]] += 1
            for f in e.flow_ids:
                flows[f].append(("out", packet.timestamp, e.track_uuid))
        elif e.type == event.TYPE_SLICE_END:
            stacks[e.track_uuid].pop()
            for f in e.terminating_flow_ids:
                flows[f].append(("in", packet.timestamp, e.track_uuid))
        else:
            raise AssertionError(f"event of type {e.type}")
    assert not any(stacks.values()), "slices that do not end"
    for ends in flows.values():
        out, into = sorted(ends, key=lambda end: end[0] == "in")
        assert (out[0], into[0]) == ("out", "in"), ends
        assert out[1] < into[1] and out[2] != into[2], "arrows lead forward, to another request"
    requests = [t for t in tracks.values() if t.parent_uuid == 1]
    return {
        "slices": dict(slices),
        "arrows": len(flows),
        "counters": dict(counters),
        "tracks": len(requests),
        "args": dict(args),
    }


def processor(path):
    from perfetto.trace_processor import TraceProcessor

    try:
        tp = TraceProcessor(trace=path)
    except Exception as e:  # whatever the package raises where it cannot download its binary
        print(f"the trace processor cannot be had: {e}", file=sys.stderr)
        sys.exit(77)

    def pairs(sql):
        return {row.k: row.n for row in tp.query(sql)}

    bad = pairs("select name as k, value as n from stats where severity in ('error', 'data_loss') and value > 0")
    assert not bad, bad
    return {
        "slices": pairs("select name as k, count(*) as n from slice group by name"),
        "arrows": pairs("select 'n' as k, count(*) as n from flow")["n"],
        "counters": pairs(
            "select t.name as k, count(*) as n from counter c join counter_track t on c.track_id = t.id group by 1"
        ),
        "tracks": pairs("select 'n' as k, count(distinct track_id) as n from slice")["n"],
    }


if __name__ == "__main__":
    how, path = sys.argv[1:]
    print(json.dumps({"protobuf": protobuf, "processor": processor}[how](path), indent=1, sort_keys=True))
