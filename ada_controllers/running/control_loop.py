# SPDX-License-Identifier: Apache-2.0
"""Control loop with checks of states and references, timeouts and restarts; no ROS.

    loop = ControlLoop(controller)
    loop.step(measured, time)              # processes a state
    loop.activate(time)
    loop.offer(JointReference(q_desired))
    command = loop.step(measured, time)    # None: no new command, the last one remains in force

One thread makes all calls. Times are those of the machine's steady clock, except that controllers use the stamps of the
states, so that neither late wake-ups nor slow simulations change their results.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ada_controllers.controller import Controller
from ada_controllers.running.command_blend import CommandBlend, start_of, within_limits
from ada_controllers.running.state_filter import ReceivedState, StateFilter, StateKind
from ada_controllers.state import ActivationRefused, JointPath, Reference, ReferenceRefused
from ada_dynamics.errors import AdaError, InputError
from ada_robot.contract import Command
from ada_robot.settings import setting

_log = logging.getLogger(__name__)

_STALL_SHARE = 0.25  # maximum share of state_timeout that one step without a state adds
HOLD, RELEASE, SILENT = "hold", "release", "silent"
AUTO, MACHINE, STATES = "auto", "machine", "states"
REFERENCE = "reference"  # counter of refused references

ACTIVE = "active"
_BEFORE = frozenset({"inactive", "starting"})  # not yet active, without a fault

Source: TypeAlias = "Callable[[float], Reference | None]"
"""Returns the reference at the controller's time [s]; None for no change."""


class RobotPhase(NamedTuple):
    """Phase of a robot driven by another node, such as `hardware_node`; see `ada_robot.safety.phases`.

    Attributes:
        phase: "closed", "inactive", "starting", "active", "stopping" or "stopped".
        reason: reason of the phase, or "".
    """

    phase: str
    reason: str = ""

    @property
    def follows(self) -> bool:
        """True if the robot follows commands."""
        return self.phase == ACTIVE


@dataclass(frozen=True)
class LoopSettings:
    """Timeouts, limits at the start, and behaviour at the end."""

    state_timeout: float = setting(
        0.1,
        "maximum age of a state; without a newer one the loop stops according to on_stop",
        unit="s",
        lower=0.001,
        upper=60.0,
    )
    timeout_clock: str = setting(
        AUTO,
        "clock of state_timeout; machine: clock of this computer; states: stamps of the states, so that a "
        "simulation can be paused; auto: states if a simulation publishes them, otherwise machine",
        choices=(AUTO, MACHINE, STATES),
    )
    max_start_speed: float = setting(
        0.5,
        "speed of a joint or of the base above which activation is refused; 0: no check",
        unit="rad/s, m/s",
        lower=0.0,
    )
    max_position_jump: float = setting(
        0.2,
        "change of a measured position, in addition to that of its velocity, above which the controller "
        "restarts at the measured state; 0: any",
        unit="rad, m",
        lower=0.0,
    )
    max_gap: float = setting(
        0.2,
        "time between the stamps of two states above which the controller restarts at the measured "
        "state, after an interruption of robot, simulation or this process; 0: any",
        unit="s",
        lower=0.0,
    )
    blend: float = setting(
        0.1,
        "duration of the transition from the previous commands to those of a new controller",
        unit="s",
        lower=0.0,
        upper=10.0,
    )
    on_stop: str = setting(
        HOLD,
        "last command on deactivation; hold: the measured position; release: zero effort; silent: no command",
        choices=(HOLD, RELEASE, SILENT),
    )


