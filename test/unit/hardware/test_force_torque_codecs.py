# SPDX-License-Identifier: Apache-2.0
"""Bytes and pages of all force sensors: the published ones (docs/force_sensors.md), whatever else comes, damage."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

from ada_dynamics.clock import ManualClock
from ada_hardware.force_torque.dynpick import codec as dynpick
from ada_hardware.force_torque.dynpick.codec import DynPickParser
from ada_hardware.force_torque.ft300 import codec as ft300
from ada_hardware.force_torque.rdt import codec as rdt
from ada_hardware.force_torque.rdt.calibration import parse_calibration
from ada_hardware.force_torque.rdt.codec import RdtRecord, RdtRequest, encode_records
from ada_hardware.force_torque.rdt.driver import WRAP, NetFtDriver, NetFtSettings, SequenceWatch
from ada_hardware.force_torque.sensor_driver import SequenceCounts
from ada_hardware.transport.wires import Wire
from ada_robot.errors import NoAnswer

ZERO_FRAME = b"0" + b"2000" * 6 + b"\r\n"


class Stream(NamedTuple):
    """A sensor on a serial line: a new parser, the bytes of a record, six counts, and bytes without its end."""

    parser: Callable[[], Any]
    encode: Callable[[int, tuple[int, ...]], bytes]
    read: Callable[[Any], tuple[int, ...]]
    counts: st.SearchStrategy[tuple[int, ...]]
    random: Callable[[random.Random], int]
    uncertain: int  # bytes of a record after which noise may bring the rest


STREAMS = {
    "dynpick": Stream(
        DynPickParser,
        dynpick.encode_record,
        lambda one: getattr(one, "counts", ()),
        st.tuples(*[st.integers(0, 16383)] * 6),
        lambda rng: rng.randrange(16384),
        25,
    ),
    "ft300": Stream(
        ft300.frame_parser,
        lambda number, counts: ft300.encode_frame(counts),
        lambda one: one,
        st.tuples(*[st.integers(-32768, 32767)] * 6),
        lambda rng: rng.randrange(-32768, 32768),
        14,
    ),
}
EACH = pytest.mark.parametrize("name", STREAMS)


@EACH
@given(data=st.data(), piece=st.integers(1, 40))
def test_records_in_pieces_of_any_size_come_back(name: str, data: Any, piece: int) -> None:
    kind = STREAMS[name]
    sent = data.draw(st.lists(kind.counts, max_size=6))
    stream, parser, found = b"".join(kind.encode(i, one) for i, one in enumerate(sent)), kind.parser(), []
    for begin in range(0, len(stream), piece):
        found += parser.feed(stream[begin : begin + piece])
    assert [kind.read(one) for one in found] == sent and parser.refused == 0


@EACH
@pytest.mark.parametrize("size", [20_000, pytest.param(1_000_000, marks=pytest.mark.fuzz)])
def test_noise_neither_raises_nor_is_taken_nor_lasts(name: str, size: int) -> None:
    rng, kind = random.Random(size), STREAMS[name]
    parser, fed, taken, sent = kind.parser(), 0, 0, set()
    length = len(kind.encode(0, (0,) * 6))
    while fed < size:
        values = tuple(kind.random(rng) for _ in range(6))
        data, share = kind.encode(rng.randrange(10), values), rng.random()
        if share < 0.5:
            sent.add(values)
        elif share < 0.7:
            data = data[: rng.randrange(length)]
            sent |= {values} if len(data) >= kind.uncertain else set()
        else:
            data = rng.randbytes(rng.randrange(80))
        fed += len(data)
        found = [kind.read(one) for one in parser.feed(data) if kind.read(one)]
        taken += len(found)
        assert sent.issuperset(found)
    assert taken > size / length / 8
    parser.feed(kind.encode(0, (1,) * 6))
    assert kind.read(parser.feed(kind.encode(0, (2,) * 6))[-1]) == (2,) * 6


def test_the_records_of_a_dynpick_are_the_published_ones() -> None:
    assert len(ZERO_FRAME) == 27
    assert dynpick.encode_record(0, [8192] * 6) == ZERO_FRAME
    assert DynPickParser().feed(ZERO_FRAME) == [dynpick.DynPickRecord(0, (8192,) * 6)]
    assert DynPickParser().feed(b"7000020013FFF1fFfABC00010\r\n") == []  # ABC0 is beyond 14 bits
    assert DynPickParser().feed(b"7000020013FFF1fFf0ABC0010\r\n") == [
        dynpick.DynPickRecord(7, (0, 0x2001, 0x3FFF, 0x1FFF, 0x0ABC, 0x10))
    ]
    for raw, is_saturated in ((0, True), (1, False), (16382, False), (16383, True)):  # the ends of its 14 bits
        assert dynpick.DynPickRecord(0, (8192, 8192, raw, 8192, 8192, 8192)).is_saturated is is_saturated


def test_the_commands_and_answers_of_a_dynpick_are_the_published_ones() -> None:
    c = dynpick
    sent = (c.READ, c.START, c.STOP, c.ZERO, c.SENSITIVITY, c.VERSION)
    assert sent == (b"R", b"S", b"E", b"O", b"p", b"V")
    scales = (24.9, 24.6, 24.5, 1664.7, 1639.7, 1638.0)
    data = c.encode_sensitivity(scales)
    assert data == b"24.900,24.600,24.500,1664.70,1639.70,1638.00\r\n" and len(data) == 46
    (one,) = DynPickParser().feed(data)
    assert isinstance(one, str) and c.decode_sensitivity(one) == scales
    for end in ("", "1,2,3", "6,7", "x", "0", "-6", "nan", "inf"):
        assert c.decode_sensitivity(f"1,2,3,4,5,{end}") is None


@given(st.integers(0, 26), st.integers(0, 255), STREAMS["dynpick"].counts)
def test_a_changed_byte_is_refused_unless_it_is_another_digit(place: int, byte: int, values: tuple[int, ...]) -> None:
    data = bytearray(dynpick.encode_record(5, values))
    data[place] = byte
    found = [one for one in DynPickParser().feed(bytes(data)) if isinstance(one, dynpick.DynPickRecord)]
    is_digit = chr(byte) in ("0123456789" if place == 0 else "0123456789abcdefABCDEF") and place < 25
    if found:
        assert is_digit or data == dynpick.encode_record(5, values)
        assert max(found[0].counts) <= 16383
    else:
        assert not is_digit or max(int(data[i : i + 4], 16) for i in range(1, 25, 4)) > 16383


def test_an_endless_line_is_not_kept() -> None:
    parser = DynPickParser()
    for _ in range(1000):
        assert parser.feed(b"A" * 100) == []
    assert parser.feed(b"\r\n" + ZERO_FRAME) == [dynpick.DynPickRecord(0, (8192,) * 6)]
    assert parser.refused == 1


def test_the_bytes_of_an_ft300_are_the_published_ones() -> None:
    assert ft300.crc(b"123456789") == 0x4B37  # the check value of Modbus
    assert bytes.fromhex("09 10 01 9A 00 01 02 02 00 CD CA") == ft300.START
    frame = ft300.encode_frame([100, -1, 0, 256, 32767, -32768])
    assert frame[:14] == bytes.fromhex("20 4E 64 00 FF FF 00 00 00 01 FF 7F 00 80") and len(frame) == 16
    assert ft300.frame_parser().feed(frame) == [(100, -1, 0, 256, 32767, -32768)]


@given(STREAMS["ft300"].counts, st.integers(0, 15), st.integers(1, 255))
def test_no_changed_byte_of_a_frame_with_a_checksum_is_taken(values: tuple[int, ...], place: int, change: int) -> None:
    frame = bytearray(ft300.encode_frame(values))
    frame[place] ^= change
    assert ft300.frame_parser().feed(bytes(frame)) == []


u32, i32 = st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1)


@pytest.mark.parametrize("request_, data", [
    (RdtRequest(rdt.START), "1234000200000000"),
    (RdtRequest(rdt.BIAS), "1234004200000000"),
    (RdtRequest(rdt.STOP), "1234000000000000"),
    (RdtRequest(rdt.RESET_THRESHOLD), "1234004100000000"),
    (RdtRequest(rdt.SPEED, 10), "123400820000000a"),
])  # fmt: skip
def test_requests_of_rdt_are_the_published_bytes(request_: RdtRequest, data: str) -> None:
    assert rdt.encode_request(request_) == bytes.fromhex(data)
    assert rdt.decode_request(bytes.fromhex(data)) == request_


def test_a_hand_written_record_of_rdt_reads_as_its_bytes_say() -> None:
    packet = bytes.fromhex("00000007 00000100 80020000 000f4240 fff0bdc0 00000000 00000001 ffffffff 7fffffff")
    assert rdt.decode_records(packet) == [RdtRecord(7, 256, 0x80020000, (1_000_000, -1_000_000, 0, 1, -1, 2**31 - 1))]


@given(st.binary(max_size=120))
def test_packets_that_are_nothing_of_rdt_are_refused(packet: bytes) -> None:
    assert len(rdt.decode_records(packet)) == (0 if len(packet) % 36 else len(packet) // 36)
    if len(packet) != 8 or packet[:2] != b"\x12\x34":
        assert rdt.decode_request(packet) is None


PAGE = (
    b'<?xml version="1.0"?>\n<netft><!-- made up --><prodname>Net F/T</prodname><cfgcalsn>FT1234</cfgcalsn>'
    b"<cfgcpf>1000000</cfgcpf><cfgcpt>1000000</cfgcpt><scfgfu>N</scfgfu><scfgtu>Nm</scfgtu><comrdte>Enabled</comrdte>"
    b"<comrdtrate>7000</comrdtrate></netft>"
)


def page(**tags: str) -> bytes:
    values = {"cfgcpf": "1000000", "cfgcpt": "1000000", "scfgfu": "N", "scfgtu": "Nm", **tags}
    return ("<netft>" + "".join(f"<{key}>{value}</{key}>" for key, value in values.items()) + "</netft>").encode()


def test_a_page_tells_scales_rate_and_name() -> None:
    found = parse_calibration(PAGE, "here")
    assert found == ("Net F/T", "FT1234", 1e6, 1e6, 7000.0, True)
    assert not parse_calibration(page(comrdte="Disabled"), "here").is_streaming_allowed


# one unit in newtons or newton metres, worked out by hand from the definitions of pound, inch and gravity
@pytest.mark.parametrize("tag, scale, units", [
    ("scfgfu", "force_scale", {
        "N": 1.0, "kN": 1000.0, "lbf": 4.4482216152605, "lb": 4.4482216152605, "klbf": 4448.2216152605, "kgf": 9.80665,
        "kg": 9.80665, "gf": 0.00980665,
    }),
    ("scfgtu", "moment_scale", {
        "Nm": 1.0, "N-m": 1.0, "Nmm": 1e-3, "N-mm": 1e-3, "kNm": 1e3, "lbf-in": 0.1129848290276167,
        "lbin": 0.1129848290276167, "lbf-ft": 1.3558179483314004, "lb-ft": 1.3558179483314004,
        "ft-lb": 1.3558179483314004, "kgf-cm": 0.0980665, "kg·cm": 0.0980665,
    }),
])  # fmt: skip
def test_forces_and_moments_are_converted(tag: str, scale: str, units: dict[str, float]) -> None:
    for unit, size in units.items():
        found = getattr(parse_calibration(page(**{tag: unit}), "here"), scale)
        assert 1e6 / found == pytest.approx(size, rel=1e-13), unit


@pytest.mark.parametrize("content, field", [
    (b"", "XML"), (b"<html>", "XML"), (b"<html></html>", "cfgcpf"), (page(cfgcpf="0"), "cfgcpf"),
    (page(cfgcpt="-3"), "cfgcpt"), (page(cfgcpt="many"), "cfgcpt"), (page(cfgcpf="inf"), "cfgcpf"),
    (page(scfgfu="stone"), "scfgfu"), (page(scfgtu=""), "scfgtu"), (page(scfgfu="MN"), "scfgfu"),
    (b'<!DOCTYPE a [<!ENTITY b "c">]>' + page(), "declarations"), (page(comrdtrate="x"), "comrdtrate"),
])  # fmt: skip
def test_a_page_that_cannot_be_is_refused_with_its_reason(content: bytes, field: str) -> None:
    with refused(NoAnswer, field=field):
        parse_calibration(content, "http://192.168.1.1/netftapi2.xml")


class Port(Wire):
    """A sensor that answers each wait with one record."""

    def __init__(self, url: str) -> None:
        self.url, self._number = url, 0

    def send(self, packet: bytes) -> None: ...

    def receive(self, timeout: float) -> bytes | None:
        self._number += 1
        return encode_records(RdtRecord(self._number, self._number, 0, (0,) * 6)) if timeout > 0.0 else None

    def discard_input(self) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("wire, url", [
    ("udp://192.168.1.1:49152", "http://192.168.1.1/netftapi2.xml"), ("udp://sensor:1", "http://sensor/netftapi2.xml"),
    ("udp://[fe80::1]:49152", "http://[fe80::1]/netftapi2.xml"),
])  # fmt: skip
def test_the_sensors_own_page_is_asked_for_and_names_it(wire: str, url: str) -> None:
    asked: list[str] = []

    def fetch(address: str) -> bytes:
        asked.append(address)
        return page(prodname="Gamma", cfgcalsn="FT7")

    driver = NetFtDriver(NetFtSettings(), wire=Port(wire), clock=ManualClock(), fetch=fetch)
    driver.open()
    found = driver.identity
    assert asked == [url]
    assert found is not None and (found.name, found.source) == ("Gamma, calibration FT7", "device")


def watched(numbers: Iterable[int]) -> tuple[list[int], SequenceCounts]:
    counts = SequenceCounts()
    watch = SequenceWatch(counts)
    return [one for one in numbers if watch.is_new(one % WRAP)], counts


FAR = 0x7000_0000


@pytest.mark.parametrize("came, used, counts", [
    ([1, 2, 5, 6, 10], [1, 2, 5, 6, 10], SequenceCounts(lost=5)),
    ([1, 2, 4, 3, 5], [1, 2, 4, 5], SequenceCounts(lost=1, late=1)),
    ([1, 2, 2, 3, 2, 3, 4], [1, 2, 3, 4], SequenceCounts(late=3)),
    ([2, 0, 3, 5], [2, 3, 5], SequenceCounts(lost=1, late=1)),  # what is before the first was never lost
    ([WRAP - 2, WRAP - 1, 1, 0, 2], [WRAP - 2, WRAP - 1, 1, 2], SequenceCounts(lost=1, late=1)),
    ([1, 2, FAR, 3, 4], [1, 2, 3, 4], SequenceCounts(late=1)),  # one number that is far off is not believed
    ([1, 10_001], [1, 10_001], SequenceCounts(lost=9_999)),  # so many may be lost in one piece
    ([1, 10_002], [1], SequenceCounts(late=1)),
    ([1, *range(FAR, FAR + 40)], [1, *range(FAR + 31, FAR + 40)], SequenceCounts(late=31, restarted=1)),
    ([*range(1, 101), *range(1, 200)], [*range(1, 101), *range(32, 200)], SequenceCounts(late=31, restarted=1)),
    ([*range(70_000, 70_010), *range(1, 32)], [*range(70_000, 70_010)], SequenceCounts(late=31)),
])  # fmt: skip
def test_lost_late_doubled_and_restarted_records(came: list[int], used: list[int], counts: SequenceCounts) -> None:
    assert watched(came) == (used, counts)
