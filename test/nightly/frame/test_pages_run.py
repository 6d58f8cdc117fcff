# SPDX-License-Identifier: Apache-2.0
"""What README and documentation show can be pasted: Python runs from the top of a page down, commands are known."""

from __future__ import annotations

import pytest
from pages import NEEDS, PAGES, ROOT, blocks, commands, mentioned, run, words

from ada_tools import cli
from ada_tools.scenario import registry

WITH_PYTHON = [
    page for page in PAGES if page.name != "force_sensors.md" and any(one.is_run for one in blocks(page, "python"))
]  # test_force_torque_page.py runs the one that is left out
# What no machine that runs tests has. A new mark is a line here, so that their number does not grow unseen.
NOT_RUN = {
    "batches.md": "needs a graphics processor",
    "bringup_khr1.md": "needs the board on its cable",
    "gpu.md": "needs a graphics processor and torch",
    "hardware_safety.md": "needs a flight record",
    "kondo_hardware.md": "needs the robot, opened as above",
    "launch.md": "needs ROS 2's launch",
    "moveit.md": "needs ROS 2's launch and MoveIt",
}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder that looks like the checkout, where what is written stays out of it; measures are forgotten, too."""
    for path in ROOT.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    registry.measures()  # finds all that there are
    for name in ("_measures", "_experiments"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_of_a_page_runs_from_top_to_bottom(page, checkout):
    run(page)


def test_what_is_not_run_says_what_it_needs():
    marked = [one for page in PAGES for one in blocks(page, "python") if not one.is_run and not one.packages]
    assert {one.page.name for one in marked} == set(NOT_RUN)
    assert len(marked) <= len(NOT_RUN) + 1  # launch.md has two
    for one in marked:
        assert one.code.startswith(f"{NEEDS}{NOT_RUN[one.page.name].removeprefix('needs ')}"), one.page.name


@pytest.mark.parametrize(("where", "line"), list(commands()), ids=lambda part: part[:60])
def test_a_command_of_a_page_is_one_that_there_is(where, line, capsys):
    given = words(line)
    try:
        _, rest = cli.parser(given[0]).parse_known_args(given)
    except SystemExit as end:
        assert end.code == 0, f"{where}: {line}\n{capsys.readouterr().err}"
    else:
        assert all(":=" in word for word in rest), f"{where}: {line}: {rest}"


@pytest.mark.parametrize("line", sorted(mentioned()))
def test_a_command_that_a_sentence_names_is_there(line, capsys):
    given = words(line)
    try:
        _, rest = cli.parser(given[0]).parse_known_args(given)
    except SystemExit as end:
        said = capsys.readouterr().err
        assert end.code == 0 or "the following arguments are required" in said, said
    else:
        assert all(":=" in word for word in rest), rest
