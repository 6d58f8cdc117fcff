# SPDX-License-Identifier: Apache-2.0
"""Frames in which contact wrenches act, and contact wrenches as wrenches on links."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import Contact
from ada_dynamics.contact.geometry import ContactPoint, ContactSphere
from ada_dynamics.errors import InputError
from ada_dynamics.model.description import WORLD_LINK

if TYPE_CHECKING:
    from ada_dynamics.dynamics import Dynamics


class ContactFrame(NamedTuple):
    """Link and point at which the wrench of a contact acts."""

    link: str
    xyz: tuple[float, float, float]  # in the link frame [m]
    other: str | None = None  # link that receives the opposite wrench; None for the ground


def contact_frames(contact: Contact | None) -> dict[str, ContactFrame]:
    """Frames in which the wrenches of contacts act, by name of the contact."""
    if contact is None:
        return {}
    on_ground: list[ContactPoint | ContactSphere] = [*contact.points, *contact.spheres]
    frames = {c.name: ContactFrame(c.link, _xyz(c.xyz)) for c in on_ground}
    for pair in contact.pairs:
        other = None if pair.other.link == WORLD_LINK else pair.other.link
        frames[pair.name] = ContactFrame(pair.one.link, _xyz(pair.one.xyz), other)
    return frames


def _xyz(values: Iterable[float]) -> tuple[float, float, float]:
    x, y, z = values
    return (float(x), float(y), float(z))


class ContactLog(Protocol):
    """External and contact wrenches of a motion, and the dynamics of its model."""

    t: Array
    q: Array
    external: dict[str, Array]
    contact_wrenches: dict[str, Array]
    contact_frames: dict[str, ContactFrame]

    @property
    def dynamics(self) -> Dynamics:
        """Dynamics of the model."""


def link_wrenches(log: ContactLog, parts: Iterable[slice]) -> dict[str, Array]:
    """Sum of external and contact wrenches by link, at the link origin in link axes, each (N, 6) [N, N m].

    Args:
        log: motion with N rows.
        parts: slices of its rows that are processed together.

    Raises:
        InputError: the frame of a contact is unknown.
    """
    for name in log.contact_wrenches:
        if name not in log.contact_frames:
            text = (
                f"the log has no frame of contact {name!r}, so its wrench cannot be transformed to a link; pass "
                "contact_frames={name: ContactFrame(link, xyz)} to the log."
            )
            raise InputError(text, field="contact_frames", value=name)
    frames = [log.contact_frames[name] for name in log.contact_wrenches]
    touched = [frame.link for frame in frames] + [frame.other for frame in frames if frame.other is not None]
    total = {link: wrench.copy() for link, wrench in log.external.items()}
    for link in touched:
        total.setdefault(link, np.zeros((len(log.t), 6)))
    for rows in parts:
        poses = {link: log.dynamics.pose(link, log.q[rows]) for link in dict.fromkeys(touched)}
        for wrench, frame in zip(log.contact_wrenches.values(), frames, strict=True):
            of_link = poses[frame.link]
            point = of_link[:, :3, 3] + of_link[:, :3, :3] @ np.asarray(frame.xyz)
            total[frame.link][rows] += _at_origin(of_link, point, wrench[rows])
            if frame.other is not None:
                total[frame.other][rows] -= _at_origin(poses[frame.other], point, wrench[rows])
    return total


def _at_origin(poses: Array, points: Array, wrenches: Array) -> Array:
    """Wrenches about points in world axes, transformed to the origins and axes of poses."""
    force = wrenches[:, :3]
    moment = wrenches[:, 3:] + np.cross(points - poses[:, :3, 3], force)
    turned = [np.einsum("nji,nj->ni", poses[:, :3, :3], x) for x in (force, moment)]
    return np.concatenate(turned, axis=1)
