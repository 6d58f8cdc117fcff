# SPDX-License-Identifier: Apache-2.0
"""Topics of a recording for viewers: joint states, transforms, energy, closure error and wrenches as ROS 2 messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.record import messages
from ada_dynamics.simulation.record.cdr import NANOSECONDS
from ada_dynamics.simulation.record.content import Content
from ada_dynamics.simulation.record.messages import JointStates
from ada_dynamics.spatial.orientation import quaternions

if TYPE_CHECKING:
    from ada_dynamics.dynamics import Dynamics

Times = NDArray[np.int64]
Encoder = Callable[[Times, Array], list[bytes]]  # times [ns] and rows of the recording to messages

_CONTACT = "contact/"


@dataclass(frozen=True)
class Topic:
    """A topic, its message type, and the encoder of rows."""

    name: str
    kind: str
    encode: Encoder


class ViewerTopics:
    """All topics for viewers."""

    def __init__(self, content: Content, dynamics: Dynamics) -> None:
        """Initialize the topics.

        Args:
            content: metadata of the recording.
            dynamics: dynamics of its model.
        """
        self._content = content
        self._model = content.model
        self._dynamics = dynamics
        self._joints = JointStates(self._model)
        # Contact wrenches are in world axes, so each contact has its own frame.
        self._places = {name: frame for name, frame in content.contact_frames.items() if name in content.contacts}
        self._links = [link for link in self._model.link_names if link != WORLD_LINK]
        self.topics = list(self._made())

    def encode(self, times: Times, rows: Array) -> Iterable[tuple[Topic, list[bytes]]]:
        """Return the messages of rows; topics that cannot be computed, such as after an overflow, are omitted."""
        for topic in self.topics:
            try:
                encoded = topic.encode(times, rows)
            except InputError:  # the states are recorded in any case
                continue
            yield topic, encoded

    def _made(self) -> Iterable[Topic]:
        if self._joints.names:
            joints = messages.joint_state(self._joints.names)
            yield Topic("/joint_states", messages.JOINT_STATE, lambda t, x: joints.fill(t, self._joint_states(x)))
        frames = [*self._links, *(_CONTACT + name for name in self._places)]
        moves = messages.transforms(WORLD_LINK, frames)
        yield Topic("/tf", messages.TRANSFORMS, lambda t, x: moves.fill(t, self._transforms(x)))
        energy = messages.numbers("kinetic, potential, total [J]", 3)
        yield Topic("/energy", messages.NUMBERS, lambda t, x: energy.fill(t, {"data": self._energy(x)}))
        if self._model.loops:
            gap = messages.number()
            yield Topic("/loop_gap", messages.NUMBER, lambda t, x: gap.fill(t, {"data": self._gap(x)}))
        columns = len(self._content.widths) - len(self._content.external) - len(self._content.contacts)
        named = [(name, name) for name in self._content.external] + [
            (_CONTACT + name, _CONTACT + name if name in self._places else WORLD_LINK)
            for name in self._content.contacts
        ]
        taken: set[str] = set()
        for i, (name, frame) in enumerate(named):
            yield self._wrench(_unused(f"/wrench/{name}", taken), frame, columns + i)

    def _wrench(self, topic: str, frame: str, part: int) -> Topic:
        message = messages.wrench(frame)
        encode = lambda t, x: message.fill(t, {"wrench": self._content.split(x)[part]})  # noqa: E731
        return Topic(topic, messages.WRENCH, encode)

    # --- numbers ------------------------------------------------------------------------------------------------
    def _joint_states(self, rows: Array) -> dict[str, Array]:
        _, q, v, _, tau, *_ = self._content.split(rows)
        return self._joints.numbers(q, v, tau)._asdict()

    def _transforms(self, rows: Array) -> dict[str, Array]:
        q = np.ascontiguousarray(self._content.split(rows)[1])
        poses = self._dynamics.forward_kinematics(q)
        found = {link: _translation_and_rotation(poses[link]) for link in self._links}
        for name, frame in self._places.items():
            place = np.zeros((len(q), 7))
            place[:, :3] = poses[frame.link][:, :3, 3] + poses[frame.link][:, :3, :3] @ np.asarray(frame.xyz)
            place[:, 6] = 1.0
            found[_CONTACT + name] = place
        return found

    def _energy(self, rows: Array) -> Array:
        _, q, v, *_ = self._content.split(rows)
        kinetic, potential = self._dynamics.energy(np.ascontiguousarray(q), np.ascontiguousarray(v))
        return np.stack([kinetic, potential, kinetic + potential], axis=1)

    def _gap(self, rows: Array) -> Array:
        return self._dynamics.constraints.closure_error(self._content.split(rows)[1])[:, None]


def _translation_and_rotation(poses: Array) -> Array:
    """Return x, y, z, qx, qy, qz, qw."""
    wxyz = quaternions(poses[:, :3, :3])
    return np.concatenate([poses[:, :3, 3], wxyz[:, 1:], wxyz[:, :1]], axis=1)


def _unused(topic: str, taken: set[str]) -> str:
    """Return a valid and unique topic name."""
    plain = re.sub(r"[^A-Za-z0-9_/]", "_", topic)
    name, number = plain, 2
    while name in taken:
        name, number = f"{plain}_{number}", number + 1
    taken.add(name)
    return name


def nanoseconds(t: Array) -> Times:
    """Return non-negative times of messages [ns]."""
    finite = np.nan_to_num(t, nan=0.0, posinf=0.0, neginf=0.0)
    return np.maximum(np.round(finite * NANOSECONDS), 0.0).astype(np.int64)


def description(model: Model) -> str | None:
    """Return the URDF of a model with its loops and motors; None if URDF cannot represent it.

    It is the source of the model if that is complete. Otherwise, such as for loops and motors from a separate file, a
    URDF is written with joints of URDF 1.0, `<loop_joint>` elements and passive joints. Relative mesh paths are
    replaced by file:// addresses.
    """
    from ada_dynamics.model.edit import split_universals
    from ada_dynamics.robots.addresses import with_lasting_addresses
    from ada_dynamics.robots.writers import render

    text = model.source
    if text is None or not _says_all(text, model):
        try:
            (text,) = render(split_universals(model), "loop_joint").texts.values()
        except AdaError:
            return None
    return with_lasting_addresses(text, model, None)[0]


def _says_all(text: str, model: Model) -> bool:
    """Return True if a URDF alone contains the joints, loops and motors of a model, in standard joint types."""
    from ada_dynamics.robots.load import find_robot, to_model
    from ada_dynamics.robots.readers.urdf import STANDARD

    if "<robot" not in text or "<drake:joint" in text:
        return False
    try:
        alone = to_model(*find_robot(text))  # without the warnings of `load`
    except AdaError:
        return False
    floating = [name for name in model.joints if name not in alone.joints and name == model.floating_joint]
    return (
        all(joint.kind in STANDARD for joint in alone.joints.values())
        and alone.loop_names == model.loop_names
        and [*floating, *alone.joints] == list(model.joints)
        and set(alone.actuated) == {name for name in model.actuated if name not in floating}
    )
