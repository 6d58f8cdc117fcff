# SPDX-License-Identifier: Apache-2.0
"""Constraint rows of a loop, and their changes with the coordinates of a tree, from those of `rnea_derivatives`.

A coordinate of the branch from the nearest common ancestor to one end of a loop moves this end only. Rows depend on the
poses and motions of the two ends, in one frame for both, so that their changes are derivatives of `closure.loop_rows`
with respect to these. A displacement of both ends does not change the rows. Nor does a motion of both, except where
J v = 0 is not satisfied and γ, of joints without translation, has no term of the relative velocity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial

from ada_dynamics.algorithms.closure import ConstraintRow, loop_rows
from ada_dynamics.algorithms.kinematics import Moving, at_rest, moved, spin_matrix
from ada_dynamics.algorithms.rnea_derivatives import BY_Q, RneaDerivatives, Vector
from ada_dynamics.expr import Expr, Function, directional, pack, trace
from ada_dynamics.expr.evaluation import substitute
from ada_dynamics.model.tree import WORLD, Loop
from ada_dynamics.spatial.motion import NO_MOTION, Force, Motion
from ada_dynamics.spatial.rotation import MatrixRotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import UNIT3, ZERO, ZERO3, Mat3, Scalar, Vec3, cross, leaves, skew

BOTH = 2  # index of the coordinates that carry both ends, after those of either
_STATE = 30  # numbers of an end: pose of the frame of the loop, w, ẇ, a, velocity at the origin, a small displacement
_MOVING = 12  # first of those that change


class LoopDerivatives:
    """A loop of a tree in motion.

    Attributes:
        rows: constraint rows in use, in a frame that both ends have in common.
    """

    def __init__(self, found: RneaDerivatives, loop: Loop, chosen: Sequence[int]) -> None:
        """Compute the rows of a loop in use, for the motion of the tree."""
        self._found, self._loop, self._chosen = found, loop, chosen
        self._ends = (loop.parent, loop.child)
        paths = [found.paths[end] if end != WORLD else frozenset[int]() for end in self._ends]
        common = paths[0] & paths[1]
        self._sides = [*(path - common for path in paths), frozenset[int]() if loop.moves_origin else common]
        bases = [found.bases[end] for end in self._ends if end != WORLD]
        # the common frame in the frame of each end's branch: that of this branch, or the world's between two branches
        own = [Transform() if bases[0] is bases[-1] else base.inverse() for base in bases]
        self._frames = [bases[0] if end == WORLD else own.pop(0) for end in self._ends]
        poses = zip(self._ends, self._frames, (loop.parent_pose, loop.child_pose), strict=True)
        self._state = [self._of_end(*each) for each in poses]
        self.rows = self._rows(self._state)

    def wrenches(self, multipliers: Vector) -> dict[int, Force]:
        """Wrenches of the multipliers on the ends, in the frames of their branches."""
        return self._on_ends(self._totals(self.rows, multipliers))

    def changes(self, variable: str, multipliers: Vector) -> Iterator[tuple[list[int], dict[int, Force], list[Scalar]]]:
        """Velocities side by side; changes with them of the wrenches, in axes that move with the ends, and of J a + γ.

        Args:
            variable: position or rate.
            multipliers: of the rows.
        """
        for side, function in self._along.items():
            bodies = self._sides[side]
            for group in self._found.groups:
                moving = [j for j in group if any(one.body.index in bodies for one in self._found.coordinates[j])]
                if moving:
                    columns = zip(*(self._change(side, variable, j) for j in moving), strict=True)
                    given = {"multipliers": multipliers, "change": [*map(pack, columns)]}
                    ends = {f"end_{k}": x for k, x in enumerate(self._state)}
                    found = substitute(function, {**given, **ends})["found"]
                    count = len(found) - len(self.rows)
                    yield moving, self._on_ends(found[:count]), found[count:]

    def _of_end(self, end: int, frame: Transform, pose: Transform) -> Vector:
        """State of an end in the common frame."""
        found = self._found
        if end == WORLD:
            X, moving, velocity = Transform(), at_rest(-found.tree.gravity), NO_MOTION
        else:
            X, moving = found.poses[end], found.moving[end]
            velocity = Motion(moving.w, found.velocities[end])
        seen = (frame.inverse() @ X @ pose).flat()
        motion = moved(frame, NO_MOTION, NO_MOTION, moving)[:3]
        return leaves((seen.rotation.matrix(), seen.position, motion, frame.to_child(velocity).linear, ZERO3, ZERO3))

    def _rows(self, state: Sequence[Vector]) -> list[ConstraintRow]:
        """Rows for given states of the ends, as if all bodies between them had the common frame."""
        tree, frames, moving, velocities = self._found.tree, [], {}, {}
        X = [Transform()] * len(tree.bodies)
        for end, side, numbers in zip(self._ends, self._sides, state, strict=False):
            x, y, z, p, w, wd, a, V, turn, shift = (Vec3(*numbers[k : k + 3]) for k in range(0, _STATE, 3))
            frames.append(Transform(MatrixRotation(Mat3(x, y, z)), p))
            moving[end], velocities[end] = Moving(w, wd, a, spin_matrix(w, wd)), V
            if side:
                X[end] = Transform(MatrixRotation(UNIT3 + skew(turn)), shift)
        loop = replace(self._loop, parent_pose=frames[0], child_pose=frames[1])
        return loop_rows(tree, X, [1.0] * tree.nq, [ZERO] * tree.nv, moving, loop, self._chosen, velocities)

    def _totals(self, rows: Sequence[ConstraintRow], multipliers: Vector) -> list[Scalar]:
        """Wrenches of the multipliers on the ends that are bodies."""
        totals: list[Scalar] = []
        for end in (end for end in self._ends if end != WORLD):
            first, *others = (x * row.wrenches[end] for x, row in zip(multipliers, rows, strict=True))
            totals += leaves(sum(others, first))
        return totals

    def _on_ends(self, totals: Vector) -> dict[int, Force]:
        """Wrenches in the frames of the branches."""
        left = iter(totals)
        ends = [(end, frame) for end, frame in zip(self._ends, self._frames, strict=True) if end != WORLD]
        vectors = {end: [Vec3(next(left), next(left), next(left)) for _ in range(2)] for end, _ in ends}
        return {end: frame.to_parent(Force(*vectors[end])) for end, frame in ends}

    def _change(self, side: int, variable: str, j: int) -> list[Scalar]:
        """Changes of an end: of w and the velocity, of the rates as in `rnea_derivatives.Change`, and displacement."""
        place = velocity = rate = NO_MOTION
        for one in self._found.coordinates[j]:
            if one.body.index in self._sides[side]:
                factor, (turn, of_rate) = one.body.multiplier, one.changes[variable]
                velocity += factor * Motion(turn, one.velocities[variable])
                rate += factor * of_rate
                if variable == BY_Q and side != BOTH:
                    place += factor * one.axis
        frame = self._frames[0 if side == BOTH else side]
        return leaves([frame.to_child(motion) for motion in (velocity, rate, place)])

    @cached_property
    def _along(self) -> dict[int, Function]:
        """Changes of the wrenches of the multipliers and of J a + γ with the coordinates of each side that has any."""

        def body(side: int, multipliers: Vector, change: Vector, **ends: Vector) -> dict[str, list[Scalar]]:
            state = [*ends.values()]
            rows = self._rows(state)
            turn, of_velocity, of_wd, of_a = (Vec3(*change[k : k + 3]) for k in range(0, 12, 3))
            seeds: dict[Expr, Scalar] = {}
            for end in (0, 1) if side == BOTH else (side,):
                x = state[end][_MOVING:]
                rates = (of_wd + cross(turn, Vec3(*x[:3])), of_a + 2.0 * cross(turn, Vec3(*x[9:12])))
                seeds |= zip(x, (*turn, *leaves(rates), *of_velocity, *change[12:]), strict=True)
            return {"found": directional([*self._totals(rows, multipliers), *(row.rate for row in rows)], seeds)}

        sizes = {"multipliers": len(self.rows), "change": 18, "end_0": _STATE, "end_1": _STATE}
        return {k: trace("loop_along", sizes, partial(body, k)) for k, bodies in enumerate(self._sides) if bodies}
