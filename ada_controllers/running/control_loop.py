# SPDX-License-Identifier: Apache-2.0
"""The control loop of a robot that may send anything, or nothing; without ROS.

    loop = ControlLoop(controller)
    loop.step(measured, time)              # takes a state
    loop.activate(time)
    loop.offer(JointReference(q_wanted))
    command = loop.step(measured, time)    # None: no new command, the last one holds

All of it belongs to one thread. Times are of the steady clock of this machine; controllers live on the stamps of the
states that they see, so that neither late wake-ups nor a slower simulation change what they work out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ada_controllers.controller import Controller
from ada_controllers.errors import ActivationRefused, ReferenceRefused
from ada_controllers.running.hand_over import HandOver, start_of, within_limits
from ada_controllers.running.robot_phase import RobotPhase
from ada_controllers.running.state_watch import Measured, StateWatch, Verdict
from ada_controllers.state import JointPath, Reference
from ada_dynamics.errors import AdaError, InputError
from ada_robot.contract import Command
from ada_robot.settings import setting

_OF_A_STALL = 0.25  # share of state_timeout: a stall of this thread counts as no more
HOLD, RELEASE, SILENT = "hold", "release", "silent"
AUTO, MACHINE, STATES = "auto", "machine", "states"
REFERENCE = "reference"  # reason of refusals

Source: TypeAlias = "Callable[[float], Reference | None]"
"""Gives the reference for a controller's time [s]; None: as before."""


@dataclass(frozen=True)
class LoopSettings:
    """Input that a control loop accepts, and its end where it cannot go on."""

    state_timeout: float = setting(
        0.1,
        "age at which a state is too old; without a newer one for so long the loop stops, as on_stop says",
        unit="s",
        lower=0.001,
        upper=60.0,
    )
    timeout_clock: str = setting(
        AUTO,
        "time in which state_timeout passes; machine: of this computer; states: of the stamps of the states, so that a "
        "simulation may stand still; auto: states where a simulation publishes them, else machine",
        choices=(AUTO, MACHINE, STATES),
    )
    max_start_speed: float = setting(
        0.5, "speed of a joint or of the base from which on activation is refused; 0: any", unit="rad/s, m/s", lower=0.0
    )
    max_position_jump: float = setting(
        0.2,
        "change of a measured position, beyond what its velocity explains, at which the controller begins anew where "
        "the robot is; 0: any",
        unit="rad, m",
        lower=0.0,
    )
    max_gap: float = setting(
        0.2,
        "time from one state to the next, by their stamps, after which the controller begins anew where the robot is: "
        "robot, simulation or this process stood still; 0: any",
        unit="s",
        lower=0.0,
    )
    blend: float = setting(
        0.1, "over which commands lead from those before to those of a new controller", unit="s", lower=0.0, upper=10.0
    )
    on_stop: str = setting(
        HOLD,
        "last command at the end; hold: a position, where the joints are; release: no effort; silent: none",
        choices=(HOLD, RELEASE, SILENT),
    )


