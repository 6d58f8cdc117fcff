# SPDX-License-Identifier: Apache-2.0
"""What README and documentation show can be pasted: Python runs from the top of a page down, commands are known."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import NEEDS, PAGES, ROOT, blocks, commands, mentioned, run, words

from ada_tools import cli
from ada_tools.scenario import registry

WITH_PYTHON = [
    page for page in PAGES if page.name != "force_sensors.md" and any(one.is_run for one in blocks(page, "python"))
]  # test_force_torque_page.py runs the one that is left out
FIRST_PAGES = (ROOT / "README.md", ROOT / "docs/features.md")
# Commands that wait for a user or for a device; their own tests run them.
WAITING = {"view", "up", "record", "hw"}
UNSEEN = ["--no-open", "--port", "0", "--duration", "1"]  # a view that nobody looks at
HEADLESS = {"sim": ["--headless", "--duration", "1"], "demo": UNSEEN}
# All experiments take minutes, and some of them measure times; test/nightly/scenarios runs the others.
SHORTER = {
    ("reproduce", "all"): ["reproduce", "T3.1"],
    ("reproduce", "chapter6", "chapter7", "pa10"): ["reproduce", "R1"],
    ("reproduce", "S2"): ["reproduce", "T3.2"],
}
# What no machine that runs tests has. A new mark is a line here, so that their number does not grow unseen.
NOT_RUN = {
    "batches.md": "needs a graphics processor",
    "gpu.md": "needs a graphics processor and torch",
    "kondo_hardware.md": "needs the robot, opened as above",
    "launch.md": "needs ROS 2's launch",
    "motion_simulation.md": "needs a HEXA and a Net F/T sensor",
    "moveit.md": "needs ROS 2's launch and MoveIt",
    "your_robot.md": "needs the robot that runs, as above",  # test_your_robot_page.py runs it
}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder that looks like the checkout, where what is written stays out of it; measures are forgotten, too."""
    for path in ROOT.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    with registry.temporary():
        yield tmp_path


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_of_a_page_runs_from_top_to_bottom(page, checkout):
    run(page)


def test_what_is_not_run_says_what_it_needs():
    marked = [one for page in PAGES for one in blocks(page, "python") if not one.is_run and not one.packages]
    assert {one.page.name for one in marked} == set(NOT_RUN)
    assert len(marked) <= len(NOT_RUN) + 1  # launch.md has two
    for one in marked:
        assert one.code.startswith(f"{NEEDS}{NOT_RUN[one.page.name].removeprefix('needs ')}"), one.page.name


SENTENCES = [("a sentence", line) for line in sorted(mentioned())]  # often without their arguments


@pytest.mark.parametrize(("where", "line"), [*commands(), *SENTENCES], ids=lambda part: part[:60])
def test_a_command_of_a_page_is_one_that_there_is(where, line, capsys):
    given = words(line)
    try:
        _, rest = cli.parser(given[0]).parse_known_args(given)
    except SystemExit as end:
        said = capsys.readouterr().err
        is_short = where == "a sentence" and "the following arguments are required" in said
        assert end.code == 0 or is_short, f"{where}: {line}\n{said}"
    else:
        assert all(":=" in word for word in rest), f"{where}: {line}: {rest}"


def ada_commands():
    for page in FIRST_PAGES:
        for block in blocks(page, "console"):
            for line in block.code.splitlines():
                given = words(line.removeprefix("$ "))
                if re.match(r"\$ (\S*/)?ada ", line) and given[0] not in WAITING:
                    yield given


@pytest.mark.parametrize("words", list(ada_commands()), ids=" ".join)
def test_a_command_of_the_first_pages_runs(words, checkout):
    words = SHORTER.get(tuple(words), words)
    headless = UNSEEN if "--view" in words else [] if "--headless" in words else HEADLESS.get(words[0], [])
    command = [str(Path(sys.executable).parent / "ada"), *words, *headless]
    result = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, f"{command}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
