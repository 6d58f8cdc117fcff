# SPDX-License-Identifier: Apache-2.0
"""Logged wrenches of contacts, brought to the origins of the links that they act on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError

if TYPE_CHECKING:
    from ada_dynamics.contact.frames import ContactFrame
    from ada_dynamics.dynamics import Dynamics


class TouchedMotion(Protocol):
    """Wrenches on links in a log, and the dynamics for their poses."""

    t: Array
    q: Array
    external: dict[str, Array]
    contact_wrenches: dict[str, Array]
    contact_frames: dict[str, ContactFrame]

    @property
    def dynamics(self) -> Dynamics:
        """Of its model."""


def on_links(log: TouchedMotion, parts: Iterable[slice]) -> dict[str, Array]:
    """External and contact wrenches together, by link, about the link's origin in its axes.

    Raises:
        InputError: the log does not say where a contact is.
    """
    for name in log.contact_wrenches:
        if name not in log.contact_frames:
            raise InputError(
                f"the log does not say where contact {name!r} is, so its wrench cannot be put on a link; give "
                "contact_frames={name: ContactFrame(link, xyz)} when the log is made."
            )
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
    """Wrenches about points, in the world's axes, as wrenches about the origins of poses in their axes."""
    force = wrenches[:, :3]
    moment = wrenches[:, 3:] + np.cross(points - poses[:, :3, 3], force)
    turned = [np.einsum("nji,nj->ni", poses[:, :3, :3], x) for x in (force, moment)]
    return np.concatenate(turned, axis=1)
