# SPDX-License-Identifier: Apache-2.0
"""Complete test of a device, as run by `ada hw test`.

    checks = test_device(target("pa10", settings={"variant": "7c"}), moves=True)
    assert checks.is_ok, [check.text for check in checks.failed]

Real robots move only with `moves=True`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ada_dynamics.errors import InputError, unknown_name
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.robot import Robot
from ada_hardware.self_test.checks import Check, Checks, Finding, TestEnded
from ada_hardware.self_test.device import Plugged, Target, plugged
from ada_hardware.self_test.motion_checks import MotionChecks
from ada_hardware.self_test.robot_checks import alarms, feedback, find_robot, free_again, period, wire
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
    report: Callable[[Check], object] = lambda check: None,
) -> Checks:
    """Test a device.

    Args:
        what: the device.
        moves: the robot may move: each joint by some degrees and back.
        seconds: duration of the checks of communication, period and samples.
        joints: joints to be moved; empty: all.
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
                _test_robot(plug, checks, moves, seconds, joints)
            else:
                check_sensor(plug, checks, seconds)
        except TestEnded:
            pass
        except HardwareError as problem:
            checks.fail("end", f"test aborted: {problem}")
        if plug.emulator is not None:
            checks.measure("the emulator's judgement", partial(violations, plug.emulator))
    return checks


test_device.__test__ = False  # type: ignore[attr-defined]  # not a pytest function


def check_joints(what: Target, joints: Sequence[str]) -> None:
    """Check the names of joints without opening the robot; raises InputError."""
    cls = what.kind.driver_class()
    known = cls(checked(cls.SETTINGS, what.driver)).joints
    for name in joints:
        if name not in known:
            raise unknown_name("joint", name, known)


def _test_robot(plug: Plugged, checks: Checks, moves: bool, seconds: float, joints: Sequence[str]) -> None:
    driver, safety = find_robot(plug, checks), plug.target.safety()
    rules = JointRules(driver.limits, safety)
    robot = Robot(plug.target.kind.name, plug.settings, safety)
    measure, is_real = checks.measure, plug.target.is_real
    try:
        try:
            robot.open(_LONGEST_START)
        except HardwareError as problem:
            checks.fail("cycle", str(problem))
            raise TestEnded from None
        measure("wire", lambda: wire(robot, seconds), ends=True)
        measure("period", lambda: period(robot, seconds, is_real=is_real))
        measure("feedback", lambda: feedback(robot, safety), ends=True)
        is_well = measure("alarms", lambda: alarms(robot))
        if not moves:
            checks.leave_out("motion", "not requested (--move)")
        elif not is_well or checks.failed:
            checks.leave_out("motion", "skipped after a failed check")
        else:
            tries = 1 if is_real or plug.target.faults else _EMULATED_TRIES
            MotionChecks(robot, checks, rules, safety, tuple(joints) or robot.joints, tries).run()
    finally:
        try:
            robot.close()
        except HardwareError as problem:
            checks.fail("close", str(problem))
    measure("free again", lambda: free_again(driver))


def violations(emulator: EmulatorProcess) -> Finding:
    """Violations recorded by an emulator; raises HardwareError if it does not answer."""
    found = emulator.violations()
    problem = "; ".join(one.text for one in found[:_SHOWN]) + ("; ..." if len(found) > _SHOWN else "")
    text = f"{len(found)} commands" if found else "no command"
    return Finding(f"{text} that must never be sent", problem, {"violations": len(found)})
