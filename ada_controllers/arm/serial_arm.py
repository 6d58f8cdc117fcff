# SPDX-License-Identifier: Apache-2.0
"""An arm of a robot: joints between its base and a link, pose and Jacobian of a tool, and how far it reaches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.poses import inverse, length, twist_matrix
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model, motor_joints

_POSES = 12  # random ones in which distances are compared
_SAME = 1e-9  # [m]


class SerialArm:
    """The joints from the base of a robot to a tool on one of its links.

    Attributes:
        link: that carries the tool.
        joints: with a motor, from the base on.
        tool: pose of the tool in the link.
    """

    def __init__(self, model: Model, dynamics: Dynamics, link: str, tool: Array) -> None:
        """Find the joints.

        Args:
            model: of the robot.
            dynamics: of it.
            link: see `last_link` for the one to take where users name none.
            tool: pose of the tool in the link.
        """
        self.link, self.tool, self.joints = link, tool, arm_joints(model, link)
        self._model, self._dynamics = model, dynamics
        self._columns = np.array([model.v_index(name).start for name in self.joints], dtype=np.intp)
        self._base = model.joints[model.floating_joint].child if model.floating_joint else None
        self._to_tool = twist_matrix(inverse(tool))

    def pose(self, q: Array) -> Array:
        """Pose of the tool in the frame of the base."""
        return self.link_pose(self.link, q) @ self.tool

    def link_pose(self, link: str, q: Array) -> Array:
        """Pose of a link in the frame of the base."""
        pose = self._dynamics.pose(link, q)
        return pose if self._base is None else inverse(self._dynamics.pose(self._base, q)) @ pose

    def jacobian(self, q: Array) -> Array:
        """Body Jacobian of the tool relative to the base, [linear; angular] in its own axes, by `joints`."""
        return np.asarray(self._to_tool @ self._dynamics.jacobian(self.link, q, "local")[:, self._columns])

    def reach(self) -> Reach:
        """Reach by its lengths, whatever its joints' limits are."""
        return Reach(self, self._model)


class Reach:
    """How far the centre of the wrist can be from that of the shoulder.

    The shoulder is the last joint whose origin no joint moves; the wrist the first one whose origin is fixed in the
    tool. Between them are lengths that no joint changes. Found by comparing distances in random poses, so it holds for
    every chain of joints; where a joint slides, nothing is known.

    Attributes:
        longest: greatest distance [m]; infinite where it is not known.
        shortest: least distance [m].
        shoulder: place in the frame of the base.
        wrist: place in the frame of the tool.
    """

    def __init__(self, arm: SerialArm, model: Model) -> None:
        """Measure it in random poses."""
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
        """How far a pose of the tool is out of reach [m]; 0 where its lengths do not forbid it."""
        away = length(pose[:3, 3] + pose[:3, :3] @ self.wrist - self.shoulder)
        return max(away - self.longest, self.shortest - away, 0.0)


def _is_constant(places: Array) -> NDArray[np.bool_]:
    """Mask of the places (poses, n, 3) that are the same in all poses."""
    return np.asarray(np.max(np.ptp(places, axis=0), axis=-1) < _SAME)


def _range(distances: Array, rigid: NDArray[np.bool_], first: int, last: int) -> tuple[float, float]:
    """Greatest and least distance of two places by the shortest way over rigid lengths."""
    if last <= first:
        return np.inf, 0.0
    reach = {first: (0.0, [0.0])}
    for i in range(first + 1, last + 1):
        ways = [
            (reach[j][0] + float(distances[j, i]), [*reach[j][1], float(distances[j, i])])
            for j in range(first, i)
            if j in reach and rigid[j, i]
        ]
        if ways:
            reach[i] = min(ways, key=lambda way: (way[0], len(way[1])))
    if last not in reach:
        return np.inf, 0.0
    longest, lengths = reach[last]
    return longest, max(2.0 * max(lengths) - longest, 0.0)


# --- joint choice -----------------------------------------------------------------------------------------------------
def arm_joints(model: Model, link: str) -> tuple[str, ...]:
    """Joints with a motor between the base and a link, from the base on.

    Raises:
        InputError: there is no such link, or a joint on the way cannot be commanded by itself.
    """
    if link not in model.links:
        raise unknown_name("link", link, model.link_names)
    motors = set(motor_joints(model))
    way = [name for name in joints_to(model, link) if model.joints[name].nv]
    for name in way:
        if name not in motors:
            raise InputError(
                f"joint {name!r} of robot {model.name!r} is on the way to link {link!r} and has no motor of its own; "
                "name a link that motors alone move.",
                joint=name,
                field="link",
                value=link,
            )
    for loop in model.loops.values():
        around = set(joints_to(model, loop.parent)) ^ set(joints_to(model, loop.child))
        if around & set(way):
            raise InputError(
                f"joints {', '.join(name for name in way if name in around)} on the way to link {link!r} of robot "
                f"{model.name!r} are in loop {loop.name!r} and cannot move one by one; name a link of an open chain.",
                loop=loop.name,
                field="link",
                value=link,
            )
    return tuple(way)


def joints_to(model: Model, link: str) -> list[str]:
    """Joints of the tree from the base to a link, without the one that lets the base float."""
    by_child = {joint.child: name for name, joint in model.joints.items()}
    found = []
    while link in by_child and by_child[link] != model.floating_joint:
        found.append(by_child[link])
        link = model.joints[by_child[link]].parent
    return found[::-1]


def last_link(model: Model) -> str:
    """The link at the end of the longest chain of motors."""
    motors = set(motor_joints(model))
    depth = {model.root: (0, 0)}
    for name, joint in model.joints.items():  # in depth-first order
        if name != model.floating_joint:
            motors_before, joints_before = depth.get(joint.parent, (0, 0))
            depth[joint.child] = motors_before + (name in motors), joints_before + 1
    return max(depth, key=lambda link: depth[link])
