# SPDX-License-Identifier: Apache-2.0
"""What wires do to frames: each fault as often and as late as asked, the same from the same seed, and off when off."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

from ada_dynamics.errors import InputError
from ada_hardware.emulation.faults import WIRE_FAULTS, Arrival, FaultyWay, WireFaults, base_name

MANY = 20_000


def way(is_stream: bool = False, seed: int = 1, **faults: float) -> FaultyWay:
    one = FaultyWay(seed, is_stream=is_stream)
    one.values.update(faults)
    one.follow(0.0)
    return one


def numbered(count: int, length: int = 4) -> list[bytes]:
    return [number.to_bytes(length, "big") for number in range(count)]


def through(one: FaultyWay, frames: list[bytes], step: float = 1e-3, last: float = 10.0) -> list[Arrival]:
    for number, data in enumerate(frames):
        one.send(data, number * step)
    return one.arrived(len(frames) * step + last)


def is_near(count: float, expected: float, deviation: float) -> bool:
    """Within five standard deviations: a seed that fails is one of two million."""
    return abs(count - expected) <= 5.0 * deviation


@given(st.lists(st.binary(max_size=20), max_size=30), st.booleans())
def test_without_faults_everything_arrives_at_once_and_in_order(frames: list[bytes], is_stream: bool) -> None:
    arrived = through(way(is_stream), frames)
    assert arrived == [Arrival(number * 1e-3, data) for number, data in enumerate(frames)]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_the_share_of_lost_frames_is_as_asked(share: float) -> None:
    arrived = through(way(drop=share), numbered(MANY))
    assert is_near(MANY - len(arrived), MANY * share, math.sqrt(MANY * share * (1 - share)))
    assert [one.data for one in arrived] == sorted(one.data for one in arrived)


@pytest.mark.parametrize("share", [0.001, 0.05, 1.0])
def test_the_share_of_changed_bytes_is_as_asked(share: float) -> None:
    frames = [bytes(100)] * 1000
    changed = sum(byte != 0 for one in through(way(corrupt=share), frames) for byte in one.data)
    assert is_near(changed, 1e5 * share, math.sqrt(1e5 * share * (1 - share)))


def test_halves_are_true_beginnings() -> None:
    whole = bytes(range(10))
    arrived = [one.data for one in through(way(half=0.3), [whole] * MANY)]
    assert all(whole.startswith(data) and data for data in arrived)
    cut = [data for data in arrived if data != whole]
    assert is_near(len(cut), MANY * 0.3, math.sqrt(MANY * 0.21))
    assert {len(data) for data in cut} == set(range(1, 10))


def test_duplicates_come_right_behind() -> None:
    arrived = [one.data for one in through(way(duplicate=0.25), numbered(MANY))]
    assert is_near(len(arrived) - MANY, MANY * 0.25, math.sqrt(MANY * 0.1875))
    assert sorted(set(arrived)) == numbered(MANY)
    assert arrived == sorted(arrived)


@pytest.mark.parametrize("is_stream", [False, True])
def test_reordered_frames_change_places_with_the_next_and_none_gets_lost(is_stream: bool) -> None:
    arrived = [one.data for one in through(way(is_stream, reorder=0.2), numbered(MANY))]
    assert sorted(arrived) == numbered(MANY)
    swaps = sum(later < earlier for earlier, later in itertools.pairwise(arrived))
    # Of the frames that are not behind a held one a fifth is held: 0.2 / (1 + 0.2) of all.
    assert is_near(swaps, MANY * 0.2 / 1.2, math.sqrt(MANY * 0.2))


def test_a_held_frame_arrives_in_the_end_if_nothing_follows() -> None:
    one = way(reorder=1.0)
    one.send(b"alone", 1.0)
    assert one.arrived(1.0) == []
    (arrival,) = one.arrived(one.next_time())
    assert arrival.data == b"alone" and 1.0 < arrival.time < 1.1


def test_delay_and_jitter_are_within_their_bounds() -> None:
    frames = numbered(MANY)
    late = [
        arrival.time - int.from_bytes(arrival.data, "big") * 1e-3
        for arrival in through(way(delay=0.005, jitter=0.002), frames)
    ]
    assert min(late) >= 0.005 - 1e-9 and max(late) <= 0.007 + 1e-9
    assert is_near(sum(late) / MANY, 0.006, 0.002 / math.sqrt(12 * MANY))


def test_packets_overtake_with_jitter_and_streams_never_do() -> None:
    packets = [one.data for one in through(way(jitter=0.01), numbered(1000))]
    stream = [one.data for one in through(way(True, jitter=0.01), numbered(1000))]
    assert packets != sorted(packets) and sorted(packets) == numbered(1000)
    assert stream == numbered(1000)


@pytest.mark.parametrize(("is_stream", "length"), [(True, 1), (False, 32)])
def test_noise_is_of_the_rate_asked_and_of_all_bytes(is_stream: bool, length: int) -> None:
    arrived = way(is_stream, noise=3200.0).arrived(10.0)
    assert {len(one.data) for one in arrived} == {length}
    count = 32_000 / length
    assert is_near(len(arrived), count, math.sqrt(count))
    assert len({byte for one in arrived for byte in one.data}) == 256


def test_noise_sits_between_frames_and_never_inside() -> None:
    one = way(True, noise=1000.0)
    frames = [bytes([255]) * 30] * 200
    arrived = through(one, frames, step=0.01)
    assert [arrival.data for arrival in arrived if len(arrival.data) > 1] == frames
    assert len(arrived) > 300


def test_noise_starts_when_switched_on_not_before() -> None:
    one = FaultyWay(1, is_stream=True)
    assert one.arrived(100.0) == [] and one.next_time() == math.inf
    one.values["noise"] = 100.0
    one.follow(100.0)
    assert one.next_time() > 100.0
    assert all(arrival.time > 100.0 for arrival in one.arrived(101.0))
    one.values["noise"] = 0.0
    one.follow(101.0)
    assert one.next_time() == math.inf


ALL = {"drop": 0.1, "corrupt": 0.1, "half": 0.1, "duplicate": 0.1, "reorder": 0.1, "jitter": 0.01, "noise": 50.0}


def test_the_same_seed_does_the_same_and_another_does_other_things() -> None:
    first, again, other = (through(way(seed=seed, **ALL), numbered(500)) for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_when_one_looks_does_not_change_what_happens() -> None:
    at_once = through(way(True, **ALL), numbered(300))
    one, piecewise = way(True, **ALL), []
    for number, data in enumerate(numbered(300)):
        one.send(data, number * 1e-3)
        piecewise += one.arrived(number * 1e-3)
    assert [arrival for arrival in piecewise + one.arrived(10.3) if len(arrival.data) > 1] == [
        arrival for arrival in at_once if len(arrival.data) > 1
    ]


@given(st.lists(st.floats(0.0, 0.01), min_size=1, max_size=50), st.integers(0, 1000))
def test_next_time_is_when_something_arrives(steps: list[float], seed: int) -> None:
    one, now = way(seed=seed, drop=0.1, jitter=0.02, reorder=0.2), 0.0
    for step in steps:
        now += step
        one.send(b"frame", now)
    while (time := one.next_time()) < math.inf:
        assert one.arrived(math.nextafter(time, -math.inf)) == []
        assert one.arrived(time)


# --- both ways, by name -----------------------------------------------------------------------------------------------
def test_a_name_is_for_both_ways_and_with_its_ending_for_one() -> None:
    wire = WireFaults({"drop": 0.1, "half_commands": 0.2, "delay_answers": 0.3}, is_stream=True)
    assert wire.commands.values == {"drop": 0.1, "half": 0.2}
    assert wire.answers.values == {"drop": 0.1, "delay": 0.3}
    wire.set("drop_commands", 0, 0.0)
    assert wire.commands.values["drop"] == 0.0 and wire.answers.values["drop"] == 0.1


def test_silence_is_about_answers_alone() -> None:
    wire = WireFaults({"silence": 1}, is_stream=True)
    assert through(wire.answers, [b"answer"]) == []
    assert through(wire.commands, [b"command"]) == [Arrival(0.0, b"command")]


def test_the_ways_do_not_disturb_each_other() -> None:
    alone = WireFaults({"drop": 0.5}, is_stream=False, seed=3)
    busy = WireFaults({"drop": 0.5}, is_stream=False, seed=3)
    through(busy.commands, numbered(100))
    assert through(alone.answers, numbered(100)) == through(busy.answers, numbered(100))
    assert through(alone.commands, numbered(100)) != through(alone.answers, numbered(100))


def test_pulling_the_cable_loses_what_is_under_way() -> None:
    wire = WireFaults({"delay": 0.1}, is_stream=True)
    wire.answers.send(b"under way", 0.0)
    wire.set("disconnect", 1, 0.05)
    assert wire.is_disconnected and wire.answers.arrived(1.0) == []
    wire.set("disconnect", 0, 1.0)
    assert not wire.is_disconnected


@pytest.mark.parametrize("name", ["dorp", "silence_answers", "disconnect_commands", "", "_answers"])
def test_an_unknown_fault_is_refused_with_those_that_there_are(name: str) -> None:
    assert base_name(name) is None
    with refused(InputError, field="fault of wires", value=name, allowed=tuple(WIRE_FAULTS)):
        WireFaults({name: 1.0}, is_stream=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [("drop", 1.5), ("drop", -0.1), ("corrupt_answers", 2.0), ("delay", -1.0), ("delay", math.inf), ("noise", math.nan),
     ("silence", 2.0), ("jitter", "much")],
)  # fmt: skip
def test_a_value_that_a_fault_cannot_have_is_refused_with_what_is_allowed(name: str, value: float) -> None:
    with pytest.raises(InputError) as caught:
        WireFaults({name: value}, is_stream=True)
    assert caught.value.field == name and caught.value.value is value and caught.value.allowed
