# SPDX-License-Identifier: Apache-2.0
"""Stamps are the times at which states were due, however late they are sent; what is dropped is told."""

import numpy as np
import pytest
from simulated_world import plant

from ada_dynamics.clock import ManualClock
from ada_robot.node.plant_loop import PhysicsStatus, PlantLoop
from ada_robot.ros.status import Level
from ada_robot.timing.deadlines import Stamps

MS = 1_000_000  # [ns]
EPOCH = 1_700_000_000 * 10**9  # [ns] that the wall clock is ahead of the steady one
CATCH_UP = 50 * MS


class Machine(ManualClock):
    """Its clocks move while somebody sleeps; the scheduler adds what it likes."""

    def __init__(self, late):
        self.ns, self.ahead = 5 * 10**9, EPOCH
        self._late = late

    def now(self):
        return 1e-9 * self.ns

    def now_ns(self):
        self.ns += 300  # a look takes its time
        return self.ns

    def node(self):
        return self.now_ns() + self.ahead

    def sleep(self, duration):
        self.ns += round(1e9 * duration) + self._late()


def run(late, seconds=3.0, factor=1.0, between=None):
    """Told states with the time at which they were told, and the loop. Args: how late each wake-up is [ns]."""
    machine, told = Machine(late), []

    def tell(snapshot):
        told.append((machine.ns + machine.ahead, snapshot))
        if between is not None:
            between(machine, snapshot)
        if machine.ns > (5.0 + seconds) * 1e9:
            loop.stop()

    stamps = Stamps(machine.node, machine.now_ns)
    robot = plant(robot="planar_3r", idle="release")
    loop = PlantLoop(robot, tell, every=4, stamps=stamps, real_time_factor=factor, clock=machine)
    began = machine.ns
    status = PhysicsStatus(loop)
    loop.run()
    return machine, told, loop, status, began


def busy(seed, longest):
    """A machine that is late by some 0.1 ms as a rule, and now and then by up to `longest` [ns]."""
    rng = np.random.default_rng(seed)
    return lambda: int(rng.integers(longest)) if rng.random() < 0.05 else int(rng.exponential(100_000))


@pytest.mark.parametrize("factor", [1.0, 0.25])
def test_differences_of_positions_by_their_stamps_are_the_velocities_on_a_busy_machine(factor):
    _, told, loop, _, _ = run(busy(1, 45 * MS), factor=factor)
    assert loop.statistics.summary().missed > 100, "the machine was busy"
    assert loop.statistics.summary().slipped_s == 0.0
    stamps = np.array([s.stamp for _, s in told])
    q, v = (np.array([getattr(s, name) for _, s in told]) for name in "qv")
    assert set(np.diff(stamps)) == {round(4 * MS / factor)}
    rate = np.diff(q, axis=0) / (1e-9 * np.diff(stamps))[:, None] / factor
    # the trapezoidal rule is off by v''h²/12, and the second differences of v are v''h²
    bound = 1.5 * np.abs(np.diff(v, 2, axis=0)).max() / 12.0
    assert bound < 0.1
    assert np.abs(rate - 0.5 * (v[1:] + v[:-1])).max() < bound
    assert np.abs(v).max() > 3.0


def test_stamps_rise_and_are_behind_by_what_is_made_up_for_at_most_and_dropped_time_is_counted():
    _, told, loop, status, began = run(busy(3, 90 * MS))
    assert loop.statistics.summary().slipped_s > 0.5
    stamps, sent = np.array([s.stamp for _, s in told]), np.array([at for at, _ in told])
    assert (np.diff(stamps) > 0).all()
    behind = sent - stamps
    assert behind.min() >= 0
    assert behind.max() <= CATCH_UP + 5 * MS
    passed = 1e-9 * (told[-1][1].stamp - EPOCH - began)
    assert told[-1][1].t + loop.statistics.summary().slipped_s == pytest.approx(passed, abs=0.002)
    report = status()
    assert report.level is Level.WARN
    assert report.values["time dropped since the last report [s]"] == pytest.approx(loop.statistics.summary().slipped_s)
    assert 0.3 < report.values["real-time factor"] < 0.95
    assert status().values["time dropped since the last report [s]"] == 0.0, "each is told once"
    # over an interval in which time was dropped the robot only seems slower, never faster
    assert (np.diff([s.t for _, s in told]) <= 1e-9 * np.diff(stamps) + 1e-9).all()


def test_dropped_time_is_logged_at_first_and_when_it_has_doubled():
    machine = Machine(lambda: 80 * MS)
    logged, warned_at = [], []

    def tell(snapshot):
        if status().level is Level.WARN and len(logged) > len(warned_at):
            warned_at.append(loop.statistics.summary().slipped_s)
        if loop.statistics.summary().slipped_s > 4.0:
            loop.stop()

    loop = PlantLoop(plant(robot="planar_3r", idle="release"), tell, clock=machine)
    status = PhysicsStatus(loop, warn=logged.append)
    loop.run()
    assert warned_at[0] < 0.1
    assert np.divide(warned_at[1:], warned_at[:-1]) == pytest.approx(2.0, abs=0.01)
    assert len(logged) == len(warned_at) == 1 + int(np.log2(4.0 / warned_at[0]))
    assert all("too slow" in text for text in logged)


def test_a_clock_that_is_set_is_followed_forwards_and_back():
    changes = iter([(300, 7_000 * MS), (500, -20_000 * MS)])
    wanted = [next(changes)]

    def set_clock(machine, snapshot):
        if wanted and snapshot.step >= wanted[0][0]:
            machine.ahead += wanted[0][1]
            wanted[:] = [change] if (change := next(changes, None)) else []

    _, told, _, _, _ = run(busy(4, 10 * MS), seconds=1.0, between=set_clock)
    behind = np.array([at - s.stamp for at, s in told])
    assert behind.min() >= -2 * MS  # the setting itself is known to a look at the clocks
    assert behind.max() < 20 * MS


def test_a_thread_put_aside_between_two_looks_at_the_clocks_changes_no_stamp():
    machine = Machine(lambda: 0)
    delays = iter([0] * 10 + [40 * MS] + [0] * 10)

    def node():
        machine.ns += next(delays, 0)
        return machine.node()

    stamps = Stamps(node, machine.now_ns)
    moments = [machine.ns + k * MS for k in range(8)]
    assert set(np.diff([stamps.due(moment) for moment in moments])) == {MS}
    assert machine.ns - moments[0] > 40 * MS, "it was put aside"
