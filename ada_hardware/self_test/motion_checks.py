# SPDX-License-Identifier: Apache-2.0
"""Checks of a moving robot: activation, motion of each joint, command timeout, stop, reset."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_hardware.self_test.checks import Checks, Finding, TestEnded
from ada_robot.contract import Mode
from ada_robot.errors import HardwareError, NoAnswer
from ada_robot.robot import Robot
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

_HOLD = 0.5  # [s] during which an activated robot must not move
_DWELL = 0.15  # [s] at the end of a motion
_SETTLING = 1.0  # [s] allowed for a joint to arrive after that
_SHORTEST_WAY = 0.3  # [s] shortest duration of a motion
_SHARE = 0.4  # largest fraction of the velocity limit in a motion
_ALLOWANCE = 0.3  # [s] added to watchdogs and ramps for delays of machine and device
_BRAKES = 1.0  # [s] allowed for closing the brakes


class Motion(NamedTuple):
    """Test motion of a robot's joints."""

    amplitude: float  # amplitude of the motion [rad]
    tolerance: float  # allowed position error at rest [rad]
    resolution: float  # largest change of a joint at rest: position resolution and noise [rad]


# Kondo servos resolve about a degree; the others some thousandths of a radian.
MOTIONS: Mapping[str, Motion] = {
    "pa10": Motion(0.05, 0.003, 2e-4),
    "hexa": Motion(0.05, 0.01, 1e-3),
    "khr1": Motion(math.radians(5.0), math.radians(2.0), math.radians(0.6)),
    "khr3": Motion(math.radians(5.0), math.radians(2.0), math.radians(0.6)),
}
_ANY = Motion(0.05, 0.01, 1e-3)


