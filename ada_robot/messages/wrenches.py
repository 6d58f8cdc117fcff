# SPDX-License-Identifier: Apache-2.0
"""Joint wrenches as messages: the wrench exerted by a joint on its child link, one message per joint. No ROS needed.

All wrenches are about the origin of the child link in its axes, so that each frame exists in /tf.
`Dynamics.joint_wrenches` expresses those of loop joints in a separate frame; they are transformed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.algorithms.joint_loads import joint_loads
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import ContactFrame, link_wrenches
from ada_dynamics.contact.stops import FRICTION_SPEED, JointStops
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.record import messages

if TYPE_CHECKING:
    from ada_robot.simulated.plant import Snapshot

Efforts = Callable[[Array, Array], Array]  # (q, v) -> efforts

ALL = "all"
_NO_CONTACTS: Mapping[str, ContactFrame] = {}


class JointLoads:
    """Wrenches of selected joints.

    Attributes:
        links: child link by joint.
        not_unique: joints whose last wrench was indeterminate, because of redundant constraints.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        joints: Iterable[str] = (ALL,),
        *,
        contact_frames: Mapping[str, ContactFrame] = _NO_CONTACTS,
        efforts: Efforts | None = None,
    ) -> None:
        """Select the joints.

        Args:
            dynamics: dynamics of the robot.
            joints: names, including fixed and loop joints; "all" for all that transmit forces.
            contact_frames: frames of the contacts.
            efforts: joint efforts in addition to those of the motors; see `passive_efforts`.

        Raises:
            InputError: if a joint is unknown.
        """
        self._dynamics, self._frames, self._efforts = dynamics, dict(contact_frames), efforts
        model = dynamics.model
        children = {name: joint.child for name, joint in model.joints.items() if not joint.type.leaves_free()}
        children |= {name: loop.child for name, loop in model.loops.items()}
        chosen = list(joints)
        for name in chosen:
            if name != ALL and name not in children:
                raise unknown_name("joint that carries something", name, [ALL, *children])
        self.links = children if ALL in chosen else {name: children[name] for name in dict.fromkeys(chosen)}
        self._loops = {name: model.loops[name] for name in self.links if name in model.loops}
        self.not_unique: tuple[str, ...] = ()

    def at(self, state: Snapshot) -> dict[str, Array]:
        """Return the wrench [fx, fy, fz, nx, ny, nz] of each joint on its child link, at its origin in its axes.

        Raises:
            InputError: if the state is not finite, or a contact is not in `contact_frames`.
        """
        tau = state.tau if self._efforts is None else state.tau + self._efforts(state.q, state.v)
        found = self._dynamics.joint_wrenches(state.q, state.v, tau, self._applied(state) or None)
        self.not_unique = tuple(name for name in self.links if not np.all(found.unique[name]))
        return {
            name: _at_link(self._loops[name], found[name]) if name in self._loops else found[name]
            for name in self.links
        }

    def _applied(self, state: Snapshot) -> Mapping[str, Array]:
        """Return external and contact wrenches by link, at its origin in its axes."""
        touching = {name: wrench for name, wrench in state.contact.items() if np.any(wrench)}
        if not touching:
            return state.external
        rows = {name: wrench[None, :] for name, wrench in touching.items()}
        found = link_wrenches(self._dynamics, state.q[None, :], rows, self._frames)
        return {
            **state.external,
            **{link: state.external.get(link, 0.0) + wrench[0] for link, wrench in found.items()},
        }


def _at_link(loop: LoopJoint, wrench: Array) -> Array:
    """Transform a wrench from the child-side frame of a loop joint to origin and axes of the child link."""
    force, moment = loop.child_rotation @ wrench[:3], loop.child_rotation @ wrench[3:]
    return np.concatenate([force, moment + np.cross(loop.child_xyz, force)])


def passive_efforts(
    model: Model, stops: JointStops | None = None, friction_speed: float = FRICTION_SPEED
) -> Efforts | None:
    """Return efforts of joint stops and friction as functions of (q, v), as in `Simulation`; None if there are none.

    Args:
        model: robot model with its friction; `dynamics` must not include it.
        stops: joint stops.
        friction_speed: speed below which friction is viscous [rad/s, m/s].
    """
    if stops is None and not any(joint.friction for joint in model.joints.values()):
        return None
    resolved = () if stops is None else stops.resolve(model)

    def efforts(q: Array, v: Array) -> Array:
        found, _ = joint_loads(model.tree, resolved, friction_speed, q.tolist(), v.tolist())
        return np.array(found, dtype=np.float64)

    return efforts


class WrenchMessages:
    """Encoder of joint wrenches as geometry_msgs/WrenchStamped.

    Attributes:
        topics: last part of the topic name by joint, valid in ROS.
    """

    def __init__(self, loads: JointLoads, world_frame: str | None = None, prefix: str = "") -> None:
        """Lay out the messages.

        Args:
            loads: joint wrenches.
            world_frame: full name of the world frame, for loop joints fixed to it; "world" by default.
            prefix: prefix of the link names.
        """
        frame = world_frame or WORLD_LINK
        links = loads.links
        self.topics = topic_names(links)
        self._loads = loads
        self._messages = {
            joint: messages.wrench(frame if link == WORLD_LINK else prefix + link) for joint, link in links.items()
        }

    def encode(self, state: Snapshot, stamp_ns: int) -> dict[str, bytes]:
        """Encode one message per joint. Args: state to encode; time in the header [ns].

        Raises:
            InputError: as `JointLoads.at`, or if a wrench is not finite.
        """
        found = self._loads.at(state)
        for joint, wrench in found.items():
            if not np.isfinite(wrench).all():
                raise InputError(f"the wrench of joint {joint!r} is not finite at t = {state.t:g} s.")
        return {joint: self._messages[joint].fill_one(stamp_ns, wrench) for joint, wrench in found.items()}


def topic_names(names: Iterable[str]) -> dict[str, str]:
    """Return unique topic names that are valid in ROS, by the given names."""
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        plain = f"_{plain}" if not plain or plain[0].isdigit() else plain
        topic, number = plain, 2
        while topic in found.values():
            topic, number = f"{plain}_{number}", number + 1
        found[name] = topic
    return found
