# SPDX-License-Identifier: Apache-2.0
"""Execution of the cycle in a separate process or in a thread, and creation of driver and flight recorder."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_robot.cycle import messages
from ada_robot.cycle.server import CycleServer
from ada_robot.driver import RobotDriver
from ada_robot.errors import HardwareError, NoAnswer, UnknownDevice
from ada_robot.processes import ChildProcess, stderr_for_children
from ada_robot.safety.flight_recorder import Flight, FlightRecorder, new_memory, record_folder, sibling_environment
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import as_mapping, checked


def driver_class(driver: str) -> type[RobotDriver[Any]]:
    """Import a driver class.

    Args:
        driver: "module:class".

    Raises:
        UnknownDevice: if it cannot be imported or is no robot driver.
    """
    module, _, name = driver.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as problem:
        raise UnknownDevice(
            f"unknown driver {driver!r}: {problem}. Give the module:class of an importable driver.",
            field="driver",
            value=driver,
        ) from None
    if not (isinstance(found, type) and issubclass(found, RobotDriver)):
        text = f"{driver!r} is no robot driver: it does not derive from RobotDriver."
        raise UnknownDevice(text, field="driver", value=driver)
    return found


def made_driver(driver: str, settings: object | Mapping[str, object]) -> RobotDriver[Any]:
    """Create a driver without connecting.

    Args:
        driver: "module:class".
        settings: instance of its class SETTINGS, or values by name.

    Raises:
        UnknownDevice: if the driver does not exist.
        InputError: if a setting is invalid.
    """
    cls = driver_class(driver)
    return cls(checked(cls.SETTINGS, settings) if isinstance(settings, Mapping) else settings)


def flight_memory(model: str, driver: RobotDriver[Any], safety: SafetySettings) -> int:
    """Create the memory of the flight recorder; -1 if recording is off. The caller closes the descriptor."""
    rows = round(safety.record_seconds / driver.period)
    if rows < 1:
        return -1
    return new_memory(Flight(driver.NAME, model, tuple(driver.joints), driver.period, rows))


def made_recorder(descriptor: int, safety: SafetySettings, clock: Clock = SYSTEM_CLOCK) -> FlightRecorder | None:
    """Create the flight recorder of a memory; None for the descriptor -1."""
    if descriptor < 0:
        return None
    return FlightRecorder(descriptor, record_folder(safety.record_folder), safety.record_files, clock)


class _Sockets:
    """Socket pairs of a cycle.

    Attributes:
        fast: client end of the socket pair for commands and feedback.
        requests: client end of the socket pair for requests and reports.
    """

    def __init__(self) -> None:
        """Create the socket pairs."""
        self.fast, self._far_fast = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.requests, self._far_requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def close(self) -> None:
        """Close the client ends, upon which the cycle brings the robot to rest and ends."""
        self.fast.close()
        self.requests.close()


class CycleThread(_Sockets):
    """Cycle in a thread of this process."""

    def __init__(
        self, driver: RobotDriver[Any], safety: SafetySettings, flight: int, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """Create the cycle."""
        super().__init__()
        recorder = made_recorder(flight, safety, clock)
        self.server = CycleServer(driver, safety, self._far_fast, self._far_requests, recorder, clock=clock)

    @property
    def pid(self) -> int:
        """Process id of this process."""
        return os.getpid()

    def start(self, timeout: float) -> None:
        """Start the thread."""
        self.server.loop.start()

    def wait(self, timeout: float) -> bool:
        """Wait for the end of the thread."""
        return self.server.ended.wait(timeout) and self.server.loop.stop(1.0)

    def kill(self) -> None:
        """Request the end: a thread cannot be killed, and ends when its driver returns."""
        self.server.leave("the cycle does not reply")

    def ending(self) -> str:
        """Describe how the cycle ended; "" while it runs."""
        return "the cycle's thread has ended" if self.server.ended.is_set() else ""


class CycleProcess(_Sockets):
    """Cycle in a separate process, unaffected by the end, freeze or load of this process.

    Signals to this process group (Ctrl-C, closed terminal) do not end it before the robot is at rest.
    """

    def __init__(self, driver: str, settings: object, safety: SafetySettings, flight: int) -> None:
        """Create the cycle.

        Args:
            driver: "module:class".
            settings: instance of the driver's class SETTINGS, or values by name.
            safety: safety settings.
            flight: descriptor of the flight recorder's memory, or -1.
        """
        super().__init__()
        self._driver, self._safety, self._flight = driver, safety, flight
        self._settings = dict(settings) if isinstance(settings, Mapping) else as_mapping(settings)
        self._process: ChildProcess | None = None

    @property
    def pid(self) -> int:
        """Process id; 0 before `start`."""
        return self._process.pid if self._process is not None else 0

    def start(self, timeout: float) -> None:
        """Start the process, configure it and wait until it is ready."""
        passed = [self._far_fast.fileno(), self._far_requests.fileno(), self._flight]
        try:
            self._process = ChildProcess(
                [sys.executable, "-m", "ada_robot.cycle", *(str(one) for one in passed)],
                pass_fds=[one for one in passed if one >= 0],
                env=sibling_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # an inherited stdout would keep readers of this process waiting
                stderr=stderr_for_children(),
            )
        finally:
            self._far_fast.close()
            self._far_requests.close()
        requested = {"driver": self._driver, "settings": self._settings, "safety": as_mapping(self._safety)}
        self.requests.settimeout(timeout)
        try:
            self.requests.send(messages.encode_request(0, "prepare", **requested))
            reply = self.requests.recv(messages.LARGEST)
        except TimeoutError:
            self.kill()
            raise NoAnswer(f"the cycle process was not ready within {timeout:g} s and was killed.") from None
        except OSError as problem:
            raise self._not_started() from problem
        if not reply:
            raise self._not_started()
        problem_found = messages.problem_of(messages.decode_json(reply))
        if problem_found is not None:
            self.wait(1.0)
            raise problem_found

    def _not_started(self) -> HardwareError:
        self.wait(1.0)
        return HardwareError(f"the cycle process did not start: {self.ending()}; see stderr for the reason.")

    def wait(self, timeout: float) -> bool:
        """Wait for the end of the process; False after the timeout."""
        return self._process is None or self._process.wait(timeout)

    def kill(self) -> None:
        """Kill the process; only the watchdog of the device can stop the robot then."""
        if self._process is not None:
            self._process.send(signal.SIGKILL)
            self._process.wait(5.0)

    def ending(self) -> str:
        """Describe how the process ended; "" while it runs."""
        code = self._process.code if self._process is not None else None
        if code is None:
            return ""
        return f"the cycle process was killed by signal {-code}" if code < 0 else f"the cycle process ended ({code})"