@dataclass
class MotionChecks:
    """Motion checks of one open, inactive robot."""

    robot: Robot
    checks: Checks  # receiver of the results
    rules: JointRules  # limits of the robot
    safety: SafetySettings  # safety settings of the robot
    joints: Sequence[str]  # joints to be moved
    tries: int = 1  # tries of each check

    def __post_init__(self) -> None:
        """Choose the motion of the robot."""
        self.motion = MOTIONS.get(self.robot.device, _ANY)

    def run(self) -> None:
        """Run all checks.

        Raises:
            TestEnded: a check failed after which the robot should not be moved.
        """
        self._try(lambda: self._needed("activation", self._activate), is_active=False)
        for name in self.joints:
            self._try(partial(self._check_joint, name))
        self._try(lambda: self.checks.measure("silence of the host", self._silence, ends=True))
        self._try(self._check_stop, is_active=False)

    def _needed(self, name: str, measure: Callable[[], Finding]) -> None:
        """Measure; any failure ends the test."""
        if not self.checks.measure(name, measure, ends=True):
            raise TestEnded(name)

    # --- tries ----------------------------------------------------------------------------------------------------
    def _try(self, check: Callable[[], object], *, is_active: bool = True) -> None:
        """Run a check; a failed one is repeated if allowed, with a remark.

        Args:
            check: records its results.
            is_active: the robot must be active at its start, otherwise inactive.
        """
        checks, remark = self.checks, ""
        for number in range(1, self.tries + 1):
            ended: Exception | None = None
            self.checks = trial = Checks()
            try:
                check()
            except (TestEnded, HardwareError) as problem:
                ended = problem
            self.checks = checks
            is_over = number == self.tries or not (ended or trial.failed)
            if is_over or not self._restart(is_active):
                break
            remark = f" (try {number + 1}; previous: {trial.failed[0].text if trial.failed else ended})"
        checks.take(trial, remark)
        if ended is not None:
            raise ended

    def _restart(self, is_active: bool) -> bool:
        """Reset a stopped robot for another try; return True on success."""
        robot = self.robot
        for _ in range(self.tries):
            with suppress(HardwareError):
                if robot.phase.is_driven:
                    robot.deactivate()
                robot.reset()
                robot.wait_feedback()
                if is_active:
                    robot.activate()
                return True
        return False

    # --- steps ----------------------------------------------------------------------------------------------------
    def _activate(self) -> Finding:
        """Activate and hold."""
        robot = self.robot
        before = robot.feedback.position
        begin = time.monotonic()
        robot.activate()
        took = time.monotonic() - begin
        moved = self._hold(before, _HOLD)
        text = f"active after {took:.2f} s, moved {moved:.2g} rad in {_HOLD:g} s"
        allowed = self.motion.tolerance
        problem = f"at most {allowed:.2g} rad are allowed" if moved > allowed else ""
        return Finding(text, problem, {"after_s": took, "moved_rad": moved})

    def _check_joint(self, name: str) -> None:
        """Move one joint and return it; all other joints must not move."""
        robot, rules, motion = self.robot, self.rules, self.motion
        i, start = robot.joints.index(name), robot.feedback.position
        above, below = rules.upper[i] - start[i], start[i] - rules.lower[i]
        way = min(motion.amplitude, max(above, below) - motion.tolerance) * (1.0 if above >= below else -1.0)
        if abs(way) < 0.5 * motion.amplitude:
            text = f"no room to move at {start[i]:.4g}; move it away from its limits"
            self.checks.leave_out(f"motion of {name}", text)
        elif not self.checks.measure(f"motion of {name}", partial(self._there_and_back, i, start, way), ends=True):
            self.checks.fail("motion", f"{name} does not follow its command; check its sign, zero and load")
            raise TestEnded

    def _there_and_back(self, i: int, start: Array, way: float) -> Finding:
        """Position errors of joint i during a motion by `way` [rad] and back."""
        duration = max(_SHORTEST_WAY, abs(way) * 0.5 * math.pi / (_SHARE * self.rules.velocity[i]))
        reached = self._go(start, i, 0.0, way, duration)
        others = float(np.abs(np.delete(reached - start, i)).max(initial=0.0))
        back = self._go(start, i, way, 0.0, duration)
        off, left = float(abs(reached[i] - start[i] - way)), float(np.abs(back - start).max())
        text = (
            f"{math.degrees(way):+.2f} deg in {duration:.2g} s: error {math.degrees(off):.2f} deg there, "
            f"{math.degrees(left):.2f} deg back, others {math.degrees(others):.2f} deg"
        )
        allowed = self.motion.tolerance
        problem = f"at most {math.degrees(allowed):.2f} deg are allowed" if max(off, left, others) > allowed else ""
        return Finding(text, problem, {"way_rad": way, "off_there_rad": off, "off_back_rad": left})

    def _silence(self) -> Finding:
        """Interrupt the commands during a motion, as if the commanding program hangs."""
        safety = self.safety
        mode, values = self._push()
        rest, inactive, moved = self._watch_rest(Phase.INACTIVE, time.monotonic())
        ramp = self._longest_ramp()
        rest_by = safety.command_timeout + ramp + _ALLOWANCE
        inactive_by = safety.host_timeout + ramp + _ALLOWANCE + _BRAKES
        problems = [
            f"{what} after {found:.2f} s, later than {by:.2f} s"
            for what, found, by in (("at rest", rest, rest_by), ("inactive", inactive, inactive_by))
            if not found <= by
        ]
        text = f"at rest {rest:.2f} s and inactive {inactive:.2f} s after the last command ({mode.value} of {values})"
        return Finding(text, "; ".join(problems), {"rest_s": rest, "inactive_s": inactive, "moved_rad": moved})

    def _check_stop(self) -> None:
        measure = self.checks.measure
        self._needed("activation again", self._activate)
        measure("stop", self._stop, ends=True)
        pose = self.robot.feedback.position
        measure("stop is latched", partial(self._latch, pose), ends=True)
        measure("reset", partial(self._reset, pose), ends=True)

    def _stop(self) -> Finding:
        self._push()
        begin = time.monotonic()
        self.robot.stop("asked for by the self-test")
        rest, stopped, _ = self._watch_rest(Phase.STOPPED, begin)
        by = self._longest_ramp() + _ALLOWANCE
        late = f"later than {by:.2f} s" if not rest <= by else ""
        return Finding(f"at rest {rest:.2f} s and stopped {stopped:.2f} s after the call", late, {"rest_s": rest})

    def _latch(self, pose: Array) -> Finding:
        robot = self.robot
        taken, command = [], partial(robot.command, Mode.POSITION, pose.tolist())
        for what, ask in (("a command", command), ("activation", robot.activate)):
            with suppress(HardwareError):
                ask()
                taken.append(what)
        return Finding("" if taken else "all is refused", f"{' and '.join(taken)} was accepted" if taken else "")

    def _reset(self, pose: Array) -> Finding:
        robot = self.robot
        robot.reset()
        robot.wait_feedback()
        moved = float(np.abs(robot.feedback.position - pose).max())
        if robot.phase is not Phase.INACTIVE or moved > self.motion.tolerance:
            raise HardwareError(f"the robot is {robot.phase.value} and moved {moved:.2g} rad; it must not move.")
        return Finding(f"inactive, moved {moved:.2g} rad", "", {"moved_rad": moved})

    # --- motion ---------------------------------------------------------------------------------------------------
    def _hold(self, pose: Array, seconds: float, until: Callable[[], bool] = lambda: False) -> float:
        """Command a configuration for a time, or until a condition is true; return the largest deviation of a joint."""
        robot, end, moved = self.robot, time.monotonic() + seconds, 0.0
        while time.monotonic() < end:
            robot.command(Mode.POSITION, pose.tolist())
            moved = max(moved, float(np.abs(robot.wait_feedback().position - pose).max()))
            if until():
                break
        return moved

    def _go(self, start: Array, i: int, begin: float, end: float, duration: float) -> Array:
        """Move one joint between two offsets from `start` along a cosine and wait; return the final configuration."""
        robot, since, share = self.robot, time.monotonic(), 0.0
        pose = start.copy()
        while share < 1.0:
            share = min((time.monotonic() - since) / duration, 1.0)
            pose[i] = start[i] + begin + (end - begin) * (0.5 - 0.5 * math.cos(math.pi * share))
            robot.command(Mode.POSITION, pose.tolist())
            robot.wait_feedback()
        self._hold(pose, _DWELL)
        tolerance = self.motion.tolerance
        self._hold(pose, _SETTLING, until=lambda: bool(np.abs(robot.feedback.position - pose).max() <= tolerance))
        return robot.feedback.position

    def _push(self) -> tuple[Mode, str]:
        """Move the first joint away from its nearer limit; return mode and description."""
        robot, rules = self.robot, self.rules
        i, start = robot.joints.index(self.joints[0]), robot.feedback.position
        sign = 1.0 if rules.upper[i] - start[i] >= start[i] - rules.lower[i] else -1.0
        speed = 0.5 * _SHARE * rules.velocity[i] * sign
        duration, since = _SHORTEST_WAY, time.monotonic()
        is_speed = Mode.VELOCITY in robot.modes
        while (t := time.monotonic() - since) < duration:
            values = np.zeros(len(start)) if is_speed else start.copy()
            values[i] += speed if is_speed else speed * t
            robot.command(Mode.VELOCITY if is_speed else Mode.POSITION, values.tolist())
            robot.wait_feedback()
        return Mode.VELOCITY if is_speed else Mode.POSITION, f"{speed:.2g} rad/s at {robot.joints[i]}"

    def _watch_rest(self, phase: Phase, since: float) -> tuple[float, float, float]:
        """Wait for a phase; return the time of the last motion [s], the time of the phase [s], and the motion [rad]."""
        robot, poses = self.robot, []
        deadline = since + self.safety.host_timeout + self._longest_ramp() + _ALLOWANCE + _BRAKES + 2.0
        reached = math.nan
        while not math.isfinite(reached):
            now = time.monotonic()
            if now > deadline:
                raise NoAnswer(
                    f"the robot is {robot.phase.value} ({robot.reason}) after {now - since:.2f} s, not {phase.value}. "
                    "Use the emergency stop."
                )
            poses.append((now, robot.feedback.position))
            if robot.phase is phase:
                reached = now - since
            time.sleep(min(robot.period, 0.005))
        last = poses[-1][1]
        moving = [when for when, pose in poses if np.abs(pose - last).max() > self.motion.resolution]
        way = float(np.abs(poses[0][1] - last).max())
        return (moving[-1] - since if moving else 0.0), reached, way

    def _longest_ramp(self) -> float:
        return float(np.max(_SHARE * self.rules.velocity / self.rules.deceleration))
