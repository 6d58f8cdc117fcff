# SPDX-License-Identifier: Apache-2.0
"""Where the wrenches of contacts act."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ada_dynamics.model.description import WORLD_LINK

if TYPE_CHECKING:
    from ada_dynamics.contact.contact import Contact, ContactPoint, ContactSphere


class ContactFrame(NamedTuple):
    """Where a contact's wrench acts: about a point that is fixed in a link."""

    link: str
    xyz: tuple[float, float, float]  # in the link's frame [m]
    other: str | None = None  # link that takes the opposite wrench; None: the ground


def frames_of(contact: Contact | None) -> dict[str, ContactFrame]:
    """Where the wrenches of a simulation's contacts act."""
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
