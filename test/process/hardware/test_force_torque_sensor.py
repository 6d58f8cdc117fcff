# SPDX-License-Identifier: Apache-2.0
"""The handle of a sensor in its thread: readings, zero, limits, silence, reopening, status, refusals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from ada_dynamics.errors import InputError
from ada_hardware.emulation.in_process import InProcessPackets, InProcessStream
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.force_torque.dynpick.driver import DynPickDriver, DynPickSettings
from ada_hardware.force_torque.dynpick.emulator import DynPickEmulator, DynPickEmulatorSettings
from ada_hardware.force_torque.rdt.emulator import NetFtEmulator, NetFtEmulatorSettings
from ada_hardware.force_torque.rdt.netft import NetFtDriver, NetFtSettings
from ada_hardware.force_torque.sensor import (
    ForceSensor,
    ForceSensorSettings,
    Level,
    Reading,
    Sample,
    SensorState,
    ToolMotion,
)
from ada_hardware.force_torque.sensor_reader import SensorReader
from ada_robot.errors import NoAnswer, Refused, TransportError, UnknownDevice

LOAD = np.array([12.0, -34.0, 56.0, 0.7, -0.8, 0.9])
LONG = 20.0  # [s] for what takes milliseconds on a machine with nothing else to do
QUICK: dict[str, Any] = {"bias_samples": 20, "silence_timeout": 0.2, "reopen_after": 0.05}


class Bench:
    """A sensor in real time: a Net F/T in this process, unless another one is put in."""

    def __init__(self, device: dict[str, Any] | None = None, **settings: Any) -> None:
        self.emulator = NetFtEmulator(NetFtEmulatorSettings(**{"rate": 250.0, **(device or {})}))
        self.wire: Any = InProcessPackets(self.emulator)
        self.told: list[str] = []
        driver = NetFtDriver(NetFtSettings(timeout=0.02), wire=self.wire)
        self.sensor = ForceSensor.of(driver, ForceSensorSettings(**{**QUICK, **settings}), on_limit=self.told.append)

    def next(self, is_wanted: Callable[[Reading], object] = lambda _: True) -> Reading:
        """The first reading from now on that is as wanted; such as the second one, which began after this call."""
        newest = self.sensor.newest
        number = (newest.number if newest else 0) + 1
        waited = threading.Event()
        timer = threading.Timer(LONG, waited.set)
        timer.start()
        try:
            while not waited.is_set():
                reading = self.sensor.newer_than(number, 1.0)
                if reading is not None:
                    if is_wanted(reading):
                        return reading
                    number = reading.number
        finally:
            timer.cancel()
        raise AssertionError(f"no such reading came; the newest is {self.sensor.newest}")

    def next_at(self, wrench: Any) -> Reading:
        """The first reading from now on with a wrench."""
        return self.next(lambda one: np.all(np.abs(one.wrench - wrench) < 1e-5))

    def push(self, wrench: Any) -> Reading:
        """Put a load on, and wait for a reading of it: all later ones are of it too, also where some waited."""
        self.emulator.set_wrench(wrench)
        return self.next(lambda one: np.all(np.abs(one.raw - wrench) < 1e-3))

    def until(self, is_so: Callable[[], object]) -> None:
        """Wait for something, in steps that the sensor's own condition makes."""
        for _ in range(int(LONG / 0.01)):
            if is_so():
                return
            self.sensor.newer_than(1 << 60, 0.01)
        raise AssertionError(f"it did not happen: {self.sensor.status()}")

    def until_is(self, state: SensorState) -> None:
        self.until(lambda: self.sensor.status().state is state)


@contextmanager
def opened(device: dict[str, Any] | None = None, **settings: Any) -> Iterator[Bench]:
    """A bench whose first reading has come."""
    bench = Bench(device, **settings)
    bench.sensor.open()
    try:
        bench.next()
        yield bench
    finally:
        bench.sensor.close()
    assert not any(thread.name == "sensor netft" for thread in threading.enumerate())


@contextmanager
def dynpick() -> Iterator[Bench]:
    bench = Bench()
    bench.wire = InProcessStream(DynPickEmulator(DynPickEmulatorSettings()))
    bench.sensor = ForceSensor.of(DynPickDriver(DynPickSettings(), wire=bench.wire), ForceSensorSettings(**QUICK))
    with bench.sensor:
        yield bench


# --- readings ---------------------------------------------------------------------------------------------------------
def test_the_newest_reading_is_that_of_the_present_load_and_can_be_waited_for() -> None:
    with opened() as bench:
        reading = bench.push(LOAD)
        np.testing.assert_allclose(reading.wrench, LOAD, atol=1e-5)
        assert reading.is_valid and bench.sensor.newest is not None
        assert bench.sensor.newest.number >= reading.number
        later = bench.sensor.newer_than(reading.number, LONG)
        assert later is not None and later.number > reading.number and later.time > reading.time
        assert bench.sensor.newer_than(1 << 60, 0.01) is None


