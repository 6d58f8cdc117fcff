# SPDX-License-Identifier: Apache-2.0
"""The notebooks run from top to bottom, show what they end a cell with, and are kept with their outputs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST = 1_000_000  # bytes

# What a kernel does with a cell: its last expression is shown, as HTML where it has some.
RUNNER = """
import ast, json, sys
names = {"__name__": "__main__"}
for number, cell in enumerate(json.load(open(sys.argv[1], encoding="utf-8"))["cells"]):
    if cell["cell_type"] != "code":
        continue
    body = ast.parse("".join(cell["source"]), f"cell {number}")
    last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
    exec(compile(body, f"cell {number}", "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
        html = getattr(value, "_repr_html_", lambda: None)()
        if html is not None:
            print("shown:", len(html))
"""


def environment():
    """Without a screen, and with this checkout's packages."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**{k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}, "PYTHONPATH": path}


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_the_outputs_of_one_run(path):
    assert path.stat().st_size < LARGEST
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert outputs and not any(output["output_type"] == "error" for output in outputs)
    assert any("assert" in "".join(cell["source"]) for cell in cells(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("viser")
    command = [sys.executable, "-c", RUNNER, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=tmp_path, env=environment())
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())  # it leaves nothing behind
