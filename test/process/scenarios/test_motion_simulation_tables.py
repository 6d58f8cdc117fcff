# SPDX-License-Identifier: Apache-2.0
"""Motion tables: the plate with the impedance of eqs. 10 and 15, and the emulated HEXA behind its bytes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from refused import refused

from ada_dynamics.clock import SYSTEM_CLOCK, ManualClock
from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments.motion_simulation import motion_table
from ada_experiments.motion_simulation.frames import Mounting, facing
from ada_experiments.motion_simulation.hexa_table import (
    EmulatedTable,
    EmulatedTableSettings,
    HexaTable,
)
from ada_experiments.motion_simulation.loop import run
from ada_experiments.motion_simulation.motion_table import ImpedanceTable, MotionTable, Reading, TableSettings
from ada_experiments.motion_simulation.robots import PairSettings, RobotPair
from ada_hardware.emulation.in_process import InProcessWire
from ada_hardware.force_torque.dynpick.driver import DynPickDriver, DynPickSettings
from ada_hardware.force_torque.dynpick.emulator import DynPickEmulator, DynPickEmulatorSettings
from ada_hardware.force_torque.rdt.driver import NetFtDriver, NetFtSettings
from ada_hardware.hexa.driver import HexaDriver, HexaSettings
from ada_hardware.hexa.emulator import HexaEmulator, HexaEmulatorSettings
from ada_hardware.hexa.kinematics import Unreachable
from ada_robot.errors import Refused
from ada_robot.safety.phases import Phase

Array = NDArray[np.float64]

STILL = np.zeros(6)
HEIGHT = -0.5  # [m]


def before_the_probe(gap: float) -> Array:
    """The plate with its face as far above the probe."""
    return Mounting().plate_pose(facing((0.0, 0.0, gap), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0)))


def made(kind: str, **settings: object) -> MotionTable:
    if kind == "impedance":
        return ImpedanceTable(TableSettings(**settings), Mounting())  # type: ignore[arg-type]
    return EmulatedTable(EmulatedTableSettings(**settings), Mounting())  # type: ignore[arg-type]


def prepared(table: MotionTable, pose: Array) -> Reading:
    for _ in range(2000):
        reading = table.prepare(pose)
        assert not reading.problem
        if reading.is_ready:
            return reading
    raise AssertionError("the table is never ready")


def pressed(table: MotionTable, depth: float) -> Reading:
    """The face sent slowly to a depth behind the tip, and left there."""
    count = 120
    for i in range(count):
        share = min(1.0, 2.0 * i / count)
        table.exchange(before_the_probe(0.0005 - share * (depth + 0.0005)), STILL)
    return table.exchange(before_the_probe(-depth), STILL)


@pytest.mark.parametrize("kind", ["impedance", "hexa"])
def test_a_table_stands_where_it_is_told_and_feels_nothing(kind: str) -> None:
    table = made(kind)
    table.open()
    reading = prepared(table, before_the_probe(0.002))
    for _ in range(50):
        reading = table.exchange(before_the_probe(0.002), STILL)
    assert np.allclose(
        reading.pose, before_the_probe(0.002), atol=1e-5
    )  # what its servo's hold leaves of its own swing
    assert np.linalg.norm(reading.wrench[:3]) < 1e-4  # two counts of a millionth of a newton
    table.close()


@pytest.mark.parametrize("kind", ["impedance", "hexa"])
@pytest.mark.parametrize("kp", [200.0, 800.0])
def test_a_touch_at_rest_is_the_spring_of_eq_15_before_that_of_the_probe(kind: str, kp: float) -> None:
    table = made(kind, kp=kp, kd=3.0, probe_stiffness=3e5)
    table.open()
    prepared(table, before_the_probe(0.0005))
    depth = 0.0004
    reading = pressed(table, depth)
    k = motion_table.plate_mechanics(pose_of((0.0, 0.0, HEIGHT))).stiffness_along(kp, (0.0, 0.0, 1.0))
    expected = depth / (1.0 / k + 1.0 / 3e5)
    # eq. 15 is of a plate that has not moved; the last of its swing; the HEXA carries its weight by the angles it is at
    assert reading.wrench[2] == pytest.approx(-expected, rel=0.01)
    assert np.abs(reading.wrench[[0, 1]]).max() < 1e-3 * expected
    table.close()


@pytest.mark.parametrize("kind", ["impedance", "hexa"])
def test_a_touch_beside_the_middle_turns_about_the_sensor(kind: str) -> None:
    aside = facing((0.03, 0.0, -0.51), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    mounting = Mounting(tip_in_lab=aside)
    pair = RobotPair(PairSettings(), mounting)
    is_simple = kind == "impedance"
    table = ImpedanceTable(TableSettings(), mounting) if is_simple else EmulatedTable(EmulatedTableSettings(), mounting)
    found = run(pair, table, 0.3)
    at = int(np.argmax(found.push))
    # on the tip: a push along its axis, and what is left of the moment about it: rounding, and the sensor's counts
    assert found.force[at, 2] < -3.0
    assert np.abs(found.force[at, 3:]).max() < 2e-3 * found.push[at]


@pytest.mark.parametrize("sensor", ["netft", "dynpick"])
def test_a_touch_on_the_emulated_hexa_through_all_bytes(sensor: str) -> None:
    pair = RobotPair(PairSettings())
    table = EmulatedTable(EmulatedTableSettings(kp=400.0, kd=3.0, sensor=sensor), pair.mounting)
    # DynPick: two counts of 1/24.5 N of noise, and the zero's rest
    found = run(pair, table, 0.4, least_force=0.3 if sensor == "dynpick" else 0.05)
    assert not table.hexa.violations
    assert not table.force_sensor.violations
    begin, end = found.touch
    # v √(k m_e) = 7.5 N and π √(m_e / k) = 130 ms of a mass on this spring; the plate's mass and the noise disturb it
    assert found.smoothed().max() == pytest.approx(7.5, rel=0.1)
    assert end - begin == pytest.approx(0.130, rel=0.15)
    assert found.gain < 0.0
    before, after = found.momentum
    assert np.allclose(after[:3], before[:3], atol=1e-8)


def test_an_end_of_the_motion_leaves_the_hexa_at_rest_with_its_brakes_on() -> None:
    pair = RobotPair(PairSettings())
    table = EmulatedTable(EmulatedTableSettings(), pair.mounting)
    run(pair, table, 0.1)
    assert table.cycle.phase is Phase.CLOSED
    assert table.hexa.state()["state"] == "BRAKED"
    assert np.abs(table.hexa.plant.rates).max() < 0.05


def test_a_pose_out_of_reach_is_refused_with_its_leg() -> None:
    table = made("hexa")
    table.open()
    prepared(table, before_the_probe(0.002))
    with pytest.raises(Unreachable):
        table.exchange(before_the_probe(-2.0), STILL)
    table.close()


def test_a_jump_of_the_pose_is_refused() -> None:
    table = made("hexa")
    table.open()
    prepared(table, before_the_probe(0.002))
    with pytest.raises(Refused):
        for _ in range(3):
            table.exchange(before_the_probe(0.002) @ pose_of((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), STILL)
    table.close()


def test_an_alarm_of_the_hexa_is_a_problem_in_words() -> None:
    table = made("hexa")
    assert isinstance(table, EmulatedTable)
    table.open()
    prepared(table, before_the_probe(0.002))
    table.hexa.fault("emergency_stop", 1.0)
    for _ in range(3):
        reading = table.exchange(before_the_probe(0.002), STILL)
    assert "stopped" in reading.problem
    table.close()


def test_a_sensor_at_the_end_of_its_range_is_a_problem() -> None:
    clock, dynpick = ManualClock(), DynPickEmulator(DynPickEmulatorSettings(rate=1000.0))
    dynpick.set_wrench([1e4, 0.0, 0.0, 0.0, 0.0, 0.0])
    packets = InProcessWire(HexaEmulator(HexaEmulatorSettings()), clock=clock.now, sleep=clock.sleep)
    stream = InProcessWire(dynpick, clock=clock.now, sleep=clock.sleep)
    use = DynPickSettings(mode="continuous", rate=1000.0)
    sensor = DynPickDriver(use, wire=stream, clock=clock.now, sleep=clock.sleep)
    table = HexaTable(HexaDriver(HexaSettings(), wire=packets, clock=clock.now), sensor, clock=clock)
    table.open()
    assert any("end of its range" in table.prepare(pose_of((0.0, 0.0, HEIGHT))).problem for _ in range(50))
    table.close()


def test_a_table_elsewhere_is_opened_by_its_addresses() -> None:
    table = HexaTable(HexaDriver(HexaSettings(url="dry:")), NetFtDriver(NetFtSettings(url="dry:", rate=1000.0)))
    table.open()
    began = SYSTEM_CLOCK.now()
    for _ in range(3):
        table.idle()
    assert SYSTEM_CLOCK.now() - began > 1.9 * table.period  # it keeps the time of real devices
    assert table.cycle.phase is Phase.INACTIVE
    assert table.cycle.feedback.is_fresh
    table.close()
    assert table.cycle.phase is Phase.CLOSED


def test_a_sensor_that_is_slower_than_the_table_is_refused() -> None:
    with refused(InputError, field="period"):
        HexaTable(HexaDriver(HexaSettings(url="dry:")), NetFtDriver(NetFtSettings(url="dry:", rate=100.0)))
