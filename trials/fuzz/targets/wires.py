# SPDX-License-Identifier: Apache-2.0
"""Bytes from wires. A parser takes anything without an error; what it takes for a message has the bytes of one."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from ada_dynamics.errors import InputError
from ada_hardware.force_torque.rdt.calibration import parse_calibration
from ada_hardware.hexa import packets as hexa
from ada_hardware.kondo.rcb1 import codec as rcb1
from ada_hardware.kondo.rcb1.codec import COMMANDS, Rcb1Code
from ada_hardware.kondo.rcb4 import codec as m
from ada_hardware.kondo.rcb4 import codec as rcb4
from ada_hardware.kondo.rcb4.codec import Move
from ada_hardware.pa10 import axis_data, cyclic
from ada_hardware.pa10 import packets as pa10
from ada_hardware.pa10.settings import Pa10Settings
from ada_hardware.pa10.translation import Translation
from ada_hardware.pa10.variants import arm, variant
from trials.fuzz.target import Target

_VARIANTS = ("ce", "7c")
_PIECES = 16  # where frames are cut matters near their beginning
_ARMS = {name: Translation(Pa10Settings(variant=name), arm(name, 7)) for name in _VARIANTS}


def _pieces(data: bytes) -> Iterator[bytes]:
    """The first byte says in how large pieces the rest arrives; what is left after some pieces arrives at once."""
    size = data[0] % 64 + 1 if data else 1
    at = 1
    while at < len(data):
        after = at + size if at < _PIECES * size else len(data)
        yield data[at:after]
        at = after


# --- PA-10 ------------------------------------------------------------------------------------------------------------
def _pa10(data: bytes) -> None:
    name = _VARIANTS[data[0] % 2] if data else "ce"
    kind, payload = variant(name), data[1:]
    for sender in (pa10.HOST, pa10.CONTROLLER):
        for packet in pa10.PacketParser(kind, sender).feed(payload):
            assert pa10.encode_packet(packet)[4:] == payload[4:]
            _pa10_payload(packet.type, packet.payload, name, sender)


def _pa10_payload(what: int, payload: bytes, name: str, sender: int) -> None:
    kind = variant(name)
    if what == pa10.PacketType.READ:
        if sender == pa10.HOST:
            axis_data.axis_of(payload)
        else:
            axis_data.decode_axis_data(payload, kind)
    elif what == pa10.PacketType.CYCLE and sender == pa10.HOST:
        cyclic.decode_command(payload, kind)
    elif what == pa10.PacketType.CYCLE:
        assert cyclic.encode_response(cyclic.decode_response(payload, kind), kind) == payload
        translation = _ARMS[name]
        translation.forget()
        translation.state_of(payload, 1.0, 0.0005)
        translation.state_of(payload, 1.002, 0.001)


def _pa10_seeds() -> Iterator[bytes]:
    for i, name in enumerate(_VARIANTS):
        kind = variant(name)
        axes = tuple(cyclic.AxisResponse(angle=1000 * n, torque=n) for n in range(7))
        command = cyclic.encode_command(cyclic.CyclicCommand((cyclic.AxisCommand(),) * 7), kind)
        response = cyclic.encode_response(cyclic.CyclicResponse(axes), kind)
        stored = axis_data.encode_axis_data(2, axis_data.AxisData(1.0, -1.0, 0.1, 4), kind)
        read = axis_data.read_payload(3)
        for payload, answer, what in (
            (command, response, pa10.PacketType.CYCLE),
            (read, stored, pa10.PacketType.READ),
            (pa10.alarm_clear_payload(1), b"", pa10.PacketType.CLEAR_ALARM),
            (b"", b"", pa10.PacketType.START),
        ):
            packet = pa10.Packet(what, 5, payload)
            yield bytes([i]) + pa10.encode_packet(packet)
            yield bytes([i]) + pa10.encode_packet(packet.answer(answer))


# --- HEXA: the last bytes are a CRC, which the search need not guess --------------------------------------------------
def _hexa(data: bytes) -> None:
    for packet in (data, data + zlib.crc32(data).to_bytes(4, "big")):
        command, status = hexa.decode_command(packet), hexa.decode_status(packet)
        if command is not None and all(abs(x) < 1e300 for x in command.values):
            assert hexa.encode_command(command) == packet
        if status is not None:
            assert hexa.decode_status(hexa.encode_status(status)) == status


def _hexa_seeds() -> Iterable[bytes]:
    six = (0.1,) * 6
    status = hexa.TableStatus(hexa.TableState.POSITION, 7, 9, 1, (0, 1, 2, 3, 4, 5), 1.5, six, six, six)
    return [
        hexa.encode_command(hexa.CommandPacket(hexa.TableRequest.POSITION, 1, 2, six))[:-4],
        hexa.encode_status(status)[:-4],
    ]


# --- Kondo ------------------------------------------------------------------------------------------------------------
_RCB1_ASKED = [rcb1.Rcb1Command(Rcb1Code.GET_POSITIONS, 0), rcb1.Rcb1Command(Rcb1Code.GET_ID)]
_RCB4_ASKED: list[m.Rcb4Command] = [m.ReadRam(0x92, 186), m.Version(), m.AckCheck()]


def _kondo(codec: Any, asked: list[Any], data: bytes) -> None:
    """Read the rest as commands, and as replies to one of some commands, which the first byte selects."""
    way = data[0] >> 6 if data else 0
    commands, replies = codec.command_parser(), codec.reply_parser(asked[way % len(asked)])
    for piece in _pieces(data):
        for command in commands.feed(piece):
            with suppress(InputError):  # a value out of range, which is not encoded
                assert codec.decode_command(codec.encode_command(command)) == command
        replies.feed(piece)
    assert max(commands.waiting, replies.waiting) <= min(len(data), 255)


def _rcb1_seeds() -> Iterator[bytes]:
    for kind in COMMANDS.values():
        values = tuple(field.lowest for field in kind.fields)
        board = 3 if kind.names_board else rcb1.NO_BOARD
        yield b"\x3f" + rcb1.encode_command(rcb1.Rcb1Command(kind.code, board, values))
        yield b"\x07" + rcb1.encode_reply(rcb1.Rcb1Reply(kind.code, 0, tuple(f.lowest for f in kind.reply or ())))


def _rcb4_seeds() -> Iterator[bytes]:
    moves = (Move(0, 7500), Move(3, 3500), Move(34, 0x8000))
    some = (m.AckCheck(), m.Version(), m.ReadRam(0x20, 2), m.WriteRam(0, b"\x0b\x80"), m.MoveServos(12, moves))
    for command in some:
        yield b"\x3f" + rcb4.encode_command(command)
    for way, asked in enumerate(_RCB4_ASKED):
        size = rcb4.data_length(asked)
        yield bytes([way << 6 | 0x3F]) + rcb4.encode_reply(rcb4.Rcb4Reply(m.code_of(asked), bytes(size or 0)))


# --- Net F/T ----------------------------------------------------------------------------------------------------------
def _netft(data: bytes) -> None:
    found = parse_calibration(data, "the page")
    assert found.force_scale > 0.0 and found.moment_scale > 0.0


def _netft_seeds() -> Iterable[bytes]:
    page = b"""<?xml version="1.0"?><netft><prodname>Net F/T</prodname><cfgcalsn>FT1</cfgcalsn><cfgcpf>1000000</cfgcpf>
<scfgfu>N</scfgfu><cfgcpt>1e6</cfgcpt><scfgtu>Nm</scfgtu><comrdtrate>7000</comrdtrate><comrdte>Enabled</comrdte>
</netft>"""
    return [page]


_PAGE_WORDS = (
    "<cfgcpf>",
    "<scfgfu>lbf</scfgfu>",
    "<scfgtu>lbf-in",
    "<!ENTITY",
    "<!--",
    "nan",
    "1e-320",
    "1e400",
    "&#0;",
)

TARGETS = (
    Target("pa10", "packets of a PA-10 and what they carry", _pa10, _pa10_seeds, longest=300),
    Target("hexa", "packets of a HEXA table", _hexa, _hexa_seeds, longest=200),
    Target("rcb1", "frames of an RCB-1, in pieces", partial(_kondo, rcb1, _RCB1_ASKED), _rcb1_seeds, longest=200),
    Target("rcb4", "frames of an RCB-4, in pieces", partial(_kondo, rcb4, _RCB4_ASKED), _rcb4_seeds, longest=300),
    Target("netft", "page with the calibration of a Net F/T", _netft, _netft_seeds, words=_PAGE_WORDS),
)
