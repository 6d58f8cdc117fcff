# SPDX-License-Identifier: Apache-2.0
"""Packets between PC and PA-10 controller: header, sequence number, type, payload. No I/O.

A packet as passed by the Linux ARCNET driver (docs/pa10_hardware.md; mhipa10arc):

    sender  receiver  pointer  filler  sequence  type  payload ...
    FF      FE        FE       B7      00        53                     the PC starts control (S)

The data (sequence, type, payload) are at the end of the 256-byte card buffer; the pointer is their offset, 256 minus
their number. ARCNET has a checksum, the packet has none: the header fields are checked for consistency.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from ada_hardware.pa10.variants import AXES, Variant
from ada_robot.errors import Refused

HOST = 0xFF  # node of the PC
CONTROLLER = 0xFE  # node of the servo controller
FILLER = 0xB7  # value that mhipa10arc writes to the unused byte of short packets
BUFFER = 256  # [bytes] of the ARCNET card
HEAD = 4  # [bytes] before the data
LAST_SEQUENCE = 0x7F  # wraps to 0
_LARGEST = BUFFER - 3 - 2  # [bytes] of payload: sender, receiver and pointer share the buffer


class PacketType(IntEnum):
    """Packet types."""

    START = ord("S")  # start control; cyclic packets then move the arm
    CYCLE = ord("C")  # cyclic command and response
    END = ord("E")  # end control or teach mode
    TEACH = ord("T")  # teach mode: release the brakes for hand guiding
    CLEAR_ALARM = ord("A")  # clear the alarm of one axis
    READ = ord("R")  # read the controller memory
    # The following types change zero position or memory permanently; they are never sent by this package.
    MEASURE_ZERO = ord("M")
    STORE = ord("W")
    CHANGE = ord("P")


class Packet(NamedTuple):
    """Packet."""

    type: PacketType  # packet type
    sequence: int  # sequence number, repeated in the response
    payload: bytes = b""  # payload bytes
    sender: int = HOST  # node number of the sender
    receiver: int = CONTROLLER  # node number of the receiver

    def answer(self, payload: bytes = b"") -> Packet:
        """Return the response with the same sequence number and type."""
        return Packet(self.type, self.sequence, payload, self.receiver, self.sender)


def encode_packet(packet: Packet) -> bytes:
    """Encode a packet.

    Raises:
        Refused: sequence number or payload size is out of range.
    """
    size = len(packet.payload)
    if not 0 <= packet.sequence <= LAST_SEQUENCE:
        text = f"PA-10: sequence number {packet.sequence}; allowed are 0 to {LAST_SEQUENCE}."
        raise Refused(text, field="sequence", value=packet.sequence, allowed=LAST_SEQUENCE)
    if size > _LARGEST:
        text = f"PA-10: payload of {size} bytes; a short ARCNET packet holds at most {_LARGEST}."
        raise Refused(text, field="payload", value=size, allowed=_LARGEST)
    pointer = BUFFER - 2 - size
    head = bytes((packet.sender, packet.receiver, pointer, FILLER, packet.sequence, packet.type))
    return head + packet.payload


def require_axis(axis: int) -> None:
    """Refuse an axis number other than 1 to 7."""
    if not 1 <= axis <= AXES:
        text = f"PA-10: axis {axis} does not exist; axes are numbered from 1 (S1) to {AXES} (W2)."
        raise Refused(text, field="axis", value=axis)


def alarm_clear_payload(axis: int) -> bytes:
    """Encode the payload of A. Refused if the axis number is not 1 to 7; a 6CE has no axis 3."""
    require_axis(axis)
    # Big-endian (docs/pa10_hardware.md). Only the source for the CE documents A; the same is assumed for the 7C.
    return axis.to_bytes(2, "big")


class PacketParser:
    """Checks received data and decodes valid packets; raises no exceptions.

    On ARCNET and UDP each datagram is one packet, so a damaged one does not affect the next.

    Attributes:
        refused: number of invalid datagrams.
        odd_sizes: number of packets C with a payload size of another variant.
        last_problem: description of the last invalid datagram.
    """

    def __init__(self, variant: Variant, sender: int) -> None:
        """Accept packets of a variant from one sender, HOST or CONTROLLER."""
        self._sender, self._receiver = sender, CONTROLLER if sender == HOST else HOST
        self._sizes = _sizes(variant, sender)
        self.refused = self.odd_sizes = 0
        self.last_problem = ""

    def feed(self, data: bytes) -> list[Packet]:
        """Return the packet in a datagram; empty if it is invalid or an echo of a sent packet."""
        if len(data) < HEAD + 2:
            return self._refuse(f"{len(data)} bytes are too few for a packet")
        sender, receiver, pointer, _, sequence, kind = data[:6]
        if (sender, receiver) == (self._receiver, self._sender):
            return []  # packet sockets return sent packets
        if (sender, receiver) != (self._sender, self._receiver):
            return self._refuse(f"from node {sender:02X} to {receiver:02X}")
        payload = bytes(data[6:])
        if pointer != BUFFER - 2 - len(payload):
            return self._refuse(f"pointer {pointer:02X} does not fit {len(payload)} bytes of payload")
        if sequence > LAST_SEQUENCE:
            return self._refuse(f"sequence number {sequence:02X}")
        if kind not in self._sizes:
            return self._refuse(f"type {kind:02X}")
        if len(payload) not in self._sizes[PacketType(kind)]:
            self.odd_sizes += kind == PacketType.CYCLE
            return self._refuse(f"{len(payload)} bytes of payload in a packet {chr(kind)}")
        return [Packet(PacketType(kind), sequence, payload, sender, receiver)]

    def _refuse(self, problem: str) -> list[Packet]:
        self.refused += 1
        self.last_problem = problem
        return []


def _sizes(variant: Variant, sender: int) -> dict[PacketType, frozenset[int]]:
    """Return the allowed payload sizes by type for one direction [bytes].

    Documented are S, E, T, A to the controller and C in both directions; RobWork asserts that S and E are answered
    without payload, SDU's driver sends and reads R. An answer to A may repeat the axis.
    """
    none, axis = frozenset((0,)), frozenset((2,))
    if sender == HOST:
        return {
            PacketType.START: none,
            PacketType.END: none,
            PacketType.TEACH: none,
            PacketType.CLEAR_ALARM: axis,
            PacketType.CYCLE: frozenset((variant.command.size,)),
            PacketType.READ: axis,
            PacketType.MEASURE_ZERO: axis,
            PacketType.STORE: frozenset(range(_LARGEST + 1)),
            PacketType.CHANGE: frozenset(range(_LARGEST + 1)),
        }
    return {
        PacketType.START: none,
        PacketType.END: none,
        PacketType.TEACH: none,
        PacketType.CLEAR_ALARM: none | axis,
        PacketType.CYCLE: frozenset((variant.response.size,)),
        PacketType.READ: frozenset(range(2 + 2 * 28, _LARGEST, 2)),  # at least up to word 28; the largest is odd
        PacketType.MEASURE_ZERO: none | axis,
    }
