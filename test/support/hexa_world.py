# SPDX-License-Identifier: Apache-2.0
"""A HEXA's driver and emulated table with their bytes in between, on a clock that only moves when told to."""

import math

import numpy as np
from device_world import DeviceWorld

from ada_dynamics.spatial.orientation import pose_of
from ada_hardware.emulation.in_process import InProcessWire
from ada_hardware.hexa.kinematics import HexaKinematics
from ada_hardware.hexa.plant import PERIOD
from ada_robot.contract import Demand, Mode

LEVEL = (0.0, 0.0, 0.0)
TABLE = HexaKinematics()


def joint_path(place, duration):
    """Crank angles for each period on a path of the plate."""
    return np.array([TABLE.inverse(place(i * PERIOD)) for i in range(round(duration / PERIOD) + 1)])


def stiffness_at(pose, kp):
    """Force per displacement of a touch along z at the plate's origin, by eq. 15 [N/m]."""
    wrench = np.eye(6)[2]
    J = TABLE.jacobians(pose).forward
    return kp / float(wrench @ J @ J.T @ wrench)


class World(DeviceWorld):
    """A driver, an emulated table, and their clock."""

    def __init__(self, faults=None, **device):
        super().__init__("hexa", faults=faults, device=device)
        self.table, self.next = self.device, 0.0

    def plugged(self, faults=None):
        return InProcessWire(self.table, clock=self.clock, sleep=self.clock.sleep, faults=faults)

    @property
    def number(self):
        return int.from_bytes(self.tap.sent[-1][4:8], "big")

    def started(self):
        self.driver.open()
        self.driver.start()
        self.next = self.clock()
        return self

    def wait(self):
        self.next += PERIOD
        self.clock.sleep(self.next - self.clock())

    def follow(self, targets, mode=Mode.POSITION):
        for values in targets:
            feedback = self.driver.cycle(Demand(mode, np.asarray(values)))
            self.wait()
        return feedback

    def hold(self, periods):
        return self.follow([self.table.target] * periods)


def circle(t, size=0.02):
    """From the middle of the workspace, beginning and ending smoothly."""
    turned = math.pi * (1.0 - math.cos(math.pi * min(t / 1.0, 1.0)))
    return pose_of(
        (size * math.sin(turned), 0.5 * size * (1.0 - math.cos(turned)), -0.55), (0.1 * math.sin(turned), 0, 0)
    )
