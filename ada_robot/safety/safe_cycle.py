# SPDX-License-Identifier: Apache-2.0
"""Safety cycle: the demand of each cycle, for any command and any failure. No threads, no input or output.

    cycle = SafeCycle(driver, SafetySettings())
    cycle.open(now)
    cycle.step(now)                                     # every `driver.period` seconds: one exchange with the device
    cycle.activate(now)
    feedback = cycle.step(now, demands)                 # repeated
    cycle.deactivate(now, "done")                       # followed by steps until the phase is INACTIVE
    cycle.close(now)

The caller passes all times, on one steady clock, so that the same code runs in real time (`ada_robot.cycle`) and in
lock step with an emulator. The clock itself is used to detect suspends.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_robot.contract import Demand, Mode, Reason, Refusal
from ada_robot.driver import Feedback, RobotDriver, alarm_error, in_words
from ada_robot.errors import HardwareError, NoAnswer, Refused, TransportError
from ada_robot.safety.demands import Demands
from ada_robot.safety.flight_recorder import FlightRecorder
from ada_robot.safety.joint_rules import DemandGuard, JointRules
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from ada_robot.safety.state_monitor import MeasuredState, StateMonitor, require_ready
from ada_robot.safety.watchdogs import DeadMan, ExchangeTiming

STILL_AFTER = 0.3  # time at zero demanded velocity after which the robot counts as at rest [s]
RAMP_AT_MOST = 1.0  # allowed excess of a ramp over its planned duration [s]
TRIES = 5  # exchanges to obtain a fresh reply after a reset
LATEST_POSE = 0.1  # maximum age of the joint positions at activation [s], or three periods if longer
SLOWEST = 5  # minimum of the longest allowed gap, in periods
UNDRIVEN = 2  # consecutive replies with undriven motors that count as a fault
_log = logging.getLogger("ada_robot")


class SafeCycle:
    """State machine of one robot.

    Attributes:
        settings: safety settings.
        rules: joint rules from the limits of device and user.
        check: check of demands, with its counters.
        timing: timing of the exchanges, with its counters.
        phase: present phase.
        reason: reason of the phase.
        latched: first cause of the latched stop; "" for none.
        feedback: latest feedback.
        demand: demand of the latest exchange; None if no demand was sent.
        missed: number of exchanges without a fresh reply since `open`.
        commanded_at: creation time of the latest accepted command [s]; -inf before the first.
        on_phase: callback for each new phase.
    """

    def __init__(
        self,
        driver: RobotDriver[Any],
        settings: SafetySettings | None = None,
        recorder: FlightRecorder | None = None,
        on_phase: Callable[[Phase], object] = lambda phase: None,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Create the state machine; nothing is sent.

        Args:
            driver: robot driver, closed.
            settings: safety settings; None for the defaults.
            recorder: recorder of exchanges and events.
            on_phase: callback for each new phase.
            clock: clock of the times passed to the methods.

        Raises:
            InputError: if limits are wider than those of the device, or have the wrong length.
        """
        self.settings = settings = driver.suited(settings or SafetySettings())
        self._driver, self._recorder, self.on_phase = driver, recorder, on_phase
        self.rules = JointRules(driver.limits, settings, driver.tool(settings.tool_offset))
        if self.rules.tool.tool is not None:
            self.rules.tool.tool(np.zeros(len(self.rules.names)))  # compile the kinematics
        self.check = DemandGuard(self.rules, driver.modes, settings.command_timeout)
        self._longest_gap = max(settings.longest_gap, SLOWEST * driver.period)
        self.timing = ExchangeTiming(driver.period, min(driver.device_timeout, self._longest_gap), clock)
        rules = self.rules
        waits = driver.device_timeout  # time for which the device follows the last command if this process dies
        lateness = (waits if math.isfinite(waits) else SLOWEST * driver.period) - driver.period
        driver.keep(rules, settings.drive_lag, lateness)
        self._monitor = StateMonitor(self.rules, settings, driver.period)
        self._demands = Demands(rules, settings, driver.modes, driver.period, lateness, lambda: driver.commanded_speeds)
        self._dead_man = DeadMan(settings, can_ramp=self._demands.can_ramp)
        self._ramp_at_most = RAMP_AT_MOST + self._demands.longest_ramp
        self.phase, self.reason = Phase.CLOSED, "not opened yet"
        self._forget()

    def _forget(self) -> None:
        count = len(self.rules.names)
        unknown = np.full(count, math.nan)
        self._measured = MeasuredState(count)
        self.feedback = Feedback(-math.inf, unknown, unknown, unknown, is_fresh=False)
        self.demand: Demand | None = None
        self.latched = ""
        self.missed = self._missed_in_row = self._undriven_in_row = 0
        self.commanded_at = -math.inf
        self._ramp_since = self._rest_since = math.nan
        self._is_seen = self._is_wire_gone = False

    # --- requests -------------------------------------------------------------------------------------------------
    def open(self, now: float) -> None:
        """Connect. The phase becomes INACTIVE, or STOPPED if the device has an alarm. Errors as in `Robot.open`."""
        if self.phase is not Phase.CLOSED:
            raise self._out_of_phase("it is already open")
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

    def activate(self, now: float, stop_requested: Callable[[], str] = lambda: "") -> None:
        """Enable the motors at rest in the measured configuration; the next `step` sends the first demand.

        Args:
            now: present time [s].
            stop_requested: returns the reason to abort, or ""; called during and after the start of the device.

        Raises:
            HardwareError: as in `Robot.activate`, and if a stop was requested.
        """
        if self.phase is not Phase.INACTIVE:
            first = "reset it first; " if self.phase is Phase.STOPPED else ""
            raise self._out_of_phase(f"{first}activation requires phase inactive")
        pose_before = now - max(LATEST_POSE, 3.0 * self._driver.period)
        require_ready(self.feedback, self._measured, self._monitor, pose_before, self._driver.counts.last_problem)
        self._be(Phase.STARTING, "activating", now)
        self._driver.interrupted = stop_requested
        try:
            self._driver.start()
        except Exception as problem:
            stopped = stop_requested()
            self._fault(now, f"stop: {stopped}" if stopped else f"start failed: {problem}", at_once=True)
            if isinstance(problem, HardwareError):
                raise
            raise NoAnswer(f"start failed: {type(problem).__name__}: {problem}") from problem
        stopped = stop_requested()
        if stopped:
            self.stop(now, stopped)
            raise Refused(f"stopped while starting: {stopped}.", field="stop", value=stopped)
        self.timing.begin()
        self._monitor.begin()
        self._demands.begin(self._measured)
        self._missed_in_row = self._undriven_in_row = 0
        self.commanded_at = -math.inf
        self._dead_man.begin()
        self._be(Phase.ACTIVE, "activated", now)

    @property
    def is_armed(self) -> bool:
        """True if commands are accepted in phase ACTIVE."""
        return self._dead_man.is_armed

    def arm(self, now: float) -> None:
        """Accept commands, where activation alone does not (`arm_within`); Refused unless the robot is ACTIVE."""
        if self.phase is not Phase.ACTIVE:
            raise self._out_of_phase("arming requires phase active")
        self._dead_man.arm(now)
        self._note(now, "armed")

    def lower_tool_speed(self, now: float, speed: float) -> None:
        """Lower the tool speed limit [m/s], in any phase; see `ToolRules.lower`."""
        self.rules.tool.lower(speed)
        self._note(now, f"tool speed limited to {speed:g} m/s")

    def deactivate(self, now: float, why: str = "deactivated") -> None:
        """Start the ramp to rest, after which the phase is INACTIVE; Refused if the robot is STOPPED or CLOSED."""
        if self.phase is Phase.ACTIVE:
            self._begin_ramp(now, why)
        elif self.phase in (Phase.STOPPED, Phase.CLOSED):
            raise self._out_of_phase("it is not active")

    def stop(self, now: float, why: str) -> None:
        """Start the ramp to rest, or hold, and latch STOPPED; in every phase but CLOSED."""
        if self.phase is not Phase.CLOSED:
            self._fault(now, f"stop: {why}")

    def reset(self, now: float) -> None:
        """Clear alarms and the latched stop. The phase becomes INACTIVE. Errors as in `Robot.reset`."""
        if self.phase not in (Phase.STOPPED, Phase.INACTIVE):
            raise self._out_of_phase("a reset requires phase stopped")
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
            text = f"no reply from the device in {TRIES} exchanges after its reset; check cable and power."
            raise NoAnswer(text, field="exchanges", value=TRIES)
        if self.feedback.alarms:
            alarms = self.feedback.alarms
            raise alarm_error(f"an alarm remains after the reset: {in_words(alarms)}", alarms)
        self.latched = ""
        self._missed_in_row = 0
        self._be(Phase.INACTIVE, "reset", now)

    def close(self, now: float) -> None:
        """Disconnect without a ramp; deactivate a moving robot before. May be called twice."""
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
        """Perform one exchange with the device.

        Args:
            now: present time, increasing [s].
            demands: demands received since the last step, the oldest first.
            host_seen_at: time of the last message of the commanding program [s]; None for now (direct calls).

        Returns:
            Feedback of the device; not fresh if it did not reply.

        Raises:
            Refused: if the robot is CLOSED.
        """
        if self.phase is Phase.CLOSED:
            raise self._out_of_phase("open it first")
        self._check_timing(now)
        for demand in demands:
            self._take(demand, now)
        if self.phase is Phase.ACTIVE:
            self._watch_host(now, now if host_seen_at is None else host_seen_at)
        self._exchange(now)
        self._judge(now)
        if self._recorder is not None:
            self._recorder.cycle(now, self.phase, self.demand, self.feedback)
        return self.feedback

    def _check_timing(self, now: float) -> None:
        gap = self.timing.count(now, self.phase.is_driven)
        if not self.phase.is_driven:
            return
        if self.timing.suspended:
            why = f"the machine was suspended for {self.timing.suspended:.3g} s; commands made before are obsolete"
            self._idle(now)  # brakes first: a ramp from the previous demand would move the robot
            self._fault(now, why, at_once=True)
            return
        late = f"this cycle was {1e3 * gap:.3g} ms after the previous one;"
        why = "The machine is overloaded, or was halted"
        longest = self._driver.device_timeout
        if gap > longest:
            text = f"{late} the watchdog of the device stops it after {1e3 * longest:g} ms. {why}"
            self._fault(now, text, at_once=True)
        elif gap > self._longest_gap:
            self._fault(now, f"{late} the maximum is {1e3 * self._longest_gap:g} ms (longest_gap). {why}")

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
        """Come to rest on command timeout, and deactivate on timeout of the commanding program."""
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
        """Send the demand and store the feedback."""
        if self.phase is Phase.STOPPING and self._ramp_is_over(now):
            self._end_ramp(now)
        demands, slow_down = self._demands, self._must_slow_down(now)
        if self.phase not in (Phase.ACTIVE, Phase.STOPPING):
            self._idle(now)
            return
        demand = demands.first() if demands.is_first else demands.next(now, slow_down)
        if self.demand is None or demand.mode is not self.demand.mode:
            self._monitor.begin()
        self._monitor.expect(now, demand)
        self.demand = demand
        self._accept(now, lambda: self._driver.cycle(demand))
        if demands.is_first and self._is_seen:
            demands.answered()

    def _must_slow_down(self, now: float) -> bool:
        """Return True while cycles are late or replies are missing."""
        if self.phase is not Phase.ACTIVE:
            return True
        # efforts depend on measurements: without feedback they become invalid sooner than other demands
        share = 4 if self._demands.mode is Mode.EFFORT else 2
        is_blind = share * self._missed_in_row > self.settings.max_missed
        if not (is_blind or self.timing.brake):
            return False
        gave_up = self._demands.gives_up(now)
        if gave_up:
            cause = "replies are missing" if is_blind else "cycles are late"
            self._fault(now, f"{gave_up}: {cause}. Check cable and machine")
        return True

    def _idle(self, now: float) -> None:
        self.demand = None
        self._accept(now, self._driver.idle)

    def _accept(self, now: float, exchange: Callable[[], Feedback]) -> None:
        """Perform an exchange; any exception becomes a fault."""
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
            self._fault(now, f"connection lost: {problem}", at_once=True)
        except Exception as problem:
            self.feedback = replace(before, is_fresh=False)
            self._fault(now, f"the driver failed: {type(problem).__name__}: {problem}", at_once=True)
            _log.exception("%s: the exchange failed", self._driver.NAME)
        else:
            self._is_seen = self._measured.take(self.feedback, now)

    # --- checks ---------------------------------------------------------------------------------------------------
    def _judge(self, now: float) -> None:
        """Stop the robot if its feedback, or missing feedback, requires it."""
        feedback = self.feedback
        self.missed += not feedback.is_fresh
        self._missed_in_row = 0 if self._is_seen else self._missed_in_row + 1
        if feedback.alarms:  # also connection alarms without a reply of the device
            if self.phase is not Phase.STOPPED:
                self._fault(now, f"alarm: {in_words(feedback.alarms)}", at_once=True)
        elif self.phase.is_driven:
            self._judge_motion(now, feedback)

    def _judge_motion(self, now: float, feedback: Feedback) -> None:
        if self._missed_in_row > self.settings.max_missed:
            problem = self._driver.counts.last_problem or "check cable and power"
            text = f"no reply with all positions {self._missed_in_row} times in a row (max_missed is "
            self._fault(now, f"{text}{self.settings.max_missed}): {problem}", at_once=True)
            return
        if feedback.is_fresh:
            self._undriven_in_row = 0 if feedback.is_driven else self._undriven_in_row + 1
        if self._undriven_in_row >= UNDRIVEN:
            self._fault(now, "the device reports that its motors no longer follow commands", at_once=True)
        elif self._is_seen and self.phase is Phase.ACTIVE and self.demand is not None:
            trouble = self._monitor.trouble(self.demand.mode, self.demand.values, feedback)
            if trouble:
                self._fault(now, trouble)

    # --- coming to rest -------------------------------------------------------------------------------------------
    def _fault(self, now: float, why: str, *, at_once: bool = False) -> None:
        """Latch STOPPED, by a ramp where possible, otherwise at once. The first cause is kept."""
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
        self._monitor.begin()
        self._ramp_since, self._rest_since = now, math.nan
        self._be(Phase.STOPPING, why, now)
        if not can_ramp:  # efforts cannot hold a position: the device must
            self._end_ramp(now)

    def _ramp_is_over(self, now: float) -> bool:
        if now - self._ramp_since > self._ramp_at_most:
            return True
        if not self._demands.is_at_rest:
            return False
        if math.isnan(self._rest_since):
            self._rest_since = now
        return not self._monitor.moving(self._measured.speed) or now - self._rest_since > STILL_AFTER

    def _end_ramp(self, now: float) -> None:
        self._hold_by_itself(now)
        self._be(Phase.STOPPED if self.latched else Phase.INACTIVE, self.latched or self.reason, now)

    def _hold_by_itself(self, now: float) -> None:
        self.demand = None
        try:
            self._driver.stop()
        except Exception as problem:  # against the contract, but it must not end the cycle
            _log.warning("%s: stop failed: %s", self._driver.NAME, problem)
            self._note(now, f"the driver's stop failed: {problem}")

    def _be(self, phase: Phase, reason: str, now: float) -> None:
        self.phase, self.reason = phase, reason
        self._note(now, f"{phase.value}: {reason}")
        self.on_phase(phase)

    def _note(self, now: float, text: str) -> None:
        if self._recorder is not None:
            self._recorder.event(now, text)
