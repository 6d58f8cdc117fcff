# SPDX-License-Identifier: Apache-2.0
"""Request and response exchange with the PA-10 controller; detection of other hosts.

A second program at the same controller ends the control of this one (E) and starts its own (S); a further command of
this program would then drive the arm again. Every sign of another host on the bus is therefore recorded in `foreign`.
"""

from __future__ import annotations

from collections.abc import Callable

from ada_hardware.pa10.alarms import UNPOWERED
from ada_hardware.pa10.cyclic import decode_response
from ada_hardware.pa10.packets import (
    CONTROLLER,
    HEAD,
    HOST,
    LAST_SEQUENCE,
    Packet,
    PacketParser,
    PacketType,
    encode_packet,
)
from ada_hardware.pa10.variants import Variant
from ada_hardware.transport.wires import Wire
from ada_robot.driver import LinkCounts

_MOST_WAITING = 256  # packets read at once, so that a flood cannot block the cycle
_LATEST = 0.25  # [s] after a request in which a response to S, E or T is attributed to it
_DOUBLE = 0.02  # [s] after a C in which a duplicate of its response is possible
_TO_CONTROLLER = bytes((HOST, CONTROLLER))
_OF_CONTROL = (PacketType.START, PacketType.END, PacketType.TEACH)  # start or end the control of a host


