# SPDX-License-Identifier: Apache-2.0
"""Marks of a robot: joint wrenches, contact forces, closure errors, centre of mass, zero-moment point, support polygon.

They are computed in the world frame; markers.py converts them to messages. Non-finite marks and arrows too small to be
visible are omitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.analysis.balance import balance_of, contact_points
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.contact.contact import ContactFrame
from ada_dynamics.drawing.colours import closure_colour
from ada_dynamics.drawing.marks import FORCE, LINE_WIDTH, SUPPORT, Colour, Mark, MarkKind, arrow_mark
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import STANDARD_GRAVITY, reach_of
from ada_robot.messages.wrenches import JointLoads

if TYPE_CHECKING:
    from ada_robot.simulated.plant import Snapshot

# all lengths are shares of the robot's size
_HALF = 0.5  # length of arrows at the robot's weight, or its moment at half the size, and maximum length
_SHORTEST = 2e-3
_SHARED = 2.5  # additional scale of contact forces, which share the weight
_LOOP, _POINT = 0.036, 0.05  # diameters
_PRESSING = 1e-3  # minimum contact force for a zero-moment point, as a share of the weight

_MOMENT: Colour = (0.13, 0.42, 0.85, 1.0)
_CONTACT: Colour = (0.95, 0.60, 0.10, 1.0)
_MASS: Colour = (0.10, 0.10, 0.10, 1.0)
_ZMP: Colour = (0.85, 0.10, 0.60, 1.0)


class Marks:
    """Marks of a robot.

    Attributes:
        problem: reason why the last joint wrenches could not be computed, or None.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        loads: JointLoads | None = None,
        *,
        contact_frames: Mapping[str, ContactFrame] | None = None,
        ground: float | None = None,
    ) -> None:
        """Choose the marks.

        Args:
            dynamics: dynamics of the robot.
            loads: joint wrenches to draw; none by default.
            contact_frames: frames of the contacts.
            ground: height of the ground [m]; by default that of the lowest contact.
        """
        self._dynamics, self._loads = dynamics, loads
        self._model = model = dynamics.model
        self._frames = dict(contact_frames or {})
        self._contacts = {name: i for i, name in enumerate(self._frames)}
        self._ground = ground
        self._numbers = ConstraintSet(model) if model.loops else None
        self._size = reach_of(model)
        strength = float(np.linalg.norm(model.gravity)) or float(np.linalg.norm(STANDARD_GRAVITY))
        self._weight = (model.total_mass or 1.0) * strength
        self.problem: str | None = None

    def at(self, state: Snapshot) -> list[Mark]:
        """Return the marks of a state."""
        poses = self._dynamics.forward_kinematics(state.q)
        made = [*self._of_joints(state, poses), *self._of_loops(state, poses), *self._of_balance(state)]
        made += self._sphere("com", 0, self._dynamics.com(state.q), _POINT, _MASS)
        return [mark for mark in made if np.isfinite(mark.points).all()]

    # --- shapes -------------------------------------------------------------------------------------------------
    def _arrow(self, space: str, number: int, start: Array, reach: Array, colour: Colour) -> Iterator[Mark]:
        """Yield an arrow; `reach` is a share of the maximum length."""
        length = float(np.linalg.norm(reach))
        if not _SHORTEST < length < np.inf:
            return
        reach = reach * (min(1.0, 1.0 / length) * _HALF * self._size)
        yield arrow_mark(space, number, start, reach, self._size, colour)

    def _sphere(self, space: str, number: int, at: Array, diameter: float, colour: Colour) -> Iterator[Mark]:
        yield Mark(space, number, MarkKind.SPHERE, at.reshape(1, 3), (diameter * self._size,), colour)

    # --- quantities ---------------------------------------------------------------------------------------------
    def _of_joints(self, state: Snapshot, poses: Mapping[str, Array]) -> Iterator[Mark]:
        if self._loads is None:
            return
        try:
            found = self._loads.at(state)
        except InputError as problem:  # the other marks are still drawn
            self.problem = str(problem)
            return
        self.problem = None
        for i, (joint, wrench) in enumerate(found.items()):
            pose = poses[self._loads.links[joint]]
            force, moment = pose[:3, :3] @ wrench[:3], pose[:3, :3] @ wrench[3:]
            yield from self._arrow("joint_force", i, pose[:3, 3], force / self._weight, FORCE)
            share = moment / (self._weight * _HALF * self._size)
            yield from self._arrow("joint_moment", i, pose[:3, 3], share, _MOMENT)

    def _of_loops(self, state: Snapshot, poses: Mapping[str, Array]) -> Iterator[Mark]:
        if self._numbers is None:
            return
        gaps = np.abs(self._numbers.violation(state.q))
        names = np.array([loop for loop, _, _ in self._numbers.rows])
        for i, (name, loop) in enumerate(self._model.loops.items()):
            pose = poses[loop.child]
            red, green, blue = (closure_colour(np.max(gaps[names == name], initial=0.0)) / 255.0).tolist()
            place = pose[:3, 3] + pose[:3, :3] @ loop.child_xyz
            yield from self._sphere("loop", i, place, _LOOP, (red, green, blue, 1.0))

    def _of_balance(self, state: Snapshot) -> Iterator[Mark]:
        touching = {name: w for name, w in state.contact.items() if name in self._frames and np.any(w)}
        places = contact_points(self._dynamics, state.q, {name: self._frames[name] for name in touching})
        for name, place in places.items():
            share = _SHARED * touching[name][:3] / self._weight
            yield from self._arrow("contact", self._contacts[name], place, share, _CONTACT)
        grounded = [name for name in touching if self._frames[name].other is None]
        if not grounded:
            return
        rows = {name: touching[name][None, :] for name in grounded}
        height = float(min(places[name][2] for name in grounded)) if self._ground is None else self._ground
        moment = SimpleNamespace(
            model=self._model, dynamics=self._dynamics, q=state.q[None, :], contact_wrenches=rows
        )  # one state as a motion of length one
        balance = balance_of(moment, contact_frames=self._frames, height=height)
        if sum(float(force[0]) for force in balance.forces.values()) > _PRESSING * self._weight:
            yield from self._sphere("zmp", 0, balance.zmp[0], _POINT, _ZMP)
        ring = np.pad(balance.polygon(0), ((0, 0), (0, 1)), constant_values=height)
        if len(ring) > 1:
            yield Mark(
                "support", 0, MarkKind.LINE, np.concatenate([ring, ring[:1]]), (LINE_WIDTH * self._size,), SUPPORT
            )
