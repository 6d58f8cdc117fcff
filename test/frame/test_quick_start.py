# SPDX-License-Identifier: Apache-2.0
"""What the README and the examples show runs as shown, without a display."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
README = REPOSITORY / "README.md"
BIN = Path(sys.executable).parent
# Commands that wait for a user or for a device; their own tests run them.
WAITING = {"view", "up", "record", "hw"}
HEADLESS = {"sim": ["--headless", "--duration", "1"]}
UNSEEN = ["--no-open", "--port", "0", "--duration", "1"]  # a view that nobody looks at
# All experiments take minutes, and some of them measure times; test/scenarios runs those that do not, one by one.
SHORTER = {
    ("reproduce", "all"): ["reproduce", "T3.1"],
    ("reproduce", "chapter6", "chapter7", "pa10"): ["reproduce", "R1"],
    ("reproduce", "S2"): ["reproduce", "T3.2"],
}


def fenced(*languages):
    """Contents of the README's blocks in one of these languages."""
    text = README.read_text(encoding="utf-8") if README.exists() else ""
    return re.findall(rf"(?ms)^```(?:{'|'.join(languages)})\n(.*?)^```", text)


def ada_commands():
    """Arguments of every `ada ...` line, and of `make sim`, which is `ada sim pa10`."""
    for block in fenced("sh", "bash", "console"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            words = words[1:] if words[:1] == ["$"] else words
            if words[:1] and Path(words[0]).name == "ada" and words[1:2] and words[1] not in WAITING:
                yield words[1:]


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
def test_a_command_of_the_readme_runs(words, checkout):
    words = SHORTER.get(tuple(words), words)
    headless = UNSEEN if "--view" in words else [] if "--headless" in words else HEADLESS.get(words[0], [])
    run([str(BIN / "ada"), *words, *headless], cwd=checkout)
