# SPDX-License-Identifier: Apache-2.0
"""The program of the first machine: simulates both robots, sends poses to the table, takes its forces (sec. 3.1).

Sans I/O: `received` is given what came, `cycle` does one step and gives what is to be sent. In each cycle the pose goes
out before the step is computed, so that the table has it as early as can be.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_experiments.motion_simulation.delay_meter import DelayMeter
from ada_experiments.motion_simulation.force_filling import ForceFilling
from ada_experiments.motion_simulation.frames import Motion, Mounting, of_seven, to_seven
from ada_experiments.motion_simulation.packets import Flags, ForcePacket, PicturePacket, PosePacket, decode, encode
from ada_experiments.motion_simulation.passivity import ActiveLoopWarning, PassivityObserver
from ada_experiments.motion_simulation.prediction import longest_passive_delay, predicted
from ada_experiments.motion_simulation.robot_pair import PairSettings, RobotPair
from ada_robot.errors import NoAnswer, Refused
from ada_robot.settings import setting


@dataclass(frozen=True)
class LoopSettings:
    """How the loop is closed."""

    compensation: int = setting(2, "of the delay: 0 none, 1 by velocity, 2 by acceleration, too", choices=(0, 1, 2))
    fills: bool = setting(True, "guess the forces of lost answers from the stiffness of the touch")
    expected_stiffness: float = setting(0.0, "of the touch, until it is identified", unit="N/m", lower=0.0)
    least_force: float = setting(
        0.05, "under which a force is the sensor's noise and pushes nothing", unit="N", lower=0.0
    )
    energy_tolerance: float = setting(
        0.02, "share of a touch's energy that the loop may make before it warns", lower=0.0, upper=10.0
    )
    silence: float = setting(0.1, "without a new force after which the motion ends", unit="s", lower=0.01, upper=10.0)


class Phase(Enum):
    """How far it is."""

    WAITING = "waiting for the table"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True)
class Row:
    """Events of a step.

    Attributes:
        time: its beginning, simulated [s].
        wrench: on the tip in its axes, that pushed the robots.
        measured: the newest that had come, with the sensor's noise.
        relative: the face as the tip saw it.
        sent: X that was sent: where the face is to be, as the tip sees it.
        plate: X of the plate as the table measured it.
        delay: of the force [s].
        energy: of both robots [J].
    """

    time: float
    wrench: Array
    measured: Array
    relative: Motion
    sent: Array
    plate: Array
    delay: float
    energy: float


class DynamicsProgram:
    """See above.

    Attributes:
        pair: the robots.
        phase: how far it is.
        rows: what happened, where `keeps_rows`.
    """

    def __init__(
        self, pair: RobotPair, settings: LoopSettings | None = None, *, keeps_rows: bool = True, pictures_every: int = 0
    ) -> None:
        """Prepare.

        Args:
            pair: the robots, at their start.
            settings: of the loop.
            keeps_rows: whether each step is kept.
            pictures_every: a packet for the graphics every so many steps; 0: none.
        """
        self.pair, self.settings, self.phase = pair, settings or LoopSettings(), Phase.WAITING
        self.mounting: Mounting = pair.mounting
        self.rows: list[Row] = []
        self._keeps, self._every = keeps_rows, pictures_every
        self._step, self._mass = pair.settings.step, pair.effective_mass()
        self._meter = DelayMeter(self._step)
        self._filling = ForceFilling(self._step, self.settings.least_force, self.settings.expected_stiffness)
        self._passivity = PassivityObserver(self._step, self.settings.energy_tolerance)
        self._has_warned = False
        self._sequence = self._pictures = 0
        self._newest: ForcePacket | None = None
        self._waits_since = 0  # clock [ns]; answers to older poses are those of another motion
        self._heard: float | None = None  # clock [s]
        self.refused_packets = 0

    # --- what is known of the loop ----------------------------------------------------------------------------------
    @property
    def delays(self) -> DelayMeter:
        """Of the loop."""
        return self._meter

    @property
    def filling(self) -> ForceFilling:
        """Predictor of lost forces."""
        return self._filling

    @property
    def passivity(self) -> PassivityObserver:
        """Energy that the loop takes and makes."""
        return self._passivity

    # --- in and out -------------------------------------------------------------------------------------------------
    def received(self, data: bytes, now: float) -> None:
        """Bytes came from the table.

        Args:
            data: a packet, if it is one.
            now: clock [s].

        Raises:
            Refused: the table says that it cannot go on.
        """
        packet = decode(data)
        if not isinstance(packet, ForcePacket):
            self.refused_packets += 1
            return
        if not self._meter.takes(packet.sequence):
            return
        if packet.flags & Flags.REFUSED:
            self.phase = Phase.ENDED
            raise Refused(f"the motion table stopped: {packet.text}", field="table", value=packet.text)
        if packet.flags & Flags.STALE:
            return
        self._newest, self._heard = packet, now
        if self.phase is Phase.RUNNING and np.isfinite(packet.pose_time):
            self._filling.learn(packet.pose_time, self.mounting.on_tip(packet.wrench)[:3])

    def cycle(self, now: float) -> tuple[bytes, bytes | None]:
        """One step; the packets for the table, and, where it is time, for the graphics.

        Args:
            now: clock [s].

        Raises:
            NoAnswer: the table has been silent for too long.
        """
        self._listen(now)
        if self.phase is Phase.WAITING and self._table_is_ready:
            self.phase, self._heard = Phase.RUNNING, now
        running = self.phase is Phase.RUNNING
        time = self.pair.time
        wrench = self._wrench(time, now) if running else np.zeros(6)
        relative = self.pair.relative(wrench)
        horizon = self._meter.delay if running else 0.0
        ahead = predicted(relative, horizon, self.settings.compensation if running else 0)
        twist = ahead.twist if running else np.zeros(6)
        pose = self.mounting.plate_pose(ahead.pose)
        flags = Flags.RUN if running else Flags(0)
        packet = PosePacket(
            self._next(), time, round(now * 1e9), to_seven(pose), self.mounting.plate_twist(ahead.pose, twist), flags
        )
        self._filling.sent(time, ahead.pose[:3, 3])
        picture = self._picture(wrench, pose) if self._every and self._sequence % self._every == 0 else None
        if running:
            self._passivity.observe(wrench, relative)
            self._warn_if_active()
            self._keep(wrench, relative, ahead.pose)
            self.pair.step(wrench)
        return encode(packet), picture

    def again(self, now: float) -> None:
        """Let both robots begin anew, once the table is where they do.

        Args:
            now: clock [s].
        """
        self.pair.reset()
        self.phase, self._waits_since, self._newest = Phase.WAITING, round(now * 1e9), None
        self._filling.restart()
        self._passivity.restart()

    def end(self, now: float) -> bytes:
        """The last packet for the table: hold where you are."""
        self.phase = Phase.ENDED
        pose = self.mounting.plate_pose(self.pair.relative(np.zeros(6)).pose)
        return encode(
            PosePacket(self._next(), self.pair.time, round(now * 1e9), to_seven(pose), np.zeros(6), Flags.END)
        )

    # --- inside -----------------------------------------------------------------------------------------------------
    def _next(self) -> int:
        self._sequence += 1
        return self._sequence

    @property
    def _table_is_ready(self) -> bool:
        """True if the plate is where this motion begins."""
        newest = self._newest
        if newest is None or not newest.flags & Flags.READY:
            return False
        return bool(np.isfinite(newest.pose_time)) and newest.pose_sent_ns >= self._waits_since

    def _listen(self, now: float) -> None:
        if self._heard is None:
            self._heard = now
        silent = now - self._heard
        if self.phase is Phase.RUNNING and silent > self.settings.silence:
            self.phase = Phase.ENDED
            text = (
                f"no new force came from the motion table for {1e3 * silent:.0f} ms (allowed "
                f"{1e3 * self.settings.silence:g} ms); the motion ended. Look whether its program runs, whether its "
                "devices answer, and at the network between the machines."
            )
            raise NoAnswer(text, field="silence", value=silent, allowed=self.settings.silence)

    def _wrench(self, time: float, now: float) -> Array:
        """On the tip, for the step that begins now."""
        packet = self._newest
        if packet is None or not packet.pose_time > 0.0:  # time stood still while the table was waited for
            return np.zeros(6)
        self._meter.measure(time, packet.pose_time, max(0, round(now * 1e9) - packet.pose_sent_ns))
        wrench = self.mounting.on_tip(packet.wrench)
        if self.settings.fills:
            usual = time + 0.5 * self._step - self._meter.delay
            wrench = self._filling.filled_in(usual, packet.pose_time, wrench)
        if float(np.linalg.norm(wrench[:3])) < self.settings.least_force:
            return np.zeros(6)
        return wrench

    def _warn_if_active(self) -> None:
        """Say once that the loop makes energy, and what it bears."""
        if self._has_warned or not self._passivity.is_active:
            return
        self._has_warned = True
        made, allowed = 100 * self._passivity.made, 100 * self._passivity.tolerance
        stiffness, order = self._filling.stiffness, self.settings.compensation
        bears = ""
        if stiffness > 0.0 and order == 2:
            longest = 1e3 * longest_passive_delay(stiffness, self._mass)
            bears = f"; a touch of {stiffness:.0f} N/m bears {longest:.0f} ms, less the table's own lag"
        warnings.warn(
            f"hybrid loop: at t = {self.pair.time:.3f} s it has given the robots {made:.1f} % more energy than the "
            f"touch took (allowed {allowed:g} %); forces are {1e3 * self._meter.delay:.1f} ms late, compensation = "
            f"{order}{bears}. What follows is not the motion of the robots: compensate the delay (compensation = 2), "
            "shorten it, or make the table softer (K_p).",
            ActiveLoopWarning,
            stacklevel=3,
        )

    def _keep(self, wrench: Array, relative: Motion, sent: Array) -> None:
        if not self._keeps or self._newest is None:
            return
        packet, pair = self._newest, self.pair
        late = pair.time + 0.5 * self._step - packet.pose_time
        plate = self.mounting.face_pose(of_seven(packet.pose))
        measured = self.mounting.on_tip(packet.wrench)
        self.rows.append(Row(pair.time, wrench, measured, relative, sent, plate, late, pair.energy()))

    def _picture(self, wrench: Array, plate: Array) -> bytes:
        one, two = self.pair.one, self.pair.two
        first, _ = self.pair.in_world(wrench)
        tip = one.dynamics.pose(one.place.link, one.q) @ one.place.frame
        touching = Flags.TOUCHING if wrench.any() else Flags(0)
        self._pictures += 1
        packet = PicturePacket(
            self._pictures,
            self.pair.time,
            first,
            tip[:3, 3],
            to_seven(plate),
            self._meter.delay,
            one.q,
            two.q,
            touching,
        )
        return encode(packet)


__all__ = ["DynamicsProgram", "InputError", "LoopSettings", "PairSettings", "Phase", "Row"]
