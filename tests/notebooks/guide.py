"""Runs every query of the dataset guide in a folder that has the datasets it names: guide.py GUIDE

Prints, as JSON, a list for each heading: what each block gave, as `{"engine", "columns", "rows"}`.
"""

import ast
import json
import re
import sys
from pathlib import Path

import datafusion
import duckdb
import polars


def last_value(code, names):
    """Runs the code; the value of the expression that it ends with."""
    tree = ast.parse(code)
    last = ast.Expression(tree.body.pop().value)
    exec(compile(tree, "block", "exec"), names)
    return eval(compile(last, "block", "eval"), names)


def main(guide):
    found, names = {}, {}
    for heading, section in re.findall(r"(?ms)^### (.*?)$\n(.*?)(?=^##|\Z)", Path(guide).read_text()):
        for language, code in re.findall(r"(?ms)^```(.*?)$\n(.*?)^```$", section):
            frames = {}
            if language == "python":
                value = last_value(code, names)
                own = isinstance(value, polars.DataFrame)
                frames["Polars" if own else "DataFusion"] = value if own else value.to_polars()
            if language in ("sql", "sql duckdb"):
                frames["DuckDB"] = duckdb.sql(code).pl()
            if language in ("sql", "sql datafusion"):
                frames["DataFusion"] = datafusion.SessionContext().enable_url_table().sql(code).to_polars()
            if not frames:
                sys.exit(f"{heading}: nothing runs a block of {language!r}")
            for engine, frame in frames.items():
                result = {"engine": engine, "columns": frame.columns, "rows": frame.rows()}
                found.setdefault(heading, []).append(result)
    print(json.dumps(found, default=float))


main(*sys.argv[1:])
