# SPDX-License-Identifier: Apache-2.0
"""Plays a motion of a humanoid from its file, as commands one after another; no ROS.

The motion goes through the same rules as any other command, and ends with the first one that is refused, so that a stop
ends it: motions that boards store and play by themselves could not be stopped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ada_dynamics import resources
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_hardware.kondo.motion_file import read_motion
from ada_hardware.kondo.rcb1.motions import sampled
from ada_hardware.node.device_plan import DevicePlan
from ada_robot.contract import Mode
from ada_robot.errors import HardwareError, Refused
from ada_robot.robot import Robot
from ada_robot.safety.phases import Phase

KINDS = ("khr1",)  # whose motions there is a reader for


@dataclass
class Playing:
    """A motion on its way.

    Attributes:
        robot: that plays it.
        path: of its file.
        rows: positions, a row per period [rad].
        started_at: on the steady clock [s].
        row: that was commanded last.
        ended: why it ended; "" while it plays.
    """

    robot: Robot
    path: str
    rows: Array
    started_at: float
    row: int = -1
    ended: str = ""

    @property
    def duration(self) -> float:
        """From the present pose to the last frame [s]."""
        return (len(self.rows) - 1) * self.robot.period

    def look(self, now: float) -> None:
        """Command what is due.

        Args:
            now: on the steady clock [s].
        """
        if self.ended:
            return
        due = min(int((now - self.started_at) / self.robot.period), len(self.rows) - 1)
        if due <= self.row:
            return
        try:
            self.robot.command(Mode.POSITION, self.rows[due].tolist())
        except HardwareError as problem:
            self.ended = f"{self.path} was left off after {self.row + 1} of {len(self.rows)} rows: {problem}"
            return
        self.row = due
        if due == len(self.rows) - 1:
            self.ended = f"{self.path} was played"


def play(plan: DevicePlan, robot: Robot, path: str, now: float) -> Playing:
    """Begin with a motion.

    Args:
        plan: of the robot.
        robot: active.
        path: of the file.
        now: on the steady clock [s].

    Raises:
        Refused: no motion is named, or the robot is not active, or there is no reader for its motions.
        InputError: the file is unusable, or is for another robot; the message says where.
    """
    if plan.kind.name not in KINDS:
        raise Refused(f"{plan.name} ({plan.kind.name}) plays no motions; {', '.join(KINDS)} does.")
    if not path:
        raise Refused("parameter motion is empty; set it to the path of a motion (CSV of Heart To Heart).")
    if robot.phase is not Phase.ACTIVE:
        raise Refused(f"{plan.name} is {robot.phase.value}; activate the node before it plays a motion.")
    position = robot.feedback.position
    if not np.isfinite(position).all():
        raise Refused(f"{plan.name}: where its joints are is not known.")
    angle_map = plan.driver.angle_map or resources.find("config", "khr1_angle_map.yaml")
    try:
        times, angles = read_motion(path, angle_map)
    except OSError as problem:
        raise InputError(f"parameter motion: {path} cannot be read: {problem.strerror}.") from problem
    rows = sampled(times, angles, robot.period, robot.joints, position)
    return Playing(robot, path, rows, now)
