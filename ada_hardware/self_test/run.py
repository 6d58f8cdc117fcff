# SPDX-License-Identifier: Apache-2.0
"""Complete test of a device, as run by `ada hw test`.

    checks = test_device(target("pa10", settings={"variant": "7c"}), moves=True)
    assert checks.is_ok, [check.text for check in checks.failed]

Real robots move only with `moves=True`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from ada_dynamics.errors import InputError, unknown_name
from ada_hardware.robot import Robot
from ada_hardware.self_test.checks import Check, Checks, TestEnded
from ada_hardware.self_test.device import Plugged, Target, plugged
from ada_hardware.self_test.motion_checks import MotionChecks
from ada_hardware.self_test.robot_checks import (
    check_alarms,
    check_feedback,
    check_refusals,
    check_wire,
    find_robot,
)
from ada_hardware.self_test.sensor_checks import check_sensor
from ada_robot.errors import HardwareError
from ada_robot.safety.joint_rules import JointRules
from ada_robot.settings import checked

REAL_SCALE, EMULATED_SCALE = 0.1, 0.25  # fractions of the velocity limits used in motions
_EMULATED_TRIES = 5  # tries of a motion with an emulator, in case the machine is busy
_SHOWN = 3  # violations listed in the text
_LONGEST_START = 90.0  # [s] timeout of the cycle's process, whose first start compiles


def test_device(
    what: Target,
    *,
    moves: bool = False,
    seconds: float = 2.0,
    joints: Sequence[str] = (),
    place: Literal["process", "thread"] = "process",
    report: Callable[[Check], object] = lambda check: None,
) -> Checks:
    """Test a device.

    Args:
        what: the device.
        moves: the robot may move: each joint by some degrees, there and back.
        seconds: duration of the checks of communication, period and samples.
        joints: joints to be moved; empty: all.
        place: place of the robot's cycle.
        report: called with each finished check.

    Raises:
        InputError: unknown settings, faults or joints.
    """
    checks = Checks(report)
    if what.is_robot:
        scale = REAL_SCALE if what.is_real else EMULATED_SCALE
        record = {} if what.is_real else {"record_seconds": 0.0}
        what = what.with_defaults({"velocity_scale": scale, **record})
        check_joints(what, joints)
    elif joints or moves:
        raise InputError(f"{what.kind.name} is a {what.kind.kind}; it has no joints to move.")
    with plugged(what) as plug:
        try:
            if what.is_robot:
                _test_robot(plug, checks, moves, seconds, joints, place)
            else:
                check_sensor(plug, checks, seconds)
        except TestEnded:
            pass
        except HardwareError as problem:
            checks.fail("end", f"test aborted: {problem}")
        _check_violations(plug, checks)
    return checks


test_device.__test__ = False  # type: ignore[attr-defined]  # not a pytest function


def check_joints(what: Target, joints: Sequence[str]) -> None:
    """Check the names of joints without opening the robot; raises InputError."""
    cls = what.kind.driver_class()
    known = cls(checked(cls.SETTINGS, what.driver)).joints
    for name in joints:
        if name not in known:
            raise unknown_name("joint", name, known)


def _test_robot(
    plug: Plugged,
    checks: Checks,
    moves: bool,
    seconds: float,
    joints: Sequence[str],
    place: Literal["process", "thread"],
) -> None:
    driver, safety = find_robot(plug, checks), plug.target.safety()
    rules = JointRules(driver.limits, safety)
    robot = Robot(plug.target.kind.name, plug.settings, safety, place=place)
    try:
        with checks.needed("cycle"):
            robot.open(_LONGEST_START)
        check_wire(robot, checks, seconds, safety.realtime_priority, is_real=plug.target.is_real)
        check_feedback(robot, checks, safety)
        is_well = check_alarms(robot, checks)
        check_refusals(robot, checks, rules, safety.command_timeout)
        if not moves:
            checks.leave_out("motion", "not requested (--move)")
        elif not is_well or checks.failed:
            checks.leave_out("motion", "skipped after a failed check")
        else:
            tries = _EMULATED_TRIES if plug.target.is_faultless else 1
            MotionChecks(robot, checks, rules, safety, joints, tries).run()
    finally:
        _close(robot, checks)
    with checks.needed("free again"):
        driver.open()
    driver.close()
    checks.ok("free again", "closed and opened again")


def _close(robot: Robot, checks: Checks) -> None:
    try:
        robot.close()
    except HardwareError as problem:
        checks.fail("close", str(problem))


def _check_violations(plug: Plugged, checks: Checks) -> None:
    """Check the violations recorded by the emulator."""
    if plug.emulator is None:
        return
    try:
        found = plug.emulator.violations()
    except HardwareError as problem:
        checks.fail("the emulator's judgement", str(problem))
        return
    texts = "; ".join(one.text for one in found[:_SHOWN]) + ("; ..." if len(found) > _SHOWN else "")
    checks.judge(
        "the emulator's judgement",
        texts,
        f"{len(found)} commands that must never be sent" if found else "no command that must never be sent",
        violations=len(found),
    )
