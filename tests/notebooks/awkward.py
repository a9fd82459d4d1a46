"""Makes the datasets in a folder awkward to query: awkward.py FOLDER

Two engines in one file of the server and one of them restarted, a scrape that lacks an engine and one long after the run, the same
series in a second file, a request without TTFT, and runs whose names look like one number.
"""

import sys
from pathlib import Path

import polars as pl

SECOND = 1_000_000_000
LONG_AFTER = 10_000
# Seconds, engine 0, engine 1.
USAGE = [(-1, 0.0, 0.5), (1, 0.25, 0.75), (2, 0.5, None), (LONG_AFTER, 0.0, 0.0)]
PREEMPTIONS = [(-1, 5.0, 0.0), (1, 9.0, 8.0), (2, 2.0, 8.0), (LONG_AFTER, 3.0, 10.0)]


def samples():
    rows = [
        (at_s * SECOND, series, f"engine={engine}", value, "metrics.prom")
        for series, scrapes in (("kv_cache_usage", USAGE), ("preemptions_total", PREEMPTIONS))
        for at_s, *values in scrapes
        for engine, value in enumerate(values)
        if value is not None
    ]
    rows += [(SECOND, "kv_cache_usage", None, 1.0, "server.log"), (SECOND, "preemptions_total", None, 99.0, "server.log")]
    return pl.DataFrame(rows, schema=["at_ns", "series", "labels", "value", "source"], orient="row")


def main(folder):
    run = Path(folder) / "kv-tight.postrun"
    requests = pl.read_parquet(run / "requests.parquet")
    unmeasured = pl.when(pl.col("request") != 0).then("ttft_ns").alias("ttft_ns")
    requests.with_columns(unmeasured).write_parquet(run / "requests.parquet")
    samples().write_parquet(run / "samples.parquet")
    runs = sorted((Path(folder) / "campaign").glob("run=*"))
    for path, name in zip(runs, ("01", "1"), strict=True):
        path.rename(path.with_name(f"run={name}"))


main(*sys.argv[1:])
