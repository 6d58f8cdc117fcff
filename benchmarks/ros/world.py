# SPDX-License-Identifier: Apache-2.0
"""Processes of a measurement, started on a DDS domain and ended together; counters of the system."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ada_dynamics.errors import AdaError
from ada_robot.processes import ChildProcess
from ada_robot.ros.environment import child_environment
from ada_robot.timing.deadlines import TRACES

DOMAIN = 101  # those below are for `domains.own_domain`
OTHER_NETWORKS = ("ROS_DISCOVERY_SERVER", "ROS_STATIC_PEERS", "ROS_LOCALHOST_ONLY", "ROS_NAMESPACE")
_START = 120.0  # [s] in which a process must be ready: kernels may have to be compiled
_END = 20.0  # [s]
_TICKS = os.sysconf("SC_CLK_TCK")
_LIBC, _PR_SET_PDEATHSIG = ctypes.CDLL(None), 1  # linux/prctl.h


def _begin() -> None:
    """Prepare a child process before it executes another program."""
    # A job in the background of a script ignores Ctrl-C, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.platform == "linux":  # end the nodes with a measurement that is killed
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class MeasuredProcess(ChildProcess):
    """A Python process of this measurement, with its output in a file."""

    def __init__(
        self,
        module: str,
        *arguments: str,
        folder: Path,
        name: str,
        domain: int = DOMAIN,
        prefix: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        on_line: Callable[[str], object] | None = None,
    ) -> None:
        """Start it.

        Args:
            module: run with -m.
            arguments: of the module.
            folder: for its output and wake-ups.
            name: of the file with its output.
            domain: of DDS.
            prefix: a command that starts it.
            environment: added to that of this process.
            on_line: receives its output line by line, in a thread.
        """
        self._name = f"{name} ({module} {' '.join(arguments)})"
        self._log = folder / f"{name}.log"
        self._is_ready, self._on_line = threading.Event(), on_line
        own = {key: value for key, value in child_environment().items() if key not in OTHER_NETWORKS}
        own |= {
            "ROS_DOMAIN_ID": str(domain),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "PYTHONUNBUFFERED": "1",
            TRACES: str(folder),
            **(environment or {}),
        }
        with self._log.open("wb") as log:
            super().__init__(
                [*prefix, sys.executable, "-m", module, *arguments],
                env=own,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                preexec_fn=_begin,
            )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            if line.strip() == b"ready":
                self._is_ready.set()
            elif self._on_line is not None:
                self._on_line(line.decode("utf-8", "replace"))

    def say(self, line: str) -> None:
        """Write a line to it."""
        assert self.popen.stdin is not None
        self.popen.stdin.write(line.encode() + b"\n")
        self.popen.stdin.flush()

    def ready(self) -> MeasuredProcess:
        """Wait until it prints "ready".

        Raises:
            AdaError: it ended, or took too long.
        """
        deadline = time.monotonic() + _START
        while not self._is_ready.wait(0.1):
            if not self.is_alive or time.monotonic() > deadline:
                raise AdaError(f"{self._name} was never ready; its output:\n{self._said()}")
        return self

    def _said(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-3000:]

    def seconds(self) -> float:
        """Processor time that it has used [s]."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def waited(self) -> float:
        """Time that its threads waited for a processor [s]; 0 if the system does not report it."""
        total = 0
        for file in Path(f"/proc/{self.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError, IndexError, ValueError):  # a thread may have ended
                total += int(file.read_text(encoding="ascii").split()[1])
        return total * 1e-9

    def stop(self) -> None:
        """End it by SIGINT.

        Raises:
            AdaError: it ended with an error, or not in time.
        """
        self.send(signal.SIGINT)
        if not self.wait(_END) or self.code:
            raise AdaError(f"{self._name} ended with exit code {self.code}; its output:\n{self._said()}")

    def close(self) -> None:
        """Kill it if it still runs, and close its pipes."""
        self.kill()
        self.close_pipes()


class Processes:
    """All processes of a measurement, which end with the `with` block."""

    def __init__(self, folder: Path, domain: int = DOMAIN) -> None:
        """Make the folder for their output."""
        self.folder, self.domain = folder, domain
        folder.mkdir(parents=True, exist_ok=True)
        self._all: list[MeasuredProcess] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.ExitStack() as last:
            for process in self._all:
                last.callback(process.close)

    def start(self, module: str, *arguments: str, **options: Any) -> MeasuredProcess:
        """Start one; arguments as those of `MeasuredProcess`."""
        process = MeasuredProcess(module, *arguments, folder=self.folder, domain=self.domain, **options)
        self._all.append(process)
        return process


def stolen() -> float:
    """Time that the host of a virtual machine gave to others, on all CPUs [s]; 0 if the system does not report it."""
    try:
        return int(Path("/proc/stat").read_text(encoding="utf-8").split(None, 9)[8]) / _TICKS
    except (OSError, IndexError, ValueError):
        return 0.0


def clock() -> str:
    """Description of the steady clock."""
    info = time.get_clock_info("monotonic")
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    kernel = source.read_text(encoding="ascii").strip() if source.is_file() else "unknown"
    return f"{info.implementation}, resolution {info.resolution:g} s, source {kernel}"


def cpus() -> list[int]:
    """CPUs of the bare processes: all usable ones, up to eight."""
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    return usable[:8]
