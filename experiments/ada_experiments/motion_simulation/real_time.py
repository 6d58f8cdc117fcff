# SPDX-License-Identifier: Apache-2.0
"""Programs of the three machines in real time: dynamics, table control, graphics, connected by UDP (sec. 3.1).

Each has a loop with absolute deadlines and prints its timing statistics as one line of JSON at its end.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_experiments.motion_simulation.delay import LONGEST_FILL, first_touch, smoothed
from ada_experiments.motion_simulation.motion_table import MotionTable
from ada_experiments.motion_simulation.programs import (
    DynamicsProgram,
    FollowSettings,
    LoopSettings,
    Phase,
    TableProgram,
)
from ada_experiments.motion_simulation.robots import RobotPair
from ada_hardware.emulation.emulated_link import WireFaults
from ada_hardware.emulation.host import ANY_UDP, UdpPort
from ada_hardware.transport import open_packets
from ada_hardware.transport.wires import Wire
from ada_robot.errors import NoAnswer
from ada_robot.timing.deadlines import DeadlineLoop
from ada_robot.timing.periods import Histogram, PeriodSummary

PICTURES_EVERY = 10  # steps: 50 pictures per second
READY_WITHIN = 60.0  # [s] timeout for the table to reach its initial pose
_PARTED = 2.0  # multiple of the initial gap at which the robots count as separated
_AT_ONCE = 64  # maximum packets per cycle


def say(what: Mapping[str, object]) -> None:
    """Print one line of JSON to stdout; a closed stdout is ignored."""
    try:
        os.write(sys.stdout.fileno(), (json.dumps(what) + "\n").encode())
    except OSError:
        return


class Stopwatch:
    """Computing time of a program per period."""

    def __init__(self, clock: Clock) -> None:
        """Initialize without measurements."""
        self._times, self._clock = Histogram(), clock

    def __call__(self, action: Callable[[], object]) -> None:
        """Run an action and record its duration."""
        began = self._clock.now_ns()
        action()
        self._times.add(self._clock.now_ns() - began)

    def summary(self) -> dict[str, float]:
        """Median, 99th percentile and maximum [ms]."""
        p50, p99 = self._times.percentiles((0.5, 0.99))
        return {"p50_ms": 1e3 * p50, "p99_ms": 1e3 * p99, "max_ms": 1e-6 * self._times.longest}


def periods(summary: PeriodSummary) -> dict[str, float]:
    """Statistics of a loop as JSON data, times in milliseconds."""
    found = asdict(summary)
    times = {f"{name}_ms": 1e3 * value for name, value in found.items() if name.startswith(("period_", "late_"))}
    return {"count": summary.count, "missed": summary.missed, **times}


class _Loop:
    """A deadline loop that ends by `over` or by an error, which `run` raises."""

    def __init__(self, name: str, period: float, tick: Callable[[int], object], priority: int) -> None:
        self.over = threading.Event()
        self._loop = DeadlineLoop(
            period, tick, name=name, priority=priority, on_failure=lambda problem: self.over.set()
        )

    def run(self, timeout: float | None = None) -> PeriodSummary:
        """Run until `over`; return the statistics of its periods, or raise the error that ended it."""
        self._loop.start()
        try:
            self.over.wait(timeout)
        finally:
            self._loop.stop()
        if self._loop.failure is not None:
            raise self._loop.failure
        return self._loop.statistics.summary()


# --- the table's machine --------------------------------------------------------------------------------------------
class TableServer:
    """Table control with a UDP port.

    Attributes:
        url: address for the dynamics.
        program: table program.
    """

    def __init__(
        self,
        table: MotionTable,
        follow: FollowSettings | None = None,
        listen: str = ANY_UDP,
        *,
        faults: Mapping[str, float] | None = None,
        seed: int = 0,
        priority: int = 0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Open port and table.

        Args:
            table: motion table.
            follow: tracking settings.
            listen: udp://HOST:PORT.
            faults: emulated faults of the network, see `emulation.faults`.
            seed: seed of random faults.
            priority: SCHED_FIFO priority of the loop, 1 to 99; 0: none.
            clock: clock of packets and computing times.
        """
        self.table, self.program = table, TableProgram(table, follow)
        self._network = WireFaults(faults, is_stream=False, seed=seed)
        self._end = UdpPort(listen)
        self.url, self._clock = self._end.url, clock
        self._busy = Stopwatch(clock)
        self._loop = _Loop("table", table.period, self._tick, priority)

    def run(self) -> dict[str, Any]:
        """Run until the dynamics ends the motion, or `stop`; return statistics."""
        self.table.open()
        try:
            summary = self._loop.run()
        finally:
            self.table.close()
            self._end.close()
        return {
            "role": "table",
            "periods": periods(summary),
            "busy": self._busy.summary(),
            "coasted": self.program.coasted,
            "refused_packets": self.program.refused_packets,
            "problem": self.program.problem,
        }

    def stop(self) -> None:
        """Stop, from any thread or a signal handler."""
        self._loop.over.set()

    def _tick(self, due: int) -> None:
        self._busy(self._period)

    def _period(self) -> None:
        now = self._clock.now()
        commands, answers = self._network.commands, self._network.answers
        for _, data in self._end.arrivals(0.0):
            commands.send(data, now)
        for arrival in commands.arrived(now):
            self.program.received(arrival.data, now)
        answer = self.program.cycle(now)
        if answer is not None:
            answers.send(answer, self._clock.now())
        for arrival in answers.arrived(self._clock.now()):
            self._end.send(arrival.data)
        if self.program.has_ended:
            self._loop.over.set()


