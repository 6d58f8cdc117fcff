# SPDX-License-Identifier: Apache-2.0
"""Session with a PA-10 controller: connect, drive, read with brakes on, teach, end. Only user of the codec."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

import numpy as np

from ada_dynamics.arrays import Array
from ada_hardware.pa10.alarms import is_only_silence
from ada_hardware.pa10.cyclic import BRAKED, IN_SPEED
from ada_hardware.pa10.link import Link
from ada_hardware.pa10.packets import Packet, PacketType, alarm_clear_payload
from ada_hardware.pa10.settings import Pa10Settings
from ada_hardware.pa10.translation import ArmState, Translation
from ada_hardware.pa10.variants import VARIANTS, Arm, variant
from ada_hardware.transport.wires import Wire
from ada_robot.driver import Alarm, LinkCounts, Meaning, alarm_error
from ada_robot.errors import NoAnswer, Refused, TransportError

SECOND_HOST = 1  # alarm code defined here; not used by the controller
_TRIES = 40  # tries of a single command: sufficient at 50 % packet loss in each direction
_LAST_TRIES = 3  # tries of E when the arm may be disconnected
_LISTEN = 0.03  # [s] before the first packet: five cycles of the slowest host
_PATIENCE = 5.0  # times command_timeout, to detect an arm whose answers to C are late
_FREE = 0  # axis mode in teach mode: neither brake nor servo (assumed: SDU's driver sends 2)
_TALK = 2  # packets that indicate another host; a single one may be a late answer


@lru_cache(maxsize=8)
def _second_host(what: str) -> Alarm:
    text = f"another program communicates with this arm: {what}"
    return Meaning(text, "end it, then reset; until then nothing moves", True).alarm(SECOND_HOST)


class Session:
    """State and commands of a connection.

    Attributes:
        wire: port of the controller.
        is_in_control: S was answered, and E was not sent since.
        is_teaching: T was answered.
        is_braked: the last C had all brakes on.
        has_driven: servos were commanded on since the arm last reported no alarm.
        speeds: last commanded speeds [rad/s].
        driven_at: time of the last command with servos on [s].
    """

    def __init__(
        self,
        wire: Wire,
        settings: Pa10Settings,
        arm: Arm,
        counts: LinkCounts,
        clock: Callable[[], float],
        interrupted: Callable[[], str] = lambda: "",
    ) -> None:
        """Use an open port; no packet is sent.

        Args:
            wire: port of the controller.
            settings: settings of the arm.
            arm: axes of the arm.
            counts: statistics to update.
            clock: monotonic time [s].
            interrupted: returns the reason to cancel a sequence of packets, or "".
        """
        self.wire = wire
        self.is_in_control = self.is_teaching = self.has_driven = False
        self.is_braked = True
        self.speeds, self.driven_at = np.zeros(len(arm.joints)), -np.inf
        self._settings, self._arm, self._translation = settings, arm, Translation(settings, arm)
        self._counts, self._clock, self._interrupted = counts, clock, interrupted
        self._link = Link(wire, variant(settings.variant), counts, clock)

    # --- single commands ------------------------------------------------------------------------------------------
    def find(self) -> None:
        """Listen for other hosts, then check arm and variant: E, S, C with brakes on, E. Nothing moves.

        Raises:
            TransportError: another host is active on this bus; no data were sent.
            NoAnswer: no answer; the message contains the remedy.
        """
        settings, url = self._settings, self.wire.url
        received = self._link.listen(_LISTEN)
        if received >= _TALK:
            text = (
                f"pa10 at {url}: another program communicates with this arm: {received} packets in {1e3 * _LISTEN:g} "
                "ms. Starting would close its brakes; no data were sent. End that program first."
            )
            raise TransportError(text, field="state", value="in use")
        tries = max(1, round(settings.start_timeout / settings.command_timeout))
        if self.command(PacketType.END, tries=tries) is None:
            text = (
                f"pa10 at {url}: no answer to {tries} packets E. Check that the controller is on, the fibre is "
                "connected, and the nodes are FE and FF for the PC (see the PA-10 page). Last problem: "
                f"{self._counts.last_problem}."
            )
            raise NoAnswer(text, field="packet", value="E")
        if not self.begin():
            text = f"pa10 at {url}: answers E, but not S. Last problem: {self._counts.last_problem}."
            raise NoAnswer(text, field="packet", value="S")
        if self.send_braked(_TRIES) is None:
            raise self._no_cycle()
        self.end()

    def _no_cycle(self) -> NoAnswer:
        """Return the reason why an arm answers S but not C: another variant, or a connection too slow for a cycle."""
        settings = self._settings
        where = f"pa10 at {self.wire.url}: answers S, but not C"
        braked = self._translation.all_axes(BRAKED)
        patience = _PATIENCE * settings.command_timeout
        if self._link.parser.odd_sizes or self._link.exchange(PacketType.CYCLE, braked, patience, _LAST_TRIES) is None:
            others = " or ".join(repr(name) for name in VARIANTS if name != settings.variant)
            return NoAnswer(
                f"{where} of variant {settings.variant!r}; the variant may be {others}. "
                f"Check the type plate and set variant. Last problem: {self._counts.last_problem}.",
                field="variant",
                value=settings.variant,
            )
        return NoAnswer(
            f"{where} within reply_timeout {1e3 * settings.reply_timeout:g} ms: its answers take "
            f"{1e3 * self._link.took:.3g} ms, too long for a cycle of {1e3 * settings.period:g} ms. Check what delays "
            "packets (load of this machine, radio link, bridge), or set reply_timeout and period above this value, as "
            "far as device_timeout allows.",
            field="reply_timeout",
            value=settings.reply_timeout,
            allowed=self._link.took,
        )

    @property
    def foreign_alarms(self) -> tuple[Alarm, ...]:
        """Alarm of another host that commands the controller, if packets show one."""
        return (_second_host(self._link.foreign),) if self._link.foreign else ()

    def require_alone(self) -> None:
        """Check that no other host is active and the sequence is not cancelled.

        Raises:
            DeviceAlarm: another host is active.
            Refused: the sequence is cancelled.
        """
        self._check_cancelled()
        for alarm in self.foreign_alarms:
            raise alarm_error(f"pa10: {alarm.text}.", [alarm])

    def forget(self) -> None:
        """Reset the history of motion and positions, after a person has checked the arm."""
        self.has_driven = False
        self._link.forget_foreign()
        self._translation.forget()

    def lose_control(self) -> None:
        """Note that the arm was off or disconnected: S is needed, and the next position is accepted."""
        self.is_in_control = False
        self._translation.forget()

    def _check_cancelled(self) -> None:
        why = self._interrupted()
        if why:
            raise Refused(f"pa10: cancelled: {why}.", field="stop", value=why)

    def command(self, kind: PacketType, payload: bytes = b"", tries: int = _TRIES) -> Packet | None:
        """Send a command other than C; return None without an answer."""
        return self._link.exchange(kind, payload, self._settings.command_timeout, tries, self._check_cancelled)

    def begin(self, tries: int = _TRIES) -> bool:
        """Send S; return True if it was answered."""
        self.is_in_control = self.command(PacketType.START, tries=tries) is not None
        return self.is_in_control

    def end(self) -> bool:
        """Send E; return True if it was answered. Raises no exception; no packet is sent before the first request."""
        answer = None
        if not self._link.has_sent:
            return False
        with suppress(TransportError):
            answer = self._link.exchange(PacketType.END, b"", self._settings.command_timeout, _LAST_TRIES)
        self.is_in_control = self.is_teaching = False
        return answer is not None

    def clear_alarms(self) -> bool:
        """Send A for each axis, then S; return True if all were answered."""
        answers = (self.command(PacketType.CLEAR_ALARM, alarm_clear_payload(slot + 1)) for slot in self._arm.slots)
        return all(answer is not None for answer in answers) and self.begin()

    def teach(self) -> bool:
        """Send T; return True if it was answered."""
        self.is_teaching = self.command(PacketType.TEACH) is not None
        return self.is_teaching

    # --- C --------------------------------------------------------------------------------------------------------
    def drive(self, mode: int, torques: Array, speeds: Array) -> ArmState | None:
        """Send C with servos on; returns as `_send_cycle`.

        Args:
            mode: mode bits of all axes.
            torques: joint torques [N m].
            speeds: joint speeds [rad/s].

        Raises:
            Refused: a value does not fit into the packet; no packet is sent.
        """
        payload = self._translation.command(mode, torques, speeds)
        self.speeds, self.driven_at = speeds, self._clock()
        return self._send_cycle(payload, is_driven=True)

    def drive_at(self, speeds: Array) -> ArmState | None:
        """Send C with joint speeds [rad/s]; see `drive`."""
        return self.drive(IN_SPEED, np.zeros_like(speeds), speeds)

    def send_free(self) -> ArmState | None:
        """Send C in teach mode."""
        return self._send_cycle(self._translation.all_axes(_FREE))

    def _send_cycle(self, payload: bytes, *, is_driven: bool = False) -> ArmState | None:
        """Send C and return the reported state; None without a plausible answer or after another host took control.

        Args:
            payload: payload of the command.
            is_driven: the command has servos on.
        """
        self._link.drives = is_driven
        if is_driven:
            self._link.rest(0.0)  # packets received since the last cycle
            if self._link.is_taken:  # another host controls the arm: send no command that drives it
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
            self._counts.last_problem = "implausible joint angles in an answer"
        return state

    def send_braked(self, tries: int = 1) -> ArmState | None:
        """Send C with brakes on until it is answered."""
        for i in range(tries):
            if i:
                self._check_cancelled()
            state = self._send_cycle(self._translation.all_axes(BRAKED))
            if state is not None:
                self.is_braked = True
                self.has_driven &= bool(state.alarms)
                return state
        return None

    def read_braked(self, tries: int = 1) -> ArmState | None:
        """Send C with brakes on; clear the arm's timeout if it is the only alarm.

        The arm times out if this program sends too late. This is harmless without motion; after a motion the
        alarm remains until a reset.
        """
        state = self.send_braked(tries)
        if state is None or self.has_driven or not is_only_silence(state.axes, state.controller):
            return state
        self._counts.retries += 1
        self._counts.last_problem = "the arm timed out without packets, with its brakes on"
        if not self.clear_alarms():
            return state
        return self.send_braked() or state

    def require_braked(self) -> ArmState:
        """Read the state with brakes on, after S if needed.

        Raises:
            NoAnswer: no answer.
        """
        state = self.read_braked(_TRIES) if self.is_in_control or self.begin() else None
        if state is None:
            text = f"pa10: no answer to S and C. Last problem: {self._counts.last_problem}."
            raise NoAnswer(text, field="packet", value="S")
        return state

    def in_a_cycle(self, send: Callable[[], ArmState | None]) -> ArmState | None:
        """Call `send` and wait for the end of the cycle."""
        end = self._clock() + self._settings.period
        state = send()
        self._link.rest(max(end - self._clock(), 0.0))
        return state
