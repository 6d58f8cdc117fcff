# SPDX-License-Identifier: Apache-2.0
"""A robot as sticks: lines from each joint to the next ones, for the terminal, plots and animations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.model import Model

Line = tuple[Array, Array]  # its end points


class Stick(NamedTuple):
    """A line that stands for a part of a link."""

    link: str
    start: Array
    end: Array


def skeleton(dynamics: Dynamics, q: Array) -> list[Line]:
    """Lines from each joint to the next ones."""
    return [(stick.start, stick.end) for stick in sticks(dynamics.model, dynamics.forward_kinematics(q))]


def sticks(model: Model, poses: Mapping[str, Array]) -> list[Stick]:
    """The same lines with the links that they stand for.

    Args:
        model: the robot.
        poses: of its links, as `Dynamics.poses` gives them.
    """
    found = [
        Stick(joint.parent, poses[joint.parent][:3, 3], poses[joint.child][:3, 3])
        for joint in model.joints.values()
        if not joint.type.leaves_free() and joint.parent in poses
    ]
    for loop in model.loops.values():  # from the origins of both links to where the loop joins them
        for link, xyz in ((loop.parent, loop.parent_xyz), (loop.child, loop.child_xyz)):
            if link != WORLD_LINK:
                pose = poses[link]
                found.append(Stick(link, pose[:3, 3], pose[:3, 3] + pose[:3, :3] @ xyz))
    return found


def ends(model: Model, poses: Mapping[str, Array]) -> list[Stick]:
    """Lines from the last joints of the robot to the centres of mass of the links that they carry."""
    carrying = {joint.parent for joint in model.joints.values()}
    carrying |= {link for loop in model.loops.values() for link in (loop.parent, loop.child)}
    found = []
    for link in model.links.values():
        if link.name not in carrying and link.mass > 0.0 and link.name in poses:
            pose = poses[link.name]
            found.append(Stick(link.name, pose[:3, 3], pose[:3, 3] + pose[:3, :3] @ link.com))
    return found
