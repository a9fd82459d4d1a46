"""Datasets of postrun as Polars frames.

A dataset is what ``postrun ingest`` writes: one run, as Parquet tables with a manifest. :func:`open` gives its tables as
lazy frames, which read no column before it is asked for::

    import polars as pl
    import postrun

    run = postrun.open("run.postrun")
    ok = run.requests.filter(phase="measured", status="ok")
    slow = ok.select("request", ttft_ms=pl.col("ttft_ns") / 1e6).top_k(10, by="ttft_ms").collect()

Times are integer nanoseconds; what the recording does not hold is null. ``notebooks/DATASET.md`` of the repository lists
every column with its unit. The command ``postrun`` is installed with this package.
"""

from importlib.metadata import version as _version

from postrun._dataset import SCHEMA, DatasetError, Run, open, open_all

__version__ = _version("postrun")
__all__ = ["SCHEMA", "DatasetError", "Run", "open", "open_all"]
