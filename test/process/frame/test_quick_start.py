# SPDX-License-Identifier: Apache-2.0
"""The commands of the README, and of the page on all that there is, run as shown, without a display."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import blocks, words

REPOSITORY = Path(__file__).parents[3]
PAGES = (REPOSITORY / "README.md", REPOSITORY / "docs/features.md")
BIN = Path(sys.executable).parent
# Commands that wait for a user or for a device; their own tests run them.
WAITING = {"view", "up", "record", "hw"}
UNSEEN = ["--no-open", "--port", "0", "--duration", "1"]  # a view that nobody looks at
HEADLESS = {"sim": ["--headless", "--duration", "1"], "demo": UNSEEN}
# All experiments take minutes, and some of them measure times; test/scenarios runs those that do not, one by one.
SHORTER = {
    ("reproduce", "all"): ["reproduce", "T3.1"],
    ("reproduce", "chapter6", "chapter7", "pa10"): ["reproduce", "R1"],
    ("reproduce", "S2"): ["reproduce", "T3.2"],
}


def ada_commands():
    """Arguments of every `ada ...` line."""
    for page in PAGES:
        for block in blocks(page, "console"):
            for line in block.code.splitlines():
                given = words(line.removeprefix("$ "))
                if re.match(r"\$ (\S*/)?ada ", line) and given[0] not in WAITING:
                    yield given


@pytest.fixture
def checkout(tmp_path):
    """A folder that looks like the checkout, so that what the commands write does not land in it."""
    for path in REPOSITORY.iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


def run(command, cwd):
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, f"{command}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"


@pytest.mark.parametrize("words", list(ada_commands()), ids=" ".join)
def test_a_command_runs(words, checkout):
    words = SHORTER.get(tuple(words), words)
    headless = UNSEEN if "--view" in words else [] if "--headless" in words else HEADLESS.get(words[0], [])
    run([str(BIN / "ada"), *words, *headless], cwd=checkout)


@pytest.mark.smoke
def test_the_simulation_of_the_first_page_starts_and_ends_by_itself_without_a_display(checkout):
    run([str(BIN / "ada"), "up", "pa10_sim", "--headless", "--duration", "3"], cwd=checkout)
