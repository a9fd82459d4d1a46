"""What the installed package says of a folder of several runs."""

import json
import sys

import postrun

runs = postrun.open_all(sys.argv[1])
try:
    postrun.open(sys.argv[1])
    refused = ""
except postrun.DatasetError as error:
    refused = str(error)
first = next(iter(runs.values()))
assert postrun.open(first.path) == first
# Of the client alone: the table is empty and has its columns.
samples = first.samples.collect()
assert samples.height == 0
json.dump({"labels": list(runs), "refused": refused, "columns": samples.columns}, sys.stdout)
