# SPDX-License-Identifier: Apache-2.0
"""Decides the demand of each cycle, for any command and any failure. No thread, no I/O.

    cycle = SafeCycle(driver, SafetySettings())
    cycle.open(now)
    cycle.step(now)                                     # every `driver.period` seconds: one exchange with the device
    cycle.activate(now)
    feedback = cycle.step(now, demands)                 # again and again
    cycle.deactivate(now, "done")                       # steps go on until the phase is INACTIVE
    cycle.close(now)

All times are given, on one steady clock: the same code runs in real time (`ada_robot.cycle`) and in lock step with
an emulator. The clock shows suspends of the machine, and why commands are late.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_robot.contract import Demand, Mode, Reason, Refusal
from ada_robot.driver import Feedback, RobotDriver, alarm_error, in_words
from ada_robot.errors import HardwareError, NoAnswer, Refused, TransportError
from ada_robot.safety.dead_man import DeadMan
from ada_robot.safety.demand_guard import DemandGuard
from ada_robot.safety.demands import Demands
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.measured import Measured
from ada_robot.safety.pace import Pace
from ada_robot.safety.phases import Phase
from ada_robot.safety.readiness import require_ready
from ada_robot.safety.settings import SafetySettings
from ada_robot.safety.state_watch import StateWatch

STILL_AFTER = 0.3  # [s] after which a robot whose demand stands still counts as still itself, whatever it measures
RAMP_AT_MOST = 1.0  # [s] beyond its own length that a ramp may take
TRIES = 5  # exchanges within which a needed fresh answer must come
LATEST_POSE = 0.1  # [s], or three periods: how old the pose may be that a robot is activated in
SLOWEST = 5  # periods that the longest allowed gap between cycles has at least
UNDRIVEN = 2  # answers in a row without driven motors before that counts
_log = logging.getLogger("ada_robot")


class Recorder(Protocol):
    """Records all events; must not delay."""

    def cycle(self, now: float, phase: Phase, demand: Demand | None, feedback: Feedback) -> None:
        """One exchange."""

    def event(self, now: float, text: str) -> None:
        """Something that happened between exchanges."""


class SafeCycle:
    """The state machine of one robot.

    Attributes:
        settings: rules.
        rules: limits, the device's and the user's.
        check: of commands, with its counters.
        pace: of the exchanges, with its counters.
        phase: what the robot is doing.
        reason: why, in words.
        latched: what stopped it first; "" where nothing did.
        feedback: the newest.
        demand: of the newest exchange; None where it got none that moves.
        missed: exchanges without a fresh answer, since `open`.
        commanded_at: when the newest accepted command was made [s]; -inf before the first.
        on_phase: called with each new phase.
    """

    def __init__(
        self,
        driver: RobotDriver[Any],
        settings: SafetySettings | None = None,
        recorder: Recorder | None = None,
        on_phase: Callable[[Phase], object] = lambda phase: None,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            driver: of the robot; opened by `open`.
            settings: rules; the defaults where None.
            recorder: gets everything.
            on_phase: see above.
            clock: that the times are of.

        Raises:
            InputError: limits wider than the device's, or of another length.
        """
        self.settings = settings = driver.suited(settings or SafetySettings())
        self._driver, self._recorder, self.on_phase = driver, recorder, on_phase
        self.rules = JointRules(driver.limits, settings, driver.tool(settings.tool_offset))
        self.rules.tool.prepare(len(self.rules.names))
        self.check = DemandGuard(self.rules, driver.modes, settings.command_timeout, clock)
        self._longest_gap = max(settings.longest_gap, SLOWEST * driver.period)
        self.pace = Pace(driver.period, min(driver.device_timeout, self._longest_gap), clock)
        rules = self.rules
        waits = driver.device_timeout  # time for which the device goes on as commanded if this process dies
        lateness = (waits if math.isfinite(waits) else SLOWEST * driver.period) - driver.period
        driver.keep(rules, settings.drive_lag, lateness)
        self._watch = StateWatch(self.rules, settings, driver.period)
        self._demands = Demands(rules, settings, driver.modes, driver.period, lateness, lambda: driver.commanded_speeds)
        self._dead_man = DeadMan(settings, can_ramp=self._demands.can_ramp)
        self._ramp_at_most = RAMP_AT_MOST + self._demands.longest_ramp
        self.phase, self.reason = Phase.CLOSED, "not opened yet"
        self._forget()

    def _forget(self) -> None:
        count = len(self.rules.names)
        unknown = np.full(count, math.nan)
        self._measured = Measured(count)
        self.feedback = Feedback(-math.inf, unknown, unknown, unknown, is_fresh=False)
        self.demand: Demand | None = None
        self.latched = ""
        self.missed = self._missed_in_row = self._undriven_in_row = 0
        self.commanded_at = -math.inf
        self._ramp_since = self._rest_since = math.nan
        self._is_seen = self._is_wire_gone = False

    # --- requests -------------------------------------------------------------------------------------------------
    def open(self, now: float) -> None:
        """Connect: INACTIVE afterwards, or STOPPED where the device has an alarm.

        Raises:
            Refused: it is open.
            TransportError: the wire cannot be opened.
            NoAnswer: no such device answers there.
        """
        if self.phase is not Phase.CLOSED:
            raise self._out_of_phase("only one that is closed can be opened")
        self._forget()
        try:
            self._driver.open()
            self._be(Phase.INACTIVE, "opened", now)
            self._exchange(now)
            if self._is_wire_gone:
                raise TransportError(self.latched)
        except BaseException as problem:
            self._driver.close()
            self._be(Phase.CLOSED, f"not opened: {problem}", now)
            raise
        self._judge(now)

    def activate(self, now: float, stop_wanted: Callable[[], str] = lambda: "") -> None:
        """Let the motors follow demands, from rest in the measured pose; the next `step` sends the first demand.

        Args:
            now: present time [s].
            stop_wanted: asked once the device has started; a reason there stops it before any demand.

        Raises:
            Refused: it is not INACTIVE, moves, is beyond a limit, has reported nothing lately, or is to stop.
            DeviceAlarm: there is an alarm, or the device does not start and says why.
            NoAnswer: it does not answer.
        """
        if self.phase is not Phase.INACTIVE:
            first = "reset it first; " if self.phase is Phase.STOPPED else ""
            raise self._out_of_phase(f"{first}only one that is inactive can be activated")
        pose_before = now - max(LATEST_POSE, 3.0 * self._driver.period)
        require_ready(self.feedback, self._measured, self._watch, pose_before, self._driver.counts.last_problem)
        self._be(Phase.STARTING, "activating", now)
        self._driver.interrupted = stop_wanted
        try:
            self._driver.start()
        except Exception as problem:
            stopped = stop_wanted()
            self._fault(now, f"stop: {stopped}" if stopped else f"it did not start: {problem}", at_once=True)
            if isinstance(problem, HardwareError):
                raise
            raise NoAnswer(f"it did not start: {type(problem).__name__}: {problem}") from problem
        stopped = stop_wanted()
        if stopped:
            self.stop(now, stopped)
            raise Refused(f"stopped while starting: {stopped}.", field="stop", value=stopped)
        self.pace.begin()
        self._watch.begin()
        self._demands.begin(self._measured)
        self._missed_in_row = self._undriven_in_row = 0
        self.commanded_at = -math.inf
        self._dead_man.begin()
        self._be(Phase.ACTIVE, "activated", now)

    @property
    def is_armed(self) -> bool:
        """True if commands are followed, once it is ACTIVE."""
        return self._dead_man.is_armed

    def arm(self, now: float) -> None:
        """Follow commands, where activation alone does not make it (`arm_within`).

        Raises:
            Refused: the robot is not ACTIVE.
        """
        if self.phase is not Phase.ACTIVE:
            raise self._out_of_phase("only one that is active can be armed")
        self._dead_man.arm(now)
        self._note(now, "armed")

    def lower_tool_speed(self, now: float, speed: float) -> None:
        """Lower the greatest speed of the tool [m/s], in every phase.

        Raises:
            InputError: it would be raised, or nothing limits it so far.
        """
        self.rules.tool.lower(speed)
        self._note(now, f"the tool's speed is limited to {speed:g} m/s")

    def deactivate(self, now: float, why: str = "deactivated") -> None:
        """Begin the ramp to rest, after which the phase is INACTIVE; nothing happens where it is already.

        Raises:
            Refused: the robot is STOPPED or CLOSED.
        """
        if self.phase is Phase.ACTIVE:
            self._begin_ramp(now, why)
        elif self.phase in (Phase.STOPPED, Phase.CLOSED):
            raise self._out_of_phase("there is nothing to deactivate")

    def stop(self, now: float, why: str) -> None:
        """Begin the ramp to rest, or stand, and latch STOPPED; in every phase but CLOSED."""
        if self.phase is not Phase.CLOSED:
            self._fault(now, f"stop: {why}")

    def reset(self, now: float) -> None:
        """Clear alarms and the latch: INACTIVE afterwards.

        Raises:
            Refused: the robot is neither STOPPED nor INACTIVE.
            DeviceAlarm: an alarm stays.
            NoAnswer: the device does not answer.
            TransportError: the wire is gone, and cannot be opened again.
        """
        if self.phase not in (Phase.STOPPED, Phase.INACTIVE):
            raise self._out_of_phase("it can be reset when it is stopped")
        if self._is_wire_gone:
            self._driver.close()
            self._driver.open()
            self._is_wire_gone = False
        self._driver.reset()
        for _ in range(TRIES):
            self._idle(now)
            if self.feedback.is_fresh:
                break
        else:
            text = f"the device did not answer in {TRIES} exchanges after its reset; look at wire and power."
            raise NoAnswer(text, field="exchanges", value=TRIES)
        if self.feedback.alarms:
            alarms = self.feedback.alarms
            raise alarm_error(f"an alarm stays after the reset: {in_words(alarms)}", alarms)
        self.latched = ""
        self._missed_in_row = 0
        self._be(Phase.INACTIVE, "reset", now)

    def close(self, now: float) -> None:
        """End; a robot that still moves gets no ramp: deactivate it before. May be called twice."""
        if self.phase is Phase.CLOSED:
            return
        if self.phase.is_driven:
            self._hold_by_itself(now)
        self._driver.close()
        self._be(Phase.CLOSED, f"closed; before: {self.latched}" if self.latched else "closed", now)

    def _out_of_phase(self, what: str) -> Refused:
        phase = self.phase.value
        return Refused(f"the robot is {phase} ({self.reason}); {what}.", field="phase", value=phase)

    # --- each cycle -----------------------------------------------------------------------------------------------
    def step(self, now: float, demands: Sequence[Demand] = (), host_seen_at: float | None = None) -> Feedback:
        """One exchange with the device.

        Args:
            now: present time, which grows [s].
            demands: that came since the last step, the oldest first.
            host_seen_at: when the commanding program was last heard of [s]; None: now, it calls this itself.

        Returns:
            The device's report; not fresh where it was silent.

        Raises:
            Refused: the robot is CLOSED.
        """
        if self.phase is Phase.CLOSED:
            raise self._out_of_phase("open it before its cycles")
        self._keep_pace(now)
        for demand in demands:
            self._take(demand, now)
        if self.phase is Phase.ACTIVE:
            self._watch_host(now, now if host_seen_at is None else host_seen_at)
        self._exchange(now)
        self._judge(now)
        if self._recorder is not None:
            self._recorder.cycle(now, self.phase, self.demand, self.feedback)
        return self.feedback

    def _keep_pace(self, now: float) -> None:
        gap = self.pace.count(now, self.phase.is_driven)
        if not self.phase.is_driven:
            return
        if self.pace.suspended:
            why = f"this machine was suspended for {self.pace.suspended:.3g} s; commands from before are of no use"
            self._idle(now)  # brakes first: a ramp from where it was would be a command to move
            self._fault(now, why, at_once=True)
            return
        late = f"this cycle came {1e3 * gap:.3g} ms after the one before;"
        why = "The machine is overloaded, or stood still"
        longest = self._driver.device_timeout
        if gap > longest:
            text = f"{late} the device brakes by itself after {1e3 * longest:g} ms of silence. {why}"
            self._fault(now, text, at_once=True)
        elif gap > self._longest_gap:
            self._fault(now, f"{late} at most {1e3 * self._longest_gap:g} ms are allowed (longest_gap). {why}")

    def _take(self, demand: Demand, now: float) -> None:
        if self.phase is not Phase.ACTIVE:
            text = f"the robot is {self.phase.value}: {self.reason}. Activate it first."
            self.check.count(Refusal(Reason.NOT_ACTIVE, text), now)
        elif not self._dead_man.is_armed:
            text = f"the robot is not armed: arm it within {self.settings.arm_within:g} s of its activation (~/arm)."
            self.check.count(Refusal(Reason.NOT_ARMED, text), now)
        elif self.check.judge(demand, now, self._demands.where, self._measured.position) is None:
            made_at = min(demand.stamp, now)
            self._demands.take(demand, made_at - self.commanded_at)
            self.commanded_at = made_at

    def _watch_host(self, now: float, host_seen_at: float) -> None:
        """Come to rest without commands, and deactivate without the program that sends them."""
        was_armed = self.is_armed
        lapsed = self._dead_man.lapsed(now, host_seen_at, self.commanded_at)
        if was_armed and not self.is_armed:
            self._note(now, f"disarmed: no command was accepted for {self.settings.host_timeout:g} s")
        if lapsed:
            self._begin_ramp(now, lapsed)
        elif self._dead_man.is_idle(now, self.commanded_at) and self._demands.has_command:
            self._note(now, f"holds: no command was accepted for {self.settings.command_timeout:g} s")
            self._demands.drop()

    # --- exchanges ------------------------------------------------------------------------------------------------
    def _exchange(self, now: float) -> None:
        """Send the device its demand, and take its report."""
        if self.phase is Phase.STOPPING and self._ramp_is_over(now):
            self._end_ramp(now)
        demands, slow_down = self._demands, self._must_slow_down(now)
        if self.phase not in (Phase.ACTIVE, Phase.STOPPING):
            self._idle(now)
            return
        demand = demands.first() if demands.is_first else demands.next(now, slow_down)
        if self.demand is None or demand.mode is not self.demand.mode:
            self._watch.begin()
        self._watch.expect(now, demand)
        self.demand = demand
        self._accept(now, lambda: self._driver.cycle(demand))
        if demands.is_first and self._is_seen:
            demands.answered()

    def _must_slow_down(self, now: float) -> bool:
        """True while cycles are late or answers are missing."""
        if self.phase is not Phase.ACTIVE:
            return True
        # efforts are computed from measurements: without those they are invalid sooner than other demands
        share = 4 if self._demands.mode is Mode.EFFORT else 2
        is_blind = share * self._missed_in_row > self.settings.max_missed
        if not (is_blind or self.pace.brake):
            return False
        gave_up = self._demands.gives_up(now)
        if gave_up:
            cause = "answers are missing" if is_blind else "cycles are late"
            self._fault(now, f"{gave_up}: {cause}. Look at wire and machine")
        return True

    def _idle(self, now: float) -> None:
        self.demand = None
        self._accept(now, self._driver.idle)

    def _accept(self, now: float, exchange: Callable[[], Feedback]) -> None:
        """Do an exchange; the cycle goes on after any error in it."""
        self._is_seen = False
        before = self.feedback
        if self._is_wire_gone:
            self.feedback = replace(before, is_fresh=False)
            return
        try:
            self.feedback = exchange()
        except TransportError as problem:
            self.feedback = replace(before, is_fresh=False)
            self._is_wire_gone = True
            self._fault(now, f"the wire is gone: {problem}", at_once=True)
        except Exception as problem:
            self.feedback = replace(before, is_fresh=False)
            self._fault(now, f"the driver failed: {type(problem).__name__}: {problem}", at_once=True)
            _log.exception("%s: the exchange failed", self._driver.NAME)
        else:
            self._is_seen = self._measured.take(self.feedback, now)

    # --- judgement ------------------------------------------------------------------------------------------------
    def _judge(self, now: float) -> None:
        """Stop the robot where its report, or its silence, is a reason to."""
        feedback = self.feedback
        self.missed += not feedback.is_fresh
        self._missed_in_row = 0 if self._is_seen else self._missed_in_row + 1
        if feedback.alarms:  # also alarms of the wire, while the device is silent
            if self.phase is not Phase.STOPPED:
                self._fault(now, f"alarm: {in_words(feedback.alarms)}", at_once=True)
        elif self.phase.is_driven:
            self._judge_motion(now, feedback)

    def _judge_motion(self, now: float, feedback: Feedback) -> None:
        if self._missed_in_row > self.settings.max_missed:
            problem = self._driver.counts.last_problem or "look at wire and power"
            text = f"no answer with all positions came {self._missed_in_row} times in a row (max_missed is "
            self._fault(now, f"{text}{self.settings.max_missed}): {problem}", at_once=True)
            return
        if feedback.is_fresh:
            self._undriven_in_row = 0 if feedback.is_driven else self._undriven_in_row + 1
        if self._undriven_in_row >= UNDRIVEN:
            self._fault(now, "the device says that its motors do not follow any more", at_once=True)
        elif self._is_seen and self.phase is Phase.ACTIVE and self.demand is not None:
            trouble = self._watch.trouble(self.demand.mode, self.demand.values, feedback)
            if trouble:
                self._fault(now, trouble)

    # --- coming to rest -------------------------------------------------------------------------------------------
    def _fault(self, now: float, why: str, *, at_once: bool = False) -> None:
        """Latch STOPPED: along a ramp where there can be one, else at once. The first reason stays."""
        if self.latched:
            self._note(now, why)
        self.latched = self.latched or why
        if self.phase is Phase.ACTIVE and not at_once:
            self._begin_ramp(now, self.latched)
        elif self.phase is Phase.STOPPING and not at_once:
            self._demands.distrust()
            self._be(Phase.STOPPING, self.latched, now)
        elif self.phase is not Phase.STOPPED:
            if self.phase.is_driven:
                self._hold_by_itself(now)
            self._be(Phase.STOPPED, self.latched, now)

    def _begin_ramp(self, now: float, why: str) -> None:
        can_ramp = self._demands.can_ramp
        if self.latched:
            self._demands.distrust()
        else:
            self._demands.drop()
        self._watch.begin()
        self._ramp_since, self._rest_since = now, math.nan
        self._be(Phase.STOPPING, why, now)
        if not can_ramp:  # efforts hold nothing: the device must, at once
            self._end_ramp(now)

    def _ramp_is_over(self, now: float) -> bool:
        if now - self._ramp_since > self._ramp_at_most:
            return True
        if not self._demands.is_at_rest:
            return False
        if math.isnan(self._rest_since):
            self._rest_since = now
        return not self._watch.moving(self._measured.speed) or now - self._rest_since > STILL_AFTER

    def _end_ramp(self, now: float) -> None:
        self._hold_by_itself(now)
        self._be(Phase.STOPPED if self.latched else Phase.INACTIVE, self.latched or self.reason, now)

    def _hold_by_itself(self, now: float) -> None:
        self.demand = None
        try:
            self._driver.stop()
        except Exception as problem:  # it must not raise by contract; an error must not end the cycle
            _log.warning("%s: stop failed: %s", self._driver.NAME, problem)
            self._note(now, f"the driver's stop failed: {problem}")

    def _be(self, phase: Phase, reason: str, now: float) -> None:
        self.phase, self.reason = phase, reason
        self._note(now, f"{phase.value}: {reason}")
        self.on_phase(phase)

    def _note(self, now: float, text: str) -> None:
        if self._recorder is not None:
            self._recorder.event(now, text)
