"""Executes a notebook from start to end: execute.py NOTEBOOK EXECUTED DATASETS [INPUT]

EXECUTED gets the notebook with its outputs and nothing of the machine, DATASETS the datasets that it worked with. INPUT takes the
place of the one recording that the notebook names. Prints the values of `figures` and `derived` as JSON.
"""

import json
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

RECORDING = '"../fixtures/server_side/kv_tight/input"'
REVEAL = """
import json as _json, shutil as _shutil
_shutil.copytree(work, {target!r}, dirs_exist_ok=True)
print(_json.dumps({{"figures": figures, "derived": globals().get("derived", {{}})}}))
"""


def main(path, executed, datasets, recording=None):
    notebook = nbformat.read(path, as_version=4)
    if recording is not None:
        first = next(cell for cell in notebook.cells if cell.cell_type == "code")
        assert RECORDING in first.source
        first.source = first.source.replace(RECORDING, repr(recording))
    notebook.cells.append(nbformat.v4.new_code_cell(REVEAL.format(target=datasets)))
    place = {"metadata": {"path": str(Path(path).parent)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False, resources=place).execute()
    revealed = notebook.cells.pop()["outputs"][0]["text"]
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        cell.metadata.clear()
        for output in cell.get("outputs", []):
            output.get("metadata", {}).clear()
    nbformat.write(notebook, executed)
    print(json.dumps(json.loads(revealed)))


main(*sys.argv[1:])
