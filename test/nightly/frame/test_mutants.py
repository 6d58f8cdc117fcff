# SPDX-License-Identifier: Apache-2.0
"""`make mutants` on a toy: what is seen, what survives, what hangs; nothing is judged twice and no file is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytest.importorskip("cosmic_ray")
pytest.importorskip("coverage")

from trials.mutants import __main__ as program

ROOT = Path(__file__).parents[3]

TOY = """
def doubled(x):
    return 2 * x

def limited(x):
    return x if x < 100 else 100

def counted(n):
    i = 0
    while i != n:
        i = i + 1
    return i

def never(x):
    return x - 1
"""

TESTS = """
import toy

def test_twice():
    assert toy.doubled(3) == 6

def test_below():
    assert toy.limited(5) == 5

def test_steps():
    assert toy.counted(3) == 3
"""

RUN = """
import json, sys
from pathlib import Path
from trials.mutants.campaign import Campaign, Drawn
from trials.mutants.reach import digest
from trials.mutants.rooms import Room
from trials.mutants.sites import Site, mutated

CHANGES = (3, "NumberReplacer"), (6, "ReplaceComparisonOperator_Lt_LtE"), (11, "ReplaceBinaryOperator_Add_Sub"), \
    (15, "ReplaceBinaryOperator_Sub_Add")

def run(count):
    campaign = Campaign("toy", Room(["toy.py"], ["test_toy.py"], Path.cwd()), Path("kept"), 1, 2, 60.0)
    campaign.patience, told, text = 1.0, [], Path("toy.py").read_text()
    drawn = [
        Drawn(Site("toy.py", (line, 0), (line, line), operator, 0, ""), text, mutated(text, operator, 0), digest(text))
        for line, operator in CHANGES[:count]
    ]
    campaign.run(drawn, told.append)
    return {str(one["line"]): one["verdict"] for one in told}

sys.path.insert(0, "")
def state():
    return Path("toy.py").read_text(), Path("toy.py").stat().st_mtime_ns, list(Path().glob("__pycache__/toy.*"))

before = state()
rounds = [run(3), run(4), run(4)]
unreached = Campaign("toy", Room(["toy.py"], ["test_toy.py"], Path.cwd()), Path("kept"), 1, 2, 60.0).unreached()
touched = state() != before
Path("test_toy.py").write_text(Path("test_toy.py").read_text() + "    assert type(toy.limited(100.0)) is int")
rounds.append(run(3))
print(json.dumps({"rounds": rounds, "touched": touched, "unreached": unreached}))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What was judged in each of four rounds, and whether the file was written."""
    place = tmp_path_factory.mktemp("toy")
    for name, text in {"toy.py": TOY, "test_toy.py": TESTS, "run.py": RUN}.items():
        (place / name).write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=place, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_changes_are_judged_once_and_survivors_meet_new_tests(told):
    assert told["rounds"][0] == {"3": "killed", "6": "survived", "11": "timeout"}
    assert told["rounds"][1:3] == [{"15": "survived"}, {}]
    assert told["rounds"][3] == {"6": "killed", "11": "timeout"}
    assert told["unreached"] == [["toy.py", 15]]
    assert not told["touched"]


@pytest.mark.parametrize(
    "one", yaml.safe_load(program.REVIEWED.read_text(encoding="utf-8")), ids=lambda one: one["now"]
)
def test_changes_that_change_nothing_have_their_line_and_a_reason(one):
    text = " ".join((ROOT / one["file"]).read_text(encoding="utf-8").split())
    assert " ".join(one["was"].split()) in text
    assert one["now"] != one["was"]
    assert len(one["reason"].split()) > 4
