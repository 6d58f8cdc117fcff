# SPDX-License-Identifier: Apache-2.0
"""Two arms PA-10 in one graph: whether their frames are one tree that is right, and each follows its own commands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

NAMES = ("left", "right")
_TURN = 0.3  # [rad]


class TwoArms:
    """Listens to both."""

    def __init__(self, ros: Any, *namespaces: str) -> None:
        """Args: the world of the test, and the namespaces of the left and of the right one."""
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from sensor_msgs.msg import JointState
        from std_msgs.msg import String
        from tf2_msgs.msg import TFMessage

        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.ros = ros
        at = dict(zip(NAMES, namespaces, strict=True))
        self.states = {name: ros.collect(JointState, f"{at[name]}/joint_states", 100) for name in NAMES}
        self.texts = {name: ros.collect(String, f"{at[name]}/robot_description", latched) for name in NAMES}
        self.commands = {name: ros.publisher(JointState, f"{at[name]}/joint_commands", 1) for name in NAMES}
        self.static = ros.collect(TFMessage, "/tf_static", latched)
        self.moving = ros.collect(TFMessage, "/tf", 100)

    def check(self, goes_on: Any, *places: tuple[float, ...]) -> None:
        """Wait for both, and check them. Args: whether their processes still run; x, y, z, yaw of each."""
        self.ros.wait(lambda: all(self.states.values()) or not goes_on(), what="states of both arms")
        assert goes_on()
        self.ros.wait(lambda: len(self.static) >= 2 and all(self.texts.values()), what="frames and descriptions")
        self._follow_commands_of_their_own()
        self._are_one_tree()
        for name, place in zip(NAMES, places, strict=True):
            self._is_where_pinocchio_has_it(name, place)

    def _follow_commands_of_their_own(self) -> None:
        """s1 of the one turns to one side, s3 of the other to the other, and neither does the other's."""
        from sensor_msgs.msg import JointState

        def angle_of(name: str, joint: str) -> float:
            newest = self.states[name][-1]
            return float(newest.position[list(newest.name).index(joint)])

        wanted = (("left", "s1", _TURN), ("right", "s3", -_TURN))
        for name, _, _ in wanted:
            self.ros.matched(self.commands[name])

        def has_come() -> bool:
            # Told again and again: what comes while the physics is still compiled is refused.
            for name, joint, angle in wanted:
                self.commands[name].publish(JointState(name=[joint], position=[angle]))
            return abs(angle_of("left", "s1") - _TURN) < 0.02 and abs(angle_of("right", "s3") + _TURN) < 0.02

        self.ros.wait(has_come, what="both arms at what they were told")
        assert abs(angle_of("left", "s3")) < 0.05 and abs(angle_of("right", "s1")) < 0.05

    def _transforms(self) -> list[Any]:
        return [one for message in [*self.static, *self.moving[-20:]] for one in message.transforms]

    def _are_one_tree(self) -> None:
        parents: dict[str, set[str]] = {}
        for one in self._transforms():
            parents.setdefault(one.child_frame_id, set()).add(one.header.frame_id)
        assert all(len(above) == 1 for above in parents.values()), parents
        up = {child: above for child, (above,) in parents.items()}
        assert set(up.values()) - set(up) == {"world"}  # the only root
        assert all(child.startswith(("left/", "right/")) for child in up)
        assert {c.removeprefix("left/") for c in up if c.startswith("left/")} == {
            c.removeprefix("right/") for c in up if c.startswith("right/")
        }

    def _same_moment(self, name: str) -> Any:
        """Joint states and the transforms with the same stamp; None so far."""
        states = {_stamp(state): state for state in self.states[name][-500:]}
        for message in reversed(self.moving[-1000:]):
            first = message.transforms[0]
            if first.child_frame_id.startswith(f"{name}/") and _stamp(first) in states:
                return states[_stamp(first)], message.transforms
        return None

    def _is_where_pinocchio_has_it(self, name: str, place: tuple[float, ...]) -> None:
        import pinocchio as pin

        text = self.texts[name][0].data
        assert f'"{name}/' not in text  # the description has the names without the prefix
        model = pin.buildModelFromXML(text)
        state, now = self.ros.wait(lambda: self._same_moment(name), what=f"transforms and joint states of {name}")
        q = np.zeros(model.nq)
        for joint, angle in zip(state.name, state.position, strict=True):
            q[model.joints[model.getJointId(joint)].idx_q] = angle
        data = model.createData()
        pin.framesForwardKinematics(model, data, q)
        flange = data.oMf[model.getFrameId("flange")].homogeneous
        x, y, z, yaw = place
        cosine, sine = math.cos(yaw), math.sin(yaw)
        base = np.array([[cosine, -sine, 0, x], [sine, cosine, 0, y], [0, 0, 1, z], [0, 0, 0, 1]])
        each = {one.child_frame_id: one for message in self.static for one in message.transforms}
        each |= {one.child_frame_id: one for one in now}
        chain, frame = np.eye(4), f"{name}/flange"
        while frame != "world":
            one = each[frame]
            chain, frame = _matrix(one.transform) @ chain, one.header.frame_id
        # Numbers are those of the same state, bit for bit: rounding alone.
        np.testing.assert_allclose(chain, base @ flange, atol=1e-12)


def _stamp(message: Any) -> tuple[int, int]:
    return message.header.stamp.sec, message.header.stamp.nanosec


def _matrix(transform: Any) -> np.ndarray:
    t, r = transform.translation, transform.rotation
    x, y, z, w = r.x, r.y, r.z, r.w
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), t.x],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), t.y],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y), t.z],
            [0, 0, 0, 1],
        ]
    )
