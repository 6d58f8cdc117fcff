# SPDX-License-Identifier: Apache-2.0
"""Robotiq FT 300: its bytes (docs/force_sensors.md), noise, and its driver against its emulator."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics.settings import fields_of
from ada_hardware.emulation.in_process import FakeClock, InProcessStream
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.force_torque.ft300 import codec
from ada_hardware.force_torque.ft300.codec import FrameParser
from ada_hardware.force_torque.ft300.driver import Ft300Driver, Ft300Settings
from ada_hardware.force_torque.ft300.emulator import Ft300Emulator
from ada_hardware.force_torque.sensor_emulator import SensorEmulatorSettings
from ada_robot.errors import NoAnswer, Refused, TransportError

LOAD = np.array([12.0, -34.0, 56.0, 0.7, -0.8, 0.9])
words = st.tuples(*[st.integers(-32768, 32767)] * 6)


class Bench(NamedTuple):
    clock: FakeClock
    emulator: Ft300Emulator
    wire: InProcessStream
    driver: Ft300Driver


def bench(**faults: float) -> Bench:
    clock, emulator = FakeClock(), Ft300Emulator(SensorEmulatorSettings())
    wire = InProcessStream(emulator, clock=clock, sleep=clock.sleep, faults=faults)
    return Bench(clock, emulator, wire, Ft300Driver(Ft300Settings(), wire=wire, clock=clock))


# --- bytes ------------------------------------------------------------------------------------------------------------
def test_the_checksum_has_the_published_check_value_of_modbus() -> None:
    assert codec.crc(b"123456789") == 0x4B37


def test_the_request_to_stream_is_the_published_one() -> None:
    assert bytes.fromhex("09 10 01 9A 00 01 02 02 00 CD CA") == codec.START


def test_a_frame_has_its_head_its_words_and_its_checksum() -> None:
    frame = codec.encode_frame([100, -1, 0, 256, 32767, -32768])
    assert frame[:14] == bytes.fromhex("20 4E 64 00 FF FF 00 00 00 01 FF 7F 00 80") and len(frame) == 16
    assert FrameParser().feed(frame) == [(100, -1, 0, 256, 32767, -32768)]


def test_a_frame_that_ends_like_a_head_begins_is_no_damage() -> None:
    ends = (codec.encode_frame((x, 0, 0, 0, 0, 0)) for x in range(1 << 15))
    frame = next(one for one in ends if one.endswith(codec.HEAD[:1]))
    parser = codec.FrameParser()
    assert sum(len(parser.feed(frame)) for _ in range(3)) == 3 and parser.refused == 0


@given(st.lists(words, max_size=6), st.integers(1, 40))
def test_frames_in_pieces_of_any_size_come_back(frames: list[tuple[int, ...]], piece: int) -> None:
    data, parser, found = b"".join(map(codec.encode_frame, frames)), FrameParser(), []
    for begin in range(0, len(data), piece):
        found += parser.feed(data[begin : begin + piece])
    assert found == frames and parser.refused == 0


@given(words, st.integers(0, 15), st.integers(1, 255))
def test_no_changed_byte_is_taken(values: tuple[int, ...], place: int, change: int) -> None:
    frame = bytearray(codec.encode_frame(values))
    frame[place] ^= change
    assert FrameParser().feed(bytes(frame)) == []


@given(st.binary(max_size=200), words)
def test_of_two_frames_behind_anything_the_second_is_taken(noise: bytes, values: tuple[int, ...]) -> None:
    parser = FrameParser()
    parser.feed(noise)
    found = parser.feed(codec.encode_frame([1] * 6)) + parser.feed(codec.encode_frame(values))
    assert found[-1] == values


def fuzz(size: int, seed: int) -> None:
    rng, parser, fed, sent = random.Random(seed), FrameParser(), 0, set()
    taken = 0
    while fed < size:
        values = tuple(rng.randrange(-32768, 32768) for _ in range(6))
        frame = codec.encode_frame(values)
        data = frame
        if rng.random() < 0.5:
            sent.add(values)
        elif rng.random() < 0.5:
            data = frame[: rng.randrange(16)]
            if len(data) >= 14:  # only the checksum is missing, which noise may bring
                sent.add(values)
        else:
            data = rng.randbytes(rng.randrange(50))
        fed += len(data)
        found = parser.feed(data)
        taken += len(found)
        assert sent.issuperset(found)
    assert taken > size / 16 / 3


def test_noise_neither_raises_nor_is_taken() -> None:
    fuzz(20_000, 1)


@pytest.mark.fuzz
def test_a_million_bytes_of_noise_neither_raise_nor_are_taken() -> None:
    fuzz(1_000_000, 2)


# --- driver -----------------------------------------------------------------------------------------------------------
def test_the_load_comes_through_a_hundred_times_a_second() -> None:
    clock, emulator, _, driver = bench()
    driver.open()
    driver.read()
    emulator.set_wrench(LOAD)
    start = clock.now()
    for _ in range(100):
        sample = driver.read()
        assert np.all(np.abs(sample.wrench - LOAD) <= 2.51 * np.repeat([0.01, 0.001], 3))
    assert clock.now() - start == pytest.approx(1.0, abs=0.011)
    driver.close()
    assert not emulator.violations and not emulator.state()["is_streaming"]


@pytest.mark.parametrize("fault", ["half_answers", "corrupt_answers", "noise_answers"])
def test_damage_never_makes_another_wrench(fault: str) -> None:
    clock = FakeClock()
    emulator = Ft300Emulator(SensorEmulatorSettings(noise=0.0))
    wire = InProcessStream(emulator, clock=clock, sleep=clock.sleep)
    driver = Ft300Driver(Ft300Settings(), wire=wire, clock=clock)
    emulator.set_wrench(LOAD)
    driver.open()
    wire.fault(fault, {"half_answers": 0.5, "corrupt_answers": 0.03, "noise_answers": 500.0}[fault])
    taken = [sample for sample in (driver.read() for _ in range(300)) if sample.is_fresh]
    assert len(taken) > 100 and driver.counts.refused > 20
    for sample in taken:
        np.testing.assert_allclose(sample.wrench, LOAD, rtol=1e-12)


def test_a_load_beyond_16_bits_is_told_as_saturation() -> None:
    _, emulator, _, driver = bench()
    emulator.set_wrench([0, 0, -400.0, 0, 0, 0])
    driver.open()
    sample = driver.read()
    assert sample.is_saturated and sample.wrench[2] == -327.68


def test_silence_is_told_and_ends() -> None:
    _, _, wire, driver = bench()
    driver.open()
    driver.read()
    wire.fault("silence", 1.0)
    assert not driver.read().is_fresh and driver.counts.missed == 1
    wire.fault("silence", 0.0)
    assert driver.read().is_fresh


def test_a_host_that_was_away_gets_the_newest_frame() -> None:
    clock, emulator, _, driver = bench()
    driver.open()
    driver.read()
    clock.sleep(1.0)
    emulator.set_wrench(LOAD)
    clock.sleep(0.02)
    assert driver.read().wrench[0] == pytest.approx(12.0, abs=0.03) and "late" in driver.counts.last_problem


def test_a_silent_line_and_another_device_are_refused() -> None:
    with pytest.raises(NoAnswer, match=r"nothing comes.*24 V"):
        bench(silence=1.0).driver.open()
    with pytest.raises(NoAnswer, match="no frames"):
        bench(corrupt_answers=0.9).driver.open()
    with pytest.raises(TransportError, match="open"):
        bench().driver.read()
    with pytest.raises(Refused, match="host"):
        bench().driver.bias()


def test_every_setting_is_described() -> None:
    assert all(one.description for cls in (Ft300Settings, SensorEmulatorSettings) for one in fields_of(cls))


def test_over_a_real_pseudo_terminal() -> None:
    with EmulatorProcess("ada_hardware.force_torque.ft300.emulator:Ft300Emulator") as device:
        driver = Ft300Driver(Ft300Settings(url=device.url, timeout=2.0))
        driver.open()
        try:
            device.fault("fz", 56.0)
            for _ in range(30):
                sample = driver.read()
                assert sample.is_fresh
            assert sample.wrench[2] == pytest.approx(56.0, abs=0.03)
        finally:
            driver.close()
        assert not device.violations()
