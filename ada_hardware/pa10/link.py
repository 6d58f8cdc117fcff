# SPDX-License-Identifier: Apache-2.0
"""One exchange with the controller of a PA-10: a packet out, its answer in, all others counted and left."""

from __future__ import annotations

from collections.abc import Callable

from ada_hardware.driver import LinkCounts
from ada_hardware.pa10.packets import CONTROLLER, LAST_SEQUENCE, Packet, PacketParser, PacketType, encode_packet
from ada_hardware.pa10.variants import Variant
from ada_hardware.transport.wires import PacketPort

_MOST_WAITING = 256  # packets that are looked at in one go: a flood must not hold up the cycle


class Link:
    """Numbers packets, and finds the answer that has the number and type of the question (docs/pa10_hardware.md).

    Attributes:
        answers_of_other_size: cyclic answers that were whole, but not of this variant.
    """

    def __init__(self, wire: PacketPort, variant: Variant, counts: LinkCounts, clock: Callable[[], float]) -> None:
        """Begin.

        Args:
            wire: to the controller.
            variant: of the controller.
            counts: to be kept up to date.
            clock: steady time [s].
        """
        self._wire, self._counts, self._clock = wire, counts, clock
        self._parser = PacketParser(variant, CONTROLLER)
        self._sequence = LAST_SEQUENCE

    @property
    def wire(self) -> PacketPort:
        """The wire in use."""
        return self._wire

    def exchange(self, kind: PacketType, payload: bytes, timeout: float, tries: int = 1) -> Packet | None:
        """Ask, and wait for the answer; None where it does not come.

        Args:
            kind: of the packet.
            payload: of it.
            timeout: for each try [s].
            tries: how often to ask, with a new number each time.

        Raises:
            TransportError: the wire is gone.
        """
        for i in range(tries):
            refused = self._counts.refused
            answer = self._once(kind, payload, timeout)
            if answer is not None:
                return answer
            self._counts.missed += 1
            came = f", but: {self._counts.last_problem}" if self._counts.refused > refused else ""
            self._counts.last_problem = f"no answer to {chr(kind)} within {1e3 * timeout:g} ms{came}"
            if i + 1 < tries:
                self._counts.retries += 1
        return None

    def rest(self, duration: float) -> None:
        """Let time pass; what comes meanwhile answers nothing [s]."""
        end = self._clock() + duration
        for _ in range(_MOST_WAITING):
            data = self._wire.receive(max(end - self._clock(), 0.0))
            if data is None:
                return
            self._refuse_late(data)

    def _once(self, kind: PacketType, payload: bytes, timeout: float) -> Packet | None:
        self.rest(0.0)  # answers that came too late for the last question
        self._sequence = 0 if self._sequence == LAST_SEQUENCE else self._sequence + 1
        packet = Packet(kind, self._sequence, payload)
        self._wire.send(encode_packet(packet))
        self._counts.sent += 1
        deadline = self._clock() + timeout
        for _ in range(_MOST_WAITING):
            data = self._wire.receive(max(deadline - self._clock(), 0.0))
            if data is None:
                return None
            for answer in self._parsed(data):
                if (answer.type, answer.sequence) == (kind, self._sequence):
                    self._counts.received += 1
                    return answer
                self._refuse(
                    f"answer {chr(answer.type)} number {answer.sequence} instead of {chr(kind)} {self._sequence}"
                )
        return None

    def _parsed(self, data: bytes) -> list[Packet]:
        before = self._parser.refused
        found = self._parser.feed(data)
        if self._parser.refused > before:
            self._refuse(self._parser.last_problem)
        return found

    def _refuse_late(self, data: bytes) -> None:
        for answer in self._parsed(data):
            self._refuse(f"answer {chr(answer.type)} number {answer.sequence} came too late")

    def _refuse(self, problem: str) -> None:
        self._counts.refused += 1
        self._counts.last_problem = problem
