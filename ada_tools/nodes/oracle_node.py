# SPDX-License-Identifier: Apache-2.0
"""Oracle node: compares the dynamics of this library with pinocchio at the states of a running robot; imports rclpy.

It only subscribes, so that it can be started and stopped at any time, for simulated and real robots.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from ada_controllers.running.state_filter import JointStateReader
from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_robot.ros import qos
from ada_robot.ros.diagnostics import Diagnostics
from ada_robot.ros.inbox import AwaitedDescription, decoded
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.ros.run_node import run_node
from ada_robot.ros.status import Level, Status
from ada_tools.nodes.oracle import QUANTITIES, ROWS, Oracle, pinocchio
from ada_tools.nodes.settings import OracleSettings

NAME = "oracle_node"
JOINTS = "joint_states"
_NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class OracleNode(Node):
    """Publishes ~/differences and reports in /diagnostics whether both engines agree.

    Attributes:
        failure: exception that ended the node, for `run_node`; None without one.
    """

    def __init__(self, **arguments: object) -> None:
        """Create subscriptions and publishers.

        Raises:
            InputError: invalid parameter.
        """
        super().__init__(NAME, **arguments)
        self.failure: Exception | None = None
        self._settings = Parameters(self, OracleSettings, on_change=self._change)
        refuse_unknown_overrides(self)
        settings = self._settings.value
        self._text = ""  # robot description
        self._model: Model | None = None
        self._joints: JointStateReader | None = None
        self._oracle: Oracle | None = None  # built at the first state, which selects the assembly mode
        self._problem = ""  # reason why no comparison is possible
        self._received: tuple[float, bytes] | None = None  # latest state that is not compared yet, and its arrival
        self._compared_at = -math.inf  # [s] arrival of the latest state that was compared
        self._remark = ""  # reason why quantities of that state are missing
        self._over = ""  # differences beyond the tolerances since the last report
        self._was_over = False
        self._counts = dict.fromkeys(("compared", "over tolerance", "not comparable", "refused messages"), 0)
        self._values: dict[str, object] = {}
        try:
            pinocchio()
        except AdaError as problem:
            self._refuse(str(problem))
        self._differences = self.create_publisher(Float64MultiArray, "~/differences", qos.STATES)
        AwaitedDescription(self, settings.description_timeout, self._described, self._ended)
        # Serialized messages: only compared ones are decoded.
        self.create_subscription(JointState, JOINTS, self._receive, _NEWEST, raw=True)
        Diagnostics(self, "oracle").add("comparison with pinocchio", self._status)
        steady = Clock(clock_type=ClockType.STEADY_TIME)  # simulated time may be paused
        self._timer = self.create_timer(1.0 / settings.rate, self._compare, clock=steady)

    def _change(self, _old: OracleSettings, new: OracleSettings) -> None:
        self._timer.timer_period_ns = round(1e9 / new.rate)

    def _ended(self, problem: BaseException) -> None:
        self.failure = problem if isinstance(problem, Exception) else RuntimeError(str(problem))

    # --- subscriptions ------------------------------------------------------------------------------------------
    def _receive(self, raw: bytes) -> None:
        self._received = time.monotonic(), raw

    def _described(self, text: str) -> None:
        """Load the model of a new description."""
        if text == self._text:
            return
        self.get_logger().info(f"received a robot description of {len(text)} characters")
        self._text, self._model, self._joints, self._oracle, self._received = text, None, None, None, None
        try:
            pinocchio()
            if not text.lstrip().startswith("<"):
                raise InputError(f"the robot description starts with {text[:40]!r}; it must be URDF text.")
            self._model = load(text, base="fixed", gravity=self._settings.value.gravity or None)
        except AdaError as problem:
            self._refuse(str(problem))
        else:
            self._problem = ""

    def _refuse(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self.get_logger().error(f"comparison not possible: {problem}")

    # --- comparison ---------------------------------------------------------------------------------------------
    def _compare(self) -> None:
        """Compare the latest state."""
        if self._model is None or self._received is None:
            return
        (self._compared_at, raw), self._received = self._received, None
        try:
            self._joints = self._joints or JointStateReader(self._model)
            q, v, effort = self._joints.read(decoded(raw, JointState))
            tau = np.zeros(self._model.nv) if effort is None else effort
            if not np.isfinite([q, v, tau]).all():
                raise InputError("joint state has non-finite values.", field="numbers")
            self._oracle = self._oracle or Oracle(self._model, self._text, q)
            table, self._remark = self._oracle.compare(q, v, tau)
        except AdaError as problem:
            self._counts["refused messages"] += 1
            self._remark = str(problem)
            return
        self._differences.publish(_message(table, self._model.joint_names))
        over = self._judge(table, self._model)
        self._counts["compared"] += 1
        self._counts["not comparable"] += bool(self._remark)
        self._counts["over tolerance"] += bool(over)
        if over and not self._was_over:
            self.get_logger().warning(over)
        self._was_over, self._over = bool(over), over or self._over

    def _judge(self, table: Array, model: Model) -> str:
        """Description of the differences beyond the tolerances, "" without any; stores the values for the report."""
        settings, over = self._settings.value, []
        self._values = {"robot": model.name, "velocities": model.nv}
        for name, rows in zip(QUANTITIES, (table[:3], table[3:]), strict=True):
            if np.isnan(rows).any():
                continue
            _, theirs, difference = np.abs(rows)
            largest, number = float(np.max(difference, initial=0.0)), float(np.max(theirs, initial=0.0))
            joint = model.joint_names[int(np.argmax(difference))]
            self._values |= {f"{name}: largest difference": largest, f"{name}: largest number": number}
            self._values[f"{name}: joint"] = joint
            if not largest <= settings.absolute_tolerance + settings.relative_tolerance * number:
                over.append(f"{name} differ from pinocchio by {largest:.3g}, most at {joint}")
        return "; ".join(over)

    # --- report -------------------------------------------------------------------------------------------------
    def _status(self) -> Status:
        """Status of the comparisons since the last report."""
        level, text = self._level()
        self._over = ""
        return Status(level, text, {**self._counts, **self._values})

    def _level(self) -> tuple[Level, str]:
        age = time.monotonic() - self._compared_at
        if self._problem:
            return Level.ERROR, self._problem
        if not self._text:
            return Level.STALE, "waiting for robot_description"
        if math.isinf(age):
            return Level.STALE, f"waiting for {JOINTS}"
        if age > self._settings.value.stale_after:
            return Level.STALE, f"no states for {age:.1f} s"
        if self._over:
            return Level.WARN, self._over
        return (Level.WARN, self._remark) if self._remark else (Level.OK, "both engines agree")


def _message(table: Array, joints: Sequence[str]) -> Float64MultiArray:
    """Comparison as a matrix with one row per quantity."""
    message = Float64MultiArray(data=table.ravel().tolist())
    for names, stride in ((ROWS, table.size), (joints, len(joints))):
        message.layout.dim.append(MultiArrayDimension(label=",".join(names), size=len(names), stride=stride))
    return message


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run_node(OracleNode, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
