# SPDX-License-Identifier: Apache-2.0
"""The robots and sensors of one node as one thing: opened, activated, stopped and closed together; no ROS.

What holds for one robot holds for all: where one falls out of its phase, all come to rest. A stop is latched here as
well as in the robots, so that one which comes while they are still being opened is not lost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TypeVar

from ada_dynamics.errors import AdaError
from ada_hardware.force_torque.sensor import ForceSensor
from ada_robot.errors import HardwareError, Refused
from ada_robot.robot import Robot
from ada_robot.safety.phases import Phase

D = TypeVar("D")
_AT_REST = (Phase.CLOSED, Phase.INACTIVE, Phase.STOPPED)


class Devices:
    """Everything that a node drives and reads.

    Attributes:
        robots: by name.
        sensors: by name.
    """

    def __init__(self) -> None:
        """Begin without devices; `take` adds them."""
        self.robots: dict[str, Robot] = {}
        self.sensors: dict[str, ForceSensor] = {}
        self._lock = threading.Lock()
        self._latched = ""
        self._stops = 0  # how many there were

    def take(self, robots: Mapping[str, Robot], sensors: Mapping[str, ForceSensor]) -> None:
        """Take devices, all closed, in place of those before, which are closed too; a latched stop stays."""
        self.robots, self.sensors = dict(robots), dict(sensors)

    @property
    def latched(self) -> str:
        """Why they were stopped; "" where they were not, or a reset came since."""
        return self._latched

    # --- life -------------------------------------------------------------------------------------------------------
    def open(self) -> None:
        """Connect to all; nothing moves. Where one cannot be opened none is.

        Raises:
            HardwareError: naming the device.
        """
        try:
            for name, sensor in self.sensors.items():
                _named(name, sensor.open)
            for name, robot in self.robots.items():
                _named(name, robot.open)
        except BaseException:
            with suppress(AdaError):
                self.close()
            raise

    def activate(self) -> None:
        """Let all robots follow commands. Where one does not, none does.

        Raises:
            Refused: all are stopped, and not reset.
            HardwareError: naming the robot that does not start.
        """

        def act(robot: Robot) -> None:
            self._refuse_latched()
            robot.activate()

        self._refuse_latched()
        try:
            self._each(self.robots, act)
            self._refuse_latched()  # a stop may have come in between
        except BaseException:
            with suppress(AdaError):
                self.deactivate()
            raise

    def arm(self) -> str:
        """Let all robots follow commands, where their activation alone does not; what was done, in words.

        Raises:
            Refused: one of them is not active, or there is none.
            HardwareError: naming the robots that do not answer.
        """
        self._refuse_latched()
        asleep = self.fallen()
        if asleep or not self.robots:
            raise Refused(f"{asleep or 'there is no robot'}: activate the node first, then arm it.")
        self._each(self.robots, lambda robot: robot.arm())
        return f"{', '.join(self.robots)}: armed; commands move them from now on."

    def deactivate(self) -> None:
        """Bring all robots to rest along their ramps; those that are stopped stay so.

        Raises:
            HardwareError: naming the robots that do not answer.
        """

        def act(robot: Robot) -> None:
            try:
                robot.deactivate()
            except Refused:
                if robot.phase not in (*_AT_REST, Phase.STOPPING):
                    raise

        self._each(self.robots, act)

    def close(self) -> None:
        """Bring all to rest, and let go of them.

        Raises:
            HardwareError: naming those that did not answer.
        """
        everything: dict[str, Robot | ForceSensor] = {**self.robots, **self.sensors}
        self._each(everything, lambda device: device.close())

    # --- stop and reset ---------------------------------------------------------------------------------------------
    def stop(self, why: str) -> None:
        """Bring all robots to rest at once, and latch it. From any thread, in every state.

        Raises:
            HardwareError: naming the robots that do not answer; the others are stopped nevertheless.
        """
        self._latch(why)
        self._each(self.robots, lambda robot: robot.stop(why))

    def halt(self, why: str) -> None:
        """Bring all robots to rest along their ramps, and let none start any more. From any thread, in every state.

        Raises:
            HardwareError: naming the robots that do not answer.
        """

        def act(robot: Robot) -> None:
            if robot.phase is Phase.STARTING:
                robot.stop(why)
            elif robot.phase is Phase.ACTIVE:
                robot.deactivate()

        self._latch(why)
        self._each(self.robots, act)

    def _latch(self, why: str) -> None:
        with self._lock:
            self._latched = self._latched or why
            self._stops += 1

    def reset(self) -> str:
        """Clear alarms and latched stops; what was done, in words. Nothing moves.

        A stop that comes meanwhile is not cleared: robots that were reset before it are stopped again.

        Raises:
            Refused: a robot is active, or a stop came.
            HardwareError: naming the devices whose alarms stay.
        """
        driven = [name for name, robot in self.robots.items() if robot.phase.is_driven]
        if driven:
            raise Refused(f"{', '.join(driven)}: still driven; deactivate the node, or stop it, before a reset.")
        stops = self._stops
        self._each(self.sensors, lambda sensor: sensor.reset())
        stopped = {name: robot for name, robot in self.robots.items() if robot.phase is Phase.STOPPED}
        if stops == self._stops:
            self._each(stopped, lambda robot: robot.reset())
        with self._lock:
            was_stopped = stops != self._stops
            if not was_stopped:
                self._latched = ""
        if was_stopped:
            self._each(stopped, lambda robot: robot.stop(self._latched))
            text = "a stop came meanwhile, which stays. Reset again when that is over."
            raise Refused(text, field="phase", value=Phase.STOPPED.value)
        return f"{', '.join(stopped) or 'the node'}: alarms and stops are cleared; nothing moves."

    def fallen(self) -> str:
        """Why not all robots are active, in words; "" where they are."""
        return "; ".join(
            f"{name} is {robot.phase.value}{f': {robot.reason}' if robot.reason else ''}"
            for name, robot in self.robots.items()
            if robot.phase is not Phase.ACTIVE
        )

    # --- helpers ----------------------------------------------------------------------------------------------------
    def _refuse_latched(self) -> None:
        if self._latched:
            text = f"stopped: {self._latched}. Reset it first (service ~/reset)."
            raise Refused(text, field="phase", value=Phase.STOPPED.value)

    def _each(self, devices: Mapping[str, D], act: Callable[[D], object]) -> None:
        """Act on all devices at once: none waits for another that does not answer."""
        if len(devices) == 1:  # a single device needs no thread
            for name, device in devices.items():
                _named(name, partial(act, device))
        elif devices:
            with ThreadPoolExecutor(len(devices), thread_name_prefix="devices") as pool:
                asked = [pool.submit(_named, name, partial(act, device)) for name, device in devices.items()]
            _raise_all([problem for one in asked if (problem := one.exception()) is not None])


def _named(name: str, act: Callable[[], object]) -> None:
    """Act on a device; errors name it."""
    try:
        act()
    except AdaError as problem:
        raise HardwareError(f"{name}: {problem}") from problem


def _raise_all(problems: Sequence[BaseException]) -> None:
    """One error for all; unexpected ones come first."""
    for problem in problems:
        if not isinstance(problem, AdaError):
            raise problem
    if problems:
        raise HardwareError(" ".join(map(str, problems)))
