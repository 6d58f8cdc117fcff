# SPDX-License-Identifier: Apache-2.0
"""The starter starts the nodes of a plan, and leaves nothing behind."""

import io
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from processes import is_alive
from refused import refused
from waiting import tick, until

from ada_dynamics.errors import AdaError
from ada_tools.bringup import Plan, Process
from ada_tools.bringup.starter import Console, Starter, program_of

TALK = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
print("up", *sys.argv[1:], flush=True)
try:
    while True:  # a signal that comes just before a long sleep does not end it
        time.sleep(0.01)
except KeyboardInterrupt:
    print("bye", flush=True)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
while True:
    time.sleep(1)
"""
UP = "[one] up --ros-args -r __node:=one"
FAILING = "import sys; print('no robot'); sys.exit(5)"


class Impatient(Starter):
    """Ends soon with force."""

    stages = ((signal.SIGINT, 0.1), (signal.SIGTERM, 0.1), (signal.SIGKILL, 60.0))


class Runner:
    """A starter with scripts for nodes."""

    def __init__(self, folder, **scripts):
        self.paths = {}
        for name, text in scripts.items():
            self.paths[name] = folder / f"{name}.py"
            self.paths[name].write_text(textwrap.dedent(text))
        self.stream = io.StringIO()

    def starter(self, *processes, kind=Starter):
        return kind(Plan("test", {}, tuple(processes)), Console(self.stream), self.program)

    def program(self, process):
        return [sys.executable, str(self.paths[process.executable])]

    @property
    def lines(self):
        return self.stream.getvalue().splitlines()

    def has(self, line):
        return tick(lambda: line in self.lines, line)


def test_processes_are_started_with_their_names_and_parameters_and_ended_by_an_interrupt(tmp_path):
    runner = Runner(tmp_path, talk=TALK)
    process = Process("talk", "node", namespace="/n", parameters={"a": 1.5}, given={"b": "x"}, arguments=("-d", "f"))
    with runner.starter(process) as starter:
        assert starter.run(tick(lambda: runner.lines, "a line")) == 0
        (first,) = runner.lines
        words = first.split()
        assert first.startswith("[node] up -d f --ros-args -r __node:=node -r __ns:=/n --params-file")
        files = [Path(words[i + 1]) for i, word in enumerate(words) if word == "--params-file"]
        assert ["a: 1.5" in file.read_text() for file in files] == [True, False]
        assert ['b: "x"' in file.read_text() for file in files] == [False, True]
        (child,) = starter.children
    assert runner.lines[-1] == "[node] bye"
    assert child.code == 0


def test_a_process_that_the_others_need_ends_all_with_its_exit_code(tmp_path):
    runner = Runner(tmp_path, talk=TALK, failing=FAILING)
    with runner.starter(Process("talk", "one"), Process("failing", "two")) as starter:
        assert starter.run() == 5
    assert "[two] no robot" in runner.lines
    assert "two exited (exit code 5); stopping all" in runner.lines
    assert [child.code is None for child in starter.children] == [False, False]


def test_an_optional_process_may_end(tmp_path):
    runner = Runner(tmp_path, talk=TALK, failing=FAILING)
    said = "two exited (exit code 5); the others continue"
    with runner.starter(Process("talk", "one"), Process("failing", "two", optional=True)) as starter:
        assert starter.run(runner.has(said)) == 0
        assert starter.children[0].code is None
    assert runner.lines.count(said) == 1


def test_a_process_that_is_killed_is_told_with_the_signals_name(tmp_path):
    runner = Runner(tmp_path, talk=TALK)
    with runner.starter(Process("talk", "one")) as starter:
        starter.run(runner.has(UP))
        os.kill(starter.children[0].pid, signal.SIGKILL)
        assert starter.run() == 128 + signal.SIGKILL
    assert "one exited (SIGKILL); stopping all" in runner.lines


def test_a_process_that_ignores_all_requests_is_killed(tmp_path):
    runner = Runner(tmp_path, stubborn=STUBBORN)
    with runner.starter(Process("stubborn", "one"), kind=Impatient) as starter:
        starter.run(runner.has("[one] up"))
    assert starter.children[0].code == -signal.SIGKILL


def test_an_interrupt_ends_the_run_with_success(tmp_path):
    runner = Runner(tmp_path, talk=TALK)
    before = signal.getsignal(signal.SIGINT)
    with runner.starter(Process("talk", "one")) as starter:
        starter.run(runner.has(UP))
        assert starter.run(lambda: os.kill(os.getpid(), signal.SIGINT)) == 0
        assert starter.is_interrupted
    assert runner.lines[-1] == "[one] bye"
    assert signal.getsignal(signal.SIGINT) is before


PARENT = """
import sys
from ada_tools.bringup import Plan, Process
from ada_tools.bringup.starter import Console, Starter
plan = Plan("test", {}, (Process("talk", "one"),))
with Starter(plan, Console(), lambda process: [sys.executable, sys.argv[1]]) as starter:
    print(starter.children[0].pid, flush=True)
    starter.run()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of their parent's end")
def test_processes_do_not_outlive_a_parent_that_is_killed(tmp_path):
    (tmp_path / "talk.py").write_text(TALK)
    command = [sys.executable, "-c", PARENT, str(tmp_path / "talk.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        assert "up" in parent.stdout.readline()
        parent.kill()
        parent.wait()
        until(lambda: not is_alive(pid), "the end of the child")


def test_a_program_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with refused(AdaError, value="rviz2"):
        program_of(Process("rviz2", "rviz2", package="rviz2"))
