# SPDX-License-Identifier: Apache-2.0
"""The handle of a sensor in lock step: readings, zero, limits, silence, reopening, status, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from device_world import DeviceWorld
from refused import refused

from ada_dynamics.errors import InputError
from ada_hardware.force_torque.sensor import ForceSensor, ForceSensorSettings, Reading, SensorGravity, SensorState
from ada_robot.errors import NoAnswer, Refused
from ada_robot.ros.status import Level

LOAD = np.array([12.0, -34.0, 56.0, 0.7, -0.8, 0.9])
LONG = 5.0  # [s] of the manual clock
QUICK: dict[str, Any] = {"bias_samples": 20, "silence_timeout": 0.2, "reopen_after": 0.05}


class Bench:
    """A sensor on a manual clock: a Net F/T, or a DynPick."""

    def __init__(
        self, device: dict[str, Any] | None = None, name: str = "netft", *, driver: Any = None, **settings: Any
    ) -> None:
        """Make the device of a name with its settings, its driver, from the bench if it is given, and the sensor."""
        rate = {"rate": 250.0, "timeout": 0.02} if name == "netft" else {}
        world = DeviceWorld(name, device=device, **rate)
        self.clock, self.emulator, self.wire = world.clock, world.device, world.wire
        self.told: list[str] = []
        self.sensor = ForceSensor(
            world.driver if driver is None else driver(self),
            settings=ForceSensorSettings(**{**QUICK, **settings}),
            on_limit=self.on_limit,
            clock=self.clock,
        )

    def on_limit(self, words: str) -> None:
        self.told.append(words)
        if "raise" in self.told:
            raise RuntimeError(words)

    def next(self, is_wanted: Callable[[Reading], object] = lambda _: True) -> Reading:
        """The first wanted reading from the second one on, which was measured after this call."""
        newest = self.sensor.newest
        number, deadline = (newest.number if newest else 0) + 1, self.clock.now() + LONG
        while self.clock.now() < deadline:
            reading = self.sensor.newer_than(number, 1.0)
            if reading is not None:
                if is_wanted(reading):
                    return reading
                number = reading.number
        raise AssertionError(f"no such reading came; the newest is {self.sensor.newest}")

    def push(self, wrench: Any) -> Reading:
        self.emulator.set_wrench(wrench)
        return self.next(lambda one: np.all(np.abs(one.raw - wrench) < 1e-3))

    def until(self, is_so: Callable[[], object]) -> None:
        deadline = self.clock.now() + LONG
        while not is_so():
            assert self.clock.now() < deadline, self.sensor.status()
            self.sensor.newer_than(1 << 60, 0.0)

    def until_is(self, state: SensorState) -> None:
        self.until(lambda: self.sensor.status().state is state)


@contextmanager
def opened(device: dict[str, Any] | None = None, name: str = "netft", **settings: Any) -> Iterator[Bench]:
    bench = Bench(device, name, **settings)
    with bench.sensor:
        bench.next()
        yield bench


def test_the_newest_reading_is_that_of_the_present_load_and_can_be_waited_for() -> None:
    with opened() as bench:
        reading = bench.push(LOAD)
        np.testing.assert_allclose(reading.wrench, LOAD, atol=1e-5)
        assert reading.is_valid and bench.sensor.newest is reading
        later = bench.sensor.newer_than(reading.number, LONG)
        assert later is not None and later.number == reading.number + 1
        assert later.time - reading.time == pytest.approx(1 / 250.0, abs=1e-9)
        begin = bench.clock.now()
        assert bench.sensor.newer_than(1 << 60, 0.01) is None
        assert bench.clock.now() - begin == pytest.approx(0.01, abs=1 / 250.0 + 1e-9)


def test_the_tool_is_subtracted_while_the_orientation_of_the_sensor_is_known() -> None:
    with opened(tool_mass=2.0, motion_timeout=1e6) as bench:
        with refused(Refused, field="gravity"):
            bench.sensor.bias(timeout=LONG)
        assert not bench.push([0.0, 0.0, -2.0 * 9.81, 0.0, 0.0, 0.0]).is_compensated
        assert bench.sensor.status().level is Level.WARN
        time = bench.next().time
        bench.sensor.set_gravity(SensorGravity.of(np.eye(3), time=time))
        reading = bench.next()
        assert reading.is_compensated and np.all(np.abs(reading.wrench) < 1e-4)
        bench.sensor.set_gravity(None)
        assert not bench.next().is_compensated and bench.sensor.status().uncompensated > 0


def test_the_zero_subtracts_the_present_load() -> None:
    with opened() as bench:
        bench.push(LOAD)
        np.testing.assert_allclose(bench.sensor.bias(timeout=LONG), LOAD, atol=1e-5)
        assert np.all(np.abs(bench.next().wrench) < 1e-5) and bench.sensor.status().is_biased
    bench = Bench(bias_at_open=True)
    bench.emulator.set_wrench(LOAD)
    with bench.sensor:
        assert np.all(np.abs(bench.next().wrench) < 1e-5)


def test_the_zero_is_kept_when_the_sensor_is_reopened() -> None:
    with opened() as bench:
        bench.push(LOAD)
        bench.sensor.bias(timeout=LONG)
        bench.emulator.fault("reboot", 1.0)
        bench.until(lambda: bench.sensor.status().reopened > 0)
        assert np.all(np.abs(bench.next().wrench) < 1e-5) and bench.sensor.status().is_biased


def test_a_zero_out_of_range_or_of_a_silent_sensor_is_refused() -> None:
    with opened({"range_force": 50.0}) as bench:
        bench.emulator.set_wrench(LOAD)
        assert not bench.next(lambda one: one.is_saturated).is_valid
        status = bench.sensor.status()
        assert status.level is Level.ERROR and status.saturated >= 1
        with refused(Refused, field="error"):
            bench.sensor.bias(timeout=LONG)
        bench.wire.fault("silence", 1.0)
        with refused(NoAnswer, field="samples"):
            bench.sensor.bias(timeout=LONG)
        begin = bench.clock.now()
        bench.until_is(SensorState.SILENT)
        assert bench.clock.now() - begin < QUICK["silence_timeout"] + QUICK["reopen_after"] + 1.2


@pytest.mark.parametrize("device, settings, error, fields", [
    ({"noise": 5e6}, {"bias_at_open": True}, Refused, {"fx", "fy", "fz", "nx", "ny", "nz"}),
    ({"rate": 100.0}, {"filter_cutoff": 60.0}, InputError, {"filter_cutoff"}),
])  # fmt: skip
def test_an_opening_that_fails_leaves_the_sensor_closed(
    device: dict[str, Any], settings: dict[str, Any], error: type[Any], fields: set[str]
) -> None:
    bench = Bench(device, **settings)
    with pytest.raises(error) as caught:
        bench.sensor.open()
    assert caught.value.field in fields
    status = bench.sensor.status()
    assert status.state is SensorState.CLOSED and status.level is Level.WARN and len(status.problems) == 1
    assert not bench.emulator.state()["is_streaming"]
    for call in (bench.sensor.bias, bench.sensor.reset):
        with refused(Refused, field="state", value="closed"):
            call()


def test_an_exceeded_limit_is_reported_once_until_the_reset() -> None:
    with opened(max_force=20.0) as bench:
        assert not bench.told
        bench.emulator.set_wrench([0.0, 21.0, 0.0, 0.0, 0.0, 0.0])
        for _ in range(5):
            bench.next()
        assert len(bench.told) == 1 and "max_force" in bench.told[0]
        status = bench.sensor.status()
        assert status.level is Level.ERROR and "max_force" in status.passed_limit
        bench.push(np.zeros(6))
        bench.sensor.reset()
        assert not bench.sensor.status().passed_limit
        bench.emulator.set_wrench([0.0, 0.0, -22.0, 0.0, 0.0, 0.0])
        bench.until(lambda: len(bench.told) == 2)


@pytest.mark.parametrize("max_force", [0.0, 20.0])
@pytest.mark.parametrize("name, fault, state", [
    ("netft", "silence", SensorState.SILENT), ("netft", "disconnect", SensorState.LOST),
    ("dynpick", "disconnect", SensorState.LOST),
])  # fmt: skip
def test_a_sensor_that_is_gone_is_reported_like_an_exceeded_limit_and_is_reopened(
    name: str, fault: str, state: SensorState, max_force: float
) -> None:
    with opened(name=name, reopen_after=0.3, max_force=max_force) as bench:
        bench.emulator.set_wrench(LOAD / 10.0)
        bench.next()
        bench.sensor.bias(timeout=LONG)
        bench.wire.fault(fault, 1.0)
        bench.until_is(state)
        status = bench.sensor.status()
        assert status.level is Level.ERROR and len(status.problems) == 1 + (max_force > 0.0) and status.age > 0.0
        with pytest.raises((Refused, NoAnswer)):
            bench.sensor.bias(timeout=0.1)
        bench.wire.fault(fault, 0.0)
        bench.until_is(SensorState.READING)
        resolution = 1e-5 if name == "netft" else 0.2  # of a DynPick: some counts of 0.04 N
        assert np.all(np.abs(bench.next().wrench) < resolution)
        assert bench.sensor.status().reopened >= 1
        assert len(bench.told) == (max_force > 0.0)


def test_an_error_of_the_callback_does_not_end_the_sensor(caplog: pytest.LogCaptureFixture) -> None:
    with opened(max_force=1.0) as bench:
        bench.told.append("raise")
        bench.push(LOAD)
        assert len(bench.told) == 2 and bench.next().number > 0
    assert any(record.exc_info for record in caplog.records)
