# SPDX-License-Identifier: Apache-2.0
"""Oracle node: compares the dynamics of this library with pinocchio at the states of a running robot; imports rclpy.

It only subscribes, so that it can be started and stopped at any time, for simulated and real robots.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from ada_dynamics.arrays import Array
from ada_robot.ros import qos
from ada_robot.ros.diagnostics import Diagnostics
from ada_robot.ros.inbox import AwaitedDescription, decoded
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.ros.run_node import run_node
from ada_robot.timing.deadlines import DeadlineLoop
from ada_tools.nodes.oracle import JointNumbers, ReceivedMessage, StateComparison, Verdict
from ada_tools.nodes.settings import OracleSettings

NAME = "oracle_node"
JOINTS = "joint_states"
ROWS = tuple(
    f"{what} {whose}" for what in ("accelerations", "efforts") for whose in ("ours", "pinocchio", "difference")
)
_NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class OracleNode(Node):
    """Publishes ~/differences and reports in /diagnostics whether both engines agree.

    Attributes:
        failure: exception that ended the node, for `run_node`; None without one.
    """

    def __init__(self, **arguments: object) -> None:
        """Create subscriptions and publishers.

        Args:
            arguments: arguments of rclpy's Node, such as `context` and `parameter_overrides`.

        Raises:
            InputError: invalid parameter.
        """
        super().__init__(NAME, **arguments)
        self.failure: Exception | None = None
        self._settings = Parameters(self, OracleSettings, on_change=self._change)
        refuse_unknown_overrides(self)
        settings = self._settings.value
        self._comparison = StateComparison(lambda: self._settings.value, _read_joints)
        self._differences = self.create_publisher(Float64MultiArray, "~/differences", qos.STATES)
        AwaitedDescription(self, settings.description_timeout, self._described, self._ended)
        # Serialized messages: only compared ones are decoded.
        self.create_subscription(JointState, JOINTS, self._joints, _NEWEST, raw=True)
        self._health = Diagnostics(self, "oracle")
        self._health.add("comparison with pinocchio", self._comparison.status)
        self._is_over = False
        self._said: str | None = None  # logged problem
        self._loop = DeadlineLoop(1.0 / settings.rate, self._compare, name="oracle", on_failure=self._ended)
        self._loop.start()

    # --- subscriptions ------------------------------------------------------------------------------------------
    def _described(self, text: str) -> None:
        if text != self._comparison.description:
            self.get_logger().info(f"received a robot description of {len(text)} characters")
            self._comparison.description = text

    def _joints(self, raw: bytes) -> None:
        self._comparison.joints = ReceivedMessage(time.monotonic(), raw)

    # --- in the thread that compares ----------------------------------------------------------------------------
    def _compare(self, _due: int) -> None:
        verdict = self._comparison.compare()
        if self._comparison.problem != self._said:
            self._said = self._comparison.problem
            if self._said is not None:
                self.get_logger().error(f"comparison not possible: {self._said}")
        if verdict is None:
            return
        if self._comparison.oracle is not None:
            self._differences.publish(_table(verdict, self._comparison.oracle.model.joint_names))
        over = self._comparison.over_tolerance(verdict)
        if over and not self._is_over:
            self.get_logger().warning(over)
        self._is_over = bool(over)

    def _ended(self, problem: BaseException) -> None:
        self.failure = problem if isinstance(problem, Exception) else RuntimeError(str(problem))

    # --- life ---------------------------------------------------------------------------------------------------
    def _change(self, _old: OracleSettings, new: OracleSettings) -> None:
        self._loop.period = 1.0 / new.rate

    def close(self) -> None:
        """Stop the comparison thread."""
        self._loop.stop()


def _read_joints(raw: bytes) -> JointNumbers:
    message = decoded(raw, JointState)
    return message.name, message.position, message.velocity, message.effort


def _table(verdict: Verdict, labels: Sequence[str]) -> Float64MultiArray:
    """Comparison as a matrix with one row per quantity; NaN for missing values."""
    none = np.full(len(labels), np.nan)
    rows: list[Array] = []
    for one in (verdict.quantities.get("accelerations"), verdict.quantities.get("efforts")):
        rows += 3 * [none] if one is None else [one.ours, one.theirs, one.difference]
    message = Float64MultiArray(data=np.concatenate(rows).tolist())
    for names, stride in ((ROWS, len(message.data)), (labels, len(labels))):
        message.layout.dim.append(MultiArrayDimension(label=",".join(names), size=len(names), stride=stride))
    return message


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run_node(OracleNode, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
