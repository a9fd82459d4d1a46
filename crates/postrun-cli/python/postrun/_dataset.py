"""Opens a dataset, and refuses what postrun itself refuses: one that is partial, damaged or newer than this package."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from postrun import _manifest
from postrun._columns import COLUMNS, REQUIRED

SCHEMA = "postrun.dataset/1"
"""Schema of the datasets that this package reads."""

_MANIFEST = "manifest.json"
_BLOCK_BYTES = 1 << 20


class DatasetError(Exception):
    """A folder is no dataset, or a damaged one, or one that a newer postrun wrote."""


@dataclass(frozen=True)
class Run:
    """One run. Its tables are lazy frames with every column of the schema: what the recording does not hold is null, and
    a table that it does not hold has no rows."""

    path: Path
    """The folder."""
    manifest: Mapping[str, Any]
    """What the run is, where it came from and what it lacks: ``manifest.json`` as it stands."""

    @property
    def label(self) -> str:
        """Name of the run."""
        return self.manifest["label"]

    @property
    def requests(self) -> pl.LazyFrame:
        """A row a request. ``request`` is dense from 0 and joins the other tables."""
        return self._table("requests")

    @property
    def chunks(self) -> pl.LazyFrame:
        """A row a token-bearing chunk, sorted by request and index; ``at_ns`` since the request was sent."""
        return self._table("chunks")

    @property
    def samples(self) -> pl.LazyFrame:
        """Series of the server and of devices over time, on the server's clock."""
        return self._table("samples")

    @property
    def events(self) -> pl.LazyFrame:
        """What happened to requests inside the server, on the server's clock."""
        return self._table("events")

    @property
    def reported(self) -> pl.LazyFrame:
        """The figures that the client computed of its own run."""
        return self._table("reported")

    @property
    def extras(self) -> pl.LazyFrame:
        """Numbers of requests that no column of ``requests`` holds: a row a request and ``name``."""
        return self._table("extras")

    def __repr__(self) -> str:
        return f"Run({self.label!r}, {str(self.path)!r})"

    def _table(self, name: str) -> pl.LazyFrame:
        columns = COLUMNS[name]
        if name not in self.manifest["tables"]:
            return pl.LazyFrame(schema=columns)
        frame = _scan(self.path / f"{name}.parquet")
        found = frame.collect_schema()
        missing = [pl.lit(None, dtype).alias(column) for column, dtype in columns.items() if column not in found]
        # Those of the schema in its order, then what a later version of it added.
        return frame.with_columns(missing).select(*columns, *(column for column in found if column not in columns))


def open(path: str | os.PathLike[str], *, check_hashes: bool = True) -> Run:
    """The run in the folder ``path``.

    Raises :class:`DatasetError` unless the folder holds exactly one whole run, whose tables have the size, the rows, the
    columns and the SHA-256 that its manifest names. For the hash every table is read once, because Parquet takes many a
    flipped bit for another value; ``check_hashes=False`` opens a large dataset at once, and trusts its bytes.
    """
    folder = Path(path)
    found = _folders(folder)
    if len(found) > 1:
        names = ", ".join(run.name for run in found)
        what = f"holds {len(found)} runs ({names}); open one of them, or all with postrun.open_all"
        raise DatasetError(f"{folder}: {what}")
    return _opened(found[0], check_hashes)


def open_all(path: str | os.PathLike[str], *, check_hashes: bool = True) -> dict[str, Run]:
    """Every run in the folder ``path`` by its label, in natural order (``c2`` before ``c16``): the folder itself, or
    its ``run=<label>`` folders. Raises :class:`DatasetError` as :func:`open` does, if any of them is not whole."""
    runs = [_opened(folder, check_hashes) for folder in _folders(Path(path))]
    by_label = {run.label: run for run in runs}
    if len(by_label) < len(runs):
        raise DatasetError(f"{path}: two runs have one label; open them one by one")
    return by_label


def _folders(folder: Path) -> list[Path]:
    """The folder itself, or the runs in it; never none."""
    if (folder / _MANIFEST).is_file() or not folder.is_dir():
        return [folder]
    # One without a manifest is kept, so that opening it says what is wrong.
    named = (run for run in folder.glob("run=*") if run.is_dir())
    runs = [run for run in named if (run / _MANIFEST).is_file() or (run / "requests.parquet").is_file()]
    return sorted(runs, key=_natural) or [folder]


def _natural(folder: Path) -> list[tuple[bool, int, str]]:
    parts = re.findall(r"[0-9]+|[^0-9]", folder.name)
    return [(False, int(part), "") if part[0] in "0123456789" else (True, 0, part) for part in parts]


def _opened(folder: Path, check_hashes: bool) -> Run:
    path = folder / _MANIFEST
    try:
        manifest = _manifest.parsed(path.read_bytes())
    except FileNotFoundError:
        what = "not a postrun dataset, or one whose ingest did not finish" if folder.is_dir() else "no such folder"
        raise DatasetError(f"{folder}: no {_MANIFEST} here: {what}") from None
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise DatasetError(f"{path}: manifest is damaged: {error}") from None
    _check_version(manifest, path)
    try:
        _manifest.check(manifest)
    except ValueError as error:
        raise DatasetError(f"{path}: manifest is damaged: {error}") from None
    tables = manifest["tables"]
    if "requests" not in tables:
        raise DatasetError(f"{path}: manifest is damaged: it names no requests table")
    for name in COLUMNS:
        if of := tables.get(name):
            _check_table(name, folder / f"{name}.parquet", of["bytes"], of["rows"], of["sha256"], check_hashes)
    return Run(folder, manifest)


def _check_version(manifest: Any, path: Path) -> None:
    found = manifest.get("schema") if isinstance(manifest, dict) else None
    name, _, supported = SCHEMA.rpartition("/")
    matched = re.fullmatch(re.escape(name) + "/([0-9]+)", found) if isinstance(found, str) else None
    if matched is None:
        raise DatasetError(f"{path}: manifest is damaged: schema is {found!r}, expected {SCHEMA!r}")
    if int(matched[1]) > int(supported):
        raise DatasetError(f"{path}: schema {found} is newer than this postrun reads ({SCHEMA}); use a newer postrun")


def _check_table(name: str, path: Path, size: int, rows: int, sha256: str, check_hashes: bool) -> None:
    def expect(what: str, expected: object, found: object) -> None:
        if expected != found:
            differs = f"{what} (expected {expected}, found {found}); ingest again"
            raise DatasetError(f"{path}: table differs from its manifest: {differs}")

    try:
        expect("bytes", size, path.stat().st_size)
        if check_hashes:
            expect("sha256", sha256, _sha256(path))
        frame = _scan(path)
        schema = frame.collect_schema()
        expect("rows", rows, frame.select(pl.len()).collect().item())
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DatasetError(f"{path}: {error}") from error
    for column, dtype in COLUMNS[name].items():
        if column in schema:
            expect("column", f"{column} of type {dtype}", f"{column} of type {schema[column]}")
        elif column in REQUIRED[name]:
            expect("column", column, "none")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _scan(path: Path) -> pl.LazyFrame:
    # A label may hold what would be a pattern, and `run=` is no column.
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)
