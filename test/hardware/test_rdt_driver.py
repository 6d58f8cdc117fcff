# SPDX-License-Identifier: Apache-2.0
"""Drivers of Net F/T and OnRobot HEX against their emulators: scales, start, sequence, status, zero, stop."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from ada_dynamics.errors import InputError
from ada_dynamics.settings import checked, fields_of
from ada_hardware.emulation.in_process import FakeClock, InProcessPackets
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.force_torque.rdt import codec
from ada_hardware.force_torque.rdt.codec import Record, Request
from ada_hardware.force_torque.rdt.driver import RdtDriver
from ada_hardware.force_torque.rdt.emulator import (
    NetFtEmulator,
    NetFtEmulatorSettings,
    OnRobotEmulator,
    RdtEmulatorSettings,
)
from ada_hardware.force_torque.rdt.netft import NetFtDriver, NetFtSettings
from ada_hardware.force_torque.rdt.onrobot import FILTERS, OnRobotDriver, OnRobotSettings
from ada_hardware.transport import open_packets
from ada_robot.errors import NoAnswer, TransportError

LOAD = np.array([12.0, -34.0, 56.0, 0.7, -0.8, 0.9])
DEVICES = {
    "netft": (NetFtEmulator, NetFtEmulatorSettings, NetFtDriver, NetFtSettings),
    "onrobot": (OnRobotEmulator, RdtEmulatorSettings, OnRobotDriver, OnRobotSettings),
}
BOTH = pytest.mark.parametrize("name", list(DEVICES))
STEP = {"netft": 2.5e-6 * np.ones(6), "onrobot": 2.5 * np.repeat([1e-4, 1e-5], 3)}


class Bench(NamedTuple):
    clock: FakeClock
    emulator: Any
    wire: InProcessPackets
    driver: RdtDriver[Any]


def bench(
    name: str = "netft",
    faults: dict[str, float] | None = None,
    device: dict[str, object] | None = None,
    **settings: Any,
) -> Bench:
    emulator_class, emulator_settings, driver_class, driver_settings = DEVICES[name]
    clock = FakeClock()
    emulator = emulator_class(checked(emulator_settings, device or {}))
    wire = InProcessPackets(emulator, clock=clock, sleep=clock.sleep, faults=faults)
    return Bench(clock, emulator, wire, driver_class(checked(driver_settings, settings), wire=wire, clock=clock))


@BOTH
def test_the_load_comes_through_within_noise_and_rounding(name: str) -> None:
    _, emulator, _, driver = bench(name)
    driver.open()
    driver.read()
    emulator.set_wrench(LOAD)
    for _ in range(100):
        sample = driver.read()
        assert sample.is_fresh and not sample.error and not sample.warning
        assert np.all(np.abs(sample.wrench - LOAD) <= STEP[name])
    driver.close()
    assert not emulator.violations and not emulator.state()["is_streaming"]


@pytest.mark.parametrize("force_unit, torque_unit", [("lbf", "lbf-in"), ("N", "Nmm"), ("kgf", "kgf-cm"), ("kN", "kNm")])
def test_a_page_in_other_units_gives_the_same_wrench(force_unit: str, torque_unit: str) -> None:
    device = {"force_unit": force_unit, "torque_unit": torque_unit, "counts_per_force": 4e5, "noise": 0.0}
    _, emulator, _, driver = bench(device={**device, "counts_per_torque": 3e5})
    emulator.set_wrench(LOAD)
    driver.open()
    np.testing.assert_allclose(driver.read().wrench, LOAD, atol=2e-3)  # kN: half a count of 1/4e5 kN
    assert driver.identity().source == "device"


def test_scales_from_the_sheet_need_no_page() -> None:
    clock, emulator = FakeClock(), NetFtEmulator(NetFtEmulatorSettings(noise=0.0))
    wire = InProcessPackets(emulator, clock=clock, sleep=clock.sleep)

    def no_page(url: str, timeout: float) -> bytes:
        raise AssertionError(url)

    use = NetFtSettings(force_scale=1e6, moment_scale=1e6)
    driver = NetFtDriver(use, wire=wire, clock=clock, fetch=no_page)
    emulator.set_wrench(LOAD)
    driver.open()
    np.testing.assert_allclose(driver.read().wrench, LOAD, atol=1e-6)
    assert driver.identity().source == "settings"


def test_the_rate_is_that_of_the_page() -> None:
    driver = bench(device={"rate": 500.0}, rate=1000.0).driver
    driver.open()
    assert driver.period == 1 / 500.0


@pytest.mark.parametrize("rate, ticks", [(1000.0, 1), (500.0, 2), (100.0, 10), (300.0, 3), (5000.0, 1)])
def test_the_rate_of_a_hex_is_set_in_whole_milliseconds(rate: float, ticks: int) -> None:
    clock, emulator, _, driver = bench("onrobot", rate=rate)
    driver.open()
    driver.read()
    start = clock.now()
    for _ in range(50):
        driver.read()
    assert driver.period == pytest.approx(ticks * 1e-3)
    assert (clock.now() - start) / 50 == pytest.approx(ticks * 1e-3, rel=0.02)
    assert emulator.state()["rate"] == pytest.approx(1000.0 / ticks)


@pytest.mark.parametrize("cutoff, code", FILTERS.items())
def test_the_filter_of_a_hex_is_set_by_its_code(cutoff: str, code: int) -> None:
    _, emulator, _, driver = bench("onrobot", device_filter=cutoff)
    driver.open()
    assert emulator.state()["filter"] == code


@BOTH
def test_the_zero_of_the_device_takes_the_present_load_off(name: str) -> None:
    _, emulator, _, driver = bench(name)
    emulator.set_wrench(LOAD)
    driver.open()
    driver.bias()
    driver.read()
    assert np.all(np.abs(driver.read().wrench) <= STEP[name])


# --- start ------------------------------------------------------------------------------------------------------------
@BOTH
@pytest.mark.parametrize("lost", [1, 9])
def test_a_start_that_gets_lost_is_repeated(name: str, lost: int) -> None:
    clock, emulator, _, driver = bench(name)
    emulator.fault("deaf_starts", lost)
    driver.open()
    assert driver.read().is_fresh
    assert driver.counts.retries == lost and clock.now() == pytest.approx(0.1 * lost, abs=0.01)


@BOTH
def test_a_silent_address_is_refused_after_ten_starts(name: str) -> None:
    clock, _, _, driver = bench(name, faults={"silence": 1.0})
    with pytest.raises(NoAnswer, match=r"10 requests.*nothing came.*ping"):
        driver.open()
    assert clock.now() == pytest.approx(1.0, abs=0.01)


def test_an_address_with_something_else_is_refused() -> None:
    driver = bench("onrobot", faults={"half_answers": 1.0}).driver
    with pytest.raises(NoAnswer, match="none of RDT"):
        driver.open()


def test_a_sensor_whose_rdt_is_off_is_refused() -> None:
    clock, emulator = FakeClock(), NetFtEmulator(NetFtEmulatorSettings())
    page = emulator.http_pages()["/netftapi2.xml"].replace(b"Enabled", b"Disabled")
    wire = InProcessPackets(emulator, clock=clock, sleep=clock.sleep)
    driver = NetFtDriver(
        NetFtSettings(calibration_url="http://x/"), wire=wire, clock=clock, fetch=lambda url, timeout: page
    )
    with pytest.raises(NoAnswer, match="switched off"):
        driver.open()


# --- sequence ---------------------------------------------------------------------------------------------------------
@BOTH
@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_lost_records_are_counted_to_the_record(name: str, share: float) -> None:
    _, emulator, wire, driver = bench(name)
    driver.open()
    wire.fault("drop_answers", share)
    samples = [driver.read() for _ in range(1000)]
    numbers = [one.number for one in samples if one.is_fresh]
    assert driver.sequence.lost == numbers[-1] - numbers[0] + 1 - len(numbers)
    assert driver.sequence.lost / numbers[-1] == pytest.approx(share, abs=0.05)
    assert numbers == sorted(set(numbers)) and numbers[-1] == emulator.state()["records"]


@BOTH
def test_records_in_disorder_and_doubled_are_used_once_and_in_order(name: str) -> None:
    _clock, emulator, wire, driver = bench(name, device={"noise": 0.0})
    driver.open()
    for fault in ("duplicate_answers", "reorder_answers"):
        wire.fault(fault, 0.3)
    numbers = []
    for i in range(1000):
        emulator.set_wrench([1e-3 * i, 0, 0, 0, 0, 0])
        sample = driver.read()
        numbers.append(sample.number)
    assert numbers == sorted(set(numbers))
    counts = driver.sequence
    assert counts.duplicated > 100 and counts.reordered > 100 and counts.restarted == 0
    assert counts.lost <= 1  # one may be under way


@BOTH
def test_a_device_that_starts_anew_is_silent_until_it_is_opened_again(name: str) -> None:
    _, emulator, _, driver = bench(name, timeout=0.05)
    driver.open()
    driver.read()
    emulator.fault("reboot", 1.0)
    driver.read()
    assert not driver.read().is_fresh and driver.counts.missed >= 1
    driver.open()
    assert driver.read().is_fresh


def test_a_host_that_was_away_gets_the_newest_record() -> None:
    clock, emulator, _, driver = bench(device={"noise": 0.0})
    driver.open()
    driver.read()
    clock.sleep(0.5)
    emulator.set_wrench(LOAD)
    clock.sleep(1e-3)
    sample = driver.read()
    np.testing.assert_allclose(sample.wrench, LOAD, atol=1e-6)
    assert sample.number == emulator.state()["records"] and "late" in driver.counts.last_problem
    assert driver.sequence.lost == 0


def test_a_host_that_was_a_little_late_gets_every_record() -> None:
    clock, _, _, driver = bench()
    driver.open()
    first = driver.read().number
    clock.sleep(0.02)
    assert [driver.read().number for _ in range(30)] == list(range(first + 1, first + 31))


def test_packets_that_are_no_records_are_refused_and_counted() -> None:
    _, _emulator, wire, driver = bench()
    driver.open()
    wire.fault("half_answers", 0.5)
    for _ in range(200):
        driver.read()
    assert driver.counts.refused > 50 and "no RDT record" in driver.counts.last_problem


def test_several_records_in_a_packet_are_all_used() -> None:
    clock, _emulator, wire, driver = bench()
    driver.open()
    wire.send(codec.encode_request(Request(codec.START_BUFFERED)))
    clock.sleep(0.04)
    numbers = [driver.read().number for _ in range(40)]
    assert numbers[-1] - numbers[-30] == 29


# --- status -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("status, error, warning, is_saturated", [
    (0, False, False, False),
    (0x80010000, False, True, False),
    (0x80020000, True, False, True),
    (0x80030000, True, False, True),
    (0x80004000, True, False, False),
    (0x80000001, True, False, False),
    (0x00010000, True, False, False),
])  # fmt: skip
def test_the_rule_of_the_status_word(status: int, error: bool, warning: bool, is_saturated: bool) -> None:
    _, emulator, _, driver = bench()
    driver.open()
    emulator.fault("status", status)
    driver.read()
    sample = driver.read()
    assert (bool(sample.error), bool(sample.warning), sample.is_saturated) == (error, warning, is_saturated)
    assert sample.status == status


@pytest.mark.parametrize("status, error, is_saturated", [
    (0x0000, "", False), (0x0003, "", False), (0x0200, "", True), (0x0010, "", True), (0x0400, "not detected", False),
    (0x0800, "failed", False), (0x1000, "hot", False), (0x2000, "box", False), (0x4000, "understand", False),
    (0x0C00, "error 3", False), (0x10000, "manual", False), (0x0640, "not detected", True),
])  # fmt: skip
def test_the_status_word_of_a_hex(status: int, error: str, is_saturated: bool) -> None:
    _, emulator, _, driver = bench("onrobot")
    driver.open()
    emulator.fault("status", status)
    driver.read()
    sample = driver.read()
    assert (error in sample.error if error else not sample.error) and sample.is_saturated is is_saturated
    assert bool(sample.warning) is is_saturated


def test_a_load_out_of_range_is_an_error_for_as_long_as_it_lasts() -> None:
    _, emulator, _, driver = bench(device={"range_force": 100.0})
    driver.open()
    emulator.set_wrench([101.0, 0, 0, 0, 0, 0])
    driver.read()
    assert driver.read().is_saturated
    emulator.set_wrench([99.0, 0, 0, 0, 0, 0])
    driver.read()
    assert not driver.read().is_saturated


def test_a_passed_threshold_stays_latched_until_the_reset() -> None:
    _, emulator, _, driver = bench(device={"threshold": 50.0})
    driver.open()
    emulator.set_wrench([51.0, 0, 0, 0, 0, 0])
    driver.read()
    driver.read()
    emulator.set_wrench(np.zeros(6))
    for _ in range(10):
        sample = driver.read()
    assert "latched" in sample.warning and not sample.error
    driver.reset()
    driver.read()
    assert not driver.read().warning


# --- ends and refusals ------------------------------------------------------------------------------------------------
@BOTH
def test_a_pulled_cable_is_an_error_and_close_still_ends(name: str) -> None:
    _, _, wire, driver = bench(name)
    driver.open()
    driver.read()
    wire.fault("disconnect", 1.0)
    with pytest.raises(TransportError):
        driver.read()
    driver.close()
    driver.close()


def test_what_is_not_open_cannot_be_read() -> None:
    with pytest.raises(TransportError, match="open"):
        bench().driver.read()


def test_no_address_is_refused_with_examples() -> None:
    with pytest.raises(TransportError, match=r"192\.168\.1\.1"):
        NetFtDriver(NetFtSettings()).open()


def test_every_setting_is_described() -> None:
    assert all(one.description for _, a, _, b in DEVICES.values() for cls in (a, b) for one in fields_of(cls))


@pytest.mark.parametrize("values, words", [
    ({"force_scale": 1e6}, "both"), ({"rate": 0.0}, "rate"), ({"timeout": -1.0}, "timeout"),
])  # fmt: skip
def test_settings_that_cannot_be_are_refused_by_name(values: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        checked(NetFtSettings, values)


def test_a_filter_that_a_hex_has_not_is_refused() -> None:
    with pytest.raises(InputError, match="device_filter"):
        checked(OnRobotSettings, {"device_filter": "100"})


def test_the_emulator_says_what_no_host_must_send() -> None:
    _clock, emulator, wire, _ = bench()
    wire.send(b"hello")
    wire.send(codec.encode_request(Request(0x7777)))
    assert [one.text for one in emulator.violations] == [
        "a packet of 5 bytes that is no request", "an unknown command 0x7777"
    ]  # fmt: skip


def test_a_counted_start_sends_so_many_records() -> None:
    clock, _emulator, wire, _ = bench()
    wire.send(codec.encode_request(Request(codec.START, 5)))
    clock.sleep(1.0)
    packets = []
    while (packet := wire.receive(0.0)) is not None:
        packets += codec.decode_records(packet)
    assert [one.number for one in packets] == [1, 2, 3, 4, 5] and isinstance(packets[0], Record)


# --- the real thing but for the sensor --------------------------------------------------------------------------------
@BOTH
def test_over_real_udp_and_http(name: str) -> None:
    with EmulatorProcess(name, settings={"noise": 0.0}) as device:
        _, _, driver_class, settings_class = DEVICES[name]
        more = {"calibration_url": f"{device.http_url}/netftapi2.xml"} if name == "netft" else {}
        driver = driver_class(checked(settings_class, {"url": device.url, "timeout": 2.0, **more}))
        driver.open()
        try:
            for axis, value in zip(("fx", "fy", "fz", "mx", "my", "mz"), LOAD, strict=True):
                device.fault(axis, float(value))
            for _ in range(400):
                sample = driver.read()
                assert sample.is_fresh
            np.testing.assert_allclose(sample.wrench, LOAD, atol=1e-4)
            driver.bias()
            for _ in range(400):
                sample = driver.read()
            np.testing.assert_allclose(sample.wrench, np.zeros(6), atol=1e-4)
        finally:
            driver.close()
        assert not device.violations()


def test_over_real_udp_nobody_there_is_no_answer() -> None:
    driver = OnRobotDriver(OnRobotSettings(url="udp://127.0.0.3:9"))
    with pytest.raises((NoAnswer, TransportError)):
        driver.open()


def test_a_page_that_is_not_there_is_no_answer() -> None:
    wire = open_packets("udp://127.0.0.4:9")
    use = NetFtSettings(calibration_url="http://127.0.0.1:9/netftapi2.xml", page_timeout=1.0)
    with pytest.raises(NoAnswer, match="calibration"):
        NetFtDriver(use, wire=wire).open()
