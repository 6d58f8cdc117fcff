# SPDX-License-Identifier: Apache-2.0
"""The loop of dynamics and motion table (sec. 3.1): poses to the table, and measured forces back, over a network.

`DynamicsProgram` simulates both robots; it sends each pose before its step, so that the table receives it as early as
possible. `TableProgram` makes the motion table follow the poses. Without a new pose the plate continues with the last
twist for a limited time, and the reply contains the simulated time of the extrapolated pose; after that it holds.

`run` advances both in turn, in one process. The clock of the table keeps the time: with a `ManualClock` the motion is
independent of the speed of the machine, and reproducible; with the clock of the machine it runs in real time, as real
devices require.
"""

from __future__ import annotations

import heapq
import random
import warnings
from collections import deque
from dataclasses import dataclass
from typing import Annotated, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_experiments.motion_simulation.delay import (
    ENERGY_TOLERANCE,
    ActiveLoopWarning,
    DelayMeter,
    ForceFilling,
    PassivityObserver,
    longest_passive_delay,
    predicted,
    smoothed,
    touches,
)
from ada_experiments.motion_simulation.frames import FrameMotion, displaced
from ada_experiments.motion_simulation.motion_table import MotionTable, Reading
from ada_experiments.motion_simulation.robots import RobotPair
from ada_experiments.settings import OR_ZERO
from ada_robot.errors import NoAnswer, Refused

Compensation: TypeAlias = Literal[0, 1, 2]  # of the delay: none, by velocity, by velocity and acceleration
LEAST_FORCE = 0.05  # [N] threshold below which a force is sensor noise
COASTS = 0.02  # [s] for which the plate continues without a new pose
SILENCE = 0.1  # [s] without a new pose or a new force, after which the motion ends
PHASE = 5e-4  # [s] by which the table's cycles lag behind those of the dynamics
LONGEST_WAIT = 5000  # cycles until the table is ready


# --- messages -------------------------------------------------------------------------------------------------------
class PoseMessage(NamedTuple):
    """Target pose of the plate, to the table."""

    number: int
    time: float  # simulated [s]
    pose: Array  # 4x4
    twist: Array
    runs: bool  # False: hold the pose, the motion has not begun


class ForceMessage(NamedTuple):
    """Measured wrench and pose, from the table."""

    number: int
    pose_time: float  # simulated time of the pose to which the force belongs [s]; NaN before the first
    wrench: Array  # on the probe at the sensor
    pose: Array  # of the plate, 4x4
    is_ready: bool
    is_fresh: bool


class Network(NamedTuple):
    """Network between dynamics and table."""

    delay: Annotated[float, "s", OR_ZERO] = 0.0  # in each direction
    jitter: Annotated[float, "s", OR_ZERO] = 0.0  # largest random additional delay
    loss: Annotated[float, "1", OR_ZERO] = 0.0  # fraction of lost messages
    seed: int = 0


M = TypeVar("M", PoseMessage, ForceMessage)


class _Direction(Generic[M]):
    """One direction of a network."""

    def __init__(self, network: Network, seed: int) -> None:
        self._network, self._random = network, random.Random(seed)
        self._queue: list[tuple[float, int, M]] = []

    def send(self, message: M, time: float) -> None:
        """Send a message at a time [s]."""
        own = self._network
        if own.loss and self._random.random() < own.loss:
            return
        arrival = time + own.delay + own.jitter * self._random.random()
        heapq.heappush(self._queue, (arrival, message.number, message))

    def arrived(self, now: float) -> list[M]:
        """Messages that have arrived, each once."""
        found = []
        while self._queue and self._queue[0][0] <= now:
            found.append(heapq.heappop(self._queue)[2])
        return found


