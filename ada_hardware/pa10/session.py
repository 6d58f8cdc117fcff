# SPDX-License-Identifier: Apache-2.0
"""How a PA-10 is spoken to, beside motion: looked for, begun, read with brakes on, taught, ended."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from ada_hardware.driver import LinkCounts
from ada_hardware.errors import NoAnswer, TransportError
from ada_hardware.pa10.alarms import is_only_silence
from ada_hardware.pa10.arm import Arm
from ada_hardware.pa10.cyclic import BRAKED
from ada_hardware.pa10.link import Link
from ada_hardware.pa10.packets import Packet, PacketType, alarm_clear_payload
from ada_hardware.pa10.settings import Pa10Settings
from ada_hardware.pa10.translation import Telling, Translation
from ada_hardware.pa10.variants import VARIANTS, variant
from ada_hardware.transport.wires import PacketPort

_TRIES = 40  # of a single command: also where half of all packets are lost each way it comes through
_LAST_TRIES = 3  # of E, where the arm may be gone


class Session:
    """From the opened wire to its end.

    Attributes:
        wire: to the controller.
        is_in_control: whether S was answered, and no E since.
        is_teaching: whether T was.
        is_braked: whether the last C told all brakes to be on.
        has_driven: whether servos were told to be on since the arm last told that all was well.
    """

    def __init__(
        self,
        wire: PacketPort,
        settings: Pa10Settings,
        arm: Arm,
        translation: Translation,
        counts: LinkCounts,
        clock: Callable[[], float],
    ) -> None:
        """Begin; nothing is sent."""
        self.wire, self.is_in_control, self.is_teaching, self.is_braked, self.has_driven = (
            wire,
            False,
            False,
            True,
            False,
        )
        self._settings, self._arm, self._translation = settings, arm, translation
        self._counts, self._clock = counts, clock
        self._link = Link(wire, variant(settings.variant), counts, clock)

    # --- single commands ------------------------------------------------------------------------------------------
    def find(self) -> None:
        """E, S, C with brakes on, E: the arm is there, and speaks this variant. Nothing moves.

        Raises:
            NoAnswer: it is not, or does not; the message says what to look at.
        """
        settings, url = self._settings, self.wire.url
        tries = max(1, round(settings.start_timeout / settings.command_timeout))
        if self.command(PacketType.END, tries=tries) is None:
            raise NoAnswer(
                f"pa10 at {url}: no answer to {tries} packets E. Is the controller on, the fibre in, its node FE and "
                f"the PC's FF (see the page on the PA-10)? Newest: {self._counts.last_problem}."
            )
        if not self.begin():
            raise NoAnswer(f"pa10 at {url}: it answers E, but not S. Newest: {self._counts.last_problem}.")
        if self.tell_braked(_TRIES) is None:
            others = " or ".join(repr(name) for name in VARIANTS if name != settings.variant)
            raise NoAnswer(
                f"pa10 at {url}: it answers S, but no C of variant {settings.variant!r}; is it of variant {others}? "
                f"The type plate says; set variant. Newest: {self._counts.last_problem}."
            )
        self.end()

    def command(self, kind: PacketType, payload: bytes = b"", tries: int = _TRIES) -> Packet | None:
        """Ask something beside C; None where it is not answered."""
        return self._link.exchange(kind, payload, self._settings.command_timeout, tries)

    def begin(self, tries: int = _TRIES) -> bool:
        """S: whether it was answered."""
        self.is_in_control = self.command(PacketType.START, tries=tries) is not None
        return self.is_in_control

    def end(self) -> bool:
        """E: whether it was answered. Nothing is raised."""
        answer = None
        with suppress(TransportError):
            answer = self.command(PacketType.END, tries=_LAST_TRIES)
        self.is_in_control = self.is_teaching = False
        return answer is not None

    def clear_alarms(self) -> bool:
        """A for each axis that there is, then S; whether all were answered."""
        answers = (self.command(PacketType.CLEAR_ALARM, alarm_clear_payload(slot + 1)) for slot in self._arm.slots)
        return all(answer is not None for answer in answers) and self.begin()

    def teach(self) -> bool:
        """T: whether it was answered."""
        self.is_teaching = self.command(PacketType.TEACH) is not None
        return self.is_teaching

    # --- C --------------------------------------------------------------------------------------------------------
    def tell(self, payload: bytes, *, is_driven: bool = False) -> Telling | None:
        """C, and what the arm tells; None where it told nothing, or what cannot be.

        Args:
            payload: of the command.
            is_driven: whether servos are told to be on in it.
        """
        if is_driven:
            self.is_braked, self.has_driven = False, True
        answer = self._link.exchange(PacketType.CYCLE, payload, self._settings.reply_timeout)
        if answer is None:
            return None
        told = self._translation.told(answer.payload, self._clock())
        if told is None:
            self._counts.received -= 1
            self._counts.refused += 1
            self._counts.last_problem = "an answer had angles to which the arm cannot have come so soon"
        return told

    def tell_braked(self, tries: int = 1) -> Telling | None:
        """C with brakes on, until it is answered."""
        for _ in range(tries):
            told = self.tell(self._translation.all_axes(BRAKED))
            if told is not None:
                self.is_braked = True
                self.has_driven &= bool(told.alarms)
                return told
        return None

    def read_braked(self, tries: int = 1) -> Telling | None:
        """As `tell_braked`; the arm is made to listen again where that it had stopped to is all that is wrong.

        It stops where this program was late with its packets. Had they moved nothing, nothing is wrong with the arm;
        after a motion the alarm stays, until a reset.
        """
        told = self.tell_braked(tries)
        if told is None or self.has_driven or not is_only_silence(told.axes, told.controller):
            return told
        self._counts.retries += 1
        self._counts.last_problem = "the arm had stopped listening, for want of packets; its brakes were on"
        if not self.clear_alarms():
            return told
        return self.tell_braked() or told

    def require_braked(self) -> Telling:
        """As `read_braked`, with S before where it is needed.

        Raises:
            NoAnswer: the arm does not answer.
        """
        told = self.read_braked(_TRIES) if self.is_in_control or self.begin() else None
        if told is None:
            raise NoAnswer(f"pa10: it does not answer S and C. Newest: {self._counts.last_problem}.")
        return told

    def in_a_cycle(self, tell: Callable[[], Telling | None]) -> Telling | None:
        """Tell, and wait for the end of the cycle."""
        end = self._clock() + self._settings.period
        told = tell()
        self._link.rest(max(end - self._clock(), 0.0))
        return told
