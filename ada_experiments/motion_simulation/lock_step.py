# SPDX-License-Identifier: Apache-2.0
"""Dynamics and table in one process and in simulated time: each run of the same settings gives the same numbers.

Every packet goes through the codec and a way with faults between the programs, so that delay, jitter and loss are those
of a network. The table's cycles come `phase` after the dynamics'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_experiments.motion_simulation.delay_meter import DelaySummary
from ada_experiments.motion_simulation.dynamics_program import DynamicsProgram, LoopSettings, Phase, Row
from ada_experiments.motion_simulation.motion_table import MotionTable
from ada_experiments.motion_simulation.robot_pair import RobotPair
from ada_experiments.motion_simulation.table_program import FollowSettings, TableProgram
from ada_experiments.motion_simulation.touch import SMOOTHED, first_touch, smoothed
from ada_hardware.emulation.faults import WireFaults
from ada_robot.errors import NoAnswer

LONGEST_WAIT = 5000  # cycles until the table must be ready


@dataclass(frozen=True, eq=False)
class Record:
    """A hybrid motion.

    Attributes:
        t: beginnings of the steps [s].
        force: on the tip, that pushed the robots, [f, n] in the tip's axes; rows.
        measured: the newest measured one at the time; rows.
        distance: of the face's origin from the tip along the tip's axis; rows [m].
        sent: the same of the pose that was sent to the table; rows [m].
        plate: the same of the plate, as the table measured it; rows [m].
        speed: of the face along the tip's axis; rows [m/s].
        delay: of each force [s].
        energy: of both robots [J].
        touch_energy: ½ m_e v² of the approach: what a touch can turn into that of a spring and back [J].
        momentum: of both before and after the motion, linear and angular about the world's origin, (2, 6).
        delays: figures of the loop.
        stiffness: of the touch, as identified [N/m].
        filled: steps whose force was guessed.
        coasted: periods of the table without a new pose.
        made: share of a touch's energy that the loop made of its own, as its observer saw it; 0: it was passive.
    """

    t: Array
    force: Array
    measured: Array
    distance: Array
    sent: Array
    plate: Array
    speed: Array
    delay: Array
    energy: Array
    touch_energy: float
    momentum: Array
    delays: DelaySummary
    stiffness: float
    filled: int
    coasted: int
    made: float

    @property
    def push(self) -> Array:
        """Size of the force that pushed the robots [N]."""
        return np.asarray(np.linalg.norm(self.force[:, :3], axis=1))

    @property
    def gain(self) -> float:
        """Energy that the touches fed in, by `touch_energy`; negative: they took some."""
        return float(self.energy[-1] - self.energy[0]) / self.touch_energy

    def smoothed(self, span: float = SMOOTHED) -> Array:
        """`push` without the plate's own swing on the probe, see `touch.smoothed` [N]."""
        return smoothed(self.push, float(self.t[1] - self.t[0]), span)

    @property
    def touch(self) -> tuple[float, float]:
        """Begin and end of the first touch: gaps shorter than 20 ms, in which the plate jumps, count as touch [s].

        Raises:
            InputError: there is none.
        """
        found = first_touch(self.t, self.push, float(self.t[1] - self.t[0]))
        if found is None:
            raise InputError("nothing touched; let the motion last longer, or begin with a smaller gap.")
        return found


def run(
    pair: RobotPair,
    table: MotionTable,
    duration: float,
    loop: LoopSettings | None = None,
    *,
    faults: Mapping[str, float] | None = None,
    seed: int = 0,
    phase: float = 5e-4,
    follow: FollowSettings | None = None,
    on_share: Callable[[float], object] | None = None,
    longest_wait: int = LONGEST_WAIT,
) -> Record:
    """Let a hybrid motion happen.

    Args:
        pair: the robots; they begin anew.
        table: the motion table.
        duration: of the motion [s].
        loop: how the loop is closed; by default compensated.
        faults: of the network between the programs, see `emulation.faults`: delay, jitter, drop, reorder ...
        seed: of the random ones.
        phase: of the table's cycles behind those of the dynamics [s].
        follow: how the table follows.
        on_share: told how much is done.
        longest_wait: cycles until the table must be ready.

    Raises:
        Refused: the table cannot go where the motion leads.
        NoAnswer: the table is not ready, or fell silent.
    """
    step = pair.settings.step
    if abs(table.period - step) > 1e-9:
        text = f"the table's period is {table.period:g} s and the step of the dynamics {step:g} s; make them equal."
        raise InputError(text, field="period", value=table.period, allowed=step)
    if not 0.0 <= phase < step:
        raise InputError(
            f"phase is {phase!r}; it must be from 0 to less than the step, {step:g} s.", field="phase", value=phase
        )
    pair.reset()
    network = WireFaults(faults, is_stream=False, seed=seed)
    dynamics, follower = DynamicsProgram(pair, loop), TableProgram(table, follow)
    table.open()
    before, touch_energy = pair.momentum(), 0.5 * pair.effective_mass() * pair.settings.approach**2
    try:
        cycles = waited = 0
        while pair.time < duration - 0.5 * step:
            now = cycles * step
            for arrival in network.answers.arrived(now):
                dynamics.received(arrival.data, arrival.time)
            packet, _ = dynamics.cycle(now)
            network.commands.send(packet, now)
            then = now + phase
            for arrival in network.commands.arrived(then):
                follower.received(arrival.data, arrival.time)
            answer = follower.cycle(then)
            if answer is not None:
                network.answers.send(answer, then)
            cycles += 1
            waited += dynamics.phase is Phase.WAITING
            if waited > longest_wait:
                words = f"the motion table is not ready after {longest_wait} cycles; look at what it says."
                raise NoAnswer(words, field="ready", value=longest_wait)
            if on_share is not None and cycles % 50 == 0:
                on_share(pair.time / duration)
    finally:
        table.close()
    return _record(dynamics, follower, touch_energy, np.array([before, pair.momentum()]))


def _record(dynamics: DynamicsProgram, follower: TableProgram, touch_energy: float, momentum: Array) -> Record:
    rows: list[Row] = dynamics.rows
    stack = np.array
    return Record(
        t=stack([r.time for r in rows]),
        force=stack([r.wrench for r in rows]),
        measured=stack([r.measured for r in rows]),
        distance=stack([r.relative.pose[2, 3] for r in rows]),
        sent=stack([r.sent[2, 3] for r in rows]),
        plate=stack([r.plate[2, 3] for r in rows]),
        speed=stack([r.relative.twist[2] for r in rows]),
        delay=stack([r.delay for r in rows]),
        energy=stack([r.energy for r in rows]),
        touch_energy=touch_energy,
        momentum=momentum,
        delays=dynamics.delays.summary(),
        stiffness=dynamics.filling.stiffness,
        filled=dynamics.filling.filled,
        coasted=follower.coasted,
        made=dynamics.passivity.made,
    )
