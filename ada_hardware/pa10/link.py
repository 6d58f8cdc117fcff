# SPDX-License-Identifier: Apache-2.0
"""One exchange with the controller of a PA-10: a packet out, its answer in, all others counted and left.

A second program at the same controller ends our control (E) and begins its own (S), and the next command of ours would
drive the arm again. So any sign of another host on the wire is kept, as `foreign`.
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
from ada_hardware.transport.wires import PacketPort
from ada_robot.driver import LinkCounts

_MOST_WAITING = 256  # packets taken at once: a flood must not hold up the cycle
_LATEST = 0.25  # [s] after its question that an answer to S, E or T may still come; later it is none of ours
_DOUBLE = 0.02  # [s] after a C in which its answer may come twice
_TO_CONTROLLER = bytes((HOST, CONTROLLER))
_OF_CONTROL = (PacketType.START, PacketType.END, PacketType.TEACH)  # that begin or end a host's control


class Link:
    """Numbers packets, and finds the answer that has the number and type of the question (docs/pa10_hardware.md).

    Attributes:
        drives: whether the newest command has servos on.
        foreign: sign of another host at the controller, in words; "" while there is none.
        is_taken: whether that was a packet that begins, ends or drives: the arm is not this program's any more.
        took: from the newest question that was answered to its answer [s].
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
        self._parser, self._hosts = PacketParser(variant, CONTROLLER), PacketParser(variant, HOST)
        self._sequence = LAST_SEQUENCE
        self._asked: dict[int, tuple[float, bytes]] = {}  # when and what, the newest of each number
        self._answered: set[int] = set()  # numbers of which the newest question was
        self._heard = 0  # packets of this protocol, from whomever
        self._variant, self.drives = variant, False
        self._stray = ""  # answer C of an old number that came before the one that is waited for, in words
        self.foreign, self.is_taken, self.took = "", False, 0.0

    @property
    def has_asked(self) -> bool:
        """True if anything was sent."""
        return bool(self._asked)

    @property
    def odd_answers(self) -> int:
        """Answers C that were whole, but of another size than this variant's."""
        return self._parser.odd_sizes

    def listen(self, duration: float) -> int:
        """Send nothing, and count the packets of other hosts.

        Args:
            duration: how long [s].
        """
        before = self._heard
        self.rest(duration)
        self.forget_foreign()  # a single answer may be a late one, to the previous host
        return self._heard - before

    def forget_foreign(self) -> None:
        """Take the arm for this program's own."""
        self.foreign, self.is_taken = "", False

    @property
    def wire(self) -> PacketPort:
        """The wire in use."""
        return self._wire

    def exchange(
        self,
        kind: PacketType,
        payload: bytes,
        timeout: float,
        tries: int = 1,
        give_up: Callable[[], object] = lambda: None,
    ) -> Packet | None:
        """Ask, and wait for the answer; None where it does not come.

        Args:
            kind: of the packet.
            payload: of it.
            timeout: for each try [s].
            tries: how often to ask, with a new number each time.
            give_up: called before each try; raises where none is wanted any more.

        Raises:
            TransportError: the wire is gone.
        """
        for i in range(tries):
            give_up()
            refused = self._counts.refused
            answer = self._once(kind, payload, timeout)
            if answer is not None:
                return answer
            self._counts.missed += 1
            self._stray = ""  # the stray was the missing answer, its number damaged
            came = f", but: {self._counts.last_problem}" if self._counts.refused > refused else ""
            self._counts.last_problem = f"no answer to {chr(kind)} within {1e3 * timeout:g} ms{came}"
            if i + 1 < tries:
                self._counts.retries += 1
        return None

    def rest(self, duration: float) -> None:
        """Wait; packets that come meanwhile are no answers [s]."""
        end = self._clock() + duration
        for _ in range(_MOST_WAITING):
            data = self._wire.receive(max(end - self._clock(), 0.0))
            if data is None:
                break
            self._refuse_late(data)
        for data in self._wire.overheard():
            self._take_question(data)

    def _once(self, kind: PacketType, payload: bytes, timeout: float) -> Packet | None:
        self.rest(0.0)  # answers that came too late for the last question
        self._sequence = 0 if self._sequence == LAST_SEQUENCE else self._sequence + 1
        packet = Packet(kind, self._sequence, payload)
        data = encode_packet(packet)
        asked_at = self._clock()
        self._asked[self._sequence] = asked_at, data
        self._answered.discard(self._sequence)
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
                        self._note(PacketType.CYCLE, self._stray)
                    return answer
                self._take_other(answer)
                self._refuse(
                    f"answer {chr(answer.type)} number {answer.sequence} instead of {chr(kind)} {self._sequence}"
                )
        return None

    def _parsed(self, data: bytes) -> list[Packet]:
        if data[:2] == _TO_CONTROLLER:  # packet sockets and hubs may show what one sends oneself
            self._take_question(data)
            return []
        before = self._parser.refused
        found = self._parser.feed(data)
        if self._parser.refused > before:
            self._refuse(self._parser.last_problem)
        self._heard += len(found)
        return found

    def _refuse_late(self, data: bytes) -> None:
        for answer in self._parsed(data):
            self._take_other(answer)
            self._refuse(f"answer {chr(answer.type)} number {answer.sequence} came too late")

    def _refuse(self, problem: str) -> None:
        self._counts.refused += 1
        self._counts.last_problem = problem

    # --- others ---------------------------------------------------------------------------------------------------
    def _take_question(self, data: bytes) -> None:
        """A packet to the controller: one's own, or another host's."""
        for packet in self._hosts.feed(data):
            _, own = self._asked.get(packet.sequence, (0.0, b""))
            if data[HEAD:] != own[HEAD:]:  # the system may change what stands in the head
                self._heard += 1
                self._note(packet.type, f"it sent {chr(packet.type)} number {packet.sequence}")

    def _take_other(self, answer: Packet) -> None:
        """An answer that is not the one waited for: late, or to another host's question."""
        asked_at, own = self._asked.get(answer.sequence, (0.0, b""))
        age, number = self._clock() - asked_at, f"{chr(answer.type)} number {answer.sequence}"
        if answer.type in _OF_CONTROL:
            if own[HEAD + 1 : HEAD + 2] != bytes((answer.type,)) or age > _LATEST:
                self._note(answer.type, f"the controller answered {number}, which is not of this one")
            return
        # own numbers wrap within a fifth of a second: an answer to an older one is for another host
        if answer.type is PacketType.CYCLE and self.drives and age > _DOUBLE and answer.sequence in self._answered:
            self._stray = f"the controller answered {number}, which is not of this one"
            is_braked = any(axis.status & UNPOWERED for axis in decode_response(answer.payload, self._variant).axes)
            if is_braked or self._sequence in self._answered:
                self._note(answer.type, self._stray)

    def _note(self, kind: PacketType, what: str) -> None:
        self._stray = ""
        self.foreign = self.foreign or what
        self.is_taken |= kind in (*_OF_CONTROL, PacketType.CYCLE)
        self._counts.last_problem = f"another program speaks to the controller: {what}"
