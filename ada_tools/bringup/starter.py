# SPDX-License-Identifier: Apache-2.0
"""Runs a plan without ROS's launch: child processes, their output with their names, and one orderly end for all."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError
from ada_robot.child_process import ChildProcess, ending_in_words
from ada_tools.bringup.console import Console
from ada_tools.bringup.processes import PACKAGE, Plan, Process

# Signals that end a process, and how long each is given [s].
STAGES = ((signal.SIGINT, 5.0), (signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0))
TICK = 0.05  # [s] between looks at the processes
RESPAWN_DELAY = 2.0  # [s], as in the launch files
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ADDRESS = re.compile(r"https?://[^\s)]+")
_READER = 0.5  # [s] for the last lines; a browser that a process opened keeps its pipe open for longer

Program = Callable[[Process], list[str]]


def program_of(process: Process) -> list[str]:
    """The words with which `child` starts a process: a module of this package, or a program on the PATH.

    Raises:
        AdaError: the program is not there.
    """
    if process.package == PACKAGE:
        return [process.module]
    path = shutil.which(process.executable)
    if path is None:
        words = f"{process.executable} is not on the PATH: install the ROS 2 package {process.package}."
        raise AdaError(words, field="program", value=process.executable)
    return [str(Path(path).absolute())]


class Child(ChildProcess):
    """A running process, whose lines appear on the console behind its name."""

    def __init__(self, process: Process, command: Sequence[str], console: Console, environment: dict[str, str]) -> None:
        """Start it.

        Args:
            process: what it is.
            command: with all its words.
            console: for its output.
            environment: of the child.
        """
        self.process = process
        self.has_begun = False
        self.address = ""  # that it printed, such as the browser view's
        self._console = console
        super().__init__(
            [sys.executable, "-m", "ada_tools.bringup.child", str(os.getpid()), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
        )
        self._reader = threading.Thread(target=self._read, name=f"output of {process.name}", daemon=True)
        self._reader.start()

    def begin(self) -> None:
        """Let it begin; until then it only imports modules."""
        stream = self.popen.stdin
        assert stream is not None
        self.has_begun = True
        with suppress(OSError):  # it has ended already
            stream.write("\n")
            stream.close()

    def close(self) -> None:
        """Wait for its last lines."""
        self._reader.join(_READER)

    def _read(self) -> None:
        stream = self.popen.stdout
        assert stream is not None
        with suppress(ValueError):
            for line in stream:
                found = _ADDRESS.search(line)
                if found and not self.address:
                    self.address = found.group()
                self._console.say(f"[{self.process.name}] {line.rstrip()}")


class Starter:
    """The processes of a plan, from their start to their end.

    Example::

        with Starter(plan, Console()) as starter:
            starter.begin()
            code = starter.run()
    """

    stages, respawn_delay = STAGES, RESPAWN_DELAY  # tests have subclasses that wait less

    def __init__(
        self, plan: Plan, console: Console, program: Program = program_of, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """Prepare.

        Args:
            plan: what to start.
            console: for everything that is said.
            program: the words with which `child` starts a process.
            clock: of the stages and of restarts.
        """
        self._clock = clock
        self.plan = plan
        self.children: list[Child] = []
        self._console = console
        self._program = program
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._handlers: dict[signal.Signals, Any] = {}
        self._asked = 0  # requests to end
        self._said: set[int] = set()  # children whose end was reported
        self._again: list[tuple[float, Process]] = []  # processes to be restarted, with the times

    def __enter__(self) -> Starter:
        self._listen()
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="ada_dynamics_")
            for process in self.plan.processes:
                self.children.append(self._start(process))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_asked_to_end(self) -> bool:
        """True if a Ctrl-C or a SIGTERM came."""
        return self._asked > 0

    @property
    def address(self) -> str:
        """Where the browser view is, as soon as it has said so."""
        return next((child.address for child in self.children if child.address), "")

    def begin(self) -> None:
        """Start the processes, which have only imported modules so far."""
        for child in self.children:
            child.begin()

    def run(self, tick: Callable[[], bool] | None = None) -> int:
        """Wait until a Ctrl-C, or until a process ends that the others need.

        Args:
            tick: called again and again; ends the wait with True. It may take some time, no more than 0.1 s.

        Returns:
            The exit code: 0, or that of the process which ended.
        """
        while not self.is_asked_to_end:
            for child in self.children:
                if child.code is not None and self._is_the_end(child):
                    return _exit_code(child.code) or 1
            self._respawn(self._clock.now())
            if tick is None:
                self._clock.sleep(TICK)
            elif tick():
                break
        return 0

    def close(self) -> None:
        """End all processes: SIGINT, then SIGTERM, then SIGKILL to those that remain."""
        try:
            for number, seconds in self.stages:
                running = [child for child in self.children if child.code is None]
                if running:
                    self._end(running, number, seconds)
            for child in self.children:
                child.close()
            if self._folder is not None:
                self._folder.cleanup()
        finally:
            self._listen_no_more()

    def _end(self, running: Sequence[Child], number: signal.Signals, seconds: float) -> None:
        if number != signal.SIGINT:
            names = ", ".join(child.process.name for child in running)
            self._console.say(f"still running: {names}; sending {number.name}")
        for child in running:
            # Before it has begun there is nothing to clean up, and Python itself may not be ready for a SIGINT.
            child.send(number if child.has_begun or number != signal.SIGINT else signal.SIGTERM)
        asked = self._asked
        deadline = self._clock.now() + seconds
        # Another Ctrl-C while they end: escalate at once.
        while any(child.code is None for child in running) and self._clock.now() < deadline and self._asked == asked:
            self._clock.sleep(TICK / 5)

    def _start(self, process: Process) -> Child:
        folder = Path(self._folder.name) if self._folder is not None else Path()
        files = process.write_files(folder)
        words = [*self._program(process), *process.arguments, "--ros-args", *process.ros_arguments(*files)]
        return Child(process, words, self._console, _environment())

    def _is_the_end(self, child: Child) -> bool:
        """Report, once, that a process has ended; True if that ends the others."""
        if child.pid not in self._said:
            self._said.add(child.pid)
            child.close()  # its own last words come first
            rest = "going on without it" if child.process.optional else "ending"
            if child.process.respawn:
                rest = f"starting it again in {self.respawn_delay:g} s"
                self._again.append((self._clock.now() + self.respawn_delay, child.process))
            self._console.say(f"{child.process.name} has ended ({ending_in_words(child.code or 0)}); {rest}")
        return not child.process.optional

    def _respawn(self, now: float) -> None:
        """Start those again whose time has come."""
        due = [process for at, process in self._again if now >= at]
        self._again = [(at, process) for at, process in self._again if now < at]
        for process in due:
            self.children = [child for child in self.children if child.process is not process]
            child = self._start(process)
            self.children.append(child)
            child.begin()

    def _listen(self) -> None:
        """Count Ctrl-C and SIGTERM, instead of being interrupted by them."""
        if threading.current_thread() is threading.main_thread():
            self._handlers = {number: signal.signal(number, self._count) for number in _ENDINGS}

    def _listen_no_more(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers = {}

    def _count(self, number: int, frame: FrameType | None) -> None:
        self._asked += 1


def _environment() -> dict[str, str]:
    from ada_robot.ros.environment import child_environment

    return {**child_environment(), "PYTHONUNBUFFERED": "1"}


def _exit_code(code: int) -> int:
    """Exit code as in shells."""
    return code if code >= 0 else 128 - code