# --- dynamics -------------------------------------------------------------------------------------------------------
class DynamicsProgram:
    """Simulation of both robots.

    Attributes:
        pair: simulated robots.
        is_running: whether the motion has begun: the table is at the initial pose.
        rows: of each step the start [s], the wrench on the tip in tip axes, the distance of the face from the tip along
            its axis [m], the delay of the force [s], and the energy of both robots [J].
        delays: delay and losses of the loop.
        filling: estimator of lost forces.
        passivity: passivity observer of the loop.
    """

    def __init__(self, pair: RobotPair, compensation: Compensation = 2, least_force: float = LEAST_FORCE) -> None:
        """Initialize with robots in their initial state, and the settings of `run`."""
        self.pair, self.mounting = pair, pair.mounting
        self.is_running = self._has_warned = False
        self.rows: list[tuple[float, Array, float, float, float]] = []
        self._compensation, self._least = compensation, least_force
        self._step, self._mass = pair.settings.step, pair.effective_mass()
        self.delays = DelayMeter(self._step)
        self.filling = ForceFilling(self._step, least_force)
        self.passivity = PassivityObserver(self._step, ENERGY_TOLERANCE)
        self._sent = 0
        self._newest: ForceMessage | None = None
        self._heard = 0.0  # time of the newest force [s]

    def received(self, message: ForceMessage, now: float) -> None:
        """Process a message of the table at a time [s]."""
        if not self.delays.takes(message.number) or not message.is_fresh:
            return
        self._newest, self._heard = message, now
        if self.is_running and np.isfinite(message.pose_time):
            self.filling.learn(message.pose_time, self.mounting.on_tip(message.wrench)[:3])

    def cycle(self, now: float) -> PoseMessage:
        """Perform one step at a time [s]; return the message for the table.

        Raises:
            NoAnswer: the table is silent.
        """
        newest = self._newest
        if not self.is_running and newest is not None and newest.is_ready and np.isfinite(newest.pose_time):
            self.is_running, self._heard = True, now
        if self.is_running and now - self._heard > SILENCE:
            text = (
                f"no new force from the motion table for {1e3 * (now - self._heard):.0f} ms (allowed "
                f"{1e3 * SILENCE:g} ms); the motion ended. Check its devices and the network."
            )
            raise NoAnswer(text, field="silence", value=now - self._heard, allowed=SILENCE)
        running, time = self.is_running, self.pair.time
        wrench = self._wrench(time) if running else np.zeros(6)
        relative = self.pair.relative(wrench)
        ahead = predicted(relative, self.delays.delay, self._compensation) if running else relative
        twist = ahead.twist if running else np.zeros(6)
        self._sent += 1
        plate_twist = self.mounting.plate_twist(ahead.pose, twist)
        message = PoseMessage(self._sent, time, self.mounting.plate_pose(ahead.pose), plate_twist, running)
        self.filling.sent(time, ahead.pose[:3, 3])
        if running:
            self.passivity.observe(wrench, relative)
            self._warn_if_active()
            self._keep(wrench, relative)
            self.pair.step(wrench)
        return message

    def _wrench(self, time: float) -> Array:
        """Wrench on the tip for the step that starts now."""
        message = self._newest
        if message is None or not message.pose_time > 0.0:  # simulated time stands still until the table is ready
            return np.zeros(6)
        self.delays.measure(time, message.pose_time)
        wanted = time + 0.5 * self._step - self.delays.delay
        wrench = self.filling.filled_in(wanted, message.pose_time, self.mounting.on_tip(message.wrench))
        return np.zeros(6) if float(np.linalg.norm(wrench[:3])) < self._least else wrench

    def _warn_if_active(self) -> None:
        """Warn once if the loop generates energy."""
        if self._has_warned or not self.passivity.is_active:
            return
        self._has_warned = True
        made, allowed = 100 * self.passivity.made, 100 * self.passivity.tolerance
        stiffness, order = self.filling.stiffness, self._compensation
        bears = ""
        if stiffness > 0.0 and order == 2:
            longest = 1e3 * longest_passive_delay(stiffness, self._mass)
            bears = f"; a contact of {stiffness:.0f} N/m tolerates {longest:.0f} ms, minus the lag of the table"
        warnings.warn(
            f"hybrid loop: at t = {self.pair.time:.3f} s the robots gained {made:.1f} % more energy than the "
            f"contact absorbed (allowed {allowed:g} %); force delay {1e3 * self.delays.delay:.1f} ms, compensation = "
            f"{order}{bears}. The further motion is invalid: compensate the delay (compensation = 2), "
            "reduce it, or reduce the table stiffness (K_p).",
            ActiveLoopWarning,
            stacklevel=4,
        )

    def _keep(self, wrench: Array, relative: FrameMotion) -> None:
        message, pair = self._newest, self.pair
        if message is not None:
            late = pair.time + 0.5 * self._step - message.pose_time
            self.rows.append((pair.time, wrench, float(relative.pose[2, 3]), late, pair.energy()))


