# SPDX-License-Identifier: Apache-2.0
"""The wheel by itself, and the simulation of the README's first page; its other commands: test/nightly/frame."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from installing import build_wheel, copy_of, new_environment, pip, run
from waiting import LIMIT, ended


@pytest.mark.smoke
def test_the_simulation_of_the_first_page_starts_and_ends_by_itself_without_a_display(tmp_path):
    command = [str(Path(sys.executable).parent / "ada"), "up", "pa10_sim", "--headless", "--duration", "3"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    output, errors = ended(process, 5 * LIMIT)
    assert process.returncode == 0, output + errors


@pytest.mark.smoke
def test_the_wheel_alone_lists_its_robots(tmp_path):
    python = new_environment(tmp_path)
    pip(python, build_wheel(copy_of(tmp_path / "source")))
    assert "pa10" in run(python.parent / "ada", "list", cwd=tmp_path)
    found = run(python, "-c", "import ada_dynamics; print(ada_dynamics.__file__)", cwd=tmp_path)
    assert found.startswith(str(tmp_path / "venv"))
