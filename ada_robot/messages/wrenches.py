# SPDX-License-Identifier: Apache-2.0
"""Loads of joints as messages: the wrench that a joint puts on its child link, one message for each joint.

All wrenches are about the origin of the child link, in that link's axes, so that every frame is one that /tf has: those
of loop joints, which `Dynamics.joint_wrenches` gives in a frame of their own, are brought there. No ROS is needed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ada_dynamics.algorithms.joint_loads import joint_loads
from ada_dynamics.arrays import Array
from ada_dynamics.contact.stops import FRICTION_SPEED, JointStops
from ada_dynamics.contact.wrenches import ContactFrame, link_wrenches
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.record import messages
from ada_robot.messages.outgoing import State

Efforts = Callable[[Array, Array], Array]  # of q and v

ALL = "all"
_NO_CONTACTS: Mapping[str, ContactFrame] = {}


class LoadedState(State, Protocol):
    """A state with what acts on the robot from outside."""

    @property
    def external(self) -> Mapping[str, Array]:
        """External wrenches by link, [f, n] at its origin in its axes."""

    @property
    def contact(self) -> Mapping[str, Array]:
        """Contact wrenches by contact, [f, n] on its body, at its place in the world's axes."""


class JointLoads:
    """Wrenches of chosen joints.

    Attributes:
        links: by joint, the child link that its wrench acts on.
        not_unique: joints whose last wrench depended on how stiff and exact the parts are, and not on the motion alone.
    """

    def __init__(
        self,
        model: Model,
        dynamics: Dynamics,
        joints: Iterable[str] = (ALL,),
        *,
        contact_frames: Mapping[str, ContactFrame] = _NO_CONTACTS,
        efforts: Efforts | None = None,
    ) -> None:
        """Choose the joints.

        Args:
            model: the mechanism.
            dynamics: of it.
            joints: their names, fixed and loop joints too; "all" for all that can carry something.
            contact_frames: where the contacts act.
            efforts: what acts in the joints beside the motors; see `passive_efforts`.

        Raises:
            InputError: there is no such joint.
        """
        self._dynamics = dynamics
        self._frames = dict(contact_frames)
        self._efforts = efforts
        children = {name: joint.child for name, joint in model.joints.items() if not joint.type.leaves_free()}
        children |= {name: loop.child for name, loop in model.loops.items()}
        chosen = list(joints)
        for name in chosen:
            if name != ALL and name not in children:
                raise unknown_name("joint that carries something", name, [ALL, *children])
        self.links = children if ALL in chosen else {name: children[name] for name in dict.fromkeys(chosen)}
        self._loops = {name: model.loops[name] for name in self.links if name in model.loops}
        self.not_unique: tuple[str, ...] = ()

    def at(self, state: LoadedState) -> dict[str, Array]:
        """Wrenches by joint, [fx, fy, fz, nx, ny, nz] on its child link, at the link's origin in its axes.

        Raises:
            InputError: the state is not finite, or a contact is not among `contact_frames`.
        """
        tau = state.tau if self._efforts is None else state.tau + self._efforts(state.q, state.v)
        found = self._dynamics.joint_wrenches(state.q, state.v, tau, self._applied(state) or None)
        self.not_unique = tuple(name for name in self.links if not np.all(found.unique[name]))
        return {
            name: _at_link(self._loops[name], found[name]) if name in self._loops else found[name]
            for name in self.links
        }

    def _applied(self, state: LoadedState) -> Mapping[str, Array]:
        """All that acts on links from outside, at their origins in their axes."""
        touching = {name: wrench for name, wrench in state.contact.items() if np.any(wrench)}
        if not touching:
            return state.external
        external = {link: wrench[None, :] for link, wrench in state.external.items()}
        contact = {name: wrench[None, :] for name, wrench in touching.items()}
        frames = {name: self._frames[name] for name in touching if name in self._frames}
        moment = _Moment(np.array([state.t]), state.q[None, :], external, contact, frames, self._dynamics)
        return {link: wrench[0] for link, wrench in link_wrenches(moment, [slice(0, 1)]).items()}


@dataclass
class _Moment:
    """One state in the form of a motion."""

    t: Array
    q: Array
    external: dict[str, Array]
    contact_wrenches: dict[str, Array]
    contact_frames: dict[str, ContactFrame]
    dynamics: Dynamics


def _at_link(loop: LoopJoint, wrench: Array) -> Array:
    """A wrench at and in the child-side frame of a loop joint, brought to the child link's origin and axes."""
    force, moment = loop.child_rotation @ wrench[:3], loop.child_rotation @ wrench[3:]
    return np.concatenate([force, moment + np.cross(loop.child_xyz, force)])


def passive_efforts(
    model: Model, stops: JointStops | None = None, friction_speed: float = FRICTION_SPEED
) -> Efforts | None:
    """Efforts of stops and friction at positions and velocities, as in `Simulation`; None where there are none.

    Args:
        model: the mechanism, with its friction; the dynamics beside it must be without.
        stops: at its limits.
        friction_speed: under which friction is as good as viscous [rad/s, m/s].
    """
    if stops is None and not any(joint.friction for joint in model.joints.values()):
        return None
    resolved = () if stops is None else stops.resolve(model)

    def efforts(q: Array, v: Array) -> Array:
        found, _ = joint_loads(model.tree, resolved, friction_speed, q.tolist(), v.tolist())
        return np.array(found, dtype=np.float64)

    return efforts


class WrenchMessages:
    """Wrenches of joints as geometry_msgs/WrenchStamped.

    Attributes:
        topics: by joint, the last part of its topic's name, with nothing in it that ROS does not allow.
    """

    def __init__(self, loads: JointLoads, world_frame: str | None = None, prefix: str = "") -> None:
        """Lay the messages out.

        Args:
            loads: of the joints.
            world_frame: whole name of the world's frame, which loop joints can be fixed to; "world" by default.
            prefix: stands before the names of links.
        """
        frame = world_frame or WORLD_LINK
        links = loads.links
        self.topics = topic_names(links)
        self._loads = loads
        self._messages = {
            joint: messages.wrench(frame if link == WORLD_LINK else prefix + link) for joint, link in links.items()
        }

    def encode(self, state: LoadedState, stamp_ns: int) -> dict[str, bytes]:
        """Messages by joint.

        Args:
            state: at that time.
            stamp_ns: time in the header [ns].

        Raises:
            InputError: as `JointLoads.at`, or a wrench is not finite.
        """
        found = self._loads.at(state)
        for joint, wrench in found.items():
            if not np.isfinite(wrench).all():
                raise InputError(f"the wrench of joint {joint!r} is not finite at t = {state.t:g} s.")
        return {joint: self._messages[joint].fill_one(stamp_ns, wrench) for joint, wrench in found.items()}


def topic_names(names: Iterable[str]) -> dict[str, str]:
    """Unique names that ROS allows in a topic, by the given names."""
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        plain = f"_{plain}" if not plain or plain[0].isdigit() else plain
        topic, number = plain, 2
        while topic in found.values():
            topic, number = f"{plain}_{number}", number + 1
        found[name] = topic
    return found