@pytest.mark.parametrize("name", ["dynpick", "netft", "onrobot"])
def test_a_dry_run_reads_without_any_port(name: str) -> None:
    with ForceSensor(name, {"url": "dry:"}) as sensor:
        reading = sensor.newer_than(10, LONG)
        assert reading is not None and np.all(np.abs(reading.wrench) < 0.2)
        status = sensor.status()
        assert status.state is SensorState.READING and sensor.name == name and status.identity is not None


def test_the_tool_is_taken_off_as_the_sensor_is_told_to_move() -> None:
    with opened(tool_mass=2.0, motion_timeout=1e6) as bench:
        with pytest.raises(Refused, match="set_tool_motion"):
            bench.sensor.bias(timeout=LONG)
        assert not bench.push([0.0, 0.0, -2.0 * 9.81, 0.0, 0.0, 0.0]).is_compensated
        assert "the tool is not taken off" in bench.sensor.status().problems[0]
        time = bench.next().time
        bench.sensor.set_tool_motion(ToolMotion.at_rest(np.eye(3), time=time))
        reading = bench.next()
        assert reading.is_compensated and np.all(np.abs(reading.wrench) < 1e-4)
        bench.sensor.set_tool_motion(None)
        assert not bench.next().is_compensated and bench.sensor.status().uncompensated > 0


# --- zero -------------------------------------------------------------------------------------------------------------
def test_the_zero_takes_the_present_load_off_until_it_is_cleared() -> None:
    with opened() as bench:
        bench.push(LOAD)
        np.testing.assert_allclose(bench.sensor.bias(timeout=LONG), LOAD, atol=1e-5)
        assert np.all(np.abs(bench.next().wrench) < 1e-5) and bench.sensor.status().is_biased
        bench.sensor.clear_bias()
        np.testing.assert_allclose(bench.next().wrench, LOAD, atol=1e-5)
        assert not bench.sensor.status().is_biased
    bench = Bench(bias_at_open=True)
    bench.emulator.set_wrench(LOAD)
    with bench.sensor:
        assert np.all(np.abs(bench.next().wrench) < 1e-5)


def test_the_zero_of_the_device_is_lost_with_the_wire_and_that_of_the_host_is_not() -> None:
    with opened() as bench:
        bench.push(LOAD)
        for in_device in (True, False):
            bench.sensor.bias(in_device=in_device, timeout=LONG)
            bench.next_at(np.zeros(6))
            assert bench.sensor.status().is_biased
            bench.emulator.fault("reboot", 1.0)
            before = bench.sensor.status().reopened
            bench.until(lambda before=before: bench.sensor.status().reopened > before)  # type: ignore[misc]
            bench.next()
            assert bench.sensor.status().is_biased is not in_device
            bench.next_at(LOAD if in_device else np.zeros(6))


def test_a_zero_of_an_unsteady_signal_is_refused_and_the_old_one_stays() -> None:
    with opened() as bench:
        old = bench.sensor.bias(timeout=LONG)
        bench.emulator.load.noise = 5e6  # ± 5 N
        bench.next(lambda one: np.max(np.abs(one.raw)) > 1.0)
        with pytest.raises(Refused, match=r"netft: .*not steady.*still"):
            bench.sensor.bias(timeout=LONG)
        np.testing.assert_array_equal(bench.sensor.status().bias, old)


def test_a_zero_out_of_range_or_of_a_silent_sensor_is_refused() -> None:
    with opened({"range_force": 50.0}) as bench:
        bench.emulator.set_wrench(LOAD)
        bench.next(lambda one: one.is_saturated)
        with pytest.raises(Refused, match="out of range"):
            bench.sensor.bias(timeout=LONG)
        bench.wire.fault("silence", 1.0)
        with pytest.raises((NoAnswer, Refused), match="no sample came"):
            bench.sensor.bias(timeout=LONG)


@pytest.mark.parametrize("device, settings, error, words", [
    ({"noise": 5e6}, {"bias_at_open": True}, Refused, "not steady"),
    ({"rate": 100.0}, {"filter_cutoff": 60.0}, InputError, "below 50 Hz"),
])  # fmt: skip
def test_an_opening_that_fails_leaves_the_sensor_closed(
    device: dict[str, Any], settings: dict[str, Any], error: type[Exception], words: str
) -> None:
    bench = Bench(device, **settings)
    with pytest.raises(error, match=words):
        bench.sensor.open()
    status = bench.sensor.status()
    assert status.state is SensorState.CLOSED and status.level is Level.WARN and status.problems == ("it is not open",)
    assert not bench.emulator.state()["is_streaming"]
    for call in (bench.sensor.bias, bench.sensor.reset):
        with pytest.raises(Refused, match="not open"):
            call()


