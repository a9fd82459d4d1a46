"""What the installed package says of a folder of several runs."""

import json
import sys

import postrun
from postrun._columns import COLUMNS

runs = postrun.open_all(sys.argv[1])
try:
    postrun.open(sys.argv[1])
    refused = ""
except postrun.DatasetError as error:
    refused = str(error)
first = next(iter(runs.values()))
assert postrun.open(first.path) == first
# Of the client alone: the tables that it does not hold are empty and have their columns.
assert first.samples.collect().height == 0
columns = {table: getattr(first, table).collect_schema().names() for table in COLUMNS}
json.dump({"labels": list(runs), "refused": refused, "columns": columns}, sys.stdout)
