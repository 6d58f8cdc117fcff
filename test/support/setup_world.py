# SPDX-License-Identifier: Apache-2.0
"""Machines on which setups are planned, and setups that run as `ada up` starts them."""

import sys

import numpy as np

from ada_tools.bringup import Machine

FULL, BARE = Machine(has_rviz=True, has_viser=True), Machine(has_rviz=False, has_viser=False)


def executables(plan):
    return [process.executable for process in plan.processes]


def signal_of(message, name):
    start = 0
    for dimension in message.layout.dim:
        if dimension.label == name:
            return np.array(message.data[start : start + dimension.size])
        start += dimension.size
    raise AssertionError(f"no signal {name}")


class Running:
    """A setup that runs."""

    def __init__(self, ros, *words, cwd=None):
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        from ada_robot.ros.qos import streams

        self.ros = ros
        self.measured = ros.collect(JointState, "joint_states", streams(1))
        self.controls = ros.collect(Float64MultiArray, "controller_node/state", streams(1))
        self.process = ros.start(sys.executable, "-m", "ada_tools.cli", "up", *words, "--headless", cwd=cwd)

    def until(self, condition, what):
        """Wait for a condition; fail if the command ends before."""
        self.ros.wait(lambda: condition() or not self.process.is_running, what=what)
        assert self.process.is_running, self.process.output

    def joints(self, names):
        """Positions of some joints in the newest joint state."""
        state = self.measured.newest()
        return np.array([state.position[list(state.name).index(name)] for name in names])

    def joint(self, name):
        return float(self.joints([name])[0])

    def signal(self, name):
        return signal_of(self.controls.newest(), name)

    def end(self):
        """End the command with SIGINT and check that it ends with success."""
        assert self.process.stop() == 0, self.process.output
        assert "Traceback" not in self.process.output, self.process.output