# --- limits -----------------------------------------------------------------------------------------------------------
def test_a_passed_limit_is_told_once_until_the_reset() -> None:
    with opened(max_force=20.0) as bench:
        assert not bench.told
        bench.emulator.set_wrench([0.0, 21.0, 0.0, 0.0, 0.0, 0.0])
        bench.until(lambda: bench.told)
        bench.next()
        (words,) = bench.told
        assert words.startswith("netft: force of 21 N, above max_force 20 N")
        status = bench.sensor.status()
        assert status.level is Level.ERROR and "max_force" in status.passed_limit
        bench.push(np.zeros(6))
        bench.sensor.reset()
        assert not bench.sensor.status().passed_limit
        bench.emulator.set_wrench([0.0, 0.0, -22.0, 0.0, 0.0, 0.0])
        bench.until(lambda: len(bench.told) == 2)


@pytest.mark.parametrize("max_force", [0.0, 20.0])
@pytest.mark.parametrize("fault, state, words", [
    ("silence", SensorState.SILENT, "no sample"), ("disconnect", SensorState.LOST, "gone"),
])  # fmt: skip
def test_a_sensor_that_is_gone_is_told_like_a_passed_limit_and_comes_back_by_itself(
    fault: str, state: SensorState, words: str, max_force: float
) -> None:
    with opened(reopen_after=0.3, max_force=max_force) as bench:
        bench.emulator.set_wrench(LOAD / 10.0)
        bench.next_at(LOAD / 10.0)
        bench.sensor.bias(timeout=LONG)
        bench.wire.fault(fault, 1.0)
        bench.until_is(state)
        status = bench.sensor.status()
        assert status.level is Level.ERROR and words in " ".join(status.problems) and status.age > 0.0
        bench.wire.fault(fault, 0.0)
        bench.until_is(SensorState.READING)
        assert np.all(np.abs(bench.next().wrench) < 1e-5)
        assert bench.sensor.status().reopened >= 1
        assert [words in one for one in bench.told] == [True] * (max_force > 0.0)


def test_one_who_fails_to_be_told_does_not_end_the_sensor(caplog: pytest.LogCaptureFixture) -> None:
    def fail(words: str) -> None:
        raise RuntimeError(words)

    emulator = NetFtEmulator(NetFtEmulatorSettings())
    driver = NetFtDriver(NetFtSettings(), wire=InProcessPackets(emulator))
    with ForceSensor.of(driver, ForceSensorSettings(max_force=1.0), on_limit=fail) as sensor:
        emulator.set_wrench(LOAD)
        first = sensor.newer_than(50, LONG)
        assert first is not None and sensor.newer_than(first.number, LONG) is not None
    assert "what is called on a passed limit failed" in caplog.text


# --- silence, loss, reopening -----------------------------------------------------------------------------------------
class Unplugged:
    """A driver whose wire breaks, and whose port is not there any more; and the end of a thread after some turns.

    Attributes:
        failures: how often opening fails.
    """

    NAME, period = "unplugged", 0.01

    def __init__(self, failures: int) -> None:
        self.failures, self._turns, self._is_broken, self._time = failures, 20, False, 0.0
        self.reasons: list[str] = []

    def open(self) -> None:
        if self._is_broken and self.failures > 0:
            self.failures -= 1
            raise TransportError("no such port")
        self._is_broken = False

    def read(self) -> Sample:
        self._time += self.period
        if self._time > 2.5 * self.period and self._turns < 18 and self.failures > 0:
            self._is_broken = True
            raise TransportError("the cable was pulled")
        return Sample(self._time, np.zeros(6))

    def identity(self) -> None:
        return None

    def close(self) -> None:
        """Nothing to free."""

    def is_set(self) -> bool:
        self._turns -= 1
        self.reasons.append(self.reader.reason)
        return self._turns < 0

    def wait(self, _: float) -> bool:
        return False


@pytest.mark.parametrize("reopen_after", [0.0, 0.01])
def test_what_a_sensor_was_lost_by_stays_the_reason_until_it_is_read_again(reopen_after: float) -> None:
    driver = Unplugged(failures=7)
    driver.reader = reader = SensorReader(  # type: ignore[attr-defined]
        driver,  # type: ignore[arg-type]
        ForceSensorSettings(reopen_after=reopen_after),
        None,
        lambda: driver._time,
    )
    reader.open()
    reader.run(driver)  # type: ignore[arg-type]
    lost = [reason for reason in driver.reasons if reason]
    assert len(lost) >= 7
    assert all(reason.startswith("the cable was pulled") for reason in lost)
    if reopen_after:
        assert any(reason.endswith("then: opened anew in vain 7 times: no such port") for reason in lost)
        assert driver.reasons[-1] == "" and reader.state is SensorState.READING


