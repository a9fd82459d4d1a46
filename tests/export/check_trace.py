"""Prints, as JSON, what is in a trace: slices by name, arrows, counter samples, tracks.

usage: check_trace.py TRACE

Parses Perfetto's format with the published messages of the `perfetto` package.
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
    return {
        "slices": dict(slices),
        "arrows": len(flows),
        "counters": dict(counters),
        "tracks": sum(t.name.startswith("request ") for t in tracks.values()),
        "args": dict(args),
    }


if __name__ == "__main__":
    print(json.dumps(protobuf(sys.argv[1]), indent=1, sort_keys=True))
