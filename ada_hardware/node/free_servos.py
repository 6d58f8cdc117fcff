# SPDX-License-Identifier: Apache-2.0
"""Lets the servos of a humanoid go, on explicit request alone; no ROS.

It is no matter of cycles: the robot is let go of, its driver alone does it on the same wire, and the robot is read
again afterwards.
"""

from __future__ import annotations

from ada_hardware.node.device_plan import DevicePlan
from ada_robot.errors import Refused
from ada_robot.robot import Robot
from ada_robot.safety.phases import Phase

_RELEASE = "release"  # a driver's method for it


def can_release(plan: DevicePlan) -> bool:
    """True if this kind of device has servos that can go free."""
    return hasattr(plan.kind.driver_class(), _RELEASE)


def release(plan: DevicePlan, robot: Robot, *, confirmed: bool) -> None:
    """Let all servos go: the robot falls unless somebody holds it.

    Args:
        plan: of the robot.
        robot: connected, and not driven; so it is afterwards, too.
        confirmed: whether a person has said so.

    Raises:
        Refused: it is not confirmed, the robot is driven or not connected, or has no servos that can go free.
        HardwareError: the device did not do it.
    """
    if not can_release(plan):
        raise Refused(f"{plan.name} ({plan.kind.name}) has no servos that can go free; those of a humanoid can.")
    if robot.phase not in (Phase.INACTIVE, Phase.STOPPED):
        raise Refused(f"{plan.name} is {robot.phase.value}; servos go free while the node is inactive only.")
    if not confirmed:
        raise Refused(
            "servos that go free let the robot fall. Hold it, or lay it down, then set the parameter "
            "release_confirmed to true and call again."
        )
    robot.close()
    try:
        driver = plan.kind.driver_class()(plan.driver)
        try:
            driver.open()
            driver.release(confirm=True)
        finally:
            driver.close()
    finally:
        robot.open()