def test_without_reopening_a_silent_sensor_that_talks_again_is_read_again() -> None:
    with opened(reopen_after=0.0) as bench:
        bench.wire.fault("silence", 1.0)
        bench.until_is(SensorState.SILENT)
        bench.wire.fault("silence", 0.0)
        bench.next()
        assert bench.sensor.status().state is SensorState.READING and bench.sensor.status().reopened == 0


def test_a_sensor_whose_process_is_killed_is_silent_or_lost_and_a_new_one_is_found() -> None:
    bench = Bench()
    with EmulatorProcess("onrobot") as device:
        url = device.url
        bench.sensor = ForceSensor("onrobot", {"url": url, "timeout": 0.05}, ForceSensorSettings(**QUICK))
        with bench.sensor as sensor:
            bench.next()
            device.freeze()
            bench.until(lambda: sensor.status().state is not SensorState.READING)
            device.thaw()
            bench.until_is(SensorState.READING)
            device.kill()
            bench.until(lambda: sensor.status().level is Level.ERROR)
            with EmulatorProcess("onrobot", listen=url):
                bench.until_is(SensorState.READING)
                bench.next()


def test_a_pulled_serial_cable_is_a_lost_sensor_that_comes_back() -> None:
    with dynpick() as bench:
        bench.next()
        bench.wire.fault("disconnect", 1.0)
        bench.until_is(SensorState.LOST)
        with pytest.raises(Refused, match="gone"):
            bench.sensor.bias()
        bench.wire.fault("disconnect", 0.0)
        bench.until_is(SensorState.READING)
        bench.next()


def test_it_opens_and_closes_again_and_again() -> None:
    bench = Bench()
    for _ in range(25):
        with bench.sensor as sensor:
            sensor.open()
            assert sensor.newer_than(0, LONG) is not None
        sensor.close()
        assert sensor.status().state is SensorState.CLOSED
    assert not bench.emulator.violations and not bench.emulator.state()["is_streaming"]


# --- status -----------------------------------------------------------------------------------------------------------
def test_a_sensor_in_order_has_no_problems_and_its_rate_and_losses_are_counted() -> None:
    with opened() as bench:
        bench.until(lambda: bench.sensor.status().rate > 0.0)
        status = bench.sensor.status()
        assert status.readings > 0 and status.counts.received >= status.readings and status.errors == 0
        assert status.identity is not None and "Net F/T" in status.identity.name
        bench.wire.fault("drop_answers", 0.3)
        bench.until(lambda: bench.sensor.status().sequence.lost > 10)


def test_a_rate_that_is_too_low_is_a_warning() -> None:
    with opened({"rate": 100.0}) as bench:
        bench.sensor._reader.driver._rate = 1000.0  # as if the page told more than comes
        bench.until(lambda: bench.sensor.status().rate > 0.0)
        assert any("samples per second" in words for words in bench.sensor.status().problems)


def test_saturation_is_a_warning_and_an_error_of_the_device_an_error() -> None:
    with dynpick() as bench:
        bench.wire.fault("fx", 1e4)
        reading = bench.next(lambda one: one.is_saturated)
        status = bench.sensor.status()
        assert status.level is Level.WARN and "end of its range" in status.problems[0]
        assert status.saturated >= 1 and not reading.is_valid
    with opened() as bench:
        bench.emulator.fault("status", 0x80004000)
        reading = bench.next(lambda one: one.error)
        status = bench.sensor.status()
        assert status.level is Level.ERROR and "watchdog" in status.problems[0] and not reading.is_valid
        bench.emulator.fault("status", 0x80010000)
        bench.next(lambda one: one.warning)
        assert bench.sensor.status().level is Level.WARN


# --- refusals ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name, settings, error, words", [
    ("jr3", {}, UnknownDevice, "netft"),
    ("pa10", {}, UnknownDevice, r"robot, no sensor.*dynpick, netft, onrobot"),
    ("netft", DynPickSettings(), InputError, "NetFtSettings"),
    ("netft", {"urll": "x"}, InputError, "urll"),
])  # fmt: skip
def test_an_unknown_sensor_and_settings_of_another_driver_are_refused(
    name: str, settings: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ForceSensor(name, settings)


def test_a_wire_that_cannot_be_opened_is_refused_and_leaves_the_sensor_closed() -> None:
    sensor = ForceSensor("dynpick", {"url": "/dev/no_such_port"})
    with pytest.raises(TransportError, match="no_such_port"):
        sensor.open()
    assert sensor.status().state is SensorState.CLOSED
    sensor.close()
