"""Executes a notebook from start to end: execute.py NOTEBOOK EXECUTED DATASETS

EXECUTED gets the notebook with its outputs and nothing of the machine, DATASETS the datasets that it worked with. Prints the
values of `figures` and `derived` as JSON.
"""

import json
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

REVEAL = """
import json as _json, shutil as _shutil
_shutil.copytree(work, {target!r}, dirs_exist_ok=True)
print(_json.dumps({{"figures": figures, "derived": globals().get("derived", {{}})}}))
"""


def main(path, executed, datasets):
    notebook = nbformat.read(path, as_version=4)
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