# --- the dynamics' machine ------------------------------------------------------------------------------------------
class DynamicsClient:
    """The simulation in real time, with repeated contacts if requested."""

    def __init__(
        self,
        pair: RobotPair,
        loop: LoopSettings,
        table_url: str,
        *,
        graphics_url: str = "",
        touches: int = 1,
        longest: float = 3.0,
        priority: int = 0,
        ready_within: float = READY_WITHIN,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Open the ports.

        Args:
            pair: robots.
            loop: settings of the loop.
            table_url: address of the table control.
            graphics_url: address of the graphics; "" for none.
            touches: number of consecutive motions, each until the robots have separated.
            longest: maximum duration of a motion [s].
            priority: SCHED_FIFO priority of the loop, 1 to 99; 0: none.
            ready_within: timeout for the table to reach its initial pose [s].
            clock: clock of packets and computing times.
        """
        self.pair = pair
        self.program = DynamicsProgram(pair, loop, pictures_every=PICTURES_EVERY if graphics_url else 0)
        self._port = open_packets(table_url)
        self._graphics: Wire | None = open_packets(graphics_url, exclusive=False) if graphics_url else None
        self._touches, self._longest = touches, longest
        self._clock, self._ready_within = clock, ready_within
        self._busy = Stopwatch(clock)
        self._results: list[dict[str, float | bool]] = []
        self._touch_energy = 0.5 * pair.effective_mass() * pair.settings.approach**2
        self._waited_since = self._began = self._clock.now()
        self._loop = _Loop("dynamics", pair.settings.step, self._tick, priority)

    def run(self) -> dict[str, Any]:
        """Run until all motions are complete, or `stop`; return statistics.

        Raises:
            NoAnswer: the table is not ready or does not reply.
            Refused: the table cannot follow the motion.
        """
        self._warm_up()
        try:
            summary = self._loop.run()
        finally:
            for _ in range(3):  # it may get lost
                self._port.send(self.program.end(self._clock.now()))
            self._port.close()
            if self._graphics is not None:
                self._graphics.close()
        delays = self.program.delays.summary()
        return {
            "role": "dynamics",
            "touches": self._results,
            "periods": periods(summary),
            "busy": self._busy.summary(),
            "delays": delays._asdict(),
            "stiffness": self.program.filling.stiffness,
            "filled": self.program.filling.filled,
            "refused_packets": self.program.refused_packets,
        }

    def stop(self) -> None:
        """Stop, from any thread or a signal handler."""
        self._loop.over.set()

    def _warm_up(self) -> None:
        """Compile or load everything required before the first deadline."""
        self.pair.step(np.zeros(6))
        self.pair.relative(np.zeros(6))
        self.pair.energy()
        self.pair.reset()
        self._waited_since = self._clock.now()

    def _tick(self, due: int) -> None:
        for _ in range(due):
            self._busy(self._period)

    def _period(self) -> None:
        if self._loop.over.is_set():
            return
        now = self._clock.now()
        for _ in range(_AT_ONCE):
            data = self._port.receive(0.0)
            if data is None:
                break
            self.program.received(data, now)
        packet, picture = self.program.cycle(now)
        self._port.send(packet)
        if picture is not None and self._graphics is not None:
            self._graphics.send(picture)
        self._watch(now)

    def _watch(self, now: float) -> None:
        """Detect the end of the motion, and the timeout of its start."""
        if self.program.phase is Phase.WAITING:
            if now - self._waited_since > self._ready_within:
                text = (
                    f"the motion table was not ready within {self._ready_within:g} s; check its program, its address, "
                    "firewalls, and its messages."
                )
                raise NoAnswer(text, field="ready", value=self._ready_within)
            return
        rows = self.program.rows
        if not rows:
            return
        last = rows[-1]
        if len(rows) == 1:
            self._began = now - last.time
        distance, speed = float(last.relative.pose[2, 3]), float(last.relative.twist[2])
        parted = speed > 0.0 and distance > _PARTED * self.pair.settings.gap
        if not parted and self.pair.time < self._longest:
            return
        worst = max(row.delay for row in rows)
        behind, longest = now - self._began - last.time, LONGEST_FILL * self.pair.settings.step
        push = np.array([np.linalg.norm(row.wrench[:3]) for row in rows])
        times, step = np.array([row.time for row in rows]), self.pair.settings.step
        begin, end = first_touch(times, push, step) or (0.0, 0.0)
        self._results.append(
            {
                "peak": float(smoothed(push, step).max()),
                "duration": end - begin,
                "gain": (last.energy - rows[0].energy) / self._touch_energy,
                "energy_made": self.program.passivity.made,
                "is_passive": not self.program.passivity.is_active,
                "parted": parted,
                "worst_delay": worst,
                "behind": behind,
                "is_in_time": worst < self.program.delays.delay + longest and abs(behind) < longest,
            }
        )
        rows.clear()
        if len(self._results) >= self._touches:
            self._loop.over.set()
            return
        self.program.again(now)
        self._waited_since = now
