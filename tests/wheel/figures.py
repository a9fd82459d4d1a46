"""Figures of a dataset by the installed package, by their path in the JSON report, for the test that compares them."""

import json
import sys

import polars as pl

import postrun

run = postrun.open(sys.argv[1])
ok = run.requests.filter(pl.col("status") == "ok")
gaps = (
    run.chunks.join(ok.select("request"), on="request", how="semi")
    .select(pl.col("at_ns").diff().over("request").alias("itl_ns"))
    .drop_nulls()
)
latencies = {
    "ttft_ms": ok.select(pl.col("ttft_ns") / 1e6),
    "e2e_ms": ok.select(pl.col("e2e_ns") / 1e6),
    "itl_ms": gaps.select(pl.col("itl_ns") / 1e6),
}
figures = {
    "requests/total": run.requests.select(pl.len()).collect().item(),
    "requests/ok": ok.select(pl.len()).collect().item(),
}
for metric, frame in latencies.items():
    values = frame.collect().to_series()
    figures[f"metrics/{metric}/mean"] = values.mean()
    figures[f"metrics/{metric}/min"] = values.min()
    figures[f"metrics/{metric}/max"] = values.max()
    for percentile in (50, 90, 95, 99):
        figures[f"metrics/{metric}/p{percentile}"] = values.quantile(percentile / 100, "linear")

assert run.label == run.manifest["label"]
for table in ("requests", "chunks", "samples", "events", "reported"):
    frame = getattr(run, table)
    assert isinstance(frame, pl.LazyFrame), table
    rows = frame.select(pl.len()).collect().item()
    assert rows == run.manifest["tables"][table]["rows"] and rows > 0, table
json.dump({"version": postrun.__version__, "figures": figures}, sys.stdout)
