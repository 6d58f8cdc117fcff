# SPDX-License-Identifier: Apache-2.0
"""The observer of the hybrid loop's energy: what it counts, when it warns, and that it keeps quiet otherwise."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ada_experiments.motion_simulation.delay import ActiveLoopWarning, PassivityObserver
from ada_experiments.motion_simulation.frames import FrameMotion
from ada_experiments.motion_simulation.hexa_table import EmulatedTable, EmulatedTableSettings
from ada_experiments.motion_simulation.loop import Network, Record, run
from ada_experiments.motion_simulation.robots import PairSettings, RobotPair

Array = NDArray[np.float64]
STEP = 2e-3
PUSH = np.array([0.0, 0.0, -5.0, 0.0, 0.0, 0.0])  # on the tip, back into its robot


def moving(speed: float) -> FrameMotion:
    return FrameMotion(np.eye(4), np.array([0.0, 0.0, speed, 0.0, 0.0, 0.0]), np.zeros(6))


def watched(*steps: tuple[Array, float], tolerance: float = 0.02) -> PassivityObserver:
    observer = PassivityObserver(STEP, tolerance)
    for wrench, speed in steps:
        observer.observe(wrench, moving(speed))
    return observer


def test_a_touch_that_gives_back_what_it_took_is_passive() -> None:
    found = watched(*[(PUSH, -0.01)] * 10, (PUSH, 0.01), *[(PUSH, 0.01)] * 9)
    assert found.held == pytest.approx(9 * 5.0 * 0.01 * STEP)  # in the tenth step the speed turns round
    assert found.energy == pytest.approx(0.0, abs=1e-15)
    assert found.made == 0.0 and not found.is_active


@pytest.mark.parametrize(("tolerance", "is_active"), [(0.02, True), (0.2, False)])
def test_what_is_given_beyond_what_was_taken_is_the_loops(tolerance: float, is_active: bool) -> None:
    found = watched(*[(PUSH, -0.01)] * 21, *[(PUSH, 0.011)] * 21, tolerance=tolerance)
    # the step between has the mean of both speeds, ½ (0.011 - 0.01)
    given = (20 * 0.001 + 0.0005) / (20 * 0.01)
    assert found.made == pytest.approx(given)
    assert found.is_active is is_active


def touch(kp: float, delay: float, compensation: Any = 2, **more: Any) -> tuple[Record, list[str]]:
    """A touch on the HEXA of S2, and what the loop said about its energy."""
    pair = RobotPair(PairSettings(**more))
    table = EmulatedTable(EmulatedTableSettings(kp=kp, kd={200.0: 2.0, 800.0: 4.0}[kp]), pair.mounting)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        record = run(pair, table, 0.45, compensation=compensation, network=Network(delay))
    return record, [str(one.message) for one in said if one.category is ActiveLoopWarning]


def test_what_is_counted_is_what_the_robots_lose() -> None:
    pair = RobotPair(PairSettings(hold_damping=0.0, offset=0.1))
    observer, start = PassivityObserver(STEP, 0.02), pair.energy()
    lost = []
    for _ in range(150):
        relative = pair.relative(np.zeros(6))
        depth = max(0.0, 2e-3 - float(relative.pose[2, 3]))
        wrench = np.array([0.0, 0.0, -9000.0 * depth, 0.0, 0.0, 0.0])
        observer.observe(wrench, relative)
        if wrench.any():
            lost.append((observer.energy, start - pair.energy()))
        pair.step(wrench)
    counted, real = np.array(lost).T
    assert real.max() > 1e-3
    assert real[-1] < -1e-4  # a force that is held for a step is late, too
    assert np.abs(counted - real).max() < 1e-3 * real.max()  # the tip's axes turn within a step


@pytest.mark.parametrize("kp", [200.0, 800.0])
@pytest.mark.parametrize("delay", [0.0, 0.010])  # of the network, each way: 7 and 27 ms of the loop
def test_below_the_bound_the_loop_is_passive_and_says_nothing(kp: float, delay: float) -> None:
    record, said = touch(kp, delay)
    assert record.gain < 0.0
    assert record.made == 0.0
    assert said == []


@pytest.mark.parametrize(("delay", "gains"), [(0.014, 0.05), (0.018, 0.1)])  # 35 and 43 ms
def test_above_the_bound_the_loop_warns_once(delay: float, gains: float) -> None:
    record, said = touch(800.0, delay)
    assert record.gain > gains
    assert record.made > gains
    assert len(said) == 1


def test_a_loop_that_is_not_compensated_warns_at_any_delay() -> None:
    record, said = touch(200.0, 0.0, compensation=0)
    assert record.gain > 0.3
    assert len(said) == 1


def test_a_bad_network_is_no_alarm() -> None:
    pair = RobotPair(PairSettings())
    table = EmulatedTable(EmulatedTableSettings(kp=800.0, kd=4.0), pair.mounting)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ActiveLoopWarning)
        found = run(pair, table, 0.45, network=Network(0.002, 5e-4, 0.1, seed=7))
    assert found.made == 0.0
