# SPDX-License-Identifier: Apache-2.0
"""The simulation of the README's first page, without a display; its other commands: test/nightly/frame."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
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
