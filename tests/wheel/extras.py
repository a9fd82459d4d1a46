"""Rows of the extras table, by the installed package."""

import json
import sys

import polars as pl

import postrun

run = postrun.open(sys.argv[1])
rows = run.extras.filter(pl.col("name").str.starts_with("http_")).select(pl.len()).collect().item()
assert run.extras.select(pl.len()).collect().item() == run.manifest["tables"]["extras"]["rows"]
json.dump(rows, sys.stdout)
