# SPDX-License-Identifier: Apache-2.0
"""Program of the second machine: makes the motion table follow poses, and returns measured forces.

Sans I/O: `received` takes incoming data, `cycle` performs one period and returns the reply. Without a new pose the
plate continues with the last twist for a limited time (and the reply contains the simulated time of the extrapolated
pose); after that it holds.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_experiments.motion_simulation.frames import of_seven, rotation_of, to_seven
from ada_experiments.motion_simulation.motion_table import MotionTable, Reading
from ada_experiments.motion_simulation.packets import Flags, ForcePacket, PosePacket, decode, encode
from ada_robot.settings import setting

_WRAP = 1 << 32


@dataclass(frozen=True)
class FollowSettings:
    """Pose tracking of the table."""

    coasts: float = setting(
        0.02, "time for which the plate continues without a new pose", unit="s", lower=0.0, upper=0.5
    )
    silence: float = setting(
        0.1, "maximum time without a new pose; then the plate is held and the motion ends", unit="s", lower=0.01
    )


class _Sent(NamedTuple):
    """A target pose of the plate."""

    time: float  # simulated time of the pose [s]
    sent_ns: int  # clock of the dynamics
    came: float  # local clock [s]


class TableProgram:
    """State of the program.

    Attributes:
        table: motion table.
        problem: reason for stopping; "" without one.
        refused_packets: number of invalid packets.
        coasted: number of periods without a new pose.
    """

    def __init__(self, table: MotionTable, settings: FollowSettings | None = None) -> None:
        """Initialize the program.

        Args:
            table: open motion table.
            settings: tracking settings.
        """
        self.table, self.settings = table, settings or FollowSettings()
        self.problem = ""
        self.refused_packets = self.coasted = 0
        self.has_ended = False
        self._sequence = 0
        self._newest: PosePacket | None = None
        self._came = 0.0
        self._used = -1  # sequence number of the pose of the last exchange
        self._without = 0  # periods since the last new pose
        self._acting: deque[_Sent] = deque(maxlen=table.exchanges_to_force)  # poses whose force is pending
        self._measured: _Sent | None = None  # pose of the latest force
        self._is_prepared = self._has_run = False

    def received(self, data: bytes, now: float) -> None:
        """Process data from the dynamics.

        Args:
            data: received bytes.
            now: clock [s].
        """
        packet = decode(data)
        if not isinstance(packet, PosePacket):
            self.refused_packets += 1
            return
        if self._newest is not None and not 0 < (packet.sequence - self._newest.sequence) % _WRAP < _WRAP // 2:
            return
        self._newest, self._came = packet, now
        if packet.flags & Flags.END:
            self.has_ended = True

    def cycle(self, now: float) -> bytes | None:
        """Perform one period; return the reply for the dynamics, None before the first packet.

        Args:
            now: clock [s].
        """
        packet = self._newest
        if packet is None:
            self.table.idle()
            return None
        if self.problem or self.has_ended:
            self.table.stop()
            return self._answer(None, now)
        try:
            return self._answer(self._follow(packet, now), now)
        except AdaError as problem:
            self._stop(str(problem))
            return self._answer(None, now)

    # --- inside -----------------------------------------------------------------------------------------------------
    def _follow(self, packet: PosePacket, now: float) -> Reading:
        pose, twist = of_seven(packet.pose), packet.twist
        runs = bool(packet.flags & Flags.RUN)
        if self._has_run and not runs:  # another motion starts at a different pose
            self._is_prepared = False
            self._acting.clear()
        self._has_run = runs
        if not self._is_prepared:
            self._measured = None
            reading = self.table.prepare(pose)
            self._is_prepared = reading.is_ready
            if reading.problem:
                self._stop(reading.problem)
            return reading._replace(is_ready=False)
        is_new = packet.sequence != self._used
        self._without = 0 if is_new else self._without + 1
        self.coasted += runs and not is_new
        ahead = self._without * self.table.period
        if runs:
            if ahead > self.settings.silence:
                self._stop(f"no pose for {1e3 * ahead:.0f} ms.")
            ahead = min(ahead, self.settings.coasts)
            if ahead:
                pose = _moved(pose, twist, ahead)
        else:
            ahead, twist = 0.0, np.zeros(6)
        held = self._without * self.table.period > self.settings.coasts
        reading = self.table.exchange(pose, np.zeros(6) if held else twist)
        self._measured = self._acting[0] if len(self._acting) == self._acting.maxlen else None
        self._acting.append(_Sent(packet.time + ahead, packet.sent_ns, self._came))
        self._used = packet.sequence
        if reading.problem:
            self._stop(reading.problem)
        return reading

    def _stop(self, why: str) -> None:
        self.problem = why
        self.table.stop()

    def _answer(self, reading: Reading | None, now: float) -> bytes:
        self._sequence += 1
        if reading is None:
            flags = Flags.REFUSED if self.problem else Flags.STALE
            nowhere = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
            return encode(ForcePacket(self._sequence, np.nan, 0, 0, np.zeros(6), nowhere, flags, self.problem))
        time, sent_ns, came = self._measured or _Sent(np.nan, 0, now)
        flags = Flags(0)
        for flag, is_set in (
            (Flags.READY, reading.is_ready),
            (Flags.SATURATED, reading.is_saturated),
            (Flags.STALE, not reading.is_fresh),
            (Flags.REFUSED, bool(self.problem)),
        ):
            flags |= flag if is_set else Flags(0)
        waited = max(0, round((now - came) * 1e9))
        return encode(
            ForcePacket(
                self._sequence, time, sent_ns, waited, reading.wrench, to_seven(reading.pose), flags, self.problem
            )
        )


def _moved(pose: Array, twist: Array, time: float) -> Array:
    moved = pose.copy()
    moved[:3, 3] += time * twist[:3]
    moved[:3, :3] = rotation_of(time * twist[3:]) @ pose[:3, :3]
    return moved
