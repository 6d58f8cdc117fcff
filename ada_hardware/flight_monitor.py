# SPDX-License-Identifier: Apache-2.0
"""Read-only view of a robot driven by another program, from the memory of its flight recorder.

No data are sent to the device or the program. The shared memory is anonymous; it is found among the open files of the
process, which are visible to the same user and root.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from ada_hardware.transport.claim import Holder
from ada_robot.cycle.messages import RobotStatus
from ada_robot.driver import Feedback, RobotDriver
from ada_robot.errors import TransportError
from ada_robot.safety.flight_recorder import MEMORY_NAME, FlightMemory, FlightState, flight_state
from ada_robot.safety.phases import Phase

_RECENT = 0.1  # [s], or five periods: largest age of a current row


class MonitoredRobot:
    """Robot of another program, read only.

    Attributes:
        device: device name.
        joints: joint names.
        limits: limits of the device; the program may use narrower ones.
        period: cycle period [s].
    """

    def __init__(self, driver: RobotDriver[Any], holder: Holder) -> None:
        """Find the shared memory.

        Args:
            driver: driver of the same kind, not opened; used for its limits and joints.
            holder: program that drives the robot.

        Raises:
            TransportError: the memory cannot be read; the message contains the reason.
        """
        self.device, self.joints, self.limits, self._holder = driver.NAME, driver.joints, driver.limits, holder
        self._memory = _memory(driver.NAME, tuple(driver.joints), holder)
        self.period = self._memory.flight.period

    @property
    def feedback(self) -> Feedback:
        """Feedback of the last cycle; not fresh if it is too old or the program has ended."""
        return self._state().feedback

    def status(self) -> RobotStatus:
        """Status as recorded; without communication counts and periods, which are internal to the program."""
        state, events = self._state(), self._memory.events()
        reason = events[-1].text if events else ""
        return RobotStatus(
            phase=state.phase,
            reason=f"{reason}; driven by {self._holder.words}" if self._is_running() else "its program has ended",
            alarms=state.feedback.alarms,
            feedback_age=time.monotonic() - state.feedback.time,
            place="elsewhere",
        )

    def _is_running(self) -> bool:
        return Path(f"/proc/{self._holder.pid}").exists()

    def _state(self) -> FlightState:
        row = self._memory.newest_row()
        if row is None or not self._is_running():
            unknown = np.full(len(self.joints), math.nan)
            never = Feedback(-math.inf, unknown, unknown, unknown, is_fresh=False)
            return FlightState(-math.inf, Phase.CLOSED, None, never)
        state = flight_state(row)
        if time.monotonic() - state.time <= max(_RECENT, 5.0 * self.period):
            return state
        last = state.feedback
        stale = Feedback(last.time, last.position, last.velocity, last.effort, False, last.is_driven, last.alarms)
        return state._replace(feedback=stale)


def _memory(device: str, joints: tuple[str, ...], holder: Holder) -> FlightMemory:
    """Find the shared memory of a program for this robot."""
    folder = Path(f"/proc/{holder.pid}/fd")
    refused = f"{device}: in use by {holder.words}, and cannot be monitored"
    try:
        links = list(folder.iterdir())
    except OSError:
        raise TransportError(
            f"{refused}: it belongs to another user. Run this as that user, or as root.", field="permission"
        ) from None
    found: dict[int, FlightMemory] = {}
    for link in links:
        try:
            if MEMORY_NAME not in str(link.readlink()):
                continue
            descriptor = os.open(link, os.O_RDONLY)
        except OSError:  # closed in the meantime
            continue
        try:
            memory = FlightMemory(descriptor, is_writer=False)
            if memory.flight.joints == joints:
                found[os.fstat(descriptor).st_ino] = memory
        except (ValueError, KeyError, TypeError):  # memory of another kind
            continue
        finally:
            os.close(descriptor)
    if len(found) != 1:
        why = "it drives several such robots" if found else "it records no flight data of such a robot (record_seconds)"
        raise TransportError(f"{refused}: {why}. End it first, or use its ROS 2 topics.", field="holder")
    return next(iter(found.values()))
