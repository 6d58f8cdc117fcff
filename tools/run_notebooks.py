# SPDX-License-Identifier: Apache-2.0
"""Run the notebooks and store their outputs in them: `python tools/run_notebooks.py [NOTEBOOK ...]`."""

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]


def run(path: Path) -> None:
    """Execute a notebook in an empty folder; times of execution and pages of local servers are not stored."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":  # display_data are pages of a local server
            cell.outputs = [output for output in cell.outputs if output.output_type != "display_data"]
            for data in [output.data for output in cell.outputs if "data" in output]:
                if "text/html" in data:  # the text of a film is the path of a temporary file
                    data.pop("text/plain", None)
    notebook.metadata.pop("language_info", None)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ["PYTHONWARNINGS"] = "ignore"
    for name in sys.argv[1:] or sorted((ROOT / "notebooks").glob("*.ipynb")):
        print(name)
        run(Path(name))
