# SPDX-License-Identifier: Apache-2.0
"""File descriptors: output that nobody reads, on real pipes that are full, and waiting for few and for many."""

import contextlib
import fcntl
import os
import resource
import select
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from robot_world import assert_ended_along_a_ramp, violations
from waiting import LIMIT, ended, until

from ada_hardware.transport.wires import is_readable, is_writable, readable
from ada_robot.processes import NonBlockingOutput
from ada_robot.safety.flight_recorder import sibling_environment

# some 600 lines fill a pipe, the queue and the pipe in front of it: the cycle would be blocked 400 lines before the end
PROGRAM = """
import sys
from pathlib import Path
from robot_world import ARM, PATIENT, active, patient
from waiting import LIMIT, until
from ada_robot.contract import Mode
from ada_hardware.robot import Robot
from ada_robot.safety.phases import Phase
trace, folder = sys.argv[1:]
sys.stderr = sys.stdout  # where the words of this program itself, an error's, are read
settings = {"trace": trace, "says": "x" * 2000, **PATIENT}
with Robot(ARM, settings, patient(Path(folder), record_seconds=1.0)) as robot:
    active(robot)
    for _ in range(1000):
        robot.command(Mode.VELOCITY, [0.5, -0.5, 0.0])
        robot.wait_feedback(LIMIT)
    robot.stop("a person fell", timeout=LIMIT)
    until(lambda: robot.phase is Phase.STOPPED, "the stop")
    print(robot.reason, flush=True)
    sys.stdin.read()
"""


def test_a_stop_is_answered_while_nobody_reads_the_output_of_the_cycle(tmp_path):
    trace = tmp_path / "trace.jsonl"
    command = [sys.executable, "-c", PROGRAM, str(trace), str(tmp_path)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(command, **pipes, env=sibling_environment(), text=True)
    said = process.stdout.readline()
    _, log = ended(process)
    assert process.returncode == 0, log[-2000:]
    assert said == "stop: a person fell\n"
    assert_ended_along_a_ramp(trace)
    assert not violations(trace)
    kept = sum(line.endswith("x" * 2000) for line in log.splitlines())
    missing = sum(
        int(line[1:].split()[0]) for line in log.splitlines() if line.endswith("the reader of stderr was too slow]")
    )
    assert missing > 100, "the pipe was full"
    assert kept + missing >= 1000


def everything(reading, is_last):
    data = b""
    while not is_last(data):
        data += os.read(reading, 4096)
    return data.decode().splitlines()


@pytest.mark.parametrize("seed", range(4))
def test_each_line_is_passed_on_whole_or_counted_where_it_is_missing(seed):
    random = Random(seed)
    lines = [b"%05d" % i + b"." * random.randrange(100) for i in range(4000)]
    data = b"\n".join(lines) + b"\n"
    reading, writing = os.pipe()
    descriptor = os.dup(writing)
    with NonBlockingOutput(descriptor, room=20_000) as output:
        while data:  # nobody reads: of 200 kB there is room for the pipe's 64 kB and these 20
            size = random.randrange(1, 4000)
            with contextlib.suppress(BlockingIOError):  # its thread is behind
                data = data[os.write(descriptor, data[:size]) :]
        with ThreadPoolExecutor(1) as pool:
            reader = pool.submit(everything, reading, lambda read: read.endswith(b"last words\n"))
            until(lambda: not output.dropped, "room")
            os.write(descriptor, b"last words\n")
            *passed, last = reader.result(LIMIT)
    assert last == "last words"
    notices = [i for i, line in enumerate(passed) if line.startswith("[")]
    missing = sum(int(passed[i][1:].split()[0]) for i in notices)
    known = {line.decode() for line in lines}
    whole = [line for line in passed if line in known]
    surplus = len(whole) + missing - len(lines)
    assert 0 <= surplus <= len(notices) and missing > 500  # a line that only lost its end is shown and counted
    first = notices[0]
    assert whole[: first - 1] == [line.decode() for line in lines[: first - 1]], "nothing is missing before"
    for one in (reading, writing, descriptor):
        os.close(one)


def test_a_process_whose_words_nobody_takes_ends_all_the_same():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    while select.select([], [writing], [], 0.0)[1]:
        os.write(writing, b"." * 4096)
    os.set_blocking(writing, True)
    imported = "import os\nfrom ada_robot.processes import NonBlockingOutput\n"
    program = imported + "with NonBlockingOutput():\n    os.write(2, b'unheard')"
    process = subprocess.Popen([sys.executable, "-c", program], stderr=writing, env=sibling_environment())
    try:
        assert process.wait(LIMIT) == 0
    finally:
        process.kill()
    os.close(reading)
    os.close(writing)


LEAST = 0.0199  # [s] of 0.02 s: the two clocks, of the wait and of the test, may tick apart
FEW, MANY = 0, 1100  # the least descriptor: `select` alone ends at 1024


@pytest.fixture(params=[FEW, MANY], ids=["few", "many"])
def pipe(request):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = request.param + 100
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"this system gives a process {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, request.param) for end in ends]
    try:
        yield high
    finally:
        for end in (*ends, *high):
            os.close(end)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_is_there_is_seen_at_once(pipe):
    reading, writing = pipe
    assert not is_readable(reading, 0.0) and not is_readable(reading, -1.0)
    assert is_writable(writing, 1.0)
    os.write(writing, b"a")
    assert is_readable(reading, 0.0) and is_readable(reading, -1.0)
    os.read(reading, 1)
    assert not is_readable(reading, 0.0)


def test_waiting_lasts_as_long_as_it_was_told_to(pipe):
    reading, writing = pipe
    begin = time.monotonic()
    assert not is_readable(reading, 0.02)
    assert time.monotonic() - begin >= LEAST
    os.set_blocking(writing, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writing, bytes(65536))
    begin = time.monotonic()
    assert not is_writable(writing, 0.02)
    assert time.monotonic() - begin >= LEAST


def test_of_several_those_are_told_that_have_something(pipe):
    reading, writing = pipe
    other, end = os.pipe()
    try:
        assert readable([reading, other], 0.0) == set() == readable([], 0.0)
        os.write(writing, b"a")
        assert readable([reading, other], 1.0) == {reading}
        os.close(end)
        assert readable([reading, other], 1.0) == {reading, other}, "an end is something, too"
    finally:
        os.close(other)
