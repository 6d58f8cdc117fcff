# SPDX-License-Identifier: Apache-2.0
"""Checks of a robot without motion: connection, identity, communication, feedback, alarms."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from ada_hardware.self_test.checks import Checks, Finding, TestEnded
from ada_hardware.self_test.device import Plugged
from ada_robot.driver import LinkCounts, RobotDriver, in_words
from ada_robot.errors import HardwareError, NoAnswer, TransportError
from ada_robot.robot import Robot
from ada_robot.safety.settings import SafetySettings
from ada_robot.timing.periods import PeriodSummary

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
_SLACK = 1e-3  # [rad] tolerance for rounding of stored limits


# --- connection and identity ------------------------------------------------------------------------------------------
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
        checks.fail("address opens", str(problem))
        raise TestEnded from None
    except HardwareError as problem:
        came = counts()
        other = " Bytes were received, but none of this device: check the rate and that it is this device."
        checks.ok("address opens", plug.where)
        checks.fail("device answers", f"{problem}{other if came.refused and not came.received else ''}")
        raise TestEnded from None
    took = time.monotonic() - begin
    checks.ok("address opens", plug.where)
    checks.ok("device answers", f"found after {took:.2f} s", found_after_s=took)


def find_robot(plug: Plugged, checks: Checks) -> RobotDriver[object]:
    """Open the robot, identify it and close it; return the closed driver.

    Raises:
        TestEnded: it cannot be opened.
    """
    driver: RobotDriver[object] = plug.target.kind.driver_class()(plug.settings)
    try:
        open_it(plug, checks, driver.open, lambda: driver.counts)
        checks.measure("identity", lambda: identity(driver), ends=True)
    finally:
        driver.close()
    return driver


def free_again(device: Any) -> Finding:
    """Open a device again and close it; raises HardwareError if it cannot be opened."""
    device.open()
    device.close()
    return Finding("closed and opened again")


def identity(driver: Any) -> Finding:
    """Identity of an open, not started driver, and mismatches with its settings, without motion.

    Raises:
        HardwareError: no answer.
    """
    found = _KNOWN.get(driver.NAME, lambda _: Finding(""))(driver)
    common = f"{len(driver.joints)} joints, {' or '.join(sorted(mode.value for mode in driver.modes))}"
    return found._replace(text=f"{found.text}; {common}" if found.text else common)


def _pa10(driver: Any) -> Finding:
    """Compare the limits with those stored in the controller, for variants whose format is known."""
    settings = driver.settings
    text, figures = f"PA-10, variant {settings.variant}, {settings.axes} axes", {"variant": settings.variant}
    if settings.variant != "7c":  # not documented for a ce (docs/pa10_hardware.md)
        return Finding(text, "", figures)
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
        return Finding(f"{text}; stored limits cannot be read ({problem})", "", figures)
    figures["stored_limits_rad"] = stored
    if wider:
        what = f"limits exceed those stored in the controller: {'; '.join(wider)}. Narrow safety.position_lower/upper"
        return Finding(text, what, figures)
    return Finding(f"{text}; limits within the stored ones", "", figures)


_KNOWN: Mapping[str, Callable[[Any], Finding]] = {
    "pa10": _pa10,
    "khr1": lambda driver: Finding(
        f"boards RCB-1 with IDs {' and '.join(map(str, driver.board_ids))}", "", {"ids": driver.board_ids}
    ),
    "khr3": lambda driver: Finding(
        f"board RCB-4, version {driver.version or 'unknown'}", "", {"version": driver.version}
    ),
    "hexa": lambda _: Finding("table HEXA, packets of version 1"),
}


# --- communication ----------------------------------------------------------------------------------------------------
def wire(robot: Robot, seconds: float) -> Finding:
    """Fraction of answered exchanges during `seconds`.

    Raises:
        NoAnswer: no feedback from the cycle.
    """
    robot.wait_feedback(_WAIT)
    time.sleep(_SETTLING)
    sent, received, refused, again = *_watch(robot, seconds), ""
    if received < LEAST_SHARE * sent:  # repeat once, in case the machine was busy for a moment
        sent, received, refused = _watch(robot, seconds)
        again = " the second time"
    share = received / sent if sent else 0.0
    text = f"{received} of {sent} frames answered in {seconds:g} s{again} ({100.0 * share:.1f} %)"
    problem = f"less than {100.0 * LEAST_SHARE:g} %. {robot.status().counts.last_problem}"
    figures = {"answered_share": share, "sent": sent, "received": received, "damaged_or_late": refused}
    return Finding(f"{text}, {refused} damaged or late", problem if share < LEAST_SHARE else "", figures)


def _watch(robot: Robot, seconds: float) -> tuple[int, int, int]:
    """Return the frames sent, answered, and damaged or late during `seconds`."""
    before = robot.status().counts
    time.sleep(seconds)
    after = robot.status().counts
    return after.sent - before.sent, after.received - before.received, after.refused - before.refused


def period(robot: Robot, seconds: float, *, is_real: bool) -> Finding:
    """Jitter of the cycle.

    Args:
        robot: open robot.
        seconds: shortest time between repetitions.
        is_real: uneven periods are a failure; with an emulator, whose timing depends on this machine, a remark.

    Raises:
        NoAnswer: the cycle does not report its periods.
    """
    periods = _periods(robot)
    for _ in range(_LOOKS):  # repeat, in case the machine was busy for a moment
        if periods.period_p99 <= JITTER * robot.period:
            break
        time.sleep(max(seconds, _BETWEEN_FIGURES))
        periods = _periods(robot)
    p50, p99, longest = periods.period_p50, periods.period_p99, periods.period_max
    problem = ""
    if p50 > _SLOW * robot.period:
        problem = f"the median is more than {_SLOW:g} periods: {_WHY}"
    elif p99 > JITTER * robot.period and periods.count >= _ENOUGH:
        problem = f"more than {JITTER:g} periods: {_WHY}"
    notes = "; ".join((*robot.status().notes, *([problem] if problem and not is_real else [])))
    text = f"{_ms(robot.period)} set; median {_ms(p50)}, 99 % within {_ms(p99)}, longest {_ms(longest)}"
    figures = {"period_s": robot.period, "median_s": p50, "p99_s": p99, "longest_s": longest, "notes": notes}
    return Finding(f"{text} ({notes})" if notes else text, problem if is_real else "", figures)


def _periods(robot: Robot) -> PeriodSummary:
    """Return the latest statistics of the cycle with enough periods; raises NoAnswer."""
    end = time.monotonic() + _WAIT
    while time.monotonic() < end:
        periods = robot.status().periods
        if periods is not None and periods.count >= _FEWEST:
            return periods
        time.sleep(robot.period)
    raise NoAnswer(f"the cycle reported nothing about its periods within {_WAIT:g} s")


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"


# --- state ------------------------------------------------------------------------------------------------------------
def feedback(robot: Robot, safety: SafetySettings) -> Finding:
    """Return True if the feedback is finite, fresh and within limits.

    Raises:
        NoAnswer: no feedback from the cycle.
    """
    found = robot.wait_feedback(_WAIT)
    problems, margin = [], safety.position_margin
    for limit, position in zip(robot.limits, found.position.tolist(), strict=True):
        if not math.isfinite(position):
            problems.append(f"{limit.name} has no reading")
        elif not limit.lower - margin <= position <= limit.upper + margin:
            problems.append(
                f"{limit.name} is at {position:.4g}, outside of [{limit.lower:.4g}, {limit.upper:.4g}]: move it inside"
            )
    values = "".join(f", {name} {value:.4g}" for name, value in found.values.items())
    text = "" if problems else f"{len(found.position)} joints reported, within limits{values}"
    position = dict(zip(robot.joints, found.position.tolist(), strict=True))
    return Finding(text, "; ".join(problems), {"position": position, "values": dict(found.values)})


def alarms(robot: Robot) -> Finding:
    """Alarms of the device."""
    found = robot.status().alarms
    return Finding("" if found else "none", in_words(found), {"codes": [one.code for one in found]})
