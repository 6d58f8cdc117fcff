# SPDX-License-Identifier: Apache-2.0
"""What wires do to frames: each fault as often and as late as asked, the same from the same seed, and off when off."""

from __future__ import annotations

import itertools
import math

import pytest
from echo_device import EchoDeviceSettings, EchoStream
from refused import refused

from ada_dynamics.errors import InputError
from ada_hardware.emulation.emulated_link import Arrival, EmulatedLink, FaultyDirection, base_name, fault_names

MANY = 20_000


def way(is_stream: bool = False, seed: int = 1, **faults: float) -> FaultyDirection:
    one = FaultyDirection(seed, is_stream=is_stream)
    for name, value in faults.items():
        one.values[name] = value
    return one


def numbered(count: int, length: int = 4) -> list[bytes]:
    return [number.to_bytes(length, "big") for number in range(count)]


def through(one: FaultyDirection, frames: list[bytes], step: float = 1e-3, last: float = 10.0) -> list[Arrival]:
    for number, data in enumerate(frames):
        one.send(data, number * step)
    return one.arrived(len(frames) * step + last)


def is_near(count: float, expected: float, deviation: float) -> bool:
    """Within five standard deviations: a seed that fails is one of two million."""
    return abs(count - expected) <= 5.0 * deviation


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_the_share_of_lost_frames_is_as_asked(share: float) -> None:
    arrived = through(way(drop=share), numbered(MANY))
    assert is_near(MANY - len(arrived), MANY * share, math.sqrt(MANY * share * (1 - share)))
    assert [one.data for one in arrived] == sorted(one.data for one in arrived)


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


@pytest.mark.parametrize("name", ["dorp", "silence_answers", "disconnect_commands", "", "_answers"])
def test_an_unknown_fault_is_refused_with_those_that_there_are(name: str) -> None:
    assert base_name(name) is None
    with refused(InputError, field="fault", value=name, allowed=tuple(fault_names(EchoStream))):
        EmulatedLink(EchoStream(EchoDeviceSettings()), 0.0, faults={name: 1.0})


@pytest.mark.parametrize(
    ("name", "value"),
    [("drop", 1.5), ("drop", -0.1), ("corrupt_answers", 2.0), ("delay", -1.0), ("delay", math.inf),
     ("jitter", math.nan), ("silence", 2.0), ("jitter", "much")],
)  # fmt: skip
def test_a_value_that_a_fault_cannot_have_is_refused_with_what_is_allowed(name: str, value: float) -> None:
    with pytest.raises(InputError) as caught:
        EmulatedLink(EchoStream(EchoDeviceSettings()), 0.0, faults={name: value})
    assert caught.value.field == name and caught.value.value is value and caught.value.allowed
