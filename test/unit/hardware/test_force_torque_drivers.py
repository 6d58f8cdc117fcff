# SPDX-License-Identifier: Apache-2.0
"""Drivers of all force sensors against their emulators: the load, damage, silence, order, status, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device_world import DeviceWorld
from refused import refused

from ada_hardware.force_torque.rdt.driver import NetFtDriver, NetFtSettings
from ada_robot.errors import NoAnswer, TransportError

LOAD = np.array([12.0, -34.0, 56.0, 0.7, -0.8, 0.9])
SENSITIVITY = (24.9, 24.6, 24.5, 1664.7, 1639.7, 1638.0)
SCALE = {
    "dynpick": np.array(SENSITIVITY),
    "ft300": np.repeat([100.0, 1000.0], 3),
    "netft": np.full(6, 1e6),
    "onrobot": np.repeat([1e4, 1e5], 3),
}
WAYS = {"dynpick": ("poll", "continuous"), "ft300": ("",), "netft": ("",), "onrobot": ("",)}
CASES = [(name, way) for name, ways in WAYS.items() for way in ways]
EACH = pytest.mark.parametrize("name, way", CASES, ids=[" ".join(filter(None, case)) for case in CASES])
DYNPICK = pytest.mark.parametrize("way", WAYS["dynpick"])
RDT = pytest.mark.parametrize("name", ["netft", "onrobot"])


def step(name: str) -> Any:
    """Noise of 2 counts, and half a count of rounding."""
    return 2.51 / SCALE[name]


def world(name: str, way: str = "", **options: Any) -> DeviceWorld:
    return DeviceWorld(name, **({"mode": way} if way else {}), **options)


def opened(name: str, way: str = "", **options: Any) -> DeviceWorld:
    """With the first sample read: what comes later is of a load that is put on now."""
    found = world(name, way, **options)
    found.driver.open()
    found.driver.read()
    return found


@EACH
def test_the_load_comes_through_within_noise_and_rounding_at_the_rate(name: str, way: str) -> None:
    bench = opened(name, way)
    driver, start = bench.driver, bench.clock.now()
    bench.device.set_wrench(LOAD)
    for _ in range(100):
        sample = driver.read()
        assert sample.is_fresh and not (sample.is_saturated or sample.error or sample.warning)
        assert np.all(np.abs(sample.wrench - LOAD) <= step(name))
    # the emulated wire hands over at its ticks, of at most 2 ms
    assert bench.clock.now() - start == pytest.approx(100 * driver.period, abs=1.1 * driver.period + 2.1e-3)
    driver.close()
    assert not bench.device.violations and not bench.device.state()["is_streaming"]
    assert driver.sequence.lost == 0 and driver.counts.missed == 0


@pytest.mark.parametrize("name, way, axis, force, bits", [
    *(("dynpick", way, *case, 14) for way in WAYS["dynpick"] for case in ((0, 1e4), (2, -1e4), (5, 1e3))),
    ("ft300", "", 2, -400.0, 16),
])  # fmt: skip
def test_a_load_beyond_its_bits_is_saturation_for_as_long_as_it_lasts(
    name: str, way: str, axis: int, force: float, bits: int
) -> None:
    bench = opened(name, way)
    for load, is_saturated in ((force * np.eye(6)[axis], True), (np.zeros(6), False)):
        bench.device.set_wrench(load)
        for _ in range(3):
            sample = bench.driver.read()
        assert sample.is_saturated is is_saturated
        if is_saturated:
            assert abs(sample.wrench[axis]) == pytest.approx(2 ** (bits - 1) / SCALE[name][axis], rel=1e-3)


@pytest.mark.parametrize("name", ["ft300", "netft"])
def test_a_host_that_was_away_gets_the_newest_record(name: str) -> None:
    bench = opened(name, device={"noise": 0.0})
    bench.clock.sleep(1.0)
    bench.device.set_wrench(LOAD)
    bench.clock.sleep(0.02)
    np.testing.assert_allclose(bench.driver.read().wrench, LOAD, atol=1e-6)
    assert "late" in bench.driver.counts.last_problem and bench.driver.sequence.lost == 0


@pytest.mark.parametrize("name, way, faults", [
    *(("dynpick", way, {"half": 0.3, "half_answers": 0.9}) for way in WAYS["dynpick"]),
    ("ft300", "", {"half_answers": 0.5, "corrupt_answers": 0.03}),
    ("netft", "", {"half_answers": 0.5}),
])  # fmt: skip
def test_damage_is_refused_and_never_makes_another_wrench(name: str, way: str, faults: dict[str, float]) -> None:
    for fault, value in faults.items():
        bench = world(name, way, device={"noise": 0.0})
        bench.device.set_wrench(LOAD)
        bench.driver.open()
        bench.wire.fault(fault, value)
        exact = np.round(LOAD * SCALE[name]) / SCALE[name]
        taken = [sample for sample in (bench.driver.read() for _ in range(150)) if sample.is_fresh]
        assert len(taken) >= 10, fault
        for sample in taken:
            np.testing.assert_allclose(sample.wrench, exact, rtol=1e-12)
        assert bench.driver.counts.refused > 0
        bench.wire.fault(fault, 0.0)
        assert all([bench.driver.read().is_fresh for _ in range(10)][2:])


@EACH
def test_silence_is_told_and_the_last_wrench_kept_until_it_ends(name: str, way: str) -> None:
    bench = opened(name, way, timeout=0.03)
    bench.device.set_wrench(LOAD)
    for _ in range(3):
        last = bench.driver.read()
    bench.wire.fault("silence", 1.0)
    for _ in range(3):  # some may have been under way
        start = bench.clock.now()
        sample = bench.driver.read()
    assert not sample.is_fresh and np.all(np.abs(sample.wrench - LOAD) <= step(name)) and sample.time >= last.time
    assert bench.clock.now() - start <= 0.03 + 2e-3 and bench.driver.counts.missed >= 1
    bench.wire.fault("silence", 0.0)
    bench.driver.read()
    assert bench.driver.read().is_fresh


@EACH
def test_a_pulled_cable_is_an_error_and_close_still_ends(name: str, way: str) -> None:
    bench = opened(name, way)
    bench.wire.fault("disconnect", 1.0)
    with pytest.raises(TransportError):
        for _ in range(10):  # some may have come before
            bench.driver.read()
    bench.driver.close()
    bench.driver.close()


@pytest.mark.parametrize("name, options, field", [
    ("dynpick", {"faults": {"silence": 1.0}, "sensitivity": SENSITIVITY}, "data"),
    ("dynpick", {"faults": {"corrupt_answers": 0.9}, "sensitivity": SENSITIVITY}, "records"),
    ("dynpick", {"device": {"is_old": True}}, "sensitivity"),
    ("ft300", {"faults": {"silence": 1.0}}, "data"), ("ft300", {"faults": {"corrupt_answers": 0.9}}, "records"),
    ("netft", {"faults": {"silence": 1.0}}, "data"), ("onrobot", {"faults": {"silence": 1.0}}, "data"),
    ("onrobot", {"faults": {"half_answers": 1.0}}, "records"),
])  # fmt: skip
def test_the_error_of_an_opening_names_what_is_missing(name: str, options: dict[str, Any], field: str) -> None:
    bench = world(name, **options)
    with refused(NoAnswer, field=field):
        bench.driver.open()
    assert bench.clock.now() < 2.1


@DYNPICK
def test_a_stream_that_an_earlier_program_left_on_does_no_harm(way: str) -> None:
    bench = world("dynpick", way)
    bench.wire.send(b"S")
    bench.clock.sleep(0.5)
    bench.driver.open()
    bench.device.set_wrench(LOAD)
    bench.driver.read()
    for _ in range(10):
        assert np.all(np.abs(bench.driver.read().wrench - LOAD) <= step("dynpick"))


@DYNPICK
def test_lost_frames_are_counted_and_the_next_one_is_right(way: str) -> None:
    bench = opened("dynpick", way)
    bench.device.set_wrench(LOAD)
    bench.driver.read()
    bench.wire.fault("drop_answers", 0.3)
    samples = [bench.driver.read() for _ in range(300)]
    for sample in samples:
        assert not sample.is_fresh or np.all(np.abs(sample.wrench - LOAD) <= step("dynpick"))
    if way == "poll":  # each loss is a wait in vain
        assert bench.driver.counts.missed == sum(not one.is_fresh for one in samples) > 50
    assert bench.driver.sequence.lost > 30  # the count of a digit does not see ten in a row
    bench.wire.fault("drop_answers", 0.0)
    bench.driver.read()
    assert all(bench.driver.read().is_fresh for _ in range(20))


def test_scales_from_the_sheet_need_no_page_and_a_page_without_rdt_is_refused() -> None:
    bench = world("netft", device={"noise": 0.0})
    page = str(bench.device.state()["calibration"]).replace("Enabled", "Disabled").encode()

    def driver(**settings: Any) -> NetFtDriver:
        return NetFtDriver(NetFtSettings(**settings), wire=bench.wire, clock=bench.clock, fetch=lambda _: page)

    bench.device.set_wrench(LOAD)
    sheet = driver(force_scale=1e6, moment_scale=1e6)
    sheet.open()
    np.testing.assert_allclose(sheet.read().wrench, LOAD, atol=1e-6)
    with refused(NoAnswer, field="comrdte"):
        driver(calibration_url="http://x/").open()


@RDT
def test_records_in_disorder_and_doubled_are_used_once_and_in_order(name: str) -> None:
    bench = world(name, device={"noise": 0.0})
    bench.driver.open()
    for fault in ("duplicate_answers", "reorder_answers"):
        bench.wire.fault(fault, 0.3)
    numbers = []
    for i in range(1000):
        bench.device.set_wrench([1e-3 * i, 0, 0, 0, 0, 0])
        numbers.append(bench.driver.read().number)
    assert numbers == sorted(set(numbers))
    counts = bench.driver.sequence
    assert counts.late > 200 and counts.restarted == 0


@RDT
def test_a_device_that_starts_anew_is_silent_until_it_is_opened_again(name: str) -> None:
    bench = opened(name, timeout=0.05)
    bench.device.fault("reboot", 1.0)
    bench.driver.read()
    assert not bench.driver.read().is_fresh and bench.driver.counts.missed >= 1
    bench.driver.open()
    assert bench.driver.read().is_fresh


@pytest.mark.parametrize("name, status, error, warning, is_saturated", [
    ("netft", 0, "", "", False), ("netft", 0x80010000, "", "latched", False),
    ("netft", 0x80020000, "out of range", "", True), ("netft", 0x80030000, "out of range", "", True),
    ("netft", 0x80004000, "watchdog", "", False), ("netft", 0x80000001, "manual", "", False),
    ("netft", 0x00010000, "latched", "", False),
    ("onrobot", 0x0000, "", "", False), ("onrobot", 0x0003, "", "", False),  # which sensor it is
    ("onrobot", 0x0200, "", "fx", True), ("onrobot", 0x0010, "", "nz", True),
    ("onrobot", 0x0400, "not detected", "", False), ("onrobot", 0x0800, "sensor failure", "", False),
    ("onrobot", 0x1000, "temperature out of range", "", False), ("onrobot", 0x2000, "box", "", False),
    ("onrobot", 0x4000, "communication failure", "", False), ("onrobot", 0x0C00, "error 3", "", False),
    ("onrobot", 0x10000, "manual", "", False), ("onrobot", 0x0640, "not detected", "fx, nx", True),
])  # fmt: skip
def test_the_status_word(name: str, status: int, error: str, warning: str, is_saturated: bool) -> None:
    bench = opened(name)
    bench.device.fault("status", status)
    bench.driver.read()
    sample = bench.driver.read()
    for words, expected in ((sample.error, error), (sample.warning, warning)):
        assert expected in words and bool(words) is bool(expected)
    assert sample.is_saturated is is_saturated


def test_a_passed_threshold_is_latched_until_the_reset() -> None:
    bench = opened("netft", device={"threshold": 50.0})
    for force in (51.0, 0.0):
        bench.device.set_wrench([force, 0, 0, 0, 0, 0])
        bench.driver.read()
        sample = bench.driver.read()
        assert "latched" in sample.warning and not sample.error
    bench.driver.reset()
    bench.driver.read()
    assert not bench.driver.read().warning
