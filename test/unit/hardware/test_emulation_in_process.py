# SPDX-License-Identifier: Apache-2.0
"""Wires to an emulator in the same process: exact times on a manual clock, faults as often and late as asked."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import pytest
from echo_device import EchoDeviceSettings, EchoPackets, EchoStream, frame
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

from ada_dynamics.clock import ManualClock
from ada_dynamics.errors import InputError
from ada_hardware import opening, registry
from ada_hardware.emulation.emulated_link import Arrival, EmulatedLink, FaultyDirection, base_name, fault_names
from ada_hardware.emulation.in_process import InProcessWire
from ada_robot.errors import TransportError


class Bench(NamedTuple):
    clock: ManualClock
    echo: EchoStream
    wire: Any


def stream(faults: dict[str, float] | None = None, kind: type[EchoStream] = EchoStream, **settings: Any) -> Bench:
    clock, echo = ManualClock(), kind(EchoDeviceSettings(**settings))
    return Bench(clock, echo, InProcessWire(echo, clock=clock, sleep=clock.sleep, faults=faults))


def test_an_answer_comes_exactly_when_the_device_sends_it() -> None:
    clock, _, wire = stream(delay=0.030)
    wire.send(frame(b"a"))
    assert wire.receive(0.029) is None and clock.now() == 0.029
    assert wire.receive(1.0) == frame(b"a") and clock.now() == pytest.approx(0.030, abs=1e-12)


def test_a_read_takes_no_longer_than_its_timeout_and_no_time_for_what_is_there() -> None:
    clock, _, wire = stream()
    wire.send(frame(b"abc"))
    assert wire.receive(1.0) == frame(b"abc")
    assert clock.now() == 0.0
    assert wire.receive(0.5) is None and clock.now() == 0.5
    assert wire.receive(0.0) is None and clock.now() == 0.5


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=20), st.integers(1, 7))
def test_pieces_of_any_size_make_the_same_answers(contents: list[bytes], piece: int) -> None:
    _, echo, wire = stream()
    sent = b"".join(frame(content) for content in contents)
    for begin in range(0, len(sent), piece):
        wire.send(sent[begin : begin + piece])
    assert [one for _, one in echo.heard] == [frame(content) for content in contents]
    assert (wire.receive(0.1) or b"") == sent


def test_ticks_and_commands_reach_the_device_in_the_order_of_their_times() -> None:
    clock, echo, wire = stream({"delay_commands": 0.025}, pulse=0.01)
    wire.send(frame(b"late"))
    clock.sleep(0.04)
    wire.run()
    times = [*echo.advances[:2], echo.heard[0][0], *echo.advances[2:]]
    assert times == sorted(times) == pytest.approx([0.01, 0.02, 0.025, 0.03, 0.04])


def test_faults_are_switched_on_and_off_while_it_runs() -> None:
    _, echo, wire = stream()
    for name in ("silence", "drop", "drop_answers"):
        wire.fault(name, 1.0)
        wire.send(frame(b"a"))
        assert wire.receive(0.1) is None
        wire.fault(name, 0.0)
        wire.send(frame(b"a"))
        assert wire.receive(0.1) == frame(b"a")
    assert len(echo.heard) == 5  # only of "drop" it heard nothing


def test_a_pulled_cable_is_an_error_until_it_is_back() -> None:
    clock, echo, wire = stream(pulse=0.1)
    wire.fault("disconnect", 1)
    for action in (lambda: wire.send(b"a"), lambda: wire.receive(1.0)):
        with refused(TransportError, field="state", value="gone"):
            action()
    clock.sleep(1.0)
    wire.fault("disconnect", 0)
    assert wire.receive(0.0) is None  # what it said meanwhile is lost
    assert len(echo.advances) == 10  # it lived on
    wire.send(frame(b"a"))
    assert wire.receive(0.05) == frame(b"a")


def test_a_closed_wire_can_be_used_again_and_has_forgotten_its_input() -> None:
    for bench in (stream(), stream(kind=EchoPackets)):
        bench.wire.send(frame(b"old"))
        bench.wire.close()
        bench.wire.close()
        bench.wire.send(frame(b"new"))
        assert bench.wire.receive(0.1) == frame(b"new")


@pytest.mark.parametrize("device", list(registry.DEVICES))
def test_an_address_that_is_not_set_is_refused_with_examples(device: str) -> None:
    with refused(TransportError, field="url") as caught:
        opening.open_device_wire(device, "")
    assert {*registry.find(device).addresses, "dry:", "emulator:"} == set(caught.value.allowed)


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
