# SPDX-License-Identifier: Apache-2.0
"""The DynPick's driver against its emulator on a fake clock: modes, scales, faults of the line, and what is refused."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from ada_dynamics.errors import InputError
from ada_dynamics.settings import checked, fields_of
from ada_hardware.emulation.in_process import FakeClock, InProcessStream
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.force_torque.dynpick.driver import DynPickDriver, DynPickSettings
from ada_hardware.force_torque.dynpick.emulator import DynPickEmulator, DynPickEmulatorSettings
from ada_robot.errors import NoAnswer, TransportError

SENSITIVITY = (24.9, 24.6, 24.5, 1664.7, 1639.7, 1638.0)
LOAD = np.array([12.0, -34.0, 56.0, 0.7, -0.8, 0.9])
STEP = 2.51 / np.array(SENSITIVITY)  # noise of 2 counts, and half a count of rounding
MODES = pytest.mark.parametrize("mode", ["poll", "continuous"])


class Bench(NamedTuple):
    clock: FakeClock
    emulator: DynPickEmulator
    wire: InProcessStream
    driver: DynPickDriver


def bench(faults: dict[str, float] | None = None, device: dict[str, object] | None = None, **settings: Any) -> Bench:
    clock = FakeClock()
    emulator = DynPickEmulator(checked(DynPickEmulatorSettings, device or {}))
    wire = InProcessStream(emulator, clock=clock, sleep=clock.sleep, faults=faults)
    driver = DynPickDriver(checked(DynPickSettings, settings), wire=wire, clock=clock, sleep=clock.sleep)
    return Bench(clock, emulator, wire, driver)


@MODES
def test_the_load_comes_through_within_noise_and_rounding(mode: str) -> None:
    _, emulator, _, driver = bench(mode=mode)
    driver.open()
    driver.read()
    emulator.set_wrench(LOAD)
    for _ in range(100):
        sample = driver.read()
        assert sample.is_fresh and not sample.is_saturated and not sample.error
        assert np.all(np.abs(sample.wrench - LOAD) <= STEP)
    driver.close()
    assert not emulator.violations
    assert driver.counts.received == 101 and driver.sequence.lost == 0 and driver.counts.missed == 0


@MODES
def test_samples_come_at_the_set_rate(mode: str) -> None:
    clock, _, _, driver = bench(mode=mode, rate=500.0, device={"rate": 500.0})
    driver.open()
    driver.read()
    times = [driver.read().time for _ in range(100)]
    # the emulated wire hands over at its ticks, of at most 2 ms
    assert times[-1] - times[0] == pytest.approx(99 / 500.0, abs=2.1e-3)
    assert clock.now() == times[-1]


def test_a_slow_line_still_has_one_request_in_flight_at_a_time() -> None:
    """Answers that take 3 ms at a wanted 1 kHz: as many samples as the line can carry, none refused, none late."""
    clock, emulator, _, driver = bench(device={"answer_time": 3e-3})
    driver.open()
    driver.read()
    start = clock.now()
    for i in range(50):
        emulator.set_wrench([float(i), 0, 0, 0, 0, 0])
        sample = driver.read()
        assert sample.is_fresh and i - 1.2 <= sample.wrench[0] <= i + 0.2  # what was asked for before the last change
    assert clock.now() - start == pytest.approx(50 * 3e-3, rel=0.1)
    assert driver.counts.refused == 0


def test_the_sensor_tells_its_scales() -> None:
    driver = bench().driver
    driver.open()
    found = driver.identity()
    assert found.scale == SENSITIVITY
    assert found.source == "device" and found.version == "DynPick emulated 1.0"


def test_an_older_unit_needs_its_scales_and_says_so() -> None:
    driver = bench(device={"is_old": True}).driver
    with pytest.raises(NoAnswer, match=r"does not tell its sensitivity.*`sensitivity`"):
        driver.open()
    _, emulator, _, driver = bench(device={"is_old": True}, sensitivity=SENSITIVITY)
    driver.open()
    emulator.set_wrench(LOAD)
    driver.read()
    assert np.all(np.abs(driver.read().wrench - LOAD) <= STEP)
    assert driver.identity().source == "settings"


def test_the_zero_of_the_device_takes_the_present_load_off() -> None:
    _, emulator, _, driver = bench()
    emulator.set_wrench(LOAD)
    driver.open()
    driver.bias()
    driver.read()
    assert np.all(np.abs(driver.read().wrench) <= STEP)
    assert not emulator.violations


@MODES
@pytest.mark.parametrize("axis, force", [(0, 1e4), (2, -1e4), (5, 1e3)])
def test_a_load_beyond_14_bits_is_told_as_saturation(mode: str, axis: int, force: float) -> None:
    _, emulator, _, driver = bench(mode=mode)
    driver.open()
    wrench = np.zeros(6)
    wrench[axis] = force
    emulator.set_wrench(wrench)
    for _ in range(3):
        sample = driver.read()
    assert sample.is_saturated and abs(sample.wrench[axis]) == pytest.approx(8192 / SENSITIVITY[axis], rel=1e-3)
    emulator.set_wrench(np.zeros(6))
    for _ in range(3):
        sample = driver.read()
    assert not sample.is_saturated


def test_the_temperature_is_asked_for_now_and_then() -> None:
    _, emulator, _, driver = bench(temperature_interval=0.1)
    driver.open()
    assert driver.read().values == {"temperature [degC]": 25.0}
    emulator.fault("temperature", 31.5)
    for _ in range(150):
        sample = driver.read()
    assert sample.values == {"temperature [degC]": 31.5} and driver.sequence.lost == 0


def test_an_older_unit_is_asked_for_its_temperature_once() -> None:
    _, emulator, _, driver = bench(device={"is_old": True}, sensitivity=SENSITIVITY, temperature_interval=0.01)
    driver.open()
    for _ in range(100):
        assert driver.read().values == {}
    assert "not asked again" in driver.counts.last_problem and not emulator.violations


@pytest.mark.parametrize("divider", [1, 2, 4, 8])
def test_the_filter_is_set_and_asked_back(divider: int) -> None:
    _, emulator, _, driver = bench(filter_divider=divider)
    driver.open()
    assert emulator.state()["filter_divider"] == divider


def test_a_filter_that_an_older_unit_has_not_is_refused() -> None:
    driver = bench(device={"is_old": True}, sensitivity=SENSITIVITY, filter_divider=4).driver
    with pytest.raises(NoAnswer, match="leave it 0"):
        driver.open()


@MODES
def test_a_stream_that_an_earlier_program_left_on_does_no_harm(mode: str) -> None:
    clock, emulator, wire, driver = bench(mode=mode)
    wire.write(b"S")
    clock.sleep(0.5)
    driver.open()
    emulator.set_wrench(LOAD)
    driver.read()
    for _ in range(10):
        assert np.all(np.abs(driver.read().wrench - LOAD) <= STEP)


# --- faults of the line -----------------------------------------------------------------------------------------------
@MODES
def test_lost_frames_are_counted_and_the_next_one_is_right(mode: str) -> None:
    _, emulator, wire, driver = bench(mode=mode)
    driver.open()
    driver.read()
    emulator.set_wrench(LOAD)
    driver.read()
    wire.fault("drop_answers", 0.3)
    fresh = [driver.read() for _ in range(300)]
    for sample in fresh:
        assert not sample.is_fresh or np.all(np.abs(sample.wrench - LOAD) <= STEP)
    if mode == "poll":  # each loss is a wait in vain
        assert driver.counts.missed == sum(not one.is_fresh for one in fresh) > 50
    assert driver.sequence.lost > 30  # the count of a digit does not see ten in a row
    wire.fault("drop_answers", 0.0)
    driver.read()
    assert all(driver.read().is_fresh for _ in range(20))


@MODES
@pytest.mark.parametrize("fault, value", [("half", 0.3), ("noise_answers", 3000.0), ("half_answers", 0.9)])
def test_halves_and_noise_never_make_another_wrench(mode: str, fault: str, value: float) -> None:
    _, emulator, wire, driver = bench(mode=mode, device={"noise": 0.0})
    emulator.set_wrench(LOAD)
    driver.open()
    wire.fault(fault, value)
    exact = np.round(LOAD * SENSITIVITY) / SENSITIVITY
    taken = [sample for sample in (driver.read() for _ in range(300)) if sample.is_fresh]
    assert len(taken) >= 10
    for sample in taken:
        np.testing.assert_allclose(sample.wrench, exact, rtol=1e-12)
    assert driver.counts.refused > 0
    wire.fault(fault, 0.0)
    found = [driver.read().is_fresh for _ in range(10)]
    assert all(found[2:])


def test_a_doubled_answer_does_not_make_all_later_ones_late() -> None:
    _, emulator, wire, driver = bench(device={"noise": 0.0})
    driver.open()
    wire.fault("duplicate_answers", 1.0)
    for _ in range(20):
        driver.read()
    wire.fault("duplicate_answers", 0.0)
    driver.read()
    emulator.set_wrench([10.0, 0, 0, 0, 0, 0])
    driver.read()
    assert driver.read().wrench[0] == pytest.approx(10.0, abs=0.03)


@MODES
def test_silence_is_told_and_the_last_wrench_kept_until_it_ends(mode: str) -> None:
    clock, emulator, wire, driver = bench(mode=mode, timeout=0.03)
    emulator.set_wrench(LOAD)
    driver.open()
    last = driver.read()
    wire.fault("silence", 1.0)
    driver.read()  # may have been under way
    start = clock.now()
    sample = driver.read()
    assert not sample.is_fresh and np.all(np.abs(sample.wrench - LOAD) <= STEP) and sample.time >= last.time
    assert clock.now() - start <= 0.03 + 2e-3
    wire.fault("silence", 0.0)
    driver.read()
    assert driver.read().is_fresh


def test_a_pulled_cable_is_an_error_and_close_still_ends() -> None:
    _, _, wire, driver = bench()
    driver.open()
    wire.fault("disconnect", 1.0)
    with pytest.raises(TransportError):
        driver.read()
    driver.close()
    driver.close()


def test_a_silent_line_is_refused_with_what_to_look_at() -> None:
    driver = bench(faults={"silence": 1.0}, sensitivity=SENSITIVITY).driver
    with pytest.raises(NoAnswer, match="power, cable and port"):
        driver.open()


def test_a_line_with_something_else_is_refused_with_what_to_look_at() -> None:
    driver = bench(faults={"corrupt_answers": 0.9}, sensitivity=SENSITIVITY).driver
    with pytest.raises(NoAnswer, match=r"no records.*baud"):
        driver.open()


def test_what_is_not_open_cannot_be_read() -> None:
    with pytest.raises(TransportError, match="open"):
        bench().driver.read()


# --- settings ---------------------------------------------------------------------------------------------------------
def test_every_setting_is_described() -> None:
    assert all(one.description for cls in (DynPickSettings, DynPickEmulatorSettings) for one in fields_of(cls))


@pytest.mark.parametrize("values, words", [
    ({"sensitivity": [1.0, 2.0]}, "six numbers"),
    ({"sensitivity": [0.0] * 6}, "sensitivity"), ({"mode": "fast"}, "poll"),
    ({"filter_divider": 3}, "filter_divider"), ({"rate": 0.0}, "rate"), ({"timeout": 0.0}, "timeout"),
])  # fmt: skip
def test_settings_that_cannot_be_are_refused_by_name(values: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        checked(DynPickSettings, values)


def test_no_address_is_refused_with_examples() -> None:
    with pytest.raises(TransportError, match="ttyUSB0"):
        DynPickDriver(DynPickSettings()).open()


# --- the real thing but for the sensor --------------------------------------------------------------------------------
@MODES
def test_over_a_real_pseudo_terminal(mode: str) -> None:
    with EmulatorProcess("dynpick") as device:
        driver = DynPickDriver(DynPickSettings(url=device.url, mode=mode, timeout=2.0))
        driver.open()
        try:
            for name, value in zip(("fx", "fy", "fz", "mx", "my", "mz"), LOAD, strict=True):
                device.fault(name, float(value))
            for _ in range(400):  # in mode continuous some may have been under way
                sample = driver.read()
                assert sample.is_fresh
            assert np.all(np.abs(sample.wrench - LOAD) <= STEP)
            driver.bias()
            for _ in range(400):
                sample = driver.read()
            assert np.all(np.abs(sample.wrench) <= STEP)
        finally:
            driver.close()
        assert not device.violations() and not device.state()["is_streaming"]
