# SPDX-License-Identifier: Apache-2.0
"""Run a plan without ROS launch: child processes, their labelled output, and an orderly shutdown."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TextIO

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError
from ada_robot.processes import ChildProcess, ending_in_words
from ada_tools.bringup.processes import PACKAGE, Plan, Process

# Shutdown signals, and the timeout of each [s].
STAGES = ((signal.SIGINT, 5.0), (signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0))
TICK = 0.05  # [s] polling period
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_READER = 0.5  # [s] timeout for the last output; a browser opened by a child keeps its pipe open

Program = Callable[[Process], list[str]]


def program_of(process: Process) -> list[str]:
    """Command with which `child` starts a process: a module of this package, or a program on the PATH.

    Raises:
        AdaError: the program is not installed.
    """
    if process.package == PACKAGE:
        return [process.module]
    path = shutil.which(process.executable)
    if path is None:
        words = f"{process.executable} is not on the PATH: install the ROS 2 package {process.package}."
        raise AdaError(words, field="program", value=process.executable)
    return [str(Path(path).absolute())]


class Console:
    """Thread-safe line output."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to a stream; default: standard output."""
        self._stream = stream or sys.stdout
        self._lock = threading.Lock()

    def say(self, line: str) -> None:
        """Write a line; a closed output is ignored, since the processes must still be terminated in order."""
        with self._lock, suppress(BrokenPipeError, ValueError):
            self._stream.write(f"{line}\n")
            self._stream.flush()


class Child(ChildProcess):
    """A running process, whose output is printed with its name."""

    def __init__(self, process: Process, command: Sequence[str], console: Console, environment: dict[str, str]) -> None:
        """Start the process."""
        self.process = process
        self.is_reported = False  # whether its exit was reported
        self._console = console
        super().__init__(
            [sys.executable, "-m", "ada_tools.bringup.child", str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
        )
        self._reader = threading.Thread(target=self._read, name=f"output of {process.name}", daemon=True)
        self._reader.start()

    def close(self) -> None:
        """Wait for the last output."""
        self._reader.join(_READER)

    def _read(self) -> None:
        stream = self.popen.stdout
        assert stream is not None
        with suppress(ValueError):
            for line in stream:
                self._console.say(f"[{self.process.name}] {line.rstrip()}")


class Starter:
    """Processes of a plan, from start to shutdown.

    Example::

        with Starter(plan, Console()) as starter:
            code = starter.run()
    """

    stages = STAGES  # overridden with shorter times in tests

    def __init__(
        self, plan: Plan, console: Console, program: Program = program_of, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """Prepare the start; `program` returns the command with which `child` starts a process."""
        self._clock = clock
        self.plan = plan
        self.children: list[Child] = []
        self._console = console
        self._program = program
        self._handlers: dict[signal.Signals, Any] = {}
        self._asked = 0  # number of stop requests

    def __enter__(self) -> Starter:
        self._listen()
        try:
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
    def is_interrupted(self) -> bool:
        """Return True after Ctrl-C or SIGTERM."""
        return self._asked > 0

    def run(self, tick: Callable[[], bool] | None = None) -> int:
        """Wait for Ctrl-C, or for the exit of a required process.

        Args:
            tick: called repeatedly, for at most 0.1 s; returning True ends the wait.

        Returns:
            Exit code: 0, or that of the process that exited.
        """
        while not self.is_interrupted:
            for child in self.children:
                code = child.code
                if code is None:
                    continue
                self._report_exit(child, code)
                if not child.process.optional:
                    return (code if code >= 0 else 128 - code) or 1  # as in shells
            if tick is None:
                self._clock.sleep(TICK)
            elif tick():
                break
        return 0

    def close(self) -> None:
        """Stop all processes: SIGINT, then SIGTERM, then SIGKILL."""
        try:
            for number, seconds in self.stages:
                running = [child for child in self.children if child.code is None]
                if running:
                    self._end(running, number, seconds)
            for child in self.children:
                child.close()
        finally:
            self._stop_listening()

    def _end(self, running: Sequence[Child], number: signal.Signals, seconds: float) -> None:
        if number != signal.SIGINT:
            names = ", ".join(child.process.name for child in running)
            self._console.say(f"still running: {names}; sending {number.name}")
        for child in running:
            child.send(number)
        asked = self._asked
        deadline = self._clock.now() + seconds
        # A further Ctrl-C escalates immediately.
        while any(child.code is None for child in running) and self._clock.now() < deadline and self._asked == asked:
            self._clock.sleep(TICK / 5)

    def _start(self, process: Process) -> Child:
        from ada_robot.ros.environment import child_environment

        ros_arguments = process.ros_arguments(process.parameter_files())
        words = [*self._program(process), *process.arguments, "--ros-args", *ros_arguments]
        return Child(process, words, self._console, {**child_environment(), "PYTHONUNBUFFERED": "1"})

    def _report_exit(self, child: Child, code: int) -> None:
        """Report the exit of a process once."""
        if child.is_reported:
            return
        child.is_reported = True
        child.close()  # print its last output first
        rest = "the others continue" if child.process.optional else "stopping all"
        self._console.say(f"{child.process.name} exited ({ending_in_words(code)}); {rest}")

    def _listen(self) -> None:
        """Count Ctrl-C and SIGTERM instead of being interrupted."""
        if threading.current_thread() is threading.main_thread():
            self._handlers = {number: signal.signal(number, self._count) for number in _ENDINGS}

    def _stop_listening(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers = {}

    def _count(self, number: int, frame: FrameType | None) -> None:
        self._asked += 1
