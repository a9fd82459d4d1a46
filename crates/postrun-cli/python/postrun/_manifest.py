"""What a manifest must hold: the keys and types without which postrun refuses it. Keys unknown to this package are passed over."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from postrun._columns import ISSUE_CODES

Check = Callable[[Any, str], None]


def parsed(content: bytes) -> Any:
    """The JSON value. Raises ValueError where JSON is broken, is not UTF-8, or has one key twice in an object."""
    try:
        return json.loads(content.decode("utf-8"), parse_constant=_no_number, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def check(manifest: Any) -> None:
    """Raises ValueError, with the place, unless ``manifest`` has every key that postrun needs, each of its type."""
    _MANIFEST(manifest, "")


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _wrong(place: str, expected: str, found: Any) -> ValueError:
    return ValueError(f"{place or 'it'} should be {expected}, and is {json.dumps(found)[:40]}")


def _text(value: Any, place: str) -> None:
    if not isinstance(value, str):
        raise _wrong(place, "text", value)


def _boolean(value: Any, place: str) -> None:
    if not isinstance(value, bool):
        raise _wrong(place, "true or false", value)


def _number(value: Any, place: str) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 1023
    if not whole and not (isinstance(value, float) and math.isfinite(value)):
        raise _wrong(place, "a number", value)


def _whole(least: int, most: int) -> Check:
    def check_whole(value: Any, place: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise _wrong(place, f"a whole number from {least} to {most}", value)

    return check_whole


_I64 = _whole(-(1 << 63), (1 << 63) - 1)
_U64 = _whole(0, (1 << 64) - 1)
_U32 = _whole(0, (1 << 32) - 1)


def _one_of(*words: str) -> Check:
    def check_word(value: Any, place: str) -> None:
        if not isinstance(value, str) or value not in words:
            raise _wrong(place, "one of " + ", ".join(words), value)

    return check_word


def _or_null(inner: Check) -> Check:
    return lambda value, place: None if value is None else inner(value, place)


def _list(inner: Check) -> Check:
    def check_list(value: Any, place: str) -> None:
        if not isinstance(value, list):
            raise _wrong(place, "a list", value)
        for position, item in enumerate(value):
            inner(item, f"{place}[{position}]")

    return check_list


def _by_name(inner: Check) -> Check:
    def check_by_name(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(place, "an object", value)
        for name, item in value.items():
            inner(item, f"{place}.{name}")

    return check_by_name


def _object(required: dict[str, Check], optional: dict[str, Check]) -> Check:
    """An object with every key of ``required``; those of ``optional`` may be absent."""

    def check_object(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(place, "an object", value)
        for key, inner in (required | optional).items():
            at = f"{place}.{key}" if place else key
            if key in value:
                inner(value[key], at)
            elif key in required:
                raise ValueError(f"{at} is missing")

    return check_object


_CLOCK_KIND = _one_of("monotonic", "wall", "none")
_TOKEN_SOURCE = _one_of("server", "client_tokenizer", "server_else_client", "requested", "unknown")
_CLOCK = _object({"kind": _CLOCK_KIND}, {"origin_unix_ns": _or_null(_I64), "origin_source_ns": _or_null(_I64)})
_SERVER_CLOCK = _object(
    {"kind": _CLOCK_KIND, "how": _text},
    {
        "origin_unix_ns": _or_null(_I64),
        "offset_ns": _or_null(_I64),
        "offset_uncertainty_ns": _or_null(_I64),
        "drift_ppm": _or_null(_number),
    },
)
_LOAD = _object(
    {"unbounded": _boolean, "other": _by_name(_text)},
    {
        "request_rate": _or_null(_number),
        "burstiness": _or_null(_number),
        "max_concurrency": _or_null(_U32),
        "num_prompts": _or_null(_U64),
        "dataset": _or_null(_text),
        "backend": _or_null(_text),
        "date": _or_null(_text),
        "date_is_start": _boolean,
    },
)
_COUNTS = ("completed", "failed", "prompt_tokens", "output_tokens")
_SOURCE = _object(
    {
        "name": _text,
        "bytes": _U64,
        "sha256": _text,
        "format": _text,
        "run_in_file": _U32,
        "records": _U64,
        "skipped": _U64,
    },
    {"aligned": _or_null(_boolean)},
)
_ISSUE = _object(
    {
        "code": _one_of(*sorted(ISSUE_CODES)),
        "severity": _one_of("info", "warning", "error"),
        "count": _U64,
        "example": _text,
        "at": _text,
    },
    {},
)
_MANIFEST = _object(
    {
        "schema": _text,
        "label": _text,
        "tool": _object({"name": _text, "how_known": _text}, {"version": _or_null(_text)}),
        "load": _LOAD,
        "counted": _object({}, {count: _or_null(_U64) for count in _COUNTS}),
        "clocks": _object({"client": _CLOCK}, {"server": _or_null(_SERVER_CLOCK)}),
        "output_tokens_source": _TOKEN_SOURCE,
        "prompt_tokens_source": _TOKEN_SOURCE,
        "sources": _list(_SOURCE),
        "issues": _list(_ISSUE),
        "tables": _by_name(_object({"rows": _U64, "bytes": _U64, "sha256": _text}, {})),
        "not_recorded": _list(_text),
    },
    {
        "model": _or_null(_text),
        "server": _by_name(_text),
        "duration_ns": _or_null(_I64),
        "duration_from_unix_ns": _or_null(_I64),
    },
)
