# SPDX-License-Identifier: Apache-2.0
"""The processes of a measurement: started on a DDS domain of their own, ended together; and what the system counts."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from ada_dynamics.errors import AdaError
from ada_robot.ros.environment import child_environment
from ada_robot.timing.deadlines import TRACES

DOMAIN = 101  # tests have those below
_START = 120.0  # [s] in which a process must be ready: kernels may have to be compiled
_END = 20.0  # [s]
_TICKS = os.sysconf("SC_CLK_TCK")


class Process:
    """A Python process of this measurement, with its output in a file."""

    def __init__(self, module: str, *arguments: str, folder: Path, name: str) -> None:
        """Start it.

        Args:
            module: run with -m.
            arguments: behind it.
            folder: for its output and wake-ups.
            name: of the file with its output.
        """
        self._name = f"{name} ({module} {' '.join(arguments)})"
        self._log = folder / f"{name}.log"
        self._is_ready = threading.Event()
        environment = {
            **child_environment(),
            "ROS_DOMAIN_ID": str(DOMAIN),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "PYTHONUNBUFFERED": "1",
            TRACES: str(folder),
        }
        with self._log.open("wb") as log:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                # a job in a script's background ignores Ctrl-C, and so would what it starts
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
            )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._popen.stdout is not None
        for line in self._popen.stdout:
            if line.strip() == b"ready":
                self._is_ready.set()

    def ready(self) -> Process:
        """Wait until it says so.

        Raises:
            AdaError: it did not, or ended.
        """
        deadline = time.monotonic() + _START
        while not self._is_ready.wait(0.1):
            if self._popen.poll() is not None or time.monotonic() > deadline:
                raise AdaError(f"{self._name} was never ready; it said:\n{self._said()}")
        return self

    def _said(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-3000:]

    def wait(self, timeout: float) -> None:
        """Wait for an end of its own."""
        self._popen.wait(timeout)

    def seconds(self) -> float:
        """Processor time that it has used [s]."""
        fields = Path(f"/proc/{self._popen.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def waited(self) -> float:
        """Time that its threads could have run, but others had the processor [s]; 0 where the system does not say."""
        total = 0
        for file in Path(f"/proc/{self._popen.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError, IndexError, ValueError):  # a thread may have ended
                total += int(file.read_text(encoding="ascii").split()[1])
        return total * 1e-9

    def stop(self) -> None:
        """End it as Ctrl-C does.

        Raises:
            AdaError: it ended badly, which no figure should hide.
        """
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGINT)
        code = self._popen.wait(_END)
        if code:
            raise AdaError(f"{self._name} ended with exit code {code}; it said:\n{self._said()}")

    def kill(self) -> None:
        """Make sure that it is gone."""
        if self._popen.poll() is None:
            self._popen.kill()
            self._popen.wait(_END)


class Processes:
    """All processes of a measurement; none outlives the `with`."""

    def __init__(self, folder: Path) -> None:
        """Make the folder for what they write."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._all: list[Process] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.ExitStack() as last:
            for process in self._all:
                last.callback(process.kill)

    def start(self, module: str, *arguments: str, name: str) -> Process:
        """Start one; arguments as those of `Process`."""
        process = Process(module, *arguments, folder=self.folder, name=name)
        self._all.append(process)
        return process


def stolen() -> float:
    """Time that the machine's host gave to others, on all CPUs [s]; 0 where the system does not say."""
    try:
        return int(Path("/proc/stat").read_text(encoding="utf-8").split(None, 9)[8]) / _TICKS
    except (OSError, IndexError, ValueError):
        return 0.0


def clock() -> str:
    """The clock that all times are of."""
    info = time.get_clock_info("monotonic")
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    kernel = source.read_text(encoding="ascii").strip() if source.is_file() else "unknown"
    return f"{info.implementation}, resolution {info.resolution:g} s, source {kernel}"


def cpus() -> list[int]:
    """CPUs that get a bare process: all that may be used, up to eight."""
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    return usable[:8]
