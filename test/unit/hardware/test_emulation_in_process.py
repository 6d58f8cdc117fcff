# SPDX-License-Identifier: Apache-2.0
"""Wires to an emulator in the same process: exact times on a manual clock, faults, and addresses."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from echo_device import EchoDeviceSettings, EchoPackets, EchoStream, frame
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

from ada_dynamics.clock import ManualClock
from ada_hardware import opening, registry
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
