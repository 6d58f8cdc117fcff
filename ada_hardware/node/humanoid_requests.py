# SPDX-License-Identifier: Apache-2.0
"""Requests that only humanoids support: playback of a motion file, release of the servos; no ROS.

A motion file is played as a sequence of commands, which pass the same rules as any other; playback ends with the first
refused one. To release the servos, the robot is closed, its driver is opened for the release, and the robot is opened
again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ada_dynamics import resources
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_hardware.kondo.motion_file import read_motion, sampled
from ada_hardware.node.hardware_settings import DevicePlan
from ada_robot.contract import Mode
from ada_robot.errors import HardwareError, Refused
from ada_robot.robot import Robot
from ada_robot.safety.phases import Phase

KINDS = ("khr1",)  # kinds with supported motion files
_RELEASE = "release"  # name of the driver method


@dataclass
class Playing:
    """Motion being played.

    Attributes:
        robot: robot that plays it.
        path: path of the file.
        rows: positions, one row per period [rad].
        started_at: start on the monotonic clock [s].
        row: row commanded last.
        ended: reason of the end; "" while it is playing.
    """

    robot: Robot
    path: str
    rows: Array
    started_at: float
    row: int = -1
    ended: str = ""

    @property
    def duration(self) -> float:
        """Duration from the present configuration to the last key frame [s]."""
        return (len(self.rows) - 1) * self.robot.period

    def look(self, now: float) -> None:
        """Send the command that is due at a time on the monotonic clock [s]."""
        if self.ended:
            return
        due = min(int((now - self.started_at) / self.robot.period), len(self.rows) - 1)
        if due <= self.row:
            return
        try:
            self.robot.command(Mode.POSITION, self.rows[due].tolist())
        except HardwareError as problem:
            self.ended = f"{self.path} ended after {self.row + 1} of {len(self.rows)} rows: {problem}"
            return
        self.row = due
        if due == len(self.rows) - 1:
            self.ended = f"{self.path} was played"


def play(plan: DevicePlan, robot: Robot, path: str, now: float) -> Playing:
    """Start playing a motion file.

    Args:
        plan: description of the robot.
        robot: active robot.
        path: path of the file.
        now: present time on the monotonic clock [s].

    Raises:
        Refused: no file, the robot is not active, or its kind is not supported.
        InputError: the file is invalid, or for another robot.
    """
    if plan.kind.name not in KINDS:
        raise Refused(f"{plan.name} ({plan.kind.name}) cannot play motions; only {', '.join(KINDS)} can.")
    if not path:
        raise Refused("parameter motion is empty; set it to the path of a motion file (CSV of Heart To Heart).")
    if robot.phase is not Phase.ACTIVE:
        raise Refused(f"{plan.name} is {robot.phase.value}; activate the node before playing a motion.")
    position = robot.feedback.position
    if not np.isfinite(position).all():
        raise Refused(f"{plan.name}: joint positions are unknown.")
    angle_map = plan.driver.angle_map or resources.find("config", "khr1_angle_map.yaml")
    try:
        times, angles = read_motion(path, angle_map)
    except OSError as problem:
        raise InputError(f"parameter motion: cannot read {path}: {problem.strerror}.") from problem
    rows = sampled(times, angles, robot.period, robot.joints, position)
    return Playing(robot, path, rows, now)


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