class ControlLoop:
    """Runs a controller, or reports why it does not run.

    Input is checked; invalid input is refused, counted, and has no effect. The last command remains in force while
    valid states are missing, up to `state_timeout`; then the safe command of `on_stop` is sent, and the loop becomes
    inactive. The controller is restarted in the present state when the robot was moved externally, the clock was set
    back, or states had a gap, and when the robot becomes active again (`robot_is`). While the robot is not active, no
    commands are sent and references are refused.

    Attributes:
        controller: running controller.
        settings: settings in use.
        is_simulated: whether the states come from a simulation; see `LoopSettings.timeout_clock`.
        is_active: whether the controller sends commands.
        reason: reason why it is not active.
        command: last command.
        refused: number of refused inputs, by reason.
        last_refusal: message of the latest refusal.
        last_refusals: messages of the latest refusals, by reason.
        begins: number of starts of a controller, by activation, switch or restart.
        start_reason: reason of the last start.
        restarts: number of automatic restarts, after a jump or a gap, or when the robot became active.
    """

    def __init__(self, controller: Controller[Any], settings: LoopSettings | None = None) -> None:
        """Create the loop; `activate` starts the controller."""
        self.controller = controller
        self.settings = settings or LoopSettings()
        self.is_simulated = self.is_active = False
        self.reason = "not activated yet"
        self.command: Command | None = None
        self.refused: Counter[str] = Counter()
        self.last_refusal = ""
        self.last_refusals: dict[str, str] = {}
        self._bad_state = ""  # message of the latest refusal that was not of a reference
        self.begins = self.restarts = 0
        self.start_reason = ""
        self._filter = StateFilter(controller.model)
        self._blend = CommandBlend()
        self._source: Source | None = None
        self._offered: Reference | None = None
        self._restart_reason = ""  # reason to restart the controller with the next state
        self._robot: RobotPhase | None = None
        self._was_driven = False  # the robot has followed commands since the activation
        self._silence = 0.0  # time since the last valid state [s]
        self._stepped_at = self._stamp = -math.inf  # on the machine's clock, and on the clock of the states

    # --- status -------------------------------------------------------------------------------------------------
    @property
    def latest(self) -> ReceivedState | None:
        """Latest valid state."""
        return self._filter.latest

    @property
    def target(self) -> Reference | None:
        """Present reference, or the one to be followed from the next command on."""
        return self.controller.reference if self._offered is None else self._offered

    def age(self, time: float) -> float:
        """Return the age of the latest valid state, since its reception [s]."""
        return time - self._filter.latest_at

    @property
    def waits(self) -> str:
        """Reason why references are refused although it is active: the robot follows no commands; otherwise ""."""
        robot = self._robot
        if robot is not None and not robot.follows:
            return f"the robot is {robot.phase}" + (f": {robot.reason}" if robot.reason else "")
        if self._restart_reason:
            return f"{self._restart_reason}, and the controller has not been restarted yet"
        return ""

    @property
    def is_silent(self) -> bool:
        """True if no commands are sent although it is active.

        A robot that was not active since the activation, and can become active without a reset, is commanded to hold
        its position, because its driver may wait for a first command (`autostart: commanded` of `hardware_node`).
        """
        robot = self._robot
        return robot is not None and not robot.follows and (self._was_driven or robot.phase not in _BEFORE)

    def robot_is(self, robot: RobotPhase, time: float) -> None:
        """Process the reported phase of the robot; without reports it counts as active.

        Args:
            robot: phase.
            time: present time [s].
        """
        is_begin = self._robot is not None and robot.follows and not self._robot.follows
        self._robot = robot
        self._was_driven = self._was_driven or robot.follows
        if self.is_silent:
            self._source = self._offered = self.command = None
        if is_begin and self.is_active:
            self._restart_reason = "the robot became active"
            try:  # at once, so that references received later are relative to this state
                self._restart(self._recent(time))
            except AdaError as problem:
                self.refuse("control law", str(problem))

    # --- start and end --------------------------------------------------------------------------------------------
    def activate(self, time: float) -> None:
        """Start the controller in the present state.

        Raises:
            ActivationRefused: if there is no recent state, or the robot moves too fast.
        """
        if self.is_active:
            return
        measured = self._recent(time)
        self._refuse_motion(measured)
        self._begin(self.controller, start_of(self.controller, None, measured), measured, "activated")
        self.is_active, self.reason, self._silence = True, "", 0.0
        self._was_driven = self._robot is not None and self._robot.follows

    def deactivate(self, reason: str = "asked for") -> Command | None:
        """Stop the controller; return the last command, or None for none."""
        if not self.is_active:
            return None
        self.command = None if self.is_silent else self._safe_command()
        self.is_active, self.reason = False, reason
        self._source = self._offered = None
        return self.command

    def switch(self, controller: Controller[Any], time: float, *, keep: bool = False) -> None:
        """Switch to another controller, which starts in the present state without a jump of the command.

        Args:
            controller: controller of the same robot model.
            time: present time [s].
            keep: whether to keep the reference, if the controller accepts it. Paths are discarded.

        Raises:
            InputError: if it cannot start; the present controller continues.
        """
        if controller.model is not self.controller.model:
            text = (
                f"{controller.NAME} and {self.controller.NAME} have different models; create both for the same model."
            )
            raise InputError(text, field="model", value=controller.model, allowed=self.controller.model)
        if self.is_active:
            before, source = self.controller.reference, self._source
            measured, why = self._recent(time), "controller or settings changed"
            self._begin(controller, start_of(controller, self.command, measured), measured, why)
            if keep:
                self._keep(controller, before, source)
        self.controller = controller

    def _keep(self, controller: Controller[Any], target: Reference | None, source: Source | None) -> None:
        self._source = source
        if target is None or source is not None or isinstance(target, JointPath):
            return
        try:
            controller.check(target)
        except ReferenceRefused as problem:
            self.refuse(REFERENCE, str(problem))
        else:
            self._offered = target

    def _begin(self, controller: Controller[Any], start: Command, measured: ReceivedState, why: str) -> None:
        """Start a controller; an InputError leaves the loop unchanged."""
        controller.reset(measured.state, measured.stamp, start)
        self._blend.begin(controller, start, self.settings.blend)
        self._source = self._offered = None
        self._restart_reason, self.start_reason = "", why
        self.begins += 1

    def _restart(self, measured: ReceivedState) -> None:
        """Restart the controller in the measured state; unknown efforts are taken from the last command.

        Raises:
            InputError: if the law cannot start in this state; no reference is followed until it can.
        """
        start = start_of(self.controller, None, measured)
        if self.controller.KIND == "effort" and start.effort is None:
            start = start_of(self.controller, self.command, measured)
        self._begin(self.controller, start, measured, self._restart_reason)
        self.restarts += 1

    def _recent(self, time: float) -> ReceivedState:
        measured, age = self.latest, self.age(time)
        if measured is None:
            text = f"{self.controller.NAME}: no state of the robot received yet{self._last()}. Start its publisher."
            raise ActivationRefused(text, field="state")
        if age > self.settings.state_timeout:
            text = (
                f"{self.controller.NAME}: the last state of the robot is {age:.3g} s old, state_timeout is "
                f"{self.settings.state_timeout:g} s{self._last()}. Start its publisher, or increase its rate."
            )
            raise ActivationRefused(text, field="state_timeout", value=age, allowed=self.settings.state_timeout)
        return measured

    def _last(self) -> str:
        return f" (last refusal: {self._bad_state})" if self._bad_state else ""

    def _refuse_motion(self, measured: ReceivedState) -> None:
        most = self.settings.max_start_speed
        speeds = np.abs(measured.state.v)
        if not most or not speeds.size or speeds.max() <= most:
            return
        fastest = int(speeds.argmax())
        joint = self.controller.model.joint_of_velocity(fastest)
        text = (
            f"{self.controller.NAME}: joint {joint!r} moves at {speeds[fastest]:.3g}, faster than max_start_speed "
            f"{most:g} [rad/s, m/s]. Stop the robot or increase the limit."
        )
        raise ActivationRefused(text, joint=joint, field="max_start_speed", value=float(speeds[fastest]), allowed=most)

    # --- references -----------------------------------------------------------------------------------------------
    def offer(self, reference: Reference | Source) -> None:
        """Follow a reference from the next command on.

        Args:
            reference: reference, or a function that returns one for each command.

        Raises:
            ReferenceRefused: if it is invalid, or the loop is not active; the present reference remains.
        """
        self.require_active()
        if callable(reference):
            self._source, self._offered = reference, None
            return
        try:
            self.controller.check(reference)
            assert self.latest is not None  # required by the activation
            self.controller.check_from(reference, self.latest.stamp)
        except ReferenceRefused as problem:
            self.refuse(REFERENCE, str(problem))
            raise
        self._source, self._offered = None, reference

    def require_active(self) -> None:
        """Refuse references while the controller, or the robot, is not active.

        Raises:
            ReferenceRefused: if it is not.
        """
        name = self.controller.NAME
        if not self.is_active:
            text = f"{name} is not active ({self.reason}) and accepts no references."
            problem = ReferenceRefused(text, field="is_active", value=False, allowed=True)
        elif self.waits:
            text = f"{self.waits}; {name} accepts references when it is active."
            problem = ReferenceRefused(text, field="phase", value=self._robot.phase if self._robot else None)
        else:
            return
        self.refuse(REFERENCE, str(problem))
        raise problem

    def brake(self) -> None:
        """Drop the reference: a controller with a plan decelerates to rest, the rest hold their present reference."""
        self._source = self._offered = None
        if self.is_active and self.latest is not None:
            self.controller.brake(self.latest.stamp)

    # --- steps ----------------------------------------------------------------------------------------------------
    def step(self, measured: ReceivedState | None, time: float) -> Command | None:
        """Process a measured state, and return the command.

        Args:
            measured: state received since the last call; None for none.
            time: present time on the machine's steady clock [s].

        Returns:
            New command; None if the last one remains in force.
        """
        timeout = self.settings.state_timeout
        # a stall of this thread may have stalled the publisher, too: count only a part of it
        self._silence += min(self._passed(measured, time), _STALL_SHARE * timeout)
        kind = None
        if measured is not None:
            jump, gap = self.settings.max_position_jump, self.settings.max_gap
            kind = self._filter.judge(self.controller, measured, time, timeout, jump, gap)
            if kind is StateKind.REFUSED:
                self.refuse(self._filter.reason, self._filter.text)
        if not self.is_active:
            return None
        if kind is StateKind.DISCONTINUOUS:
            self._restart_reason = self._restart_reason or self._filter.break_text
        is_good = kind in (StateKind.NEW, StateKind.DISCONTINUOUS)
        if kind is StateKind.REPEATED or (is_good and self.is_silent):
            self._silence = 0.0
        elif is_good:
            assert measured is not None
            try:
                self.command = self._run(measured)
            except AdaError as problem:
                self.refuse("control law", str(problem))
            except Exception as problem:  # send a safe command after any error of a law
                _log.exception("%s failed", self.controller.NAME)
                return self.deactivate(f"{self.controller.NAME} failed: {type(problem).__name__}: {problem}")
            else:
                self._silence = 0.0
                return self.command
        if self._silence > timeout:
            return self.deactivate(
                f"no valid state for {self._silence:.3g} s, state_timeout is {timeout:g} s{self._last()}"
            )
        return None

    def _passed(self, measured: ReceivedState | None, time: float) -> float:
        """Return the time since the last step on the clock of the timeout [s]."""
        passed, self._stepped_at = time - self._stepped_at, time
        stamp = self._stamp if measured is None or not math.isfinite(measured.stamp) else measured.stamp
        by_states, self._stamp = stamp - self._stamp if stamp > self._stamp else 0.0, stamp
        chosen = self.settings.timeout_clock
        return by_states if chosen == STATES or (chosen == AUTO and self.is_simulated) else passed

    def _run(self, measured: ReceivedState) -> Command:
        controller, (state, stamp, *_) = self.controller, measured
        if self._restart_reason:
            self._restart(measured)
        reference = self._offered
        if self._source is not None:
            reference = self._source(stamp)
        self._offered = None
        try:
            command = controller.update(state, reference, stamp)
        except ReferenceRefused as problem:  # depends on the state, such as reachability
            self.refuse(REFERENCE, str(problem))
            self._source = None
            command = controller.update(state, None, stamp)
        return self._blend(command, state, stamp)

    def refuse(self, reason: str, text: str) -> None:
        """Count a refused input. Args: name of the counter; message."""
        self.last_refusal = self.last_refusals[reason] = text
        if reason != REFERENCE:
            self._bad_state = text
        self.refused[reason] += 1

    def _safe_command(self) -> Command | None:
        controller, on_stop, latest = self.controller, self.settings.on_stop, self.latest
        if on_stop == SILENT or latest is None:
            return None
        if on_stop == RELEASE:
            return Command(effort=np.zeros(len(controller.joints)))
        return within_limits(controller, Command(position=latest.state.q[controller.q_index]))
