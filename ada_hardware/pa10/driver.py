# SPDX-License-Identifier: Apache-2.0
"""Driver of the PA-10: one packet C and its response per cycle of 2 ms.

    settings = Pa10Settings(url="arcnet:arc0", variant="ce")
    robot = Robot("pa10", settings, SafetySettings())          # user interface, which calls the driver

Sequences as in mhipa10arc (docs/pa10_hardware.md): start = A for each axis, S, C with brakes on, C with servos on at
speed 0; stop = C at speed 0, C with brakes on, E. The controller has no position mode; `position_loop` closes it here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.robots.load import load
from ada_hardware.opening import open_device_wire
from ada_hardware.pa10.axis_data import AxisData, decode_axis_data, read_payload
from ada_hardware.pa10.cyclic import IN_SPEED, IN_TORQUE
from ada_hardware.pa10.packets import PacketType
from ada_hardware.pa10.position_loop import WITHIN, PositionLoop
from ada_hardware.pa10.session import Session
from ada_hardware.pa10.settings import Pa10Settings
from ada_hardware.pa10.translation import ArmState
from ada_hardware.pa10.variants import arm, variant
from ada_hardware.transport.wires import Wire
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Feedback, RobotDriver, alarm_error, in_words
from ada_robot.errors import NoAnswer, Refused, TransportError
from ada_robot.limits import Limits
from ada_robot.safety.demand_shaper import SpeedBounds
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.tool_rules import LinkPoint

_LAST_LINK = "flange"  # mounting link of tools
_LAST_TRIES = 3  # tries of brakes on when the arm may be disconnected
_BRAKED_CYCLES = 3  # cycles with brakes on before the servos are switched on
_LOST = 5  # idle cycles without a response after which the arm is assumed to be off
_SLOW = 0.01  # [rad/s] below which the brakes may close
_LONGEST_STOP, _FEWEST_CYCLES = WITHIN + 0.1, 10  # [s] and cycles after which the brakes close at any speed


class Pa10Driver(RobotDriver[Pa10Settings]):
    """PA-10 driver. Positions, speeds and torques are those of the joints (output side of the gears)."""

    NAME: ClassVar[str] = "pa10"
    SETTINGS: ClassVar[type] = Pa10Settings

    def __init__(
        self, settings: Pa10Settings, *, wire: Wire | None = None, clock: Callable[[], float] = SYSTEM_CLOCK
    ) -> None:
        """Create the driver without opening the connection.

        Args:
            settings: settings of the arm.
            wire: port to use; None to open the url of the settings.
            clock: monotonic time [s].
        """
        super().__init__(settings)
        self._arm = arm(settings.variant, settings.axes, settings.rated_torque)
        self.joints, self.limits = self._arm.joints, self._arm.limits
        self.period, self.device_timeout = settings.period, settings.device_timeout
        self._injected, self._clock = wire, clock
        self._session: Session | None = None
        self._bounds = Limits(self._arm.limits)
        self._positions = PositionLoop(
            self._bounds, settings.period, settings.position_gain, settings.position_acceleration
        )
        hardest = self._bounds.velocity / WITHIN
        self._ramp = SpeedBounds(self._bounds, hardest, hardest, settings.period)  # for stops
        self._still = np.zeros(len(self.joints))
        self._mode: Mode | None = None  # mode of the last command since the start
        self._is_started = self._is_starting = False
        self._silent = 0  # successive idle cycles without a response
        self._last: Feedback | None = None
        self._newest: ArmState | None = None  # decoded response of the last feedback

    # --- properties -----------------------------------------------------------------------------------------------
    @property
    def commanded_speeds(self) -> Array | None:  # noqa: D102
        session = self._session
        return session.speeds if session is not None and self._mode is Mode.POSITION else None

    def tool(self, offset: Sequence[float]) -> LinkPoint:  # noqa: D102
        return LinkPoint(load(variant(self.settings.variant).model), _LAST_LINK, offset, self._arm.slots)

    def keep(self, rules: JointRules, drive_lag: float, lateness: float) -> None:  # noqa: D102
        self._positions.keep(rules, drive_lag, lateness)

    # --- connection -----------------------------------------------------------------------------------------------
    def open(self) -> None:  # noqa: D102
        if self._session is not None:
            return
        wire = self._injected or open_device_wire(self.NAME, self.settings.url, self.settings)
        wire.discard_input()
        self._session = Session(
            wire, self.settings, self._arm, self.counts, self._clock,
            lambda: self.interrupted() if self._is_starting else "",
        )  # fmt: skip
        self._is_started, self._last, self._silent = False, None, 0
        try:
            self._session.find()
        except BaseException:
            self.close()
            raise

    def idle(self) -> Feedback:  # noqa: D102
        session = self._session_in_use()
        if session.is_teaching:
            return self._feedback(session.send_free(), is_driven=False)
        is_answered = session.is_in_control or session.begin(tries=1)
        state = session.read_braked() if is_answered else None
        self._silent = 0 if state is not None else self._silent + 1
        if self._silent >= _LOST or (state is not None and not state.alarms and state.is_not_controllable):
            session.lose_control()
        return self._feedback(state, is_driven=False)

    # --- motion ---------------------------------------------------------------------------------------------------
    def start(self) -> None:  # noqa: D102
        session = self._session_in_use()
        if session.is_teaching:
            raise Refused(
                "pa10: brakes are released by hand (teach mode); end that first.", field="state", value="teaching"
            )
        self._is_starting = True
        try:
            state = self._servos_on(session)
        except BaseException:
            self._is_starting = False
            self.stop()
            raise
        self._is_starting = False
        self._feedback(state, is_driven=True)
        self._is_started = True

    def _servos_on(self, session: Session) -> ArmState:
        """Switch the servos on and return the state when all are on; raises DeviceAlarm or NoAnswer or Refused."""
        state = session.require_braked()
        if state.alarms:
            text = f"pa10: cannot start: {in_words(state.alarms)}. Remove the cause, then reset."
            raise alarm_error(text, state.alarms)
        if state.hindrances:
            raise alarm_error(f"pa10: cannot start: {in_words(state.hindrances)}.", state.hindrances)
        if not session.clear_alarms():
            raise NoAnswer(f"pa10: no answer to A and S. Last problem: {self.counts.last_problem}.")
        for _ in range(_BRAKED_CYCLES):
            session.in_a_cycle(session.send_braked)
        self._mode = None
        self._positions.begin()
        end = self._clock() + self.settings.start_timeout
        while True:
            ready = session.in_a_cycle(partial(session.drive_at, self._still))
            session.require_alone()
            keeps = () if ready is None else ready.alarms or ready.hindrances
            if keeps:
                raise alarm_error(f"pa10: servos do not switch on: {in_words(keeps)}.", keeps)
            if ready is not None and ready.is_powered:
                return ready
            if self._clock() > end:
                text = (
                    f"pa10: servos are not on after {self.settings.start_timeout:g} s, without an alarm. "
                    f"Last communication problem: {self.counts.last_problem or 'none'}."
                )
                raise NoAnswer(text, field="servos", value="off")

    def cycle(self, demand: Demand) -> Feedback:  # noqa: D102
        session = self._session_in_use()
        if not self._is_started:
            raise Refused("pa10: commands need a started driver.", field="state", value="not started")
        return self._feedback(session.drive(*self._translated(demand, session.speeds)), is_driven=True)

    def _translated(self, demand: Demand, last_speeds: Array) -> tuple[int, Array, Array]:
        """Convert a command, which the safety cycle has checked, to mode bits, torques and speeds."""
        values = np.asarray(demand.values, dtype=np.float64)
        still = self._still
        if demand.mode is not self._mode:
            self._positions.begin()
            self._mode = demand.mode
        if demand.mode is Mode.EFFORT:
            return IN_TORQUE, values, still
        if demand.mode is Mode.VELOCITY:
            return IN_SPEED, still, values
        measured = values if self._last is None else self._last.position
        return IN_SPEED, still, self._positions(values, measured, last_speeds)

    # --- stop -----------------------------------------------------------------------------------------------------
    def stop(self) -> None:  # noqa: D102
        session = self._session
        if session is None:
            return
        self._is_started = False
        with suppress(TransportError):
            if not session.is_braked:
                self._come_to_rest(session)
            if session.is_in_control:
                session.send_braked(_LAST_TRIES)
        session.is_braked = True  # by packet E
        session.end()

    def _come_to_rest(self, session: Session) -> None:
        """Ramp the speed down to 0 and wait until the joints are slow, so that the brakes need not decelerate the arm.

        If the arm has been stopped by a switch, by loss of power or by another host, the commanded speed is zero at
        once. This requires two successive responses or several axes, since packets have no checksum and a single bit
        error must not end the ramp.
        """
        begin, state = self._clock(), self._newest
        was_stopped = False
        speeds = self._still
        if state is not None and begin - session.driven_at <= self.device_timeout:
            speeds = np.nan_to_num(state.velocity) if self._mode is Mode.EFFORT else session.speeds
        for cycle in itertools.count(1):
            speeds = self._ramp.slower(speeds)
            is_stopped = False
            if state is not None:
                is_stopped = bool(state.hindrances or state.undriven or session.foreign_alarms)
                if is_stopped and (was_stopped or np.count_nonzero(~state.follows) > 1):
                    speeds = np.zeros_like(speeds)
            was_stopped = is_stopped
            state = session.in_a_cycle(partial(session.drive_at, speeds))
            if state is not None and state.rests(_SLOW) and not speeds.any():
                break
            if cycle >= _FEWEST_CYCLES and self._clock() >= begin + _LONGEST_STOP:
                break  # both limits, so that the ramp gets enough cycles even if this process was delayed

    def reset(self) -> None:  # noqa: D102
        session = self._session_in_use()
        if session.is_teaching:
            self.end_teaching()
        if not session.clear_alarms():
            raise NoAnswer(f"pa10: no answer to A and S. Last problem: {self.counts.last_problem}.")
        session.forget()
        state = session.require_braked()
        self._feedback(state, is_driven=False)
        if state.alarms:
            raise alarm_error(f"pa10: alarm after reset: {in_words(state.alarms)}.", state.alarms)

    def close(self) -> None:  # noqa: D102
        session = self._session
        if session is None:
            return
        self.stop()
        session.wire.close()
        self._session = None

    # --- on explicit request --------------------------------------------------------------------------------------
    def release_brakes(self, *, arm_is_held: bool) -> None:
        """Release the brakes for hand guiding (teach mode, T); an unsupported arm falls. `end_teaching` closes them.

        Args:
            arm_is_held: confirms that a person or a hoist supports the arm.

        Raises:
            Refused: the arm is not supported, or it is driven.
            NoAnswer: no answer to T.
        """
        session = self._session_in_use()
        if not arm_is_held:
            text = "pa10: the arm falls when its brakes are released; support it and pass arm_is_held=True."
            raise Refused(text, field="arm_is_held", value=False)
        self._refuse_while_driven("brakes are released")
        session.end()
        if not session.teach():
            raise NoAnswer(f"pa10: no answer to T. Last problem: {self.counts.last_problem}.")

    def end_teaching(self) -> None:
        """End teach mode: close the brakes (E).

        Raises:
            NoAnswer: no answer to E; support the arm and press the emergency stop.
        """
        if self._session_in_use().command(PacketType.END) is None:
            raise NoAnswer(
                f"pa10: no answer to E; the brakes may be open. Support the arm and press the emergency stop. "
                f"Last problem: {self.counts.last_problem}."
            )
        session = self._session_in_use()
        session.is_teaching = session.is_in_control = False

    def read_axis_data(self, joint: str) -> AxisData:
        """Read the stored data of an axis; `axis_data` describes the assumptions.

        Args:
            joint: name of the joint.

        Raises:
            Refused: the joint is unknown, or the arm is driven.
            NoAnswer: no answer, or an incomplete one.
        """
        if joint not in self._arm.joints:
            text = f"pa10: no joint {joint!r}; the joints are {', '.join(self._arm.joints)}."
            raise Refused(text, joint=joint, allowed=self._arm.joints)
        self._refuse_while_driven("the controller's memory is read")
        asked = read_payload(self._arm.slots[self._arm.joints.index(joint)] + 1)
        answer = self._session_in_use().command(PacketType.READ, asked)
        data = None
        if answer is not None and answer.payload[:2] == asked:
            data = decode_axis_data(answer.payload, variant(self.settings.variant))
        if data is None:
            raise NoAnswer(f"pa10: no stored data of {joint} received. Last problem: {self.counts.last_problem}.")
        return data

    # --- helpers --------------------------------------------------------------------------------------------------
    def _session_in_use(self) -> Session:
        if self._session is None:
            raise TransportError("pa10: not connected; call open first.", field="state", value="closed")
        return self._session

    def _refuse_while_driven(self, what: str) -> None:
        if not self._session_in_use().is_braked:
            text = f"pa10: {what} only while the arm is inactive with brakes on; deactivate it first."
            raise Refused(text, field="state", value="driven")

    def _feedback(self, state: ArmState | None, *, is_driven: bool) -> Feedback:
        foreign = self._session_in_use().foreign_alarms
        if state is not None:
            self._newest = state
            wrong = foreign + (state.stops if is_driven else state.alarms)
            self._last = replace(state, alarms=wrong, is_driven=is_driven and state.is_powered)
            return self._last
        if self._last is None:
            unknown = np.full(len(self._arm.joints), np.nan)
            return Feedback(self._clock(), unknown, unknown, unknown, is_fresh=False, alarms=foreign)
        last = self._last = replace(self._last, alarms=self._last.alarms or foreign)
        return replace(last, is_fresh=False, is_driven=is_driven and last.is_driven)