class Link:
    """Numbers requests and matches responses by number and type (docs/pa10_hardware.md).

    Attributes:
        drives: the last command has servos on.
        foreign: evidence of another host as text; "" if there is none.
        is_taken: the evidence is a control or command packet: the arm is no longer controlled by this program.
        took: round-trip time of the last answered request [s].
        parser: parser of the answers.
        has_sent: a request was sent.
    """

    def __init__(self, wire: Wire, variant: Variant, counts: LinkCounts, clock: Callable[[], float]) -> None:
        """Use an open port.

        Args:
            wire: port of the controller.
            variant: variant of the controller.
            counts: statistics to update.
            clock: monotonic time [s].
        """
        self._wire, self._counts, self._clock = wire, counts, clock
        self.parser, self._host_parser = PacketParser(variant, CONTROLLER), PacketParser(variant, HOST)
        self._sequence = LAST_SEQUENCE
        self._requests: dict[int, tuple[float, bytes]] = {}  # by sequence number: time and bytes of the last request
        self._answered: set[int] = set()  # sequence numbers whose last request was answered
        self._received = 0  # valid packets from any node
        self._variant, self.drives = variant, False
        self._stray = ""  # description of a response C with an old number, received before the expected one
        self.foreign, self.is_taken, self.took, self.has_sent = "", False, 0.0, False

    def listen(self, duration: float) -> int:
        """Count the packets of other hosts for `duration` seconds without sending."""
        before = self._received
        self.rest(duration)
        self.forget_foreign()  # a single response may be a late one to the previous host
        return self._received - before

    def forget_foreign(self) -> None:
        """Discard the evidence of another host."""
        self.foreign, self.is_taken = "", False

    def exchange(
        self,
        kind: PacketType,
        payload: bytes,
        timeout: float,
        tries: int = 1,
        give_up: Callable[[], object] = lambda: None,
    ) -> Packet | None:
        """Send a request and return the response, or None after a timeout.

        Args:
            kind: packet type.
            payload: payload of the request.
            timeout: timeout of each try [s].
            tries: number of tries, each with a new sequence number.
            give_up: called before each try; raises an exception to cancel.

        Raises:
            TransportError: the port failed.
        """
        for i in range(tries):
            give_up()
            refused = self._counts.refused
            answer = self._try_once(kind, payload, timeout)
            if answer is not None:
                return answer
            self._counts.missed += 1
            self._stray = ""  # it was the missing response with a damaged number
            came = f", but: {self._counts.last_problem}" if self._counts.refused > refused else ""
            self._counts.last_problem = f"no answer to {chr(kind)} within {1e3 * timeout:g} ms{came}"
            if i + 1 < tries:
                self._counts.retries += 1
        return None

    def rest(self, duration: float) -> None:
        """Wait for `duration` seconds and count received packets as late."""
        end = self._clock() + duration
        for _ in range(_MOST_WAITING):
            data = self._wire.receive(max(end - self._clock(), 0.0))
            if data is None:
                break
            for answer in self._parsed(data):
                self._check_unexpected(answer)
                self._refuse(f"answer {chr(answer.type)} number {answer.sequence} came too late")
        for data in self._wire.overheard():
            self._check_outgoing(data)

    def _try_once(self, kind: PacketType, payload: bytes, timeout: float) -> Packet | None:
        self.rest(0.0)  # late responses to the previous request
        self._sequence = 0 if self._sequence == LAST_SEQUENCE else self._sequence + 1
        packet = Packet(kind, self._sequence, payload)
        data = encode_packet(packet)
        asked_at = self._clock()
        self._requests[self._sequence] = asked_at, data
        self._answered.discard(self._sequence)
        self.has_sent = True
        self._wire.send(data)
        self._counts.sent += 1
        deadline = asked_at + timeout
        for _ in range(_MOST_WAITING):
            came = self._wire.receive(max(deadline - self._clock(), 0.0))
            if came is None:
                return None
            for answer in self._parsed(came):
                if (answer.type, answer.sequence) == (kind, self._sequence):
                    self._counts.received += 1
                    self._answered.add(self._sequence)
                    self.took = self._clock() - asked_at
                    if self._stray:
                        self._report_foreign(PacketType.CYCLE, self._stray)
                    return answer
                self._check_unexpected(answer)
                self._refuse(
                    f"answer {chr(answer.type)} number {answer.sequence} instead of {chr(kind)} {self._sequence}"
                )
        return None

    def _parsed(self, data: bytes) -> list[Packet]:
        if data[:2] == _TO_CONTROLLER:  # packet sockets and hubs may return sent packets
            self._check_outgoing(data)
            return []
        before = self.parser.refused
        found = self.parser.feed(data)
        if self.parser.refused > before:
            self._refuse(self.parser.last_problem)
        self._received += len(found)
        return found

    def _refuse(self, problem: str) -> None:
        self._counts.refused += 1
        self._counts.last_problem = problem

    # --- others ---------------------------------------------------------------------------------------------------
    def _check_outgoing(self, data: bytes) -> None:
        """Check a packet to the controller: sent by this program, or by another host."""
        for packet in self._host_parser.feed(data):
            _, own = self._requests.get(packet.sequence, (0.0, b""))
            if data[HEAD:] != own[HEAD:]:  # the kernel may change the header
                self._received += 1
                self._report_foreign(packet.type, f"it sent {chr(packet.type)} number {packet.sequence}")

    def _check_unexpected(self, answer: Packet) -> None:
        """Check an unexpected response: late, or to the request of another host."""
        asked_at, own = self._requests.get(answer.sequence, (0.0, b""))
        age, number = self._clock() - asked_at, f"{chr(answer.type)} number {answer.sequence}"
        if answer.type in _OF_CONTROL:
            if own[HEAD + 1 : HEAD + 2] != bytes((answer.type,)) or age > _LATEST:
                self._report_foreign(answer.type, f"the controller answered {number}, which this program did not send")
            return
        # own numbers wrap within 0.2 s: a response to an older one belongs to another host
        if answer.type is PacketType.CYCLE and self.drives and age > _DOUBLE and answer.sequence in self._answered:
            self._stray = f"the controller answered {number}, which this program did not send"
            is_braked = any(axis.status & UNPOWERED for axis in decode_response(answer.payload, self._variant).axes)
            if is_braked or self._sequence in self._answered:
                self._report_foreign(answer.type, self._stray)

    def _report_foreign(self, kind: PacketType, what: str) -> None:
        self._stray = ""
        self.foreign = self.foreign or what
        self.is_taken |= kind in (*_OF_CONTROL, PacketType.CYCLE)
        self._counts.last_problem = f"another program communicates with the controller: {what}"
