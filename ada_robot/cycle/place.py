# SPDX-License-Identifier: Apache-2.0
"""Where a cycle runs, in a process of its own or in a thread of this one; and how it is made."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.settings import as_mapping, checked
from ada_robot.cycle import messages
from ada_robot.cycle.server import CycleServer
from ada_robot.driver import RobotDriver
from ada_robot.errors import HardwareError, NoAnswer, UnknownDevice
from ada_robot.outlet import stderr_for_children
from ada_robot.safety.flight_memory import Flight, new_memory
from ada_robot.safety.flight_recorder import FlightRecorder, record_folder, sibling_environment
from ada_robot.safety.settings import SafetySettings
from ada_robot.timing.deadlines import DeadlineLoop


def driver_class(driver: str) -> type[RobotDriver[Any]]:
    """The class of a driver.

    Args:
        driver: "module:class".

    Raises:
        UnknownDevice: there is none, or it has no joints.
    """
    module, _, name = driver.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as problem:
        raise UnknownDevice(
            f"there is no driver {driver!r}: {problem}. Write module:class of one that can be imported.",
            field="driver",
            value=driver,
        ) from None
    if not (isinstance(found, type) and issubclass(found, RobotDriver)):
        text = f"{driver!r} is no driver of a robot: it does not derive from RobotDriver."
        raise UnknownDevice(text, field="driver", value=driver)
    return found


def made_driver(driver: str, settings: object | Mapping[str, object]) -> RobotDriver[Any]:
    """A driver, closed.

    Args:
        driver: see `driver_class`.
        settings: of its class SETTINGS, or values by name.

    Raises:
        UnknownDevice: there is none.
        InputError: settings that cannot be.
    """
    cls = driver_class(driver)
    return cls(checked(cls.SETTINGS, settings) if isinstance(settings, Mapping) else settings)


def flight_memory(model: str, driver: RobotDriver[Any], safety: SafetySettings) -> int:
    """Memory for the flight recorder; -1 where none is wanted. The caller closes it."""
    rows = round(safety.record_seconds / driver.period)
    if rows < 1:
        return -1
    return new_memory(Flight(driver.NAME, model, tuple(driver.joints), driver.period, rows))


def made_recorder(descriptor: int, safety: SafetySettings, clock: Clock = SYSTEM_CLOCK) -> FlightRecorder | None:
    """The flight recorder of a memory; None where there is none."""
    if descriptor < 0:
        return None
    return FlightRecorder(descriptor, record_folder(safety.record_folder), safety.record_files, clock)


class CyclePlace(ABC):
    """Where a cycle runs.

    Attributes:
        fast: this end of the pair for commands and feedback.
        requests: this end of the pair for requests and reports.
    """

    def __init__(self) -> None:
        """Make the pairs."""
        self.fast, self._far_fast = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.requests, self._far_requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    @property
    @abstractmethod
    def pid(self) -> int:
        """Number of the process that it runs in."""

    @abstractmethod
    def start(self, timeout: float) -> None:
        """Begin; the ends can be used afterwards.

        Raises:
            HardwareError: it does not begin, in time or at all.
        """

    @abstractmethod
    def wait(self, timeout: float) -> bool:
        """Wait for the end of the cycle, which follows a request to close, or the closing of this side's ends."""

    @abstractmethod
    def kill(self) -> None:
        """Kill it, where that is possible."""

    @abstractmethod
    def ending(self) -> str:
        """How it ended, in words; "" while it runs."""

    def close(self) -> None:
        """Let go of the ends; the cycle brings the robot to rest then, and ends."""
        for end in (self.fast, self.requests, self._far_fast, self._far_requests):
            end.close()


class CycleThread(CyclePlace):
    """A cycle in a thread of this process."""

    def __init__(
        self, driver: RobotDriver[Any], safety: SafetySettings, flight: int, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """Prepare."""
        super().__init__()
        recorder = made_recorder(flight, safety, clock)
        self.server = CycleServer(driver, safety, self._far_fast, self._far_requests, recorder, clock=clock)
        name = f"cycle of {driver.NAME}"
        self._loop = DeadlineLoop(
            driver.period, self.server.tick, name=name, catch_up=0.0, on_failure=self.server.failed, clock=clock
        )
        self.server.run_in(self._loop)

    @property
    def pid(self) -> int:
        """This process."""
        return os.getpid()

    def start(self, timeout: float) -> None:
        """Begin."""
        self._loop.start()

    def wait(self, timeout: float) -> bool:
        """Wait for the end of the thread."""
        return self.server.ended.wait(timeout) and self._loop.stop(1.0)

    def kill(self) -> None:
        """A thread cannot be killed; it ends when its driver returns."""
        self.server.leave("the cycle does not answer")

    def ending(self) -> str:
        """See the base class."""
        return "the cycle's thread has ended" if self.server.ended.is_set() else ""

    def close(self) -> None:
        """Let go of this side's ends alone: the others are the thread's."""
        self.fast.close()
        self.requests.close()


class CycleProcess(CyclePlace):
    """A cycle in a process of its own, independent of this one's end, freeze or load."""

    def __init__(self, driver: str, settings: object, safety: SafetySettings, flight: int) -> None:
        """Prepare.

        Args:
            driver: see `driver_class`.
            settings: of the driver's class, or by name.
            safety: rules.
            flight: descriptor of the memory of the flight recorder, or -1.
        """
        super().__init__()
        self._driver, self._safety, self._flight = driver, safety, flight
        self._settings = dict(settings) if isinstance(settings, Mapping) else as_mapping(settings)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Number of the process; 0 before `start`."""
        return self._process.pid if self._process is not None else 0

    def start(self, timeout: float) -> None:
        """Start the process, configure it and wait until it is ready."""
        passed = [self._far_fast.fileno(), self._far_requests.fileno(), self._flight]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ada_robot.cycle", *(str(one) for one in passed)],
            pass_fds=[one for one in passed if one >= 0],
            env=sibling_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # else readers of this process' output would wait for that one's end
            stderr=stderr_for_children(),
            # signals to this process' group (Ctrl-C, a closed terminal) must not end it before the robot rests
            start_new_session=True,
        )
        self._far_fast.close()
        self._far_requests.close()
        wanted = {"driver": self._driver, "settings": self._settings, "safety": as_mapping(self._safety)}
        self.requests.settimeout(timeout)
        try:
            self.requests.send(messages.encode_request(0, "prepare", **wanted))
            reply = self.requests.recv(messages.LARGEST)
        except TimeoutError:
            self.kill()
            raise NoAnswer(f"the process of the cycle was not ready within {timeout:g} s; it was ended.") from None
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
        return HardwareError(f"the process of the cycle did not start: {self.ending()}; it says why on stderr.")

    def wait(self, timeout: float) -> bool:
        """Wait for the end of the process."""
        if self._process is None:
            return True
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End it at once; the device is left to its own watchdog."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(5.0)

    def ending(self) -> str:
        """See the base class."""
        code = self._process.poll() if self._process is not None else None
        if code is None:
            return ""
        return f"the cycle's process was ended by signal {-code}" if code < 0 else f"the cycle's process ended ({code})"
