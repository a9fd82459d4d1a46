"""Why the installed package refuses a dataset with each of the manifests in a JSON list; null where it opens it.

manifests.py DATASET LIST
"""

import json
import pathlib
import sys

import postrun

dataset = pathlib.Path(sys.argv[1])
said = []
for manifest in json.loads(pathlib.Path(sys.argv[2]).read_bytes()):
    (dataset / "manifest.json").write_text(json.dumps(manifest))
    try:
        postrun.open(dataset)
        said.append(None)
    except postrun.DatasetError as error:
        said.append(str(error))
json.dump(said, sys.stdout)
