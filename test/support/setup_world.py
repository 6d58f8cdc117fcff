# SPDX-License-Identifier: Apache-2.0
"""What tests of setups share: machines on which they are planned, and setups that run as `ada up` starts them."""

import sys

import numpy as np

from ada_tools.bringup import Machine

FULL, BARE = Machine(has_rviz=True, has_viser=True), Machine(has_rviz=False, has_viser=False)
START = 120.0  # [s] that all programs and the first compilation may take on a busy machine
MOTION = 120.0  # [s]


def executables(what):
    """What a plan starts."""
    return [process.executable for process in what.processes]


def signal_of(message, name):
    """A part of a controller's state by its label."""
    at = 0
    for dimension in message.layout.dim:
        if dimension.label == name:
            return np.array(message.data[at : at + dimension.size])
        at += dimension.size
    raise AssertionError(f"no signal {name}")


class Running:
    """A setup that runs, and the newest of what it says.

    Attributes:
        process: of the command.
        measured: joint states.
        controls: states of the controller.
    """

    def __init__(self, ros, *words):
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        from ada_robot.ros.qos import streams

        self.ros = ros
        self.measured = ros.collect(JointState, "joint_states", streams(1))
        self.controls = ros.collect(Float64MultiArray, "controller_node/state", streams(1))
        self.process = ros.start(sys.executable, "-m", "ada_tools.cli", "up", *words, "--headless")

    def until(self, holds, what):
        """Wait for the start of something."""
        self.ros.wait(lambda: holds() or not self.process.is_running, START, what)
        assert self.process.is_running, self.process.output

    def joints(self, names):
        """Where some joints are, all at the same time."""
        state = self.ros.wait(lambda: self.measured and self.measured[-1], START, "joint states")
        return np.array([state.position[list(state.name).index(name)] for name in names])

    def joint(self, name):
        """Where one of them is."""
        return float(self.joints([name])[0])

    def signal(self, name):
        """What the controller says of itself."""
        message = self.ros.wait(lambda: self.controls and self.controls[-1], START, "a state of the controller")
        return signal_of(message, name)

    def end(self):
        """Ctrl-C ends it well."""
        assert self.process.stop(60.0) == 0, self.process.output
        assert "Traceback" not in self.process.output, self.process.output
