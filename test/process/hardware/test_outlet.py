# SPDX-License-Identifier: Apache-2.0
"""Nobody reads what a process says: real processes, real pipes that are full."""

import os
import select
import subprocess
import sys

from robot_world import assert_ended_along_a_ramp, violations
from waiting import until

from ada_robot.outlet import Outlet
from ada_robot.safety.flight_recorder import sibling_environment

# some 600 lines fill a pipe, the queue and the pipe in front of it: the cycle would be blocked 400 lines before the end
PROGRAM = """
import sys
from robot_world import ARM, PATIENT
from waiting import until
from ada_robot.contract import Mode
from ada_hardware.robot import Robot
from ada_robot.safety.settings import SafetySettings
from ada_robot.safety.phases import Phase
trace, flights = sys.argv[1:]
sys.stderr = sys.stdout  # where the words of this program itself, an error's, are read
safety = SafetySettings(record_folder=flights, hold_without_commands=True, host_timeout=30.0, record_seconds=1.0)
with Robot(ARM, {"trace": trace, "says": "x" * 2000, **PATIENT}, safety) as robot:
    robot.wait_feedback(20.0)
    robot.activate()
    for _ in range(1000):
        robot.command(Mode.VELOCITY, [0.5, -0.5, 0.0])
        robot.wait_feedback(10.0)
    robot.stop("a person fell", timeout=10.0)
    until(lambda: robot.phase is Phase.STOPPED, "the stop")
    print(robot.reason, flush=True)
    sys.stdin.read()
"""

SPEAKER = """
import os, sys, time
from ada_robot.outlet import Outlet
with Outlet(room=10_000):
    began = time.monotonic()
    for i in range(5000):
        os.write(2, b"line %04d, which is of fifty characters in all......\\n" % i)
        time.sleep(1e-4 if i % 50 else 2e-3)
    print(time.monotonic() - began, flush=True)
    sys.stdin.read()
    os.write(2, b"last words\\n")
"""


def started(program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=sibling_environment(),
        text=True,
    )


def test_a_stop_is_answered_while_nobody_reads_what_the_cycle_says(tmp_path):
    trace = tmp_path / "trace.jsonl"
    process = started(PROGRAM, trace, tmp_path / "flights")
    said = process.stdout.readline()
    _, log = process.communicate(timeout=60.0)
    assert process.returncode == 0, log[-2000:]
    assert said == "stop: a person fell\n"
    assert_ended_along_a_ramp(trace)
    assert not violations(trace)
    kept = sum(line.endswith("x" * 2000) for line in log.splitlines())
    missing = sum(int(line[1:].split()[0]) for line in log.splitlines() if line.endswith("nobody read what was said]"))
    assert missing > 100, "the pipe was full"
    assert kept + missing >= 1000


def test_what_there_was_no_room_for_is_counted_where_it_is_missing():
    process = started(SPEAKER)
    process.stdout.readline()
    _, log = process.communicate(timeout=60.0)
    lines = log.splitlines()
    assert process.returncode == 0 and lines[-1] == "last words"
    (gap,) = (i for i, line in enumerate(lines) if line.startswith("["))
    numbers = [int(line[5:9]) for line in lines[:gap]]
    assert numbers == list(range(gap)), "up to there, nothing is missing"
    assert lines[gap] == f"[{5000 - gap} lines are missing here: nobody read what was said]"


def test_the_count_of_what_is_missing_begins_a_line_of_its_own():
    outlet = Outlet()
    for kept, start in ((b"a line\n", b""), (b"another\nhalf of", b"\n"), (b"the rest\n", b"")):
        outlet._keep(kept)
        outlet.dropped = 3
        assert outlet._notice() == start + b"[3 lines are missing here: nobody read what was said]\n"
        assert outlet._notice() == b""


def test_each_line_that_loses_something_is_counted_once():
    outlet, total = Outlet(), 0
    for data, is_kept, count in (
        (b"whole\nhalf of ", True, 0),
        (b"a line\nthe next\nand ", False, 3),  # the rest of one, one, the beginning of one
        (b"some more of it ", False, 3),
        (b"and its end\nwhole\n", True, 3),
        (b"gone\n", False, 4),
        (b"gone in ", False, 5),
        (b"parts\n", False, 5),
        (b"without an end", True, 5),
        (b" but here\n", False, 6),
    ):
        reported = outlet.dropped if is_kept else 0
        (outlet._keep if is_kept else outlet._drop)(data)
        total += reported
        assert total + outlet.dropped == count, data


def test_a_process_whose_words_nobody_takes_ends_all_the_same():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    while select.select([], [writing], [], 0.0)[1]:
        os.write(writing, b"." * 4096)
    os.set_blocking(writing, True)
    program = "import os\nfrom ada_robot.outlet import Outlet\nwith Outlet():\n    os.write(2, b'unheard')"
    process = subprocess.Popen([sys.executable, "-c", program], stderr=writing, env=sibling_environment())
    until(lambda: process.poll() is not None, "the end of the process")
    os.close(reading)
    os.close(writing)
    assert process.returncode == 0
