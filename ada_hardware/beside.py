# SPDX-License-Identifier: Apache-2.0
"""A robot that another program drives, seen from beside it: read from the memory of its flight recorder.

Nothing is sent, neither to the device nor to the program: a device has one host, which records each of its
cycles. Its memory has no name, but the system shows it among the open files of the process to the same user and root.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from ada_hardware.transport.claim import Holder
from ada_robot.driver import Feedback, RobotDriver
from ada_robot.errors import TransportError
from ada_robot.robot_status import RobotStatus
from ada_robot.safety.flight_memory import MEMORY_NAME, FlightMemory
from ada_robot.safety.flight_recorder import FlightState, flight_state
from ada_robot.safety.phases import Phase

_RECENT = 0.1  # [s], or five periods: age up to which a row counts as present


class DrivenElsewhere:
    """One robot of another program, read only.

    Attributes:
        device: name of its kind.
        joints: names.
        limits: of the device; the program may have narrower ones.
        period: between cycles [s].
    """

    def __init__(self, driver: RobotDriver[Any], holder: Holder) -> None:
        """Find it.

        Args:
            driver: one of the same kind, never opened: it knows limits and period.
            holder: program that has the wire.

        Raises:
            TransportError: its memory cannot be read from here; the message says why.
        """
        self.device, self.joints, self.limits, self._holder = driver.NAME, driver.joints, driver.limits, holder
        self._memory = _memory(driver.NAME, tuple(driver.joints), holder)
        self.period = self._memory.flight.period

    @property
    def feedback(self) -> Feedback:
        """Feedback of the newest cycle; not fresh where that is long ago, or its program has ended."""
        return self._state().feedback

    def status(self) -> RobotStatus:
        """Status as seen from here; counts of the wire and periods are the program's own."""
        state, events = self._state(), self._memory.events()
        reason = events[-1].text if events else ""
        return RobotStatus(
            phase=state.phase,
            reason=f"{reason}; driven by {self._holder.words}" if self._lives() else "its program has ended",
            alarms=state.feedback.alarms,
            feedback_age=time.monotonic() - state.feedback.time,
            place="elsewhere",
        )

    def _lives(self) -> bool:
        return Path(f"/proc/{self._holder.pid}").exists()

    def _state(self) -> FlightState:
        row = self._memory.newest_row()
        if row is None or not self._lives():
            unknown = np.full(len(self.joints), math.nan)
            never = Feedback(-math.inf, unknown, unknown, unknown, is_fresh=False)
            return FlightState(-math.inf, Phase.CLOSED, None, never)
        state = flight_state(row)
        if time.monotonic() - state.time <= max(_RECENT, 5.0 * self.period):
            return state
        return state._replace(feedback=_old(state.feedback))


def _old(last: Feedback) -> Feedback:
    return Feedback(last.time, last.position, last.velocity, last.effort, False, last.is_driven, last.alarms)


def _memory(device: str, joints: tuple[str, ...], holder: Holder) -> FlightMemory:
    """The memory in which a program keeps this robot's flight."""
    folder = Path(f"/proc/{holder.pid}/fd")
    refused = f"{device}: in use by {holder.words}, and cannot be looked at beside it"
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
        except OSError:  # closed meanwhile
            continue
        try:
            memory = FlightMemory(descriptor, is_writer=False)
            if memory.flight.joints == joints:
                found[os.fstat(descriptor).st_ino] = memory
        except (ValueError, KeyError, TypeError):  # of something else
            continue
        finally:
            os.close(descriptor)
    if len(found) != 1:
        why = "it drives several such robots" if found else "it keeps no flight record of such a robot (record_seconds)"
        raise TransportError(
            f"{refused}: {why}. End it first, or ask it: under ROS 2 its topics tell the same.", field="holder"
        )
    return next(iter(found.values()))
