# SPDX-License-Identifier: Apache-2.0
"""Checks of a robot without motion: connection, identity, communication, feedback, alarms, refusals."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_hardware.self_test.checks import Checks
from ada_hardware.self_test.device import Plugged
from ada_hardware.self_test.reference_thread import ReferenceThread
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Feedback, LinkCounts, RobotDriver, in_words
from ada_robot.errors import HardwareError, NoAnswer, Refused, TransportError
from ada_robot.robot import Robot
from ada_robot.safety.demand_guard import DemandGuard
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.settings import SafetySettings
from ada_robot.timing.periods import PeriodSummary

_SLACK = 1e-3  # [rad] tolerance for rounding of stored limits
Identity = tuple[str, str, dict[str, object]]


def identity_of(driver: Any) -> Identity:
    """Return the identity of an open, not started driver: text, mismatches ("" if none), figures.

    Raises:
        HardwareError: no answer.
    """
    text, problems, figures = _KNOWN.get(driver.NAME, _unknown)(driver)
    common = f"{len(driver.joints)} joints, {' or '.join(sorted(mode.value for mode in driver.modes))}"
    return f"{text}; {common}" if text else common, problems, figures


def _pa10(driver: Any) -> Identity:
    """Compare the limits with those stored in the controller, for variants whose format is known."""
    settings = driver.settings
    text, figures = f"PA-10, variant {settings.variant}, {settings.axes} axes", {"variant": settings.variant}
    if settings.variant != "7c":  # not documented for a ce (docs/pa10_hardware.md)
        return text, "", figures
    wider, stored = [], {}
    try:
        for limit in driver.limits:
            data = driver.read_axis_data(limit.name)
            stored[limit.name] = [data.lower, data.upper]
            if limit.lower < data.lower - _SLACK or limit.upper > data.upper + _SLACK:
                wider.append(
                    f"{limit.name} [{limit.lower:.4g}, {limit.upper:.4g}], stored [{data.lower:.4g}, {data.upper:.4g}]"
                )
    except HardwareError as problem:
        return f"{text}; stored limits cannot be read ({problem})", "", figures
    figures["stored_limits_rad"] = stored
    if wider:
        what = f"limits exceed those stored in the controller: {'; '.join(wider)}. Narrow safety.position_lower/upper"
        return text, what, figures
    return f"{text}; limits within the stored ones", "", figures


def _khr1(driver: Any) -> Identity:
    ids, home = driver.board_ids, driver.home_position()
    return f"boards RCB-1 with IDs {' and '.join(map(str, ids))}", "", {"ids": ids, "home_rad": home.tolist()}


def _khr3(driver: Any) -> Identity:
    return f"board RCB-4, version {driver.version or 'unknown'}", "", {"version": driver.version}


def _hexa(driver: Any) -> Identity:
    return "table HEXA, packets of version 1", "", {}


def _unknown(driver: Any) -> Identity:
    return "", "", {}


_KNOWN: Mapping[str, Callable[[Any], Identity]] = {"pa10": _pa10, "khr1": _khr1, "khr3": _khr3, "hexa": _hexa}


LEAST_SHARE = 0.99  # fraction of exchanges that must be answered
JITTER = 1.5  # periods, limit of the 99th percentile
_SLOW = 1.1  # periods, limit of the median
_FEWEST = 5  # periods needed for a median
_ENOUGH = 200  # periods needed for a 99th percentile
_LOOKS = 3  # repetitions if periods are uneven
_BETWEEN_FIGURES = 1.1  # [s]: a cycle reports once per second
_SETTLING = 0.5  # [s] of the start of a cycle, which is ignored
_WHY = "the device answers late, the machine is busy, or the cycle has no priority"
_WAIT = 5.0  # [s] timeout of the first answer of a cycle


def find_robot(plug: Plugged, checks: Checks) -> RobotDriver[object]:
    """Open the robot, identify it and close it; return the closed driver.

    Raises:
        TestEnded: it cannot be opened.
    """
    driver: RobotDriver[object] = plug.target.kind.driver_class()(plug.settings)
    try:
        open_it(plug, checks, driver.open, lambda: driver.counts)
        text, problems, figures = identity_of(driver)
        checks.judge("identity", problems, text, **figures)
    except HardwareError as problem:
        raise checks.end("identity", problem) from None
    finally:
        driver.close()
    return driver


def open_it(plug: Plugged, checks: Checks, open_device: Callable[[], object], counts: Callable[[], LinkCounts]) -> None:
    """Open a device and record whether its address can be opened and it replies.

    Args:
        plug: the device.
        checks: receiver of the results.
        open_device: opens the device.
        counts: returns its communication statistics.

    Raises:
        TestEnded: it cannot be opened.
    """
    begin = time.monotonic()
    try:
        open_device()
    except TransportError as problem:
        raise checks.end("address opens", problem) from None
    except HardwareError as problem:
        checks.ok("address opens", plug.where)
        raise checks.end("device answers", f"{problem}{_garbage(counts())}") from None
    took = time.monotonic() - begin
    checks.ok("address opens", plug.where)
    checks.ok("device answers", f"found after {took:.2f} s", found_after_s=took)


def _garbage(counts: LinkCounts) -> str:
    """Remark on received bytes of another protocol."""
    if not counts.refused or counts.received:
        return ""
    return " Bytes were received, but none of this device: check the rate and that it is this device."


def check_wire(robot: Robot, checks: Checks, seconds: float, priority: int, *, is_real: bool) -> None:
    """Check the fraction of answered exchanges and the jitter of the cycle.

    Args:
        robot: open robot.
        checks: receiver of the results.
        seconds: duration of the check.
        priority: real-time priority of the robot's cycle.
        is_real: a machine too busy for the robot is a failure; for an emulated robot it is a remark.
    """
    with ReferenceThread(robot.period, priority) as bare:
        try:
            robot.wait_feedback(_WAIT)
        except NoAnswer as problem:
            raise checks.end("wire", problem) from None
        time.sleep(_SETTLING)
        sent, received, refused, again = *_watch(robot, seconds), ""
        if received < LEAST_SHARE * sent:  # repeat once, in case the machine was busy for a moment
            sent, received, refused = _watch(robot, seconds)
            again = " the second time"
        status, share = robot.status(), received / sent if sent else 0.0
        text = f"{received} of {sent} frames answered in {seconds:g} s{again} ({100.0 * share:.1f} %)"
        text += f", {refused} damaged or late"
        few = f"less than {100.0 * LEAST_SHARE:g} %. {status.counts.last_problem}" if share < LEAST_SHARE else ""
        checks.judge("wire", few, text, answered_share=share, sent=sent, received=received, damaged_or_late=refused)
        _check_period(robot, checks, seconds, bare, is_real=is_real)


def _watch(robot: Robot, seconds: float) -> tuple[int, int, int]:
    """Return the frames sent, answered, and damaged or late during `seconds`."""
    before = robot.status().counts
    time.sleep(seconds)
    after = robot.status().counts
    return after.sent - before.sent, after.received - before.received, after.refused - before.refused


def _check_period(robot: Robot, checks: Checks, seconds: float, bare: ReferenceThread, *, is_real: bool) -> None:
    periods = _periods(robot)
    for _ in range(_LOOKS):  # repeat, in case the machine was busy for a moment
        if periods is None or periods.period_p99 <= JITTER * robot.period:
            break
        time.sleep(max(seconds, _BETWEEN_FIGURES))
        periods = _periods(robot)
    if periods is None:
        checks.fail("period", f"the cycle reported nothing about its periods within {_WAIT:g} s")
        return
    p50, p99, longest = periods.period_p50, periods.period_p99, periods.period_max
    text = f"{_ms(robot.period)} set; median {_ms(p50)}, 99 % within {_ms(p99)}, longest {_ms(longest)}"
    notes = "; ".join((*robot.status().notes, *([bare.words] if bare.words else [])))
    # delays that the sleeping thread has as well are not caused by device or cycle
    sleeper = bare.found
    usual, most = (0.0, 0.0) if is_real else (sleeper.period_p50, sleeper.period_p99)
    problem = ""
    if p50 > max(_SLOW * robot.period, usual):
        problem = f"the median is more than {_SLOW:g} periods: {_WHY}"
    elif p99 > max(JITTER * robot.period, most) and periods.count >= _ENOUGH:
        problem = f"more than {JITTER:g} periods: {_WHY}"
    text += f" ({notes})" if notes else ""
    checks.judge(
        "period", problem, text, period_s=robot.period, median_s=p50, p99_s=p99, longest_s=longest, notes=notes
    )


def _periods(robot: Robot) -> PeriodSummary | None:
    """Return the latest statistics of the cycle with enough periods, or None."""
    end = time.monotonic() + _WAIT
    while time.monotonic() < end:
        periods = robot.status().periods
        if periods is not None and periods.count >= _FEWEST:
            return periods
        time.sleep(robot.period)
    return None


def check_feedback(robot: Robot, checks: Checks, safety: SafetySettings) -> Feedback:
    """Check that the feedback is finite, fresh and within limits; return it."""
    try:
        feedback = robot.wait_feedback(_WAIT)
    except NoAnswer as problem:
        raise checks.end("feedback", problem) from None
    problems = []
    for limit, position in zip(robot.limits, feedback.position.tolist(), strict=True):
        margin = safety.position_margin
        if not math.isfinite(position):
            problems.append(f"{limit.name} has no reading")
        elif not limit.lower - margin <= position <= limit.upper + margin:
            problems.append(
                f"{limit.name} is at {position:.4g}, outside of [{limit.lower:.4g}, {limit.upper:.4g}]: move it inside"
            )
    values = "".join(f", {name} {value:.4g}" for name, value in feedback.values.items())
    checks.judge(
        "feedback",
        "; ".join(problems),
        f"{len(feedback.position)} joints reported, within limits{values}" if not problems else "",
        position=dict(zip(robot.joints, feedback.position.tolist(), strict=True)),
        values=dict(feedback.values),
    )
    return feedback


def check_alarms(robot: Robot, checks: Checks) -> bool:
    """Check the alarms of the device; return True if there are none."""
    alarms = robot.status().alarms
    return checks.judge("alarms", in_words(alarms), "" if alarms else "none", codes=[one.code for one in alarms])


def check_refusals(robot: Robot, checks: Checks, rules: JointRules, command_timeout: float) -> None:
    """Check that invalid commands are refused for the right reason, and that no command is sent while inactive."""
    before, pose = robot.status(), robot.feedback.position
    wrong = []
    judge = DemandGuard(rules, robot.modes, command_timeout)
    for why, (mode, values) in bad_commands(robot, rules, pose).items():
        refusal = judge.judge(Demand(mode, values, 0.0), 0.0, pose)
        if refusal is None or refusal.reason != why:
            wrong.append(f"{why}: {'accepted' if refusal is None else refusal.reason}")
        try:
            robot.command(mode, values.tolist())
        except Refused:
            continue
        wrong.append(f"{why}: accepted while {robot.phase.value}")
    time.sleep(5.0 * robot.period)
    if robot.status().accepted != before.accepted or robot.demand is not None:
        wrong.append("a command was followed while the robot is inactive")
    names = ", ".join(bad_commands(robot, rules, pose))
    checks.judge("refusals", "; ".join(wrong), f"{names}: each refused, no command was sent")


def bad_commands(robot: Robot, rules: JointRules, pose: Array) -> dict[str, tuple[Mode, Array]]:
    """Invalid commands by the reason of their refusal."""
    still = pose if Mode.POSITION in robot.modes else np.zeros(len(pose))
    mode = Mode.POSITION if Mode.POSITION in robot.modes else min(robot.modes, key=lambda one: one.value)
    not_finite = still.copy()
    not_finite[-1] = math.nan
    found = {"not finite": (mode, not_finite), "wrong length": (mode, still[:-1])}
    over, too_much = (Mode.VELOCITY, 1.01 * rules.velocity) if Mode.VELOCITY in robot.modes else (mode, rules.upper + 1)
    found["over a limit"] = (over, np.where(np.arange(len(pose)) == 0, too_much, pose if over is mode else 0.0))
    if mode is Mode.POSITION:
        room = np.maximum(rules.upper - pose, pose - rules.lower)
        away = 1.5 * rules.step
        i = int(np.argmax(room - away))
        if room[i] > away[i]:
            jump = pose.copy()
            jump[i] += away[i] if rules.upper[i] - pose[i] >= room[i] else -away[i]
            found["jump"] = (mode, jump)
    return found


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"