class ControlLoop:
    """Runs a controller, or reports why not.

    Input is checked; invalid input is refused, counted, and changes nothing. The last good command holds while
    good states are missing, up to `state_timeout`; then the joints get the safe command of `on_stop`, and the loop is
    inactive. A robot that was put elsewhere, whose clock was set back, or whose states had a gap makes the controller
    begin anew where it is. So does one that follows commands again after it did not (`robot_is`); until then there are
    none, and no reference is taken.

    Attributes:
        controller: that runs.
        settings: in use.
        is_simulated: whether the states come from a simulation; see `LoopSettings.timeout_clock`.
        is_active: whether the controller gives commands.
        reason: why it is not active.
        command: the last one.
        refused: what was refused since the loop was made, by reason.
        last_refusal: words on the newest.
        begins: how often a controller began: by activation, by a switch, and anew by itself.
        begun_because: why it did so last.
        restarts: how often it began anew by itself: after a jump or a gap, or when its robot became active.
    """

    def __init__(self, controller: Controller[Any], settings: LoopSettings | None = None) -> None:
        """Prepare; `activate` begins."""
        self.controller = controller
        self.settings = settings or LoopSettings()
        self.is_simulated = self.is_active = False
        self.reason = "not activated yet"
        self.command: Command | None = None
        self.refused: Counter[str] = Counter()
        self.last_refusal = ""
        self.begins = self.restarts = 0
        self.begun_because = ""
        self._watch = StateWatch(controller.model)
        self._hand_over = HandOver()
        self._source: Source | None = None
        self._offered: Reference | None = None
        self._anew = ""  # why the controller has to begin anew with the next state
        self._robot: RobotPhase | None = None
        self._was_driven = False  # the robot has followed commands since the activation
        self._silence = 0.0  # time since a good state led to a command or was repeated [s]
        self._stepped_at = self._stamp = -math.inf  # on the machine's clock, and on that of the states

    # --- status -------------------------------------------------------------------------------------------------
    @property
    def latest(self) -> Measured | None:
        """The newest good state."""
        return self._watch.latest

    @property
    def target(self) -> Reference | None:
        """The reference that is followed, or will be from the next command on."""
        return self.controller.reference if self._offered is None else self._offered

    def age(self, time: float) -> float:
        """Age of the newest good state, since it came [s]."""
        return time - self._watch.latest_at

    @property
    def waits(self) -> str:
        """Why it takes no references though it is active, in words: the robot follows no commands; else empty."""
        if self._robot is not None and not self._robot.follows:
            return self._robot.words
        return f"{self._anew}, and nothing has begun since" if self._anew else ""

    @property
    def is_silent(self) -> bool:
        """True if there are no commands now, though it is active.

        A robot that was never active since the activation, and can become so, is commanded to stay: its driver may wait
        for a first command (`autostart: commanded` of `hardware_node`).
        """
        robot = self._robot
        return robot is not None and not robot.follows and (self._was_driven or not robot.can_begin)

    def robot_is(self, robot: RobotPhase, time: float) -> None:
        """Take the robot's reported phase; without any report it counts as active.

        Args:
            robot: its phase.
            time: present [s].
        """
        is_begin = self._robot is not None and robot.follows and not self._robot.follows
        self._robot = robot
        self._was_driven = self._was_driven or robot.follows
        if self.is_silent:
            self._source = self._offered = self.command = None
        if is_begin and self.is_active:
            self._anew = "the robot became active"
            try:  # at once: later references count from here
                self._begin_anew(self._recent(time))
            except AdaError as problem:
                self.refuse("control law", str(problem))

    # --- begin and end --------------------------------------------------------------------------------------------
    def activate(self, time: float) -> None:
        """Begin where the robot is.

        Raises:
            ActivationRefused: there is no new state, or the robot moves too fast.
        """
        if self.is_active:
            return
        measured = self._recent(time)
        self._refuse_motion(measured)
        self._begin(self.controller, start_of(self.controller, None, measured), measured, "it was activated")
        self.is_active, self.reason, self._silence = True, "", 0.0
        self._was_driven = self._robot is not None and self._robot.follows

    def deactivate(self, reason: str = "asked for") -> Command | None:
        """End; the last command for the joints, None where they get none."""
        if not self.is_active:
            return None
        self.command = None if self.is_silent else self._safe_command()
        self.is_active, self.reason = False, reason
        self._source = self._offered = None
        return self.command

    def switch(self, controller: Controller[Any], time: float, *, keep: bool = False) -> None:
        """Switch to another controller, without a jump: it begins where the robot is.

        Args:
            controller: of the same robot.
            time: present [s].
            keep: go on to the same target, where the controller takes it. A path does not go on: it ends here.

        Raises:
            InputError: it cannot begin; all stays as it was.
        """
        if controller.model is not self.controller.model:
            raise InputError(
                f"{controller.NAME} was made for another model than {self.controller.NAME}; make both for the same "
                "one.",
                field="model",
                value=controller.model,
                allowed=self.controller.model,
            )
        if self.is_active:
            before, source = self.controller.reference, self._source
            measured, why = self._recent(time), "a controller or settings took over"
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

    def _begin(self, controller: Controller[Any], start: Command, measured: Measured, why: str) -> None:
        """Raises InputError, and then nothing has changed."""
        controller.reset(measured.state, measured.stamp, start)
        self._hand_over.begin(controller, start, self.settings.blend)
        self._source = self._offered = None
        self._anew, self.begun_because = "", why
        self.begins += 1

    def _begin_anew(self, measured: Measured) -> None:
        """Restart from the measured state; efforts that are not measured are those of the last command.

        Raises:
            InputError: the law cannot begin here; nothing is followed until it can.
        """
        start = start_of(self.controller, None, measured)
        if self.controller.KIND == "effort" and start.effort is None:
            start = start_of(self.controller, self.command, measured)
        self._begin(self.controller, start, measured, self._anew)
        self.restarts += 1

    def _recent(self, time: float) -> Measured:
        measured, age = self.latest, self.age(time)
        if measured is None:
            raise ActivationRefused(
                f"{self.controller.NAME}: no state of the robot came so far{self._last()}. Start what publishes it.",
                field="state",
            )
        if age > self.settings.state_timeout:
            raise ActivationRefused(
                f"{self.controller.NAME}: the last state of the robot came {age:.3g} s ago, state_timeout is "
                f"{self.settings.state_timeout:g} s{self._last()}. Start what publishes it, or let it publish faster.",
                field="state_timeout",
                value=age,
                allowed=self.settings.state_timeout,
            )
        return measured

    def _last(self) -> str:
        return f" (refused last: {self.last_refusal})" if self.last_refusal else ""

    def _refuse_motion(self, measured: Measured) -> None:
        most = self.settings.max_start_speed
        speeds = np.abs(measured.state.v)
        if not most or not speeds.size or speeds.max() <= most:
            return
        fastest = int(speeds.argmax())
        joint = self.controller.model.joint_of_velocity(fastest)
        raise ActivationRefused(
            f"{self.controller.NAME}: joint {joint!r} moves at {speeds[fastest]:.3g}, faster than max_start_speed, "
            f"{most:g} [rad/s, m/s]. Let the robot come to rest, or allow more.",
            joint=joint,
            field="max_start_speed",
            value=float(speeds[fastest]),
            allowed=most,
        )

    # --- references -----------------------------------------------------------------------------------------------
    def offer(self, reference: Reference | Source) -> None:
        """Follow another reference from the next command on.

        Args:
            reference: a target or path; or a function that gives one for each command.

        Raises:
            ReferenceRefused: it cannot be followed, or nothing is active; the old one stays.
        """
        try:
            if not self.is_active:
                raise ReferenceRefused(
                    f"{self.controller.NAME} is not active ({self.reason}); it takes references once it is.",
                    field="is_active",
                    value=False,
                    allowed=True,
                )
            if self.waits:
                raise ReferenceRefused(
                    f"{self.waits}; {self.controller.NAME} takes references once it is active.",
                    field="phase",
                    value=self._robot.phase if self._robot else None,
                )
            if not callable(reference):
                self.controller.check(reference)
                assert self.latest is not None  # it could not have been activated
                self.controller.check_from(reference, self.latest.stamp)
        except ReferenceRefused as problem:
            self.refuse(REFERENCE, str(problem))
            raise
        if callable(reference):
            self._source, self._offered = reference, None
        else:
            self._source, self._offered = None, reference

    def brake(self) -> None:
        """Follow nothing any more: a controller with a plan comes to rest, others hold the reference that they have."""
        self._source = self._offered = None
        if self.is_active and self.latest is not None:
            self.controller.brake(self.latest.stamp)

    # --- steps ----------------------------------------------------------------------------------------------------
    def step(self, measured: Measured | None, time: float) -> Command | None:
        """Take a measured state, and return the command for the joints.

        Args:
            measured: what came since the last call; None: nothing.
            time: present, on the steady clock of this machine [s].

        Returns:
            A new command; None: the last one holds.
        """
        timeout = self.settings.state_timeout
        # while this thread did not run, other processes may have stalled, too: little of that time counts as silence
        self._silence += min(self._passed(measured, time), _OF_A_STALL * timeout)
        verdict = self._judge(measured, time)
        if not self.is_active:
            return None
        if verdict is Verdict.BEGINS:
            self._anew = self._anew or self._watch.break_text
        is_good = verdict in (Verdict.NEW, Verdict.BEGINS)
        if verdict is Verdict.AGAIN or (is_good and self.is_silent):
            self._silence = 0.0
        elif is_good:
            assert measured is not None
            try:
                self.command = self._run(measured)
            except AdaError as problem:
                self.refuse("control law", str(problem))
            except Exception as problem:  # after any error of a law the joints need a safe command
                return self.deactivate(f"{self.controller.NAME} failed: {type(problem).__name__}: {problem}")
            else:
                self._silence = 0.0
                return self.command
        if self._silence > timeout:
            return self.deactivate(
                f"no good state for {self._silence:.3g} s, state_timeout is {timeout:g} s{self._last()}"
            )
        return None

    def _passed(self, measured: Measured | None, time: float) -> float:
        """Time since the last step on the clock of the timeout [s]."""
        passed, self._stepped_at = time - self._stepped_at, time
        stamp = self._stamp if measured is None or not math.isfinite(measured.stamp) else measured.stamp
        by_states, self._stamp = stamp - self._stamp if stamp > self._stamp else 0.0, stamp
        chosen = self.settings.timeout_clock
        return by_states if chosen == STATES or (chosen == AUTO and self.is_simulated) else passed

    def _judge(self, measured: Measured | None, time: float) -> Verdict | None:
        if measured is None:
            return None
        watch, settings = self._watch, self.settings
        verdict = watch.judge(
            self.controller, measured, time, settings.state_timeout, settings.max_position_jump, settings.max_gap
        )
        if verdict is Verdict.REFUSED:
            self.refuse(watch.reason, watch.text)
        return verdict

    def _run(self, measured: Measured) -> Command:
        controller, (state, stamp, _, _) = self.controller, measured
        if self._anew:
            self._begin_anew(measured)
        reference = self._offered
        if self._source is not None:
            reference = self._source(stamp)
        self._offered = None
        try:
            command = controller.update(state, reference, stamp)
        except ReferenceRefused as problem:  # depends on the state, such as reach
            self.refuse(REFERENCE, str(problem))
            self._source = None
            command = controller.update(state, None, stamp)
        return self._hand_over(command, state, stamp)

    def refuse(self, reason: str, text: str) -> None:
        """Count something that was refused, here or before it came here.

        Args:
            reason: in a word or two.
            text: for people.
        """
        self.refused[reason] += 1
        self.last_refusal = text

    def _safe_command(self) -> Command | None:
        controller, on_stop, latest = self.controller, self.settings.on_stop, self.latest
        if on_stop == SILENT or latest is None:
            return None
        if on_stop == RELEASE:
            return Command(effort=np.zeros(len(controller.joints)))
        return within_limits(controller, Command(position=latest.state.q[controller.q_index]))
