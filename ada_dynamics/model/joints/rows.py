# SPDX-License-Identifier: Apache-2.0
"""Constraint forces and free motions of a joint as directions in its two frames."""

from __future__ import annotations

from typing import NamedTuple

from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vector import UNIT3

NORMAL = 3  # instead of an axis: normal of both axes of a universal joint
SECOND = 4  # y of frame B, its second axis


class RowKind(NamedTuple):
    """A force along, or a moment about, axis k of frame A; or the moment about a universal joint's normal."""

    is_force: bool
    axis: int  # of frame A, or NORMAL, or SECOND
    pitch: float = 0.0  # of a helical joint [m/rad]

    def __str__(self) -> str:
        if self.axis == NORMAL:
            return "moment about the normal of both axes"
        if self.axis == SECOND:
            return "moment about the second axis"
        thread = f" on a thread of {self.pitch:g} m/rad" if self.pitch else ""
        return f"{'force along' if self.is_force else 'moment about'} {'xyz'[self.axis]}{thread}"

    @classmethod
    def of(cls, column: Force) -> RowKind:
        """Kind of a column of T or T_a: unit force, moment or screw on a coordinate axis."""
        if not any(column.force):
            return cls(False, UNIT3.index(column.moment))
        axis = UNIT3.index(column.force)
        return cls(True, axis, -float(column.moment[axis]) or 0.0)
