"""Why the installed package refuses each folder in a folder; null where it opened it."""

import json
import pathlib
import sys

import postrun


def why(folder: pathlib.Path) -> str | None:
    """What the error says."""
    try:
        postrun.open(folder)
    except postrun.DatasetError as error:
        return str(error)
    return None


folders = pathlib.Path(sys.argv[1]).iterdir()
json.dump({folder.name: why(folder) for folder in folders}, sys.stdout)
