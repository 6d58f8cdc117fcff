# SPDX-License-Identifier: Apache-2.0
"""Packets between a PC and the controller of a PA-10: a head, a sequence number, a type, a payload. Bytes only.

A packet as the Linux driver of ARCNET cards gives it (docs/pa10_hardware.md; mhipa10arc):

    sender  receiver  pointer  filler  sequence  type  payload ...
    FF      FE        FE       B7      00        53                     the PC starts the control (S)

The pointer is where the data (sequence, type, payload) begin in the 256 bytes of the card's buffer, at whose end they
stand: 256 less their number. ARCNET itself has a check sum, the packet has none: what the head says must fit.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from ada_hardware.pa10.variants import Variant
from ada_robot.errors import Refused

HOST = 0xFF  # node of the PC
CONTROLLER = 0xFE  # node of the servo controller
FILLER = 0xB7  # what mhipa10arc puts into the byte that short packets do not use
BUFFER = 256  # [bytes] of the ARCNET card
HEAD = 4  # [bytes] before the data
LAST_SEQUENCE = 0x7F  # after it comes 0
_LARGEST = BUFFER - 3 - 2  # [bytes] of a payload: sender, receiver and pointer share the buffer


class PacketType(IntEnum):
    """Types of packets."""

    START = ord("S")  # begin the control; after that cyclic packets move the arm
    CYCLE = ord("C")  # a command, and the response
    END = ord("E")  # end the control, or the teaching
    TEACH = ord("T")  # release the brakes, so that people can lead the arm
    CLEAR_ALARM = ord("A")  # of one axis
    READ = ord("R")  # the controller's memory
    # What follows changes the robot's zero or its memory for good; nothing here ever sends it.
    MEASURE_ZERO = ord("M")
    STORE = ord("W")
    CHANGE = ord("P")


class Packet(NamedTuple):
    """A packet.

    Attributes:
        type: what it is about.
        sequence: its number, which the answer repeats.
        payload: the rest.
        sender: node that sends it.
        receiver: node that it is for.
    """

    type: PacketType
    sequence: int
    payload: bytes = b""
    sender: int = HOST
    receiver: int = CONTROLLER

    def answer(self, payload: bytes = b"") -> Packet:
        """The answer of the other side: the same sequence number and type."""
        return Packet(self.type, self.sequence, payload, self.receiver, self.sender)


def encode_packet(packet: Packet) -> bytes:
    """The bytes of a packet.

    Raises:
        Refused: a sequence number or payload that no packet can have.
    """
    size = len(packet.payload)
    if not 0 <= packet.sequence <= LAST_SEQUENCE:
        text = f"PA-10: sequence number {packet.sequence}; it must be from 0 to {LAST_SEQUENCE}."
        raise Refused(text, field="sequence", value=packet.sequence, allowed=LAST_SEQUENCE)
    if size > _LARGEST:
        text = f"PA-10: a payload of {size} bytes; a short packet of ARCNET holds at most {_LARGEST}."
        raise Refused(text, field="payload", value=size, allowed=_LARGEST)
    pointer = BUFFER - 2 - size
    head = bytes((packet.sender, packet.receiver, pointer, FILLER, packet.sequence, packet.type))
    return head + packet.payload


def alarm_clear_payload(axis: int) -> bytes:
    """Payload of A.

    Args:
        axis: from 1 to 7. A 6CE has no 3.

    Raises:
        Refused: there is no such axis.
    """
    if not 1 <= axis <= 7:
        raise Refused(
            f"PA-10: there is no axis {axis}; axes are numbered from 1 (S1) to 7 (W2).", field="axis", value=axis
        )
    # Big-endian (docs/pa10_hardware.md). Only the source for the CE sends A; for the 7C it is taken to be the same.
    return axis.to_bytes(2, "big")


class PacketParser:
    """Takes what came from a wire, and gives the packets in it that are whole and make sense.

    On ARCNET and UDP each piece is one packet or none, so that a damaged one never harms the next. Nothing raises.

    Attributes:
        refused: pieces that were no packet.
        odd_sizes: those of them that were a packet C with a payload of another size: of another variant.
        last_problem: words on the newest.
    """

    def __init__(self, variant: Variant, sender: int) -> None:
        """Prepare.

        Args:
            variant: of the controller.
            sender: whose packets are wanted: HOST or CONTROLLER.
        """
        self._sender, self._receiver = sender, CONTROLLER if sender == HOST else HOST
        self._sizes = _sizes(variant, sender)
        self.refused = self.odd_sizes = 0
        self.last_problem = ""

    def feed(self, data: bytes) -> list[Packet]:
        """The packet in a piece of data; empty where it is none, or an echo of what the other side sent."""
        if len(data) < HEAD + 2:
            return self._refuse(f"{len(data)} bytes are too few for a packet")
        sender, receiver, pointer, _, sequence, kind = data[:6]
        if (sender, receiver) == (self._receiver, self._sender):
            return []  # packet sockets show what one sends oneself, too
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
    """Sizes of payloads by type, one way [bytes].

    Documented are those of S, E, T, A to the controller and of C both ways; RobWork asserts that S and E are answered
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
        PacketType.READ: frozenset(range(2 + 2 * 28, _LARGEST, 2)),  # up to word 28 at least; the largest is odd
        PacketType.MEASURE_ZERO: none | axis,
    }