# --- table ----------------------------------------------------------------------------------------------------------
class TableProgram:
    """Pose tracking of a motion table.

    Attributes:
        table: open motion table.
        coasted: number of periods without a new pose.
    """

    def __init__(self, table: MotionTable) -> None:
        """Initialize with an open motion table."""
        self.table = table
        self.coasted = self._sent = 0
        self._newest: PoseMessage | None = None
        self._used = 0  # number of the pose of the last exchange
        self._without = 0  # periods since the last new pose
        self._acting: deque[float] = deque(maxlen=table.exchanges_to_force)  # times of poses whose force is pending
        self._measured = np.nan  # time of the pose of the latest force [s]
        self._is_prepared = False

    def received(self, message: PoseMessage) -> None:
        """Process a message of the dynamics."""
        if self._newest is None or message.number > self._newest.number:
            self._newest = message

    def cycle(self) -> ForceMessage | None:
        """Perform one period; return the reply for the dynamics, None before the first pose.

        Raises:
            Refused: the table or its sensor reports a problem, or the table cannot follow.
            NoAnswer: the dynamics is silent, or a device does not reply.
        """
        if self._newest is None:
            self.table.idle()
            return None
        reading = self._follow(self._newest)
        if reading.problem:
            text = f"the motion table stopped: {reading.problem}"
            raise Refused(text, field="table", value=reading.problem)
        self._sent += 1
        return ForceMessage(
            self._sent, self._measured, reading.wrench, reading.pose, reading.is_ready, reading.is_fresh
        )

    def _follow(self, message: PoseMessage) -> Reading:
        pose, twist = message.pose, message.twist
        if not self._is_prepared:
            reading = self.table.prepare(pose)
            self._is_prepared = reading.is_ready
            return reading._replace(is_ready=False)
        is_new = message.number != self._used
        self._without = 0 if is_new else self._without + 1
        self.coasted += message.runs and not is_new
        without, ahead = self._without * self.table.period, 0.0
        if not message.runs:
            twist = np.zeros(6)
        elif without > SILENCE:
            text = f"the motion table received no pose for {1e3 * without:.0f} ms (allowed {1e3 * SILENCE:g} ms)."
            raise NoAnswer(text, field="silence", value=without, allowed=SILENCE)
        elif without:
            ahead = min(without, COASTS)
            pose = displaced(pose, ahead * twist)
        reading = self.table.exchange(pose, np.zeros(6) if without > COASTS else twist)
        self._measured = self._acting[0] if len(self._acting) == self._acting.maxlen else np.nan
        self._acting.append(message.time + ahead)
        self._used = message.number
        return reading


