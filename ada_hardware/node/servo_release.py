# SPDX-License-Identifier: Apache-2.0
"""Release of the servos of a humanoid on explicit request; no ROS.

The robot is closed, its driver is opened to release the servos, and the robot is opened again.
"""

from __future__ import annotations

from ada_hardware.node.hardware_settings import DevicePlan
from ada_robot.errors import Refused
from ada_robot.robot import Robot
from ada_robot.safety.phases import Phase

_RELEASE = "release"  # name of the driver method


def can_release(plan: DevicePlan) -> bool:
    """Return True if the driver of this device can release its servos."""
    return hasattr(plan.kind.driver_class(), _RELEASE)


def release(plan: DevicePlan, robot: Robot, *, confirmed: bool) -> None:
    """Release all servos: the robot falls unless it is supported.

    Args:
        plan: description of the robot.
        robot: the robot, connected and not active; its state is the same afterwards.
        confirmed: a person has confirmed the release.

    Raises:
        Refused: not confirmed, the robot is active or not connected, or it cannot release servos.
        HardwareError: the device did not execute it.
    """
    if not can_release(plan):
        raise Refused(f"{plan.name} ({plan.kind.name}) cannot release servos; only humanoids can.")
    if robot.phase not in (Phase.INACTIVE, Phase.STOPPED):
        raise Refused(f"{plan.name} is {robot.phase.value}; servos can be released only while the node is inactive.")
    if not confirmed:
        raise Refused(
            "the robot falls when its servos are released. Support it or lay it down, then set the parameter "
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
