# SPDX-License-Identifier: Apache-2.0
"""The conversation with a PA-10: find, begin, drive, read with brakes on, teach, end. It alone uses the codec."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

import numpy as np

from ada_dynamics.arrays import Array
from ada_hardware.alarm_table import Meaning
from ada_hardware.pa10.alarms import is_only_silence
from ada_hardware.pa10.arm import Arm
from ada_hardware.pa10.cyclic import BRAKED, IN_SPEED
from ada_hardware.pa10.link import Link
from ada_hardware.pa10.packets import Packet, PacketType, alarm_clear_payload
from ada_hardware.pa10.settings import Pa10Settings
from ada_hardware.pa10.translation import ArmState, Translation
from ada_hardware.pa10.variants import VARIANTS, variant
from ada_hardware.transport.wires import PacketPort
from ada_robot.driver import Alarm, LinkCounts, alarm_error
from ada_robot.errors import NoAnswer, Refused, TransportError

SECOND_HOST = 1  # code of the alarm that is this program's own; none of the controller's has it
_TRIES = 40  # of a single command: enough where half of all packets are lost each way
_LAST_TRIES = 3  # of E, where the arm may be gone
_LISTEN = 0.03  # [s] before the first byte: five cycles of the slowest host
_PATIENCE = 5.0  # times command_timeout, to find an arm whose answers to C come too late for a cycle
_FREE = 0  # mode of axes in teach mode: neither brake nor servo. An assumption: SDU's driver sends 2 there
_TALK = 2  # packets in it that are a conversation; one may be a late answer


@lru_cache(maxsize=8)
def _second_host(what: str) -> Alarm:
    text = f"another program speaks to this arm: {what}"
    return Meaning(text, "end it, then reset; nothing moves before", True).alarm(SECOND_HOST)


class Session:
    """From the opened wire to its end.

    Attributes:
        wire: to the controller.
        is_in_control: whether S was answered, and no E since.
        is_teaching: whether T was.
        is_braked: whether the last C had all brakes on.
        has_driven: whether servos were commanded on since the arm last reported no alarm.
        speeds: last commanded [rad/s].
        driven_at: when a packet that drives was last made [s].
    """

    def __init__(
        self,
        wire: PacketPort,
        settings: Pa10Settings,
        arm: Arm,
        counts: LinkCounts,
        clock: Callable[[], float],
        interrupted: Callable[[], str] = lambda: "",
    ) -> None:
        """Begin; nothing is sent.

        Args:
            wire: to the controller.
            settings: of the arm.
            arm: its axes.
            counts: to be kept up to date.
            clock: steady time [s].
            interrupted: why a long sequence of packets is to be given up now; "" while it is not.
        """
        self.wire, self.is_in_control, self.is_teaching, self.is_braked, self.has_driven = (
            wire,
            False,
            False,
            True,
            False,
        )
        self.speeds, self.driven_at = np.zeros(len(arm.joints)), -np.inf
        self._settings, self._arm, self._translation = settings, arm, Translation(settings, arm)
        self._counts, self._clock, self._interrupted = counts, clock, interrupted
        self._link = Link(wire, variant(settings.variant), counts, clock)

    # --- single commands ------------------------------------------------------------------------------------------
    def find(self) -> None:
        """Listen; then E, S, C with brakes on, E: the arm is there, and speaks this variant. Nothing moves.

        Raises:
            TransportError: another host speaks to it, as far as this wire shows that; nothing was sent.
            NoAnswer: it is not there, or does not; the message says what to look at.
        """
        settings, url = self._settings, self.wire.url
        heard = self._link.listen(_LISTEN)
        if heard >= _TALK:
            text = (
                f"pa10 at {url}: another program speaks to this arm: {heard} packets in {1e3 * _LISTEN:g} ms. Its "
                "brakes would close if this one began; nothing was sent. End that program first."
            )
            raise TransportError(text, field="state", value="in use")
        tries = max(1, round(settings.start_timeout / settings.command_timeout))
        if self.command(PacketType.END, tries=tries) is None:
            text = (
                f"pa10 at {url}: no answer to {tries} packets E. Is the controller on, the fibre in, its node FE and "
                f"the PC's FF (see the page on the PA-10)? Newest: {self._counts.last_problem}."
            )
            raise NoAnswer(text, field="packet", value="E")
        if not self.begin():
            text = f"pa10 at {url}: it answers E, but not S. Newest: {self._counts.last_problem}."
            raise NoAnswer(text, field="packet", value="S")
        if self.send_braked(_TRIES) is None:
            raise self._no_cycle()
        self.end()

    def _no_cycle(self) -> NoAnswer:
        """Why an arm that answers S does not answer C: another variant, or a way that is too slow for a cycle."""
        settings = self._settings
        where = f"pa10 at {self.wire.url}: it answers S, but no C"
        braked = self._translation.all_axes(BRAKED)
        if self._link.odd_answers:
            others = " or ".join(repr(name) for name in VARIANTS if name != settings.variant)
            return NoAnswer(
                f"{where} of variant {settings.variant!r}; is it of variant {others}? The type plate says; set "
                f"variant. Newest: {self._counts.last_problem}.",
                field="variant",
                value=settings.variant,
            )
        if self._link.exchange(PacketType.CYCLE, braked, _PATIENCE * settings.command_timeout, _LAST_TRIES) is None:
            others = " or ".join(repr(name) for name in VARIANTS if name != settings.variant)
            return NoAnswer(
                f"{where} of variant {settings.variant!r} at all, also not late; a controller of variant {others} may "
                f"leave a C that it does not know. The type plate says. Newest: {self._counts.last_problem}.",
                field="variant",
                value=settings.variant,
            )
        return NoAnswer(
            f"{where} within {1e3 * settings.reply_timeout:g} ms (reply_timeout): its answers take "
            f"{1e3 * self._link.took:.3g} ms. That is no way for a cycle of {1e3 * settings.period:g} ms: look for "
            "what delays packets (a busy machine, a radio link, a bridge), or, where it is always so, set "
            "reply_timeout and period above it, as far as device_timeout allows.",
            field="reply_timeout",
            value=settings.reply_timeout,
            allowed=self._link.took,
        )

    @property
    def foreign_alarms(self) -> tuple[Alarm, ...]:
        """The alarm that another host speaks to the controller, once a sign of it was seen on the wire."""
        return (_second_host(self._link.foreign),) if self._link.foreign else ()

    def require_alone(self) -> None:
        """Refuse to go on with another host at the controller, or after an interruption.

        Raises:
            DeviceAlarm: there is another host.
            Refused: this is to be given up.
        """
        self._give_up()
        for alarm in self.foreign_alarms:
            raise alarm_error(f"pa10: {alarm.text}.", [alarm])

    def forget(self) -> None:
        """Forget past motion and positions, after a person has checked the arm."""
        self.has_driven = False
        self._link.forget_foreign()
        self._translation.forget()

    def lose_control(self) -> None:
        """The arm was switched off and on, or its cable was out: S is due again, and its next position is believed."""
        self.is_in_control = False
        self._translation.forget()

    def _give_up(self) -> None:
        why = self._interrupted()
        if why:
            raise Refused(f"pa10: given up: {why}.", field="stop", value=why)

    def command(self, kind: PacketType, payload: bytes = b"", tries: int = _TRIES) -> Packet | None:
        """Send a command other than C; None where it is not answered."""
        return self._link.exchange(kind, payload, self._settings.command_timeout, tries, self._give_up)

    def begin(self, tries: int = _TRIES) -> bool:
        """S: whether it was answered."""
        self.is_in_control = self.command(PacketType.START, tries=tries) is not None
        return self.is_in_control

    def end(self) -> bool:
        """E: whether it was answered. Raises nothing; sends nothing before the first packet of this program."""
        answer = None
        if not self._link.has_asked:
            return False
        with suppress(TransportError):
            answer = self._link.exchange(PacketType.END, b"", self._settings.command_timeout, _LAST_TRIES)
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
    def drive(self, mode: int, torques: Array, speeds: Array) -> ArmState | None:
        """C with servos on; None as of `_send_cycle`.

        Args:
            mode: of all axes.
            torques: of the joints [N m].
            speeds: of the joints [rad/s].

        Raises:
            Refused: a number that the packet cannot hold; nothing is sent.
        """
        payload = self._translation.command(mode, torques, speeds)
        self.speeds, self.driven_at = speeds, self._clock()
        return self._send_cycle(payload, is_driven=True)

    def drive_at(self, speeds: Array) -> ArmState | None:
        """C at speeds of the joints [rad/s]; see `drive`."""
        return self.drive(IN_SPEED, np.zeros_like(speeds), speeds)

    def send_free(self) -> ArmState | None:
        """C of an arm that is led by hand."""
        return self._send_cycle(self._translation.all_axes(_FREE))

    def _send_cycle(self, payload: bytes, *, is_driven: bool = False) -> ArmState | None:
        """C, and the reported state; None without a plausible answer, or where another host took the arm.

        Args:
            payload: of the command.
            is_driven: whether it has servos on.
        """
        self._link.drives = is_driven
        if is_driven:
            self._link.rest(0.0)  # what came since the last cycle
            if self._link.is_taken:  # its brakes are closed, or another host opens them: send nothing that drives
                self.is_braked = True
                return None
            self.is_braked, self.has_driven = False, True
        answer = self._link.exchange(PacketType.CYCLE, payload, self._settings.reply_timeout)
        if answer is None:
            return None
        state = self._translation.state_of(answer.payload, self._clock(), self._link.took)
        if state is None:
            self._counts.received -= 1
            self._counts.refused += 1
            self._counts.last_problem = "an answer had angles to which the arm cannot have come so soon"
        return state

    def send_braked(self, tries: int = 1) -> ArmState | None:
        """C with brakes on, until it is answered."""
        for i in range(tries):
            if i:
                self._give_up()
            state = self._send_cycle(self._translation.all_axes(BRAKED))
            if state is not None:
                self.is_braked = True
                self.has_driven &= bool(state.alarms)
                return state
        return None

    def read_braked(self, tries: int = 1) -> ArmState | None:
        """As `send_braked`; where the arm's time-out is the only alarm, it is cleared.

        The arm times out where this program was late with its packets. If they moved nothing, that is harmless; after a
        motion the alarm stays, until a reset.
        """
        state = self.send_braked(tries)
        if state is None or self.has_driven or not is_only_silence(state.axes, state.controller):
            return state
        self._counts.retries += 1
        self._counts.last_problem = "the arm had stopped listening, for want of packets; its brakes were on"
        if not self.clear_alarms():
            return state
        return self.send_braked() or state

    def require_braked(self) -> ArmState:
        """As `read_braked`, with S first where it is needed.

        Raises:
            NoAnswer: the arm does not answer.
        """
        state = self.read_braked(_TRIES) if self.is_in_control or self.begin() else None
        if state is None:
            text = f"pa10: it does not answer S and C. Newest: {self._counts.last_problem}."
            raise NoAnswer(text, field="packet", value="S")
        return state

    def in_a_cycle(self, send: Callable[[], ArmState | None]) -> ArmState | None:
        """Send, and wait for the end of the cycle."""
        end = self._clock() + self._settings.period
        state = send()
        self._link.rest(max(end - self._clock(), 0.0))
        return state
