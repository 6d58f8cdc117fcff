# SPDX-License-Identifier: Apache-2.0
"""All robots and sensors of a node, opened, activated, stopped and closed together; no ROS.

If one robot leaves its phase, all are stopped. A stop is latched here as well as in the robots, so that a stop during
opening is not lost.
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
    """Robots and sensors of a node.

    Attributes:
        robots: robots by name.
        sensors: sensors by name.
    """

    def __init__(self) -> None:
        """Start without devices; `take` adds them."""
        self.robots: dict[str, Robot] = {}
        self.sensors: dict[str, ForceSensor] = {}
        self._lock = threading.Lock()
        self._latched = ""
        self._stops = 0  # number of stops

    def take(self, robots: Mapping[str, Robot], sensors: Mapping[str, ForceSensor]) -> None:
        """Replace the devices; old and new ones are closed. A latched stop remains."""
        self.robots, self.sensors = dict(robots), dict(sensors)

    @property
    def latched(self) -> str:
        """Reason of the latched stop; "" without one."""
        return self._latched

    # --- life -------------------------------------------------------------------------------------------------------
    def open(self) -> None:
        """Connect to all devices without motion. If one cannot be opened, all are closed.

        Raises:
            HardwareError: a device cannot be opened; the message names it.
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
        """Activate all robots. If one fails, all are deactivated.

        Raises:
            Refused: a stop is latched.
            HardwareError: a robot does not start; the message names it.
        """

        def act(robot: Robot) -> None:
            self._refuse_latched()
            robot.activate()

        self._refuse_latched()
        try:
            self._each(self.robots, act)
            self._refuse_latched()  # a stop during activation
        except BaseException:
            with suppress(AdaError):
                self.deactivate()
            raise

    def arm(self) -> str:
        """Arm all robots that need it after activation; return a description.

        Raises:
            Refused: a robot is not active, or there is none.
            HardwareError: a robot does not answer; the message names it.
        """
        self._refuse_latched()
        asleep = self.fallen()
        if asleep or not self.robots:
            raise Refused(f"{asleep or 'no robot'}: activate the node first, then arm it.")
        self._each(self.robots, lambda robot: robot.arm())
        return f"{', '.join(self.robots)}: armed; commands now move them."

    def bias(self) -> str:
        """Determine the zero of all sensors; return a description.

        Raises:
            AdaError: there is no sensor, or one is not steady.
        """
        if not self.sensors:
            raise Refused("no sensor, or the node is not configured.")
        zeros = []
        for name, sensor in self.sensors.items():
            zero = ", ".join(f"{one:.4g}" for one in sensor.bias())
            zeros.append(f"{name}: zero set to [{zero}] N, N m")
        return "; ".join(zeros)

    def deactivate(self) -> None:
        """Decelerate all robots along their ramps and deactivate them; stopped ones remain stopped.

        Raises:
            HardwareError: a robot does not answer; the message names it.
        """

        def act(robot: Robot) -> None:
            try:
                robot.deactivate()
            except Refused:
                if robot.phase not in (*_AT_REST, Phase.STOPPING):
                    raise

        self._each(self.robots, act)

    def close(self) -> None:
        """Decelerate and close all devices.

        Raises:
            HardwareError: a device does not answer; the message names it.
        """
        everything: dict[str, Robot | ForceSensor] = {**self.robots, **self.sensors}
        self._each(everything, lambda device: device.close())

    # --- stop and reset ---------------------------------------------------------------------------------------------
    def stop(self, why: str) -> None:
        """Stop all robots at once and latch the stop. Callable from any thread in every state.

        Raises:
            HardwareError: a robot does not answer; all other robots are stopped.
        """
        self._latch(why)
        self._each(self.robots, lambda robot: robot.stop(why))

    def halt(self, why: str) -> None:
        """Decelerate all robots along their ramps and inhibit their start. Callable from any thread in every state.

        Raises:
            HardwareError: a robot does not answer; the message names it.
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
        """Clear alarms and latched stops without motion; return a description.

        A stop during the reset is not cleared: robots already reset are stopped again.

        Raises:
            Refused: the motors of a robot are driven, or a stop occurred during the reset.
            HardwareError: an alarm remains; the message names the device.
        """
        driven = [f"{name} is {robot.phase.value}" for name, robot in self.robots.items() if robot.phase.is_driven]
        if driven:
            raise Refused(f"{', '.join(driven)}; a reset needs robots at rest: deactivate or stop the node first.")
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
            text = "a stop occurred during the reset and remains latched. Reset again."
            raise Refused(text, field="phase", value=Phase.STOPPED.value)
        return f"{', '.join(stopped) or 'the node'}: alarms and stops cleared; nothing moves."

    def fallen(self) -> str:
        """Description of the robots that are not active; "" if all are."""
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
        """Call `act` for all devices in parallel, so that none waits for another."""
        if len(devices) == 1:  # a single device needs no thread
            for name, device in devices.items():
                _named(name, partial(act, device))
        elif devices:
            with ThreadPoolExecutor(len(devices), thread_name_prefix="devices") as pool:
                asked = [pool.submit(_named, name, partial(act, device)) for name, device in devices.items()]
            _raise_all([problem for one in asked if (problem := one.exception()) is not None])


def _named(name: str, act: Callable[[], object]) -> None:
    """Call `act`; its errors are prefixed with the name of the device."""
    try:
        act()
    except AdaError as problem:
        raise HardwareError(f"{name}: {problem}") from problem


def _raise_all(problems: Sequence[BaseException]) -> None:
    """Raise one error for all; unexpected ones have priority."""
    for problem in problems:
        if not isinstance(problem, AdaError):
            raise problem
    if problems:
        raise HardwareError(" ".join(map(str, problems)))