# --- both -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Record:
    """A recorded hybrid motion, a row per step."""

    t: Array  # start times of the steps [s]
    force: Array  # wrench on the tip that acted on the robots, [f, n] in tip axes
    distance: Array  # of the face from the tip, along the axis of the tip [m]
    delay: Array  # of each force: from its pose to the middle of the step in which it acts [s]
    energy: Array  # of both robots [J]
    touch_energy: float  # ½ m_e v² of the approach: energy that a contact can store elastically [J]
    momentum: Array  # of both robots before and after the motion, linear and angular about the world origin, (2, 6)
    answers: int  # used replies of the table
    lost: int  # missing replies
    stiffness: float  # identified contact stiffness [N/m]
    filled: int  # steps with an estimated force
    coasted: int  # table periods without a new pose
    late: int  # table periods that began too late; in real time, use no motion with any
    made: float  # fraction of the contact energy generated by the loop, from its observer; 0 if passive

    @property
    def push(self) -> Array:
        """Magnitude of the force that acted on the robots [N]."""
        return np.asarray(np.linalg.norm(self.force[:, :3], axis=1))

    @property
    def gain(self) -> float:
        """Energy gained in contacts relative to `touch_energy`; negative if energy was lost."""
        return float(self.energy[-1] - self.energy[0]) / self.touch_energy

    def smoothed(self) -> Array:
        """`push` without the oscillation of the plate on the probe, see `delay.smoothed` [N]."""
        return smoothed(self.push, float(self.t[1] - self.t[0]))

    @property
    def touch(self) -> tuple[float, float]:
        """Start and end of the first contact; gaps below 20 ms, in which the plate bounces, are included [s].

        Raises:
            InputError: no contact.
        """
        step = float(self.t[1] - self.t[0])
        for first, last in touches(self.push, step):
            return float(self.t[first]), float(self.t[last] + step)
        raise InputError("no contact occurred; use a longer motion or a smaller initial gap.")


def run(
    pair: RobotPair,
    table: MotionTable,
    duration: float,
    *,
    compensation: Compensation = 2,
    least_force: float = LEAST_FORCE,
    network: Network = Network(),  # noqa: B008  (immutable)
) -> Record:
    """Run a hybrid motion.

    Args:
        pair: robots; they are reset.
        table: motion table; its clock keeps the time.
        duration: duration of the motion [s].
        compensation: of the delay: 0 none, 1 by velocity, 2 by velocity and acceleration.
        least_force: threshold below which a force is treated as sensor noise [N].
        network: network between both sides; without delay and loss by default.

    Raises:
        Refused: the table cannot follow the motion.
        NoAnswer: the table is not ready, or does not reply.
    """
    step = pair.settings.step
    if abs(table.period - step) > 1e-9:
        text = f"the table's period is {table.period:g} s and the step of the dynamics {step:g} s; they must be equal."
        raise InputError(text, field="period", value=table.period, allowed=step)
    pair.step(np.zeros(6))  # compiles all before the first deadline
    pair.relative(np.zeros(6))
    pair.energy()
    pair.reset()
    commands: _Direction[PoseMessage] = _Direction(network, 2 * network.seed)
    answers: _Direction[ForceMessage] = _Direction(network, 2 * network.seed + 1)
    dynamics, follower = DynamicsProgram(pair, compensation, least_force), TableProgram(table)
    before, touch_energy = pair.momentum(), 0.5 * pair.effective_mass() * pair.settings.approach**2
    table.open()
    try:
        cycles = 0
        while pair.time < duration - 0.5 * step:
            now = cycles * step
            for reply in answers.arrived(now):
                dynamics.received(reply, now)
            commands.send(dynamics.cycle(now), now)
            for pose in commands.arrived(now + PHASE):
                follower.received(pose)
            answer = follower.cycle()
            if answer is not None:
                answers.send(answer, now + PHASE)
            cycles += 1
            if cycles > LONGEST_WAIT and not dynamics.is_running:
                words = f"the motion table is not ready after {LONGEST_WAIT} cycles; see its messages."
                raise NoAnswer(words, field="ready", value=LONGEST_WAIT)
    finally:
        table.close()
    return _record(dynamics, follower, touch_energy, np.array([before, pair.momentum()]))


def _record(dynamics: DynamicsProgram, follower: TableProgram, touch_energy: float, momentum: Array) -> Record:
    """Results of a motion, with the momenta before and after it."""
    t, force, distance, delay, energy = (np.array(column) for column in zip(*dynamics.rows, strict=True))
    return Record(
        *(t, force, distance, delay, energy),
        touch_energy=touch_energy,
        momentum=momentum,
        answers=dynamics.delays.answers,
        lost=dynamics.delays.lost,
        stiffness=dynamics.filling.stiffness,
        filled=dynamics.filling.filled,
        coasted=follower.coasted,
        late=follower.table.late,
        made=dynamics.passivity.made,
    )
