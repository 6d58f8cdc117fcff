# SPDX-License-Identifier: Apache-2.0
"""Every example runs by itself, without a screen, and is in the table."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
ARGUMENTS = {"long_chain.py": ["500"]}  # the full length takes a minute


def run(name: str, **environment: str) -> subprocess.CompletedProcess[str]:
    headless = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *ARGUMENTS.get(name, [])],
        env={**headless, "PYTHONPATH": path, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_runs(name: str) -> None:
    done = run(name)
    if name == "export_c.py" and not any(map(shutil.which, ("cc", "gcc", "clang"))):
        assert "no C compiler" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert "nan" not in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_the_table_of_the_examples_names_it(name: str) -> None:
    assert f"[{name}]({name})" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


def test_the_export_without_a_compiler_says_so(tmp_path: Path) -> None:
    done = run("export_c.py", PATH=str(tmp_path))
    assert done.returncode == 1
    assert "There is no C compiler" in done.stderr
    assert "Traceback" not in done.stderr
