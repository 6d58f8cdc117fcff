# SPDX-License-Identifier: Apache-2.0
"""Serial arm of a robot: joints between base and tool, pose and Jacobian of the tool, and reach."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.poses import inverse, length, twist_matrix
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model, motor_joints

_POSES = 12  # number of random configurations
_SAME = 1e-9  # tolerance of equal distances [m]


class SerialArm:
    """Joints from the base of a robot to a tool on one of its links.

    Attributes:
        link: link of the tool.
        joints: actuated joints, starting at the base.
        tool: pose of the tool in the link frame.
    """

    def __init__(self, model: Model, dynamics: Dynamics, link: str, tool: Array) -> None:
        """Find the joints.

        Args:
            model: robot model.
            dynamics: dynamics of the model.
            link: link of the tool; see `last_link` for the default.
            tool: pose of the tool in the link frame.
        """
        self.link, self.tool, self.joints = link, tool, arm_joints(model, link)
        self._model, self._dynamics = model, dynamics
        self._columns = np.array([model.v_index(name).start for name in self.joints], dtype=np.intp)
        self._base = model.joints[model.floating_joint].child if model.floating_joint else None
        self._to_tool = twist_matrix(inverse(tool))

    def pose(self, q: Array) -> Array:
        """Return the pose of the tool in the base frame."""
        return self.link_pose(self.link, q) @ self.tool

    def link_pose(self, link: str, q: Array) -> Array:
        """Return the pose of a link in the base frame."""
        pose = self._dynamics.pose(link, q)
        return pose if self._base is None else inverse(self._dynamics.pose(self._base, q)) @ pose

    def jacobian(self, q: Array) -> Array:
        """Return the body Jacobian of the tool relative to the base, [linear; angular] in tool axes, by `joints`."""
        return np.asarray(self._to_tool @ self._dynamics.jacobian(self.link, q, "local")[:, self._columns])

    def reach(self) -> Reach:
        """Return the reach by link lengths, without joint limits."""
        return Reach(self, self._model)


class Reach:
    """Range of the distance between shoulder and wrist centre.

    The shoulder is the last joint whose origin does not move; the wrist is the first joint whose origin is fixed in the
    tool frame. Rigid lengths between them are found from distances in random configurations, for any chain of joints.
    With prismatic joints the range is unknown.

    Attributes:
        longest: maximum distance [m]; infinite if unknown.
        shortest: minimum distance [m].
        shoulder: position in the base frame.
        wrist: position in the tool frame.
    """

    def __init__(self, arm: SerialArm, model: Model) -> None:
        """Compute the range from random configurations."""
        rng = np.random.default_rng(0)
        poses = [model.random_state(rng)[0] for _ in range(_POSES)]
        tools = [arm.pose(q) for q in poses]
        links = [model.joints[name].child for name in arm.joints]
        places = np.array([[arm.link_pose(link, q)[:3, 3] for link in links] for q in poses])
        places = np.concatenate([places, np.array(tools)[:, None, :3, 3]], axis=1)  # (poses, joints and tool, 3)
        seen = np.array([(p - T[:3, 3]) @ T[:3, :3] for p, T in zip(places, tools, strict=True)])
        first = int(np.flatnonzero(_is_constant(places))[-1])
        last = int(np.flatnonzero(_is_constant(seen))[0])
        self.shoulder, self.wrist = places[0, first], seen[0, last]
        distances = np.linalg.norm(places[:, :, None] - places[:, None], axis=-1)
        rigid = np.ptp(distances, axis=0) < _SAME
        self.longest, self.shortest = _range(distances[0], rigid, first, last)

    def beyond(self, pose: Array) -> float:
        """Return how far a tool pose is out of reach [m]; 0 if it is not excluded by lengths."""
        away = length(pose[:3, 3] + pose[:3, :3] @ self.wrist - self.shoulder)
        return max(away - self.longest, self.shortest - away, 0.0)


def _is_constant(places: Array) -> NDArray[np.bool_]:
    """Return a mask of the positions (configurations, n, 3) that are constant."""
    return np.asarray(np.max(np.ptp(places, axis=0), axis=-1) < _SAME)


def _range(distances: Array, rigid: NDArray[np.bool_], first: int, last: int) -> tuple[float, float]:
    """Return bounds of the distance of two points by a chain of rigid lengths between them."""
    lengths, at = [0.0], first
    while at < last:
        partners = np.flatnonzero(rigid[at, at + 1 : last + 1])
        if not len(partners):
            return np.inf, 0.0
        following = at + 1 + int(partners[-1])
        lengths.append(float(distances[at, following]))
        at = following
    longest = sum(lengths)
    return (longest, max(2.0 * max(lengths) - longest, 0.0)) if last > first else (np.inf, 0.0)


# --- joint choice -----------------------------------------------------------------------------------------------------
def arm_joints(model: Model, link: str) -> tuple[str, ...]:
    """Return the actuated joints between the base and a link.

    Raises:
        InputError: if the link is unknown, or a joint on the chain cannot be commanded individually.
    """
    if link not in model.links:
        raise unknown_name("link", link, model.link_names)
    motors = set(motor_joints(model))
    way = [name for name in joints_to(model, link) if model.joints[name].nv]
    for name in way:
        if name not in motors:
            text = (
                f"joint {name!r} of robot {model.name!r} is on the chain to link {link!r} and has no motor; "
                "name a link moved by motors only."
            )
            raise InputError(text, joint=name, field="link", value=link)
    for loop in model.loops.values():
        around = set(joints_to(model, loop.parent)) ^ set(joints_to(model, loop.child))
        if around & set(way):
            text = (
                f"joints {', '.join(name for name in way if name in around)} on the chain to link {link!r} of "
                f"robot {model.name!r} are in loop {loop.name!r} and cannot move independently; name a link of an "
                "open chain."
            )
            raise InputError(text, loop=loop.name, field="link", value=link)
    return tuple(way)


def joints_to(model: Model, link: str) -> list[str]:
    """Return the joints of the tree from the base to a link, without the joint of a floating base."""
    by_child = {joint.child: name for name, joint in model.joints.items()}
    found = []
    while link in by_child and by_child[link] != model.floating_joint:
        found.append(by_child[link])
        link = model.joints[by_child[link]].parent
    return found[::-1]


def last_link(model: Model) -> str:
    """Return the link at the end of the longest chain of motors."""
    motors = set(motor_joints(model))
    depth = {model.root: (0, 0)}
    for name, joint in model.joints.items():  # in depth-first order
        if name != model.floating_joint:
            motors_before, joints_before = depth.get(joint.parent, (0, 0))
            depth[joint.child] = motors_before + (name in motors), joints_before + 1
    return max(depth, key=lambda link: depth[link])
